/** Lua of what changes a workflow. Each runs after the checks of a seat's holder. */

/** Briefs that ended and are remembered as such, so that others learn of it without reading all. */
const BRIEFS_MAX = 10_000

/**
 * What a reservation changes, of its role's budget and of all of them: the same one again changes nothing. What is old goes,
 * by whichever clock is behind: one that ran ahead must not take what was spent today along. KEYS: meta.
 */
export const RESERVE = `
local function reserve(key, times, changes, id, at_ms, row, seq)
  if redis.call('HGET', key, id) == row then return end
  redis.call('HSET', key, id, row, 'rev', seq)
  redis.call('HSET', KEYS[1], 'budgets', seq)
  redis.call('ZADD', times, at_ms, id)
  redis.call('ZADD', changes, seq, id)
  local now = math.min(at_ms, redis.call('TIME')[1] * 1000)
  local old = redis.call('ZRANGEBYSCORE', times, '-inf', now - ${8 * 86_400_000}, 'LIMIT', 0, 8)
  for _, each in ipairs(old) do
    redis.call('HDEL', key, each)
    redis.call('ZREM', times, each)
    redis.call('ZREM', changes, each)
  end
end`

const CHANGE = `
${RESERVE}
local head = cjson.decode(ARGV[8])
local body, transition, brief, reservation = ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local workflow, live_key, ended_key, briefs_key, lot_key = KEYS[3], KEYS[5], KEYS[6], KEYS[9], KEYS[10]

local function begin(seq)
  redis.call('ZADD', live_key, head.createdAtMs, head.id)
  redis.call('ZADD', KEYS[11], head.createdAtMs, head.id)
  redis.call('SADD', KEYS[12], head.role)
  if head.hasLot then
    redis.call('HSET', lot_key, head.id, (head.shadow and 'shadow ' or 'live ') .. head.role)
  end
end

local function finish(seq)
  redis.call('ZREM', live_key, head.id)
  redis.call('ZADD', ended_key, head.updatedAtMs, head.id)
  redis.call('HDEL', KEYS[8], head.id)
  redis.call('ZADD', briefs_key, seq, head.id)
  redis.call('ZREMRANGEBYRANK', briefs_key, 0, -${BRIEFS_MAX + 1})
  if head.hasLot then redis.call('HDEL', lot_key, head.id) end
  if head.endedInShadow then redis.call('ZADD', KEYS[13], head.createdAtMs, head.id) end
  redis.call(head.undecided and 'ZADD' or 'ZREM', KEYS[14], unpack(
    head.undecided and { head.createdAtMs, head.id } or { head.id }))
end

local function differing()
  for index = 13, #ARGV, 2 do
    if differs(KEYS[15], ARGV[index], ARGV[index + 1]) then return ARGV[index] end
  end
end

local function store(state)
  local seq = advance()
  redis.call('HSET', workflow, 'v', head.version, 'op', op, 'state', head.state,
    'live', head.live and 1 or 0, 'body', body)
  if state ~= head.state then redis.call('RPUSH', KEYS[4], transition) end
  local last = redis.call('HGET', KEYS[7], head.opportunity)
  if not last or cjson.decode(last).round <= head.round then
    redis.call('HSET', KEYS[7], head.opportunity, head.lastRound)
  end
  if not head.live then
    finish(seq)
  elseif brief ~= '' then
    redis.call('HSET', KEYS[8], head.id, brief)
    redis.call('ZADD', briefs_key, seq, head.id)
  end
  for index = 13, #ARGV, 2 do enter(KEYS[15], ARGV[index], ARGV[index + 1]) end
  if reservation ~= '' then
    reserve(KEYS[16], KEYS[17], KEYS[18], head.id, head.reservedAtMs, reservation, seq)
  end
  return seq
end`

/** Answer `opened`, `exists`, or `taken` with the brief of who has its lot. */
export const OPEN = `
${CHANGE}
local kept = redis.call('HMGET', workflow, 'op', 'v')
if kept[1] == op then return { 'OK', so_far, 'opened' } end
if kept[2] then return { 'OK', so_far, 'exists' } end
local last = redis.call('HGET', KEYS[7], head.opportunity)
if last and cjson.decode(last).round >= head.round then return { 'OK', so_far, 'exists' } end
if head.hasLot then
  local on_lot = redis.call('HGETALL', lot_key)
  for index = 1, #on_lot, 2 do
    local kind, role = string.match(on_lot[index + 1], '^(%a+) (.*)$')
    if role ~= head.role and (head.shadow or kind == 'live') then
      return { 'OK', so_far, 'taken', redis.call('HGET', KEYS[8], on_lot[index]) or '' }
    end
  end
end
local other = differing()
if other then return { 'OTHER', other } end
local seq = store(nil)
if head.live then begin(seq) end
return { 'OK', seq, 'opened' }`

/** What a write finds before it writes: its own op again, another version, or a budget that another took of. */
const FOUND = `
local kept = redis.call('HMGET', workflow, 'op', 'v', 'state')
if kept[1] == op then return { 'OK', so_far, 'written' } end
if tonumber(kept[2]) ~= head.version - 1 then return { 'CONFLICT', kept[2] or '' } end
local function newest()
  if head.ofAll then return redis.call('HGET', KEYS[1], 'budgets') end
  return redis.call('HGET', KEYS[16], 'rev')
end
if head.revision and (newest() or '0') ~= head.revision then
  return { 'OK', so_far, 'outdated' }
end`

/** Answer `written`, `outdated`, or `taken` where another workflow has the request that it is bound to. */
export const WRITE = `
${CHANGE}
${FOUND}
local other = differing()
if other then return { 'OTHER', other } end
if head.request then
  local holder = redis.call('HGET', KEYS[19], head.request)
  if holder and holder ~= head.id then return { 'OK', so_far, 'taken' } end
  redis.call('HSET', KEYS[19], head.request, head.id)
end
return { 'OK', store(kept[3]), 'written' }`

/** Answer `written`, `outdated`, or `lost`. */
export const CLAIM = `
${CHANGE}
${FOUND}
local nonces, asked = KEYS[19], head.nonces
local numbers = redis.call('HMGET', nonces, 'next', 'top')
local following = tonumber(numbers[1])
local lost = { 'OK', so_far, 'lost' }
if not following or asked.first > following then return lost end
local fills = asked.first < following
if fills then
  if asked.count ~= 1 or not asked.holder then return lost end
  local holder = redis.call('HGET', nonces, asked.first) or ''
  if holder ~= asked.holder then return lost end
  if holder == '' and asked.first < (tonumber(redis.call('HGET', nonces, 'forgotten')) or 0) then return lost end
  if holder ~= '' and redis.call('HGET', KEYS[20], 'live') == '1' then return lost end
end
local last = asked.first + asked.count - 1
if not fills then
  for nonce = asked.first, last do
    if redis.call('HEXISTS', nonces, nonce) == 1 then return lost end
  end
end
local other = differing()
if other then return { 'OTHER', other } end
for nonce = asked.first, last do redis.call('HSET', nonces, nonce, head.id) end
redis.call('HSET', nonces, 'next', fills and following or last + 1,
  'top', math.max(last, tonumber(numbers[2]) or -1))
return { 'OK', store(kept[3]), 'written' }`

/** Read a record; with the checks of a change, so that none that is under way on an older line is made any more. */
export const REREAD = `
return { 'OK', so_far, redis.call('HGET', KEYS[3], 'body') or '' }`

/** Replace a reservation: keys are those of its budget; its id, time and row follow the op. */
export const SETTLE = `
${RESERVE}
local seq = advance()
reserve(KEYS[3], KEYS[4], KEYS[5], ARGV[8], tonumber(ARGV[9]), ARGV[10], seq)
return { 'OK', seq }`

/** Let the body of a workflow that ended go, once it is in an archive: `left`, or `changed` where it is not as it was archived. */
export const LEAVE = `
local kept = redis.call('HMGET', KEYS[3], 'v', 'live')
if kept[1] ~= ARGV[9] or kept[2] == '1' then return { 'OK', so_far, 'changed' } end
local seq = advance()
redis.call('HDEL', KEYS[3], 'body')
redis.call('HSET', KEYS[3], 'rest', ARGV[11])
redis.call('DEL', KEYS[4])
redis.call('ZREM', KEYS[5], ARGV[8])
redis.call('ZADD', KEYS[6], ARGV[10], ARGV[8])
redis.call('ZREM', KEYS[7], ARGV[8])
redis.call('ZREM', KEYS[8], ARGV[8])
redis.call('SADD', KEYS[10], ARGV[12])
for index = 13, #ARGV do redis.call('HDEL', KEYS[9], ARGV[index]) end
return { 'OK', seq, 'left' }`

/**
 * Forget the nonces, digests and request of a workflow whose body left, unless one that is live holds a nonce of them now, or it
 * was written again: when to look again, how many nonces, its request, its signer, then those, then its digests. KEYS: and who else holds any.
 */
export const FORGET = `
for index = 8, #KEYS do
  if redis.call('HGET', KEYS[index], 'live') == '1' then
    local seq = advance()
    redis.call('ZADD', KEYS[4], ARGV[9], ARGV[8])
    return { 'OK', seq }
  end
end
local seq = advance()
redis.call('ZREM', KEYS[4], ARGV[8])
if redis.call('HEXISTS', KEYS[3], 'body') == 1 then return { 'OK', seq } end
local count = tonumber(ARGV[10])
for index = 13, 12 + count do
  if redis.call('HGET', KEYS[6], ARGV[index]) == ARGV[8] then redis.call('HDEL', KEYS[6], ARGV[index]) end
  local forgotten = tonumber(redis.call('HGET', KEYS[6], 'forgotten')) or 0
  if tonumber(ARGV[index]) >= forgotten then redis.call('HSET', KEYS[6], 'forgotten', ARGV[index] + 1) end
end
for index = 13 + count, #ARGV do
  redis.call('HDEL', KEYS[5], (field_of(KEYS[5], ARGV[index], ARGV[12])))
end
if redis.call('HGET', KEYS[7], ARGV[11]) == ARGV[8] then redis.call('HDEL', KEYS[7], ARGV[11]) end
redis.call('DEL', KEYS[3])
return { 'OK', seq }`

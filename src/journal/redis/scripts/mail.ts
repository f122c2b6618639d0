/** Lua of what is kept beside workflows. Each runs after the checks of a seat's holder. */

/** Decisions kept of a role: what an operator scrolls through, not an archive. */
const DECISIONS_MAX = 10_000

/** Enter digests: keys are the ledger; digest and entry by turns. */
export const ENTER = `
for index = 8, #ARGV, 2 do
  if differs(KEYS[3], ARGV[index], ARGV[index + 1]) then return { 'OTHER', ARGV[index] } end
end
local seq = advance()
for index = 8, #ARGV, 2 do enter(KEYS[3], ARGV[index], ARGV[index + 1]) end
return { 'OK', seq }`

/** Set the next nonce: to what is given, or to the first above all that were claimed. */
export const ADOPT = `
local top = tonumber(redis.call('HGET', KEYS[3], 'top')) or -1
local following = math.max(tonumber(ARGV[8]), top + 1)
local seq = advance()
redis.call('HSET', KEYS[3], 'next', following)
return { 'OK', seq }`

/** Put rows in the outbox: hash, due time and row by turns. A row stays, so that the same hash is never put in again. */
export const POST = `
local seq = advance()
for index = 8, #ARGV, 3 do
  if redis.call('HSETNX', KEYS[4], ARGV[index], ARGV[index + 2]) == 1 then
    redis.call('ZADD', KEYS[3], ARGV[index + 1], ARGV[index])
  end
end
return { 'OK', seq }`

export const POSTED = `
local seq = advance()
redis.call('ZREM', KEYS[3], ARGV[8])
redis.call('HDEL', KEYS[5], ARGV[8])
return { 'OK', seq }`

/** Try again at a time: one more try, however often this very op comes. */
export const POSTPONE = `
if not redis.call('ZSCORE', KEYS[3], ARGV[8]) then return { 'OK', so_far } end
local tries, last = string.match(redis.call('HGET', KEYS[5], ARGV[8]) or '0 ', '^(%d+) (.*)$')
if last == op then return { 'OK', so_far } end
local seq = advance()
redis.call('HSET', KEYS[5], ARGV[8], (tonumber(tries) + 1) .. ' ' .. op)
redis.call('ZADD', KEYS[3], ARGV[9], ARGV[8])
return { 'OK', seq }`

/** Set a value, or remove it where none is given. */
export const PUT = `
local seq = advance()
if ARGV[9] then redis.call('HSET', KEYS[3], ARGV[8], ARGV[9]) else redis.call('HDEL', KEYS[3], ARGV[8]) end
return { 'OK', seq }`

/** Add decisions of one role, oldest first; of each role the op of the last addition is kept. */
export const DECIDE = `
if redis.call('HGET', KEYS[4], ARGV[8]) == op then return { 'OK', so_far } end
local seq = advance()
for index = 9, #ARGV do redis.call('LPUSH', KEYS[3], ARGV[index]) end
redis.call('LTRIM', KEYS[3], 0, ${DECISIONS_MAX - 1})
redis.call('HSET', KEYS[4], ARGV[8], op)
redis.call('SADD', KEYS[5], ARGV[8])
return { 'OK', seq }`

/**
 * What of a budget changed after a revision: the newest revision, then the rows; `FORGOTTEN` with the id of a row that was known
 * by then and is gone before its time. ARGV: the revision, then id and time of some that are known.
 */
export const SPENT = `
for index = 4, #ARGV, 2 do
  local is_young = tonumber(ARGV[index + 1]) > redis.call('TIME')[1] * 1000 - ${7 * 86_400_000}
  if is_young and redis.call('HEXISTS', KEYS[2], ARGV[index]) == 0 then return { 'FORGOTTEN', ARGV[index] } end
end
local rev = redis.call('HGET', KEYS[2], 'rev') or '0'
local answer = { 'OK', seq_now, rev }
if rev == ARGV[3] then return answer end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. ARGV[3], '+inf')) do
  local row = redis.call('HGET', KEYS[2], id)
  if row then answer[#answer + 1] = row end
end
return answer`

/** The newest revision of all budgets, then the roles that may have one: who reserves has opened before. */
export const SPENT_BY_ALL = `
local answer = { 'OK', seq_now, redis.call('HGET', KEYS[1], 'budgets') or '0' }
for _, role in ipairs(redis.call('SMEMBERS', KEYS[2])) do answer[#answer + 1] = role end
return answer`

/** What of the briefs changed after a sequence: `all` or `some`, then id and brief (empty: it ended) by turns. */
export const BRIEFS = `
local known = tonumber(ARGV[3])
local lowest = tonumber(redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2])
if not known or (lowest and known < lowest) then
  local answer = redis.call('HGETALL', KEYS[2])
  table.insert(answer, 1, 'all')
  table.insert(answer, 1, seq_now)
  table.insert(answer, 1, 'OK')
  return answer
end
local answer = { 'OK', seq_now, 'some' }
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[3], '+inf')) do
  answer[#answer + 1] = id
  answer[#answer + 1] = redis.call('HGET', KEYS[2], id) or ''
end
return answer`

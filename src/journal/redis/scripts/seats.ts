/** Lua of who holds a seat. A seat's record is what every write of its holder is compared with. */

/** Begin a generation where there is none: generation, format, fleet, and the server that it begins on. */
export const FOUND = `
local gen = redis.call('HGET', KEYS[1], 'gen')
if gen and gen ~= ARGV[1] then return { 'EXISTS', gen } end
if not gen then
  redis.call('HSET', KEYS[1], 'gen', ARGV[1], 'parent', '', 'seq', 0, 'format', ARGV[2], 'server', ARGV[4])
  redis.call('SADD', KEYS[2], ARGV[3])
end
return { 'OK', '0' }`

/** Take a seat whose token and beat are still those that were watched: new token, holder, server, the seat's name. */
export const ACQUIRE = `
local seat = redis.call('HMGET', KEYS[2], 'token', 'beat', 'epoch')
if seat[1] == ARGV[5] then return { 'OK', seq_now, seat[3] } end
if (seat[1] or '') ~= ARGV[3] or (seat[2] or '') ~= ARGV[4] then
  return { 'TAKEN', seat[1] or '', seat[2] or '' }
end
local seq = advance()
local epoch = (tonumber(seat[3]) or 0) + 1
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[2], 'token', ARGV[5], 'holder', ARGV[6], 'server', ARGV[7], 'beat', '0', 'epoch', epoch,
  'since', redis.call('TIME')[1])
redis.call('SADD', KEYS[3], ARGV[8])
return { 'OK', seq, tostring(epoch) }`

/** Show that the holder lives: the number of the beat, and the server as the holder knows it. Answers with the controls. */
export const BEAT = `
local seq = advance()
redis.call('HSET', KEYS[2], 'beat', ARGV[4], 'server', ARGV[5])
return { 'OK', seq, redis.call('HGETALL', KEYS[3]) }`

/** Leave a seat to anybody, at once. */
export const RELEASE = `
local seat = redis.call('HMGET', KEYS[2], 'token', 'released')
if seat[2] == ARGV[3] and seat[1] == '' then return { 'OK', seq_now } end
if seat[1] ~= ARGV[3] then return { 'FENCED' } end
local seq = advance()
redis.call('HSET', KEYS[2], 'token', '', 'released', ARGV[3])
return { 'OK', seq }`

/** What a barrier begins with: a write of its own, so that WAIT covers every earlier one. Controls, and fields of the ledger. */
export const FENCE = `
if (tonumber(redis.call('HGET', KEYS[2], 'seq:' .. ARGV[4])) or 0) < tonumber(ARGV[5]) then return { 'TAIL' } end
local seq = advance()
local entries = {}
for index = 6, #ARGV do entries[#entries + 1] = redis.call('HGET', KEYS[4], ARGV[index]) or '' end
return { 'OK', seq, redis.call('HGETALL', KEYS[3]), entries }`

/**
 * Show that an instance lives, and see who else does and who holds what: name, incarnation, its arrival (0 at first), its
 * beat, what it says of itself; from the fourth key on, the seats. The order of arrivals says which of two releases came
 * later; a later process of the same name stays.
 */
export const PRESENT = `
local seen = redis.call('HGET', KEYS[2], ARGV[3]) or '- 0'
local incarnation, arrived = string.match(seen, '^(%S+) (%d+)')
if incarnation ~= ARGV[4] then
  if ARGV[5] ~= '0' and tonumber(arrived) > tonumber(ARGV[5]) then return { 'NEWER', seq_now } end
  arrived = ARGV[5]
  if arrived == '0' then arrived = advance() end
end
local seats = {}
for index = 4, #KEYS do
  seats[index - 3] = redis.call('HMGET', KEYS[index], 'token', 'holder', 'beat', 'epoch', 'server', 'since')
end
local time = redis.call('TIME')
local shown = { ARGV[4], arrived, ARGV[6], time[1], ARGV[7] }
redis.call('HSET', KEYS[2], ARGV[3], table.concat(shown, ' '))
return { 'OK', seq_now, arrived, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]), time[1], time[2], seats }`

/** Leave the fleet: name, incarnation. */
export const ABSENT = `
local seen = redis.call('HGET', KEYS[2], ARGV[3]) or ''
if string.match(seen, '^(%S+)') == ARGV[4] then redis.call('HDEL', KEYS[2], ARGV[3]) end
return { 'OK', seq_now }`

/**
 * Say that an instance holds a server against what it witnessed: its name, and whether it has a witness. Who had one and has
 * none has lost it, and says nothing. Answers with all who did.
 */
export const ATTEST = `
if ARGV[4] == 'none' then
  local had = redis.call('SISMEMBER', KEYS[3], ARGV[3]) == 1
  return { had and 'LOST' or 'NONE', seq_now, redis.call('SMEMBERS', KEYS[2]) }
end
redis.call('SADD', KEYS[2], ARGV[3])
redis.call('SADD', KEYS[3], ARGV[3])
return { 'OK', seq_now, redis.call('SMEMBERS', KEYS[2]) }`

/**
 * Set something for the fleet: its name; the value, where none takes it away; whether one that is there stays; nothing where
 * a setting of the fourth name has the fifth in it, as what a person has done with stays so.
 */
export const CONTROL = `
local seq = advance()
local against = redis.call('HGET', KEYS[2], ARGV[6]) or ''
if ARGV[7] ~= '' and string.find(against, ARGV[7], 1, true) then
elseif ARGV[4] == '' then redis.call('HDEL', KEYS[2], ARGV[3])
elseif ARGV[5] == 'first' then redis.call('HSETNX', KEYS[2], ARGV[3], ARGV[4])
else redis.call('HSET', KEYS[2], ARGV[3], ARGV[4]) end
return { 'OK', seq, redis.call('HGETALL', KEYS[2]) }`

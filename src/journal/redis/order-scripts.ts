/** Lua of what people order. An order is `<seconds since 1970> <content>`; a reply is `<SHA-1 of the content> <text>`. */

/** What waits of a seat that nobody takes: more is refused. */
const WAITING_MAX = 100
/** Hashes of one workflow that were answered: its rules change now and then while it is held. */
const ANSWERS_MAX = 20
/** Longer than any hold lasts, s: by then nobody asks for a reply or an answer any more. */
const KEPT_S = 8 * 86_400

/** The holder's: what waits of its seat, id and order by turns, after the seconds since 1970. */
export const ORDERS = `
local answer = redis.call('HGETALL', KEYS[2])
table.insert(answer, 1, redis.call('TIME')[1])
table.insert(answer, 1, seq_now)
table.insert(answer, 1, 'OK')
return answer`

/** The holder's: keep the reply to an order, and let that go; nothing where it has one or was withdrawn. ARGV: id, text. */
export const REPLY = `
local order = redis.call('HGET', KEYS[3], ARGV[4])
if not order then return { 'OK', seq_now } end
local seq = advance()
local content = string.match(order, '^%d+ (.*)$') or order
redis.call('SET', KEYS[4], redis.sha1hex(content) .. ' ' .. ARGV[5], 'NX', 'EX', ${KEPT_S})
redis.call('HDEL', KEYS[3], ARGV[4])
return { 'OK', seq }`

/*
 * What follows is an author's, who holds no seat and knows nothing that Redis could forget. Each text is the same in every
 * process, so that a server keeps it once.
 */

/** KEYS: orders of the seat, reply. ARGV: id, content. What has a reply, or was withdrawn, is not placed again. */
export const PLACE = `#!lua
local reply = redis.call('GET', KEYS[2])
if reply then return { string.sub(reply, 1, 40) == redis.sha1hex(ARGV[2]) and 'OK' or 'OTHER' } end
local known = redis.call('HGET', KEYS[1], ARGV[1])
if known then return { string.match(known, '^%d+ (.*)$') == ARGV[2] and 'OK' or 'OTHER' } end
if redis.call('HLEN', KEYS[1]) >= ${WAITING_MAX} then return { 'FULL' } end
redis.call('HSET', KEYS[1], ARGV[1], redis.call('TIME')[1] .. ' ' .. ARGV[2])
return { 'OK' }`

/** The same with a text, which is its reply where it has none: what arrives late of the order finds that. */
export const WITHDRAW = `#!lua flags=allow-oom
redis.call('SET', KEYS[2], redis.sha1hex(ARGV[2]) .. ' ' .. ARGV[3], 'NX', 'EX', ${KEPT_S})
redis.call('HDEL', KEYS[1], ARGV[1])
return { 'OK' }`

/** KEYS: answers about a workflow. ARGV: hash, verdict. The first answer about a hash stands. */
export const ANSWER = `#!lua flags=allow-oom
local known = redis.call('HGET', KEYS[1], ARGV[1])
if known then return { known == ARGV[2] and 'OK' or 'OTHER' } end
if redis.call('HLEN', KEYS[1]) >= ${ANSWERS_MAX} then return { 'FULL' } end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ${KEPT_S})
return { 'OK' }`

/**
 * Lua of what people order. An order is `<seconds since 1970> <content>`, behind a `!` once it is acted on; a reply is
 * `<SHA-1 of the content> <text>`.
 */

/** What waits of a seat that nobody takes: more is refused. */
const WAITING_MAX = 100
/** Answers about one workflow: of each person one for each hash, and its rules change now and then while it is held. */
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

/** The holder's: begin to act on an order, unless its author took it back. ARGV: id. Answer `taken` or `gone`. */
export const TAKE = `
local order = redis.call('HGET', KEYS[3], ARGV[4])
if not order then return { 'OK', seq_now, 'gone' } end
if string.sub(order, 1, 1) == '!' then return { 'OK', seq_now, 'taken' } end
redis.call('HSET', KEYS[3], ARGV[4], '!' .. order)
return { 'OK', advance(), 'taken' }`

/** The holder's: keep the reply to an order, and let that go; nothing where it has one or was withdrawn. ARGV: id, text. */
export const REPLY = `
local order = redis.call('HGET', KEYS[3], ARGV[4])
if not order then return { 'OK', seq_now } end
local seq = advance()
local content = string.match(order, '^!?%d+ (.*)$') or order
redis.call('SET', KEYS[4], redis.sha1hex(content) .. ' ' .. ARGV[5], 'NX', 'EX', ${KEPT_S})
redis.call('HDEL', KEYS[3], ARGV[4])
return { 'OK', seq }`

/** An author's, who holds no seat. What has a reply, or was withdrawn, is not placed again. KEYS: orders, reply. ARGV: id, content. */
export const PLACE = `
local reply = redis.call('GET', KEYS[3])
if reply then return { string.sub(reply, 1, 40) == redis.sha1hex(ARGV[4]) and 'OK' or 'OTHER', seq_now } end
local known = redis.call('HGET', KEYS[2], ARGV[3])
if known then return { string.match(known, '^!?%d+ (.*)$') == ARGV[4] and 'OK' or 'OTHER', seq_now } end
if redis.call('HLEN', KEYS[2]) >= ${WAITING_MAX} then return { 'FULL', seq_now } end
redis.call('HSET', KEYS[2], ARGV[3], redis.call('TIME')[1] .. ' ' .. ARGV[4])
return { 'OK', advance() }`

/**
 * The same with a text, which is its reply from now on: what arrives late of the order finds that. Answer `TAKEN` where it has
 * another, or is acted on.
 */
export const WITHDRAW = `
local withdrawn = redis.sha1hex(ARGV[4]) .. ' ' .. ARGV[5]
local reply = redis.call('GET', KEYS[3])
if reply then return { reply == withdrawn and 'OK' or 'TAKEN', seq_now } end
if string.sub(redis.call('HGET', KEYS[2], ARGV[3]) or '', 1, 1) == '!' then return { 'TAKEN', seq_now } end
redis.call('SET', KEYS[3], withdrawn, 'EX', ${KEPT_S})
redis.call('HDEL', KEYS[2], ARGV[3])
return { 'OK', advance() }`

/** The first answer under a name stands. KEYS: answers about a workflow. ARGV: name, answer. */
export const ANSWER = `
local known = redis.call('HGET', KEYS[2], ARGV[3])
if known then return { known == ARGV[4] and 'OK' or 'OTHER', seq_now } end
if redis.call('HLEN', KEYS[2]) >= ${ANSWERS_MAX} then return { 'FULL', seq_now } end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
redis.call('EXPIRE', KEYS[2], ${KEPT_S})
return { 'OK', advance() }`

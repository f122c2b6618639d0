import { createHash } from 'node:crypto'
import * as mail from './mail.ts'
import * as orders from './orders.ts'
import * as seats from './seats.ts'
import * as workflows from './workflows.ts'

/** What takes a command. */
type Caller = { readonly call: (command: string, ...args: readonly string[]) => Promise<unknown> }

/**
 * What every script but `found` begins with: is this the Redis that we know, and has it forgotten nothing that it
 * acknowledged? KEYS: meta. ARGV: generation, acknowledged sequence.
 */
const KNOWN = `
local meta = redis.call('HMGET', KEYS[1], 'gen', 'seq', 'doubted')
if meta[1] ~= ARGV[1] then return { 'GENERATION', meta[1] or '' } end
local seq_now = meta[2] or '0'
if tonumber(seq_now) < tonumber(ARGV[2]) then return { 'BEHIND', seq_now } end
local function advance() return tostring(redis.call('HINCRBY', KEYS[1], 'seq', 1)) end`

/** And that no instance has said so either: what one of them misses, nobody goes on without. */
const RELIED = `
${KNOWN}
if meta[3] then return { 'DOUBTED', meta[3] } end`

/** KEYS: and the seat. ARGV: and its token. */
const SEATED = `
${RELIED}
local seat = redis.call('HMGET', KEYS[2], 'token')
if seat[1] ~= ARGV[3] then return { 'FENCED' } end`

/**
 * What every change by a seat's holder begins with. A command that was given up may still arrive, over a slow network: once
 * its writer has used a newer line, it changes nothing. A replica that was promoted may lack what its writer was answered
 * for: then the writer knows what nobody else does, and ends. ARGV: and the writer, its line, the op, and the sequence of
 * the newest change that it was answered for. In the ledger a key's entry is under its digest, or beside that of another key
 * which had the same digest first.
 */
const HOLDER = `
${SEATED}
local op, line_name, seq_name = ARGV[6], 'line:' .. ARGV[4], 'seq:' .. ARGV[4]
local writer = redis.call('HMGET', KEYS[2], line_name, seq_name)
local line, so_far = tonumber(writer[1]) or 0, writer[2] or '0'
if line > tonumber(ARGV[5]) then return { 'LATE' } end
if tonumber(so_far) < tonumber(ARGV[7]) then return { 'TAIL' } end
if line < tonumber(ARGV[5]) then redis.call('HSET', KEYS[2], line_name, ARGV[5]) end
local function advance()
  local seq = tostring(redis.call('HINCRBY', KEYS[1], 'seq', 1))
  redis.call('HSET', KEYS[2], seq_name, seq)
  return seq
end
local function content(entry) return string.match(entry, '^%d+ (.*)$') end
local function key_of(entry) return string.match(entry, '"signer":"([^"]+)"') end
local function field_of(ledger, digest, signer)
  local beside = digest .. ':' .. signer
  local known = redis.call('HGET', ledger, beside)
  if known then return beside, known end
  local first = redis.call('HGET', ledger, digest)
  if first and key_of(first) ~= signer then return beside end
  return digest, first
end
local function enter(ledger, digest, entry)
  local field = field_of(ledger, digest, key_of(entry))
  redis.call('HSETNX', ledger, field, entry)
end
local function differs(ledger, digest, entry)
  local _, known = field_of(ledger, digest, key_of(entry))
  return known and content(known) ~= content(entry)
end`

/**
 * Where Redis is full it refuses a script whole, unless it is said to go on: what concludes goes on, what begins does not.
 * Source: redis.io/docs/latest/develop/programmability/eval-intro, "Script flags".
 */
const BEGINS = '#!lua'
const GOES_ON = '#!lua flags=allow-oom'
const READS = '#!lua flags=no-writes'

const TEXTS = {
  open: [BEGINS, HOLDER, workflows.OPEN],
  claim: [BEGINS, HOLDER, workflows.CLAIM],
  decide: [BEGINS, HOLDER, mail.DECIDE],
  write: [GOES_ON, HOLDER, workflows.WRITE],
  reread: [GOES_ON, HOLDER, workflows.REREAD],
  leave: [GOES_ON, HOLDER, workflows.LEAVE],
  forget: [GOES_ON, HOLDER, workflows.FORGET],
  settle: [GOES_ON, HOLDER, workflows.SETTLE],
  enter: [GOES_ON, HOLDER, mail.ENTER],
  adopt: [GOES_ON, HOLDER, mail.ADOPT],
  post: [GOES_ON, HOLDER, mail.POST],
  posted: [GOES_ON, HOLDER, mail.POSTED],
  postpone: [GOES_ON, HOLDER, mail.POSTPONE],
  put: [GOES_ON, HOLDER, mail.PUT],
  beat: [GOES_ON, SEATED, seats.BEAT],
  fence: [GOES_ON, SEATED, seats.FENCE],
  acquire: [GOES_ON, RELIED, seats.ACQUIRE],
  release: [GOES_ON, KNOWN, seats.RELEASE],
  present: [GOES_ON, RELIED, seats.PRESENT],
  absent: [GOES_ON, KNOWN, seats.ABSENT],
  attest: [GOES_ON, KNOWN, seats.ATTEST],
  control: [GOES_ON, KNOWN, seats.CONTROL],
  place: [BEGINS, KNOWN, orders.PLACE],
  withdraw: [GOES_ON, KNOWN, orders.WITHDRAW],
  answer: [GOES_ON, KNOWN, orders.ANSWER],
  take: [GOES_ON, SEATED, orders.TAKE],
  reply: [GOES_ON, SEATED, orders.REPLY],
  orders: [READS, KNOWN, orders.ORDERS],
  spent: [READS, KNOWN, mail.SPENT],
  spentByAll: [READS, KNOWN, mail.SPENT_BY_ALL],
  briefs: [READS, KNOWN, mail.BRIEFS],
  found: [BEGINS, seats.FOUND],
} as const

/** What can be asked of Redis in one step. */
export type ScriptName = keyof typeof TEXTS

/** The scripts of one process, which a server runs only once they were loaded into it: after it was verified. */
export type Scripts = {
  /** Load what the server of a line does not have. Throws LineFault. */
  readonly load: (line: Caller) => Promise<void>
  /** What EVALSHA names a script by. */
  readonly sha: (name: ScriptName) => string
  readonly text: (name: ScriptName) => string
}

/** Write the scripts of an incarnation: its name is in each text, so no other's are taken for them. Pure. */
export function scriptsOf(incarnation: string): Scripts {
  const named = Object.entries(TEXTS).map(([name, [flags, ...parts]]) => {
    const text = `${flags}\n-- ${incarnation}\n${parts.join('\n')}`
    return { name, text, sha: createHash('sha1').update(text).digest('hex') }
  })
  const shas = new Map(named.map(({ name, sha }) => [name, sha]))
  const texts = new Map(named.map(({ name, text }) => [name, text]))
  const load = async (line: Caller) => {
    const found = await line.call('SCRIPT', 'EXISTS', ...shas.values())
    const missing = named.filter((_each, index) => !Array.isArray(found) || found[index] !== 1)
    await Promise.all(missing.map(({ text }) => line.call('SCRIPT', 'LOAD', text)))
  }
  return { load, sha: (name) => shas.get(name) ?? '', text: (name) => texts.get(name) ?? '' }
}

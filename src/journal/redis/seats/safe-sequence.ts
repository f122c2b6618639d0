import { randomBytes } from 'node:crypto'
import { RolekeeperError } from '../../../errors.ts'
import type { Role } from '../../../service/contract/roles.ts'
import type { Reservation } from '../../journal.ts'
import { encodeRecord } from '../../sqlite/records.ts'
import type { CommandLine } from '../link/command-line.ts'
import { FORMAT } from '../link/generation.ts'
import { FLEETS_KEY } from '../link/keys.ts'
import { RESERVE } from '../scripts/workflows.ts'

/** So much above what anybody is known to have seen acknowledged: an instance that is gone may have seen more. */
const SEQUENCE_GAP = 1_000_000_000

/** A generation that follows others. */
export type NextGeneration = {
  readonly gen: string
  /** Those that it follows, newest first. */
  readonly parents: readonly string[]
  readonly seq: number
}

/** Name a generation that follows some, the sequences of which went as far as `seq` where anybody knows. */
export const following = (parents: readonly string[], seq: number): NextGeneration => ({
  gen: randomBytes(8).toString('hex'),
  parents: [...new Set(parents)],
  seq: seq + SEQUENCE_GAP,
})

/** What a person has proven about one seat, and what follows from it. */
export type SafeRelease = {
  readonly seat: string
  /** The generation that it was proven in; empty where Redis had none. */
  readonly expected: string
  /** The one that begins with it; null where what is there goes on. */
  readonly begins: NextGeneration | null
  /** The server and process, as records name it. */
  readonly server: string
  readonly runId: string
  /** What is set for the fleet: name → text; empty takes it away. */
  readonly controls: ReadonlyMap<string, string>
  /** Instances that are gone for good. */
  readonly gone: readonly string[]
  readonly signer: { readonly chainId: number; readonly address: string; readonly next: number }
  /** Values of the journal. */
  readonly values: ReadonlyMap<string, string>
  readonly charged: readonly Reservation[]
}

/** KEYS: as {@link leaveSafe} has them. ARGV: all of it, as JSON. The same again changes nothing. */
const LEAVE_SAFE = `
${RESERVE}
local asked = cjson.decode(ARGV[1])
local meta = redis.call('HMGET', KEYS[1], 'gen', 'seq')
local gen = meta[1] or ''
if gen ~= asked.expected and gen ~= asked.gen then return { 'CHANGED', gen } end
if gen ~= asked.gen then
  local from = string.format('%.0f', math.max(tonumber(meta[2]) or 0, asked.seq))
  redis.call('HSET', KEYS[1], 'gen', asked.gen, 'parent', asked.parents, 'seq', from,
    'format', asked.format, 'server', asked.server)
  redis.call('SADD', KEYS[2], asked.fleet)
  redis.call('HDEL', KEYS[1], 'doubted')
  redis.call('DEL', KEYS[4], KEYS[5], KEYS[6])
  for _, seat in ipairs(redis.call('SMEMBERS', KEYS[7])) do
    redis.call('HSET', asked.seat_key .. seat, 'token', '', 'server', asked.server)
  end
end
local seq = tostring(redis.call('HINCRBY', KEYS[1], 'seq', 1))
if redis.call('EXISTS', KEYS[12]) == 1 then redis.call('HSET', KEYS[12], 'token', '') end
for _, each in ipairs(asked.controls) do
  if each[2] == '' then redis.call('HDEL', KEYS[3], each[1])
  else redis.call('HSET', KEYS[3], each[1], each[2]) end
end
for _, name in ipairs(asked.gone) do
  redis.call('SREM', KEYS[8], name)
  redis.call('HDEL', KEYS[9], name)
end
local following = math.max(tonumber(redis.call('HGET', KEYS[10], 'next')) or 0, asked.next)
redis.call('HSET', KEYS[10], 'next', following)
for _, each in ipairs(asked.values) do redis.call('HSET', KEYS[11], each[1], each[2]) end
for _, row in ipairs(asked.charged) do
  local first = row.budget
  redis.call('SADD', KEYS[13], row.role)
  reserve(KEYS[first], KEYS[first + 1], KEYS[first + 2], row.id, row.at_ms, row.text, seq)
end
return { 'OK' }`

/** Write that a seat's signer has left SAFE, in one step. Throws RolekeeperError `fleet.changed` where it is not as it was seen. */
export async function leaveSafe(leaving: SafeRelease, fleet: string, line: CommandLine): Promise<void> {
  const { keys } = line
  const { expected, begins, server, runId, signer } = leaving
  const roles = [...new Set(leaving.charged.map(({ role }) => role))]
  const budgets = roles.flatMap((role) => [
    keys.budget(role),
    keys.budgetTimes(role),
    keys.budgetChanges(role),
  ])
  const names = [
    ...[keys.meta, FLEETS_KEY, keys.control, keys.runs, keys.attested(runId), keys.forgotten],
    ...[keys.seats, keys.witnesses, keys.instances, keys.nonces(signer.chainId, signer.address), keys.values],
    // A term that goes on by now read all of this when it began.
    ...[keys.seat(leaving.seat), keys.roles],
  ]
  const budgetOf = (role: Role) => names.length + 1 + 3 * roles.indexOf(role)
  const asked = {
    expected,
    server,
    fleet,
    format: FORMAT,
    seat_key: keys.seat(''),
    gen: begins?.gen ?? expected,
    parents: begins?.parents.join(' ') ?? '',
    seq: begins?.seq ?? 0,
    controls: [...leaving.controls],
    gone: leaving.gone,
    next: signer.next,
    values: [...leaving.values],
    charged: leaving.charged.map((row) => ({
      budget: budgetOf(row.role),
      role: row.role,
      id: row.workflowId,
      at_ms: row.atMs,
      text: encodeRecord(row),
    })),
  }
  const all = [...names, ...budgets]
  const reply = await line.use((on) => on.call('EVAL', LEAVE_SAFE, all.length, ...all, JSON.stringify(asked)))
  if (Array.isArray(reply) && reply[0] === 'CHANGED') throw changed(fleet, expected, String(reply[1]))
}

const changed = (fleet: string, expected: string, found: string) =>
  new RolekeeperError(
    'fleet.changed',
    `The fleet ${fleet} is in generation ${found || 'none'} by now, not ${expected || 'none'}.`,
    { fix: 'give the command again: what it showed is no longer so.', facts: { fleet, expected, found } },
  )

import { printable } from '../../errors.ts'
import type { FleetOverview, InstanceOverview, SeatOverview } from '../../fleet/overview.ts'
import { readJournal } from '../../journal/open.ts'
import type { RedisHealth } from '../../journal/redis/link/health.ts'
import type { SwitchRecord } from '../../ops/control.ts'
import { short, span } from '../../readable.js'
import { isHeld, type Workflow } from '../../workflow/workflow.ts'
import { command, type Io, usageError } from '../parse/command.ts'
import { perhaps } from '../parse/nearest.ts'
import { type FleetPlace, fleetAt, PLACE, placeText } from '../target/place.ts'

/** `rolekeeper fleet`: who holds what, and how its Redis is. */
export const fleet = command({
  name: 'fleet',
  usage: '[found] [--config FILE | --directory DIR] [--json] [--yes]',
  help: `Show who holds which seat, who stands by and why, what waits longest, and how the fleet's Redis is. \`found\` begins
the fleet on a Redis that holds nothing of it yet: once, before its first instance starts.

  rolekeeper fleet --config config/production.yaml
  rolekeeper fleet found --config config/production.yaml --yes`,
  options: {
    ...PLACE,
    json: { help: 'print JSON' },
    yes: { help: 'with `found`: do it, instead of saying what would be done' },
  },
  argumentsMax: 1,
  run: async ({ json, yes, ...given }, [what], io) => {
    if (what !== undefined && what !== 'found')
      throw usageError(
        `There is no place for "${printable(what)}".`,
        `${perhaps(what, ['found'])}write \`fleet\` or \`fleet found\``,
      )
    if (what === undefined && yes === true)
      throw usageError('There is nothing to do.', 'write `fleet found --yes`, or leave --yes out')
    const place = await fleetAt(given, io)
    if (what === 'found') return found(place, yes === true, io)
    const { readOverview } = await import('../../fleet/overview.ts')
    const overview = await readOverview(place.shared)
    const oldest = oldestOf(await readJournal(place, (journal) => journal.live()))
    if (json === true) io.out(`${JSON.stringify({ ...overview, oldest })}\n`)
    else io.out(textOf(overview, oldest, placeText(given)))
    return 0
  },
})

async function found({ shared, directory }: FleetPlace, isMeant: boolean, io: Io): Promise<number> {
  const { fleet: name, endpoint } = shared.store
  const { foundFleet } = await import('../../journal/redis/link/generation.ts')
  const { readWitnessed, wasWitnessed } = await import('../../fleet/witnesses.ts')
  const known = await readWitnessed(directory)
  if (known !== null) throw wasWitnessed(name, known)
  const gen = await foundFleet(shared.store, isMeant)
  const where = `${endpoint.host}:${endpoint.port}/${endpoint.db}`
  io.out(
    isMeant
      ? `The fleet ${name} is founded on ${where}, generation ${gen}. Its instances may start: ${shared.roster.join(', ')}.\n`
      : `The fleet ${name} of ${shared.roster.join(', ')} would be founded on ${where}, which keeps what it acknowledges and holds nothing of it.\nNothing was done; --yes does it.\n`,
  )
  return 0
}

/** A workflow that has waited. */
type WaitingWorkflow = Pick<Workflow, 'id' | 'role' | 'state' | 'createdAtMs'>
/** The duty that waits longest: of what is live, and of what waits for a person; null where there is none. */
type Oldest = { readonly live: WaitingWorkflow | null; readonly held: WaitingWorkflow | null }

/** Pick the oldest of what is live, oldest first. Pure. */
function oldestOf(live: readonly Workflow[]): Oldest {
  const short = (workflow: Workflow | undefined): WaitingWorkflow | null => {
    if (workflow === undefined) return null
    const { id, role, state, createdAtMs } = workflow
    return { id, role, state, createdAtMs }
  }
  return { live: short(live[0]), held: short(live.find(isHeld)) }
}

/** @param at what leads a command to where this was read. */
const textOf = (overview: FleetOverview, oldest: Oldest, at: string): string =>
  [
    `Fleet ${overview.fleet}`,
    ...redisLines(overview.redis),
    ...switchLines(overview, at),
    '',
    'Seats:',
    ...overview.seats.map(seatLine),
    '',
    'Instances:',
    ...overview.instances.map(instanceLine),
    '',
    `Oldest live: ${waitingText(oldest.live)}. Oldest held: ${waitingText(oldest.held)}.`,
    '',
  ].join('\n')

const MEGABYTE = 1_048_576
const megabytes = (bytes: number) => `${Math.round(bytes / MEGABYTE)} MB`

function redisLines({ server, version, role, problem, ...more }: RedisHealth): readonly string[] {
  const { memory, aof, replicas, settings, generation, parents, sequence } = more
  const limit = memory.maxBytes === null ? 'no limit' : `of ${megabytes(memory.maxBytes)}`
  const kept =
    settings === null
      ? 'its settings may not be read'
      : Object.entries(settings)
          .map(([name, value]) => `${name} ${value}`)
          .join(', ')
  return [
    `  Redis ${version} at ${server}, ${role}, up ${span(more.upSeconds * 1_000)}; ${megabytes(memory.usedBytes)}, ${limit}`,
    `  ${kept}; last write ${aof.lastWrite}, last rewrite ${aof.lastRewrite}${aof.isRewriting ? ', rewriting' : ''}`,
    `  ${replicas.online} replicas online, ${replicas.wanted} waited for; generation ${generation}${parents.length === 0 ? '' : `, after ${parents[0]}`}, sequence ${sequence}`,
    ...(problem === null ? [] : [`  No instance starts on it: ${problem.code}: ${problem.message}`]),
  ]
}

const iso = (ms: number) => new Date(ms).toISOString()

function switchLines({ killed, paused, pausedRoles, safe }: FleetOverview, at: string): readonly string[] {
  const of = ({ by, atMs, reason }: Partial<SwitchRecord>) =>
    `by ${printable(by ?? 'somebody')} ${iso(atMs ?? 0)}${reason == null ? '' : ` (${printable(reason)})`}`
  return [
    ...(killed === null ? [] : [`  KILLED ${of(killed)}`]),
    ...(paused === null ? [] : [`  PAUSED ${of(paused)}`]),
    ...pausedRoles.map(({ role, ...pull }) => `  PAUSED ${role} ${of(pull)}`),
    ...safe.map(
      ({ seat, check, message, by, atMs }) =>
        `  ${seat} is SAFE (${check}): ${message} Set by ${by} ${iso(atMs)}; see: rolekeeper safe${at}`,
    ),
  ]
}

function seatLine({ seat, roles, holder, sinceMs, epoch }: SeatOverview): string {
  const who = holder === null ? 'nobody' : `${holder} since ${iso(sinceMs ?? 0)}`
  const [kind, role, address] = seat.split(':')
  const name = kind === 'shadow' ? `shadow ${short(address ?? '')}` : short(seat)
  const does = kind === 'shadow' ? (role ?? '') : roles.join(', ')
  return `  ${name.padEnd(20)} ${does.padEnd(24)} ${who}, epoch ${epoch}`
}

function instanceLine({ name, zone, release, seenMsAgo, isSilent, ...more }: InstanceOverview): string {
  const { holds, standsBy, killed, paused, lagMs } = more
  if (release === null) return `  ${name}  was never heard of, or has left`
  const does =
    holds.length > 0
      ? `holds ${holds.length}`
      : isSilent
        ? 'holds nothing'
        : `stands by${standsBy === null ? ': each seat has its holder' : ''}`
  const parts = [
    `  ${name}`,
    ...(zone === null ? [] : [zone]),
    release,
    `${isSilent ? 'SILENT, ' : ''}heard of ${span(seenMsAgo ?? 0)} ago`,
    `${does}${standsBy === null ? '' : ` (${standsBy})`}`,
    ...(lagMs === 0 ? [] : [`lags ${span(lagMs)}`]),
    ...(killed ? ['killed'] : []),
    ...(paused ? ['paused'] : []),
  ]
  return parts.join('  ')
}

const waitingText = (waiting: WaitingWorkflow | null): string =>
  waiting === null
    ? 'none'
    : `${waiting.id.slice(0, 8)} ${waiting.role} ${waiting.state}, ${span(Date.now() - waiting.createdAtMs)}`

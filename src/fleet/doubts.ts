import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Refusal, RolekeeperError, refuse } from '../errors.ts'
import type { RedisStore } from '../journal/redis/link/store.ts'
import { type SettingConflict, setForFleet } from '../journal/redis/seats/controls.ts'
import type { Controls } from '../journal/redis/seats/seat.ts'
import {
  type ActiveSwitch,
  type Control,
  closedForNow,
  type Gate,
  gateBySwitches,
  readControl,
  type SwitchRecord,
  takenBack,
} from '../ops/control.ts'
import { type Author, authorOf, switchesOf, switchName, takenBackOf } from './switches.ts'
import { seatFolder } from './witnesses.ts'

/** No line waits longer for an answer. */
const LATE_MS = 2_000

/** Why a signer is SAFE, as `rolekeeper safe` shows it. */
export type FleetDoubt = {
  readonly check: string
  readonly message: string
  readonly seen: string
  readonly toLeave: string
  /** The generation that it was doubted in; absent where that is not known. */
  readonly gen?: string
}

/** What a fleet's instance may do, by the files of its machine and by what is set for the fleet. */
export type FleetControl = {
  /** Take note of what a beat or a barrier was answered, and pass on what appeared on this machine. */
  readonly heard: (controls: Controls) => void
  /** The gate of a seat's signer; closed where the fleet has said nothing for a lease. Synchronous. */
  readonly gate: (seat: string) => Gate
  /** The switches as this machine and the fleet have them. */
  readonly switches: () => Control
  /** Who took back a switch that was on. */
  readonly takenBack: (pulled: ActiveSwitch) => SwitchRecord
  /** Make a seat's signer SAFE: on this machine's disk first, then for the fleet. Throws what the disk does not take. */
  readonly makeSafe: (seat: string, doubt: FleetDoubt) => void
  /** Make every signer SAFE where Redis has forgotten what it acknowledged; nothing for any other error. */
  readonly forgotten: (why: RolekeeperError) => void
}

/** What the control of an instance needs. */
type ControlDeps = {
  readonly store: RedisStore
  readonly directory: string
  readonly instance: string
  readonly seats: readonly string[]
  readonly leaseMs: number
  readonly nowMs: () => number
  readonly monotonicMs: () => number
  readonly onFailed: (error: RolekeeperError) => void
}

/** Create the control of an instance; what its files say counts from now on. */
export function createFleetControl(deps: ControlDeps): FleetControl {
  const { directory, seats, leaseMs, monotonicMs } = deps
  const doubts = readDoubts(deps)
  let controls: ReadonlyMap<string, string> = new Map()
  let heardSeq = 0
  let heardAtMs = Number.NEGATIVE_INFINITY
  const pass = createPassing(deps)
  const passSwitches = createSwitchPassing(pass)
  const safeOf = (seat: string): Refusal | undefined => {
    const doubt = doubts.get(seat) ?? parseDoubt(controls.get(safeName(seat)))
    return doubt === null ? undefined : refuse('safe', `${seat} is SAFE (${doubt.check}): ${doubt.message}`)
  }
  const switches = () => switchesOf(readControl(directory), controls)
  const passDoubt = ([seat, doubt]: readonly [string, FleetDoubt]) =>
    pass(safeName(seat), true, doubt, { name: leftName(seat), names: doubt.gen ?? '' })
  const makeSafe = (seat: string, found: FleetDoubt) => {
    const { gen } = deps.store.known()
    const before = doubts.get(seat)
    const doubt = { gen, ...found }
    // What is over with a generation before is so with this one's doubt too, and not the other way round.
    if (before !== undefined && (doubt.gen !== gen || before.gen === gen)) return
    // The gate is closed before anything is written.
    doubts.set(seat, doubt)
    writeSafeFile(directory, seat, doubt)
    pass(safeName(seat), false)
    passDoubt([seat, doubt])
  }
  const leave = ([seat, doubt]: readonly [string, FleetDoubt]) => {
    if (!isLeft(doubt, controls.get(leftName(seat)))) return
    doubts.delete(seat)
    pass(safeName(seat), false)
    forgetSafe(directory, seat)
  }
  return {
    heard: (next) => {
      // On another line, an answer from before a switch was set may come after one that shows it. What is older for longer is
      // of another server, after a failover.
      if (next.seq < heardSeq && monotonicMs() - heardAtMs < LATE_MS) return
      heardSeq = next.seq
      controls = next
      heardAtMs = monotonicMs()
      for (const each of [...doubts]) leave(each)
      const local = readControl(directory)
      // It stops this machine: the fleet is there for a disk that fails.
      if (local.isUnreadable) deps.onFailed(unreadable(directory))
      else passSwitches(local.pulled)
      // One that cannot be read is of now at the latest: so a person can have it left.
      for (const [seat, doubt] of doubts)
        if (doubt.gen === undefined) doubts.set(seat, { ...doubt, gen: deps.store.known().gen })
      for (const each of doubts) passDoubt(each)
    },
    gate: (seat) => {
      const isStale = monotonicMs() - heardAtMs >= leaseMs
      const safe = safeOf(seat)
      return closedForNow({ ...gateBySwitches(switches()), ...(safe === undefined ? {} : { safe }) }, isStale)
    },
    switches,
    takenBack: (pulled) => takenBackOf(pulled, controls) ?? takenBack(directory, pulled),
    makeSafe,
    forgotten: ({ code, shortMessage, facts }) => {
      if (code !== 'journal.amnesia') return
      // Closed at once, also for what a SAFE signer may sign: until a Redis answers that has not forgotten.
      heardAtMs = Number.NEGATIVE_INFINITY
      // By now the generation may be another than the one in which it was known.
      const found = { ...amnesiaOf(shortMessage), gen: String(facts.gen) }
      // A shadow signs nothing.
      for (const seat of seats) if (!seat.startsWith('shadow:')) makeSafe(seat, found)
    },
  }
}

/** What this machine's own files say of its signers, by their seats. */
function readDoubts({ directory, seats }: Pick<ControlDeps, 'directory' | 'seats'>): Map<string, FleetDoubt> {
  const found = seats.map((seat) => [seat, readSafeFile(directory, seat)] as const)
  return new Map(found.flatMap(([seat, doubt]) => (doubt === null ? [] : [[seat, doubt] as const])))
}

const unreadable = (directory: string) =>
  new RolekeeperError('control.unreadable', `${directory} cannot be read, so this machine signs nothing.`, {
    fix: 'stop this instance, and others take its seats; bring its directory back, then start it.',
    facts: { directory },
    retry: 'later',
  })

/** Doubt every signer of a Redis that has forgotten. Pure. */
export const amnesiaOf = (seen: string): FleetDoubt => ({
  check: 'fleet_amnesia',
  message: 'Redis has forgotten what it acknowledged.',
  seen,
  toLeave:
    'bring back the Redis that has it all; or prove with `rolekeeper safe` what the chain, the ledger and each instance know',
})

/** What the fleet's controls call a signer in SAFE. Pure. */
export const safeName = (seat: string): string => `safe:${seat}`

/** What they call one that a person had leave it. Pure. */
export const leftName = (seat: string): string => `left:${seat}`

/** That a person had a signer leave SAFE: what was doubted in these generations is over. */
export type LeftSafe = Author & { readonly over: readonly string[] }

/** Whether a doubt is one of those that a person had proven wrong. Pure. */
function isLeft({ gen }: FleetDoubt, text: string | undefined): boolean {
  if (text === undefined || gen === undefined) return false
  const { over }: LeftSafe = JSON.parse(text)
  return over.includes(gen)
}

/** Pass on to the fleet the switches that are on here, and which of them are off again. */
function createSwitchPassing(pass: ReturnType<typeof createPassing>) {
  let passed: readonly string[] = []
  return (pulled: readonly ActiveSwitch[]): void => {
    const names = pulled.map((each) => switchName(each.switch, each.role))
    for (const name of passed) if (!names.includes(name)) pass(name, false)
    passed = names
    for (const { switch: which, role, by, atMs, reason } of pulled)
      pass(switchName(which, role), true, by === null ? {} : { by, atMs, reason })
  }
}

/** Pass on to the fleet what is on here, once each time that it appears; where Redis does not take it, again later. */
function createPassing({ store, instance, nowMs, onFailed }: ControlDeps) {
  const passed = new Set<string>()
  return (
    name: string,
    isOn: boolean,
    what: Partial<FleetDoubt & SwitchRecord> = {},
    unless?: SettingConflict,
  ): void => {
    // One that was begun anew has heard nothing yet.
    const passing = `${store.known().gen} ${name}`
    if (!isOn) passed.delete(passing)
    if (!isOn || passed.has(passing)) return
    passed.add(passing)
    const value = JSON.stringify({ by: instance, atMs: nowMs(), ...what })
    // Who set it first is who a person asks.
    setForFleet({ name, value, keeps: 'first', ...(unless && { unless }) }, store).catch((error: unknown) => {
      passed.delete(passing)
      if (!(error instanceof RolekeeperError)) throw error
      onFailed(error)
    })
  }
}

/** The seats that are SAFE for the whole fleet, each with why, who says so and when. Pure. */
export const safeSeats = (
  controls: ReadonlyMap<string, string>,
): readonly (FleetDoubt & Author & { readonly seat: string })[] =>
  [...controls].flatMap(([name, text]) => {
    const seat = name.startsWith(safeName('')) ? name.slice(safeName('').length) : ''
    const [doubt, author] = [parseDoubt(text), authorOf(text)]
    return seat === '' || doubt === null || author === null ? [] : [{ seat, ...doubt, ...author }]
  })

/** Read why a signer is SAFE, as JSON; what cannot be read is a doubt too. Pure. */
function parseDoubt(text: string | undefined): FleetDoubt | null {
  if (text === undefined) return null
  try {
    const { check, message, seen, toLeave, gen }: Partial<FleetDoubt> = JSON.parse(text)
    if (check !== undefined && message !== undefined) {
      const doubt = { check, message, seen: seen ?? '', toLeave: toLeave ?? '' }
      return gen === undefined ? doubt : { ...doubt, gen }
    }
  } catch {
    // As what follows.
  }
  return { ...UNREADABLE, seen: text.slice(0, 100) }
}

const UNREADABLE: FleetDoubt = {
  check: 'safe_unreadable',
  message: 'Why it is SAFE cannot be read.',
  seen: '',
  toLeave: 'see `rolekeeper safe`',
}

const safeFile = (directory: string, seat: string): string => join(seatFolder(directory, seat), 'SAFE')

/** Read why a machine's instance holds a signer for SAFE; null where it does not. */
export function readSafeFile(directory: string, seat: string): FleetDoubt | null {
  const path = safeFile(directory, seat)
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return null
    return parseDoubt(readFileSync(path, 'utf8'))
  } catch {
    return UNREADABLE
  }
}

/** Forget it. */
export const forgetSafe = (directory: string, seat: string): void =>
  rmSync(safeFile(directory, seat), { force: true })

function writeSafeFile(directory: string, seat: string, doubt: FleetDoubt): void {
  mkdirSync(seatFolder(directory, seat), { recursive: true, mode: 0o700 })
  const file = openSync(safeFile(directory, seat), 'w', 0o600)
  try {
    writeSync(file, JSON.stringify(doubt))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

import { RolekeeperError } from '../errors.ts'
import type { InstanceRecord } from '../journal/redis/seats/instances.ts'
import { assign, fingerprintOnDuty, type Seat } from './assign.ts'
import type { View } from './view.ts'

/** Budgets and expiries read clocks: an instance that is so far from Redis's and the chain's takes no seat, ms. */
const CLOCK_OFF_MS = 30_000

/** What an instance's share depends on beside what it sees of its fleet. */
type Self = {
  readonly instance: string
  readonly seats: readonly Seat[]
  readonly fingerprint: string
  readonly lagMs: number
  /** How far its clock is ahead of the chain's, ms; null while that is not known. */
  readonly blockOffMs: number | null
  readonly isStopping: boolean
}

/** What an instance should hold, by what it last saw of its fleet. */
export type SeatShare = {
  readonly isClockRight: boolean
  /** Why it takes no seat; null where it takes its share. */
  readonly whyNone: RolekeeperError | null
  /** Whether it may take seats at all. */
  readonly takes: boolean
  /** Whether a seat that is free is its to take now. */
  readonly isDue: (seat: string) => boolean
  /** Seat → instance. */
  readonly assigned: ReadonlyMap<string, string>
}

/** Say what an instance should hold. Pure. */
export function seatShareOf(view: View, self: Self): SeatShare {
  const { records, holders, freeMs, living, lively, clockOffMs } = view
  const { instance, seats, fingerprint, lagMs, blockOffMs } = self
  const isByChain = blockOffMs !== null && Math.abs(blockOffMs) < CLOCK_OFF_MS
  // Where Redis's clock is the wrong one, the chain says so.
  const isClockRight = clockOffMs < CLOCK_OFF_MS || isByChain
  const isAble = isClockRight && !self.isStopping
  const renewed = living.map((each) => (each.name === instance ? { ...each, isAble } : each))
  const tokens = [...holders.keys()].map((seat) => records.get(seat)?.token ?? '')
  // A process that began anew is not the one that holds what stands under its name.
  const holds = ({ incarnation }: InstanceRecord) => tokens.some((token) => token.startsWith(incarnation))
  const onDuty = fingerprintOnDuty(renewed, new Set(renewed.filter(holds).map(({ name }) => name)))
  const names = new Set(lively.map(({ name }) => name))
  const able = renewed.filter((each) => names.has(each.name) && each.isAble && each.fingerprint === onDuty)
  const leastMs = Math.min(...able.map((each) => each.lagMs))
  const assigned = assign(
    seats,
    holders,
    able.filter((each) => each.lagMs === leastMs),
  )
  const isOnDuty = onDuty === null || onDuty === fingerprint
  return {
    isClockRight,
    assigned,
    takes: isAble && onDuty === fingerprint,
    whyNone: isClockRight ? (isOnDuty ? null : standsBy()) : clockOff(clockOffMs, blockOffMs),
    // Who lags takes what nobody else has taken by then, whoever should have.
    isDue: (seat) => (freeMs.get(seat) ?? -1) >= lagMs && (lagMs > 0 || assigned.get(seat) === instance),
  }
}

const clockOff = (redisMs: number, blockMs: number | null) => {
  const fromChain =
    blockMs === null
      ? 'no new block has shown who is right'
      : `${inSeconds(Math.abs(blockMs))} from that of the newest block`
  return new RolekeeperError(
    'fleet.clock',
    `The clock of this machine is ${inSeconds(redisMs)} from that of Redis, and ${fromChain}; it takes no seat from ${inSeconds(CLOCK_OFF_MS)} on.`,
    {
      fix: 'set the clocks of both machines by NTP.',
      facts: { redisMs: Math.round(redisMs), blockMs: blockMs === null ? null : Math.round(blockMs) },
      retry: 'later',
    },
  )
}

const inSeconds = (ms: number) => `${Math.round(ms / 1_000)} s`

const standsBy = () =>
  new RolekeeperError(
    'fleet.stands_by',
    'Instances with another release, other policies or other seats came before this one: it stands by until none of them lives.',
    {
      fix: 'none needed in a rolling restart; else bring all instances to one release and one configuration.',
      retry: 'later',
    },
  )

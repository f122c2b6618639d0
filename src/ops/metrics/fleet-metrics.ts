import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** How an instance of a fleet stands at this moment. */
export type FleetGauges = {
  /** Those of the configuration, and of what is in flight for none of it. */
  readonly seats: number
  /** Those that this instance holds. */
  readonly seatsHeld: number
  /** How long the longest free seat could have been taken by anybody, as this instance sees it; 0 where none is free. */
  readonly seatFreeMs: number
  /** Whether it takes no seat, by its clock, its release or what Redis lacks. */
  readonly isStandby: boolean
  /** Instances that live as far as this one sees, itself included. */
  readonly instances: number
  /** Since Redis last answered a look at the fleet; null: never. */
  readonly redisSilentMs: number | null
  /** Whether Redis does not keep what it acknowledges, by its settings. */
  readonly isRedisUnfit: boolean
  /** Whether wake-ups do not pass: what is due is found by the rescans. */
  readonly isQueueDeaf: boolean
}

/** What happens to an instance of a fleet, counted as it happens. No label names a seat. */
export type FleetMetrics = {
  /** A term of a seat began, was left to another instance, or was lost to one. */
  readonly term: (what: 'begun' | 'left' | 'lost') => void
  /** A script or a read of Redis; `outcome` is `ok` or the error's code. */
  readonly redisCalled: (call: string, outcome: string, durationMs: number) => void
  readonly set: (now: FleetGauges) => void
}

/** Seconds; from a local Redis to the end of all tries. */
const BUCKETS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 2.5]

/** Register the families that only an instance of a fleet feeds. @param name bounds the number of names. */
export function createFleetMetrics(registry: Registry, name: (text: string) => string): FleetMetrics {
  const full = (name: string) => `rolekeeper_${name}`
  const gauge = (name: string, help: string) => new Gauge({ name: full(name), help, registers: [registry] })
  const seats = gauge('seats', 'Seats of the configuration, and of what is in flight for none of it.')
  const held = gauge('seats_held', 'Seats that this instance holds.')
  const free = gauge(
    'seat_free_seconds',
    'Time for which the longest free seat could have been taken, as this instance sees it.',
  )
  const standby = gauge('standby', '1 while this instance takes no seat; /readyz says why.')
  const instances = gauge('fleet_instances', 'Instances that live, as this one sees.')
  const silent = gauge('redis_silent_seconds', 'Time since Redis last answered a look at the fleet.')
  const unfit = gauge('redis_unfit', '1 while the settings of Redis do not keep what it acknowledges.')
  const deaf = gauge('queue_deaf', '1 while wake-ups of other processes do not pass.')
  const terms = new Counter({
    name: full('terms_total'),
    help: 'Terms of seats that began, were left to another instance, or lost to one.',
    labelNames: ['what'],
    registers: [registry],
  })
  const calls = new Histogram({
    name: full('redis_call_seconds'),
    help: 'Calls of Redis until they were answered, tries included, by outcome.',
    labelNames: ['call', 'outcome'],
    buckets: BUCKETS,
    registers: [registry],
  })
  return {
    term: (what) => terms.inc({ what }),
    redisCalled: (call, outcome, durationMs) =>
      calls.observe({ call, outcome: name(outcome) }, durationMs / 1_000),
    set: (now) => {
      seats.set(now.seats)
      held.set(now.seatsHeld)
      free.set(now.seatFreeMs / 1_000)
      standby.set(Number(now.isStandby))
      instances.set(now.instances)
      silent.set(now.redisSilentMs === null ? Number.NaN : now.redisSilentMs / 1_000)
      unfit.set(Number(now.isRedisUnfit))
      deaf.set(Number(now.isQueueDeaf))
    },
  }
}

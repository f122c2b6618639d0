import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { RolekeeperError } from '../../src/errors.ts'
import { createAttestation } from '../../src/fleet/attest.ts'
import { createSeats, type Seats, type SeatsDeps } from '../../src/fleet/seats.ts'
import type { Witnesses } from '../../src/fleet/witnesses.ts'
import type { StoreConfig } from '../../src/journal/redis/link/generation.ts'
import type { RedisStore } from '../../src/journal/redis/link/store.ts'
import { openStore } from './redis-fleet.ts'

/** An instance of a fleet that only holds seats, and what it saw. */
export type TestInstance = {
  readonly name: string
  readonly store: RedisStore
  readonly seats: Seats
  /** `begin 0x01`, `lost 0x01`, `park 0x01`, with the monotonic time. */
  readonly events: { readonly what: string; readonly atMs: number }[]
  /** The codes of why it took no seat, in their order; `null` where it takes. */
  readonly states: (string | null)[]
  readonly names: () => readonly string[]
}

/** A lease that no busy machine misses. */
export const LONG_LEASE_MS = 30_000

/** A clock by which one with a long lease looks and beats as often as with a short one. */
export const hurriedClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 50), signal),
}

type Options = Partial<Omit<SeatsDeps, 'seats'>> & {
  readonly seats: SeatsDeps['seats']
  readonly roster?: readonly string[]
  readonly witnesses?: Pick<Witnesses, 'known' | 'begin'>
  /** Where to note them, for who notes some too. */
  readonly states?: (string | null)[]
}

/** Start an instance with a store of its own. */
export function startInstance(config: StoreConfig, options: Options): TestInstance {
  const name = options.instance ?? `i-${randomUUID().slice(0, 4)}`
  const store = options.store ?? openStore({ ...config, instance: name })
  const events: TestInstance['events'][number][] = []
  const states = options.states ?? []
  const monotonicMs = options.monotonicMs ?? (() => performance.now())
  const note = (what: string) => events.push({ what, atMs: monotonicMs() })
  const seats = createSeats({
    // Another process of the same name is on the same directory, unless it says another.
    store,
    instance: name,
    place: name,
    agreement: () => ({ fingerprint: 'one', tightened: 0 }),
    release: '1.0.0',
    leaseMs: 800,
    lagMs: 0,
    clock: systemClock,
    switches: () => ({ killed: false, paused: false, pulled: [] }),
    blockOffMs: () => null,
    monotonicMs,
    onHeld: ({ seat }, lost) => {
      note(`begin ${seat}`)
      lost.addEventListener('abort', () => note(`lost ${seat}`))
      return async () => void note(`park ${seat}`)
    },
    attestation: createAttestation({
      witnesses: options.witnesses ?? { known: null, begin: async () => undefined },
      store,
      instance: name,
      roster: options.roster ?? [name],
      replicas: config.replicas,
      leaseMs: options.leaseMs ?? 800,
      monotonicMs,
      onWaiting: ({ code }) => states.push(code),
    }),
    onControls: () => undefined,
    onState: (why: RolekeeperError | null) => states.push(why?.code ?? null),
    ...options,
  })
  const names = () => seats.held().map(({ seat }) => seat)
  return { name, store, seats, events, states, names }
}

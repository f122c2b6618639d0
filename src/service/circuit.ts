import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  type IBackoff,
  type IHalfOpenAfterBackoffContext,
  isBrokenCircuitError,
} from 'cockatiel'
import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { Call } from './failure.ts'

/** One call of ours makes at most four attempts: it takes more than one bad call to close a host to all. */
const FAILURES_MAX = 5
/** A host that is back is noticed within seconds: one probe costs it nothing. */
const PAUSE_MS = 500
const PAUSE_MS_MAX = 5_000

/** `open`: nothing is sent. `half_open`: one request is on its way to find out. */
export type CircuitPhase = 'closed' | 'open' | 'half_open'

const PHASES: Readonly<Record<CircuitState, CircuitPhase>> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half_open',
  [CircuitState.Isolated]: 'open',
}

/** Keeps requests from a host that fails in a row. One for each host. */
type Circuit = {
  /**
   * Make one attempt, or throw `service.circuit_open` without making it.
   * @param failureOf what of the outcome speaks against the host, by a stable name; null for nothing. An attempt that
   *   throws was given up by its caller and says nothing about the host.
   */
  readonly attempt: <T>(
    call: Call,
    make: () => Promise<T>,
    failureOf: (made: T) => string | null,
  ) => Promise<T>
}

/** Create the circuit of one host. `onPhase` is called at each change. */
export function createCircuit(
  clock: Pick<Clock, 'monotonicMs'>,
  onPhase: (phase: CircuitPhase) => void,
): Circuit {
  let untilMs = 0
  let last = 'none'
  const pause = (ms: number): IBackoff<IHalfOpenAfterBackoffContext> => {
    untilMs = clock.monotonicMs() + ms
    return {
      // The library measures by the machine's clock: ours decides, and says all or nothing.
      get duration() {
        return clock.monotonicMs() >= untilMs ? 0 : Number.POSITIVE_INFINITY
      },
      next: () => pause(Math.min(ms * 2, PAUSE_MS_MAX)),
    }
  }
  // A probe that was given up must not count as one that went well.
  const isFailure = (error: unknown) => error instanceof Failed || policy.state === CircuitState.HalfOpen
  const policy: CircuitBreakerPolicy = circuitBreaker(handleWhen(isFailure), {
    breaker: new ConsecutiveBreaker(FAILURES_MAX),
    halfOpenAfter: { next: () => pause(PAUSE_MS) },
  })
  policy.onStateChange((state) => onPhase(PHASES[state]))

  return {
    attempt: async (call, make, failureOf) => {
      // The library would let others wait for the probe, past their own patience.
      if (policy.state === CircuitState.HalfOpen) throw isOpen(call, last, 0)
      let made: Awaited<ReturnType<typeof make>> | undefined
      try {
        return await policy.execute(async () => {
          made = await make()
          const failure = failureOf(made)
          if (failure === null) return made
          last = failure
          throw new Failed()
        })
      } catch (error) {
        if (error instanceof Failed && made !== undefined) return made
        if (isBrokenCircuitError(error)) throw isOpen(call, last, Math.max(0, untilMs - clock.monotonicMs()))
        throw error
      }
    },
  }
}

/** Marks a failed attempt for the library; never leaves this file. */
class Failed extends Error {}

const isOpen = (call: Call, last: string, probeInMs: number) =>
  new RolekeeperError(
    'service.circuit_open',
    `The service at ${call.host} was not asked ${call.method} ${call.path}: ${FAILURES_MAX} requests in a row failed (last: ${last}), and it is tried again in ${probeInMs} ms.`,
    {
      fix: 'check that the service is up and that `service.url` is right; nothing needs to be restarted.',
      facts: { ...call, last, probeInMs },
      retry: 'later',
    },
  )

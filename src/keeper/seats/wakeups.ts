import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { storeConfigOf } from '../../config/fleet.ts'
import type { RolekeeperError } from '../../errors.ts'
import { createBullmqQueue } from '../../queue/bullmq.ts'
import { LOOK, type Queue } from '../../queue/queue.ts'
import { createTimers, type TimersDeps } from '../../queue/timers.ts'
import { createWaker, type Waker } from '../../queue/waker.ts'

/** Wake-ups between the instances of a fleet; with timers alone, each finds what is due by looking. */
export type Wakeups = {
  /** Make what wakes a seat's workflows. */
  readonly queueOf: (seat: string) => (deps: TimersDeps) => Queue
  /** Let the holders of seats look at everything. */
  readonly hint: (seats: readonly string[]) => void
  /** Whether wake-ups do not pass now. */
  readonly isDeaf: () => boolean
  readonly close: () => Promise<void>
}

/** What wake-ups need. */
type WakeupsDeps = { readonly clock: Clock; readonly alarm: (error: RolekeeperError) => void }

/** Create what carries wake-ups, as a fleet's configuration says. */
export function createWakeups(config: RunConfig, { clock, alarm }: WakeupsDeps): Wakeups {
  const { endpoint, fleet } = storeConfigOf(config)
  const carrier = { ...endpoint, fleet }
  const problems = new Map<string, RolekeeperError>()
  const heardOf = (what: string) => (problem: RolekeeperError | null) => {
    if (problem === null) problems.delete(what)
    else {
      problems.set(what, problem)
      alarm(problem)
    }
  }
  const waker: Waker | undefined =
    config.queue === 'bullmq' ? createWaker(carrier, clock, heardOf('waker')) : undefined
  return {
    queueOf: (seat) => (timers) =>
      waker === undefined
        ? createTimers(timers)
        : createBullmqQueue({ ...timers, carrier, seat, waker, onHealth: heardOf(seat) }),
    hint: (seats) => {
      for (const seat of seats) void waker?.wake(seat, LOOK)
    },
    isDeaf: () => problems.size > 0,
    close: async () => waker?.close(),
  }
}

import { Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { endsWithin } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { type Carrier, type OnHealth, onChange, openLine, prefixOf, queueOf, refused } from './hints.ts'
import type { Queue } from './queue.ts'
import { createTimers, type TimersDeps } from './timers.ts'
import { WAKE, type Waker } from './waker.ts'

/** What wake-ups from other processes need beside this one's own. */
type BullmqDeps = TimersDeps & {
  readonly carrier: Carrier
  /** The seat that this process holds. */
  readonly seat: string
  readonly waker: Pick<Waker, 'probe'>
  readonly onHealth: OnHealth
}

/** A probe is sent so often, and has to be heard so soon. */
const PROBE_EVERY_MS = 30_000
const PROBE_LATE_MS = 10_000
/** Between a listener that failed and the next one. */
const AGAIN_MS = 1_000
/** What a listener may take to say goodbye; the jobs that it leaves behind come once more, to whoever is next. */
const GOODBYE_MS = 1_000

/** No line is opened again: what BullMQ does on the next one has failed too often, so all of it begins anew. */
const LISTENING = {
  retryStrategy: () => null,
  maxRetriesPerRequest: null,
  // Twice as long as an idle server leaves us without an answer: a line that carries nothing any more is noticed.
  socketTimeout: 4_000,
  // How long a server that says nothing has for its part of a goodbye.
  disconnectTimeout: 500,
}
const IDLE_S = 2

/**
 * Wake workflows from this process, and from every other one by BullMQ. A job is only a hint that names what to look
 * at: the journal says what there is to do, so stalled, repeated and lost jobs decide nothing.
 */
export function createBullmqQueue(deps: BullmqDeps): Queue {
  const timers = createTimers(deps)
  const closing = new AbortController()
  const listening = listenUntil(closing.signal, deps, (id) => timers.wake(id, 0))
  return {
    wake: timers.wake,
    close: async () => {
      closing.abort('closed')
      await Promise.all([timers.close(), listening])
    },
  }
}

/** Listen, and begin anew after whatever ends that, until told to end. */
async function listenUntil(
  closing: AbortSignal,
  deps: BullmqDeps,
  wake: (id: string) => void,
): Promise<void> {
  const report = onChange(deps.onHealth)
  while (!closing.aborted) {
    const ended = Promise.withResolvers<RolekeeperError | null>()
    const stop = () => ended.resolve(null)
    closing.addEventListener('abort', stop)
    const over = new AbortController()
    const onJob = (id: string | null) => {
      if (!over.signal.aborted) report(null)
      if (id !== null) wake(id)
    }
    const listener = listen(deps, onJob, ended.resolve)
    lateProbe(deps, listener.heard, over.signal).then(ended.resolve, () => undefined)
    const problem = await ended.promise
    closing.removeEventListener('abort', stop)
    over.abort('ended')
    if (problem !== null) report(problem)
    await listener.close()
    if (problem !== null) await deps.clock.sleep(AGAIN_MS, closing).catch(() => undefined)
  }
}

/** Resolve when a probe was taken by Redis and not heard in time; rejects when the signal aborts. */
async function lateProbe(
  { carrier, clock, seat, waker }: BullmqDeps,
  heard: () => number,
  signal: AbortSignal,
): Promise<RolekeeperError> {
  for (;;) {
    const before = heard()
    if (await waker.probe(seat)) {
      await clock.sleep(PROBE_LATE_MS, signal)
      if (heard() === before) return deaf(carrier, seat)
      await clock.sleep(PROBE_EVERY_MS - PROBE_LATE_MS, signal)
    } else await clock.sleep(AGAIN_MS, signal)
  }
}

const deaf = ({ host, port }: Carrier, seat: string) =>
  new RolekeeperError(
    'queue.deaf',
    `Of the wake-ups for seat ${seat} at Redis ${host}:${port}, none arrives: a probe is ${PROBE_LATE_MS} ms old.`,
    {
      fix: 'if that goes on, check that nobody has paused the queue; what is due is found by the rescans.',
      facts: { seat },
      retry: 'later',
    },
  )

type Listener = {
  /** How many jobs came. */
  readonly heard: () => number
  readonly close: () => Promise<void>
}

/** Take the jobs of a seat, each the id of a workflow or a probe, until the first problem with the server. */
function listen(
  { carrier, clock, seat }: BullmqDeps,
  onJob: (id: string | null) => void,
  onProblem: (problem: RolekeeperError) => void,
): Listener {
  let heard = 0
  const lines: Redis[] = []
  const open = (options: object) => {
    const line = openLine(carrier, { ...LISTENING, ...options }, (problem) => {
      onProblem(problem)
      // BullMQ would.
      line.connect = () => Promise.reject(new Error('Connection is closed.'))
    })
    lines.push(line)
    return line
  }
  const connection = open({})
  // BullMQ waits for jobs on a copy, which it does not give away.
  connection.duplicate = (options) => open(options ?? {})
  const worker = new Worker(
    queueOf(seat),
    async ({ name, data }) => {
      heard += 1
      onJob(name === WAKE && typeof data === 'string' ? data : null)
    },
    {
      connection,
      prefix: prefixOf(carrier),
      skipVersionCheck: true,
      drainDelay: IDLE_S,
      // A job is done when it is read. What a process that died had under way is free again after seconds.
      skipLockRenewal: true,
      lockDuration: 5_000,
      stalledInterval: 5_000,
      maxStalledCount: 1_000_000,
    },
  )
  worker.on('error', (error) => {
    const problem = refused(carrier, error)
    if (problem !== null) onProblem(problem)
  })
  return {
    heard: () => heard,
    close: async () => {
      const closed = worker.close()
      await endsWithin(closed, GOODBYE_MS, clock)
      for (const line of lines) line.disconnect()
      await closed
    },
  }
}

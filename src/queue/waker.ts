import { Queue as Sender } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Clock } from '../clock.ts'
import { type Carrier, type OnHealth, onChange, openLine, prefixOf, queueOf, refused } from './hints.ts'

/** Sends wake-ups to the holders of seats, whichever instances they are. */
export type Waker = {
  /**
   * Have the holder of a seat look at a workflow. Never rejects; false where Redis did not take it within a second,
   * or cannot be reached: the holder's rescan finds it later.
   */
  readonly wake: (seat: string, id: string) => Promise<boolean>
  /** Send the holder of a seat what it only has to hear. */
  readonly probe: (seat: string) => Promise<boolean>
  /** Resolve when what was asked for is sent or given up. */
  readonly close: () => Promise<void>
}

/** The names of jobs. */
export const WAKE = 'wake'
const PROBE = 'probe'

/** One line for all seats; nothing waits in this process for Redis to come back. */
const SENDING = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 1_000,
  // A line on which an answer is late is given up: the next one may be to another server.
  socketTimeout: 1_000,
  retryStrategy: (times: number) => Math.min(100 * times, 2_000),
}

/**
 * How long one wake-up may stand for later ones. It does until its job is done, and would for ever if somebody deleted
 * the job alone.
 */
const SAME_MS = 60_000

/** Connect to the Redis that carries wake-ups. `clock` need not agree with any other. */
export function createWaker(carrier: Carrier, clock: Pick<Clock, 'nowMs'>, onHealth: OnHealth): Waker {
  const report = onChange(onHealth)
  let isClosed = false
  const line = openLine(carrier, SENDING, (problem) => {
    if (!isClosed) report(problem)
  })
  line.on('ready', () => report(null))
  // The first line is waited for: a command says what it has to say, and ends.
  const connected = line.connect().catch(() => undefined)
  const senders = new Map<string, Sender>()
  const senderOf = (seat: string) => {
    const sender = senders.get(seat) ?? createSender(carrier, seat, line)
    senders.set(seat, sender)
    return sender
  }
  const sending = new Set<Promise<boolean>>()
  const send = (add: () => Promise<unknown>) => {
    const sent = connected
      .then(add)
      .then(
        () => {
          report(null)
          return true
        },
        (error: unknown) => {
          const problem = refused(carrier, error)
          if (problem !== null) report(problem)
          return false
        },
      )
      .finally(() => sending.delete(sent))
    sending.add(sent)
    return sent
  }
  return {
    wake: (seat, id) => {
      const minute = Math.floor(clock.nowMs() / SAME_MS)
      const deduplication = { id: `${id}@${minute}`, keepLastIfActive: true }
      return send(() => senderOf(seat).add(WAKE, id, { deduplication }))
    },
    probe: (seat) => send(() => senderOf(seat).add(PROBE, '')),
    close: async () => {
      await Promise.all(sending)
      isClosed = true
      line.disconnect()
    },
  }
}

function createSender(carrier: Carrier, seat: string, connection: Redis): Sender {
  const sender = new Sender(queueOf(seat), {
    connection,
    prefix: prefixOf(carrier),
    // The journal's check of the server is stricter, and BullMQ's prints.
    skipVersionCheck: true,
    skipWaitingForReady: true,
    // Nobody reads the stream of events; by default it keeps 10,000 a queue.
    streams: { events: { maxLen: 100 } },
    // Attempts: what a run that failed needs is decided by the journal and the timers.
    defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
  })
  sender.on('error', () => undefined)
  return sender
}

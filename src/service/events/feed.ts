import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import { type EventEnvelope, STREAM_HEARTBEAT_MS, type StreamMessage } from '../contract/assumptions.ts'
import type { EventSource } from './event-source.ts'
import { type CursorStore, createFeedCursor, type FeedCursor } from './feed-cursor.ts'
import { createHints, type Hint, type Hints } from './hints.ts'
import { createPolling, type Polling } from './polling.ts'
import type { StreamConnection, UnreadableMessage } from './stream.ts'

/** Two heartbeats may be late or lost; the third means that nobody is there. */
const HEARTBEATS_MISSED = 2.5
/** While the stream is down; a hint that comes this late still beats most blocks. */
const POLL_MS = 2_000
const RECONNECT_MS = 250
const RECONNECT_MS_MAX = 30_000
/** A connection that lived this long was a good one: the next one is tried at once. */
const GOOD_CONNECTION_MS = 10_000

/** `stream` while it is open, `polling` while polling answers instead, `down` while nothing does. */
type FeedMode = 'stream' | 'polling' | 'down'

/** What the feed has done since it started, for metrics. */
export type FeedState = {
  readonly mode: FeedMode
  /** When the service last said anything, events and heartbeats alike, milliseconds of the monotonic clock; null before the first. */
  readonly lastMessageAtMs: number | null
  readonly hints: number
  readonly duplicates: number
  readonly unreadable: number
  readonly gaps: number
  readonly connections: number
  readonly cursorsRefused: number
}

/** What the feed needs. */
type FeedDeps = CursorStore & {
  readonly client: EventSource
  readonly clock: Clock
  /** Called once a code for what asking again cannot mend, for example a key without the scope: only sweeps are left. */
  readonly onRefused: (error: RolekeeperError) => void
}

/** A running source of hints. */
export type Feed = {
  /** Listen; before `start`. The listener returns when it will not forget the hint. */
  readonly onHint: (listener: (hint: Hint) => void) => void
  /**
   * Give a sweep at once and every `sweepMs`, and hints as events come. Resolves when closed; rejects when a listener
   * throws, which is a defect: the cursor has not passed that hint.
   */
  readonly start: () => Promise<void>
  /**
   * Take an event that came another way, by a webhook: it becomes a hint unless stream or polling gave it already.
   * @returns false when the feed has ended and nothing was taken.
   */
  readonly hear: (event: EventEnvelope) => boolean
  readonly state: () => FeedState
  /** End; nothing is given afterwards. */
  readonly close: () => Promise<void>
}

/** Which events are worth a hint (others only move the cursor), and how often to look whatever they say. */
type FeedOptions = {
  readonly types: readonly string[]
  readonly sweepMs: number
  /** How often the stream says something at least. */
  readonly heartbeatMs?: number
}

/**
 * Create the feed of the service's events: the stream, and polling while it is down, resumed by one cursor. Events may
 * be lost, doubled or late; the sweep finds what they left out.
 */
export const createFeed = (options: FeedOptions, deps: FeedDeps): Feed => new EventFeed(options, deps)

type Counts = { -readonly [K in Exclude<keyof FeedState, 'hints' | 'duplicates'>]: FeedState[K] }

/** One connection: how it ends, whether it is over for us, and the last number heard on it. */
type Link = {
  readonly ended: PromiseWithResolvers<void>
  readonly over: AbortController
  lastSeq: number
}

class EventFeed implements Feed {
  readonly #state: Counts = {
    mode: 'down',
    lastMessageAtMs: null,
    unreadable: 0,
    gaps: 0,
    connections: 0,
    cursorsRefused: 0,
  }
  readonly #types: readonly string[]
  readonly #sweepMs: number
  readonly #silenceMsMax: number
  readonly #deps: FeedDeps
  readonly #stop = new AbortController()
  readonly #refusedCodes = new Set<string>()
  readonly #cursor: FeedCursor
  readonly #hints: Hints
  readonly #polling: Polling
  #loops: Promise<void> = Promise.resolve()
  #fellSilent = false

  constructor(options: FeedOptions, deps: FeedDeps) {
    this.#types = options.types
    this.#sweepMs = options.sweepMs
    this.#silenceMsMax = HEARTBEATS_MISSED * (options.heartbeatMs ?? STREAM_HEARTBEAT_MS)
    this.#deps = deps
    this.#cursor = createFeedCursor(deps, deps.clock, this.#stop.signal)
    this.#hints = createHints(options.types, deps.clock.nowMs, this.#stop.signal)
    // What happened before the service was met without a cursor was given by nobody.
    if (this.#cursor.value() === null) this.#hints.oweSweep()
    this.#polling = createPolling({
      client: deps.client,
      clock: deps.clock,
      stop: this.#stop.signal,
      cursor: this.#cursor,
      hints: this.#hints,
      onPage: (unreadable) => {
        this.#state.lastMessageAtMs = this.#monotonicMs
        this.#state.unreadable += unreadable
      },
      onCursorRefused: () => this.#forgetCursor(),
    })
  }

  onHint(listener: (hint: Hint) => void): void {
    this.#hints.listen(listener)
  }

  state(): FeedState {
    return { ...this.#state, ...this.#hints.counts() }
  }

  start(): Promise<void> {
    const loops = Promise.all([this.#follow(), this.#sweepForever()]).then(() => undefined)
    this.#loops = loops
    return loops
  }

  hear(event: EventEnvelope): boolean {
    if (this.#stopped) return false
    // The cursor stays: what lies between was not given.
    this.#hints.event(event)
    return true
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled([this.#loops, this.#cursor.saved()])
  }

  async #sweepForever(): Promise<void> {
    while (!this.#stopped) {
      this.#hints.sweep()
      await this.#pause(this.#sweepMs)
    }
  }

  /** The stream while it lasts; between two streams, polls. */
  async #follow(): Promise<void> {
    let failures = 0
    while (!this.#stopped) {
      const startedAtMs = this.#monotonicMs
      await this.#operating(() => this.#streamOnce())
      failures = this.#monotonicMs - startedAtMs >= GOOD_CONNECTION_MS ? 0 : failures + 1
      const backoffMs = Math.min(RECONNECT_MS * 2 ** Math.max(0, failures - 1), RECONNECT_MS_MAX)
      const reconnectAtMs = this.#monotonicMs + backoffMs * (0.5 + Math.random() / 2)
      do {
        const polled = await this.#operating(() => this.#polling.drain())
        this.#state.mode = polled ? 'polling' : 'down'
        await this.#pause(Math.min(POLL_MS, reconnectAtMs - this.#monotonicMs))
      } while (!this.#stopped && this.#monotonicMs < reconnectAtMs)
    }
    this.#state.mode = 'down'
  }

  /** Open the stream and stay until it ends, falls silent or is not trusted any more. */
  async #streamOnce(): Promise<void> {
    const link: Link = { ended: Promise.withResolvers(), over: new AbortController(), lastSeq: 0 }
    const connection = await this.#deps.client.openStream(
      { types: this.#types, cursor: this.#cursor.value(), signal: this.#stop.signal },
      {
        onClosed: link.ended.resolve,
        onMessage: (message) => {
          try {
            if (!link.over.signal.aborted) this.#hear(link, message)
          } catch (error) {
            link.ended.reject(error)
          }
        },
      },
    )
    const watch = this.#watchSilence(connection, link.over.signal)
    // After one that was open and said nothing, the next is a stream once it says something: else it would look well for ever.
    if (!this.#fellSilent) this.#state.mode = 'stream'
    this.#state.connections += 1
    try {
      this.#hints.paySweep()
      await link.ended.promise
    } finally {
      link.over.abort()
      connection.close()
      this.#state.mode = 'down'
      await watch
    }
  }

  #hear(link: Link, message: StreamMessage | UnreadableMessage): void {
    this.#state.lastMessageAtMs = this.#monotonicMs
    this.#state.mode = 'stream'
    this.#fellSilent = false
    const next = link.lastSeq + 1
    const seq = message.seq ?? link.lastSeq
    link.lastSeq = Math.max(link.lastSeq, seq)
    if (seq > next) this.#closeGap(link)
    if (message.type === 'event') {
      this.#hints.event(message.event)
      // What comes late or twice lies behind the cursor; what comes while a gap is open lies beyond it.
      if (seq === next && !this.#polling.isDraining()) this.#cursor.move(message.cursor)
    }
    if (message.type === 'unreadable') this.#state.unreadable += 1
    if (message.type === 'reset') {
      this.#forgetCursor()
      link.over.abort()
      link.ended.resolve()
    }
  }

  async #watchSilence(connection: StreamConnection, over: AbortSignal): Promise<void> {
    const openedAtMs = this.#monotonicMs
    for (;;) {
      const heardAtMs = Math.max(openedAtMs, this.#state.lastMessageAtMs ?? 0)
      const leftMs = heardAtMs + this.#silenceMsMax - this.#monotonicMs
      if (leftMs <= 0) {
        this.#fellSilent = true
        return connection.close()
      }
      const ended = await this.#deps.clock.sleep(leftMs, over).then(
        () => false,
        () => true,
      )
      if (ended) return
    }
  }

  /** Messages of the stream were lost: poll for them; where that fails, a new connection resumes at the cursor. */
  #closeGap(link: Link): void {
    this.#state.gaps += 1
    this.#operating(() => this.#polling.drain()).then((closed) => {
      if (closed) return
      link.over.abort()
      link.ended.resolve()
    }, link.ended.reject)
  }

  /** The service does not know our place any more; the next contact begins anew, with a sweep. */
  #forgetCursor(): void {
    if (this.#cursor.value() === null) return
    this.#cursor.forget()
    this.#hints.oweSweep()
    this.#state.cursorsRefused += 1
  }

  /** Whether it went well; the outside's failures are expected here, a defect of ours is not. */
  async #operating(run: () => Promise<void>): Promise<boolean> {
    try {
      await run()
      return true
    } catch (error) {
      if (!(error instanceof RolekeeperError)) throw error
      this.#reportRefused(error)
      return false
    }
  }

  #reportRefused(error: RolekeeperError): void {
    // A refused cursor is a bad request, and mends itself.
    if (error.retry !== 'never' || error.code === 'service.bad_request') return
    if (this.#stopped || this.#refusedCodes.has(error.code)) return
    this.#refusedCodes.add(error.code)
    this.#deps.onRefused(error)
  }

  /** Wait, or less when the feed ends. */
  #pause(ms: number): Promise<void> {
    return this.#deps.clock.sleep(Math.max(0, ms), this.#stop.signal).catch(() => undefined)
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted
  }

  get #monotonicMs(): number {
    return this.#deps.clock.monotonicMs()
  }
}

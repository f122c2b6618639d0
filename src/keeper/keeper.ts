import type { Nodes } from '../chain/nodes.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import type { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { createSources } from '../observe/sources.ts'
import { type Gate, readControl } from '../ops/control.ts'
import type { KeeperEvent, SummaryEvent } from '../ops/events.ts'
import type { Log } from '../ops/log.ts'
import { fileMail } from '../ops/mail.ts'
import type { OpsServer } from '../ops/server.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Feed } from '../service/events/feed.ts'
import { openReportedService } from './connect.ts'
import { endAll } from './end-all.ts'
import { createKeeperFeed, listenForWebhooks } from './feed.ts'
import { connectNodes } from './ground.ts'
import { type HealthDeps, startHealth } from './health.ts'
import { type KeeperRecords, openRecords } from './records.ts'
import { createReports, type Reports } from './reports.ts'
import { eventTypesOf } from './role.ts'
import { type Candidate, candidatesOf, refusalOfAll } from './staff.ts'
import { proveNoneLeftLive } from './startup-checks.ts'
import { createTerm, type Term } from './term.ts'

/** A keeper of one configuration. */
export type Keeper = {
  /**
   * Follow what is in flight, then watch and decide. A role that is refused is down, and the others work. Throws
   * RolekeeperError when nothing can be done at all: a wrong chain, a port in use, every role refused with nothing in
   * flight.
   */
  readonly start: () => Promise<void>
  /** Stop deciding, carry on what is in flight for at most `drainMs`, park the rest; may be called again with less. */
  readonly stop: (options: { readonly drainMs: number }) => Promise<void>
  /** @returns how to stop listening. */
  readonly onEvent: (listener: (event: KeeperEvent) => void) => () => void
  readonly summary: () => SummaryEvent
}

/** What a keeper is given from outside. */
export type KeeperDeps = {
  readonly log: Log
  readonly version: string
  readonly clock?: Clock
  /** `orders`: no agent decides anything; what people submitted and what is in flight is carried. */
  readonly duty?: 'orders'
}

/**
 * Create the keeper of a configuration: the place where ports meet their implementations. Policies are loaded and
 * compiled here; a role whose policy is refused is down.
 */
export const createKeeper = (config: RunConfig, deps: KeeperDeps): Keeper =>
  new ComposedKeeper(config, deps, candidatesOf(config))

class ComposedKeeper implements Keeper {
  readonly onEvent: Keeper['onEvent']
  readonly #config: RunConfig
  readonly #log: Log
  readonly #clock: Clock
  readonly #decides: boolean
  readonly #candidates: readonly Candidate[]
  readonly #reports: Reports
  /** Closed together when the keeper stops, or could not start; the journal last. */
  readonly #opened: (() => unknown)[] = []
  #closeJournal: (() => Promise<void>) | undefined
  readonly #hurry = new AbortController()
  readonly #ending = new AbortController()
  #nodes: Nodes | undefined
  #term: Term | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #feed: Feed | undefined
  #waitsFor: RolekeeperError | null = null
  #sweptAtMs: number | null = null

  constructor(
    config: RunConfig,
    { log, version, clock = systemClock, duty }: KeeperDeps,
    candidates: readonly Candidate[],
  ) {
    this.#config = config
    this.#log = log
    this.#clock = clock
    this.#decides = duty !== 'orders'
    this.#candidates = candidates
    this.#reports = createReports(config, candidates, { version, log, clock })
    this.onEvent = this.#reports.onEvent
  }

  summary(): SummaryEvent {
    return this.#reports.summary(this.#live())
  }

  readonly #live = () => this.#term?.live() ?? []

  start(): Promise<void> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  /**
   * First what is public: the record of it, the nodes, and what is in flight goes on. Then what is new: the service, and
   * every role by itself.
   */
  async #start(): Promise<void> {
    const { alarm } = this.#reports
    const records = await openRecords(this.#config, { clock: this.#clock, alarm })
    this.#closeJournal = records.close
    const { journal, resumed } = records
    proveNoneLeftLive(resumed, this.#config)
    const ops = await this.#startOps(records)
    const client = openReportedService(this.#config, this.#clock, this.#reports.metrics, this.#log)
    this.#opened.push(() => client.close())
    const term = await this.#begin(records, client)
    const refusal = refusalOfAll(term.states())
    if (refusal !== null && resumed.length === 0) throw refusal
    const feed = await this.#createFeed(journal, client)
    const { webhookReceived: onOutcome } = this.#reports.metrics
    this.#opened.push(await listenForWebhooks(this.#config, { clock: this.#clock, feed, onOutcome }))
    this.#reports.ready(ops.url, term.atWork(), resumed.length)
    this.#opened.push(() => feed.close())
    this.#feed = feed
    feed.start()
  }

  async #begin(records: KeeperRecords, client: ServiceClient): Promise<Term> {
    const trying = {
      clock: this.#clock,
      stop: this.#ending.signal,
      onFailed: (error: RolekeeperError) => {
        this.#waitsFor = error
        this.#reports.alarm(error)
      },
    }
    const isInFlight = records.resumed.length > 0
    const nodes = await connectNodes(this.#config, { ...trying, reports: this.#reports, isInFlight })
    this.#opened.push(nodes.close)
    this.#nodes = nodes
    const sources = createSources(this.#config.sources, this.#clock)
    this.#opened.push(sources.close)
    const term = createTerm(records, {
      ...{ config: this.#config, candidates: this.#candidates, log: this.#log, reports: this.#reports },
      ...{ ...trying, nodes, client, sources, decides: this.#decides, gate: this.#gate },
      mail: fileMail(this.#config.directory, records.journal),
      hears: () => this.#feed !== undefined,
      closes: (end) => this.#opened.push(end),
    })
    this.#term = term
    await term.begin()
    return term
  }

  #createFeed(journal: Journal, client: ServiceClient): Promise<Feed> {
    return createKeeperFeed(this.#config, {
      ...{ client, clock: this.#clock, journal, onRefused: this.#reports.alarm },
      types: this.#candidates.flatMap(({ does }) => eventTypesOf(does)),
      onHint: (hint) => {
        if (hint.type === 'sweep') this.#sweptAtMs = this.#clock.nowMs()
        this.#term?.hear(hint)
      },
    })
  }

  async #startOps(records: KeeperRecords): Promise<OpsServer> {
    const health: HealthDeps = {
      ...{ records, clock: this.#clock, live: this.#live },
      feed: () => this.#feed?.state() ?? null,
      roles: () => this.#term?.states() ?? [],
      nodes: () => (this.#term?.isFollowing() ? this.#nodes : undefined),
      control: () => readControl(this.#config.directory),
      waitsFor: () => (this.#term?.isFollowing() ? null : this.#waitsFor),
      sweptAtMs: () => this.#sweptAtMs,
    }
    const ops = await startHealth(this.#config.ops, this.#reports.metrics, health)
    this.#opened.push(ops.close)
    return ops
  }

  readonly #gate = (): Gate => {
    const { killed, paused } = readControl(this.#config.directory)
    // A stop at once takes no further signature: what waits for a KMS lets go.
    return { closed: killed || this.#hurry.signal.aborted, paused }
  }

  async stop({ drainMs }: { readonly drainMs: number }): Promise<void> {
    if (drainMs === 0) this.#hurry.abort()
    this.#stopping ??= this.#stop(drainMs)
    return this.#stopping
  }

  async #stop(drainMs: number): Promise<void> {
    this.#ending.abort()
    const outside = { clock: this.#clock, log: this.#log }
    const late = this.#clock.sleep(drainMs, this.#hurry.signal).catch(() => undefined)
    const drained = this.#term?.drain()
    if (drainMs > 0) await Promise.race([drained, late])
    // From here on nobody outside is waited for: what was asked of a key or of the service is given up.
    this.#hurry.abort()
    await endAll([() => this.#starting?.catch(() => undefined)], outside)
    await endAll(this.#opened.toReversed(), outside)
    await this.#closeJournal?.()
  }
}

import type { Nodes } from '../chain/nodes.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import type { RolekeeperError } from '../errors.ts'
import { type Accounts, openAccounts } from '../journal/sqlite/accounts.ts'
import { createSources, type Sources } from '../observe/sources.ts'
import type { KeeperEvent, SummaryEvent } from '../ops/events.ts'
import type { Log } from '../ops/log.ts'
import type { Outlet } from '../ops/outlet.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Feed } from '../service/events/feed.ts'
import { createKeeperFeed, listenForWebhooks } from './feed.ts'
import { watchDisk } from './health/disk.ts'
import type { HealthDeps } from './health/keeper-view.ts'
import { openListeners } from './listeners.ts'
import { endedMoney } from './money/run-money.ts'
import { candidatesOf, type Watched } from './policy/candidates.ts'
import { loadRolePolicy } from './policy/role-policy.ts'
import { watchPolicies } from './policy/watch.ts'
import { listenForReplies } from './replies.ts'
import { eventTypesOf } from './role/role.ts'
import { watchControl } from './seats/control-watch.ts'
import type { HeldSeat, Seating, Tenure } from './seats/seating.ts'
import { sitAlone } from './seats/single.ts'
import { endAll } from './shutdown.ts'
import { connectNodes } from './startup/chain-follower.ts'
import { openReportedService } from './startup/connect.ts'
import { proveServiceThere } from './startup/service.ts'
import { recordReports } from './telemetry/audit.ts'
import { createReports, type Reports } from './telemetry/reports.ts'
import { openTraces, type Traces } from './telemetry/traces.ts'
import { type WatchedSecrets, watchSecrets } from './telemetry/watch-secrets.ts'
import { isKeptDown, refusalOfAll } from './term/staff.ts'
import { createTerm, type Term } from './term/term.ts'

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
  /** What its log and its screen are written to, to say so where they are lost. */
  readonly outlets?: readonly Outlet[]
  readonly clock?: Clock
  /** `orders`: no agent decides anything; what people submitted and what is in flight is carried. */
  readonly duty?: 'orders'
  /** The changes of policies that this start may take up though they loosen, by their hashes. */
  readonly loosens?: readonly string[]
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
  readonly #candidates: readonly Watched[]
  readonly #reports: Reports
  readonly #sources: Sources
  readonly #secrets: WatchedSecrets
  readonly #version: string
  readonly #outlets: readonly Outlet[]
  readonly #loosens: readonly string[]
  /** Closed together when the keeper stops, or could not start; the records last. */
  readonly #opened: (() => unknown)[] = []
  #seating: Seating | undefined
  readonly #hurry = new AbortController()
  readonly #ending = new AbortController()
  #nodes: Nodes | undefined
  readonly #terms = new Set<Term>()
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #feed: Feed | undefined
  #traces: Traces | null = null
  #waitsFor: RolekeeperError | null = null
  #sweptAtMs: number | null = null
  #behindServiceMs: number | null = null
  #money: SummaryEvent['money'] = null

  constructor(
    config: RunConfig,
    { log, version, outlets = [], clock = systemClock, duty, loosens = [] }: KeeperDeps,
    candidates: readonly Watched[],
  ) {
    this.#config = config
    this.#log = log
    this.#clock = clock
    this.#version = version
    this.#outlets = outlets
    this.#loosens = loosens
    this.#decides = duty !== 'orders'
    this.#candidates = candidates
    this.#reports = createReports(config, candidates, { version, log, clock })
    this.onEvent = this.#reports.onEvent
    this.#sources = createSources(config.sources, clock)
    this.#secrets = watchSecrets(config, this.#reports)
    this.#opened.push(this.#reports.close, this.#sources.close, this.#secrets.close)
  }

  summary(): SummaryEvent {
    return this.#reports.summary(this.#live(), this.#money)
  }

  readonly #live = () => [...this.#terms].flatMap((term) => term.live())

  start(): Promise<void> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  /**
   * First what is public: the record of it, the nodes, and what is in flight goes on. Then what is new: the service, and
   * every role by itself.
   */
  async #start(): Promise<void> {
    const seating = await this.#sit()
    this.#seating = seating
    this.#opened.push(recordReports(seating.audit, this.#config, this.#reports))
    this.#traces = await openTraces(this.#config, this.#reports)
    this.#opened.push(() => this.#traces?.close())
    this.#opened.push(watchControl({ seating, emit: this.#reports.emit, log: this.#log, clock: this.#clock }))
    const accounts = openAccounts(this.#config.directory)
    const began = accounts.lastBlocks()
    this.#opened.push(async () => {
      await accounts.close()
      this.#money = await endedMoney(this.#config, began)
    })
    const urls = await openListeners(this.#config, this.#lookedAtBy(seating), {
      reports: this.#reports,
      log: this.#log,
      version: this.#version,
      candidates: this.#candidates,
      accounts,
      opened: this.#opened,
    })
    const client = openReportedService(this.#config, this.#clock, this.#reports.metrics, {
      log: this.#log,
      onDate: (dateMs) => {
        this.#behindServiceMs = dateMs - this.#clock.nowMs()
      },
    })
    this.#opened.push(() => client.close())
    const nodes = await this.#connect(seating)
    // With something in flight the nodes are enough to follow it, and the service is waited for.
    if (seating.resumed === 0) await proveServiceThere(this.#config, this.#clock)
    await seating.hold((seat) => this.#hold(seat, accounts, nodes, client), nodes)
    const terms = [...this.#terms]
    const refusal = refusalOfAll(terms.flatMap((term) => term.states()))
    if (refusal !== null && seating.resumed === 0) throw refusal
    const feed = await this.#createFeed(seating, client)
    const { webhookReceived: onOutcome } = this.#reports.metrics
    const hear: Feed['hear'] = (event) => {
      // A delivery comes to one instance, and may be another's concern.
      seating.hint()
      return feed.hear(event)
    }
    this.#opened.push(
      await listenForWebhooks(this.#config, { clock: this.#clock, feed: { hear }, onOutcome }),
    )
    const answered = { live: this.#live, candidates: this.#candidates }
    this.#opened.push(await listenForReplies(this.#config, answered))
    const atWork = terms.flatMap((term) => term.atWork())
    this.#reports.ready(urls, atWork, seating.resumed ?? 0)
    this.#opened.push(() => feed.close())
    this.#feed = feed
    feed.start()
    this.#opened.push(this.#watchPolicies())
  }

  #watchPolicies(): () => Promise<void> {
    return watchPolicies(this.#candidates, {
      clock: this.#clock,
      emit: this.#reports.emit,
      alarm: this.#reports.alarm,
      load: (position) => loadRolePolicy(position, this.#config),
      isKept: (agent) => [...this.#terms].some((term) => isKeptDown(agent, term.states())),
      renew: async (agent) => {
        await Promise.all([...this.#terms].map((term) => term.renew(agent)))
      },
    })
  }

  async #sit(): Promise<Seating> {
    const deps = {
      clock: this.#clock,
      candidates: this.#candidates,
      log: this.#log,
      version: this.#version,
      alarm: this.#reports.alarm,
      emit: this.#reports.emit,
      stop: this.#ending.signal,
      metrics: this.#reports.metrics.fleet,
    }
    if (this.#config.fleet === undefined) return sitAlone(this.#config, deps)
    // What speaks to Redis is a seventh of all modules, and who sits alone needs none of it.
    const { openInFleet } = await import('./seats/fleet.ts')
    return openInFleet(this.#config, deps)
  }

  readonly #onFailed = (error: RolekeeperError) => {
    this.#waitsFor = error
    this.#reports.alarm(error)
  }

  async #connect({ resumed }: Seating): Promise<Nodes> {
    const nodes = await connectNodes(this.#config, {
      clock: this.#clock,
      stop: this.#ending.signal,
      onFailed: this.#onFailed,
      reports: this.#reports,
      isInFlight: resumed !== 0,
    })
    this.#opened.push(nodes.close)
    this.#nodes = nodes
    return nodes
  }

  #hold(seat: HeldSeat, accounts: Accounts, nodes: Nodes, client: ServiceClient): Tenure {
    const term = createTerm(seat, {
      clock: this.#clock,
      log: this.#log,
      reports: this.#reports,
      decides: this.#decides,
      accounts,
      nodes,
      client,
      sources: this.#sources,
      stop: this.#ending.signal,
      hurry: this.#hurry.signal,
      loosens: this.#loosens,
      onFailed: this.#onFailed,
      hears: () => this.#feed !== undefined,
    })
    this.#terms.add(term)
    for (const workflow of seat.records.resumed) {
      this.#traces?.resumed(workflow)
      this.#reports.resumed(workflow)
    }
    const end = async () => {
      await term.end()
      // What it parks with the keeper's own end is in the summary.
      if (!this.#ending.signal.aborted) this.#terms.delete(term)
    }
    return { begin: term.begin, end }
  }

  #createFeed({ values }: Seating, client: ServiceClient): Promise<Feed> {
    return createKeeperFeed(this.#config, {
      client,
      clock: this.#clock,
      journal: values,
      onRefused: this.#reports.alarm,
      types: this.#candidates.flatMap(({ does }) => eventTypesOf(does)),
      onHint: (hint) => {
        this.#traces?.heard(hint.type)
        if (hint.type === 'sweep') this.#sweptAtMs = this.#clock.monotonicMs()
        for (const term of this.#terms) term.hear(hint)
      },
    })
  }

  #lookedAtBy(seating: Seating): HealthDeps {
    const isFollowing = () => [...this.#terms].every((term) => term.isFollowing())
    return {
      clock: this.#clock,
      terms: () => [...this.#terms],
      directory: this.#config.directory,
      control: () => seating.control(),
      standing: () => seating.standing(),
      fleet: () => seating.gauges(),
      feed: () => this.#feed?.state() ?? null,
      nodes: () => (isFollowing() ? this.#nodes : undefined),
      waitsFor: () => (isFollowing() ? null : this.#waitsFor),
      sweptAtMs: () => this.#sweptAtMs,
      behindServiceMs: () => this.#behindServiceMs,
      diskFreeBytes: watchDisk(this.#config.directory),
      outlets: this.#outlets,
      cap: this.#config.limits,
      kept: () => ({
        audit: seating.audit.state(),
        secrets: this.#secrets.state(),
        targets: this.#reports.alarmTargets(),
      }),
    }
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
    const drained = Promise.all([...this.#terms].map((term) => term.drain()))
    if (drainMs > 0 && this.#seating?.drains === true) await Promise.race([drained, late])
    // From here on nobody outside is waited for: what was asked of a key or of the service is given up.
    this.#hurry.abort()
    await endAll([() => this.#starting?.catch(() => undefined)], outside)
    await this.#seating?.leave()
    await endAll(this.#opened.toReversed(), outside)
    await this.#seating?.close()
  }
}

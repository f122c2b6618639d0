import { type Clock, systemClock } from '../clock.ts'
import type { AgentConfig, RunConfig } from '../config/config.ts'
import type { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { createSources } from '../observe/sources.ts'
import { type Gate, readControl, stopped } from '../ops/control.ts'
import type { KeeperEvent, SummaryEvent } from '../ops/events.ts'
import type { Log } from '../ops/log.ts'
import type { OpsServer } from '../ops/server.ts'
import type { Queue } from '../queue/queue.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Feed } from '../service/events/feed.ts'
import type { Hint } from '../service/events/hints.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { type Background, type BackgroundDeps, startBackground } from './background.ts'
import { openReportedService } from './connect.ts'
import { endAll } from './end-all.ts'
import { createKeeperFeed, listenForWebhooks } from './feed.ts'
import { type Ground, openGround } from './ground.ts'
import { type HealthDeps, startHealth } from './health.ts'
import { createLiveWorkflows, isCarrying, type LiveWorkflows } from './live-workflows.ts'
import { createLookout } from './lookout.ts'
import { type KeeperRecords, openRecords } from './records.ts'
import { createReports, type Reports } from './reports.ts'
import { eventTypesOf } from './role.ts'
import { createRunQueue, createSerial } from './run-queue.ts'
import { openSignerDesk } from './signer-orders.ts'
import {
  absentRoles,
  type Candidate,
  candidatesOf,
  createStaff,
  payersOf,
  type RoleState,
  refusalOfAll,
  type Staff,
} from './staff.ts'
import { proveNoneLeftLive } from './startup-checks.ts'

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

/** What a keeper that runs is reached by. */
type Running = Readonly<{ ground: Ground; staff: Staff; queue: Queue; background: Background }>

class ComposedKeeper implements Keeper {
  readonly onEvent: Keeper['onEvent']
  readonly #config: RunConfig
  readonly #log: Log
  readonly #clock: Clock
  readonly #decides: boolean
  readonly #candidates: readonly Candidate[]
  readonly #reports: Reports
  readonly #live: LiveWorkflows
  readonly #alone = createSerial()
  /** Closed together when the keeper stops, or could not start; the journal last. */
  readonly #opened: (() => unknown)[] = []
  #closeJournal: (() => Promise<void>) | undefined
  readonly #hurry = new AbortController()
  readonly #ending = new AbortController()
  #running: Running | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #onDrained: (() => void) | undefined
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
    const { metrics, emit, alarm } = this.#reports
    this.#live = createLiveWorkflows({
      ...{ nowMs: clock.nowMs, directory: config.directory, log, metrics, emit, alarm },
      role: (workflow) => this.#running?.staff.of(workflow),
      decides: this.#decides,
      wake: (id) => this.#running?.queue.wake(id, 0),
      register: () => this.#running?.background.register(),
      onEnded: (workflow) => {
        this.#reports.ended(workflow)
        if (!isCarrying(this.#live.list())) this.#onDrained?.()
      },
    })
  }

  summary(): SummaryEvent {
    return this.#reports.summary(this.#live.list())
  }

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
    const ground = await this.#openGround(records)
    const parts = { records, ground, candidates: this.#candidates, clock: this.#clock }
    const desk = await openSignerDesk({ ...parts, onChanged: this.#live.moved })
    this.#ending.signal.throwIfAborted()
    const client = openReportedService(this.#config, this.#clock, this.#reports.metrics, this.#log)
    this.#opened.push(() => client.close())
    const staff = this.#createStaff(records, ground, client)
    this.#opened.push(staff.stop)
    const queue = createRunQueue({
      ...{ clock: this.#clock, journal, signers: records.signers, alone: this.#alone, log: this.#log },
      ...{ stagesOf: staff.stagesOf, onMove: this.#live.moved, metrics: this.#reports.metrics },
    })
    this.#opened.push(queue.close)
    const background = this.#startBackground({ journal, client, staff, desk }, ground)
    this.#running = { ground, staff, queue, background }
    for (const workflow of resumed) this.#live.resume(workflow)
    for (const absent of absentRoles(resumed, this.#config)) this.#reports.alarm(absent)
    await staff.open()
    this.#ending.signal.throwIfAborted()
    const refusal = refusalOfAll(staff.states())
    if (refusal !== null && resumed.length === 0) throw refusal
    const feed = await this.#createFeed(journal, client)
    const { webhookReceived: onOutcome } = this.#reports.metrics
    this.#opened.push(await listenForWebhooks(this.#config, { clock: this.#clock, feed, onOutcome }))
    this.#reports.ready(ops.url, staff.atWork(), resumed.length)
    this.#opened.push(() => feed.close())
    this.#feed = feed
    feed.start()
  }

  async #openGround(records: KeeperRecords): Promise<Ground> {
    const ground = await openGround(this.#config, {
      ...{ clock: this.#clock, log: this.#log, reports: this.#reports, records },
      onHead: () => {
        this.#live.wakeAll('in_flight')
        this.#live.wakeAll('cleared')
        this.#live.wakeAll('attested')
      },
      onFailed: (error) => {
        this.#waitsFor = error
        this.#reports.alarm(error)
      },
      stop: this.#ending.signal,
    })
    this.#waitsFor = null
    this.#opened.push(ground.close)
    return ground
  }

  #createStaff(
    { journal, signers }: KeeperRecords,
    { nodes, chain, gas }: Ground,
    client: ServiceClient,
  ): Staff {
    const sources = createSources(this.#config.sources, this.#clock)
    this.#opened.push(sources.close)
    const { metrics, emit, alarm } = this.#reports
    return createStaff(this.#candidates, {
      ...{ journal, nodes, client, chain, gas, signers, sources, metrics, emit, alarm },
      urgentOf: this.#live.urgentOf,
      ...{ config: this.#config, clock: this.#clock, log: this.#log, gate: this.#gate },
      onOpened: (workflow: Workflow) => this.#live.moved(null, workflow),
      onMove: this.#live.moved,
      alone: <T>(work: () => Promise<T>) => this.#alone('open', work),
      onState: (agent, state) => this.#roleIs(agent, state),
    })
  }

  #roleIs(agent: AgentConfig, state: RoleState): void {
    const { role, signer } = agent
    // Those that are up in time are in `ready`.
    if (state.type === 'down' || this.#feed !== undefined) this.#reports.roleIs(agent, state)
    if (state.type !== 'up') return
    for (const workflow of this.#live.list()) {
      if (workflow.role === role && workflow.signer === signer.address)
        this.#running?.queue.wake(workflow.id, 0)
    }
    if (this.#decides && this.#feed !== undefined) state.role.duty.look()
  }

  #createFeed(journal: Journal, client: ServiceClient): Promise<Feed> {
    return createKeeperFeed(this.#config, {
      ...{ client, clock: this.#clock, journal, onRefused: this.#reports.alarm },
      types: this.#candidates.flatMap(({ does }) => eventTypesOf(does)),
      onHint: (hint) => this.#hinted(hint),
    })
  }

  #hinted(hint: Hint): void {
    if (hint.type === 'sweep') this.#sweptAtMs = this.#clock.nowMs()
    if (hint.type.startsWith('workflow.')) this.#live.wakeAll('confirmed')
    if (this.#decides) for (const role of this.#running?.staff.atWork() ?? []) role.hear(hint)
  }

  async #startOps(records: KeeperRecords): Promise<OpsServer> {
    const health: HealthDeps = {
      ...{ records, clock: this.#clock, feed: () => this.#feed?.state() ?? null },
      live: () => (this.#running === undefined ? records.resumed : this.#live.list()),
      roles: () => this.#running?.staff.states() ?? [],
      nodes: () => this.#running?.ground.nodes,
      control: () => readControl(this.#config.directory),
      waitsFor: () => this.#waitsFor,
      sweptAtMs: () => this.#sweptAtMs,
    }
    const ops = await startHealth(this.#config.ops, this.#reports.metrics, health)
    this.#opened.push(ops.close)
    return ops
  }

  #startBackground(open: Pick<BackgroundDeps, 'journal' | 'client' | 'staff' | 'desk'>, { nodes }: Ground) {
    const { nowMs } = this.#clock
    const { alarm } = this.#reports
    const background = startBackground({
      ...{ nowMs, directory: this.#config.directory, log: this.#log, ...open },
      lookOut: createLookout({
        ...{ nowMs, live: this.#live.list, nodes, payers: payersOf(this.#candidates), alarm },
        atWork: open.staff.atWork,
      }),
      stopped: () => stopped(this.#gate()),
      leavesOrders: () => this.#stopping !== undefined,
    })
    this.#opened.push(background.stop)
    return background
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
    const idle = this.#running?.staff.stop()
    const late = this.#clock.sleep(drainMs, this.#hurry.signal).catch(() => undefined)
    if (drainMs > 0) await Promise.race([idle?.then(() => this.#drained()), late])
    // From here on nobody outside is waited for: what was asked of a key or of the service is given up.
    this.#hurry.abort()
    await endAll([() => this.#starting?.catch(() => undefined)], outside)
    await endAll(this.#opened.toReversed(), outside)
    await this.#closeJournal?.()
  }

  #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (isCarrying(this.#live.list())) this.#onDrained = resolve
    else resolve()
    return promise
  }
}

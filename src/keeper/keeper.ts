import type { Nodes } from '../chain/nodes.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { lockDirectory } from '../journal/lock.ts'
import { openSqliteJournal } from '../journal/sqlite.ts'
import { createSources } from '../observe/sources.ts'
import { createAlarms } from '../ops/alarms.ts'
import { type Gate, readControl, stopped } from '../ops/control.ts'
import { createTally, type KeeperEvent, type SummaryEvent } from '../ops/events.ts'
import type { Log } from '../ops/log.ts'
import { createMetrics, type Metrics } from '../ops/metrics.ts'
import { type OpsServer, startOpsServer } from '../ops/server.ts'
import { type ChainView, watchChain } from '../pipeline/transactions/nonces.ts'
import type { Queue } from '../queue/queue.ts'
import type { CircuitPhase } from '../service/circuit.ts'
import { createServiceClient, type ServiceClient } from '../service/client.ts'
import { createEventSource } from '../service/events/event-source.ts'
import { createFeed, type Feed } from '../service/events/feed.ts'
import type { Hint } from '../service/events/hints.ts'
import { startWebhookListener } from '../service/events/webhook-listener.ts'
import { SERVICE_TIMEOUTS } from '../service/http.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { type Background, startBackground } from './background.ts'
import { openNodes } from './connect.ts'
import { type HealthDeps, readGauges, readReadiness } from './health.ts'
import { createLiveWorkflows, isCarrying, type LiveWorkflows } from './live-workflows.ts'
import { openRole, type RoleAtWork } from './role.ts'
import { loadRolePolicy, type RolePolicy } from './role-policy.ts'
import { createRunQueue, createSerial } from './run-queue.ts'
import { checkAccess, proveNoneLeftLive, provePins, proveService } from './startup-checks.ts'

/** A keeper of one configuration. */
export type Keeper = {
  /** Watch and decide. Throws RolekeeperError when it cannot: a wrong chain, a denied key, a port in use. */
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

/** Interest moves health without any event: everything is looked at again at least this often. */
const SWEEP_MS = 5_000

/**
 * Create the keeper of a configuration: the place where ports meet their implementations. Policies are loaded and
 * compiled here, so that a mistake in them stops the start before anything is watched.
 */
export function createKeeper(config: RunConfig, deps: KeeperDeps): Keeper {
  const policies = config.agents.map((agent) => loadRolePolicy(agent, config))
  checkAccess(config, policies)
  return new ComposedKeeper(config, deps, policies)
}

/** What is open between start and stop. */
type Running = {
  readonly journal: Journal
  readonly nodes: Nodes
  readonly client: ServiceClient
  readonly chain: ChainView
  readonly queue: Queue
  readonly feed: Feed
  readonly chores: Background
  readonly ops: OpsServer
  readonly roles: readonly RoleAtWork[]
}

class ComposedKeeper implements Keeper {
  readonly #config: RunConfig
  readonly #log: Log
  readonly #clock: Clock
  readonly #decides: boolean
  readonly #policies: readonly RolePolicy[]
  readonly #metrics: Metrics
  readonly #listeners = new Set<(event: KeeperEvent) => void>()
  readonly #live: LiveWorkflows
  readonly #alone = createSerial()
  readonly #tally: ReturnType<typeof createTally>
  /** Undone in reverse order when the keeper stops, or could not start. */
  readonly #opened: (() => unknown)[] = []
  readonly #hurry = new AbortController()
  #running: Running | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #onDrained: (() => void) | undefined
  #sweptAtMs: number | null = null

  constructor(
    config: RunConfig,
    { log, version, clock = systemClock, duty }: KeeperDeps,
    policies: readonly RolePolicy[],
  ) {
    this.#config = config
    this.#log = log
    this.#clock = clock
    this.#decides = duty !== 'orders'
    this.#policies = policies
    this.#tally = createTally(clock.nowMs())
    this.#metrics = createMetrics({
      version,
      environment: config.environment,
      configHash: config.hash,
      rulesetHash: policies.map(({ ruleset }) => ruleset.hash).join(','),
    })
    this.#live = createLiveWorkflows({
      nowMs: clock.nowMs,
      directory: config.directory,
      metrics: this.#metrics,
      log,
      emit: this.#emit,
      alarm: this.#alarm,
      role: ({ role }) => this.#open.roles.find((each) => each.role === role),
      decides: this.#decides,
      wake: (id) => this.#running?.queue.wake(id, 0),
      register: () => this.#open.chores.register(),
      onEnded: (workflow) => {
        this.#tally.ended(workflow)
        if (!isCarrying(this.#live.list())) this.#onDrained?.()
      },
    })
  }

  onEvent(listener: (event: KeeperEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  summary(): SummaryEvent {
    const roles = this.#policies.map(({ agent }) => agent.role)
    return this.#tally.summary(roles, this.#live.list(), this.#clock.nowMs())
  }

  start(): Promise<void> {
    this.#starting ??= this.#start()
    return this.#starting
  }

  async #start(): Promise<void> {
    const { directory, chain: settings, service, ops: opsAt } = this.#config
    const lock = lockDirectory(directory)
    this.#opened.push(lock.release)
    const journal = openSqliteJournal(directory)
    this.#opened.push(() => journal.close())
    const client = createServiceClient(
      {
        baseUrl: service.url,
        ...(service.secretKey === undefined ? {} : { secretKey: service.secretKey.reveal() }),
        timeouts: SERVICE_TIMEOUTS,
        assumptions: service.assumptions,
        events: { onAttempt: this.#metrics.serviceCalled, onCircuit: this.#onCircuit },
      },
      this.#clock,
    )
    this.#opened.push(() => client.close())
    await proveService(client, settings.id, this.#log)
    const nodes = await openNodes(this.#config, this.#clock)
    this.#opened.push(() => nodes.close())
    await provePins(nodes, this.#config.deployment)
    const chain = await watchChain({
      nowMs: this.#clock.nowMs,
      nodes,
      journal,
      // A shadow claims no nonce: its address may well be another keeper's to use.
      signers: this.#policies.flatMap(({ agent }) => (agent.mode === 'live' ? [agent.signer.address] : [])),
      onHead: () => {
        this.#live.wakeAll('in_flight')
        this.#live.wakeAll('cleared')
      },
      onFailed: (error) => this.#log.warn('could not follow the chain', {}, error),
      alarm: this.#alarm,
    })
    this.#opened.push(chain.stop)
    const roles = await this.#staff({ journal, nodes, client, chain })
    const queue = createRunQueue({
      ...{ clock: this.#clock, journal, roles, alone: this.#alone, metrics: this.#metrics, log: this.#log },
      onMove: this.#live.moved,
    })
    this.#opened.push(queue.close)
    const feed = await this.#createFeed(journal, client, roles)
    const pulse = this.#pulse(journal, feed, roles)
    const ops = await startOpsServer(opsAt, {
      metrics: async () => this.#metrics.render(await readGauges(pulse)),
      readiness: () => readReadiness(pulse),
    })
    this.#opened.push(ops.close)
    const live = await journal.live()
    proveNoneLeftLive(live, this.#policies)
    const chores = startBackground({
      ...{ nowMs: this.#clock.nowMs, directory, journal, client, roles, log: this.#log },
      stopped: () => stopped(this.#gate()),
      leavesOrders: () => this.#stopping !== undefined,
    })
    this.#opened.push(chores.stop)
    this.#running = { journal, nodes, client, chain, queue, feed, chores, ops, roles }
    for (const workflow of live) this.#live.resume(workflow)
    await this.#listenForWebhooks(feed)
    this.#emitReady(live.length)
    this.#opened.push(() => feed.close())
    feed.start()
  }

  /** The service can push, too: what comes so joins the hints of stream and polling. */
  async #listenForWebhooks(feed: Feed): Promise<void> {
    const { webhook, assumptions } = this.#config.service
    if (webhook === undefined) return
    const { secrets, ...settings } = webhook
    const listener = await startWebhookListener(
      { ...settings, headers: assumptions.webhookHeaders, secrets: secrets.map((secret) => secret.reveal()) },
      { clock: this.#clock, onEvent: (event) => feed.hear(event), onOutcome: this.#metrics.webhookReceived },
    )
    this.#opened.push(listener.close)
  }

  #staff(open: Pick<Running, 'journal' | 'nodes' | 'client' | 'chain'>): Promise<readonly RoleAtWork[]> {
    const sources = createSources(this.#config.sources, this.#clock)
    this.#opened.push(sources.close)
    const shared = {
      ...open,
      sources,
      config: this.#config,
      clock: this.#clock,
      log: this.#log,
      metrics: this.#metrics,
      gate: this.#gate,
      emit: this.#emit,
      alarm: this.#alarm,
      onOpened: (workflow: Workflow) => this.#live.moved(null, workflow),
      alone: <T>(work: () => Promise<T>) => this.#alone('open', work),
    }
    return Promise.all(this.#policies.map((policy) => openRole(policy, shared)))
  }

  async #createFeed(journal: Journal, client: ServiceClient, roles: readonly RoleAtWork[]): Promise<Feed> {
    const { assumptions, streamUrl } = this.#config.service
    const cursor = await journal.getValue('feed.cursor')
    const types = [...new Set(roles.flatMap(({ hints }) => hints.eventTypes))]
    const feed = createFeed(
      { types, sweepMs: SWEEP_MS, heartbeatMs: assumptions.streamHeartbeatMs },
      {
        client: createEventSource(client, { url: streamUrl, query: assumptions.streamQuery }),
        clock: this.#clock,
        onRefused: this.#alarm,
        loadCursor: () => cursor,
        saveCursor: (next) => void journal.setValue('feed.cursor', next),
      },
    )
    feed.onHint((hint) => this.#hinted(hint, roles))
    return feed
  }

  #hinted(hint: Hint, roles: readonly RoleAtWork[]): void {
    if (hint.type === 'sweep') this.#sweptAtMs = this.#clock.nowMs()
    if (hint.type.startsWith('workflow.')) this.#live.wakeAll('confirmed')
    if (this.#decides) for (const { hints } of roles) hints.hear(hint)
  }

  #pulse(journal: Journal, feed: Feed, roles: readonly RoleAtWork[]): HealthDeps {
    return {
      clock: this.#clock,
      journal,
      feed,
      roles,
      live: this.#live.list,
      control: () => readControl(this.#config.directory),
      sweptAtMs: () => this.#sweptAtMs,
    }
  }

  get #open(): Running {
    if (this.#running === undefined)
      throw new RolekeeperError('keeper.not_started', 'The keeper is not running.')
    return this.#running
  }

  readonly #gate = (): Gate => {
    const { killed, paused } = readControl(this.#config.directory)
    // A stop at once takes no further signature: what waits for a KMS lets go.
    return { closed: killed || this.#hurry.signal.aborted, paused }
  }

  readonly #emit = (event: KeeperEvent): void => {
    if (event.type === 'gain') this.#tally.gained(BigInt(event.profitUsdMicros))
    for (const listener of this.#listeners) listener(event)
  }

  readonly #onCircuit = (phase: CircuitPhase): void => {
    this.#metrics.circuitMoved(phase)
    this.#log.warn('the circuit to the service moved', { phase })
  }

  readonly #alarm = createAlarms(
    (error, nowMs) => {
      this.#metrics.alarmed(error.code)
      this.#log.error('alarm', {}, error)
      const { code, shortMessage: message, fix = '' } = error
      this.#emit({ type: 'alarm', at: new Date(nowMs).toISOString(), code, message, fix })
    },
    () => this.#clock.nowMs(),
  )

  #emitReady(resumed: number): void {
    const { ops, roles } = this.#open
    this.#emit({
      type: 'ready',
      at: new Date(this.#clock.nowMs()).toISOString(),
      environment: this.#config.environment,
      chainId: this.#config.chain.id,
      directory: this.#config.directory,
      opsUrl: ops.url,
      signers: Object.fromEntries(roles.map(({ role, signer }) => [role, signer])),
      resumed,
    })
  }

  async stop({ drainMs }: { readonly drainMs: number }): Promise<void> {
    if (drainMs === 0) this.#hurry.abort()
    this.#stopping ??= this.#stop(drainMs)
    return this.#stopping
  }

  async #stop(drainMs: number): Promise<void> {
    await this.#starting?.catch(() => undefined)
    await Promise.all((this.#running?.roles ?? []).map(({ duty }) => duty.stop()))
    if (isCarrying(this.#live.list()) && drainMs > 0) {
      const drained = new Promise<void>((resolve) => {
        this.#onDrained = resolve
      })
      const late = this.#clock.sleep(drainMs, this.#hurry.signal).catch(() => undefined)
      await Promise.race([drained, late])
    }
    for (const close of this.#opened.toReversed()) await close()
  }
}

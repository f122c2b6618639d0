import type { Nodes } from '../chain/nodes.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { RunConfig } from '../config/config.ts'
import { RolekeeperError } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { openJournal } from '../journal/open.ts'
import { createSources } from '../observe/sources.ts'
import { type Gate, readControl, stopped } from '../ops/control.ts'
import type { KeeperEvent, SummaryEvent } from '../ops/events.ts'
import type { Log } from '../ops/log.ts'
import { type OpsServer, startOpsServer } from '../ops/server.ts'
import { type ChainView, watchChain } from '../pipeline/transactions/nonces.ts'
import { createSigners, type Signers } from '../pipeline/transactions/safe.ts'
import type { Queue } from '../queue/queue.ts'
import type { ServiceClient } from '../service/client.ts'
import type { Feed } from '../service/events/feed.ts'
import type { Hint } from '../service/events/hints.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { type Background, startBackground } from './background.ts'
import { openNodes, openService } from './connect.ts'
import { createKeeperFeed, listenForWebhooks } from './feed.ts'
import { type HealthDeps, readGauges, readReadiness } from './health.ts'
import { createLiveWorkflows, isCarrying, type LiveWorkflows } from './live-workflows.ts'
import { createReports, type Reports } from './reports.ts'
import { openRole, type RoleAtWork, type RoleDeps } from './role.ts'
import { liveSigners, loadRolePolicy, type RolePolicy } from './role-policy.ts'
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

/**
 * Create the keeper of a configuration: the place where ports meet their implementations. Policies are loaded and
 * compiled here, so that a mistake in them stops the start before anything is watched.
 */
export function createKeeper(config: RunConfig, deps: KeeperDeps): Keeper {
  const policies = config.agents.map((agent) => loadRolePolicy(agent, config))
  checkAccess(config, policies)
  return new ComposedKeeper(config, deps, policies)
}

/** What a keeper that runs is reached by. */
type Running = {
  readonly roles: readonly RoleAtWork[]
  readonly queue: Queue
  readonly background: Background
}

class ComposedKeeper implements Keeper {
  readonly onEvent: Keeper['onEvent']
  readonly #config: RunConfig
  readonly #log: Log
  readonly #clock: Clock
  readonly #decides: boolean
  readonly #policies: readonly RolePolicy[]
  readonly #reports: Reports
  readonly #live: LiveWorkflows
  readonly #alone = createSerial()
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
    this.#reports = createReports(config, policies, { version, log, clock })
    this.onEvent = this.#reports.onEvent
    const { metrics, emit, alarm } = this.#reports
    this.#live = createLiveWorkflows({
      ...{ nowMs: clock.nowMs, directory: config.directory, log, metrics, emit, alarm },
      role: ({ role }) => this.#open.roles.find((each) => each.role === role),
      decides: this.#decides,
      wake: (id) => this.#running?.queue.wake(id, 0),
      register: () => this.#open.background.register(),
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

  /** Open one part after another, each with those before it; what is opened is closed in reverse. */
  async #start(): Promise<void> {
    const journal = this.#openJournal()
    const client = await this.#connectService()
    const nodes = await this.#connectNodes()
    const { alarm } = this.#reports
    const known = { nowMs: this.#clock.nowMs, journal, alarm, chainId: this.#config.chain.id }
    const signers = await createSigners(liveSigners(this.#policies), known)
    const chain = await this.#watchChain(journal, nodes)
    const roles = await this.#staff({ journal, nodes, client, chain, signers })
    const queue = this.#createQueue(journal, roles, signers)
    const feed = await this.#createFeed(journal, client, roles)
    const ops = await this.#startOps({ journal, feed, roles })
    const live = await journal.live()
    proveNoneLeftLive(live, this.#policies)
    const background = this.#startBackground(journal, client, roles)
    this.#running = { roles, queue, background }
    for (const workflow of live) this.#live.resume(workflow)
    const { webhookReceived: onOutcome } = this.#reports.metrics
    this.#opened.push(await listenForWebhooks(this.#config, { clock: this.#clock, feed, onOutcome }))
    this.#emitReady(ops.url, roles, live.length)
    this.#opened.push(() => feed.close())
    feed.start()
  }

  #openJournal(): Journal {
    const { journal, close } = openJournal(this.#config.directory)
    this.#opened.push(close)
    return journal
  }

  async #connectService(): Promise<ServiceClient> {
    const { serviceCalled, circuitMoved } = this.#reports.metrics
    const client = openService(this.#config, this.#clock, {
      onAttempt: serviceCalled,
      onCircuit: (phase) => {
        circuitMoved(phase)
        this.#log.warn('the circuit to the service moved', { phase })
      },
    })
    this.#opened.push(() => client.close())
    await proveService(client, this.#config.chain.id, this.#log)
    return client
  }

  async #connectNodes(): Promise<Nodes> {
    const nodes = await openNodes(this.#config, this.#clock)
    this.#opened.push(() => nodes.close())
    await provePins(nodes, this.#config.deployment)
    const send: Nodes['send'] = async (raw) => {
      const outcomes = await nodes.send(raw)
      for (const { outcome } of outcomes) this.#reports.metrics.sent(outcome)
      return outcomes
    }
    return { ...nodes, send }
  }

  async #watchChain(journal: Journal, nodes: Nodes): Promise<ChainView> {
    const chain = await watchChain({
      nowMs: this.#clock.nowMs,
      nodes,
      journal,
      signers: liveSigners(this.#policies),
      onHead: () => {
        this.#live.wakeAll('in_flight')
        this.#live.wakeAll('cleared')
      },
      onFailed: (error) => this.#log.warn('could not follow the chain', {}, error),
      alarm: this.#reports.alarm,
    })
    this.#opened.push(chain.stop)
    return chain
  }

  #staff(
    open: Pick<RoleDeps, 'journal' | 'nodes' | 'client' | 'chain' | 'signers'>,
  ): Promise<readonly RoleAtWork[]> {
    const sources = createSources(this.#config.sources, this.#clock)
    this.#opened.push(sources.close)
    const { metrics, emit, alarm } = this.#reports
    const shared = {
      ...open,
      ...{ config: this.#config, clock: this.#clock, log: this.#log, gate: this.#gate },
      ...{ sources, metrics, emit, alarm },
      onOpened: (workflow: Workflow) => this.#live.moved(null, workflow),
      alone: <T>(work: () => Promise<T>) => this.#alone('open', work),
    }
    return Promise.all(this.#policies.map((policy) => openRole(policy, shared)))
  }

  #createQueue(journal: Journal, roles: readonly RoleAtWork[], signers: Signers): Queue {
    const queue = createRunQueue({
      ...{ clock: this.#clock, journal, roles, signers, alone: this.#alone, log: this.#log },
      metrics: this.#reports.metrics,
      onMove: this.#live.moved,
    })
    this.#opened.push(queue.close)
    return queue
  }

  #createFeed(journal: Journal, client: ServiceClient, roles: readonly RoleAtWork[]): Promise<Feed> {
    return createKeeperFeed(this.#config, {
      ...{ client, clock: this.#clock, journal, onRefused: this.#reports.alarm },
      types: roles.flatMap(({ hints }) => hints.eventTypes),
      onHint: (hint) => this.#hinted(hint, roles),
    })
  }

  #hinted(hint: Hint, roles: readonly RoleAtWork[]): void {
    if (hint.type === 'sweep') this.#sweptAtMs = this.#clock.nowMs()
    if (hint.type.startsWith('workflow.')) this.#live.wakeAll('confirmed')
    if (this.#decides) for (const { hints } of roles) hints.hear(hint)
  }

  async #startOps(open: Pick<HealthDeps, 'journal' | 'feed' | 'roles'>): Promise<OpsServer> {
    const health: HealthDeps = {
      ...{ ...open, clock: this.#clock, live: this.#live.list },
      control: () => readControl(this.#config.directory),
      sweptAtMs: () => this.#sweptAtMs,
    }
    const ops = await startOpsServer(this.#config.ops, {
      metrics: async () => this.#reports.metrics.render(await readGauges(health)),
      readiness: () => readReadiness(health),
    })
    this.#opened.push(ops.close)
    return ops
  }

  #startBackground(journal: Journal, client: ServiceClient, roles: readonly RoleAtWork[]): Background {
    const background = startBackground({
      ...{ nowMs: this.#clock.nowMs, directory: this.#config.directory, log: this.#log },
      ...{ journal, client, roles },
      stopped: () => stopped(this.#gate()),
      leavesOrders: () => this.#stopping !== undefined,
    })
    this.#opened.push(background.stop)
    return background
  }

  get #open(): Running {
    if (this.#running !== undefined) return this.#running
    throw new RolekeeperError('keeper.not_started', 'The keeper is not running.')
  }

  readonly #gate = (): Gate => {
    const { killed, paused } = readControl(this.#config.directory)
    // A stop at once takes no further signature: what waits for a KMS lets go.
    return { closed: killed || this.#hurry.signal.aborted, paused }
  }

  #emitReady(opsUrl: string, roles: readonly RoleAtWork[], resumed: number): void {
    const { environment, chain, directory } = this.#config
    this.#reports.emit({
      type: 'ready',
      at: new Date(this.#clock.nowMs()).toISOString(),
      ...{ environment, chainId: chain.id, directory, opsUrl, resumed },
      signers: Object.fromEntries(roles.map(({ role, signer }) => [role, signer])),
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

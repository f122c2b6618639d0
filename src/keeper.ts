import { checkAccess } from './access.ts'
import { createNodes } from './chain/http-nodes.ts'
import type { Nodes } from './chain/nodes.ts'
import { type ChainView, watchChain } from './chain-view.ts'
import { type Clock, systemClock } from './clock.ts'
import type { RunConfig } from './config/config.ts'
import { RolekeeperError } from './errors.ts'
import { type Gate, stopped } from './gate.ts'
import type { Journal } from './journal/journal.ts'
import { lockDirectory } from './journal/lock.ts'
import { openSqliteJournal } from './journal/sqlite.ts'
import type { KeeperEvent, SummaryEvent } from './keeper-events.ts'
import { createFeed, type Feed, type Hint } from './observe/feed.ts'
import { readControl, setControl } from './ops/control.ts'
import type { Log } from './ops/log.ts'
import { createMetrics, type Metrics } from './ops/metrics.ts'
import { forgetAnswer } from './ops/orders.ts'
import { type OpsServer, startOpsServer } from './ops/server.ts'
import { run } from './pipeline.ts'
import { provePins, proveService } from './prove.ts'
import { type PulseDeps, readGauges, readReadiness } from './pulse.ts'
import type { Queue } from './queue/queue.ts'
import { createTimers } from './queue/timers.ts'
import type { CircuitPhase } from './service/circuit.ts'
import { createServiceClient, type ServiceClient } from './service/client.ts'
import { createEventSource } from './service/event-source.ts'
import { SERVICE_TIMEOUTS } from './service/http.ts'
import { createSources } from './service/source.ts'
import { startWebhookListener } from './service/webhook-listener.ts'
import { loadRolePolicy, type RolePolicy, type StaffedRole, staffRole } from './staff.ts'
import { takeSubmissions } from './submit.ts'
import { createTally, heldEvent, slotEvents, workflowEvent } from './tell.ts'
import { registerDue } from './track/register.ts'
import { isHeld, isTerminal, type Workflow } from './workflow/workflow.ts'

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

/** A node that has not answered by then is left for the next one. */
const NODE_TIMEOUT_MS = 2_000
/** How often a node is asked for its head: a block is noticed after half of it, on average. */
const HEAD_POLL_MS = 100
/** Interest moves health without any event: everything is looked at again at least this often. */
const SWEEP_MS = 5_000
const REGISTER_MS = 500
/** A person's order is a file: it is looked for this often. */
const ORDERS_MS = 250
/** What bids in shadow were for is decided in minutes. */
const LOTS_MS = 5_000
/** The same alarm is told again after this long. */
const ALARM_REPEAT_MS = 60_000
/** Alarms remembered, so that each is told once a minute. */
const ALARMS_MAX = 1_000

/**
 * Create the keeper of a configuration: the place where ports meet their implementations. Policies are loaded and
 * compiled here, so that a mistake in them stops the start before anything is watched.
 */
export function createKeeper(config: RunConfig, deps: KeeperDeps): Keeper {
  const policies = config.agents.map((agent) => loadRolePolicy(agent, config))
  checkAccess(config, policies)
  return new ComposedKeeper(config, deps, policies)
}

/** A journal that takes nothing any more is no place to go on from: end, and resume from what is on disk. */
function crash(error: RolekeeperError): void {
  setImmediate(() => {
    throw error
  })
}

/** What is open between start and stop. */
type Running = {
  readonly journal: Journal
  readonly nodes: Nodes
  readonly client: ServiceClient
  readonly chain: ChainView
  readonly queue: Queue
  readonly feed: Feed
  readonly ops: OpsServer
  readonly roles: readonly StaffedRole[]
}

class ComposedKeeper implements Keeper {
  readonly #config: RunConfig
  readonly #log: Log
  readonly #clock: Clock
  readonly #decides: boolean
  readonly #policies: readonly RolePolicy[]
  readonly #metrics: Metrics
  readonly #listeners = new Set<(event: KeeperEvent) => void>()
  readonly #alarmedAtMs = new Map<string, number>()
  /** Every workflow that is not terminal, as last written. */
  readonly #live = new Map<string, Workflow>()
  readonly #signerTurns = new Map<string, Promise<unknown>>()
  readonly #tally: ReturnType<typeof createTally>
  /** Undone in reverse order when the keeper stops, or could not start. */
  readonly #opened: (() => unknown)[] = []
  readonly #hurry = new AbortController()
  #running: Running | undefined
  #starting: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  #registering: Promise<void> | undefined
  #takingOrders: Promise<void> | undefined
  #scoringLots: Promise<unknown> | undefined
  #onDrained: (() => void) | undefined
  #sweptAtMs: number | null = null
  #closing = false

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
  }

  onEvent(listener: (event: KeeperEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  summary(): SummaryEvent {
    const roles = this.#policies.map(({ agent }) => agent.role)
    return this.#tally.summary(roles, [...this.#live.values()], this.#clock.nowMs())
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
    const nodes = await createNodes({
      chainId: settings.id,
      read: settings.nodes.read.map((url) => url.reveal()),
      send: settings.nodes.send.map((url) => url.reveal()),
      finality: settings.finality,
      timeoutMs: NODE_TIMEOUT_MS,
      pollMs: HEAD_POLL_MS,
      clock: this.#clock,
    })
    this.#opened.push(() => nodes.close())
    await provePins(nodes, this.#config.deployment)
    const chain = await watchChain({
      nowMs: this.#clock.nowMs,
      nodes,
      journal,
      // A shadow claims no nonce: its address may well be another keeper's to use.
      signers: this.#policies.flatMap(({ agent }) => (agent.mode === 'live' ? [agent.signer.address] : [])),
      onHead: () => {
        this.#wakeAll('in_flight')
        this.#wakeAll('cleared')
      },
      onFailed: (error) => this.#log.warn('could not follow the chain', {}, error),
      alarm: this.#alarm,
    })
    this.#opened.push(chain.stop)
    const roles = await this.#staff({ journal, nodes, client, chain })
    const queue = this.#createQueue(journal, roles)
    const feed = await this.#createFeed(journal, client, roles)
    const pulse = this.#pulse(journal, feed, roles)
    const ops = await startOpsServer(opsAt, {
      metrics: async () => this.#metrics.render(await readGauges(pulse)),
      readiness: () => readReadiness(pulse),
    })
    this.#opened.push(ops.close)
    this.#running = { journal, nodes, client, chain, queue, feed, ops, roles }
    const resumed = await this.#resume(journal, queue)
    await this.#listenForWebhooks(feed)
    this.#tellReady(resumed)
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

  #staff(open: Pick<Running, 'journal' | 'nodes' | 'client' | 'chain'>): Promise<readonly StaffedRole[]> {
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
      onOpened: (workflow: Workflow) => this.#moved(null, workflow),
      alone: <T>(work: () => Promise<T>) => this.#alone('open', work),
    }
    return Promise.all(this.#policies.map((policy) => staffRole(policy, shared)))
  }

  #createQueue(journal: Journal, roles: readonly StaffedRole[]): Queue {
    const staffed = new Map(roles.map((role) => [role.role, role]))
    const deps = {
      nowMs: this.#clock.nowMs,
      journal,
      stages: (workflow: Workflow) => {
        const found = staffed.get(workflow.role)
        if (found !== undefined) return found.stagesOf(workflow)
        throw new RolekeeperError(
          'role.absent',
          `Workflow ${workflow.id} belongs to the ${workflow.role}, which is not configured.`,
          {
            fix: 'add the role to `agents` until its workflows have ended.',
            retry: 'later',
          },
        )
      },
      alone: <T>(signer: string, work: () => Promise<T>) => this.#alone(signer, work),
      onMove: (before: Workflow, after: Workflow) => this.#moved(before, after),
      onStrike: (workflow: Workflow, error: unknown) => {
        this.#metrics.struck(workflow.role)
        this.#log.error('a step failed', { workflowId: workflow.id, state: workflow.state }, error)
      },
    }
    const queue = createTimers({
      clock: this.#clock,
      run: (id) => run(id, deps),
      onError: (id, error) => {
        this.#log.error('a run failed', { workflowId: id }, error)
        if (error instanceof RolekeeperError && error.code === 'journal.failed') crash(error)
      },
    })
    this.#opened.push(queue.close)
    return queue
  }

  async #createFeed(journal: Journal, client: ServiceClient, roles: readonly StaffedRole[]): Promise<Feed> {
    const { assumptions, streamUrl } = this.#config.service
    const cursor = await journal.getValue('feed.cursor')
    const types = [...new Set(roles.flatMap(({ watches }) => watches.eventTypes))]
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

  #hinted(hint: Hint, roles: readonly StaffedRole[]): void {
    if (hint.type === 'sweep') this.#sweptAtMs = this.#clock.nowMs()
    if (hint.type.startsWith('workflow.')) this.#wakeAll('confirmed')
    for (const { duty, watches } of roles) {
      if (this.#decides && (hint.type === 'sweep' || watches.eventTypes.includes(hint.type))) duty.look()
    }
  }

  #pulse(journal: Journal, feed: Feed, roles: readonly StaffedRole[]): PulseDeps {
    return {
      clock: this.#clock,
      journal,
      feed,
      roles,
      live: () => [...this.#live.values()],
      control: () => readControl(this.#config.directory),
      sweptAtMs: () => this.#sweptAtMs,
    }
  }

  /** Take up what the journal holds, and go on telling the service of what was sent. */
  async #resume(journal: Journal, queue: Queue): Promise<number> {
    const live = await journal.live()
    this.#assertNoneLeftLive(live)
    for (const workflow of live) {
      this.#live.set(workflow.id, workflow)
      queue.wake(workflow.id, 0)
    }
    const timers = [
      setInterval(() => this.#register(), REGISTER_MS),
      setInterval(() => this.#takeOrders(), ORDERS_MS),
      setInterval(() => this.#scoreLots(), LOTS_MS),
    ]
    this.#opened.push(async () => {
      for (const timer of timers) clearInterval(timer)
      await Promise.all([this.#registering, this.#takingOrders, this.#scoringLots])
    })
    return live.length
  }

  #takeOrders(): void {
    if (this.#stopping !== undefined) return
    const { journal, roles } = this.#open
    this.#takingOrders ??= takeSubmissions({
      directory: this.#config.directory,
      journal,
      role: (role) => roles.find((each) => each.role === role),
      stopped: () => stopped(this.#gate()),
    })
      .catch((error: unknown) => this.#log.error('orders were not taken', {}, error))
      .finally(() => {
        this.#takingOrders = undefined
      })
  }

  #scoreLots(): void {
    this.#scoringLots ??= Promise.all(this.#open.roles.map(({ lotScores }) => lotScores.look()))
      .catch((error: unknown) => this.#log.warn('lots of bids in shadow could not be read', {}, error))
      .finally(() => {
        this.#scoringLots = undefined
      })
  }

  /** A shadow could not carry what was begun live: it would stand still, with its nonces open. */
  #assertNoneLeftLive(live: readonly Workflow[]): void {
    const shadows = this.#policies
      .filter(({ agent }) => agent.mode === 'shadow')
      .map(({ agent }) => agent.role)
    const left = live.filter(({ role, shadow }) => shadow !== true && shadows.includes(role))
    if (left.length === 0) return
    throw new RolekeeperError(
      'role.left_live',
      `The ${left[0]?.role} is in shadow, and ${left.length} of its workflows were begun live and have not ended.`,
      { fix: 'run it live until they have; `rolekeeper pause` keeps it from beginning others.' },
    )
  }

  #register(): void {
    if (this.#closing) return
    const { journal, roles } = this.#open
    this.#registering ??= registerDue({
      nowMs: this.#clock.nowMs,
      journal,
      post: async ({ workflowId, requestId }, key, body) => {
        const role = (await journal.get(workflowId))?.role
        const client = roles.find((each) => each.role === role)?.client ?? this.#open.client
        await client.registerTransaction({ params: { requestId }, body, idempotencyKey: key })
      },
      onRefused: (hash, error) => this.#log.warn('the service refused a registration', { hash }, error),
    })
      .catch((error: unknown) => this.#log.error('registration failed', {}, error))
      .finally(() => {
        this.#registering = undefined
      })
  }

  get #open(): Running {
    if (this.#running === undefined)
      throw new RolekeeperError('keeper.not_started', 'The keeper is not running.')
    return this.#running
  }

  /** Run work of one signer, or of one name, after the work before it. */
  #alone<T>(signer: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#signerTurns.get(signer) ?? Promise.resolve()).then(work)
    this.#signerTurns.set(
      signer,
      turn.catch(() => undefined),
    )
    return turn
  }

  #moved(before: Workflow | null, after: Workflow): void {
    const ended = isTerminal(after.state)
    if (ended) this.#live.delete(after.id)
    else this.#live.set(after.id, after)
    if (before !== null) for (const event of slotEvents(after, before)) this.#emit(event)
    const held = before === null ? null : heldEvent(after, before, this.#clock.nowMs())
    if (held !== null) this.#emit(held)
    if (before?.state !== after.state) {
      this.#emit(workflowEvent(after, before))
      const tookMs = before === null ? 0 : after.updatedAtMs - before.updatedAtMs
      this.#metrics.workflowMoved(after.role, after.proposal.workflowType, after.state, tookMs)
      if (after.state === 'refused')
        this.#metrics.refused(after.role, 'guard', after.note?.check ?? 'unknown')
    }
    if (before === null) this.#open.queue.wake(after.id, 0)
    if (after.state === 'confirmed' || after.state === 'succeeded') this.#assess(after)
    if (ended) this.#ended(after)
    else if (after.slots.some((slot) => slot.attempts.at(-1)?.state === 'sent')) this.#register()
  }

  #assess(workflow: Workflow): void {
    const role = this.#open.roles.find((each) => each.role === workflow.role)
    role?.assess(workflow).catch((error: unknown) => this.#log.error('a gain was not assessed', {}, error))
  }

  #ended(workflow: Workflow): void {
    this.#tally.ended(workflow)
    if (workflow.hold !== undefined) forgetAnswer(this.#config.directory, workflow.id)
    if (!this.#isCarrying()) this.#onDrained?.()
    if (workflow.state === 'quarantined') this.#quarantined(workflow)
    // What it held back is free again.
    const role = this.#open.roles.find((each) => each.role === workflow.role)
    role?.ended(workflow)
    if (this.#decides) role?.duty.look()
  }

  /** A nonce without an end would be built upon: nothing is signed until a person has looked. */
  #quarantined(workflow: Workflow): void {
    const open = workflow.slots.some((slot) => slot.state !== 'final')
    if (open) setControl(this.#config.directory, 'kill', true)
    this.#alarm(
      new RolekeeperError(
        'workflow.quarantined',
        `Workflow ${workflow.id} is quarantined: ${workflow.note?.message ?? ''}`,
        {
          fix: open
            ? 'look at its open nonces, then `rolekeeper unkill`; the keeper pulled the kill switch itself.'
            : 'see `rolekeeper workflows show` and the log.',
          facts: { workflowId: workflow.id },
        },
      ),
    )
  }

  #wakeAll(state: Workflow['state']): void {
    for (const workflow of this.#live.values()) {
      if (workflow.state === state) this.#running?.queue.wake(workflow.id, 0)
    }
  }

  readonly #gate = (): Gate => {
    const { killed, paused } = readControl(this.#config.directory)
    // Whoever wants us gone now wants no further signature: what waits for a KMS lets go at once.
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

  readonly #alarm = (error: RolekeeperError): void => {
    const nowMs = this.#clock.nowMs()
    const about = `${error.code} ${error.facts.workflowId ?? ''}`
    if (nowMs - (this.#alarmedAtMs.get(about) ?? Number.NEGATIVE_INFINITY) < ALARM_REPEAT_MS) return
    this.#alarmedAtMs.delete(about)
    this.#alarmedAtMs.set(about, nowMs)
    const oldest = this.#alarmedAtMs.keys().next().value
    if (this.#alarmedAtMs.size > ALARMS_MAX && oldest !== undefined) this.#alarmedAtMs.delete(oldest)
    this.#metrics.alarmed(error.code)
    this.#log.error('alarm', {}, error)
    const { code, shortMessage: message, fix = '' } = error
    this.#emit({ type: 'alarm', at: new Date(nowMs).toISOString(), code, message, fix })
  }

  #tellReady(resumed: number): void {
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

  /** Whether anything goes on that does not wait for a person. */
  #isCarrying(): boolean {
    return [...this.#live.values()].some((workflow) => !isHeld(workflow))
  }

  async #stop(drainMs: number): Promise<void> {
    await this.#starting?.catch(() => undefined)
    await Promise.all((this.#running?.roles ?? []).map(({ duty }) => duty.stop()))
    if (this.#isCarrying() && drainMs > 0) {
      const drained = new Promise<void>((resolve) => {
        this.#onDrained = resolve
      })
      const late = this.#clock.sleep(drainMs, this.#hurry.signal).catch(() => undefined)
      await Promise.race([drained, late])
    }
    this.#closing = true
    for (const close of this.#opened.toReversed()) await close()
  }
}

import type { CanonicalChain } from '../../chain/canonical.ts'
import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import type { AgentConfig } from '../../config/config.ts'
import type { Refusal, RolekeeperError } from '../../errors.ts'
import type { Accounts } from '../../journal/sqlite/accounts.ts'
import type { Sources } from '../../observe/sources.ts'
import { closedForNow, gateOfRole, stopped } from '../../ops/control.ts'
import type { Log } from '../../ops/log.ts'
import { LOOK, ORDERS, type Queue } from '../../queue/queue.ts'
import type { TimersDeps } from '../../queue/timers.ts'
import type { ServiceClient } from '../../service/client.ts'
import type { Hint } from '../../service/events/hints.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { type Payer, payersOf } from '../policy/candidates.ts'
import type { KeeperRecords } from '../records/records.ts'
import type { RoleState } from '../role/role.ts'
import type { HeldSeat } from '../seats/seating.ts'
import { endAll } from '../shutdown.ts'
import type { SignerDesk } from '../signer/desk.ts'
import { openSignerDesk } from '../signer/orders.ts'
import { type ChainFollower, followChain } from '../startup/chain-follower.ts'
import type { Reports } from '../telemetry/reports.ts'
import { type Background, startBackground } from './background.ts'
import { createLiveWorkflows, isCarrying, type LiveWorkflows } from './live-workflows.ts'
import { createRunQueue, createSerial } from './run-queue.ts'
import { absentRoles, createStaff, type Staff } from './staff.ts'

/** What a term has of the keeper whose it is. */
export type TermDeps = {
  readonly clock: Clock
  readonly log: Log
  readonly reports: Reports
  readonly nodes: Nodes
  readonly accounts: Accounts
  readonly client: ServiceClient
  readonly sources: Sources
  /** Whether agents decide, or only what is in flight and what people order is carried. */
  readonly decides: boolean
  /** Whether the keeper hears of changes yet: a role that comes up later looks at once. */
  readonly hears: () => boolean
  /** Why the chain is not followed yet; it is tried again. */
  readonly onFailed: (error: RolekeeperError) => void
  /** The changes of policies that this start may take up though they loosen, by their hashes. */
  readonly loosens: readonly string[]
  /** The keeper ends: orders are left for its next start. */
  readonly stop: AbortSignal
  /** No signature is taken any more. */
  readonly hurry: AbortSignal
}

/** What the parts of a term need: of the keeper, and of the seat. */
type TermPartDeps = Omit<TermDeps, 'hurry'> & HeldSeat

/** The time during which a keeper decides for some signers and signs with them. */
export type Term = {
  /**
   * Follow the chain for its signers and compare each with it, go on with what is in flight, and open every role by itself.
   * What cannot be followed yet is tried again. Throws the reason of `stop`, and what nothing mends.
   */
  readonly begin: () => Promise<void>
  /** Whether the chain is followed for its signers, and they are compared with it. */
  readonly isFollowing: () => boolean
  /** Since when its chain cannot be followed past a block, and why; null while it is. */
  readonly unread: CanonicalChain['unread']
  readonly states: Staff['states']
  readonly atWork: Staff['atWork']
  /** Open a role of it anew, by the policy that its candidate has now. */
  readonly renew: Staff['renew']
  readonly live: () => readonly Workflow[]
  /** Let every role look again that a change concerns, and every workflow that waits for it. */
  readonly hear: (hint: Hint) => void
  /** Decide nothing any more; resolves once nothing goes on that does not wait for a person. */
  readonly drain: () => Promise<void>
  /** End everything in it, also what has not begun; resolves when nothing goes on, or is late. */
  readonly end: () => Promise<void>
  readonly records: KeeperRecords
  /** Who of it pays for gas. */
  readonly payers: () => readonly Payer[]
  /** Why its fleet lets it sign nothing new, beside what its own records doubt; undefined where it does. */
  readonly safe: () => Refusal | undefined
}

/** Create the term of a seat that is held; nothing begins yet. */
export function createTerm(seat: HeldSeat, { hurry, ...given }: TermDeps): Term {
  const parts: TermParts = { opened: [] }
  const over = new AbortController()
  const deps: TermPartDeps = {
    ...given,
    ...seat,
    stop: AbortSignal.any([given.stop, over.signal]),
    // A stop at once takes no further signature: what waits for a KMS lets go.
    gate: () => closedForNow(seat.gate(), hurry.aborted || over.signal.aborted),
  }
  const live = createLive(parts, deps)
  let begun: Promise<void> | undefined
  return {
    begin: () => {
      begun ??= begin(live.workflows, parts, deps)
      return begun
    },
    isFollowing: () => parts.staff !== undefined,
    unread: () => parts.ground?.chain.unread() ?? null,
    states: () => parts.staff?.states() ?? [],
    atWork: () => parts.staff?.atWork() ?? [],
    renew: async (agent) => parts.staff?.renew(agent),
    live: live.workflows.list,
    hear: (hint) => {
      if (hint.type.startsWith('workflow.')) live.workflows.wakeAll('confirmed')
      if (deps.decides) for (const role of parts.staff?.atWork() ?? []) role.hear(hint)
    },
    drain: async () => {
      await parts.staff?.stop()
      await live.drained()
    },
    end: async () => {
      over.abort('the term ends')
      const ends = [() => begun?.catch(() => undefined)]
      await endAll(ends, deps)
      await endAll(parts.opened.toReversed(), deps)
    },
    records: seat.records,
    payers: () => payersOf(seat.candidates),
    safe: () => seat.gate().safe,
  }
}

async function begin(live: LiveWorkflows, parts: TermParts, deps: TermPartDeps): Promise<void> {
  const { config, clock, log, reports, candidates, records, stop } = deps
  const { journal, signers, resumed } = records
  const ground = await followChain({ ...deps, onHead: () => wakeAtHead(live) })
  parts.ground = ground
  parts.opened.push(ground.close)
  const desk = await openSignerDesk({ records, ground, candidates, clock, onChanged: live.moved })
  stop.throwIfAborted()
  const serial = createSerial()
  const staff = staffOf(ground, live, (work) => serial('open', work), parts, deps)
  parts.opened.push(staff.stop)
  const createQueue = (timers: TimersDeps) =>
    deps.createQueue({
      ...timers,
      run: async (id) => {
        if (id === ORDERS) parts.background?.takeOrders()
        else if (id !== LOOK) return timers.run(id)
        else if (deps.decides) for (const { duty } of staff.atWork()) duty.look()
        return null
      },
    })
  const queue = createRunQueue({
    clock,
    journal,
    signers,
    alone: serial,
    log,
    stagesOf: staff.stagesOf,
    onMove: live.moved,
    remembered: live.get,
    metrics: reports.metrics,
    createQueue,
  })
  parts.opened.push(queue.close)
  const background = backgroundOf(staff, desk, live, deps)
  parts.opened.push(background.stop)
  Object.assign(parts, { staff, queue, background })
  await staff.admit()
  for (const workflow of resumed) live.resume(workflow)
  for (const absent of absentRoles(resumed, config)) reports.alarm(absent)
  await staff.open()
  stop.throwIfAborted()
}

function wakeAtHead(live: LiveWorkflows): void {
  live.wakeAll('in_flight')
  live.wakeAll('cleared')
  live.wakeAll('attested')
}

/** What a term runs with, once it is there: a workflow may move before. */
type TermParts = {
  /** Ended together, in the order against that of their opening. */
  readonly opened: (() => unknown)[]
  ground?: ChainFollower
  staff?: Staff
  queue?: Queue
  background?: Background
}

/** What is live in a term, and how one waits for its end. */
type Live = { readonly workflows: LiveWorkflows; readonly drained: () => Promise<void> }

function createLive(parts: TermParts, { clock, mail, log, decides, reports }: TermPartDeps): Live {
  const { metrics, emit, alarm } = reports
  let onDrained: (() => void) | undefined
  const workflows = createLiveWorkflows({
    nowMs: clock.nowMs,
    mail,
    log,
    metrics,
    emit,
    alarm,
    role: (workflow) => parts.staff?.of(workflow),
    decides,
    wake: (id) => parts.queue?.wake(id, 0),
    register: () => parts.background?.register(),
    onEnded: (workflow) => {
      reports.ended(workflow)
      if (!isCarrying(workflows.list())) onDrained?.()
    },
  })
  const drained = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (isCarrying(workflows.list())) onDrained = resolve
    else resolve()
    return promise
  }
  return { workflows, drained }
}

function staffOf(
  { nodes, chain, gas }: ChainFollower,
  live: LiveWorkflows,
  alone: <T>(work: () => Promise<T>) => Promise<T>,
  parts: TermParts,
  deps: TermPartDeps,
): Staff {
  const { journal, signers } = deps.records
  const { accounts, client, sources, config, mail, clock, log, gate, reports, loosens } = deps
  const { metrics, emit, alarm } = reports
  return createStaff(deps.candidates, {
    journal,
    accounts,
    nodes,
    client,
    chain,
    gas,
    signers,
    sources,
    metrics,
    emit,
    alarm,
    config,
    mail,
    clock,
    log,
    gate,
    alone,
    loosens,
    urgentOf: live.urgentOf,
    onOpened: (workflow) => live.moved(null, workflow),
    onMove: live.moved,
    onState: (agent, state) => roleIs(agent, state, live, parts, deps),
  })
}

function roleIs(
  agent: AgentConfig,
  state: RoleState,
  live: LiveWorkflows,
  { queue }: TermParts,
  { reports, decides, hears }: TermPartDeps,
): void {
  const { role, signer } = agent
  // Those that are up in time are in `ready`.
  if (state.type === 'down' || hears()) reports.roleIs(agent, state)
  if (state.type !== 'up') return
  for (const workflow of live.list()) {
    if (workflow.role === role && workflow.signer === signer.address) queue?.wake(workflow.id, 0)
  }
  if (decides && hears()) state.role.duty.look()
}

function backgroundOf(
  staff: Staff,
  desk: SignerDesk,
  live: LiveWorkflows,
  { clock, mail, log, client, records, gate, stop }: TermPartDeps,
): Background {
  const { nowMs } = clock
  const { journal } = records
  return startBackground({
    nowMs,
    mail,
    log,
    journal,
    client,
    staff,
    desk,
    // Where the answer to its opening was lost, it is in the journal alone.
    takeUp: async () => {
      for (const workflow of await journal.live()) {
        if (live.get(workflow.id) === undefined) live.resume(workflow)
      }
    },
    stopped: (role) => stopped(gateOfRole(role, gate)()),
    leavesOrders: () => stop.aborted,
  })
}

import { setImmediate } from 'node:timers/promises'
import type { Around, Decision, Moment } from '../../agents/agent.ts'
import type { PriceSeen } from '../../agents/board.ts'
import { type Checked, type Refusal, refuse } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import type { KeeperEvent } from '../ops/events.ts'
import type { Role } from '../service/contract/roles.ts'
import type { WorkflowType } from '../service/contract/workflow-types.ts'
import type { Proposal } from '../workflow/proposal.ts'
import type { Workflow } from '../workflow/workflow.ts'
import { createDecisionRows } from './decision-rows.ts'
import { colleague, inFlight } from './recent-workflows.ts'

/** What a role's duty needs. */
export type DutyDeps = {
  readonly role: Role
  /** The only types that the role may propose. */
  readonly workflowTypes: readonly WorkflowType[]
  readonly nowMs: () => number
  readonly monotonicMs: () => number
  readonly observe: (around: Around) => Promise<Moment>
  readonly decide: (seen: Moment) => Decision
  /** Prices to announce when they change. */
  readonly prices: (seen: Moment) => readonly PriceSeen[]
  /** Workflows of this role that ended of late. */
  readonly recent: () => Moment['recent']
  /** What became of earlier work; a role that may not decide without it waits for it. */
  readonly experience: () => Promise<Moment['experience']>
  readonly rivals: () => Moment['rivals']
  /** Why nothing new may begin, or null: then nothing is opened, and no try is used up. */
  readonly stopped: () => Refusal | null
  readonly journal: Pick<Journal, 'ofRole' | 'onLots' | 'addDecisions'>
  /** Open a proposal as a workflow, or refuse it. */
  readonly open: (proposal: Proposal) => Promise<Checked<{ readonly workflow: Workflow }>>
  readonly onOpened: (workflow: Workflow) => void
  readonly onDecided: (decision: Decision, seen: Moment, tookMs: number) => void
  readonly onFailed: (error: unknown) => void
  readonly emit: (event: KeeperEvent) => void
}

/** No timer is set for longer: a sweep comes sooner. */
const ALARM_MS_MAX = 60_000
/** Of a time that has come by our clock, and not by the chain's yet, a look at once would see no more. */
const PASSED_MS = 1_000

/** A role on duty: it looks at each hint, decides, and opens workflows. */
export type Duty = {
  /** Look soon: at once, or once more after the look under way. */
  readonly look: () => void
  /** Decide nothing any more; resolves when the look under way has ended. */
  readonly stop: () => Promise<void>
  readonly lastSeen: () => Moment | null
  /** What was decided on it. */
  readonly lastDecision: () => Decision | null
  readonly lastDecidedAtMs: () => number | null
  /** What looks end in since the last decision, and since when; null while they end well. */
  readonly failing: () => Failing | null
  /** Whether it was told to stop: then that it looks no more is nothing wrong. */
  readonly isStopped: () => boolean
}

/** What goes wrong again and again, and since when by the monotonic clock. */
type Failing = { readonly error: unknown; readonly sinceMs: number }

/** Refuse what a person may submit and an agent may not: a type that the role does not declare, and an order. */
function undeclared(
  { workflowType, kind }: Proposal,
  { role, workflowTypes }: Pick<DutyDeps, 'role' | 'workflowTypes'>,
): Refusal | null {
  if (!workflowTypes.includes(workflowType)) {
    return refuse('type_not_declared', `${workflowType} is not among the workflow types of the ${role}.`)
  }
  return kind === 'order' ? refuse('kind_reserved', 'Only what a person submits is of the kind order.') : null
}

/** Create a role's duty. Hints that come during a look are one more look: state is read anew each time. */
export function createDuty(deps: DutyDeps): Duty {
  const decider = createDecider(deps)
  let alarm: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let again = false
  let stopped = false
  let failing: Failing | null = null

  const lookAgainAt = (atMs: number | undefined) => {
    clearTimeout(alarm)
    if (atMs === undefined || stopped) return
    const inMs = atMs - deps.nowMs()
    alarm = setTimeout(look, inMs > 0 ? Math.min(inMs, ALARM_MS_MAX) : PASSED_MS)
  }

  const loop = async () => {
    do {
      // What a block changed comes as a burst of hints: those that are here by now ask for one and the same look.
      await setImmediate()
      again = false
      try {
        const decided = await decider.decide()
        if (stopped) break
        lookAgainAt(decided.decision.lookAgainAtMs)
        await decider.act(decided)
        // Not before: a decision that nothing can be opened or kept for is as good as none.
        failing = null
      } catch (error) {
        // What its own end breaks off says nothing of nodes and service.
        if (stopped) break
        failing = { error, sinceMs: failing?.sinceMs ?? deps.monotonicMs() }
        deps.onFailed(error)
      }
    } while (again && !stopped)
    // In the same turn as the test above: a hint that comes now begins a look of its own.
    looking = undefined
  }

  const look = () => {
    if (stopped) return
    again = true
    looking ??= loop()
  }

  return {
    look,
    stop: async () => {
      stopped = true
      clearTimeout(alarm)
      await looking
    },
    lastSeen: decider.lastSeen,
    lastDecision: decider.lastDecision,
    lastDecidedAtMs: decider.lastDecidedAtMs,
    failing: () => failing,
    isStopped: () => stopped,
  }
}

/** A decision, what it was made on, and how long making it took. */
type Decided = {
  readonly decision: Decision
  readonly seen: Moment
  readonly tookMs: number
  readonly atMs: number
}

/** Create what one look is: to observe and decide, and then to open what was proposed and keep what was decided. */
function createDecider(deps: DutyDeps) {
  const remember = createDecisionRows(deps.role)
  const announce = createAnnouncer(deps.emit)
  let last: Decided | null = null
  return {
    lastSeen: () => last?.seen ?? null,
    lastDecision: () => last?.decision ?? null,
    lastDecidedAtMs: () => last?.atMs ?? null,
    decide: async (): Promise<Decided> => {
      const [own, onLots, experience] = await Promise.all([
        deps.journal.ofRole(deps.role),
        deps.journal.onLots(),
        deps.experience(),
      ])
      const seen = await deps.observe({
        inFlight: own.map(inFlight),
        recent: deps.recent(),
        colleagues: onLots.filter(({ role }) => role !== deps.role).map(colleague),
        experience,
        rivals: deps.rivals(),
      })
      const startedAtMs = performance.now()
      const decision = deps.decide(seen)
      last = { decision, seen, tookMs: performance.now() - startedAtMs, atMs: deps.nowMs() }
      return last
    },
    act: async ({ decision, seen, tookMs, atMs }: Decided): Promise<void> => {
      announce(seen, deps.prices(seen), decision)
      const stood = await openProposals(decision, deps)
      await deps.journal.addDecisions(remember(stood, atMs))
      deps.onDecided(stood, seen, tookMs)
    },
  }
}

/** Open what was proposed. Returns the decision as it stood: what was not opened is passed over, by its refusal. */
async function openProposals(decision: Decision, deps: DutyDeps): Promise<Decision> {
  const halt = deps.stopped()
  const opened = await Promise.all(
    decision.proposals.map((proposal) => halt ?? undeclared(proposal, deps) ?? deps.open(proposal)),
  )
  for (const result of opened) if (result.ok) deps.onOpened(result.workflow)
  return {
    proposals: decision.proposals.filter((_, index) => opened[index]?.ok),
    passedOver: [
      ...decision.passedOver,
      ...decision.proposals.flatMap(({ subject, reason }, index) => {
        const result = opened[index]
        return result === undefined || result.ok ? [] : [{ subject, reason, ...result }]
      }),
    ],
  }
}

/** Create what announces prices and health factors when they change. */
function createAnnouncer(emit: (event: KeeperEvent) => void) {
  const prices = new Map<string, bigint>()
  let healths: ReadonlyMap<string, string> = new Map()
  return (seen: Moment, shown: readonly PriceSeen[], decision: Decision): void => {
    const at = new Date(seen.nowMs).toISOString()
    for (const { id, symbol, priceWad } of shown) {
      if (prices.get(id) === priceWad) continue
      prices.set(id, priceWad)
      emit({ type: 'price', at, marketId: id, symbol, priceWad: String(priceWad) })
    }
    // Only of what was seen this time: subjects come and go, for as long as the process runs.
    const now = new Map<string, string>()
    for (const { subject, reason } of [...decision.proposals, ...decision.passedOver]) {
      const { healthFactorWad } = reason
      if (typeof healthFactorWad !== 'string') continue
      now.set(subject, healthFactorWad)
      if (healths.get(subject) !== healthFactorWad) emit({ type: 'health', at, subject, healthFactorWad })
    }
    healths = now
  }
}

import type { Decision, Moment } from '../../../agents/agent.ts'
import type { Recovered } from '../../../agents/protocol/experience.ts'
import type { Clock } from '../../clock.ts'
import { createDuty, type Duty, type DutyDeps } from '../../decide/decision-loop.ts'
import { type Refusal, RolekeeperError, refuse } from '../../errors.ts'
import type { Observer } from '../../observe/observer.ts'
import { type Gate, stopped } from '../../ops/control.ts'
import type { KeeperEvent } from '../../ops/events.ts'
import type { Log } from '../../ops/log.ts'
import type { Metrics } from '../../ops/metrics/metrics.ts'
import type { Role } from '../../service/contract/roles.ts'
import { subjectName } from '../../service/contract/subject-name.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { RolePolicy } from '../policy/role-policy.ts'
import { createDutyBook, type DutyBook } from './duty-ledger.ts'

/** What a duty is joined from. */
type RoleDutyDeps = Report & {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>
  readonly log: Log
  readonly gate: () => Gate
  readonly onOpened: (workflow: Workflow) => void
}

/** Where a decision is made known. */
type Report = {
  readonly metrics: Pick<Metrics, 'decided' | 'refused'>
  readonly emit: (event: KeeperEvent) => void
  readonly alarm: (error: RolekeeperError) => void
}

/** What is the role's own in it. */
type Own = Pick<DutyDeps, 'recent' | 'rivals' | 'open'> & {
  readonly experience: (recovered: readonly Recovered[]) => Moment['experience']
  /** Resolve once that may be gone by. */
  readonly experienced: () => Promise<void>
  readonly observer: Pick<Observer, 'observe' | 'close'>
  readonly journal: DutyDeps['journal']
  /** Its newest workflows. */
  readonly newest: readonly Workflow[]
}

/** A duty, with what is kept of how late it is. */
export type RoleDuty = Duty & { readonly book: Pick<DutyBook, 'moved' | 'state'> }

/** Join a role's duty: its agent decides on what its observer sees, and every decision is made known. */
export function createRoleDuty(
  { agent: { role }, does, policy }: RolePolicy,
  { clock, log, gate, onOpened, ...report }: RoleDutyDeps,
  { observer, journal, recent, rivals, experience, experienced, open, newest }: Own,
): RoleDuty {
  const book = createDutyBook({
    role,
    newest,
    nowMs: clock.nowMs,
    due: (seen, decision) => does.due?.(seen, decision, policy.strategy) ?? [],
    budgets: (seen) => does.budgets?.(seen, policy.strategy) ?? [],
  })
  const duty = createDuty({
    role,
    workflowTypes: does.workflowTypes,
    nowMs: clock.nowMs,
    monotonicMs: clock.monotonicMs,
    observe: observer.observe,
    // As it is known by now: a reading may have ended since the look began.
    decide: (seen) => {
      const recovered = does.recovered?.(seen, policy.strategy) ?? []
      return does.decide({ ...seen, experience: experience(recovered) }, policy.strategy)
    },
    prices: (seen) => does.prices?.(seen) ?? [],
    recent,
    experience: async () => {
      await experienced()
      return experience([])
    },
    rivals,
    open,
    stopped: () => haltOf(gate()),
    journal,
    onOpened,
    onDecided: (decision, seen, tookMs) => {
      book.decided(decision, seen)
      if (does.byHand !== true) reportDecision(role, decision, seen, tookMs, report)
    },
    onFailed: (error) => log.warn('could not look', { role }, error),
    emit: report.emit,
  })
  return {
    ...duty,
    book,
    stop: () => {
      const ended = duty.stop()
      observer.close()
      return ended
    },
  }
}

/** Make a decision known: alarms for people, counts for metrics, and an event. */
function reportDecision(
  role: Role,
  { proposals, passedOver }: Decision,
  seen: Moment,
  tookMs: number,
  { metrics, emit, alarm: raise }: Report,
): void {
  for (const { check, subject, message, alarm } of passedOver) {
    if (alarm === undefined) continue
    const { as: code = check, fix } = alarm
    const what = `${subjectName(subject, seen.deployment)}: ${message}`
    raise(new RolekeeperError(`${role}.${code}`, what, { fix, facts: { role, subject }, retry: 'later' }))
  }
  metrics.decided(role, proposals.length, passedOver.length, tookMs)
  for (const { check } of passedOver) metrics.refused(role, 'agent', check)
  const at = new Date(seen.nowMs).toISOString()
  emit({ type: 'decision', role, at, proposals: proposals.length, passedOver: passedOver.length })
}

/** Why nothing is opened now. What passes by itself is a reason too: the next look may open it. Pure. */
function haltOf(gate: Gate): Refusal | null {
  const halt = stopped(gate)
  return halt === 'for_now' ? refuse('not_now', 'It is not known for now whether the seat is held.') : halt
}

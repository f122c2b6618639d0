import type { Decision, Moment, PassedOver } from '../../../agents/agent.ts'
import type { Due, OwnBudget } from '../../../agents/protocol/due.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Workflow } from '../../workflow/workflow.ts'

/** A thing that a role owes, once it is known since when. */
type DueSince = Due & { readonly sinceMs: number; readonly lateMs: number }

/** Why a role does not act: a rule, what it said of one, and of how many it says so. */
export type IdleReason = {
  readonly check: string
  readonly message: string
  readonly count: number
  /** When it refused a workflow last; absent where it stands in the last decision alone. */
  readonly refusedAtMs?: number
}

/** How late a role is with what it should do, and what keeps it from more. */
export type DutyState = {
  readonly role: Role
  /** What is later than its grace allows, the worst first; five at most. */
  readonly late: readonly DueSince[]
  readonly lateCount: number
  /** How long ago the oldest of them became due; 0 where none is late. */
  readonly lateMs: number
  /** Of the last decision, and of refusals of the last minutes; what keeps late things first. Five at most. */
  readonly nothingBecause: readonly IdleReason[]
  /** When it last claimed a nonce, or carried something to its end without one; by the journal, too. */
  readonly lastActAtMs: number | null
  readonly lastProposalAtMs: number | null
  /** When something is due next. */
  readonly nextDueAtMs: number | null
  /** When the last of what is made again and again was made: of the oldest. */
  readonly lastMadeAtMs: number | null
  readonly actsSinceStart: number
  /** What was refused in the last minutes and since it acted last, the newest last. */
  readonly refusedSinceAct: readonly Refused[]
  readonly startedAtMs: number
  /** Subjects that the last decision looked at; null before the first. */
  readonly lookedAt: number | null
  /** Every rule that left something alone in the last decision, or refused something in the last minutes. */
  readonly checks: ReadonlySet<string>
  /** Rolling budgets of its strategy, as of the last decision. */
  readonly budgets: readonly OwnBudget[]
  /** What is due and left alone, by the rule that leaves it: millionths of a US dollar. */
  readonly leftUsdMicros: Readonly<Record<string, bigint>>
}

/** What is remembered of a role to say how it stands. */
type DutyMemory = {
  readonly role: Role
  readonly startedAtMs: number
  /** Null before the first. */
  readonly last: {
    readonly decision: Decision
    readonly dues: readonly Owing[]
    readonly budgets: readonly OwnBudget[]
  } | null
  readonly refusals: readonly Refused[]
  readonly lastActAtMs: number | null
  readonly lastProposalAtMs: number | null
  readonly actsSinceStart: number
}

/** What is due, since it was seen to be where nothing else says since when. */
type Owing = Due & { readonly sinceMs: number }
type Refused = { readonly check: string; readonly message: string; readonly atMs: number }

const SHOWN_MAX = 5
/** A refusal says for so long why nothing is done: longer than the longest wait between two tries, two minutes. */
const REFUSAL_MS = 300_000
/** More in five minutes say no more. */
const REFUSALS_MAX = 200

/** Say how late a role is, and why it does nothing. Pure. */
function dutyState(memory: DutyMemory, nowMs: number): DutyState {
  const { role, startedAtMs, last, lastActAtMs, lastProposalAtMs, actsSinceStart } = memory
  const dues = last?.dues ?? []
  const late = dues
    .map((due) => ({ ...due, lateMs: nowMs - due.sinceMs }))
    .filter((due) => due.chosen !== true && !isDust(due) && due.lateMs > graceOf(due))
    .toSorted(byHarm)
  const made = dues.flatMap(({ lastAtMs }) => lastAtMs ?? [])
  const next = dues.map(({ sinceMs }) => sinceMs).filter((atMs) => atMs > nowMs)
  return {
    role,
    startedAtMs,
    lastActAtMs,
    lastProposalAtMs,
    actsSinceStart,
    late: late.slice(0, SHOWN_MAX),
    lateCount: late.length,
    lateMs: Math.max(0, ...late.map(({ lateMs }) => lateMs)),
    nothingBecause: becauseOf(memory, late, nowMs),
    nextDueAtMs: next.length === 0 ? null : Math.min(...next),
    lastMadeAtMs: made.length === 0 ? null : Math.min(...made),
    refusedSinceAct: newOf(memory, nowMs).filter(({ atMs }) => atMs > (lastActAtMs ?? 0)),
    checks: new Set(
      [...(last?.decision.passedOver ?? []), ...newOf(memory, nowMs)].map(({ check }) => check),
    ),
    budgets: last?.budgets ?? [],
    leftUsdMicros: leftOf(dues.filter(({ sinceMs }) => sinceMs <= nowMs)),
    lookedAt: last === null ? null : last.decision.passedOver.length + last.decision.proposals.length,
  }
}

/** What is worth less than a dollar is done with the rest, and nobody is woken for it. */
const isDust = ({ usdMicros }: Due) => usdMicros !== undefined && usdMicros < 1_000_000n

/** What was proposed, or is under way, has so long at least: a few blocks, whatever the time in which a bid counts. */
const UNDER_WAY_MS = 60_000

function graceOf({ check, graceMs, sinceMs, untilMs }: Owing): number {
  if (check === undefined || check === 'under_way') return Math.max(graceMs, UNDER_WAY_MS)
  // What became due shortly before it is lost has half of that time.
  return untilMs === undefined ? graceMs : Math.max(1, Math.min(graceMs, (untilMs - sinceMs) / 2))
}

/** Refusals of the last minutes. */
const newOf = ({ refusals }: Pick<DutyMemory, 'refusals'>, nowMs: number) =>
  refusals.filter(({ atMs }) => nowMs - atMs <= REFUSAL_MS)

function leftOf(dues: readonly Due[]): DutyState['leftUsdMicros'] {
  const left: Record<string, bigint> = {}
  for (const { check, usdMicros } of dues) {
    if (check !== undefined && usdMicros !== undefined) left[check] = (left[check] ?? 0n) + usdMicros
  }
  return left
}

/** What is worth most first, then what is latest for its kind. */
function byHarm(one: DueSince, other: DueSince): number {
  const [worth, otherWorth] = [one.usdMicros ?? 0n, other.usdMicros ?? 0n]
  if (worth !== otherWorth) return worth > otherWorth ? -1 : 1
  return other.lateMs / graceOf(other) - one.lateMs / graceOf(one)
}

/** Count the rules that keep a role from acting: those of what is late, then refusals, then what the most are left alone by. */
function becauseOf(memory: DutyMemory, late: readonly DueSince[], nowMs: number): readonly IdleReason[] {
  const found = new Map<string, IdleReason>()
  const note = (reason: Omit<IdleReason, 'count'>) => {
    const key = `${reason.check} ${reason.refusedAtMs === undefined ? '' : 'refused'}`
    const before = found.get(key)
    found.set(key, { ...(before ?? reason), count: (before?.count ?? 0) + 1 })
  }
  for (const { check, message } of late) if (check !== undefined) note({ check, message })
  // The newest says most.
  for (const { check, message, atMs } of newOf(memory, nowMs).toReversed())
    note({ check, message, refusedAtMs: atMs })
  const first = found.size
  const left = memory.last?.decision.passedOver ?? []
  for (const { check, message } of left.toSorted(nearest)) note({ check, message })
  const all = [...found.values()]
  const others = all.slice(first).toSorted((one, other) => other.count - one.count)
  return [...all.slice(0, first), ...others].slice(0, SHOWN_MAX)
}

/** Order what was left alone by how near it was to being acted on, the nearest first. */
export const nearest = (one: PassedOver, other: PassedOver) => (other.near ?? 0) - (one.near ?? 0)

/** What is kept of a role from decision to decision, for `dutyState`. */
export type DutyBook = {
  /** A decision as it stood, on what it was made. */
  readonly decided: (decision: Decision, seen: Moment) => void
  /** A workflow of the role moved; null before, it was opened. */
  readonly moved: (before: Workflow | null, after: Workflow) => void
  readonly state: () => DutyState
}

/** What a duty book is made for. */
type DutyBookOptions = {
  readonly role: Role
  readonly nowMs: () => number
  /** What the role owes by what it saw. */
  readonly due: (seen: Moment, decision: Decision) => readonly Due[]
  readonly budgets: (seen: Moment) => readonly OwnBudget[]
  /** Its newest workflows, by the journal. */
  readonly newest: readonly Workflow[]
}

/** Keep what a role decides and does, to say how late it is. */
export function createDutyBook({ role, nowMs, due, budgets, newest }: DutyBookOptions): DutyBook {
  const times = (all: readonly Workflow[], timeOf: (workflow: Workflow) => number) =>
    all.length === 0 ? null : Math.max(...all.map(timeOf))
  let memory: DutyMemory = {
    role,
    startedAtMs: nowMs(),
    last: null,
    refusals: [],
    actsSinceStart: 0,
    lastActAtMs: times(newest.filter(hasActed), ({ updatedAtMs }) => updatedAtMs),
    lastProposalAtMs: times(newest, ({ createdAtMs }) => createdAtMs),
  }
  let sinceMs = new Map<string, number>()
  return {
    decided: (decision, seen) => {
      const seenAtMs = new Map<string, number>()
      const dues = [...blind(seen, role), ...due(seen, decision)].map((one) => {
        const key = `${one.what} ${one.subject}`
        const since = one.sinceMs ?? sinceMs.get(key) ?? nowMs()
        seenAtMs.set(key, since)
        return { ...one, sinceMs: since }
      })
      sinceMs = seenAtMs
      memory = { ...memory, last: { decision, dues, budgets: budgets(seen) } }
    },
    moved: (before, after) => {
      const { state, note, updatedAtMs, createdAtMs } = after
      if (before === null) memory = { ...memory, lastProposalAtMs: createdAtMs }
      if (hasActed(after) && (before === null || !hasActed(before)))
        memory = { ...memory, lastActAtMs: updatedAtMs, actsSinceStart: memory.actsSinceStart + 1 }
      if (state !== 'refused' || before?.state === 'refused' || note === undefined) return
      const refusals = [
        ...newOf(memory, nowMs()),
        { check: note.check, message: note.message, atMs: updatedAtMs },
      ]
      memory = { ...memory, refusals: refusals.slice(-REFUSALS_MAX) }
    },
    state: () => dutyState(memory, nowMs()),
  }
}

/** What is read as stale for so long is no lag that passes by itself: a service that indexes each block is seconds behind. */
const STALE_GRACE_MS = 30_000

/** Who reads nothing that is fresh decides about nothing, whatever is due. */
const blind = ({ freshness: { ok, message } }: Moment, subject: string): readonly Due[] =>
  ok
    ? []
    : [
        {
          what: 'fresh reads',
          subject,
          sinceMs: null,
          graceMs: STALE_GRACE_MS,
          check: 'observation_not_fresh',
          message,
        },
      ]

/** Whether it claimed a nonce, or reached an end that took none. */
const hasActed = ({ slots, state }: Workflow): boolean =>
  slots.length > 0 || state === 'succeeded' || state === 'shadowed'

import { RolekeeperError } from '../../../errors.ts'
import { briefOf } from '../../../workflow/brief.ts'
import { lastRoundOf } from '../../../workflow/round.ts'
import type { Slot } from '../../../workflow/slot.ts'
import { isTerminal, isUnmarked, type Workflow } from '../../../workflow/workflow.ts'
import { entryOf, requestKey } from '../../entered.ts'
import type { LedgerEntry, Reservation, Transition } from '../../journal.ts'
import { encodeRecord } from '../../sqlite/records.ts'
import type { Keys } from '../link/keys.ts'
import { encodeBrief } from './briefs.ts'
import { encodeEntry } from './entries.ts'

/** What a revision of all budgets together begins with. */
export const OF_ALL = 'all '

/** A change of one workflow. */
export type Change = {
  /** As it is to be stored. */
  readonly next: Workflow
  /** As its writer last saw it; null where it is new. */
  readonly before: Workflow | null
  readonly reservation: Reservation | null
  /** What the budget was judged by. */
  readonly revision?: string | undefined
  /** The service's request that it is bound to. */
  readonly requestId?: string
  /** The nonces that it claims, from `nonce` on; `holder` has the one that it only closes, if anybody has. */
  readonly claimed?: Pick<Slot, 'chainId' | 'signer' | 'nonce'> & {
    readonly count: number
    readonly holder: string | undefined
  }
}

/** The keys of a change, in the order in which the scripts count them. Pure. */
export function changeKeys(
  { next, claimed, requestId }: Change,
  seat: string,
  keys: Keys,
): readonly string[] {
  const { id, role, proposal } = next
  return [
    ...[keys.workflow(id), keys.transitions(id), keys.live(seat), keys.ended(seat), keys.opportunities],
    ...[keys.brief, keys.briefs, keys.lot(proposal.lot ?? ''), keys.role(role), keys.roles],
    ...[keys.shadowed, keys.undecided(role), keys.digests],
    ...[keys.budget(role), keys.budgetTimes(role), keys.budgetChanges(role)],
    ...(claimed === undefined
      ? []
      : [keys.nonces(claimed.chainId, claimed.signer), keys.workflow(claimed.holder ?? '')]),
    ...(requestId === undefined ? [] : [keys.values]),
  ]
}

/** The arguments of a change, in the order in which the scripts count them. Pure. */
export function changeArgs(change: Change): readonly string[] {
  const { next, before, reservation } = change
  return [
    ...[headOf(change), encodeRecord(next), transitionOf(next), changedBrief(next, before)],
    reservation === null ? '' : encodeRecord(reservation),
    ...newEntries(next, before).flatMap((entry) => [entry.digest, encodeEntry(entry)]),
  ]
}

/** What a script looks at, as JSON: times, counters and nonces, never wei. */
function headOf({ next, reservation, revision, requestId, claimed }: Change): string {
  const { id, role, opportunity, round, state, version, createdAtMs, updatedAtMs } = next
  const inShadow = state === 'shadowed'
  return JSON.stringify({
    id,
    role,
    opportunity,
    round,
    state,
    createdAtMs,
    updatedAtMs,
    version,
    live: !isTerminal(state),
    shadow: next.shadow === true,
    hasLot: next.proposal.lot !== undefined,
    endedInShadow: inShadow,
    undecided: inShadow && isUnmarked(next),
    lastRound: JSON.stringify(lastRoundOf(next)),
    ...(reservation === null ? {} : { reservedAtMs: reservation.atMs }),
    ...(revision === undefined ? {} : judgedBy(revision)),
    ...(requestId === undefined ? {} : { request: requestKey(requestId) }),
    ...(claimed === undefined
      ? {}
      : { nonces: { first: claimed.nonce, count: claimed.count, holder: claimed.holder } }),
  })
}

/** Whether a budget was judged with those of all roles, and as of which revision. */
const judgedBy = (revision: string) =>
  revision.startsWith(OF_ALL) ? { revision: revision.slice(OF_ALL.length), ofAll: true } : { revision }

function transitionOf({ state, updatedAtMs: atMs, note }: Workflow): string {
  const transition: Transition = { state, atMs, ...(note === undefined ? {} : { note }) }
  return encodeRecord(transition)
}

/** What others see of it, where that changed. */
function changedBrief(next: Workflow, before: Workflow | null): string {
  const brief = encodeRecord(briefOf(next))
  const isSame = before !== null && brief === encodeRecord(briefOf(before))
  return isSame ? '' : encodeBrief(next.createdAtMs, brief)
}

/** The ledger's entries of the attempts that were not there before. */
function newEntries({ id, slots }: Workflow, before: Workflow | null): readonly LedgerEntry[] {
  const known = new Set(before?.slots.flatMap(({ attempts }) => attempts.map(({ digest }) => digest)))
  return slots.flatMap((slot) =>
    slot.attempts.filter(({ digest }) => !known.has(digest)).map((attempt) => entryOf(slot, attempt, id)),
  )
}

/** Say that a workflow is not at the version that a change began with. Pure. */
export const conflict = ({ id, version }: Workflow): RolekeeperError =>
  new RolekeeperError('journal.conflict', `Workflow ${id} was changed by another writer.`, {
    fix: 'none needed: the step is done again on the stored record.',
    facts: { workflowId: id, version: version - 1 },
    retry: 'now',
  })

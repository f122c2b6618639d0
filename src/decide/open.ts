import type { Address } from 'viem'
import { type Checked, RolekeeperError, refuse } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import { span } from '../readable.js'
import type { Role } from '../service/contract/roles.ts'
import { idempotencyKey, opportunityKey } from '../workflow/keys.ts'
import type { Proposal } from '../workflow/proposal.ts'
import type { LastRound } from '../workflow/round.ts'
import {
  isTerminal,
  REJECTED,
  type TerminalState,
  type Workflow,
  type WorkflowState,
} from '../workflow/workflow.ts'
import { RECENT_MS } from './recent-workflows.ts'

/** What opening a workflow needs. */
type OpenDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'open' | 'byOpportunity'>
  readonly alarm: (error: RolekeeperError) => void
  /** Whether a person took back the rejection of a workflow; absent where nobody can. */
  readonly isTakenBack?: (workflowId: string) => Promise<boolean>
}

/** Who asks. */
type Opener = {
  readonly role: Role
  readonly chainId: number
  readonly signer: Address
  readonly shadow: boolean
}

/**
 * Tries that claimed a nonce and ended without the payload's effect: each cost gas. What was refused before cost
 * nothing, and is tried without end.
 */
const CLAIMED_ROUNDS_MAX = 64
const BACK_OFF_MS = 2_000
const BACK_OFF_MS_MAX = 120_000
/** What is proposed and refused for this long is a duty that nobody does: an alarm. */
const OVERDUE_MS = 900_000

/** Ends after which the payload certainly has no effect and never will: every nonce is closed or was never taken. */
const REOPENS: ReadonlySet<TerminalState> = new Set([
  'refused',
  'expired',
  'cancelled',
  'reverted',
  'superseded',
])

/** Ends after which it has its effect, or had it in shadow: what another undid since is due again where it says that it is. */
const DONE: ReadonlySet<WorkflowState> = new Set(['succeeded', 'unconfirmed', 'partial', 'shadowed'])

/** Whether an opportunity whose last round stands so may be tried again. Pure. */
export const isReopened = (state: WorkflowState): boolean => isTerminal(state) && REOPENS.has(state)

/** Milliseconds after the end of a round before the next may begin. Pure. */
const backOffMs = (round: number) => Math.min(BACK_OFF_MS * 2 ** round, BACK_OFF_MS_MAX)

/** Say that a rejection stands, and what ends it. Pure. */
export const rejectedText = (id: string) =>
  `A person rejected it as workflow ${id}; it is asked about again once it differs by a tenth. Fix: to be asked now, rolekeeper reject ${id.slice(0, 8)} --take-back.`

/** A round, and what of the rounds before it counts. */
type Round = Pick<Workflow, 'round' | 'claimedRounds' | 'refusedSinceMs'>

/** The round that an opportunity would begin now, or why it begins none. Pure. */
function nextRound(
  last: LastRound | null,
  { comesBack }: Pick<Proposal, 'comesBack'>,
  isTakenBack: boolean,
  nowMs: number,
): Checked<{ next: Round }> {
  if (last === null) return { ok: true, next: { round: 0 } }
  if (!isTerminal(last.state)) return refuse('already_in_flight', `Workflow ${last.id} is about it already.`)
  if (last.check === REJECTED && !isTakenBack) return refuse(REJECTED, rejectedText(last.id))
  if (comesBack === true && DONE.has(last.state) && nowMs - last.updatedAtMs >= RECENT_MS)
    return { ok: true, next: { round: last.round + 1 } }
  if (last.state === 'partial')
    return refuse(
      'partially_done',
      `Workflow ${last.id} ended partial: a part of its effect stands, so the whole is not tried again. Fix: see what it left; what is still to do comes back as another state.`,
    )
  if (!isReopened(last.state)) return refuse('already_done', `Workflow ${last.id} ended ${last.state}.`)
  const { hasClaimed } = last
  const claimedRounds = (last.claimedRounds ?? 0) + (hasClaimed ? 1 : 0)
  if (claimedRounds >= CLAIMED_ROUNDS_MAX) {
    return refuse(
      'rounds_exhausted',
      `${CLAIMED_ROUNDS_MAX} tries took a nonce and ended without effect, the last ${last.state}.`,
    )
  }
  const waitMs = backOffMs(last.round)
  const leftMs = last.updatedAtMs + waitMs - nowMs
  // More than the whole wait is left only where the clock was put back: that is no reason to stand still.
  if (leftMs > 0 && leftMs <= waitMs)
    return refuse('backing_off', `The last try ended ${last.state}; the next may begin in ${span(leftMs)}.`)
  // What nobody proposed for as long was no duty meanwhile.
  const isFresh = hasClaimed || nowMs - last.updatedAtMs > OVERDUE_MS
  const refusedSinceMs = isFresh ? nowMs : last.refusedSinceMs
  return { ok: true, next: { round: last.round + 1, claimedRounds, refusedSinceMs } }
}

function overdue(
  { kind, subject }: Proposal,
  role: Role,
  { id, check }: LastRound,
  forMs: number,
): RolekeeperError {
  const minutes = Math.floor(forMs / 60_000)
  return new RolekeeperError(
    'duty.overdue',
    `For ${minutes} minutes every try of the ${role} at ${kind} ${subject} ended without a nonce; the last with ${check ?? 'no reason'}.`,
    {
      fix: `see what the check says: a budget, a fee cap or a key of the service; \`rolekeeper explain\` shows every decision.`,
      facts: { workflowId: id, role, subject },
      retry: 'later',
    },
  )
}

/** What of a proposal says which opportunity it is. */
export type OpportunityParts = Pick<Proposal, 'workflowType' | 'kind' | 'subject' | 'occurrence'>

/** Name the opportunity that a proposal is, for who asks. Pure. */
export const opportunityOf = (
  { workflowType, kind, subject, occurrence }: OpportunityParts,
  { role, chainId, shadow }: Opener,
): string => opportunityKey({ chainId, role, workflowType, kind, subject, occurrence, shadow })

/**
 * Open a proposal as a workflow: one opportunity, one workflow, however often it is proposed. Refuses with
 * `already_in_flight`, `already_done`, `backing_off`, `rounds_exhausted`, or `lot_taken` when another role of ours bids on
 * the same lot.
 */
export async function openProposal(
  proposal: Proposal,
  opener: Opener,
  deps: OpenDeps,
): Promise<Checked<{ workflow: Workflow }>> {
  const { role, chainId, signer, shadow } = opener
  const opportunity = opportunityOf(proposal, opener)
  const nowMs = deps.nowMs()
  const last = await deps.journal.byOpportunity(opportunity)
  const isTakenBack = last?.check === REJECTED && (await deps.isTakenBack?.(last.id)) === true
  const allowed = nextRound(last, proposal, isTakenBack, nowMs)
  if (!allowed.ok) return allowed
  const { next } = allowed
  const overdueMs = nowMs - (next.refusedSinceMs ?? nowMs)
  if (last !== null && overdueMs > OVERDUE_MS && !shadow) deps.alarm(overdue(proposal, role, last, overdueMs))
  const workflow: Workflow = {
    id: idempotencyKey(opportunity, next.round),
    role,
    chainId,
    signer,
    opportunity,
    ...next,
    proposal,
    state: 'discovered',
    version: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    strikes: 0,
    ...(shadow ? { shadow } : {}),
    slots: [],
  }
  const opened = await deps.journal.open(workflow)
  if (opened === 'opened') return { ok: true, workflow }
  return opened === 'exists'
    ? refuse('already_in_flight', 'Another opened it first.')
    : refuse('lot_taken', `Our ${opened.role} bids on the lot ${proposal.lot} (workflow ${opened.id}).`)
}

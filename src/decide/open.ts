import type { Address } from 'viem'
import { type Checked, refuse } from '../errors.ts'
import type { Journal } from '../journal/journal.ts'
import type { Role } from '../service/contract/roles.ts'
import { idempotencyKey, opportunityKey } from '../workflow/keys.ts'
import type { Proposal } from '../workflow/proposal.ts'
import { isTerminal, REJECTED, type TerminalState, type Workflow } from '../workflow/workflow.ts'

/** What opening a workflow needs. */
type OpenDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'open' | 'byOpportunity' | 'live'>
}

/** Who asks. */
type Opener = {
  readonly role: Role
  readonly chainId: number
  readonly signer: Address
  readonly shadow: boolean
}

/** A try that ended without the payload's effect may be made again this often. */
const ROUNDS_MAX = 64
const BACK_OFF_MS = 2_000
const BACK_OFF_MS_MAX = 120_000

/** Ends after which the payload certainly has no effect and never will: every nonce is closed or was never taken. */
const REOPENS: ReadonlySet<TerminalState> = new Set([
  'refused',
  'expired',
  'cancelled',
  'reverted',
  'superseded',
])

/** Milliseconds after the end of a round before the next may begin. Pure. */
const backOffMs = (round: number) => Math.min(BACK_OFF_MS * 2 ** round, BACK_OFF_MS_MAX)

/** The round that an opportunity would begin now, or why it begins none. Pure. */
function nextRound(last: Workflow | null, nowMs: number): Checked<{ round: number }> {
  if (last === null) return { ok: true, round: 0 }
  if (!isTerminal(last.state)) return refuse('already_in_flight', `Workflow ${last.id} is about it already.`)
  if (last.note?.check === REJECTED)
    return refuse(
      REJECTED,
      `A person rejected it as workflow ${last.id}; it comes back when its state changes.`,
    )
  if (!REOPENS.has(last.state)) return refuse('already_done', `Workflow ${last.id} ended ${last.state}.`)
  if (last.round + 1 >= ROUNDS_MAX) {
    return refuse('rounds_exhausted', `${ROUNDS_MAX} tries ended without effect, the last ${last.state}.`)
  }
  const waitMs = backOffMs(last.round)
  const leftMs = last.updatedAtMs + waitMs - nowMs
  // More than the whole wait is left only where the clock was put back: that is no reason to stand still.
  if (leftMs > 0 && leftMs <= waitMs)
    return refuse('backing_off', `The last try ended ${last.state}; the next may begin in ${leftMs} ms.`)
  return { ok: true, round: last.round + 1 }
}

/** Name the opportunity that a proposal is, for who asks. Pure. */
export const opportunityOf = (
  { workflowType, kind, subject, occurrence }: Proposal,
  { role, chainId, shadow }: Opener,
): string => opportunityKey({ chainId, role, workflowType, kind, subject, occurrence, shadow })

/**
 * Open a proposal as a workflow: one opportunity, one workflow, however often it is proposed. Refuses with
 * `already_in_flight`, `already_done`, `backing_off`, `rounds_exhausted`, or `lot_taken` when another role of ours bids on
 * the same lot; one caller at a time, or two roles could take it together.
 */
export async function openProposal(
  proposal: Proposal,
  opener: Opener,
  deps: OpenDeps,
): Promise<Checked<{ workflow: Workflow }>> {
  const { role, chainId, signer, shadow } = opener
  const opportunity = opportunityOf(proposal, opener)
  const nowMs = deps.nowMs()
  if (proposal.lot !== undefined) {
    const taken = (await deps.journal.live()).find(
      (other) =>
        other.role !== role && other.proposal.lot === proposal.lot && (shadow || other.shadow !== true),
    )
    if (taken !== undefined)
      return refuse('lot_taken', `Our ${taken.role} bids on the lot ${proposal.lot} (workflow ${taken.id}).`)
  }
  const next = nextRound(await deps.journal.byOpportunity(opportunity), nowMs)
  if (!next.ok) return next
  const workflow: Workflow = {
    id: idempotencyKey(opportunity, next.round),
    role,
    chainId,
    signer,
    opportunity,
    round: next.round,
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
  return opened === 'opened'
    ? { ok: true, workflow }
    : refuse('already_in_flight', 'Another opened it first.')
}

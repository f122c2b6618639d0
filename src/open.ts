import type { Address } from 'viem'
import type { Proposal, Role } from './agent.ts'
import type { Journal } from './journal/journal.ts'
import { idempotencyKey, opportunityKey } from './workflow/keys.ts'
import { isTerminal, type TerminalState, type Workflow } from './workflow/workflow.ts'

/** What opening a workflow needs. */
export type OpenDeps = {
  readonly nowMs: () => number
  readonly journal: Pick<Journal, 'open' | 'byOpportunity'>
}

/** Who asks. */
export type Opener = { readonly role: Role; readonly chainId: number; readonly signer: Address }

/** A try that ended without the payload's effect may be made again this often. */
const ROUNDS_MAX = 8
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

/** The round that an opportunity would begin now, or null while it is taken, done, backing off or given up. Pure. */
function nextRound(last: Workflow | null, nowMs: number): number | null {
  if (last === null) return 0
  if (!isTerminal(last.state) || !REOPENS.has(last.state) || last.round + 1 >= ROUNDS_MAX) return null
  return nowMs - last.updatedAtMs >= backOffMs(last.round) ? last.round + 1 : null
}

/**
 * Open a proposal as a workflow: one opportunity, one workflow, however often it is proposed.
 * @returns the new workflow, or null when the opportunity is taken, done, backing off or given up.
 */
export async function openProposal(
  proposal: Proposal,
  opener: Opener,
  deps: OpenDeps,
): Promise<Workflow | null> {
  const { workflowType, kind, subject, occurrence } = proposal
  const { role, chainId, signer } = opener
  const opportunity = opportunityKey({ chainId, role, workflowType, kind, subject, occurrence })
  const nowMs = deps.nowMs()
  const round = nextRound(await deps.journal.byOpportunity(opportunity), nowMs)
  if (round === null) return null
  const workflow: Workflow = {
    id: idempotencyKey(opportunity, round),
    role,
    chainId,
    signer,
    opportunity,
    round,
    proposal,
    state: 'discovered',
    version: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    strikes: 0,
    slots: [],
  }
  return (await deps.journal.open(workflow)) === 'opened' ? workflow : null
}

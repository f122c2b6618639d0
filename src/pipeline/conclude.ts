import type { Nodes } from '../chain/nodes.ts'
import type { Clock } from '../clock.ts'
import { invariant, RolekeeperError } from '../errors.ts'
import { sumChanges } from '../guard/checks/effects.ts'
import type { Journal, Reservation } from '../journal/journal.ts'
import type { Deployment } from '../service/contract/deployment.ts'
import { insistsOn } from '../service/contract/workflow-types.ts'
import { amountText } from '../units.ts'
import { inputText } from '../workflow/proposal.ts'
import { type Inclusion, paidWei, type Slot } from '../workflow/slot.ts'
import { type Step, wait } from '../workflow/step.ts'
import {
  move,
  type Note,
  type StandingAllowance,
  type TerminalState,
  type Workflow,
} from '../workflow/workflow.ts'
import { type AllowanceLeft, allowancesLeft, hasLanded, isApproval } from './transactions/allowances.ts'
import type { ChainView } from './transactions/chain-view.ts'
import { differences } from './transactions/effects.ts'
import { type FeePolicy, gasOf, quoteFees } from './transactions/fees.ts'
import { isSettled } from './transactions/follow.ts'
import { lostTo } from './transactions/lost-race.ts'
import { hasFailed } from './transactions/replace.ts'
import { reservationOf } from './transactions/reservation.ts'
import type { Signers } from './transactions/safe.ts'
import { orderAttempt, revocationPayload, sentBy } from './transactions/transaction.ts'

/** What concluding needs. */
export type ConcludeDeps = {
  readonly nowMs: () => number
  readonly baseFeePerGasWei: () => bigint
  readonly fees: FeePolicy
  readonly clock: Pick<Clock, 'sleep'>
  readonly nodes: Pick<Nodes, 'calls' | 'logs'>
  readonly stands: ChainView['stands']
  readonly journal: Pick<Journal, 'byNonce' | 'claim' | 'nextNonce' | 'write'>
  readonly alarm: (error: RolekeeperError) => void
  readonly safe: Signers['safe']
  /** Whose amounts are written with their units. */
  readonly deployment: Pick<Deployment, 'assets'>
}

const RETRY_MS = 500
/** A token that refuses this many revocations refuses the next one too. */
const REVOCATIONS_MAX = 3

/**
 * End a workflow whose slots are all final. Success is measured from the receipts and compared with the simulation;
 * after a failure, in quarantine, or of a venue's, an approval that still stands is revoked before the workflow may end.
 */
export async function conclude(workflow: Workflow, deps: ConcludeDeps): Promise<Step> {
  // What a journal of an earlier release lacks is read again first.
  if (!workflow.slots.every(isSettled)) return wait(RETRY_MS)
  const nowMs = deps.nowMs()
  const included = workflow.slots.flatMap((slot) => (slot.inclusion === undefined ? [] : [slot.inclusion]))
  const failed =
    workflow.quarantined !== undefined ||
    workflow.slots.some((slot) => slot.kind === 'intent' && hasFailed(slot))
  // A venue may take less than it was allowed to, and the rest whenever it likes.
  const isVenues = insistsOn(workflow.proposal.workflowType) !== undefined
  const found = failed || isVenues ? await allowancesLeft(workflow, deps) : { nextNonce: 0, left: [] }
  if (found === null) return wait(RETRY_MS)
  const { nextNonce, left } = found
  // Before it is asked which blocks stand: what ends below ends by that.
  const lost = failed ? await lostTo(workflow, firstFailed(workflow), deps) : null
  // One that cannot be read counts as standing, whatever a node says in its place.
  const standing =
    left.find(({ assets, replaced }) => assets !== 0n && replaced !== 'by_live')?.allowance ?? null
  if (failed || standing !== null) {
    // A fork past finality may have been seen meanwhile: then its slots are opened again first, or looked for.
    const stand = included.map(({ blockNumber: number, blockHash: hash }) => deps.stands({ number, hash }))
    if (stand.some((stands) => stands !== true)) return wait(RETRY_MS)
    if (isVenues) compareAllowances(workflow, left, deps)
    const tries = workflow.slots.filter(
      (slot) => slot.kind === 'revoke' && slot.consumedByOther !== true,
    ).length
    if (standing !== null && tries < REVOCATIONS_MAX) return revoke(workflow, standing, nextNonce, deps)
    if (standing !== null) deps.alarm(stillStanding(workflow, standing))
    if (failed)
      return fail(
        workflow,
        realizedBy(included, nowMs),
        { stands: standing !== null || hasEffect(workflow), lost },
        deps,
      )
  }
  const realized = realizedBy(included, nowMs)
  compareEffects(workflow, realized, deps)
  const last = included.reduce((max, each) => (each.blockNumber > max ? each.blockNumber : max), 0n)
  const postconditions = workflow.prepared?.answer.canonicalPostconditions ?? []
  const awaiting = { blockNumber: last, postconditions, sinceMs: nowMs }
  const confirmed = move(workflow, 'confirmed', nowMs, { realized, awaiting })
  return settled(confirmed, spent(workflow, realized.gasWei, true, nowMs), deps)
}

/** Write an end with what was really spent, in one step: a slot may be open again before another could follow. */
const settled = async (ended: Workflow, reservation: Reservation, deps: ConcludeDeps): Promise<Step> => ({
  type: 'written',
  workflow: await deps.journal.write(ended, reservation),
})

/**
 * Whether a payload of a workflow landed that no revocation takes back: anything but an approval. Where another did not,
 * a part of what was wanted stands.
 */
const hasEffect = (workflow: Workflow): boolean =>
  workflow.slots.some((slot) => slot.kind === 'intent' && hasLanded(slot) && !isApproval(slot, workflow))

/** End what failed, or is quarantined. One of which a part stands keeps its whole exposure in the budgets. */
async function fail(
  workflow: Workflow,
  realized: NonNullable<Workflow['realized']>,
  { stands, lost }: { readonly stands: boolean; readonly lost: string | null },
  deps: ConcludeDeps,
): Promise<Step> {
  const { quarantined } = workflow
  const nowMs = realized.atMs
  const end = (state: TerminalState, note: Note) =>
    settled(
      move(workflow, state, nowMs, { realized, note }),
      spent(workflow, realized.gasWei, stands, nowMs),
      deps,
    )
  if (quarantined !== undefined) return end('quarantined', quarantined.note)
  const note = failureNote(workflow, lost)
  compareEffects(workflow, realized, deps)
  if (!stands) return end(failure(workflow), note)
  deps.alarm(partial(workflow, note.message))
  return end('partial', note)
}

const partial = ({ id, slots }: Workflow, why: string) =>
  new RolekeeperError(
    'workflow.partial',
    `Of the ${slots.filter(({ kind }) => kind === 'intent').length} transactions of workflow ${id} some landed and one did not: ${why}`,
    {
      fix: `see what stands with \`rolekeeper workflows show ${id}\`; the opportunity is not tried again as it was.`,
      facts: { workflowId: id },
    },
  )

/** What really happened, from what the final receipts hold. Pure. */
function realizedBy(included: readonly Inclusion[], atMs: number): NonNullable<Workflow['realized']> {
  const claimId = included.find((each) => each.claimId !== undefined)?.claimId
  return {
    tokens: sumChanges(included.flatMap(({ tokens }) => tokens ?? [])),
    gasWei: included.reduce((sum, each) => sum + paidWei(each), 0n),
    atMs,
    ...(claimId === undefined ? {} : { claimId }),
  }
}

/**
 * Trip the breaker where something else happened than was simulated: whatever made it so, a contract or a node, may do it
 * again, and a person looks first. Both are read from logs: what a token moves without saying so, or says and does not move,
 * it does in a simulation too.
 */
function compareEffects(
  workflow: Workflow,
  { tokens }: NonNullable<Workflow['realized']>,
  { safe, deployment }: Pick<ConcludeDeps, 'safe' | 'deployment'>,
): void {
  const { slots } = workflow
  const predicted = sumChanges(slots.filter(hasLanded).flatMap((slot) => slot.predicted.tokens))
  doubt(workflow, differences(predicted, tokens, deployment, insistedBy(workflow)), safe)
}

/** And where a venue took of what it was allowed to take beside a call of ours that did not land. */
function compareAllowances(
  workflow: Workflow,
  left: readonly AllowanceLeft[],
  { safe, deployment }: Pick<ConcludeDeps, 'safe' | 'deployment'>,
): void {
  if (hasEffect(workflow) || workflow.slots.some(({ kind }) => kind === 'revoke')) return
  const taken = left.flatMap(({ allowance: { token, spender, assets: allowed }, assets, replaced }) => {
    if (assets === null || assets >= allowed || replaced !== 'not') return []
    return [
      `${spender} took ${amountText(allowed - assets, token, deployment)} beside a call that did not land`,
    ]
  })
  doubt(workflow, taken, safe)
}

function doubt(
  { id: workflowId, signer, slots }: Workflow,
  unexpected: readonly string[],
  safe: ConcludeDeps['safe'],
): void {
  if (unexpected.length === 0) return
  const hashes = slots.flatMap(({ inclusion }) => inclusion?.hash ?? [])
  safe(signer, {
    check: 'effects_differ',
    message: `Workflow ${workflowId} did not do what was simulated: ${unexpected.join('; ')}.`,
    seen: `the receipts of ${hashes.join(', ')}`,
    toLeave: 'find out why: a contract may know a simulation from the chain, and a node may lie about one',
    workflowId,
  })
}

/**
 * What has to come at least where others decide how much more does: by what they pay beyond it they could stop a signer as
 * often as they like. Pure.
 */
function insistedBy({ proposal }: Workflow): bigint | undefined {
  const member = insistsOn(proposal.workflowType)
  return member === undefined ? undefined : BigInt(inputText(proposal.input, member) ?? 0)
}

/** What a workflow cost in the end, in the place of what it might have cost. */
function spent(workflow: Workflow, gasWei: bigint, stands: boolean, nowMs: number): Reservation {
  const { out, ...reserved } = reservationOf(workflow, nowMs)
  // The native coin that was sent along counts like gas: nothing else counts it.
  const nativeWei = gasWei + sentBy(workflow.slots.filter(hasLanded))
  return stands
    ? { ...reserved, ...(out === undefined ? {} : { out }), gasWei: nativeWei }
    : { ...reserved, usdMicros: 0n, gasWei: nativeWei }
}

/** Which end a failure is. A revert weighs most: it cost gas for a payload that ran. Pure. */
function failure(workflow: Workflow): TerminalState {
  const { slots } = workflow
  if (slots.some((slot) => slot.consumedByOther)) return 'superseded'
  if (slots.some((slot) => slot.inclusion?.status === 'reverted')) return 'reverted'
  return slots.some((slot) => slot.closing === 'expired') ? 'expired' : 'cancelled'
}

const firstFailed = ({ slots }: Workflow) => slots.find((slot) => slot.kind === 'intent' && hasFailed(slot))

/** Say why a workflow failed; `lost` is to whom it lost a race, where that is known. Pure. */
function failureNote(workflow: Workflow, lost: string | null): Note {
  const first = firstFailed(workflow)
  invariant(first !== undefined, `workflow ${workflow.id} failed without a failed slot`)
  if (first.consumedByOther) {
    return {
      check: 'nonce_taken',
      message: `Another transaction used nonce ${first.nonce} of ${first.signer}. Fix: where no workflow had it there, give this key to this keeper alone.`,
    }
  }
  if (first.inclusion?.status === 'reverted') {
    const why = lost ?? 'the state had changed since the simulation, as it does where somebody else was first'
    const message = `The transaction at nonce ${first.nonce} reverted in block ${first.inclusion.blockNumber}: ${why}.`
    return { check: 'reverted_on_chain', message }
  }
  const message = workflow.note?.message ?? `Its nonces were closed without the payload: ${first.closing}.`
  return { check: first.closing ?? 'closed', message }
}

const stillStanding = (workflow: Workflow, { token, spender }: StandingAllowance) =>
  new RolekeeperError(
    'allowance.standing',
    `${spender} may still take ${token} from ${workflow.signer}: ${REVOCATIONS_MAX} revocations of workflow ${workflow.id} did not help.`,
    { fix: 'revoke it by hand, and pause the role until then.', facts: { workflowId: workflow.id } },
  )

async function revoke(
  workflow: Workflow,
  standing: StandingAllowance,
  nonce: number,
  deps: ConcludeDeps,
): Promise<Step> {
  // It closes what is open: it may take all that the policy allows, and its cost is counted beyond any budget.
  const quoted = quoteFees(deps.baseFeePerGasWei(), deps.fees, { capWei: deps.fees.maxFeePerGasWei })
  if (!quoted.ok) return wait(RETRY_MS)
  const nowMs = deps.nowMs()
  const planned = workflow.slots.filter(({ kind }) => kind !== 'revoke')
  const bare = {
    index: workflow.slots.length,
    kind: 'revoke' as const,
    chainId: workflow.chainId,
    signer: workflow.signer,
    nonce,
    payload: revocationPayload(standing),
    // It has fewer bytes than what it follows, of which earlier revocations are no part.
    predicted: { gasUsed: 0n, dataFeeWei: gasOf(planned).dataFeeWei, tokens: [] },
    state: 'open' as const,
  }
  const slot: Slot = { ...bare, attempts: [orderAttempt(bare, 'payload', quoted.fees, nowMs)] }
  const revoking = { ...workflow, slots: [...workflow.slots, slot], updatedAtMs: nowMs }
  const claimed = await deps.journal.claim(revoking, reservationOf(revoking, nowMs))
  // Another took it meanwhile, and may have allowed the same anew.
  return claimed === 'lost' ? wait(0) : { type: 'written', workflow: claimed }
}

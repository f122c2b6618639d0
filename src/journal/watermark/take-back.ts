import type { Address, Hex } from 'viem'
import { invariant } from '../../errors.ts'
import { type Attempt, reopened, type Slot, slotAt, withNewAttempt } from '../../workflow/slot.ts'
import { isTerminal, move, type Workflow } from '../../workflow/workflow.ts'
import { entryOf } from '../entered.ts'
import type { Journal, LedgerEntry } from '../journal.ts'
import { digestsOf, type Mark, ownerOf } from './watermark.ts'

/** What a journal that went back takes back from a watermark. */
type TakeBackJournal = Pick<
  Journal,
  | 'get'
  | 'byOpportunity'
  | 'open'
  | 'claim'
  | 'write'
  | 'nextNonce'
  | 'adoptNonce'
  | 'ledgerEntry'
  | 'enterDigest'
>

/**
 * What the watermark knows and the journal had lost, and whether it could be taken back: not where the journal holds
 * something else at its nonce. What is no transaction has no nonce.
 */
export type TakenBack = {
  readonly signer: Address
  readonly nonce: number | null
  readonly workflowId: string | null
  readonly taken: boolean
}

/** Whether a journal holds every one of some digests of a workflow, for its key: in its ledger, or with the workflow in its archive. */
export async function areHeld(
  digests: readonly Hex[],
  { workflowId, signer }: { readonly workflowId: string | null; readonly signer: Address },
  journal: Pick<Journal, 'ledgerEntry' | 'get'>,
): Promise<boolean> {
  const entries = await Promise.all(digests.map((digest) => journal.ledgerEntry(digest, signer)))
  if (entries.every((entry) => entry !== null)) return true
  const stored = workflowId === null ? null : await journal.get(workflowId)
  // One that goes on has its digests in the ledger before they are signed.
  if (stored === null || !isTerminal(stored.state)) return false
  const attempts = stored.slots.flatMap((slot) => slot.attempts)
  return digests.every(
    (digest, index) =>
      entries[index] !== null ||
      stored.attestation?.digest === digest ||
      attempts.some((attempt) => attempt.digest === digest),
  )
}

/**
 * Write the marks of a watermark that a journal has lost into it again, in the order in which they were made. A claim is
 * made as it was, with its budget; an attempt is ordered again, with what it added to it, so that what the chain mined is
 * known for ours; any other digest enters the ledger again, also that of what could not be taken back: it was seen by then.
 */
export async function takeBack(
  marks: readonly Mark[],
  journal: TakeBackJournal,
): Promise<readonly TakenBack[]> {
  const back: TakenBack[] = []
  for (const mark of marks) {
    if (await areHeld(digestsOf(mark), ownerOf(mark), journal)) continue
    if (mark.type === 'digest') back.push({ ...mark.entry, taken: true })
    else if (mark.type === 'attempt') back.push(...(await orderAgain(mark, journal)))
    else back.push(...(await claimAgain(mark, journal)), ...(await orderHeldAgain(mark, journal)))
    for (const entry of entriesOf(mark)) await journal.enterDigest(entry)
  }
  return back
}

function entriesOf(mark: Mark): readonly LedgerEntry[] {
  if (mark.type === 'digest') return [mark.entry]
  const [workflowId, slots] =
    mark.type === 'claim'
      ? [mark.workflow.id, mark.workflow.slots]
      : [mark.workflowId, [{ ...mark, attempts: [mark.attempt] }]]
  return slots.flatMap((slot) => slot.attempts.map((attempt) => entryOf(slot, attempt, workflowId)))
}

async function claimAgain(
  { workflow, reservation }: Extract<Mark, { type: 'claim' }>,
  journal: TakeBackJournal,
): Promise<readonly TakenBack[]> {
  const { id, chainId } = workflow
  await endEarlierRound(workflow, journal)
  await journal.open({ ...workflow, state: 'cleared', slots: [], version: 0 })
  const stored = await journal.get(id)
  const held = new Set(stored?.slots.map(({ nonce }) => nonce))
  const fresh = workflow.slots.filter(({ nonce }) => !held.has(nonce)).map(orderedAgain)
  const [first] = fresh
  if (stored === null || first === undefined) return []
  const next = await journal.nextNonce(chainId, first.signer)
  // Between them are nonces that nobody claimed, or whose marks are gone.
  if (next === null || next < first.nonce) await journal.adoptNonce(chainId, first.signer, first.nonce)
  const slots = [...stored.slots, ...fresh]
  const claimed = await journal.claim({ ...workflow, slots, version: stored.version }, reservation)
  // It may have been sent at that nonce all the same: it ends, and is not begun at another one.
  if (claimed === 'lost' && stored.slots.length === 0 && !isTerminal(stored.state)) {
    const message = `The watermark has it at nonce ${first.nonce}, where the journal holds something else. Fix: see \`rolekeeper signer show\`.`
    const note = { check: 'sent_before_restore', message }
    await journal.write(move(stored, 'quarantined', workflow.updatedAtMs, { note }))
  }
  return fresh.map(({ signer, nonce }) => ({ signer, nonce, workflowId: id, taken: claimed !== 'lost' }))
}

/** End what the older journal has under way of an opportunity of which a later round claimed nonces: it had ended by then. */
async function endEarlierRound(
  { opportunity, round, updatedAtMs }: Workflow,
  journal: TakeBackJournal,
): Promise<void> {
  const last = await journal.byOpportunity(opportunity)
  // What has nonces is followed to their end.
  if (last === null || last.round >= round || isTerminal(last.state) || last.hasClaimed) return
  const earlier = await journal.get(last.id)
  invariant(earlier !== null, `workflow ${last.id} is live and not there`)
  const message = `By the watermark, round ${round} of its opportunity claimed nonces: this one had ended by then.`
  const note = { check: 'ended_before_restore', message }
  await journal.write(move(earlier, 'cancelled', updatedAtMs, { note }))
}

/** Order what a claim as it stood later, after bumps, has for slots that the journal holds with fewer attempts. */
async function orderHeldAgain(
  { workflow, reservation }: Extract<Mark, { type: 'claim' }>,
  journal: TakeBackJournal,
): Promise<readonly TakenBack[]> {
  const { id: workflowId, chainId, slots } = workflow
  const back: TakenBack[] = []
  for (const { signer, nonce, attempts } of slots) {
    for (const attempt of attempts) {
      const isHeld = await areHeld([attempt.digest], { workflowId, signer }, journal)
      if (isHeld || slotAt(await journal.get(workflowId), signer, nonce) === undefined) continue
      const mark = { type: 'attempt' as const, workflowId, chainId, signer, nonce, attempt }
      back.push(...(await orderAgain(reservation === null ? mark : { ...mark, reservation }, journal)))
    }
  }
  return back
}

/** What is not final is only ordered: whether it was sent is for the chain to say, and not for a file. */
function orderedAgain(slot: Slot): Slot {
  if (slot.state === 'final') return slot
  const { inclusion: _gone, ...bare } = slot
  return { ...bare, state: 'open', attempts: slot.attempts.map(attemptAgain) }
}

const attemptAgain = ({ raw: _raw, hash: _hash, ...attempt }: Attempt): Attempt => ({
  ...attempt,
  state: 'ordered',
})

async function orderAgain(
  { workflowId, signer, nonce, attempt, reservation }: Extract<Mark, { type: 'attempt' }>,
  journal: TakeBackJournal,
): Promise<readonly TakenBack[]> {
  const stored = await journal.get(workflowId)
  const slot = slotAt(stored, signer, nonce)
  // After a no-op that we ordered meanwhile, no payload may follow.
  const isOver = slot?.attempts.at(-1)?.purpose === 'noop' && attempt.purpose === 'payload'
  const isLive = stored !== null && !isTerminal(stored.state) && slot !== undefined && !isOver
  if (isLive) {
    // One that was mined or final was open again when this was ordered: a reorg had taken it back.
    const again = withNewAttempt(reopened(slot), attemptAgain(attempt))
    const slots = stored.slots.map((each) => (each.index === slot.index ? again : each))
    // One that was confirmed was in flight again, too: what is confirmed is not followed.
    const state = stored.state === 'confirmed' ? 'in_flight' : stored.state
    await journal.write({ ...stored, state, slots }, reservation ?? null)
  }
  return [{ signer, nonce, workflowId, taken: isLive }]
}

import type { Hex } from 'viem'
import type { Nodes, Receipt } from '../chain/nodes.ts'
import type { Attempt, Inclusion, Slot } from '../workflow/slot.ts'

/** What following a slot needs. */
export type FollowDeps = {
  readonly nodes: Pick<Nodes, 'receipt' | 'block' | 'finalizedNumber' | 'transactionCount'>
}

const inclusionOf = (attempt: Attempt, receipt: Receipt): Inclusion => ({
  hash: receipt.hash,
  purpose: attempt.purpose,
  blockNumber: receipt.blockNumber,
  blockHash: receipt.blockHash,
  status: receipt.status,
  gasUsed: receipt.gasUsed,
  effectiveGasPriceWei: receipt.effectiveGasPriceWei,
})

const isCanonical = async (blockNumber: bigint, blockHash: Hex, deps: FollowDeps) =>
  (await deps.nodes.block(blockNumber))?.hash === blockHash

async function findInclusion(slot: Slot, deps: FollowDeps): Promise<Inclusion | null> {
  const sent = slot.attempts.filter((attempt) => attempt.state === 'sent')
  const receipts = await Promise.all(
    sent.map((attempt) => (attempt.hash === undefined ? null : deps.nodes.receipt(attempt.hash))),
  )
  for (const [index, receipt] of receipts.entries()) {
    const attempt = sent[index]
    if (receipt === null || attempt === undefined) continue
    if (await isCanonical(receipt.blockNumber, receipt.blockHash, deps)) return inclusionOf(attempt, receipt)
  }
  return null
}

/** A slot whose receipts are gone: the same bytes are sent again. */
const reopened = (slot: Slot): Slot => {
  const { inclusion: _gone, ...rest } = slot
  return { ...rest, state: 'open' }
}

/**
 * Look where a slot stands on the chain, by the receipts of all its own hashes. `mined` is provisional: a block that
 * is no longer canonical opens the slot again. Absence of a receipt alone ends nothing: only a finalized nonce above
 * the slot's, with none of our hashes included, says that another transaction took it.
 * @returns the same object when nothing changed.
 */
export async function follow(slot: Slot, deps: FollowDeps): Promise<Slot> {
  if (slot.state === 'final' || !slot.attempts.some((attempt) => attempt.state === 'sent')) return slot
  const { inclusion } = slot
  if (inclusion !== undefined && (await isCanonical(inclusion.blockNumber, inclusion.blockHash, deps))) {
    return inclusion.blockNumber <= (await deps.nodes.finalizedNumber()) ? { ...slot, state: 'final' } : slot
  }
  // The finalized count is read before the receipts: a transaction final by then has its receipt by now.
  const finalizedCount = await deps.nodes.transactionCount(slot.signer, 'finalized')
  const found = await findInclusion(slot, deps)
  if (found !== null) {
    const final = found.blockNumber <= (await deps.nodes.finalizedNumber())
    return { ...slot, state: final ? 'final' : 'mined', inclusion: found }
  }
  if (finalizedCount > slot.nonce) return { ...reopened(slot), state: 'final', consumedByOther: true }
  return inclusion === undefined ? slot : reopened(slot)
}

import type { Hex } from 'viem'
import type { Nodes, Receipt } from '../../chain/nodes.ts'
import type { Attempt, Inclusion, Slot } from '../../workflow/slot.ts'

/** What following a slot needs. */
export type FollowDeps = {
  readonly nodes: Pick<Nodes, 'receipt' | 'block' | 'blockOnAll' | 'finalizedNumber' | 'transactionCount'>
}

/** A receipt that a node does not show is no evidence by itself: it must stay away for this many finalized blocks. */
const PASSED_BLOCKS = 8n

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

/** Final: no node that answers has another block there, or none. */
async function isFinal({ blockNumber, blockHash }: Inclusion, deps: FollowDeps): Promise<boolean> {
  if (blockNumber > (await deps.nodes.finalizedNumber())) return false
  return (await deps.nodes.blockOnAll(blockNumber)).every((block) => block?.hash === blockHash)
}

async function findInclusion(slot: Slot, deps: FollowDeps): Promise<Inclusion | null> {
  // One that is signed may have been sent by a process that died before it could say so.
  const own = slot.attempts.filter((attempt) => attempt.hash !== undefined)
  const receipts = await Promise.all(
    own.map((attempt) => (attempt.hash === undefined ? null : deps.nodes.receipt(attempt.hash))),
  )
  for (const [index, receipt] of receipts.entries()) {
    const attempt = own[index]
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

/** A slot whose nonce is finalized without us: given up once the finalized chain has grown and still shows nothing. */
async function passed(slot: Slot, deps: FollowDeps): Promise<Slot> {
  const finalized = await deps.nodes.finalizedNumber()
  const since = slot.passedAtBlock
  if (since === undefined) return { ...reopened(slot), passedAtBlock: finalized }
  if (finalized >= since + PASSED_BLOCKS) return { ...reopened(slot), state: 'final', consumedByOther: true }
  return slot.inclusion === undefined ? slot : reopened(slot)
}

/**
 * Look where a slot stands on the chain, by the receipts of all its own hashes. `mined` is provisional: a block that
 * is no longer canonical opens the slot again. Absence of a receipt alone ends nothing: only a finalized nonce above
 * the slot's, with none of our hashes included for several finalized blocks, says that another transaction took it.
 * @returns the same object when nothing changed.
 */
export async function follow(slot: Slot, deps: FollowDeps): Promise<Slot> {
  if (slot.state === 'final' || !slot.attempts.some((attempt) => attempt.hash !== undefined)) return slot
  const { inclusion } = slot
  if (inclusion !== undefined && (await isCanonical(inclusion.blockNumber, inclusion.blockHash, deps))) {
    return (await isFinal(inclusion, deps)) ? { ...slot, state: 'final' } : slot
  }
  // The finalized count is read before the receipts: a transaction final by then has its receipt by now.
  const finalizedCount = await deps.nodes.transactionCount(slot.signer, 'finalized')
  const found = await findInclusion(slot, deps)
  if (found !== null) {
    const { passedAtBlock: _wrong, ...rest } = slot
    return { ...rest, state: (await isFinal(found, deps)) ? 'final' : 'mined', inclusion: found }
  }
  if (finalizedCount > slot.nonce) return passed(slot, deps)
  return inclusion === undefined ? slot : reopened(slot)
}

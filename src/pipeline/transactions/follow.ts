import type { SignerFacts } from '../../chain/canonical.ts'
import type { PassedNonce } from '../../chain/find-mined.ts'
import type { MinedTransaction } from '../../chain/nodes.ts'
import { loggedChanges } from '../../guard/checks/effects.ts'
import { type Attempt, type Inclusion, reopened, type Slot } from '../../workflow/slot.ts'
import type { Clearance } from '../../workflow/workflow.ts'
import { openedClaim } from './effects.ts'

/** A clearance that does not say what was final at its block: reorgs go this deep at most. */
const REORG_BLOCKS_MAX = 64n

/** The height at and below which nothing of a workflow can be mined: it was final before any of it was ordered. Pure. */
export function finalBefore(clearance: Clearance | undefined): bigint {
  if (clearance === undefined) return -1n
  return clearance.finalizedNumber ?? clearance.blockNumber - REORG_BLOCKS_MAX
}

/** Whether what is mined is this attempt as we ordered it, at a price that we offered. The hash may be lost, the digest is not. */
const isOf = (attempt: Attempt, { digest, receipt }: MinedTransaction): boolean =>
  attempt.digest === digest && receipt.effectiveGasPriceWei <= attempt.maxFeePerGasWei

function inclusionOf(slot: Slot, { purpose }: Attempt, { hash, receipt }: MinedTransaction): Inclusion {
  const claimId = openedClaim(receipt)
  return {
    hash,
    purpose,
    blockNumber: receipt.blockNumber,
    blockHash: receipt.blockHash,
    status: receipt.status,
    gasUsed: receipt.gasUsed,
    effectiveGasPriceWei: receipt.effectiveGasPriceWei,
    ...(receipt.dataFeeWei === undefined ? {} : { dataFeeWei: receipt.dataFeeWei }),
    tokens: loggedChanges(receipt.logs, slot.signer),
    ...(claimId === null ? {} : { claimId }),
  }
}

/** A slot that one of its attempts took; one that was signed by a process that died learns its hash here. */
function included(slot: Slot, attempt: Attempt, mined: MinedTransaction, isFinal: boolean): Slot {
  const state = isFinal ? 'final' : 'mined'
  const { inclusion } = slot
  const isKnown = inclusion?.blockHash === mined.receipt.blockHash && inclusion.tokens !== undefined
  if (isKnown) return slot.state === state ? slot : { ...slot, state }
  const attempts = slot.attempts.map((each) => (each === attempt ? { ...each, hash: mined.hash } : each))
  return { ...reopened(slot), attempts, state, inclusion: inclusionOf(slot, attempt, mined) }
}

/** Whether a slot has its end and all that concluding it needs. Pure. */
export const isSettled = (slot: Slot): boolean =>
  slot.state === 'final' && (slot.consumedByOther === true || slot.inclusion?.tokens !== undefined)

/**
 * Say where a slot stands by what the chain has at its nonce. A block that is not final is provisional: when it goes, the
 * slot is open again. Absence ends nothing, neither of a receipt nor of a node: only a final transaction at the nonce
 * whose digest is none of ours says that another took it. Pure.
 * @param below what was final when the workflow was cleared (`finalBefore`): a transaction at or below it is none of ours.
 * @returns the same object when nothing changed.
 */
export function follow(slot: Slot, facts: SignerFacts, below: bigint): Slot {
  const { inclusion } = slot
  // Finality that broke is no end: what was in those blocks is looked at again.
  const isTheirs = slot.consumedByOther === true
  const isShaken =
    facts.forkedFrom !== null &&
    (isTheirs || (inclusion !== undefined && inclusion.blockNumber >= facts.forkedFrom))
  if (isSettled(slot) && !isShaken) return slot
  const mined = facts.minedAt(slot.nonce)
  if (mined === undefined) return slot
  if (mined === null) {
    // Above the head nothing is known: nodes that lag, or a chain that went back, show another block when they grow.
    const isGone = isTheirs || (inclusion !== undefined && inclusion.blockNumber <= facts.head.number)
    return isGone && (slot.state !== 'final' || isShaken) ? reopened(slot) : slot
  }
  const isFinal = mined.receipt.blockNumber <= facts.finalized
  const attempt = slot.attempts.find((each) => isOf(each, mined))
  const mayBe =
    mined.receipt.blockNumber > below || mined.receipt.blockNumber >= (facts.forkedFrom ?? below + 1n)
  if (attempt !== undefined && mayBe) return included(slot, attempt, mined, isFinal)
  // Our own digest at a price or in a block that cannot be: no evidence of anything.
  if (slot.attempts.some(({ digest }) => digest === mined.digest)) return slot
  if (isFinal) return isTheirs ? slot : { ...reopened(slot), state: 'final', consumedByOther: true }
  return inclusion === undefined ? slot : reopened(slot)
}

/** What to look for where the chain is past a slot's nonce and what took it is not known. Pure. */
export function soughtFor(
  slot: Slot,
  below: bigint,
  { forkedFrom }: Pick<SignerFacts, 'forkedFrom'>,
): PassedNonce {
  // What was final when the nonce was free may be gone, and the nonce taken further down.
  const since = forkedFrom !== null && forkedFrom <= below ? forkedFrom - 1n : below
  return {
    signer: slot.signer,
    nonce: slot.nonce,
    hashes: slot.attempts.flatMap(({ hash }) => hash ?? []),
    sinceBlock: since < 0n ? 0n : since,
  }
}

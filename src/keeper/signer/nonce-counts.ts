import type { Address } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import type { Journal } from '../../journal/journal.ts'
import { slotAt } from '../../workflow/slot.ts'

/** What the chain counts of a signer, and what the journal does. */
export type NonceCounts = {
  readonly finalized: number
  readonly latest: number
  readonly pending: number
  readonly finalizedNumber: bigint
  readonly headNumber: bigint
  /** The journal's next nonce. */
  readonly next: number
  /** Nonces below it, from the chain's turn on, that nobody holds. */
  readonly unheld: readonly number[]
  /** Nonces from the journal's next on that others have something pending for; empty once any of it has landed. */
  readonly contested: readonly number[]
  /** Nonces that the journal holds final and the chain does not. */
  readonly ahead: readonly number[]
}

/** What reading how a signer stands needs. */
export type NonceCountsDeps = {
  readonly nodes: Pick<Nodes, 'chainId' | 'head' | 'finalized' | 'transactionCount'>
  readonly journal: Pick<Journal, 'nextNonce' | 'byNonce'>
}

/** Nonces looked at between what is final and the journal's next. */
const SPAN_MAX = 2_000
/** What nodes keep of one sender. */
const CONTESTED_MAX = 64

/** Read how a signer stands, now; null before the journal has a nonce of it. Throws what the nodes throw. */
export async function readNonceCounts(
  signer: Address,
  { nodes, journal }: NonceCountsDeps,
): Promise<NonceCounts | null> {
  const [head, final] = await Promise.all([nodes.head(), nodes.finalized()])
  const [finalized, latest, pending] = await Promise.all([
    nodes.transactionCount(signer, final.hash),
    nodes.transactionCount(signer, head.hash),
    nodes.transactionCount(signer, 'pending'),
  ])
  // After the counts: what we claim meanwhile is never taken for somebody else's.
  const next = await journal.nextNonce(nodes.chainId, signer)
  if (next === null) return null
  const unheld: number[] = []
  const ahead: number[] = []
  for (let nonce = finalized; nonce < Math.min(next, finalized + SPAN_MAX); nonce += 1) {
    const holder = await journal.byNonce(nodes.chainId, signer, nonce)
    // What ended so long ago that its record is elsewhere had it final.
    const isEnded = holder === 'archived'
    const slot = isEnded ? undefined : slotAt(holder, signer, nonce)
    if (!isEnded && slot === undefined && nonce >= latest) unheld.push(nonce)
    if (isEnded || slot?.state === 'final') ahead.push(nonce)
  }
  const above = latest > next ? 0 : Math.min(pending - next, CONTESTED_MAX)
  const contested = Array.from({ length: Math.max(0, above) }, (_, index) => next + index)
  const held = { next, unheld, contested, ahead }
  return { finalized, latest, pending, finalizedNumber: final.number, headNumber: head.number, ...held }
}

/** Whether nothing is held from the first unheld nonce on: then the next nonce is too high, and nothing has to be filled. Pure. */
export const isTrailing = ({ unheld, next }: NonceCounts): boolean => {
  const [first] = unheld
  return first !== undefined && unheld.length === Math.min(next - first, SPAN_MAX)
}

/** Write down every count, for people. Pure. */
export const counts = ({ finalized, latest, pending, next, headNumber, finalizedNumber }: NonceCounts) =>
  `the chain counts ${latest} at block ${headNumber}, ${finalized} at the final block ${finalizedNumber} and ${pending} pending; the journal's next nonce is ${next}`

import { invariant } from '../errors.ts'
import type { Attempt, Slot } from '../workflow/slot.ts'
import type { LedgerEntry } from './journal.ts'

/** Make the ledger's row of an attempt. Pure. */
export const entryOf = (
  { signer, nonce }: Pick<Slot, 'signer' | 'nonce'>,
  { digest, orderedAtMs: atMs }: Pick<Attempt, 'digest' | 'orderedAtMs'>,
  workflowId: string,
): LedgerEntry => ({ digest, kind: 'transaction', signer, workflowId, nonce, atMs })

/** Where it is kept which workflow a request of the service's is for. Pure. */
export const requestKey = (requestId: string): string => `request:${requestId}`

/** Prove that the ledger has a digest for what it is to be signed for. Throws BrokenInvariant when not. */
export function proveEntered(wanted: LedgerEntry, entry: LedgerEntry | null): void {
  const isSame =
    entry?.kind === wanted.kind &&
    entry.signer.toLowerCase() === wanted.signer.toLowerCase() &&
    entry.workflowId === wanted.workflowId &&
    entry.nonce === wanted.nonce
  invariant(isSame, `the ledger does not hold the digest ${wanted.digest} for what is to be signed`)
}

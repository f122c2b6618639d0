import type { Attempt, Slot } from '../workflow/slot.ts'
import type { LedgerEntry } from './journal.ts'

/** Make the ledger's row of an attempt. Pure. */
export const entryOf = (
  { signer, nonce }: Pick<Slot, 'signer' | 'nonce'>,
  { digest, orderedAtMs: atMs }: Pick<Attempt, 'digest' | 'orderedAtMs'>,
  workflowId: string,
): LedgerEntry => ({ digest, kind: 'transaction', signer, workflowId, nonce, atMs })

import type { LedgerEntry } from '../journal.ts'
import { decodeRecord, encodeRecord } from '../records.ts'

/** Write an entry of the ledger: when it was entered, then what it is for, which is never another. Pure. */
export function encodeEntry({ kind, signer, workflowId, nonce, atMs }: LedgerEntry): string {
  return `${atMs} ${encodeRecord({ kind, signer: signer.toLowerCase(), workflowId, nonce })}`
}

/** Read an entry that {@link encodeEntry} wrote. Pure. */
export function decodeEntry(digest: LedgerEntry['digest'], text: string): LedgerEntry {
  const cut = text.indexOf(' ')
  const content = decodeRecord<Omit<LedgerEntry, 'digest' | 'atMs'>>(text.slice(cut + 1))
  return { digest, ...content, atMs: Number(text.slice(0, cut)) }
}

import type { Hex } from 'viem'
import type { LedgerEntry } from '../../journal.ts'
import { decodeRecord, encodeRecord } from '../../sqlite/records.ts'

/** Write an entry of the ledger: when it was entered, then what it is for, which is never another. Pure. */
export function encodeEntry({ kind, signer, workflowId, nonce, atMs }: LedgerEntry): string {
  return `${atMs} ${encodeRecord({ kind, signer: signer.toLowerCase(), workflowId, nonce })}`
}

/** Read an entry that {@link encodeEntry} wrote. Pure. */
function decodeEntry(digest: LedgerEntry['digest'], text: string): LedgerEntry {
  const cut = text.indexOf(' ')
  const content = decodeRecord<Omit<LedgerEntry, 'digest' | 'atMs'>>(text.slice(cut + 1))
  return { digest, ...content, atMs: Number(text.slice(0, cut)) }
}

/** The ledger's fields that a key's entry may be in: under the digest alone, or beside that of a key which had it first. Pure. */
export const fieldsOf = ({ digest, signer }: Pick<LedgerEntry, 'digest' | 'signer'>): readonly string[] => [
  digest,
  `${digest}:${signer.toLowerCase()}`,
]

/** Find a key's entry in what those fields hold; null where it has none. Pure. */
export function entryAmong(
  { digest, signer }: { readonly digest: Hex; readonly signer: string },
  texts: readonly string[],
): LedgerEntry | null {
  const entries = texts.flatMap((text) => (text === '' ? [] : [decodeEntry(digest, text)]))
  return entries.find((entry) => entry.signer === signer.toLowerCase()) ?? null
}

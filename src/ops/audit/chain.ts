import { createHash } from 'node:crypto'

/** Where a chain of records ends: the number of its last record, and that record's hash. */
export type Head = { readonly seq: number; readonly hash: string }

/** Write a head as people note it, and as `rolekeeper audit verify --head` takes it. Pure. */
export const headText = ({ seq, hash }: Head): string => `${seq}:${hash}`

/** Before the first record. */
export const GENESIS: Head = { seq: 0, hash: '0'.repeat(64) }

/** What a record says; JSON. `kind` says what of. */
export type AuditRecord = {
  readonly seq: number
  /** ISO 8601. */
  readonly at: string
  readonly kind: string
  readonly [fact: string]: unknown
}

const HASH_LENGTH = 64

/** The hash of a record: of the hash before it and its exact text. Pure. */
const hashOf = (before: string, text: string) =>
  createHash('sha256').update(`${before} ${text}`).digest('hex')

/** Write a record behind a head, as a line. Pure. */
export function lineAfter(
  { seq, hash }: Head,
  record: Omit<AuditRecord, 'seq'>,
): { readonly line: string; readonly head: Head } {
  const text = JSON.stringify({ seq: seq + 1, ...record })
  const next = hashOf(hash, text)
  return { line: `${next} ${text}\n`, head: { seq: seq + 1, hash: next } }
}

/** A line as it stands: what it says, the hash that it states, and whether that is the hash of it behind `before`. */
export type Line = { readonly record: AuditRecord | null; readonly stated: string; readonly fits: boolean }

/** Read a line without its line end. Pure. */
export function readLine(line: string, before: string): Line {
  const stated = line.slice(0, HASH_LENGTH)
  const text = line.slice(HASH_LENGTH + 1)
  const fits = line[HASH_LENGTH] === ' ' && stated === hashOf(before, text)
  return { record: recordIn(text), stated, fits }
}

function recordIn(text: string): AuditRecord | null {
  try {
    const record: unknown = JSON.parse(text)
    const isRecord =
      record !== null && typeof record === 'object' && 'seq' in record && Number.isSafeInteger(record.seq)
    return isRecord ? (record as AuditRecord) : null
  } catch {
    return null
  }
}

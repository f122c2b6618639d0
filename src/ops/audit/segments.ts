import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file of records; its name has the number of its first one. */
export type Segment = { readonly path: string; readonly name: string; readonly first: number }

/** Where the audit of a keeper's directory is. */
export const auditFolder = (directory: string) => join(directory, 'audit')

/** Name the segment that begins with a record. Pure. */
export const segmentName = (first: number) => `${String(first).padStart(12, '0')}.log`

/** List the segments of a folder, the oldest first; none where there is no folder. */
export function segmentsIn(folder: string): readonly Segment[] {
  let names: readonly string[]
  try {
    names = readdirSync(folder)
  } catch {
    return []
  }
  return names
    .filter((name) => /^\d{12}\.log$/.test(name))
    .toSorted()
    .map((name) => ({ name, path: join(folder, name), first: Number(name.slice(0, 12)) }))
}

/** Read a segment: its whole lines, how many bytes they are, and how many follow that are no whole line. */
export function readSegment({ path }: Segment): {
  readonly lines: readonly string[]
  readonly bytes: number
  readonly cut: number
} {
  const content = readFileSync(path)
  const bytes = content.lastIndexOf('\n') + 1
  // A byte that is no text stays apart from every other one that is none.
  const lines = content.subarray(0, bytes).toString('latin1').split('\n').slice(0, -1).map(fromBytes)
  return { lines, bytes, cut: content.length - bytes }
}

/** What is no UTF-8 is left as its bytes: a replacement character would hide which. */
function fromBytes(bytes: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return bytes
  }
}

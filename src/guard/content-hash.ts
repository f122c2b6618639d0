import { createHash } from 'node:crypto'

/** Name a value by its content alone: sha256 over JSON with sorted keys, 64 hex digits. Pure. */
export const contentHash = (value: unknown): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex')

function canonicalJson(value: unknown): string {
  if (typeof value === 'bigint') return `"${value}n"`
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
}

/** Write a value with sorted keys, so that the same content always has the same hash. Pure. */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'bigint') return `"${value}n"`
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
}

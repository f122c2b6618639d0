/** Return the median, of an even number the mean of the middle two rounded down; null of none. Pure. */
export function median(values: readonly bigint[]): bigint | null {
  const sorted = values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const half = Math.floor(sorted.length / 2)
  const [upper, lower] = [sorted[half], sorted[half - 1]]
  if (upper === undefined) return null
  return sorted.length % 2 === 1 || lower === undefined ? upper : (upper + lower) / 2n
}

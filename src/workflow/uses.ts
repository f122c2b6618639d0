/**
 * What a workflow's calls are about: `market 0x…`, `counterparty 0x…`, `function NAME`, each once for every call that is. A
 * kind without a name is about something that is not known.
 */
export type Uses = readonly string[]

/** How much moved in workflows whose calls are about one thing, millionths of a dollar, and how many such calls there were. */
export type UseTotals = { readonly usdMicros: bigint; readonly calls: number }

/** What one workflow used, or what those of a minute did, already added up. */
type Using = {
  readonly usdMicros: bigint
  readonly uses?: Uses
  readonly used?: ReadonlyMap<string, UseTotals>
}

/** What was used, by each use; an empty one is of what is not known at all. Pure. */
export function usedBy({ used, uses = [''], usdMicros }: Using): ReadonlyMap<string, UseTotals> {
  if (used !== undefined) return used
  const found = new Map<string, UseTotals>()
  for (const use of uses) found.set(use, { usdMicros, calls: (found.get(use)?.calls ?? 0) + 1 })
  return found
}

/** Add what one more workflow used to a sum, in place, or with a sign of -1 take it away. */
export function addUsed(sum: Map<string, UseTotals>, row: Using, sign: 1n | -1n): void {
  for (const [use, { usdMicros, calls }] of usedBy(row)) {
    const known = sum.get(use) ?? { usdMicros: 0n, calls: 0 }
    const left = { usdMicros: known.usdMicros + sign * usdMicros, calls: known.calls + Number(sign) * calls }
    if (left.calls === 0) sum.delete(use)
    else sum.set(use, left)
  }
}

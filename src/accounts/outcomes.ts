import type { Address } from 'viem'
import type { Recovered } from '../../agents/protocol/experience.ts'
import type { ExpectedOfLot, Page, RecordedCase } from '../journal/sqlite/accounts.ts'
import { earnedOf } from './earned.ts'
import { type Entry, entriesOf, MARKED_AFTER_MS } from './entries.ts'
import { isMoved, type LinkedWorkflow, netOf, neverPaid, type Thread, threadsOf } from './link-workflows.ts'
import { moneyAt } from './period.ts'

/**
 * Say what became of what was expected, in the order in which it was decided: lost where all that was paid came back and an hour
 * passed, or where others were first; won where what was to come did, and is marked an hour later, or where it was paid for
 * and never came, and is worth nothing. Pure.
 * @param pages of one signer, oldest first.
 * @param workflows that their lines belong to.
 * @param worked pages of the vaults that it moves, from the first move on that is to be decided, oldest first.
 * @returns also what of the pages belongs to what is not decided yet.
 */
export function outcomesOf(
  pages: readonly Page[],
  workflows: ReadonlyMap<string, LinkedWorkflow>,
  worked: ReadonlyMap<Address, readonly Page[]> = new Map(),
): { readonly decided: readonly RecordedCase[]; readonly undecided: readonly Page[] } {
  const threads = threadsOf(entriesOf(pages.map((page) => ({ page }))), workflows)
  const lost = neverPaid(threads, pages.at(-1))
  const decided: RecordedCase[] = []
  const open = new Set<Entry['line']>()
  for (const thread of threads) {
    const earned = earnedOf(thread, worked)
    if (earned === 'nothing') continue
    const outcome = earned ?? outcomeOf(thread, pages, lost.has(thread))
    if (outcome !== null) decided.push(outcome)
    else if (mayCome(thread)) for (const { line } of thread.entries) open.add(line)
  }
  return {
    decided: decided.toSorted((one, other) => one.atMs - other.atMs),
    undecided: pages
      .map((page) => ({ ...page, lines: page.lines.filter((line) => open.has(line)) }))
      .filter(({ lines }) => lines.length > 0)
      .map((page) => ({ ...page, closing: [] })),
  }
}

/** Say the same of what was bought for others, by the last that was said of each lot. Pure. */
export const recoveriesOf = (
  recovered: readonly Recovered[],
  lots: readonly ExpectedOfLot[],
): readonly (RecordedCase & { readonly lot: string })[] =>
  recovered.flatMap(({ lot, paidUsdMicros, cameUsdMicros, atMs }) => {
    const expected = lots.find((each) => each.lot === lot)?.said
    if (expected === undefined || expected.markUsdMicros <= 0n) return []
    if (cameUsdMicros === null) return { lot, of: expected.of, came: null, netUsd: 0, atMs }
    const part = (usdMicros: bigint) => Number(usdMicros) / Number(expected.markUsdMicros)
    const error = part(cameUsdMicros - expected.worthUsdMicros)
    const net = cameUsdMicros - paidUsdMicros
    return { lot, of: expected.of, came: { error, gain: part(net) }, netUsd: dollars(net), atMs }
  })

const dollars = (usdMicros: bigint) => Number(usdMicros) / 1e6

/** Whether anything may still be learned of it: what only cost gas, and is over, brings nothing any more. */
const mayCome = ({ entries, linked }: Thread): boolean =>
  linked.some(({ isOver }) => !isOver) ||
  linked.some(({ said: expected }) => expected?.earns !== undefined) ||
  (linked.some(({ said: expected }) => expected?.brings !== undefined) && entries.some(isMoved))

function outcomeOf(
  { entries, linked }: Thread,
  pages: readonly Page[],
  isLost: boolean,
): RecordedCase | null {
  const expected = linked.findLast((each) => each.said !== undefined)?.said
  if (expected?.brings === undefined) return null
  const { of, brings, worthUsdMicros, markUsdMicros } = expected
  const moved = entries.filter(isMoved)
  const arrivals = moved.filter(({ line }) => line.token === brings.token && line.assets > 0n)
  // What was lost may be tried again as long as what came waits to be marked.
  const settledOn = (atMs: number) => pages.find(({ to }) => to.atMs >= atMs + MARKED_AFTER_MS)
  const spent = dollars(entries.reduce((sum, { usdMicros }) => sum + usdMicros, 0n))
  const lastMs = Math.max(...(moved.length === 0 ? entries : moved).map(({ page }) => page.to.atMs))
  const asLost = { of, came: null, netUsd: spent, atMs: lastMs }
  const asVoid = { ...asLost, isVoid: true } as const
  if (moved.length === 0) {
    if (linked.some(({ isRaceLost }) => isRaceLost)) return asLost
    return linked.every(({ hasFailed }) => hasFailed) ? asVoid : null
  }
  if ((arrivals.length > 0 || isLost) && markUsdMicros > 0n) {
    const markedOn = isLost ? pages.at(-1) : settledOn(Math.max(...arrivals.map(({ page }) => page.to.atMs)))
    if (markedOn === undefined) return null
    const worth = arrivals.reduce((sum, { line }) => sum + moneyAt(markedOn, line), 0n)
    const paid = entries
      .filter((entry) => !arrivals.includes(entry))
      .reduce((sum, each) => sum + each.usdMicros, 0n)
    const part = (usdMicros: bigint) => Number(usdMicros) / Number(markUsdMicros)
    return {
      of,
      came: { error: part(worth - worthUsdMicros), gain: part(worth + paid) },
      netUsd: dollars(worth + paid),
      atMs: markedOn.to.atMs,
    }
  }
  if (netOf(moved).length > 0 || settledOn(lastMs) === undefined) return null
  const last = linked.findLast(
    ({ said: expected, isTakenBack, hasFailed }) => isTakenBack || (expected !== undefined && !hasFailed),
  )
  return last?.isTakenBack ? asVoid : asLost
}

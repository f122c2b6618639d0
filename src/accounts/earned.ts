import type { Address } from 'viem'
import { WAD } from '../guard/sanity/units.ts'
import type { Page, RecordedCase } from '../journal/sqlite/accounts.ts'
import type { ExpectedGain } from '../workflow/proposal.ts'
import { type Entry, entriesOf } from './entries.ts'
import { isMoved, type Thread } from './link-workflows.ts'
import { moneyAt } from './period.ts'

type ExpectedEarnings = ExpectedGain & Required<Pick<ExpectedGain, 'earns'>>

/**
 * Say what became of a vault's move once so long passed as it was said for: what it earned more than standing still, by the
 * vault's own pages. Pure.
 * @param worked pages of each vault, oldest first.
 * @returns null before that, and `nothing` where nothing of the vault's moved.
 */
export function earnedOf(
  { entries, linked }: Thread,
  worked: ReadonlyMap<Address, readonly Page[]>,
): RecordedCase | 'nothing' | null {
  const expected = linked.findLast((each) => each.said !== undefined)?.said
  const [first] = entries
  if (expected?.earns === undefined || first === undefined) return null
  const { of, earns } = expected
  const pages = (worked.get(earns.vault) ?? []).filter(({ to }) => to.number >= first.line.blockNumber)
  const hashes = new Set(entries.map(({ line }) => line.hash))
  const moved = entriesOf(pages.map((page) => ({ page }))).filter(
    (entry) => isMoved(entry) && hashes.has(entry.line.hash),
  )
  const last = moved.at(-1)?.page
  if (last === undefined) return pages.length === 0 ? null : 'nothing'
  const since = pages.slice(pages.findIndex(({ to }) => to.hash === last.to.hash))
  const end = since.findIndex(({ to }) => to.atMs >= last.to.atMs + earns.forS * 1_000)
  const then = since[end]
  if (then === undefined) return null
  const earned = earnedMore(moved, since.slice(0, end + 1), then)
  const seconds = (then.to.atMs - last.to.atMs) / 1_000
  const gas = entries.filter((entry) => !isMoved(entry)).reduce((sum, { usdMicros }) => sum + usdMicros, 0n)
  const actual = actualOf({ ...expected, earns }, earned, seconds)
  return { of, came: actual, netUsd: Number(earned + gas) / 1e6, atMs: then.to.atMs }
}

/**
 * Compare what a move earned in so many seconds with what was expected, in parts of the mark. Pure. One market that went mad is no more
 * than one move that came to nothing.
 */
export function actualOf(
  { earns, worthUsdMicros, markUsdMicros }: ExpectedEarnings,
  earnedUsdMicros: bigint,
  seconds: number,
): NonNullable<RecordedCase['came']> {
  const mark = (Number(markUsdMicros) * seconds) / earns.forS
  const gain = Number(earnedUsdMicros) / mark
  const error = gain - Number(worthUsdMicros) / Number(markUsdMicros)
  return { error: Math.max(-1, Math.min(1, error)), gain }
}

/**
 * What a vault's moves earned over pages, less what the same would have earned where it was: by what the vault's own
 * loans in each market grew by, and where it has none left there, or most is new, by what the market pays. What is idle earns
 * nothing. Pure.
 */
export const earnedMore = (entries: readonly Entry[], pages: readonly Page[], then: Page): bigint =>
  entries.reduce((sum, { line: { token, assets, counterparty } }) => {
    const grown = (-assets * growthWad(counterparty, pages)) / WAD
    return sum + moneyAt(then, { token, assets: grown })
  }, 0n)

/** Of a smaller loan, base units, rounding is too large a part. */
const LOAN_MIN = 10n ** 8n

/** By what a vault's loans in a market grew from page to page, without what was lent and taken back; a wad. */
function growthWad(market: Address | null, pages: readonly Page[]): bigint {
  return pages.slice(1).reduce((sum, page, index) => {
    const before = pages[index]
    const [was, is] = [before, page].map((each) => each?.lent?.find((one) => one.market === market))
    if (before === undefined || was === undefined || is === undefined) return sum
    const lent = page.lines.reduce(
      (all, line) => (line.counterparty === market ? all - line.assets : all),
      0n,
    )
    // Where more was lent meanwhile than was there, most of what it grew by was earned by that.
    if (was.assets >= LOAN_MIN && lent <= was.assets)
      return sum + ((is.assets - was.assets - lent) * WAD) / was.assets
    const seconds = BigInt((page.to.atMs - before.to.atMs) / 1_000)
    return sum + ((was.ratePerSecondWad + is.ratePerSecondWad) * seconds) / 2n
  }, 0n)
}

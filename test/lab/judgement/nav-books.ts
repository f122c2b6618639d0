import { NOW_S, WAD } from '../../agents/nav-reporter/fixtures.ts'
import type { Dice } from './dice.ts'

export const DAY_S = 86_400
/** The first valuation time. */
export const START_S = Math.ceil(NOW_S / DAY_S) * DAY_S
/** The finest that every source can say: six decimals. */
export const GRAIN = 10n ** 12n

/** What a fund owes on: the value up to which nothing is owed, and since when the preferred return counts. */
export type Mark = { readonly valueWad: bigint; readonly sinceS: number }

/** What is really so, at any time of a world; values are wads of one share. */
export type Books = {
  readonly beforeFees: (atS: number) => bigint
  readonly mark: (atS: number) => Mark
  /** What a report of a time has to say. */
  readonly net: (atS: number) => bigint
}

/** How a fund goes: volatility a year in parts of one; it moves every minute, or by the hour at half past. */
export type Course = {
  readonly days: number
  readonly volatility: number
  readonly byTheHour: boolean
  /** The chance that fees are paid out in a day. */
  readonly crystallises: number
  /** Of the start. */
  readonly mark: Mark
}

const YEAR_S = 365 * DAY_S
const floored = (wad: bigint) => (wad / GRAIN) * GRAIN

/** The fees of one share: a tenth above the mark, and a fifth of what then lies above eight percent a year on it. */
function feesOf(valueWad: bigint, { valueWad: markWad, sinceS }: Mark, atS: number): bigint {
  const gain = valueWad > markWad ? valueWad - markWad : 0n
  const fee = gain / 10n
  const rest = gain - fee - (markWad * 8n * BigInt(atS - sinceS)) / (100n * BigInt(YEAR_S))
  return fee + (rest > 0n ? rest / 5n : 0n)
}

/** Draw how a fund goes from a day before the first valuation time to a day after the last, and what it pays out. */
export function createBooks({ days, volatility, byTheHour, crystallises, mark }: Course, dice: Dice): Books {
  const beginS = START_S - 2 * DAY_S
  const stepS = byTheHour ? 3_600 : 60
  const steps = Math.ceil(((days + 4) * DAY_S) / stepS)
  const deviation = volatility * Math.sqrt(stepS / YEAR_S)
  const path = [1 + 0.3 * dice.unit()]
  for (let step = 1; step <= steps; step += 1) {
    path.push((path[step - 1] ?? 1) * Math.exp(deviation * dice.normal()))
  }
  const gross = (atS: number): bigint => {
    const along = (atS - beginS - (byTheHour ? 1_800 : 0)) / stepS
    const [from = 1, to = from] = path.slice(Math.floor(along), Math.floor(along) + 2)
    const value = byTheHour ? from : from + (to - from) * (along % 1)
    return BigInt(Math.round(value * 1e12)) * 1_000_000n
  }
  // Each payment, with what a share was still worth after all of them of what it had been without.
  const paid: (Mark & { readonly leftWad: bigint })[] = [{ ...mark, leftWad: WAD }]
  const latest = (atS: number) => paid.findLast(({ sinceS }) => sinceS <= atS) ?? { ...mark, leftWad: WAD }
  const beforeFees = (atS: number) => floored((gross(atS) * latest(atS).leftWad) / WAD)
  const net = (atS: number) => beforeFees(atS) - feesOf(beforeFees(atS), latest(atS), atS)
  for (let day = 0; day < days; day += 1) {
    if (dice.unit() >= crystallises) continue
    // Half of them close to a valuation time.
    const aroundS = dice.unit() < 0.5 ? 60 : DAY_S
    const atS = START_S + day * DAY_S + Math.round((dice.unit() - 0.5) * aroundS)
    const [before, left] = [latest(atS), (latest(atS).leftWad * net(atS)) / beforeFees(atS)]
    if (atS <= before.sinceS || net(atS) === beforeFees(atS)) continue
    paid.push({ valueWad: floored((gross(atS) * left) / WAD), sinceS: atS, leftWad: left })
  }
  return { beforeFees, mark: latest, net }
}

import type { FundResource } from '../../src/service/contract/fund-resources.ts'
import type { Stop } from '../agent.ts'
import { BPS, tokenUnit } from '../protocol/health.ts'

/** What a fund's value is made of, base units of its quote asset, and its shares, base units of them. */
export type FundParts = {
  readonly idleAssets: bigint
  /** All lanes, after their haircuts. */
  readonly holdingsAssets: bigint
  readonly supply: bigint
}

/** What makes a sum of base units a value of one whole share. */
export type Scale = {
  readonly shareDecimals: number
  readonly quoteDecimals: number
  /** Of the value. */
  readonly decimals: number
}

/** Fees that a fund's investors owe but have not paid; rates as the fund's terms state them. */
export type FeeTerms = {
  readonly performanceFeeBps: bigint
  readonly carryRateBps: bigint
  readonly preferredReturnBps: bigint
  /** Value of one share, before fees, up to which nothing is owed. */
  readonly highWaterValue: bigint
  /** Since when the preferred return counts, Unix seconds. */
  readonly accruesSinceS: number
}

const YEAR_S = 365n * 86_400n
const SOLD = 'disposed'
const HELD: readonly string[] = ['held', 'listed']

const stop = (check: string, message: string): Stop => ({ check, message })

/**
 * Build up what a fund is made of, from the service's row and our own reading of its idle quote assets. Pure.
 * @param haircutBps what each lane's recovery value is cut by; a lane that is not here is not known.
 * @returns the parts, or the first thing that is not known: `holdings_incomplete`, `holding_not_known`,
 *   `lane_not_known`, `supply_not_known` or `fund_without_shares`.
 */
export function buildUp(
  fund: FundResource,
  idleAssets: bigint,
  haircutBps: ReadonlyMap<string, bigint>,
): FundParts | Stop {
  const alive = (fund.holdings ?? []).filter(({ holdingStatus }) => holdingStatus !== SOLD)
  if (fund.holdings == null || fund.totalHoldings !== alive.length) {
    const message = `The service shows ${alive.length} holdings and counts ${fund.totalHoldings ?? 'none'}.`
    return stop('holdings_incomplete', message)
  }
  let holdingsAssets = 0n
  for (const { id, assetLane, holdingStatus, claimableAssets, recoveryValueAssets } of alive) {
    const haircut = haircutBps.get(assetLane)
    if (haircut === undefined) {
      return stop('lane_not_known', `Holding ${id} lies in a lane that the policy's haircutBps do not list.`)
    }
    if (!HELD.includes(holdingStatus) || claimableAssets == null || recoveryValueAssets == null) {
      return stop('holding_not_known', `The service does not say what holding ${id} is worth.`)
    }
    // Nothing can be recovered from what nothing can be claimed of.
    const worth = BigInt(claimableAssets) === 0n ? 0n : BigInt(recoveryValueAssets)
    holdingsAssets += (worth * (BPS - haircut)) / BPS
  }
  if (fund.totalSupply == null)
    return stop('supply_not_known', 'The service does not say how many shares the fund has.')
  const supply = BigInt(fund.totalSupply)
  if (supply === 0n) return stop('fund_without_shares', 'The fund has no shares to value.')
  return { idleAssets, holdingsAssets, supply }
}

/** Return what assets (base units of the quote asset) are worth for each of `supply` shares, rounded down. Pure. */
const perShare = (assets: bigint, supply: bigint, scale: Scale): bigint =>
  (assets * tokenUnit(scale.shareDecimals) * tokenUnit(scale.decimals)) /
  (supply * tokenUnit(scale.quoteDecimals))

/** Return the value of one share before fees, by what the fund is made of. Pure. */
export const builtValue = (parts: FundParts, scale: Scale): bigint =>
  perShare(parts.idleAssets + parts.holdingsAssets, parts.supply, scale)

/**
 * Return the performance fee and the carry that one share owes, in the units of its value. Pure. The performance fee is
 * a part of what the value lies above the high-water mark; carry is a part of what then is left above the preferred
 * return (simple interest on the mark).
 */
export function accruedFees(
  value: bigint,
  terms: FeeTerms,
  atS: number,
): { readonly performance: bigint; readonly carry: bigint } {
  const { highWaterValue, performanceFeeBps, preferredReturnBps, carryRateBps } = terms
  const profit = value > highWaterValue ? value - highWaterValue : 0n
  const performance = (profit * performanceFeeBps) / BPS
  const elapsedS = BigInt(Math.max(0, atS - terms.accruesSinceS))
  const preferred = (highWaterValue * preferredReturnBps * elapsedS) / (BPS * YEAR_S)
  const left = profit - performance - preferred
  return { performance, carry: left > 0n ? (left * carryRateBps) / BPS : 0n }
}

/** The way from one reported value to the next, in the units of the value; the steps sum to the difference exactly. */
export type Bridge = {
  readonly idle: bigint
  readonly holdings: bigint
  readonly fees: bigint
  readonly units: bigint
  readonly other: bigint
}

/** A value that was or will be reported, and what it was made of as far as is known. */
export type Valued = { readonly value: bigint; readonly fees: bigint; readonly parts: FundParts }

/**
 * Lay the bridge from one value to the next: idle money, holdings, accrued fees, then the number of shares. What is
 * left is `other`: rounding, and how far the sources agreed on something else than the sum of the parts. Pure.
 */
export function bridgeOf(from: Valued, to: Valued, scale: Scale): Bridge {
  const worth = (assets: bigint, supply: bigint) => perShare(assets, supply, scale)
  const assets = to.parts.idleAssets + to.parts.holdingsAssets
  const idle = worth(to.parts.idleAssets - from.parts.idleAssets, from.parts.supply)
  const holdings = worth(to.parts.holdingsAssets - from.parts.holdingsAssets, from.parts.supply)
  const fees = from.fees - to.fees
  const units = worth(assets, to.parts.supply) - worth(assets, from.parts.supply)
  return { idle, holdings, fees, units, other: to.value - from.value - idle - holdings - fees - units }
}

import { type Address, zeroAddress } from 'viem'
import { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../errors.ts'
import { bps, count } from '../../service/contract/yaml-scalars.ts'
import { asAddress, asUint } from '../policy/values.ts'
import {
  flagView,
  fundAssetsView,
  impairmentView,
  type LotRead,
  lotView,
  managerView,
} from './asset-manager-views.ts'
import { type About, type Judgement, unread } from './judgement.ts'
import { checkDecided, checkUsable, priceLimits, priceView } from './price.ts'

export type ManagerLimits = z.output<typeof managerLimits>

const WAD = 10n ** 18n
const BPS = 10_000n

/** A house's lot that takes bids. */
const OPEN_LOT_CODE = 1n

/**
 * Judge a fund's bid by chain reads: the fund is ours and may buy, the lot is open, ours to lead and not ours already,
 * the price fresh and the one decided on, the bid within our share of what the position is worth by our own sum, and
 * afterwards the fund leads with exactly the bid. It shares no arithmetic with the agent.
 */
export function judgeBid(limits: ManagerLimits, { subject, proposal, before, after }: About): Judgement {
  const { fund, self, input, deployment } = subject
  const house = asAddress(input.acquisitionAddress)
  invariant(fund !== null && house !== undefined, 'a bid names its fund and its house')
  // The request's schema was checked before: neither is absent. No lot has the number 0, and no bid is of nothing.
  const lotId = asUint(input.lotId) ?? 0n
  const bid = asUint(input.bidAssets) ?? 0n
  // Who orders by hand decides on no price and names no position; the bid is held to the rest all the same.
  const isOrdered = proposal.kind === 'order'
  const manager = before.ask(managerView(fund.address))
  const flags = (['fundReadinessApproved', 'quoteAssetProfileApproved', 'purchasesEnabled'] as const).map(
    (name) => ({ name, read: before.ask(flagView(fund.address, name)) }),
  )
  const impairment = before.ask(impairmentView(fund.address))
  const net = before.ask(fundAssetsView(fund.address, 'netAssets'))
  const idle = before.ask(fundAssetsView(fund.address, 'idleAssets'))
  const idleAfter = after.ask(fundAssetsView(fund.address, 'idleAssets'))
  const lot = before.ask(lotView(house, lotId))
  const lotAfter = after.ask(lotView(house, lotId))
  // Which market it is, the lot says: every price is read beside it.
  const prices = deployment.markets.map((market) => ({ market, read: before.ask(priceView(market.oracle)) }))

  function position(timestampS: number): Refusal | null {
    const found = lot()
    if (found === null) return unread('the lot')
    return fundRefusal() ?? lotRefusal(found, timestampS) ?? worthRefusal(found, timestampS)
  }

  function fundRefusal(): Refusal | null {
    const [who, impaired] = [manager(), impairment()]
    if (who === null || impaired === null) return unread('the fund')
    if (who !== self) return refuse('not_manager', `The fund is managed by ${who}.`)
    for (const { name, read } of flags) {
      const value = read()
      if (value === null) return unread(name)
      if (!value) return refuse('fund_closed', `The fund's ${name} is false.`)
    }
    return impaired === 0n ? null : refuse('fund_impaired', `The fund's impairment is ${impaired}.`)
  }

  function lotRefusal(
    { terms, seller, state, bestBidder, bestAssets }: LotRead,
    nowS: number,
  ): Refusal | null {
    if (state !== OPEN_LOT_CODE || terms.closesAt < BigInt(nowS) + limits.closeMarginS) {
      return refuse(
        'lot_closed',
        `The lot is in state ${state} and closes at second ${terms.closesAt}; the next block is at ${nowS}.`,
      )
    }
    if (!isOrdered && terms.positionId !== proposal.lot) {
      return refuse('position_differs', `The lot offers position ${terms.positionId}.`)
    }
    if (terms.quoteAsset !== fund?.quoteAsset) {
      return refuse('quote_asset_differs', `The lot is sold for ${terms.quoteAsset}.`)
    }
    if (bestBidder === fund.address || seller === self || seller === fund.address) {
      return refuse('own_lot', `The lot is led by ${bestBidder} and sold by ${seller}: one of us.`)
    }
    if (bid >= terms.reserveAssets && bid > bestAssets) return null
    const best = bestBidder === zeroAddress ? 'nobody leads' : `${bestBidder} leads with ${bestAssets}`
    return refuse(
      'outbid',
      `The bid is ${bid} base units; the reserve is ${terms.reserveAssets}, and ${best}.`,
    )
  }

  function worthRefusal({ terms }: LotRead, timestampS: number): Refusal | null {
    const place = prices.find(({ market }) => market.address === terms.market)
    if (place === undefined || place.market.collateralAsset !== terms.asset) {
      return refuse(
        'market_not_pinned',
        `Market ${terms.market} with ${terms.asset} is not in the deployment.`,
      )
    }
    const price = place.read()
    if (price === null) return unread('the oracle')
    const refused =
      checkUsable(price, limits.priceAgeSMax, timestampS) ??
      (isOrdered ? null : checkDecided(price, proposal, limits.priceDivergenceBpsMax))
    if (refused !== null) return refused
    const [from, to] = [unitOf(terms.asset), unitOf(terms.quoteAsset)]
    const netAssets = net()
    if (from === null || to === null || netAssets === null) return unread('decimals and net assets')
    const worth = (terms.amount * price.priceWad * to) / (from * WAD)
    if (bid * BPS > worth * limits.priceBpsMax) {
      return refuse(
        'bid_above_worth',
        `The bid is ${bid} base units of ${worth} that the position is worth; the policy allows ${limits.priceBpsMax} basis points.`,
      )
    }
    if (bid * BPS <= netAssets * limits.positionBpsMax) return null
    return refuse(
      'position_too_large',
      `The bid is ${bid} base units of ${netAssets} that the fund is worth; the policy allows ${limits.positionBpsMax} basis points.`,
    )
  }

  const unitOf = (token: Address): bigint | null => {
    const decimals = deployment.assets.find(({ address }) => address === token)?.decimals
    return decimals === undefined ? null : 10n ** BigInt(decimals)
  }

  function outcome(): Refusal | null {
    const [found, had, has] = [lotAfter(), idle(), idleAfter()]
    if (found === null || had === null || has === null) return unread('the lot and the fund afterwards')
    if (found.bestBidder !== fund?.address || found.bestAssets !== bid) {
      return refuse('not_leading', `Afterwards ${found.bestBidder} leads with ${found.bestAssets}.`)
    }
    if (had - has <= bid) return null
    return refuse('fund_overspent', `The fund would spend ${had - has} base units on a bid of ${bid}.`)
  }

  return { checkState: position, checkOutcome: outcome }
}

export const managerLimits = z.strictObject({
  ...priceLimits,
  /** Most of the position's worth, by our own sum, to bid. */
  priceBpsMax: bps(1).transform(BigInt),
  /** Most of the fund's net assets to bid. */
  positionBpsMax: bps(1).transform(BigInt),
  /** What is left before the lot's close, at least. */
  closeMarginS: count('seconds', 0, 86_400).transform(BigInt),
  /** Longest pause of a vault's shares. */
  pauseSecondsMax: count('seconds', 1, 2_592_000).transform(BigInt),
})

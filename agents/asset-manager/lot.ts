import { moment, span } from '../../src/readable.js'
import { HEALTHY_ORACLE_STATE } from '../../src/service/contract/assumptions.ts'
import type { PinnedDeployment } from '../../src/service/contract/deployment.ts'
import type { AcquisitionResource } from '../../src/service/contract/trade-resources.ts'
import type { Moment, Stop } from '../agent.ts'
import { losingOn, losingStop } from '../protocol/experience.ts'
import { BPS, collateralValue } from '../protocol/health.ts'
import { priceStop } from '../protocol/price.ts'
import { assetsText, percent, priceText } from '../protocol/text.ts'
import { capitalCostOf, type Lane, type ManagerPolicy } from './policy.ts'
import type { FundAtLot, LotSeen, ManagerSeen, PricedMarket } from './seen.ts'

/** A lot that may be bid for, with every figure known. Amounts are base units of the quote asset. */
export type OpenLot = {
  readonly row: AcquisitionResource
  readonly lane: Lane
  /** Base units of the position's asset. */
  readonly assetAmount: bigint
  /** At our own reading of its market's oracle. */
  readonly worthAssets: bigint
  readonly priceWad: bigint
  readonly reserveAssets: bigint
  /** 0 without a bid. */
  readonly bestAssets: bigint
  /** Other bidders' funds that bid here so far. */
  readonly rivals: number
  readonly funds: readonly FundAtLot[]
  /** What it is known by, the broadest first: that it is bid for, how and as what it turns into money, who sells it. */
  readonly names: readonly string[]
}

type Seen = Moment & ManagerSeen

/** Name a lot across everything that this keeper bids for: by its position. Pure. */
export const lotOf = ({ positionId }: AcquisitionResource): string => positionId.toLowerCase()

/**
 * Judge whether a lot may be bid for, whichever fund does: open, or the first rule that stops it, by a stable name.
 * Pure. What is not known stops it.
 */
export function judgeLot({ row, house, funds }: LotSeen, seen: Seen, policy: ManagerPolicy): OpenLot | Stop {
  const closed = timeStop(row, seen, policy) ?? partyStop(row, seen)
  if (closed !== null) return closed
  if (house === null) {
    return { check: 'lot_not_read', message: `Our read of lot ${row.lotId} at its house failed.` }
  }
  if (!house.open)
    return { check: 'lot_closed', message: `The house says that lot ${row.lotId} is not open.` }
  const ours = ourFunds(seen)
  if (house.bestFundAddress !== null && ours.has(house.bestFundAddress)) {
    const message = `Our fund ${house.bestFundAddress} leads with ${assetsText(house.bestAssets, row.quoteAssetAddress, seen.deployment)}.`
    return {
      check: 'our_bid_leads',
      message,
      reason: { bestAssets: String(house.bestAssets), quoteAsset: row.quoteAssetAddress },
    }
  }
  if (house.lane !== row.lane) {
    const message = `The service says that the lane is ${row.lane}; its house says ${house.lane}.`
    return { check: 'lane_disputed', message }
  }
  const lane = policy.bidding.lanes[house.lane]
  if (lane === undefined) {
    return { check: 'lane_not_allowed', message: `The policy's lanes do not list ${house.lane}.` }
  }
  const priced = priceOf(row, seen, policy)
  if ('check' in priced) return priced
  const names = namesOf(row, seen)
  const rivals = new Set(row.bids.map((bid) => bid.fundAddress).filter((fund) => !ours.has(fund))).size
  const losing = losingOn(seen.experience, names, rivals, capitalCostOf(lane, policy.bidding))
  if (losing !== null) return losingStop(losing, 'asset-manager')
  return {
    row,
    lane,
    assetAmount: BigInt(row.assetAmount),
    ...priced,
    reserveAssets: BigInt(row.reserveAssets),
    bestAssets: house.bestAssets,
    rivals,
    funds,
    names,
  }
}

/** What of one lane an asset or a seller brings says nothing of another. */
function namesOf({ lane, assetAddress, sellerAddress }: AcquisitionResource, { deployment }: Seen) {
  const asset = deployment.assets.find(({ address }) => address === assetAddress)
  const own = [`asset:${lane}:${asset?.symbol}`, `seller:${lane}:${sellerAddress}`]
  return ['bid', `lane:${lane}`, ...own]
}

/** Funds that a signer of this keeper manages, by the service's rows. */
function ourFunds({ funds, ours }: Seen): ReadonlySet<string> {
  const managed = funds.filter(({ row }) => row.managerAddress != null && ours.includes(row.managerAddress))
  return new Set(managed.map(({ row }) => row.address))
}

function timeStop(row: AcquisitionResource, { chain }: Seen, { bidding }: ManagerPolicy): Stop | null {
  if (row.status !== 'open') return { check: 'lot_closed', message: `The lot is ${row.status}.` }
  const closesAtS = Math.floor(Date.parse(row.closesAt) / 1_000)
  const leftS = closesAtS - chain.timestampS
  if (leftS >= bidding.closeMarginS) return null
  const message = `The lot closes at ${moment(closesAtS)}; the policy bids until ${span(bidding.closeMarginS * 1_000)} before.`
  return { check: 'closes_too_soon', message, reason: { leftS } }
}

/** Whom it would be bought from, where, and who else of this keeper is about it. */
function partyStop(row: AcquisitionResource, seen: Seen): Stop | null {
  const { deployment, ours, colleagues } = seen
  if (!deployment.contracts.some(({ address }) => address === row.acquisitionAddress)) {
    const message = `The house ${row.acquisitionAddress} is not in deployment.contracts.`
    return { check: 'house_not_pinned', message }
  }
  if (ours.includes(row.sellerAddress) || ourFunds(seen).has(row.sellerAddress)) {
    return { check: 'seller_is_ours', message: `The seller ${row.sellerAddress} is one of us.` }
  }
  const colleague = colleagues.find(({ lot }) => lot === lotOf(row))
  if (colleague === undefined) return null
  return { check: 'colleague_bids', message: `The ${colleague.role} is about this position already.` }
}

type Priced = Pick<OpenLot, 'worthAssets' | 'priceWad'>

/** Value the position at its market's price, where every source agrees on it. */
function priceOf(row: AcquisitionResource, seen: Seen, { bidding }: ManagerPolicy): Priced | Stop {
  const pinned = pinnedMarket(row, seen.deployment)
  const market = seen.markets.find((one) => one.row.address === row.marketAddress)
  if (pinned === null || market === undefined) {
    const message = `Market ${row.marketAddress} with ${row.assetAddress} for ${row.quoteAssetAddress} is not pinned, or the service lists none.`
    return { check: 'market_not_pinned', message }
  }
  const { oracle, reference } = market
  const wrong =
    priceStop(oracle, 'oracle', seen, bidding) ?? priceStop(reference, 'second source', seen, bidding)
  if (wrong !== null) return wrong
  if (oracle === null || reference === null || !isHealthy(market)) {
    const message = `The service says that the oracle of ${row.marketAddress} is ${market.row.oracleState}.`
    return { check: 'oracle_not_healthy', message }
  }
  const service = market.row.oracle?.priceWad
  for (const [name, other] of [
    ['service', service == null ? null : BigInt(service)],
    ['second source', reference.priceWad],
  ] as const) {
    if (other !== null && !isApart(other, oracle.priceWad, bidding.priceDivergenceBpsMax)) continue
    const message = `The price of the ${name} is ${other === null ? 'not known' : priceText(other)}, the oracle's ${priceText(oracle.priceWad)}; the policy allows ${percent(BigInt(bidding.priceDivergenceBpsMax))} between them.`
    return { check: 'price_diverges', message }
  }
  const { priceWad } = oracle
  const worthAssets = collateralValue(BigInt(row.assetAmount), { ...pinned, priceWad })
  return { worthAssets, priceWad }
}

const isHealthy = ({ row }: PricedMarket) => row.oracleState === HEALTHY_ORACLE_STATE

/** Whether two figures lie further apart than so many basis points of the second. Pure. */
export function isApart(one: bigint, other: bigint, bps: number): boolean {
  const apart = one > other ? one - other : other - one
  return apart * BPS > other * BigInt(bps)
}

/** The decimals of a lot's asset and quote asset, where its market is pinned with both. */
function pinnedMarket(row: AcquisitionResource, deployment: PinnedDeployment) {
  const market = deployment.markets.find(({ address }) => address === row.marketAddress)
  const decimalsOf = (token: string) =>
    deployment.assets.find(({ address }) => address === token)?.decimals ?? null
  const [loanDecimals, collateralDecimals] = [decimalsOf(row.quoteAssetAddress), decimalsOf(row.assetAddress)]
  const fits = market?.loanAsset === row.quoteAssetAddress && market.collateralAsset === row.assetAddress
  if (!fits || loanDecimals === null || collateralDecimals === null) return null
  return { loanDecimals, collateralDecimals }
}

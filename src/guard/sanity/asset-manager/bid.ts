import { type Address, stringToHex, zeroAddress } from 'viem'
import { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../../errors.ts'
import type { Deployment, PinnedFund } from '../../../service/contract/deployment.ts'
import { bps, nonEmpty, pinnedSymbol, seconds, settings } from '../../../service/contract/yaml-scalars.ts'
import { amountText, percent, time } from '../../../units.ts'
import type { Proposal } from '../../../workflow/proposal.ts'
import { asAddress, asUint } from '../../policy/values.ts'
import { isOurs, type JudgedCase, type Judgement, unread } from '../judgement.ts'
import { checkDecided, checkUsable, priceLimits, priceView } from '../price.ts'
import { askSecondPrice, referenceLimit } from '../second-price.ts'
import { BPS, unitOf, WAD } from '../units.ts'
import {
  concentrationView,
  flagView,
  fundAssetsView,
  impairmentView,
  type LotRead,
  lotView,
  managerView,
} from './views.ts'

/** Members of the asset manager's `guard.sanity` that its bids keep. */
export const bidLimits = {
  ...priceLimits,
  /** By the lane that the house itself says. A lane that is not listed is never bid for. */
  lanes: nonEmpty(
    z.string().regex(/^[\x21-\x7e]{1,32}$/, 'expected the name of a lane'),
    settings({
      /** Most of the position's worth, by our own sum, to bid. */
      priceBpsMax: bps(1).transform(BigInt),
      /** Most of the fund's net assets in bids and holdings of this lane. */
      concentrationBpsMax: bps(1).transform(BigInt),
    }),
    'bid for',
  ),
  /** By symbol. An asset that is not listed is never bid for. */
  assets: nonEmpty(pinnedSymbol, settings(referenceLimit), 'bid for'),
  /** How far above the best bid of others a bid may be, of the position's worth; without one, its reserve is the price. */
  raiseBpsMax: bps().transform(BigInt),
  /** Most of the fund's net assets to bid. */
  positionBpsMax: bps(1).transform(BigInt),
  /** Most of the fund's net assets in bids and holdings of one borrower in a market, and of one market. */
  borrowerBpsMax: bps(1).transform(BigInt),
  marketBpsMax: bps(1).transform(BigInt),
  /** What is left before the lot's close, at least. */
  closeMarginS: seconds(0, 86_400).transform(BigInt),
}
type BidLimits = Readonly<z.output<z.ZodObject<typeof bidLimits>>>

/** A house's lot that takes bids. */
const OPEN_LOT_CODE = 1n

/** What a request bids, on what, and for whom. */
type Bid = {
  readonly fund: PinnedFund
  /** The signer, who must manage the fund. */
  readonly self: Address
  readonly house: Address
  readonly lotId: bigint
  readonly assets: bigint
  readonly proposal: Proposal
  /** Who orders by hand decides on no price and names no position; the bid is held to the rest all the same. */
  readonly isOrdered: boolean
  readonly deployment: Deployment
  /** The fund, the signer, or another of ours. */
  readonly isOurs: (who: Address) => boolean
}

function bidOf({ subject, proposal }: JudgedCase): Bid {
  const { fund, self, input, deployment } = subject
  const house = asAddress(input.acquisitionAddress)
  invariant(fund !== null && house !== undefined, 'a bid names its fund and its house')
  // The request's schema was checked before: neither is absent. No lot has the number 0, and no bid is of nothing.
  const [lotId, assets] = [asUint(input.lotId) ?? 0n, asUint(input.bidAssets) ?? 0n]
  return {
    fund,
    self,
    house,
    lotId,
    assets,
    proposal,
    isOrdered: proposal.kind === 'order',
    deployment,
    isOurs: (who) => isOurs(who, subject),
  }
}

type BidReads = ReturnType<typeof askBid>

function askBid({ fund, house, lotId, deployment }: Bid, { before, after }: JudgedCase) {
  return {
    manager: before.ask(managerView(fund.address)),
    flags: (['fundReadinessApproved', 'quoteAssetProfileApproved', 'purchasesEnabled'] as const).map(
      (name) => ({ name, read: before.ask(flagView(fund.address, name)) }),
    ),
    impairment: before.ask(impairmentView(fund.address)),
    net: before.ask(fundAssetsView(fund.address, 'netAssets')),
    idle: before.ask(fundAssetsView(fund.address, 'idleAssets')),
    idleAfter: after.ask(fundAssetsView(fund.address, 'idleAssets')),
    concentration: after.ask(concentrationView(fund.address, house, lotId)),
    lot: before.ask(lotView(house, lotId)),
    lotAfter: after.ask(lotView(house, lotId)),
    // Which market it is, the lot says: every price is read beside it.
    prices: deployment.markets.map((market) => ({ market, read: before.ask(priceView(market.oracle)) })),
  }
}

/**
 * Judge a fund's bid by chain reads: the fund is ours and may buy, the lot is open, ours to lead and not ours already,
 * the price fresh, borne out by a second source and the one decided on, the bid within our share of what the position is
 * worth by our own sum, and afterwards the fund leads with exactly the bid. It shares no arithmetic with the agent.
 */
export function judgeBid(limits: BidLimits, about: JudgedCase): Judgement {
  const bid = bidOf(about)
  const reads = askBid(bid, about)
  const checkSecond = askSecondPrice(limits, about)
  return {
    checkState: (timestampS) => {
      const lot = reads.lot()
      if (lot === null) return unread('the lot')
      return (
        checkFund(bid, reads) ??
        checkLot(bid, lot, limits, timestampS) ??
        checkPrice(bid, lot, reads, limits, checkSecond, timestampS) ??
        checkWorth(bid, lot, reads, limits)
      )
    },
    checkOutcome: () => checkLeads(bid, reads) ?? checkConcentration(bid, reads, limits),
  }
}

function checkFund(
  { self, fund, deployment }: Bid,
  { manager, impairment, flags }: BidReads,
): Refusal | null {
  const [who, impaired] = [manager(), impairment()]
  if (who === null || impaired === null) return unread('the fund')
  if (who !== self) return refuse('not_manager', `The fund is managed by ${who}.`)
  for (const { name, read } of flags) {
    const value = read()
    if (value === null) return unread(name)
    if (!value) return refuse('fund_closed', `The fund's ${name} is false.`)
  }
  if (impaired === 0n) return null
  const lost = amountText(impaired, fund.quoteAsset, deployment)
  return refuse('fund_impaired', `The fund's impairment is ${lost}.`)
}

function checkLot(
  { fund, assets, proposal, isOrdered, deployment, isOurs: isOne }: Bid,
  { terms, seller, state, bestBidder, bestAssets }: LotRead,
  { closeMarginS }: BidLimits,
  nowS: number,
): Refusal | null {
  if (state !== OPEN_LOT_CODE || terms.closesAt < BigInt(nowS) + closeMarginS) {
    return refuse(
      'lot_closed',
      state === OPEN_LOT_CODE
        ? `The lot closes at ${time(terms.closesAt)}; the next block is of ${time(nowS)}, and ${closeMarginS} s must be left.`
        : `The lot is not open: its state is ${state}, not ${OPEN_LOT_CODE}.`,
    )
  }
  if (!isOrdered && terms.positionId !== proposal.lot) {
    return refuse('position_differs', `The lot offers position ${terms.positionId}.`)
  }
  if (terms.quoteAsset !== fund.quoteAsset) {
    return refuse('quote_asset_differs', `The lot is sold for ${terms.quoteAsset}.`)
  }
  if (isOne(bestBidder) || isOne(seller)) {
    return refuse('own_lot', `The lot is led by ${bestBidder} and sold by ${seller}: one of us.`)
  }
  if (assets >= terms.reserveAssets && assets > bestAssets) return null
  const paid = (amount: bigint) => amountText(amount, fund.quoteAsset, deployment)
  const best = bestBidder === zeroAddress ? 'nobody leads' : `${bestBidder} leads with ${paid(bestAssets)}`
  return refuse(
    'outbid',
    `The bid is ${paid(assets)}; the reserve is ${paid(terms.reserveAssets)}, and ${best}.`,
  )
}

/** The price of the lot's market; null when it is not pinned. */
const priceOf = ({ terms }: LotRead, { prices }: BidReads) =>
  prices.find(({ market }) => market.address === terms.market && market.collateralAsset === terms.asset) ??
  null

function checkPrice(
  { proposal, isOrdered, deployment }: Bid,
  lot: LotRead,
  reads: BidReads,
  { priceAgeSMax, priceDivergenceBpsMax }: BidLimits,
  checkSecond: ReturnType<typeof askSecondPrice>,
  timestampS: number,
): Refusal | null {
  const place = priceOf(lot, reads)
  if (place === null) {
    return refuse(
      'market_not_pinned',
      `Market ${lot.terms.market} with ${lot.terms.asset} is not in the deployment.`,
    )
  }
  const price = place.read()
  if (price === null) return unread('the oracle')
  return (
    checkUsable(price, priceAgeSMax, timestampS) ??
    checkSecond(lot.terms.asset, price, place.market, timestampS) ??
    (isOrdered
      ? null
      : checkDecided(price, proposal, priceDivergenceBpsMax, { market: place.market, deployment }))
  )
}

/** What the policy says of the lane that the house says. */
const laneOf = ({ terms }: LotRead, { lanes }: BidLimits) =>
  Object.entries(lanes).find(([name]) => stringToHex(name, { size: 32 }) === terms.lane)?.[1]

/** Hold the bid to the policy's part of what the position and the fund are worth. */
function checkWorth(
  { assets, deployment, isOrdered }: Bid,
  lot: LotRead,
  reads: BidReads,
  limits: BidLimits,
): Refusal | null {
  const { terms, bestAssets } = lot
  const paid = (amount: bigint) => amountText(amount, terms.quoteAsset, deployment)
  const [from, to] = [unitOf(terms.asset, deployment), unitOf(terms.quoteAsset, deployment)]
  const [price, netAssets] = [priceOf(lot, reads)?.read() ?? null, reads.net()]
  if (from === null || to === null || price === null || netAssets === null) {
    return unread('decimals and net assets')
  }
  const worth = (terms.amount * price.priceWad * to) / (from * WAD)
  const lane = laneOf(lot, limits)
  if (lane === undefined) {
    return refuse(
      'lane_not_listed',
      `The house says lane ${terms.lane}; guard.sanity.lanes does not list it.`,
    )
  }
  if (assets * BPS > worth * lane.priceBpsMax) {
    return refuse(
      'bid_above_worth',
      `The bid is ${paid(assets)} of ${paid(worth)} that the position is worth; for its lane the policy allows ${percent(lane.priceBpsMax)}.`,
    )
  }
  const raised = bestAssets === 0n ? 0n : bestAssets + (worth * limits.raiseBpsMax) / BPS + 1n
  const enough = raised > terms.reserveAssets ? raised : terms.reserveAssets
  // What a person orders, a person has weighed.
  if (!isOrdered && assets > enough) {
    return refuse(
      'bid_above_rivals',
      `The bid is ${paid(assets)}; by the bids that the house shows, ${paid(enough)} are enough.`,
    )
  }
  if (assets * BPS <= netAssets * limits.positionBpsMax) return null
  return refuse(
    'position_too_large',
    `The bid is ${paid(assets)} of ${paid(netAssets)} that the fund is worth; the policy allows ${percent(limits.positionBpsMax)}.`,
  )
}

function checkLeads(
  { fund, assets, deployment }: Bid,
  { lotAfter, idle, idleAfter }: BidReads,
): Refusal | null {
  const [lot, had, has] = [lotAfter(), idle(), idleAfter()]
  if (lot === null || had === null || has === null) return unread('the lot and the fund afterwards')
  const paid = (amount: bigint) => amountText(amount, fund.quoteAsset, deployment)
  if (lot.bestBidder !== fund.address || lot.bestAssets !== assets) {
    return refuse('not_leading', `Afterwards ${lot.bestBidder} leads with ${paid(lot.bestAssets)}.`)
  }
  if (had - has <= assets) return null
  return refuse('fund_overspent', `The fund would spend ${paid(had - has)} on a bid of ${paid(assets)}.`)
}

/** Hold what the fund would have in positions like this one to the policy's parts of its net assets. */
function checkConcentration(
  { fund, deployment }: Bid,
  { concentration, lot, net }: BidReads,
  limits: BidLimits,
): Refusal | null {
  const [found, at, netAssets] = [concentration(), lot(), net()]
  const lane = at === null ? undefined : laneOf(at, limits)
  if (found === null || lane === undefined || netAssets === null) return unread('the fund’s concentration')
  const parts = [
    ['lane', found.lane, lane.concentrationBpsMax],
    ['market', found.market, limits.marketBpsMax],
    ['borrower', found.borrower, limits.borrowerBpsMax],
  ] as const
  const above = parts.find(([, assets, most]) => assets * BPS > netAssets * most)
  if (above === undefined) return null
  const [what, assets, most] = above
  const paid = (amount: bigint) => amountText(amount, fund.quoteAsset, deployment)
  return refuse(
    `${what}_concentrated`,
    `${paid(assets)} of ${paid(netAssets)} would be in bids and holdings of one ${what}, as the fund counts it; the policy allows ${percent(most)}. An outbid bid counts until it is released at the fund, which anyone may do.`,
  )
}

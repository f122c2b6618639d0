import type { Address } from 'viem'
import type { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../../errors.ts'
import { span } from '../../../readable.js'
import type { PinnedMarket } from '../../../service/contract/deployment.ts'
import { bps, seconds, settings } from '../../../service/contract/yaml-scalars.ts'
import { amountText, type Denomination, percent, time } from '../../../units.ts'
import { asAddress, asUint } from '../../policy/values.ts'
import { balanceView } from '../../reads/views.ts'
import { isOurs, type JudgedCase, unread } from '../judgement.ts'
import { checkDecided, checkUsable, type PriceRead, priceLimits, priceView } from '../price.ts'
import { askSecondPrice } from '../second-price.ts'
import { BPS, unitOf, WAD } from '../units.ts'
import { escrowLimits } from './escrow.ts'
import { type Bound, rivalLimits } from './rivals.ts'
import type { OfferRead } from './views.ts'

/** `guard.sanity` of the RFQ bidder. */
export const bidLimits = (pinned: readonly Denomination[]) =>
  settings({
    ...priceLimits,
    /** Most of a bid, of what the lot is worth at the oracle's price. */
    bidBpsMax: bps(1).transform(BigInt),
    /** How long after the close a bid may expire. */
    bindsAfterCloseSMax: seconds(1, 2_592_000).transform(BigInt),
    ...rivalLimits,
    ...escrowLimits(pinned),
  })
/** What the RFQ bidder holds its bids to. */
export type BidLimits = z.output<ReturnType<typeof bidLimits>>

/** The contracts' code of an offer that is neither sold nor unsold. */
export const OPEN = 1n

/** A member of a request: its schema was checked before, so that it is there. */
export function uintOf({ subject }: JudgedCase, member: string): bigint {
  const value = asUint(subject.input[member])
  invariant(value !== undefined, `a request of this type has ${member}`)
  return value
}

/** An address of a request, in lower case. */
export function addressOf({ subject }: JudgedCase, member: string): Address {
  const value = asAddress(subject.input[member])
  invariant(value !== undefined, `a request of this type has ${member}`)
  return value
}

/**
 * Judge the lot that a bid is for: open for long enough, sold by nobody of ours for what we pay with, at least at its
 * reserve, above neither our own part of the oracle's price, which is healthy, fresh, borne out by a second source and
 * the one decided on, nor what the bids of others are a reason for.
 */
export function createBidJudgement(limits: BidLimits, about: JudgedCase, assets: bigint, bound: Bound) {
  const { subject, proposal, before } = about
  const { deployment, self } = subject
  const { token } = proposal.exposure
  invariant(token !== null, 'a bid is paid for')
  const prices = deployment.markets.map((market) => ({ market, read: before.ask(priceView(market.oracle)) }))
  const checkSecond = askSecondPrice(limits, about)
  const funds = before.ask(balanceView(token, self))
  const paid = (amount: bigint) => amountText(amount, token, deployment)

  function judge(found: OfferRead, timestampS: number, freshAssets: bigint): Refusal | null {
    const { seller, asset, quoteAsset, reserveAssets } = found
    const closed = checkOpen(found, timestampS)
    if (closed !== null) return closed
    if (isOurs(seller, subject)) {
      return refuse('seller_is_ours', `${seller} sells it, which is ours.`)
    }
    if (quoteAsset !== token) {
      return refuse('other_quote_asset', `It is paid for in ${quoteAsset}; ${token} was decided on.`)
    }
    if (assets < reserveAssets) {
      return refuse('below_reserve', `The bid is ${paid(assets)}; the reserve is ${paid(reserveAssets)}.`)
    }
    const market = prices.find(
      ({ market: { collateralAsset, loanAsset } }) => collateralAsset === asset && loanAsset === quoteAsset,
    )
    if (market === undefined) return refuse('asset_not_priced', `No pinned market prices ${asset}.`)
    const price = market.read()
    if (price === null) return unread('the oracle')
    const wrong =
      checkPrice(price, market.market, timestampS) ?? checkSecond(asset, price, market.market, timestampS)
    if (wrong !== null) return wrong
    const [assetUnit, quoteUnit] = [unitOf(asset, deployment), unitOf(quoteAsset, deployment)]
    if (assetUnit === null || quoteUnit === null) return unread('the price')
    const most = (found.amount * price.priceWad * quoteUnit * limits.bidBpsMax) / (assetUnit * WAD * BPS)
    if (assets > most) {
      return refuse(
        'bid_above_value',
        `The bid is ${paid(assets)}; ${percent(limits.bidBpsMax)} of the oracle's price are ${paid(most)}.`,
      )
    }
    const tooHigh = bound(found, { assets, worthMost: most, timestampS })
    if (tooHigh !== null) return tooHigh
    const have = funds()
    if (have === null) return unread('our balance')
    if (have >= freshAssets) return null
    return refuse('insufficient_balance', `We hold ${paid(have)}; the bid takes ${paid(freshAssets)}.`)
  }

  function checkPrice(price: PriceRead, market: PinnedMarket, timestampS: number): Refusal | null {
    const unusable = checkUsable(price, limits.priceAgeSMax, timestampS)
    // Who orders by hand decides on no price; the bid is held to the oracle's all the same.
    if (unusable !== null || proposal.kind === 'order') return unusable
    return checkDecided(price, proposal, limits.priceDivergenceBpsMax, { market, deployment })
  }
  return judge
}

/** Refuse an offer that takes no bids at a block's time. Pure. */
export function checkOpen({ state, closesAt }: OfferRead, timestampS: number): Refusal | null {
  if (state !== OPEN) return refuse('lot_not_open', `It is not open: its state is ${state}, not ${OPEN}.`)
  if (BigInt(timestampS) < closesAt) return null
  return refuse('lot_closed', `It closed at ${time(closesAt)}; the next block is of ${time(timestampS)}.`)
}

/** Refuse a bid on an RFQ that does not bind past its close, or binds too long. Pure. */
export function checkExpiry(about: JudgedCase, { closesAt }: OfferRead, limits: BidLimits): Refusal | null {
  const expiresS = uintOf(about, 'expiresTimestamp')
  if (expiresS > closesAt && expiresS <= closesAt + limits.bindsAfterCloseSMax) return null
  return refuse(
    'expiry_out_of_range',
    `The bid expires at ${time(expiresS)}; it must bind past the close at ${time(closesAt)}, by ${span(limits.bindsAfterCloseSMax * 1_000n)} at most.`,
  )
}

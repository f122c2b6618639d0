import type { z } from 'zod'
import {
  bps,
  byToken,
  contractName,
  count,
  gasAmount,
  nonEmpty,
  pinnedSymbol,
  positiveAssets,
  positiveUsdMicros,
  seconds,
  settings,
  usdMicros,
} from '../../src/service/contract/yaml-scalars.ts'
import { type Denomination, percent } from '../../src/units.ts'
import { SHADE_MAX } from '../protocol/winners-curse.ts'

const asset = (assets: readonly Denomination[]) =>
  settings({
    /** A contract of deployment.contracts that prices it too, as the market's own oracle does. */
    referenceContract: contractName,
    /** Most of it to hold: balance, and all that open bids of ours may win; base units. */
    inventoryAssetsMax: positiveAssets(assets),
    /** Most that bids for it may have in escrow together. */
    openBidsUsdMicrosMax: usdMicros(),
    /** What a sale is expected to lose. */
    exitHaircutBps: bps(),
    /** What it is worth less when `inventoryMax` is held; of less, the part. */
    inventorySkewBps: bps(),
    /** Standard deviation of what it turns out to be worth against what the oracle says. */
    signalNoiseBps: bps(),
  })

const rfq = settings({
  /** How far above the best rival a bid of an open book is placed at least; one base unit is the least. */
  leadByBps: bps(),
  /** So near to the close a bid is the last: beaten, it goes part of the way to our limit at once. */
  lastCallS: seconds(1, 86_400),
  /** How far a bid may lie from what would be bid now before it is replaced. */
  replaceBps: bps(),
  /** Times that one bid is raised in a day; lowering and cancelling are not counted. */
  raisesMax: count('raises', 0, 1_000),
  /** A bid binds so much longer than the RFQ is open. */
  expiryAfterCloseS: seconds(1, 86_400),
  /** How long an RFQ that somebody else won is left to others to finalize. */
  finalizeLostAfterS: seconds(0, 86_400),
})

const auction = settings({
  /** How long before the close bidding begins: an earlier bid only informs rivals, and ties up money. */
  windowS: seconds(1, 2_592_000),
  /** How far above the least next bid ours may be. */
  stepBpsMax: bps(),
  /** Most to have with auctions: where they do not pay back at once who is outbid, no workflow type does. */
  owedUsdMicrosMax: usdMicros(),
})

const gas = settings({
  /** Expected gas of an approval and a bid, or a bid's change, together. */
  bidGas: gasAmount(),
  /** Expected gas of finalizing, cancelling, or claiming a refund. */
  settleGas: gasAmount(),
  /** Added to the head's base fee, for the tip and for blocks to come. */
  baseFeeHeadroomBps: bps(0, 100_000),
  /** What one whole native coin is taken to be worth. */
  nativePriceUsdMicros: usdMicros(),
})

const strategy = (pinned: readonly Denomination[]) =>
  settings({
    /** What is paid with, and what a whole token of it counts as in every limit. */
    quotes: nonEmpty(pinnedSymbol, settings({ priceUsdMicros: positiveUsdMicros() }), 'done'),
    assets: byToken(pinned, nonEmpty(pinnedSymbol, asset(pinned), 'done')),
    /** Kept between what a lot is worth to us and the most that is bid for it. */
    spreadBps: bps(),
    /** Rivals to expect at least; where bids are sealed none is seen. */
    rivalsMin: count('rivals', 0, 100),
    /** What escrow and holding cost. */
    capitalCostBpsPerYear: bps(0, 100_000),
    /** From the close until what was won is sold. */
    exitS: seconds(0, 31_536_000),
    /** A bid or a change that is nearer than this to the close has no time to land. */
    landingS: seconds(1, 3_600),
    /** Most that one bid may be. */
    bidUsdMicrosMax: usdMicros(),
    /** Most that all bids together may have in escrow, whatever they are for. */
    openBidsUsdMicrosMax: usdMicros(),
    /** Least that winning must be expected to bring, after spread, shade and gas. */
    gainUsdMicrosMin: usdMicros(),
    /** What each signer may lose, gas included, before it has won ten, and pay for bids that lose until wins have paid it back. */
    explorationUsdMicros: positiveUsdMicros().default(2_000_000_000n),
    /** How far what came of other lots may move what one is taken to be worth, either way. */
    shadeBpsMax: bps().default(300),
    /** Oldest price to act on, by the source's own time. */
    priceAgeSMax: seconds(1, 86_400),
    /** How far the service's price and the second source may lie from our own reading of the oracle. */
    priceDivergenceBpsMax: bps(),
    rfq,
    auction,
    gas,
  })

/**
 * The RFQ bidder's strategy, as policies/rfq-bidder.yaml states it under `strategy`. Strict: an unknown key is refused.
 * Amounts carry their units there; here they are whole numbers of the smallest one, by their names.
 */
export const rfqBidderPolicy = (pinned: readonly Denomination[]) =>
  strategy(pinned)
    .refine((policy) => policy.rfq.replaceBps <= policy.spreadBps, {
      path: ['rfq', 'replace'],
      error: 'expected no more than spread: a bid that is not replaced must stay below what the lot is worth',
    })
    .refine((policy) => policy.spreadBps < 10_000, {
      path: ['spread'],
      error: 'expected less than 100 %: nothing would be left to bid',
    })
    .refine((policy) => policy.bidUsdMicrosMax <= policy.openBidsUsdMicrosMax, {
      path: ['bidMax'],
      error: 'expected no more than openBidsMax: one bid would exceed what all may have in escrow',
    })
    .refine((policy) => policy.auction.owedUsdMicrosMax <= policy.openBidsUsdMicrosMax, {
      path: ['auction', 'owedMax'],
      error: 'expected no more than openBidsMax: what is owed counts as in escrow',
    })
    .refine((policy) => policy.gainUsdMicrosMin < policy.bidUsdMicrosMax, {
      path: ['gainMin'],
      error: 'expected less than bidMax: no bid could be expected to bring so much',
    })
    .refine((policy) => policy.landingS < policy.rfq.lastCallS, {
      path: ['rfq', 'lastCall'],
      error: 'expected more than landing: the last call would come when it is too late to bid',
    })
    .refine((policy) => policy.landingS < policy.auction.windowS, {
      path: ['auction', 'window'],
      error: 'expected more than landing: bidding would begin when it is too late to bid',
    })
    .superRefine((policy, context) => {
      for (const [symbol, terms] of Object.entries(policy.assets)) {
        const shadeBps = (BigInt(terms.signalNoiseBps) * SHADE_MAX) / 10_000n
        const parts = BigInt(terms.exitHaircutBps + terms.inventorySkewBps) + shadeBps
        if (parts < 10_000n) continue
        context.addIssue({
          code: 'custom',
          path: ['assets', symbol, 'signalNoise'],
          message: `expected haircut, skew and shade to leave something to bid: with ${percent(terms.signalNoiseBps)} they take ${percent(parts)}`,
        })
      }
    })
    .superRefine((policy, context) => {
      for (const [symbol, terms] of Object.entries(policy.assets)) {
        if (terms.openBidsUsdMicrosMax <= policy.openBidsUsdMicrosMax) continue
        context.addIssue({
          code: 'custom',
          path: ['assets', symbol, 'openBidsMax'],
          message: 'expected no more than the openBidsMax of all assets together',
        })
      }
    })
export type RfqBidderPolicy = z.output<ReturnType<typeof rfqBidderPolicy>>

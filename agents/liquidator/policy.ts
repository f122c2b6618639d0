import { z } from 'zod'
import { nativePrice } from '../../src/service/contract/native-price.ts'
import {
  assetAmount,
  bps,
  byToken,
  contractName,
  gasAmount,
  nonEmpty,
  pair,
  pinnedSymbol,
  positiveAssets,
  seconds,
  settings,
  usdMicros,
} from '../../src/service/contract/yaml-scalars.ts'
import type { Denomination } from '../../src/units.ts'

const loan = settings({
  /** Outside of this band the loan asset's dollar price is not believed; every budget is counted by it. */
  priceUsdMicrosMin: usdMicros().refine((value) => value > 0n, {
    error: 'expected the lowest price to act on, above 0 USD',
  }),
  priceUsdMicrosMax: usdMicros(),
}).refine((band) => band.priceUsdMicrosMin <= band.priceUsdMicrosMax, {
  path: ['priceMin'],
  error: 'expected no more than priceMax',
})

const collateral = (assets: readonly Denomination[]) =>
  settings({
    /** Most of this collateral to hold, counting balance, open claims and what is in flight; base units. */
    inventoryAssetsMax: assetAmount(assets),
    /** What a sale is expected to lose whatever its size. */
    exitHaircutBaseBps: bps(),
    /** What it loses more for each million dollars of all that is held, claimed, in flight and taken. */
    exitHaircutPerMillionUsdBps: bps(),
  })

const gas = settings({
  /** Expected gas of an approval and a liquidation together. */
  liquidateGas: gasAmount().refine((value) => value !== 0n, { error: 'expected more than 0 gas' }),
  /** Expected gas of settling the claim. */
  settleGas: gasAmount(),
  /** Expected gas of an approval and a sale together. */
  sellGas: gasAmount().prefault('250,000 gas'),
  /** Added to the head's base fee in what must be there for gas: for blocks to come. */
  baseFeeHeadroomBps: bps(0, 100_000),
  nativePriceUsdMicros: nativePrice(),
  /** Most of what a liquidation brings that may be tipped, so that it lands before those of rivals. */
  tipShareBpsMax: bps(0, 9_000).prefault('50 %'),
})

const secondPrice = settings({
  /** A contract of deployment.contracts with the oracle's own `read()`. */
  contract: contractName,
  /** How far it and the market's oracle may lie apart. */
  divergenceBpsMax: bps(),
  /** Oldest second price to compare with, by the source's own time. */
  ageSMax: seconds(0, 86_400),
})

const exit = (assets: readonly Denomination[]) =>
  settings({
    /** A contract of deployment.contracts, with the functions that guard.views and guard.allow give it. */
    venue: contractName,
    /** Most to sell there at a time: a venue that pays nothing takes so much before anybody knows. */
    saleAssetsMax: positiveAssets(assets),
  })

const lostRace = settings({
  /** How long a position, or the sale of a collateral, is left alone after it failed once; each further time doubles it. */
  subjectBackOffS: seconds(0, 86_400),
  /** The same for its whole market, where the race cost gas. */
  marketBackOffS: seconds(0, 86_400),
  /** The longest wait of both. */
  backOffSMax: seconds(0, 86_400),
  /** Most gas to lose to reverts in an hour; every liquidation in flight is counted as if it did. */
  revertedGasPerHourMax: gasAmount(),
}).refine(
  ({ subjectBackOffS, marketBackOffS, backOffSMax }) =>
    Math.max(subjectBackOffS, marketBackOffS) <= backOffSMax,
  {
    path: ['backOffMax'],
    error: 'expected no less than subjectBackOff and marketBackOff: the first wait is the shortest',
  },
)

/**
 * The liquidator's strategy, as policies/liquidator.yaml states it under `strategy`. Strict: an unknown key is
 * refused.
 * Amounts carry their units there; here they are whole numbers of the smallest one, by their names.
 */
export const liquidatorPolicy = (assets: readonly Denomination[]) =>
  settings({
    loans: nonEmpty(pinnedSymbol, loan, 'done'),
    collaterals: byToken(assets, nonEmpty(pinnedSymbol, collateral(assets), 'done')),
    /** Most to repay in one liquidation. */
    repayUsdMicrosMax: usdMicros(),
    /** Most to repay in an hour. */
    repayUsdMicrosPerHourMax: usdMicros(),
    /** Least expected profit, after haircut and gas. */
    profitUsdMicrosMin: usdMicros(),
    /** How much less collateral than expected is still accepted. */
    slippageBps: bps(0, 9_999),
    /** Oldest price to act on, by the source's own time. */
    priceAgeSMax: seconds(0, 86_400),
    /** How far the service's price and our own reading of the oracle may lie apart. */
    priceDivergenceBpsMax: bps(),
    /** The second source that each market's price must agree with; `none` trusts the oracle alone. */
    secondPrice: z.union([z.literal('none'), z.record(pair, secondPrice)], {
      error: 'expected none, or for each pair its contract, divergenceMax and ageMax',
    }),
    /**
     * Whether to liquidate where not all debt will be paid, which its vault's suppliers bear: `accept`, `avoid`, or up to
     * so much of unpaid debt a position.
     */
    badDebt: z.union([z.enum(['accept', 'avoid']), settings({ unpaidUsdMicrosMax: usdMicros() })], {
      error: 'expected accept, avoid, or unpaidMax with an amount of USD',
    }),
    /** Where a collateral is sold for its loan asset, by pair. Empty: it is kept. */
    exits: byToken(assets, z.record(pair, exit(assets)).default({})),
    /** How far below the oracle's worth a sale may come, with slippage and gas. */
    exitDiscountBpsMax: bps(0, 9_999).default(200),
    /** How much less than its quote a sale still accepts. */
    exitSlippageBps: bps(0, 9_999).default(100),
    lostRace,
    gas,
  })
    .refine((policy) => policy.profitUsdMicrosMin < policy.repayUsdMicrosMax, {
      path: ['profitMin'],
      error: 'expected less than repayMax: no liquidation could earn more than it repays',
    })
    .refine((policy) => policy.repayUsdMicrosMax <= policy.repayUsdMicrosPerHourMax, {
      path: ['repayPerHourMax'],
      error: 'expected no less than repayMax: a single liquidation would pass it',
    })
    .refine(({ exitSlippageBps, exitDiscountBpsMax }) => exitSlippageBps < exitDiscountBpsMax, {
      path: ['exitSlippage'],
      error: 'expected less than exitDiscountMax: no sale would stay within it',
    })
    .refine(({ gas, lostRace }) => !(gas.liquidateGas > lostRace.revertedGasPerHourMax), {
      path: ['lostRace', 'revertedGasPerHourMax'],
      error: 'expected no less than gas.liquidateGas: nothing could ever be tried',
    })
export type LiquidatorPolicy = z.output<ReturnType<typeof liquidatorPolicy>>

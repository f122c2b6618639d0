import { z } from 'zod'
import {
  amount,
  bps,
  contractName,
  count,
  nonEmpty,
  pinnedSymbol,
  usdMicros,
} from '../../src/service/contract/yaml-scalars.ts'

const loan = z
  .strictObject({
    /** Outside of this band the loan asset's dollar price is not believed; every budget is counted by it. */
    priceUsdMicrosMin: usdMicros().refine((value) => value > 0n, {
      error: 'expected the lowest price to act on, above 0',
    }),
    priceUsdMicrosMax: usdMicros(),
  })
  .refine((band) => band.priceUsdMicrosMin <= band.priceUsdMicrosMax, {
    path: ['priceUsdMicrosMin'],
    error: 'expected no more than priceUsdMicrosMax',
  })

const collateral = z.strictObject({
  /** Most of this collateral to hold, counting balance, open claims and what is in flight; base units. */
  inventoryAssetsMax: amount('base units of the collateral'),
  /** What a sale is expected to lose whatever its size. */
  exitHaircutBaseBps: bps(),
  /** What it loses more for each million dollars sold at once. */
  exitHaircutPerMillionUsdBps: bps(),
})

const gas = z.strictObject({
  /** Expected gas of an approval and a liquidation together. */
  liquidateGas: amount('gas').refine((value) => value !== 0n, { error: 'expected more than 0' }),
  /** Expected gas of settling the claim. */
  settleGas: amount('gas'),
  /** Added to the head's base fee, for the tip and for blocks to come. */
  baseFeeHeadroomBps: bps(0, 100_000),
  /** What one whole native coin is taken to be worth. */
  nativePriceUsdMicros: usdMicros(),
})

/** Pairs are named by their symbols, collateral first: `sBTC/sUSD`. */
const pair = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,20}\/[A-Za-z0-9._-]{1,20}$/, 'expected "collateral/loan" symbols')

const secondPrice = z.strictObject({
  /** A contract of deployment.contracts with the oracle's own `read()`. */
  contract: contractName,
  /** How far it and the market's oracle may lie apart. */
  divergenceBpsMax: bps(),
  /** Oldest second price to compare with, by the source's own time. */
  ageSMax: count('seconds', 0, 86_400),
})

const lostRace = z
  .strictObject({
    /** How long a position is left alone after the first lost race for it; each further one doubles it. */
    subjectBackOffS: count('seconds', 0, 86_400),
    /** The same for its whole market, where the race cost gas. */
    marketBackOffS: count('seconds', 0, 86_400),
    /** The longest wait of both. */
    backOffSMax: count('seconds', 0, 86_400),
    /** Most gas to lose to reverts in an hour; every liquidation in flight is counted as if it did. */
    revertedGasPerHourMax: amount('gas'),
  })
  .refine(
    ({ subjectBackOffS, marketBackOffS, backOffSMax }) =>
      Math.max(subjectBackOffS, marketBackOffS) <= backOffSMax,
    {
      path: ['backOffSMax'],
      error: 'expected no less than subjectBackOffS and marketBackOffS: the first wait is the shortest',
    },
  )

/**
 * The liquidator's strategy, as policies/liquidator.yaml states it under `strategy`. Strict: an unknown key is
 * refused. Amounts are decimal strings; US dollars are in millionths.
 */
export const liquidatorPolicy = z
  .strictObject({
    loans: nonEmpty(pinnedSymbol, loan, 'done'),
    collaterals: nonEmpty(pinnedSymbol, collateral, 'done'),
    /** Most to repay in one liquidation. */
    repayUsdMicrosMax: usdMicros(),
    /** Most to repay in an hour. */
    repayUsdMicrosPerHourMax: usdMicros(),
    /** Least expected profit, after haircut and gas. */
    profitUsdMicrosMin: usdMicros(),
    /** How much less collateral than expected is still accepted. */
    slippageBps: bps(0, 9_999),
    /** Oldest price to act on, by the source's own time. */
    priceAgeSMax: count('seconds', 0, 86_400),
    /** How far the service's price and our own reading of the oracle may lie apart. */
    priceDivergenceBpsMax: bps(),
    /** The second source that each market's price must agree with; `none` trusts the oracle alone. */
    secondPrice: z.union([z.literal('none'), z.record(pair, secondPrice)], {
      error: 'expected none, or for each pair its contract, divergenceBpsMax and ageSMax in digits',
    }),
    /** Whether to liquidate where not all debt will be paid: `avoid`, or up to so much of unpaid debt a position. */
    badDebt: z.union([z.literal('avoid'), z.strictObject({ unpaidUsdMicrosMax: usdMicros() })], {
      error: 'expected avoid, or unpaidUsdMicrosMax in digits',
    }),
    lostRace,
    gas,
  })
  .refine((policy) => policy.profitUsdMicrosMin < policy.repayUsdMicrosMax, {
    path: ['profitUsdMicrosMin'],
    error: 'expected less than repayUsdMicrosMax: no liquidation could earn more than it repays',
  })
  .refine((policy) => policy.repayUsdMicrosMax <= policy.repayUsdMicrosPerHourMax, {
    path: ['repayUsdMicrosPerHourMax'],
    error: 'expected no less than repayUsdMicrosMax: a single liquidation would pass it',
  })
  .refine(({ gas, lostRace }) => !(gas.liquidateGas > lostRace.revertedGasPerHourMax), {
    path: ['lostRace', 'revertedGasPerHourMax'],
    error: 'expected no less than gas.liquidateGas: nothing could ever be tried',
  })
export type LiquidatorPolicy = z.infer<typeof liquidatorPolicy>

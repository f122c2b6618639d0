import { z } from 'zod'
import {
  bps,
  contractName,
  count,
  gasAmount,
  nonEmpty,
  pinnedSymbol,
  seconds,
  settings,
  usdMicros,
} from '../../src/service/contract/yaml-scalars.ts'
import type { Denomination } from '../../src/units.ts'
import { declaredPolicy } from './declared/declared.ts'

/** Ten years. */
const RECOVERY_S_MAX = 315_360_000

/** How positions of one lane turn into money again. */
const lane = settings(
  {
    /** What a sale loses against the oracle's price. */
    haircutBps: bps(0, 9_999),
    /** The part of the rest that is expected to come back, over all positions of this lane. */
    recoveryBps: bps(1),
    /** Until it has come back. */
    recoveryS: seconds(0, RECOVERY_S_MAX),
    /** How uncertain that value is, as a standard deviation; the shade against the winner's curse grows with it. */
    uncertaintyBps: bps(0, 5_000),
    /** Most of a fund's net assets in positions of this lane. */
    concentrationBpsMax: bps(),
  },
  { recoveryS: 'recoveryTime' },
)
export type Lane = z.output<typeof lane>

const bidding = settings(
  {
    lanes: nonEmpty(
      z.string().regex(/^[a-z_]{1,31}$/, 'expected a lane, for example liquid'),
      lane,
      'bid for',
    ),
    /** What may be bought. An asset that is not listed is never bid for. */
    assets: nonEmpty(
      pinnedSymbol,
      settings({
        /** A contract of deployment.contracts that prices it too, from another source than the markets' oracles. */
        referenceContract: contractName,
      }),
      'bid for',
    ),
    /** Quote assets that may be bid, and what a whole one counts as in budgets. */
    quoteAssets: nonEmpty(
      pinnedSymbol,
      settings({
        priceUsdMicros: usdMicros().refine((price) => price > 0n, {
          error: 'expected more than 0: at no price, no budget would ever be used',
        }),
      }),
      'bid for',
    ),
    /** What money tied up costs. */
    capitalCostBpsPerYear: bps(0, 100_000),
    /** Of the price, at purchase; of the proceeds, at sale. */
    purchaseFeeBps: bps(),
    saleFeeBps: bps(0, 9_999),
    /** What looking after one position costs, whatever its size. */
    costUsdMicros: usdMicros(),
    /** Least gain on the price, after all costs. */
    marginBps: bps(),
    /** Rivals to expect at a lot, seen or not: from two on, the limit is shaded against the winner's curse. */
    rivalsExpected: count('rivals', 0, 20),
    /** Least raise over the best bid, of the position's value. */
    raiseBps: bps(0, 1_000),
    /** How far recoveries that came in may move what a position is taken to be worth, either way. */
    experienceBpsMax: bps().default(3_000),
    /** How long before a lot's close bidding begins: where bids are shown, an earlier one only informs rivals. */
    lastCallS: seconds(1, 2_592_000),
    /** A lot that closes sooner, and an epoch whose funding ends sooner, is left alone. */
    closeMarginS: seconds(0, 86_400),
    /** Most of a fund's net assets in one position, with one borrower, and in one market. */
    positionBpsMax: bps(),
    borrowerBpsMax: bps(),
    marketBpsMax: bps(),
    /** Kept idle, of the fund's net assets. */
    idleBpsMin: bps(0, 9_999),
    priceAgeSMax: seconds(0, 86_400),
    /** How far the service's price and the second source may lie from our own reading of the oracle. */
    priceDivergenceBpsMax: bps(),
    /** Expected gas of a bid, and what one whole native coin is taken to be worth. */
    bidGas: gasAmount(),
    nativePriceUsdMicros: usdMicros(),
  },
  { quoteAssets: 'quoteAssets' },
)
export type Bidding = z.output<typeof bidding>

const YEAR_S = 31_536_000

/** What money tied up in a lane costs until it is back, a part of it. Pure. */
export const capitalCostOf = (
  { recoveryS }: Pick<Lane, 'recoveryS'>,
  { capitalCostBpsPerYear }: Pick<Bidding, 'capitalCostBpsPerYear'>,
): number => (capitalCostBpsPerYear * recoveryS) / YEAR_S / 10_000

/**
 * The asset manager's strategy, as policies/asset-manager.yaml states it under `strategy`. Strict: an unknown key is
 * refused.
 * Amounts carry their units there; here they are whole numbers of the smallest one, by their names.
 */
export const managerPolicy = (pinned: readonly Denomination[]) =>
  settings({ bidding, declared: declaredPolicy(pinned) })
    .refine(({ bidding: limits }) => limits.positionBpsMax <= limits.borrowerBpsMax, {
      path: ['bidding', 'positionMax'],
      error: 'expected no more than borrowerMax: one position is all of one borrower at least',
    })
    .refine(({ bidding: limits }) => limits.borrowerBpsMax <= limits.marketBpsMax, {
      path: ['bidding', 'borrowerMax'],
      error: 'expected no more than marketMax: a borrower is in one market',
    })
    .refine(({ bidding: limits }) => limits.positionBpsMax + limits.idleBpsMin <= 10_000, {
      path: ['bidding', 'idleMin'],
      error: 'expected no more than what positionMax leaves of 100 %',
    })
    .refine(({ bidding: limits }) => limits.closeMarginS < limits.lastCallS, {
      path: ['bidding', 'lastCall'],
      error: 'expected more than closeMargin: the last call would come when a lot is left alone',
    })
    .superRefine(({ bidding: limits }, context) => {
      for (const [name, lane] of Object.entries(limits.lanes)) {
        const leftBps =
          (((10_000 - lane.haircutBps) * lane.recoveryBps) / 10_000) * (1 / (1 + capitalCostOf(lane, limits)))
        if (leftBps >= 1) continue
        const message =
          'with its haircut and the cost of capital nothing would be left: no bid could ever be made'
        context.addIssue({ code: 'custom', path: ['bidding', 'lanes', name, 'recovery'], message })
      }
    })
export type ManagerPolicy = z.output<ReturnType<typeof managerPolicy>>

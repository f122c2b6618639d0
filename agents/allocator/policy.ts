import { z } from 'zod'
import {
  bps,
  count,
  gasAmount,
  nonEmpty,
  pinnedSymbol,
  positiveGas,
  positiveUsdMicros,
  seconds,
  settings,
  usdMicros,
} from '../../src/service/contract/yaml-scalars.ts'

/** What a vault lends. */
const asset = settings({
  /** What one whole token counts as in costs, gains and budgets. */
  priceUsdMicros: positiveUsdMicros(),
})

/** A market by its collateral: how much of a vault may lie there, and what is expected to be lost. */
const collateral = settings({
  /** Most of a vault's assets in one market of this collateral, beside the vault's own caps. */
  shareBpsMax: bps(),
  /** Utilisation that a supply of ours must leave at least; nothing is earned where nobody borrows. */
  utilizationBpsMin: bps(),
  /** Utilisation that a move of ours must leave at most; from a market that is lent out nothing can be withdrawn. */
  utilizationBpsMax: bps(1),
  /** Expected loss by bad debt a year, taken off what the market pays. */
  lossBpsPerYear: bps(),
}).refine((band) => band.utilizationBpsMin < band.utilizationBpsMax, {
  path: ['utilizationMin'],
  error: 'expected less than utilizationMax: otherwise no supply could ever meet both',
})

/** When a market is left for good, and when a vault is wound down. */
const leaving = settings({
  /** Bad debt in parts of what is supplied, from which a market is left. */
  badDebtBpsMax: bps(),
  /** Oldest price, by the source's own time. */
  priceAgeSMax: seconds(1, 86_400),
  /** Least worth withdrawing from a market that is left. */
  withdrawUsdMicrosMin: usdMicros(),
  /** From this long before its maturity a vault takes everything back. */
  maturityLeadS: seconds(0, 31_536_000),
})

/** What is kept for those who leave the vault. */
const redemptions = settings({
  /** Requests that fall due within this are funded now. */
  leadS: seconds(0, 31_536_000),
  /** The buffer is refilled once less than this part of it is there. */
  bufferRefillBelowBps: bps(),
})

/** When moving for more yield is worth it. */
const yields = settings({
  /** What is gained is counted over this long, or until the vault matures. */
  horizonS: seconds(3_600, 31_536_000),
  /**
   * How long a rate is taken to last before it was watched. A gain counts over no longer than this and the time that we
   * watched; what we saw replaces it, market by market.
   */
  persistenceS: seconds(3_600, 31_536_000).prefault('1 d'),
  /** Least gain over the horizon, costs taken off. */
  gainUsdMicrosMin: positiveUsdMicros(),
  /** Least part that the gain before costs must be of the costs: 20000 is twice. */
  gainOverCostBpsMin: bps(10_000, 1_000_000),
  /** Least gain as a part of what the vault would earn as it stands, so that noise moves nothing. */
  improvementBpsMin: bps(1),
  /** How far what moves earned may lower what a market is taken to pay on what is supplied; beyond that it is supplied no more. */
  experienceBpsMax: bps().default(5_000),
  /** After a move for yield, or out of a market, nothing is moved for yield for this long; a day is remembered. */
  cooldownS: seconds(0, 86_400),
})

const costs = settings({
  /** Gas of a transaction of ours before its first move, and of each market that it touches. */
  transactionGas: gasAmount(),
  marketGas: positiveGas(),
  /** Added to the head's base fee, for the tip and for blocks to come. */
  baseFeeHeadroomBps: bps(0, 100_000),
  /** What one whole native coin is taken to be worth. */
  nativePriceUsdMicros: positiveUsdMicros(),
  /** What moving a token costs beside gas, in parts of it. */
  turnoverBps: bps(),
})

/** The service's own proposals. They narrow what we supply, and never widen it. */
const intelligence = settings({
  /** Below this a proposal is not listened to. */
  confidenceBpsMin: bps(),
  /** Oldest proposal that is listened to. */
  ageSMax: seconds(1, 31_536_000),
  /** The versions that are listened to; `none` stands for one that is not said. */
  modelVersions: z.array(z.string().min(1).max(200)).min(1).max(20),
  policyVersions: z.array(z.string().min(1).max(200)).min(1).max(20),
})

/**
 * The allocator's strategy, as policies/allocator.yaml states it under `strategy`. Strict: an unknown key is refused.
 * Amounts carry their units there; here they are whole numbers of the smallest one, by their names.
 */
export const allocatorPolicy = settings({
  assets: nonEmpty(pinnedSymbol, asset, 'supplied'),
  collaterals: nonEmpty(pinnedSymbol, collateral, 'supplied'),
  /** Most markets of a vault that the service may call unverified while more is supplied. */
  unverifiedMarketsMax: count('markets', 0, 1_000),
  /** Left free under every cap and in every market, because interest and borrowers move them until we are mined. */
  headroomBps: bps(0, 5_000),
  redemptions,
  leaving,
  yields,
  costs,
  intelligence,
  /** After a move that failed, nothing is tried in its vault for this long. */
  retryAfterS: seconds(0, 86_400),
}).refine((policy) => policy.yields.cooldownS <= policy.yields.horizonS, {
  path: ['yields', 'cooldown'],
  error: 'expected no more than horizon: what is gained is counted over that long',
})
export type AllocatorPolicy = z.infer<typeof allocatorPolicy>

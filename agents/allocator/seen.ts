import type { Address } from 'viem'
import type { PriceRead } from '../protocol/price.ts'
import type { RateCurve } from '../protocol/rate-curve.ts'
import type { Borrowings } from './borrowing.ts'

/** What a vault says of one of its markets, by its own word and the service's; null is not known. Base units. */
export type AllocationSeen = {
  readonly marketAddress: Address
  /** By the chain. */
  readonly listing: {
    readonly approved: boolean
    readonly allocationEnabled: boolean
    readonly absoluteCapAssets: bigint
    readonly relativeCapBps: number
  } | null
  /** By the service. */
  readonly listed: boolean | null
  readonly approved: boolean | null
  readonly allocationEnabled: boolean | null
  readonly absoluteCapAssets: bigint | null
  readonly relativeCapBps: number | null
  /** What the vault has there, cash and debt together, and the cash alone, which can be withdrawn. */
  readonly heldAssets: bigint | null
  readonly cashAssets: bigint | null
}

/** A market, by the chain and by the service; null is not known. Base units of the loan asset. */
export type MarketLook = {
  readonly address: Address
  /** By the pinned deployment. */
  readonly collateralSymbol: string | null
  readonly oracleState: string | null
  readonly marketRegimeState: string | null
  readonly marketLive: boolean | null
  readonly paused: boolean | null
  readonly reserveFactorBps: number | null
  /** By the chain. */
  readonly pausedOnChain: boolean | null
  readonly debtAssets: bigint | null
  readonly cashAssets: bigint | null
  readonly badDebtAssets: bigint | null
  readonly supplyRatePerSecondWad: bigint | null
  readonly oracle: PriceRead | null
  /** Its rate curve, proved at many points; or why there is none. */
  readonly curve: RateCurve | { readonly unknown: string }
}

/** A request in a vault's queue. Its worth follows the price of its shares. */
export type RequestSeen = { readonly dueAtS: number; readonly shares: bigint }

/** What the service says of how a vault's holders leave; null is not said. */
export type ExitSeen = {
  readonly kind: string | null
  readonly noticeS: number | null
  readonly maturityMs: number | null
  readonly durationCompatible: boolean | null
  readonly stressCoverageStatus: string | null
  readonly unverifiedMarketCount: number | null
  readonly blockedReason: string | null
}

/** A vault by the chain, at one block; base units. */
export type VaultBooks = {
  readonly asset: Address
  readonly totalAssets: bigint
  readonly totalShares: bigint
  readonly idleAssets: bigint
  readonly queuedAssets: bigint
  readonly queueHead: bigint
  readonly queueEnd: bigint
  readonly bufferBps: number
  readonly isAllocator: boolean
  readonly exit: { readonly kind: string | null; readonly noticeS: number; readonly maturityS: number }
  /** The oldest requests, in order; null when one could not be read. */
  readonly requests: readonly RequestSeen[] | null
}

/** A vault that we may allocate for. */
export type VaultLook = {
  readonly address: Address
  /** Null when the service does not list it. */
  readonly exit: ExitSeen | null
  /** Null when the chain did not answer for all of it. */
  readonly books: VaultBooks | null
  readonly allocations: readonly AllocationSeen[]
}

/** A proposal of the service's own, as far as it narrows ours. */
export type IntelligenceSeen = {
  readonly vaultAddress: Address
  readonly marketAddress: Address
  readonly action: string
  readonly amountAssets: bigint | null
  readonly confidenceBps: number | null
  readonly policyVersion: string | null
  readonly modelVersion: string | null
  readonly createdAtMs: number | null
}

/** What the allocator sees. */
export type AllocatorSeen = {
  readonly vaults: readonly VaultLook[]
  readonly markets: readonly MarketLook[]
  readonly intelligence: readonly IntelligenceSeen[]
  /** What was seen of how much is borrowed from each market, since we watch it. */
  readonly borrowing: Borrowings
  /** Curves that were proved, by rate model: not proved again while their figures stand. */
  readonly proved: Readonly<Record<Address, RateCurve>>
}

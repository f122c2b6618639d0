import type { Address, Hex } from 'viem'
import type { FeeResource, WrapperResource } from '../../src/service/contract/directory-resources.ts'
import type {
  ActivityResource,
  AssetResource,
  CreditFacilityResource,
  EligibilityResource,
  Freshness,
  LiquidationRecoveryResource,
  MarketHistoryResource,
  MarketResource,
  PositionResource,
} from '../../src/service/contract/resources.ts'
import type { VaultHistoryResource, VaultResource } from '../../src/service/contract/vault-resources.ts'
import type { FundRows } from './fund-rows.ts'
import type { CanonicalOracle } from './rows.ts'
import type { ChannelRead, VaultRead } from './state.ts'
import type { TradeRows } from './trade-rows.ts'

/** A liquidation claim as the chain holds it at the indexed block. */
export type CanonicalClaim = {
  readonly marketAddress: Address
  readonly claimId: string
  readonly liquidator: Address
  readonly recipient: Address
  readonly vaultAddress: Address
  readonly borrowerAddress: Address
  readonly collateralAssets: string
  readonly settleableAtS: number
  readonly settled: boolean
}

/** A credit facility with the figures that the resource does not carry but postconditions and prepare need. */
export type CanonicalFacility = {
  readonly resource: CreditFacilityResource
  readonly debtShares: bigint
  readonly debtAssets: bigint
  readonly collateralAssets: bigint
  readonly healthFactorWad: bigint
  readonly liquidatable: boolean
}

/** Everything the service says, as of one block. Immutable; a new block or a reorg makes a new one. */
export type Snapshot = {
  readonly block: { readonly number: bigint; readonly hash: Hex; readonly timestampS: number }
  readonly indexedAtMs: number
  readonly assets: readonly AssetResource[]
  readonly oracles: readonly CanonicalOracle[]
  readonly markets: readonly MarketResource[]
  readonly vaults: readonly VaultResource[]
  /** The vaults with what their resources do not carry: exact figures, roles, every request. */
  readonly vaultReads: readonly VaultRead[]
  /** The partner channels, in the order of their creation. */
  readonly channels: readonly ChannelRead[]
  /** A row of each channel. */
  readonly wrappers: readonly WrapperResource[]
  /** A row of each vault. */
  readonly fees: readonly FeeResource[]
  /** Only debts: a facility that is repaid, seized whole or written off is gone. */
  readonly facilities: readonly CanonicalFacility[]
  readonly positions: readonly PositionResource[]
  readonly recoveries: readonly LiquidationRecoveryResource[]
  readonly eligibility: readonly EligibilityResource[]
  readonly claims: readonly CanonicalClaim[]
} & TradeRows &
  FundRows

/** A change that the service announces: which collection, which row. */
export type CanonicalChange = {
  readonly eventType: string
  /** The row's id; the subject of the event. */
  readonly subject: string
  readonly data: Readonly<Record<string, string | number | boolean | null>>
}

/** The indexer: canonical state from the chain's logs and blocks. */
export type Canonical = {
  readonly snapshot: () => Snapshot
  /** The true lag of the snapshot behind the chain's head. */
  readonly freshness: () => Freshness
  /** Newest first. */
  readonly activity: (filter?: {
    readonly marketAddress?: Address
    readonly vaultAddress?: Address
  }) => readonly ActivityResource[]
  /** Minutes then hours, each oldest first; it begins when the indexer does. */
  readonly marketHistory: (market: Address) => readonly MarketHistoryResource[]
  /** As of markets. */
  readonly vaultHistory: (vault: Address) => readonly VaultHistoryResource[]
  /** Called after each new snapshot, with what changed since the one before; a block without change calls it too. */
  readonly onSnapshot: (
    listener: (snapshot: Snapshot, changes: readonly CanonicalChange[]) => void,
  ) => () => void
  /** Whether an indexed block holds the transaction, and how it ended; null when none does. */
  readonly transaction: (
    hash: Hex,
  ) => Promise<{ readonly blockNumber: bigint; readonly status: 'success' | 'reverted' } | null>
  readonly stop: () => Promise<void>
}

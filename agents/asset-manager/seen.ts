import type { Address } from 'viem'
import type { FundResource } from '../../src/service/contract/fund-resources.ts'
import type { MarketResource } from '../../src/service/contract/resources.ts'
import type { AcquisitionResource } from '../../src/service/contract/trade-resources.ts'
import type { VaultResource } from '../../src/service/contract/vault-resources.ts'
import type { PriceRead } from '../protocol/price.ts'
import type { Channel } from './declared.ts'

/** What a fund may do over one channel; amounts are base units of its quote asset. */
export type ChannelPolicy = {
  readonly enabled: boolean
  readonly maxAssetsPerEpoch: bigint
  readonly maxPriceBps: number
  readonly maxPositionBps: number
}

/** A fund of ours by our own reads at the observation's block; amounts are base units of its quote asset. */
export type FundFigures = {
  readonly manager: Address
  readonly idleAssets: bigint
  /** In bids that lead, and in outbid ones that nobody released yet. */
  readonly reservedAssets: bigint
  readonly netAssets: bigint
  readonly epochId: bigint
  /** What bids took of the acquisition channel's budget in this epoch. */
  readonly usedAssets: bigint
  readonly channels: Readonly<Record<Channel, ChannelPolicy>>
}

/** A fund as the service shows it. `figures` are null where it is not ours, not pinned, or a read failed. */
export type FundSeen = { readonly row: FundResource; readonly figures: FundFigures | null }

/** What the contracts say of a lot and one fund of ours. */
export type FundAtLot = {
  readonly fundAddress: Address
  /** The position at its market's price, by the fund's own arithmetic; null where it does not appraise it. */
  readonly appraisedAssets: bigint | null
  /** The fund's newest reservation for this position; null when there is none that is active. */
  readonly reservation: { readonly assets: bigint; readonly epochId: bigint } | null
}

/** A lot as the service shows it, and as its house does at our block; `house` is null when that could not be read. */
export type LotSeen = {
  readonly row: AcquisitionResource
  readonly house: {
    readonly open: boolean
    /** The house's own word for it: how a position turns into money again is not the service's to say. */
    readonly lane: string
    readonly bestFundAddress: Address | null
    readonly bestAssets: bigint
  } | null
  readonly funds: readonly FundAtLot[]
}

/** A market with our own readings of its oracle and its books; null where it is not pinned, or one could not be read. */
export type PricedMarket = {
  readonly row: MarketResource
  /** Base units of its loan asset. */
  readonly books: { readonly badDebtAssets: bigint; readonly suppliedAssets: bigint } | null
  readonly oracle: PriceRead | null
  /** Our own reading of the second source that the policy names for its collateral. */
  readonly reference: PriceRead | null
}

/** Who may hold a vault's shares, by our own reads. */
export type MobilityFigures = {
  readonly isManager: boolean
  /** As the contract numbers it. */
  readonly transferProfile: number
  readonly paused: boolean
  /** Unix seconds from which anyone may restore; 0 while nothing is paused. */
  readonly restoreAfterS: number
  readonly pauseReason: string
  /** Counts the changes of any of these. */
  readonly mobilityEpoch: bigint
  readonly trustedRecipients: readonly Address[]
}

/** A vault as the service shows it. `mobility` is null where it is not pinned, or a read failed. */
export type VaultSeen = { readonly row: VaultResource; readonly mobility: MobilityFigures | null }

/** What the asset manager sees. */
export type ManagerSeen = {
  readonly funds: readonly FundSeen[]
  readonly lots: readonly LotSeen[]
  /** Lots that were sold, to whomever. */
  readonly sold: readonly AcquisitionResource[]
  readonly markets: readonly PricedMarket[]
  readonly vaults: readonly VaultSeen[]
}

import type { Address } from 'viem'
import type { WrapperResource } from '../../src/service/contract/directory-resources.ts'
import type { FundResource } from '../../src/service/contract/fund-resources.ts'
import type { MarketResource } from '../../src/service/contract/resources.ts'
import type { AcquisitionResource } from '../../src/service/contract/trade-resources.ts'
import type { VaultResource } from '../../src/service/contract/vault-resources.ts'
import type { PriceRead } from '../protocol/price.ts'
import type { Channel } from './declared/declared.ts'

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

/** One market in a vault, and whether the market's owner lets the vault lend to it. */
export type ListingFigures = {
  readonly approved: boolean
  readonly allocationEnabled: boolean
  readonly relativeCapBps: number
  readonly absoluteCapAssets: bigint
  readonly admitted: boolean
  /** What the vault lends there. */
  readonly heldAssets: bigint
}

/** Roles of a vault beside its owner's. */
export type VaultRole = 'allocator' | 'manager' | 'curator'

/** What is kept idle, when holders are paid, and how much one deposit is; a highest deposit of 0 is none. */
export type TermFigures = {
  readonly liquidityBufferBps: number
  /** As the contract numbers it. */
  readonly exitTermKind: number
  readonly noticeSeconds: number
  readonly intervalSeconds: number
  readonly maturityTimestamp: number
  readonly minDepositAssets: bigint
  readonly maxDepositAssets: bigint
}

/** What a vault's owner has set of it, by our own reads; amounts are base units of its asset. */
export type OwnerFigures = {
  readonly asset: Address
  readonly totalAssets: bigint
  readonly owner: Address
  /** Whom the ownership is offered to; null for nobody. */
  readonly pendingOwner: Address | null
  /** Of the markets that are declared of it, by address. */
  readonly listings: ReadonlyMap<Address, ListingFigures>
  /** Whether accounts that are declared of it, and we, have a role: by `role:account`. */
  readonly roles: ReadonlyMap<string, boolean>
  readonly fees: {
    readonly managementFeeBps: number
    readonly performanceFeeBps: number
    readonly recipient: Address
    readonly borrowerManagerFeeBps: number
    readonly curatorRecipient: Address
  }
  readonly routing: readonly Address[]
  readonly terms: TermFigures
  /** Whether holders can no longer be made to wait longer. */
  readonly tighteningLocked: boolean
}

/** A partner's channel by our own reads; its cap in base units of its vault's asset. */
export type PartnerChannelFigures = {
  readonly vault: Address
  readonly reseller: Address
  readonly curator: Address
  readonly shareClass: string
  readonly resellerFeeBps: number
  readonly borrowerFeeBps: number
  readonly capAssets: bigint
  /** Whether accounts that are declared of it are blocked; the channel's own address is everyone. */
  readonly blocked: ReadonlyMap<Address, boolean>
}

/** A pinned channel that is declared; `figures` are null where a read failed. */
export type PartnerChannelSeen = {
  readonly name: string
  readonly address: Address
  readonly figures: PartnerChannelFigures | null
}

/**
 * A vault as the service shows it. `mobility` is null where it is not pinned, or a read failed; `settings` as well where
 * nothing is declared of them.
 */
export type VaultSeen = {
  readonly row: VaultResource
  readonly mobility: MobilityFigures | null
  readonly settings: OwnerFigures | null
}

/**
 * Steps of settings that were proposed and not opened, by subject: since when, and when last, Unix milliseconds. Kept from
 * look to look: what keeps a workflow from being opened is nothing that an agent is told.
 */
export type Unopened = ReadonlyMap<
  string,
  { readonly occurrence: string; readonly sinceMs: number; readonly lastMs: number }
>

/** What the asset manager sees. */
export type ManagerSeen = {
  readonly funds: readonly FundSeen[]
  readonly lots: readonly LotSeen[]
  /** Lots that were sold, to whomever. */
  readonly sold: readonly AcquisitionResource[]
  readonly markets: readonly PricedMarket[]
  readonly vaults: readonly VaultSeen[]
  /** The channels that are declared and pinned. */
  readonly channels: readonly PartnerChannelSeen[]
  /** The channels that the service lists; null where it could not be asked. */
  readonly wrappers: readonly WrapperResource[] | null
  readonly unopened: Unopened
}

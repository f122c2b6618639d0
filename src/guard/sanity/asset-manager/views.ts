import { type Address, parseAbi, stringToHex } from 'viem'
import { z } from 'zod'
import { address, createView, uint, type View } from '../../reads/views.ts'
import { VAULT_ROLE_IDS } from '../vault-views.ts'

/** What a bid is judged by: the fund, the lot's house, and the oracle of the position's market. */
export const BID_VIEWS = parseAbi([
  'struct LotTerms { bytes32 positionId; bytes32 lane; address market; address borrower; address asset; uint256 amount; address quoteAsset; uint256 reserveAssets; uint64 closesAt; }',
  'struct Lot { LotTerms terms; address seller; uint8 state; address bestBidder; uint256 bestAssets; }',
  'function lot(uint256 lotId) view returns (Lot)',
  'function manager() view returns (address)',
  'function fundReadinessApproved() view returns (bool)',
  'function quoteAssetProfileApproved() view returns (bool)',
  'function purchasesEnabled() view returns (bool)',
  'function impairment() view returns (uint8)',
  'function idleAssets() view returns (uint256)',
  'function netAssets() view returns (uint256)',
  'function concentrationAt(address house, uint256 lotId) view returns (uint256 laneAssets, uint256 marketAssets, uint256 borrowerAssets)',
])
/** What a channel policy is judged by: its fund. */
export const CHANNEL_VIEWS = parseAbi([
  'function manager() view returns (address)',
  'function channelPolicy(bytes32 channel) view returns (bool enabled, uint256 maxAssetsPerEpoch, uint16 maxPriceBps, uint16 maxPositionBps)',
])
/** What an action on a vault's mobility is judged by: the vault. */
export const MOBILITY_VIEWS = parseAbi([
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'function transferProfile() view returns (uint8)',
  'function shareMobilityPaused() view returns (bool)',
  'function restoreAfter() view returns (uint64)',
  'function mobilityEpoch() view returns (uint64)',
])
/** What a vault has in a market, beside what may be wrong with it. */
export const TROUBLE_VIEWS = parseAbi(['function allocatedAssets(address vault) view returns (uint256)'])
const trouble = createView(TROUBLE_VIEWS)
const bid = createView(BID_VIEWS)
const channel = createView(CHANNEL_VIEWS)
const mobility = createView(MOBILITY_VIEWS)

const word = z.string().regex(/^0x[0-9a-f]{64}$/)
const lotRead = z.object({
  terms: z.object({
    positionId: word,
    lane: word,
    market: address,
    asset: address,
    amount: uint,
    quoteAsset: address,
    reserveAssets: uint,
    closesAt: uint,
  }),
  seller: address,
  state: uint,
  bestBidder: address,
  bestAssets: uint,
})
/** A lot as its house holds it. */
export type LotRead = z.output<typeof lotRead>

/** Read a lot. */
export const lotView = (house: Address, lotId: bigint): View<LotRead> => bid('lot', house, [lotId], lotRead)

/** Read who manages a fund. */
export const managerView = (fund: Address): View<Address> => bid('manager', fund, [], address)

/** Read whether a fund is ready, whether its quote asset is approved, and whether it buys. */
export const flagView = (
  fund: Address,
  name: 'fundReadinessApproved' | 'quoteAssetProfileApproved' | 'purchasesEnabled',
): View<boolean> => bid(name, fund, [], z.boolean())

/** Read a fund's impairment: 0 none, 1 watch, 2 impaired. */
export const impairmentView = (fund: Address): View<bigint> => bid('impairment', fund, [], uint)

/** Read what a fund has idle, or what its shares are worth; base units of its quote asset. */
export const fundAssetsView = (fund: Address, name: 'idleAssets' | 'netAssets'): View<bigint> =>
  bid(name, fund, [], uint)

/** What a fund has in bids and holdings like a lot: of its lane, in its market, of its borrower; base units. */
type ConcentrationRead = { readonly lane: bigint; readonly market: bigint; readonly borrower: bigint }

/** Read a fund's concentration in what a lot is of; bids count until they are released. */
export const concentrationView = (fund: Address, house: Address, lotId: bigint): View<ConcentrationRead> =>
  bid(
    'concentrationAt',
    fund,
    [house, lotId],
    z.tuple([uint, uint, uint]).transform(([lane, market, borrower]) => ({ lane, market, borrower })),
  )

/** What a fund may do over a channel. */
export type ChannelRead = {
  readonly enabled: boolean
  readonly maxAssetsPerEpoch: bigint
  readonly maxPriceBps: bigint
  readonly maxPositionBps: bigint
}

/** Read a fund's policy for a channel. */
export const channelView = (fund: Address, name: string): View<ChannelRead> =>
  channel(
    'channelPolicy',
    fund,
    [stringToHex(name, { size: 32 })],
    z
      .tuple([z.boolean(), uint, uint, uint])
      .transform(([enabled, maxAssetsPerEpoch, maxPriceBps, maxPositionBps]) => ({
        enabled,
        maxAssetsPerEpoch,
        maxPriceBps,
        maxPositionBps,
      })),
  )

/** Read whether an account may govern a vault's mobility. */
export const roleView = (vault: Address, account: Address): View<boolean> =>
  mobility('hasRole', vault, [VAULT_ROLE_IDS.manager, account], z.boolean())

/** Read a figure of a vault's mobility. */
export const mobilityView = (
  vault: Address,
  name: 'transferProfile' | 'restoreAfter' | 'mobilityEpoch',
): View<bigint> => mobility(name, vault, [], uint)

/** Read what a vault has in a market, base units of its asset. */
export const allocatedView = (market: Address, vault: Address): View<bigint> =>
  trouble('allocatedAssets', market, [vault], uint)

/** Read whether a vault's shares stand still. */
export const standsStillView = (vault: Address): View<boolean> =>
  mobility('shareMobilityPaused', vault, [], z.boolean())

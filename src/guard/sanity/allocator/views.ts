import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import { createView, uint, type View } from '../../reads/views.ts'
import { VAULT_ROLE_IDS } from '../vault-views.ts'

/** What a reallocation is judged by: the vault, the markets that it touches, and their oracles. */
export const ALLOCATION_VIEWS = parseAbi([
  'function hasRole(bytes32 role, address account) view returns (bool)',
  'function totalAssets() view returns (uint256)',
  'function idleAssets() view returns (uint256)',
  'function queuedAssets() view returns (uint256)',
  'function liquidityBufferBps() view returns (uint16)',
  'function listing(address market) view returns ((bool approved, bool allocationEnabled, uint16 relativeCapBps, uint256 absoluteCapAssets))',
  'function allocatedAssets(address vault) view returns (uint256)',
  'function partition(address vault) view returns (uint256 cash, uint256 debtAssets, uint256 badDebtAssets)',
  'function utilizationWad() view returns (uint256)',
  'function paused() view returns (bool)',
  'function exitTerms() view returns ((uint8 kind, uint64 noticeSeconds, uint64 intervalSeconds, uint64 maturityTimestamp))',
])
const view = createView(ALLOCATION_VIEWS)

/** Read whether an account may move a vault's assets. */
export const allocatorView = (vault: Address, account: Address): View<boolean> =>
  view('hasRole', vault, [VAULT_ROLE_IDS.allocator, account], z.boolean())

/** Read what a vault is worth, what lies idle in it, or what its queue is worth; base units. */
export const vaultAssetsView = (
  name: 'totalAssets' | 'idleAssets' | 'queuedAssets',
  vault: Address,
): View<bigint> => view(name, vault, [], uint)

/** Read the part of a vault that allocation leaves idle, basis points. */
export const bufferView = (vault: Address): View<bigint> => view('liquidityBufferBps', vault, [], uint)

/** A vault's terms for one of its markets. */
type Listing = {
  readonly approved: boolean
  readonly allocationEnabled: boolean
  readonly relativeCapBps: bigint
  readonly absoluteCapAssets: bigint
}

/** Read a vault's terms for a market. */
export const listingView = (vault: Address, market: Address): View<Listing> =>
  view(
    'listing',
    vault,
    [market],
    z.object({
      approved: z.boolean(),
      allocationEnabled: z.boolean(),
      relativeCapBps: uint,
      absoluteCapAssets: uint,
    }),
  )

/** Read what a vault has in a market, base units. */
export const allocatedView = (market: Address, vault: Address): View<bigint> =>
  view('allocatedAssets', market, [vault], uint)

/** Read what a vault can withdraw from a market at once, base units. */
export const cashView = (market: Address, vault: Address): View<bigint> =>
  view(
    'partition',
    market,
    [vault],
    z.tuple([uint, uint, uint]).transform(([cash]) => cash),
  )

/** Read how much of a market is lent out, as a wad. */
export const utilizationView = (market: Address): View<bigint> => view('utilizationWad', market, [], uint)

/** Read whether a market is paused. */
export const marketPausedView = (market: Address): View<boolean> => view('paused', market, [], z.boolean())

/** How a vault's holders leave: its kind of terms, and the chain second at which it is wound up. */
type ExitTerms = { readonly kind: bigint; readonly maturityTimestamp: bigint }

/** Read how a vault's holders leave. */
export const exitTermsView = (vault: Address): View<ExitTerms> =>
  view('exitTerms', vault, [], z.object({ kind: uint, maturityTimestamp: uint }))

import type { Address } from 'viem'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { freeAssets } from '../../indexer/exit-terms.ts'
import { lower } from '../../indexer/logs.ts'
import type { ChannelRead, VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import type { Expectation } from './preparer.ts'
import { assetsOf, depositShares, vaultIn } from './vault-shares.ts'

/** The contract's virtual shares, beside one virtual share of its vault. */
const VIRTUAL_SHARES = 1_000_000n

/** A channel with the vault that it wraps: what its shares are worth follows from both. */
export type Wrapped = { readonly channel: ChannelRead; readonly vault: VaultRead }

/** Find a channel that the chain knows. Pure. */
export const channelIn = ({ channels }: Snapshot, address: string): ChannelRead | undefined =>
  channels.find((channel) => same(channel.address, address))

/** Find a channel and its vault. Pure. */
export function wrappedIn(snapshot: Snapshot, address: string): Wrapped | undefined {
  const channel = channelIn(snapshot, address)
  const vault = channel && vaultIn(snapshot, channel.state.vault)
  return vault && { channel, vault }
}

/** Return the shares of a channel that a deposit of so many assets would give now, rounded down twice as the contract does. Pure. */
export const channelDepositShares = ({ channel, vault }: Wrapped, assets: bigint): bigint =>
  (depositShares(vault.state, assets) * issued(channel)) / claimed(channel)

/** Return what so many shares of a channel are worth now, rounded down twice as the contract does. Pure. */
export const channelAssetsOf = ({ channel, vault }: Wrapped, shares: bigint): bigint =>
  assetsOf(vault.state, (shares * claimed(channel)) / issued(channel))

/** Return how many of so many shares of a channel its vault could pay out now, as the contract bounds a redemption. Pure. */
export function payableShares({ channel, vault }: Wrapped, shares: bigint): bigint {
  const held = channel.state.vaultShares
  const idle = depositShares(vault.state, freeAssets(vault.state))
  const free = held < idle ? held : idle
  const needed = (shares * claimed(channel)) / issued(channel)
  return needed <= free ? shares : (free * issued(channel)) / claimed(channel)
}

const issued = ({ state }: ChannelRead): bigint => state.totalSupply + VIRTUAL_SHARES

/** The vault shares that all shares of a channel stand for. */
const claimed = ({ state }: ChannelRead): bigint => state.vaultShares + 1n

/** Return the shares of a channel that a wallet holds. Pure. */
export const channelSharesOf = ({ entry }: ChannelRead, wallet: string): bigint =>
  entry.shares.get(wallet.toLowerCase()) ?? 0n

/**
 * Say why a channel moves nothing for these accounts: it is blocked whole, which its own address stands for, or one of them is
 * in it. Pure.
 */
export function judgeBlocks(
  { address, entry }: ChannelRead,
  accounts: readonly Address[],
): readonly string[] {
  if (entry.blocked.has(address)) return ['channel_blocked']
  return accounts.some((account) => entry.blocked.has(lower(account))) ? ['account_blocked'] : []
}

/** State how many shares of a wrapper a wallet then holds. Pure. */
export const heldWrapperShares = (
  wrapper: string,
  wallet: string,
  op: 'gte' | 'lte',
  shares: bigint,
): Expectation => ({
  entityType: 'wrapper_position',
  entityId: entityIdOf(wrapper, wallet),
  field: 'shares',
  expected: { op, value: String(shares) },
})

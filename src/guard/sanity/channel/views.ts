import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import { address, createView, uint, type View } from '../../reads/views.ts'

/** What an act on a partner's channel is judged by: the channel, which is an ERC-4626 wrapper of one vault. */
export const CHANNEL_VIEWS = parseAbi([
  'function vault() view returns (address)',
  'function asset() view returns (address)',
  'function reseller() view returns (address)',
  'function curator() view returns (address)',
  'function isBlocked(address account) view returns (bool)',
  'function convertToAssets(uint256 shares) view returns (uint256)',
  'function previewDeposit(uint256 assets) view returns (uint256)',
  'function previewRedeem(uint256 shares) view returns (uint256)',
  'function feeShares() view returns (uint256)',
  'function borrowerFeeAssets() view returns (uint256)',
  'function feeSharesClaimed() view returns (uint256)',
  'function borrowerFeeClaimed() view returns (uint256)',
])
const view = createView(CHANNEL_VIEWS)

/** Read which vault a channel wraps, what it is paid in, who earns its fees, or who may block its accounts. */
export const channelPartyView = (
  channel: Address,
  name: 'vault' | 'asset' | 'reseller' | 'curator',
): View<Address> => view(name, channel, [], address)

/** Read whether an account may not use a channel; the channel's own address stands for everybody. */
export const blockedView = (channel: Address, account: Address): View<boolean> =>
  view('isBlocked', channel, [account], z.boolean())

/** Read what an amount comes to: shares of a deposit, or assets of shares; base units. */
export const conversionView = (
  channel: Address,
  name: 'convertToAssets' | 'previewDeposit' | 'previewRedeem',
  amount: bigint,
): View<bigint> => view(name, channel, [amount], uint)

/** Read what the reseller can claim, or ever claimed; shares, or base units of the asset. */
export const claimableView = (
  channel: Address,
  name: 'feeShares' | 'borrowerFeeAssets' | 'feeSharesClaimed' | 'borrowerFeeClaimed',
): View<bigint> => view(name, channel, [], uint)

import { type Address, encodeFunctionData } from 'viem'
import { invariant } from '../../../src/errors.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { partnerChannelAbi } from '../../contracts/abis.ts'
import { same } from '../same.ts'
import {
  channelAssetsOf,
  channelDepositShares,
  channelIn,
  channelSharesOf,
  heldWrapperShares,
  judgeBlocks,
  payableShares,
  type Wrapped,
  wrappedIn,
} from './channel-shares.ts'
import { approval, intents } from './intents.ts'
import { insistedOn, judgeDepositLimits, judgeExit, judgeHolder } from './lender.ts'
import {
  blocked,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
} from './preparer.ts'

type DepositInput = WorkflowInput<'role.investor.partnerWrapperDeposit'>
type RedeemInput = WorkflowInput<'role.investor.partnerWrapperRedeem'>

const REVALIDATE = ['channel_open', 'intent_not_expired'] as const

/** What holders put into a vault through a partner's wrapper of it, and take out again. */
export const wrapper: Family = {
  preparers: [
    preparer('role.investor.partnerWrapperDeposit', deposit),
    preparer('role.partner.partnerWrapperDeposit', deposit),
    preparer('role.investor.partnerWrapperRedeem', redeem),
    preparer('role.partner.partnerWrapperRedeem', redeem),
  ],
  fields: {
    wrapper_position: (snapshot, entityId, field) => {
      const [wrapperAddress = '', wallet = ''] = entityId.split(':')
      const channel = channelIn(snapshot, wrapperAddress)
      return channel === undefined || field !== 'shares'
        ? undefined
        : String(channelSharesOf(channel, wallet))
    },
  },
}

async function deposit(input: DepositInput, moment: Moment, reads: Reads): Promise<Judgement> {
  const { snapshot, principal } = moment
  const wrapped = wrappedIn(snapshot, input.wrapperAddress)
  const [assets, minShares] = [BigInt(input.assets), BigInt(input.minShares)]
  const reasons = judgeHolder(moment, assets, input.receiverAddress)
  if (wrapped === undefined) return blocked(null, [...reasons, 'channel_not_found'], REVALIDATE)
  const { channel } = wrapped
  const { address, state } = channel
  if (principal === null) return blocked(state, reasons, REVALIDATE)
  const shares = channelDepositShares(wrapped, assets)
  reasons.push(...judgePassage(wrapped, [principal, input.receiverAddress]))
  reasons.push(...judgeIntake(wrapped, assets))
  if (minShares > shares) reasons.push('min_shares_above_preview')
  if (assets > 0n && shares === 0n) reasons.push('rounds_to_zero_shares')
  if ((await reads.balanceOf(state.asset.token, principal)) < assets) {
    reasons.push('principal_balance_too_small')
  }
  if (reasons.length > 0) return blocked(state, reasons, REVALIDATE)
  const calldata = encodeFunctionData({
    abi: partnerChannelAbi,
    functionName: 'depositNow',
    args: [assets, input.receiverAddress, minShares],
  })
  const drafts = [
    approval(state.asset.token, address, assets),
    { target: address, calldata, label: `Deposit ${assets} base units through the wrapper` },
  ]
  const before = channelSharesOf(channel, input.receiverAddress)
  return passed(
    state,
    intents(reads.chainId, drafts),
    [heldWrapperShares(address, input.receiverAddress, 'gte', before + insistedOn(minShares))],
    REVALIDATE,
  )
}

function judgePassage({ channel }: Wrapped, accounts: readonly Address[]): readonly string[] {
  const reasons = [...judgeBlocks(channel, accounts)]
  // What is in the channel without a share of it is everybody's, and its own shares are its reseller's.
  if (accounts.some((account) => same(account, channel.address))) reasons.push('receiver_is_channel')
  return reasons
}

/**
 * What the channel takes at most, and what its vault asks of whoever deposits: here that is the channel, for itself. That the
 * vault may pay by notice alone holds nobody back: the channel's holders have its queue.
 */
function judgeIntake({ channel, vault }: Wrapped, assets: bigint): readonly string[] {
  const reasons: string[] = []
  if (channel.state.totalAssets + assets > channel.state.capAssets) reasons.push('above_channel_cap')
  if (vault.state.mobility.paused) reasons.push('share_mobility_paused')
  reasons.push(...judgeDepositLimits(vault.state, assets))
  return reasons
}

function redeem(input: RedeemInput, moment: Moment, { chainId }: Reads): Judgement {
  const { snapshot, principal } = moment
  const wrapped = wrappedIn(snapshot, input.wrapperAddress)
  const [shares, minAssets] = [BigInt(input.shares), BigInt(input.minAssets)]
  if (wrapped === undefined) {
    const reasons = judgeHolder(moment, shares, input.receiverAddress)
    return blocked(null, [...reasons, 'channel_not_found'], REVALIDATE)
  }
  const { channel } = wrapped
  const { address, state } = channel
  const assets = channelAssetsOf(wrapped, shares)
  // Shares that are worth nothing are no amount.
  const reasons = judgeHolder(moment, assets, input.receiverAddress)
  const accounts = principal === null ? [] : [principal, input.receiverAddress]
  reasons.push(...judgePassage(wrapped, accounts))
  const held = principal === null ? 0n : channelSharesOf(channel, principal)
  if (principal !== null && shares > held) reasons.push('principal_shares_too_few')
  if (minAssets > assets) reasons.push('min_assets_above_preview')
  reasons.push(...judgePayment(wrapped, shares, shares > held ? shares : held))
  if (reasons.length > 0) return blocked(state, reasons, REVALIDATE)
  invariant(principal !== null, 'a redemption that may pass has its holder')
  const calldata = encodeFunctionData({
    abi: partnerChannelAbi,
    functionName: 'redeemNow',
    args: [shares, input.receiverAddress, minAssets],
  })
  return passed(
    state,
    intents(chainId, [{ target: address, calldata, label: `Redeem ${shares} shares of the wrapper` }]),
    [heldWrapperShares(address, principal, 'lte', held - shares)],
    REVALIDATE,
  )
}

/** Why so many shares are not paid out at once; what is idle matters only where the vault pays at once. */
function judgePayment(wrapped: Wrapped, shares: bigint, most: bigint): readonly string[] {
  const exit = judgeExit(wrapped.vault)
  if (exit.length > 0) return exit
  return shares > payableShares(wrapped, most) ? ['insufficient_idle'] : []
}

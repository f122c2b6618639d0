import { type Address, encodeFunctionData, zeroAddress } from 'viem'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { partnerChannelAbi } from '../../contracts/abis.ts'
import { freeAssets } from '../../indexer/exit-terms.ts'
import type { ChannelRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { channelIn, judgeBlocks } from './channel-shares.ts'
import { intents } from './intents.ts'
import { insistedOn, judgeExit } from './lender.ts'
import {
  blocked,
  type Expectation,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

const FEE_SHARES = 'role.partner.partnerFeeSharesClaim'
const BORROWER_FEE = 'role.partner.partnerBorrowerFeeClaim'
const REVALIDATE = ['channel_reseller', 'intent_not_expired'] as const

/** What a channel's reseller earned, claimed: its yearly fee in shares, and its part of borrowers' interest in assets. */
export const channelClaims: Family = {
  preparers: [preparer(FEE_SHARES, claimFeeShares), preparer(BORROWER_FEE, claimBorrowerFee)],
  fields: {
    partner_fee_shares: (snapshot, entityId, field) =>
      field === 'claimedShares' ? text(channelIn(snapshot, entityId)?.state.feeSharesClaimed) : undefined,
    partner_borrower_fee: (snapshot, entityId, field) =>
      field === 'claimedAssets' ? text(channelIn(snapshot, entityId)?.state.borrowerFeeClaimed) : undefined,
  },
}

const text = (figure: bigint | undefined) => (figure === undefined ? undefined : String(figure))

/** Say what every claim asks: who, from which channel, and to whom. */
function judgeClaim(
  channel: ChannelRead | undefined,
  { freshness, principal }: Moment,
  recipient: Address,
): string[] {
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (channel === undefined) return [...reasons, 'channel_not_found']
  if (principal !== null) {
    if (!same(channel.state.reseller, principal)) reasons.push('principal_not_reseller')
    reasons.push(...judgeBlocks(channel, [principal, recipient]))
  }
  if (same(recipient, channel.address)) reasons.push('recipient_is_channel')
  if (same(recipient, zeroAddress)) reasons.push('recipient_is_zero')
  return reasons
}

function claimFeeShares(
  input: WorkflowInput<typeof FEE_SHARES>,
  moment: Moment,
  { chainId }: Reads,
): Judgement {
  const channel = channelIn(moment.snapshot, input.channelAddress)
  const shares = BigInt(input.shares)
  const reasons = judgeClaim(channel, moment, input.recipientAddress)
  if (channel === undefined) return blocked(null, reasons, REVALIDATE)
  const { address, state } = channel
  if (shares === 0n) reasons.push('amount_is_zero')
  if (shares > state.feeShares) reasons.push('fee_shares_too_few')
  if (reasons.length > 0) return blocked(state, reasons, REVALIDATE)
  const calldata = encodeFunctionData({
    abi: partnerChannelAbi,
    functionName: 'claimFeeShares',
    args: [shares, input.recipientAddress],
  })
  return passed(
    state,
    intents(chainId, [{ target: address, calldata, label: `Claim ${shares} fee shares` }]),
    [claimed('partner_fee_shares', address, 'claimedShares', state.feeSharesClaimed + shares)],
    REVALIDATE,
  )
}

function claimBorrowerFee(
  input: WorkflowInput<typeof BORROWER_FEE>,
  moment: Moment,
  { chainId }: Reads,
): Judgement {
  const channel = channelIn(moment.snapshot, input.channelAddress)
  const minAssets = BigInt(input.minAssets)
  const reasons = judgeClaim(channel, moment, input.recipientAddress)
  if (channel === undefined) return blocked(null, reasons, REVALIDATE)
  const { address, state } = channel
  if (state.borrowerFeeAssets === 0n) reasons.push('nothing_to_claim')
  if (minAssets > state.borrowerFeeAssets) reasons.push('min_assets_above_preview')
  const vault = vaultIn(moment.snapshot, state.vault)
  if (vault !== undefined) {
    reasons.push(...judgeExit(vault))
    if (state.borrowerFeeAssets > freeAssets(vault.state)) reasons.push('insufficient_idle')
  }
  if (reasons.length > 0) return blocked(state, reasons, REVALIDATE)
  const calldata = encodeFunctionData({
    abi: partnerChannelAbi,
    functionName: 'claimBorrowerFee',
    args: [input.recipientAddress, minAssets],
  })
  const least = state.borrowerFeeClaimed + insistedOn(minAssets)
  return passed(
    state,
    intents(chainId, [{ target: address, calldata, label: "Claim the reseller's part of the interest" }]),
    [claimed('partner_borrower_fee', address, 'claimedAssets', least)],
    REVALIDATE,
  )
}

const claimed = (entityType: string, channel: string, field: string, least: bigint): Expectation => ({
  entityType,
  entityId: channel,
  field,
  expected: { op: 'gte', value: String(least) },
})

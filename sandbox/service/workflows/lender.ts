import { type Address, encodeFunctionData, zeroAddress } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import { TRANSFER_PROFILES } from '../../../src/service/contract/workflow-inputs.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import type { VaultState } from '../../indexer/chain-reader.ts'
import { dueAtS, freeAssets } from '../../indexer/exit-terms.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { approval, intents } from './intents.ts'
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
import { depositShares, sharesOf, vaultIn, withdrawalShares } from './vault-shares.ts'

/** What lenders put into a vault, and take out of what is idle. */
export const lender: Family = {
  preparers: [preparer('deposit', deposit), preparer('withdrawNow', withdrawNow)],
  fields: {
    vault_position: (snapshot, entityId, field) => {
      const [vaultAddress = '', wallet = ''] = entityId.split(':')
      const vault = vaultIn(snapshot, vaultAddress)
      return vault === undefined || field !== 'shares' ? undefined : String(sharesOf(vault, wallet))
    },
  },
}

/** State how many shares a wallet then holds in a vault. Pure. */
export const heldShares = (
  vault: string,
  wallet: string,
  op: 'gte' | 'lte',
  shares: bigint,
): Expectation => ({
  entityType: 'vault_position',
  entityId: entityIdOf(vault, wallet),
  field: 'shares',
  expected: { op, value: String(shares) },
})

/** Say what every move of a holder asks: who, how much, and to whom. Pure. */
export function judgeHolder({ freshness, principal }: Moment, amount: bigint, receiver: string): string[] {
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (amount === 0n) reasons.push('amount_is_zero')
  if (same(receiver, zeroAddress)) reasons.push('receiver_is_zero')
  return reasons
}

async function deposit(input: WorkflowInput<'deposit'>, moment: Moment, reads: Reads): Promise<Judgement> {
  const { snapshot, principal } = moment
  const vault = vaultIn(snapshot, input.vaultAddress)
  const [assets, minShares] = [BigInt(input.assets), BigInt(input.minShares)]
  const reasons = judgeHolder(moment, assets, input.receiverAddress)
  if (vault === undefined || principal === null) {
    return blocked(null, vault === undefined ? [...reasons, 'vault_not_found'] : reasons)
  }
  const { state } = vault
  const shares = depositShares(state, assets)
  if (same(input.receiverAddress, vault.address)) reasons.push('receiver_is_vault')
  reasons.push(...judgeRecipient(state, principal, input.receiverAddress))
  reasons.push(...judgeDepositLimits(state, assets))
  if (minShares > shares) reasons.push('min_shares_above_preview')
  if (assets > 0n && shares === 0n) reasons.push('rounds_to_zero_shares')
  if ((await reads.balanceOf(state.asset.token, principal)) < assets) {
    reasons.push('principal_balance_too_small')
  }
  if (reasons.length > 0) return blocked(state, reasons)
  const calldata = encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'depositNow',
    args: [assets, input.receiverAddress, minShares],
  })
  const drafts = [
    approval(state.asset.token, vault.address, assets),
    { target: vault.address, calldata, label: `Deposit ${assets} base units` },
  ]
  const before = sharesOf(vault, input.receiverAddress)
  return passed(state, intents(reads.chainId, drafts), [
    heldShares(vault.address, input.receiverAddress, 'gte', before + insistedOn(minShares)),
  ])
}

/**
 * Say why shares cannot come to `taker` by `giver`, in a transfer or a deposit: what stays with oneself asks only that nothing
 * is paused. Pure.
 */
export function judgeRecipient({ mobility }: VaultState, giver: Address, taker: Address): readonly string[] {
  if (mobility.paused) return ['share_mobility_paused']
  const profile = TRANSFER_PROFILES[mobility.transferProfile]
  if (profile === 'open' || same(giver, taker)) return []
  if (profile === 'frozen') return ['transfers_frozen']
  return mobility.trustedRecipients.some((one) => same(one, taker)) ? [] : ['recipient_not_trusted']
}

/** Say whether one deposit is smaller or larger than its vault takes; a largest one of zero is no bound. Pure. */
export function judgeDepositLimits(
  { minDepositAssets, maxDepositAssets }: VaultState,
  assets: bigint,
): readonly string[] {
  if (assets < minDepositAssets) return ['below_min_deposit']
  return maxDepositAssets > 0n && assets > maxDepositAssets ? ['above_max_deposit'] : []
}

function withdrawNow(input: WorkflowInput<'withdrawNow'>, moment: Moment, { chainId }: Reads): Judgement {
  const { snapshot, principal } = moment
  const vault = vaultIn(snapshot, input.vaultAddress)
  const [assets, maxShares] = [BigInt(input.assets), BigInt(input.maxShares)]
  const reasons = judgeHolder(moment, assets, input.receiverAddress)
  if (vault === undefined) return blocked(null, [...reasons, 'vault_not_found'])
  const { state } = vault
  const shares = withdrawalShares(state, assets)
  reasons.push(...judgeExit(vault))
  if (assets > freeAssets(state)) reasons.push('insufficient_idle')
  if (principal !== null && shares > sharesOf(vault, principal)) reasons.push('principal_shares_too_few')
  if (shares > maxShares) reasons.push('max_shares_below_preview')
  if (reasons.length > 0) return blocked(state, reasons)
  invariant(principal !== null, 'a withdrawal that may pass has its holder')
  const calldata = encodeFunctionData({
    abi: lendingVaultAbi,
    functionName: 'withdrawNow',
    args: [assets, input.receiverAddress, maxShares],
  })
  // How many shares pay for it is known once it is mined: at least one.
  return passed(
    state,
    intents(chainId, [{ target: vault.address, calldata, label: `Withdraw ${assets} base units` }]),
    [heldShares(vault.address, principal, 'lte', sharesOf(vault, principal) - 1n)],
  )
}

/** Say why a vault pays nobody at once: it is frozen, or its exit terms ask for a place in its queue. Pure. */
export function judgeExit({ state }: VaultRead): readonly string[] {
  if (state.mobility.redeemFreezeReason !== '') return ['redemption_frozen']
  const nowS = Number(state.blockTimestamp)
  return dueAtS(state.exitTerms, nowS) > nowS ? ['exit_terms_require_request'] : []
}

/**
 * Return what a caller insists on, and at least one unit: a price may move until the transaction is mined, and what went
 * through as the caller asked must not stay short of its end for that. Pure.
 */
export const insistedOn = (least: bigint): bigint => (least > 0n ? least : 1n)

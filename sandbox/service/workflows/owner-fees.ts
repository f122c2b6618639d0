import { encodeFunctionData, zeroAddress } from 'viem'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import { lower } from '../../indexer/logs.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { become, type OwnersCall, ownersAct } from './owner-act.ts'
import { type Family, preparer } from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

type FeeInput = WorkflowInput<'role.vault_owner.vaultFeeConfigUpdate'>
type CuratorFeeInput = WorkflowInput<'role.vault_owner.vaultCuratorFeeSettingsSave'>

/** The contract's highest fees: of all assets a year, of a gain, and of borrowers' interest. */
const MANAGEMENT_FEE_BPS_MAX = 500
const PERFORMANCE_FEE_BPS_MAX = 3_000
const BORROWER_MANAGER_FEE_BPS_MAX = 2_000

/** What a vault charges, and to whom it goes. */
export const ownerFees: Family = {
  preparers: [
    preparer('role.vault_owner.vaultFeeConfigUpdate', ownersAct({ judge: judgeFees, call: setFees })),
    preparer(
      'role.vault_owner.vaultCuratorFeeSettingsSave',
      ownersAct({ judge: judgeCuratorFee, call: setCuratorFee }),
    ),
  ],
  fields: {
    vault_fee_config: (snapshot, entityId, field) => {
      const vault = vaultIn(snapshot, entityId)
      return vault === undefined ? undefined : chargedBy(vault)[field]
    },
  },
}

const chargedBy = ({ state: { feeConfig } }: VaultRead) => {
  const fields: Readonly<Record<string, string>> = {
    managementFeeBps: String(feeConfig.managementFeeBps),
    performanceFeeBps: String(feeConfig.performanceFeeBps),
    recipientAddress: lower(feeConfig.recipient),
    borrowerManagerFeeBps: String(feeConfig.borrowerManagerFeeBps),
    curatorRecipientAddress: lower(feeConfig.curatorRecipient),
  }
  return fields
}

const feesOf = ({ managementFeeBps, performanceFeeBps, recipientAddress }: FeeInput) => ({
  managementFeeBps: String(managementFeeBps),
  performanceFeeBps: String(performanceFeeBps),
  recipientAddress: lower(recipientAddress),
})

const curatorFeeOf = ({ borrowerManagerFeeBps, recipientAddress }: CuratorFeeInput) => ({
  borrowerManagerFeeBps: String(borrowerManagerFeeBps),
  curatorRecipientAddress: lower(recipientAddress),
})

function judgeFees(input: FeeInput, vault: VaultRead): readonly string[] {
  const { managementFeeBps, performanceFeeBps, recipientAddress } = input
  const above = managementFeeBps > MANAGEMENT_FEE_BPS_MAX || performanceFeeBps > PERFORMANCE_FEE_BPS_MAX
  return judgeCharge(managementFeeBps + performanceFeeBps, above, recipientAddress, feesOf(input), vault)
}

function judgeCuratorFee(input: CuratorFeeInput, vault: VaultRead): readonly string[] {
  const { borrowerManagerFeeBps, recipientAddress } = input
  const above = borrowerManagerFeeBps > BORROWER_MANAGER_FEE_BPS_MAX
  return judgeCharge(borrowerManagerFeeBps, above, recipientAddress, curatorFeeOf(input), vault)
}

/** Nobody needs to be paid where nothing is charged; what the vault itself holds is its queue's. */
function judgeCharge(
  feeBps: number,
  above: boolean,
  recipient: string,
  next: Readonly<Record<string, string>>,
  vault: VaultRead,
): readonly string[] {
  const reasons: string[] = []
  if (above) reasons.push('fee_above_cap')
  if (feeBps > 0 && same(recipient, zeroAddress)) reasons.push('recipient_is_zero')
  if (same(recipient, vault.address)) reasons.push('recipient_is_vault')
  const now = chargedBy(vault)
  if (Object.entries(next).every(([field, value]) => now[field] === value)) reasons.push('fees_unchanged')
  return reasons
}

function setFees(input: FeeInput, { address }: VaultRead): OwnersCall {
  const { managementFeeBps, performanceFeeBps, recipientAddress } = input
  return {
    calldata: encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: 'setFeeConfig',
      args: [managementFeeBps, performanceFeeBps, recipientAddress],
    }),
    label: `Charge ${managementFeeBps} bps a year and ${performanceFeeBps} bps of gains`,
    postconditions: become('vault_fee_config', address, feesOf(input)),
  }
}

function setCuratorFee(input: CuratorFeeInput, { address }: VaultRead): OwnersCall {
  const { borrowerManagerFeeBps, recipientAddress } = input
  return {
    calldata: encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: 'setCuratorFee',
      args: [borrowerManagerFeeBps, recipientAddress],
    }),
    label: `Charge ${borrowerManagerFeeBps} bps of borrowers' interest`,
    postconditions: become('vault_fee_config', address, curatorFeeOf(input)),
  }
}

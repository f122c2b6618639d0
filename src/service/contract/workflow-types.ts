import { z } from 'zod'
import type { Role } from './roles.ts'
import * as inputs from './workflow-inputs.ts'

/** A type that no role agent proposes: what its input holds is not shown, and no assumption is made. */
const anyInput = z.record(z.string(), z.unknown())

/** Intents that an outside wallet signs; preparing them changes nothing. */
const onchain = <R extends string | null, N extends string, I extends z.ZodType>(
  role: R,
  name: N,
  input: I,
) => ({
  role,
  name,
  input,
  eventType: `workflow.${name}.updated` as const,
  executionMode: 'onchain_transaction' as const,
  custodyBoundary: 'external_wallet_required' as const,
})

/** A request or a setting that lives at the service: preparing it is the effect. */
const metadataOnly = <R extends string, N extends string>(role: R, name: N) => ({
  role,
  name,
  input: anyInput,
  eventType: `workflow.${name}.updated` as const,
  executionMode: 'metadata_only' as const,
  custodyBoundary: 'wallet_session_authenticated' as const,
})

/**
 * Every workflow type of the service: who proposes it, its name in events, its input, and how it is carried out, pinned. An answer
 * with another execution mode or custody boundary is refused, because for `metadata_only` and
 * `wallet_session_authenticated` the POST itself may be the effect. Types and roles are documented; inputs, execution
 * modes, and event names that the document's list ends before are assumed.
 * Source: service API, "POST /v1/workflows/prepare" and "Event types".
 */
export const SERVICE_CATALOGUE = {
  borrow: onchain(null, 'borrow', inputs.borrowInput),
  claimWithdrawal: onchain(null, 'claimWithdrawal', inputs.claimWithdrawalInput),
  deposit: onchain(null, 'deposit', inputs.depositInput),
  depositCollateral: onchain(null, 'depositCollateral', inputs.collateralInput),
  liquidate: onchain(null, 'liquidate', inputs.liquidateInput),
  repay: onchain(null, 'repay', inputs.repayInput),
  requestWithdrawal: onchain(null, 'requestWithdrawal', inputs.requestWithdrawalInput),
  settleLiquidationClaim: onchain(null, 'settleLiquidationClaim', inputs.settleLiquidationClaimInput),
  withdrawCollateral: onchain(null, 'withdrawCollateral', inputs.collateralInput),
  withdrawNow: onchain(null, 'withdrawNow', inputs.withdrawNowInput),
  'role.allocator.vaultAllocate': onchain('allocator', 'vaultAllocate', inputs.allocationInput),
  'role.allocator.vaultDeallocate': onchain('allocator', 'vaultDeallocate', inputs.allocationInput),
  'role.allocator.vaultReallocationBatch': onchain(
    'allocator',
    'vaultReallocationBatch',
    inputs.reallocationInput,
  ),
  'role.asset_issuer.assetSubmissionRequestCreate': metadataOnly(
    'asset_issuer',
    'assetSubmissionRequestCreate',
  ),
  'role.asset_manager.distressedRecoveryAcquisitionV3Bid': onchain(
    'asset_manager',
    'distressedRecoveryAcquisitionV3Bid',
    inputs.acquisitionBidInput,
  ),
  'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet': onchain(
    'asset_manager',
    'distressedRecoveryFundV3ChannelPolicySet',
    inputs.channelPolicyInput,
  ),
  'role.asset_manager.distressedRecoveryFundV3SelfLaunch': onchain(
    'asset_manager',
    'distressedRecoveryFundV3SelfLaunch',
    inputs.selfLaunchInput,
  ),
  'role.asset_manager.vaultDeploy': onchain('asset_manager', 'vaultDeploy', inputs.vaultDeployInput),
  'role.asset_manager.vaultShareMobilityManagerAction': onchain(
    'asset_manager',
    'vaultShareMobilityManagerAction',
    inputs.shareMobilityInput,
  ),
  'role.borrower.borrowerBorrow': onchain('borrower', 'borrowerBorrow', inputs.borrowInput),
  'role.borrower.borrowerDepositCollateral': onchain(
    'borrower',
    'borrowerDepositCollateral',
    inputs.collateralInput,
  ),
  'role.borrower.borrowerRepay': onchain('borrower', 'borrowerRepay', inputs.repayInput),
  'role.borrower.borrowerWithdrawCollateral': onchain(
    'borrower',
    'borrowerWithdrawCollateral',
    inputs.collateralInput,
  ),
  'role.curator.partnerChannelBlockedUpdate': onchain('curator', 'partnerChannelBlockedUpdate', anyInput),
  'role.curator.partnerChannelDeploy': onchain('curator', 'partnerChannelDeploy', anyInput),
  'role.curator.vaultMarketListingSave': metadataOnly('curator', 'vaultMarketListingSave'),
  'role.investor.partnerWrapperDeposit': onchain('investor', 'partnerWrapperDeposit', anyInput),
  'role.investor.partnerWrapperRedeem': onchain('investor', 'partnerWrapperRedeem', anyInput),
  'role.lender.distressedRecoveryFundV3AuctionBid': onchain(
    'lender',
    'distressedRecoveryFundV3AuctionBid',
    inputs.auctionBidInput,
  ),
  'role.lender.distressedRecoveryFundV3RfqCancelBid': onchain(
    'lender',
    'distressedRecoveryFundV3RfqCancelBid',
    inputs.rfqBidInput,
  ),
  'role.lender.distressedRecoveryFundV3RfqClaimRefund': onchain(
    'lender',
    'distressedRecoveryFundV3RfqClaimRefund',
    inputs.rfqBidInput,
  ),
  'role.lender.distressedRecoveryFundV3RfqFinalize': onchain(
    'lender',
    'distressedRecoveryFundV3RfqFinalize',
    inputs.rfqFinalizeInput,
  ),
  'role.lender.distressedRecoveryFundV3RfqPlaceBid': onchain(
    'lender',
    'distressedRecoveryFundV3RfqPlaceBid',
    inputs.rfqPlaceBidInput,
  ),
  'role.lender.distressedRecoveryFundV3RfqReplaceBid': onchain(
    'lender',
    'distressedRecoveryFundV3RfqReplaceBid',
    inputs.rfqReplaceBidInput,
  ),
  'role.lender.investorFulfillRedeem': onchain('lender', 'investorFulfillRedeem', anyInput),
  'role.lender.investorRequestRedeem': onchain('lender', 'investorRequestRedeem', anyInput),
  'role.lender.vaultShareMobilityInvestorAction': onchain(
    'lender',
    'vaultShareMobilityInvestorAction',
    anyInput,
  ),
  'role.liquidator.liquidate': onchain('liquidator', 'liquidate', inputs.liquidateInput),
  'role.liquidator.settleLiquidationClaim': onchain(
    'liquidator',
    'settleLiquidationClaim',
    inputs.settleLiquidationClaimInput,
  ),
  'role.nav_reporter.navReportSignAndSubmit': onchain(
    'nav_reporter',
    'navReportSignAndSubmit',
    inputs.navReportInput,
  ),
  'role.partner.partnerBorrowerFeeClaim': onchain('partner', 'partnerBorrowerFeeClaim', anyInput),
  'role.partner.partnerChannelDeploy': onchain('partner', 'partnerChannelDeploy', anyInput),
  'role.partner.partnerFeeSharesClaim': onchain('partner', 'partnerFeeSharesClaim', anyInput),
  'role.partner.partnerSubmitApplication': metadataOnly('partner', 'partnerSubmitApplication'),
  'role.partner.partnerWrapperDeposit': onchain('partner', 'partnerWrapperDeposit', anyInput),
  'role.partner.partnerWrapperRedeem': onchain('partner', 'partnerWrapperRedeem', anyInput),
  'role.vault_manager.partnerChannelDeploy': onchain('vault_manager', 'partnerChannelDeploy', anyInput),
  'role.vault_owner.attachMarketToVault': onchain('vault_owner', 'attachMarketToVault', anyInput),
  'role.vault_owner.vaultAllocate': onchain('vault_owner', 'vaultAllocate', anyInput),
  'role.vault_owner.vaultAllocatorUpdate': onchain('vault_owner', 'vaultAllocatorUpdate', anyInput),
  'role.vault_owner.vaultCuratorCapsSettingsSave': onchain(
    'vault_owner',
    'vaultCuratorCapsSettingsSave',
    anyInput,
  ),
  'role.vault_owner.vaultCuratorFeeSettingsSave': onchain(
    'vault_owner',
    'vaultCuratorFeeSettingsSave',
    anyInput,
  ),
  'role.vault_owner.vaultDeallocate': onchain('vault_owner', 'vaultDeallocate', anyInput),
  'role.vault_owner.vaultFeeConfigUpdate': onchain('vault_owner', 'vaultFeeConfigUpdate', anyInput),
  'role.vault_owner.vaultManagementSettingsSave': metadataOnly('vault_owner', 'vaultManagementSettingsSave'),
  'role.vault_owner.vaultOwnerSettingsSave': metadataOnly('vault_owner', 'vaultOwnerSettingsSave'),
  'role.vault_owner.vaultOwnerTransferUpdate': onchain('vault_owner', 'vaultOwnerTransferUpdate', anyInput),
  'role.vault_owner.vaultReallocationBatch': onchain('vault_owner', 'vaultReallocationBatch', anyInput),
  'role.vault_owner.vaultRoleSettingsSave': metadataOnly('vault_owner', 'vaultRoleSettingsSave'),
  'role.vault_owner.vaultRoutingUpdate': onchain('vault_owner', 'vaultRoutingUpdate', anyInput),
  'role.vault_owner.vaultSettingsUpdate': onchain('vault_owner', 'vaultSettingsUpdate', anyInput),
} as const

/** What no type of the service does: the calls are the policy's rules with our input, and nobody prepares them. */
const OWN_CATALOGUE = {
  'own.liquidator.sell': { ...onchain('liquidator', 'sell', inputs.sellInput), insistsOn: 'minLoanAssets' },
} as const

/** Every type that a role may propose. */
export const WORKFLOW_CATALOGUE = { ...SERVICE_CATALOGUE, ...OWN_CATALOGUE }

export type WorkflowType = keyof typeof WORKFLOW_CATALOGUE

/** Whether a workflow of a type is our own from end to end: the service neither prepares nor confirms it. Pure. */
export const isOwn = (type: WorkflowType): boolean => Object.hasOwn(OWN_CATALOGUE, type)

/**
 * Name the member of a type's input that says how much has to come at least, where others decide how much more does: they trade
 * at a venue before us. Undefined where what was simulated is what comes. Pure.
 */
export const insistsOn = (type: WorkflowType): string | undefined => {
  const { insistsOn: member }: { readonly role: string | null; readonly insistsOn?: string } =
    WORKFLOW_CATALOGUE[type]
  return member
}

/** What a type's input is once it is parsed. */
export type WorkflowInput<T extends WorkflowType> = z.output<(typeof WORKFLOW_CATALOGUE)[T]['input']>

/** Every workflow type, in the document's order, and then our own. */
export const WORKFLOW_TYPES = Object.keys(WORKFLOW_CATALOGUE) as [WorkflowType, ...WorkflowType[]]

/** Every workflow type of the service, in the document's order. */
export const SERVICE_TYPES = WORKFLOW_TYPES.filter((type) => !isOwn(type))

/** Which agent speaks for a role of the service; a role that is not here has no agent. */
const AGENT_ROLES: Readonly<Record<string, Role>> = {
  liquidator: 'liquidator',
  allocator: 'allocator',
  nav_reporter: 'nav-reporter',
  asset_manager: 'asset-manager',
  lender: 'rfq-bidder',
}

/** Whether it is known what a type's input holds: nothing else can be submitted or judged. Pure. */
export const knowsInput = (type: WorkflowType): boolean => {
  const { input }: { input: z.ZodType } = WORKFLOW_CATALOGUE[type]
  return input !== anyInput
}

/** Name the agent that may propose a type; null when none does. Pure. */
export function agentRoleOf(type: WorkflowType): Role | null {
  const { role } = WORKFLOW_CATALOGUE[type]
  return role === null || !knowsInput(type) ? null : (AGENT_ROLES[role] ?? null)
}

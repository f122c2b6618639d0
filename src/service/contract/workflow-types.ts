import type { z } from 'zod'
import * as channels from './channel-inputs.ts'
import * as ownership from './ownership-inputs.ts'
import type { Role } from './roles.ts'
import * as inputs from './workflow-inputs.ts'

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
const metadataOnly = <R extends string, N extends string, I extends z.ZodType>(
  role: R,
  name: N,
  input: I,
) => ({
  role,
  name,
  input,
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
    channels.assetSubmissionInput,
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
  'role.curator.partnerChannelBlockedUpdate': onchain(
    'curator',
    'partnerChannelBlockedUpdate',
    channels.channelBlockedInput,
  ),
  'role.curator.partnerChannelDeploy': onchain(
    'curator',
    'partnerChannelDeploy',
    channels.channelDeployInput,
  ),
  'role.curator.vaultMarketListingSave': metadataOnly(
    'curator',
    'vaultMarketListingSave',
    channels.marketListingInput,
  ),
  'role.investor.partnerWrapperDeposit': onchain(
    'investor',
    'partnerWrapperDeposit',
    channels.wrapperDepositInput,
  ),
  'role.investor.partnerWrapperRedeem': onchain(
    'investor',
    'partnerWrapperRedeem',
    channels.wrapperRedeemInput,
  ),
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
  'role.lender.investorFulfillRedeem': onchain(
    'lender',
    'investorFulfillRedeem',
    inputs.claimWithdrawalInput,
  ),
  'role.lender.investorRequestRedeem': onchain(
    'lender',
    'investorRequestRedeem',
    inputs.requestWithdrawalInput,
  ),
  'role.lender.vaultShareMobilityInvestorAction': onchain(
    'lender',
    'vaultShareMobilityInvestorAction',
    channels.investorMobilityInput,
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
  'role.partner.partnerBorrowerFeeClaim': onchain(
    'partner',
    'partnerBorrowerFeeClaim',
    channels.borrowerFeeClaimInput,
  ),
  'role.partner.partnerChannelDeploy': onchain(
    'partner',
    'partnerChannelDeploy',
    channels.channelDeployInput,
  ),
  'role.partner.partnerFeeSharesClaim': onchain(
    'partner',
    'partnerFeeSharesClaim',
    channels.feeSharesClaimInput,
  ),
  'role.partner.partnerSubmitApplication': metadataOnly(
    'partner',
    'partnerSubmitApplication',
    channels.partnerApplicationInput,
  ),
  'role.partner.partnerWrapperDeposit': onchain(
    'partner',
    'partnerWrapperDeposit',
    channels.wrapperDepositInput,
  ),
  'role.partner.partnerWrapperRedeem': onchain(
    'partner',
    'partnerWrapperRedeem',
    channels.wrapperRedeemInput,
  ),
  'role.vault_manager.partnerChannelDeploy': onchain(
    'vault_manager',
    'partnerChannelDeploy',
    channels.channelDeployInput,
  ),
  'role.vault_owner.attachMarketToVault': onchain(
    'vault_owner',
    'attachMarketToVault',
    ownership.listingInput,
  ),
  'role.vault_owner.vaultAllocate': onchain('vault_owner', 'vaultAllocate', inputs.allocationInput),
  'role.vault_owner.vaultAllocatorUpdate': onchain(
    'vault_owner',
    'vaultAllocatorUpdate',
    ownership.allocatorUpdateInput,
  ),
  'role.vault_owner.vaultCuratorCapsSettingsSave': onchain(
    'vault_owner',
    'vaultCuratorCapsSettingsSave',
    ownership.listingInput,
  ),
  'role.vault_owner.vaultCuratorFeeSettingsSave': onchain(
    'vault_owner',
    'vaultCuratorFeeSettingsSave',
    ownership.curatorFeeInput,
  ),
  'role.vault_owner.vaultDeallocate': onchain('vault_owner', 'vaultDeallocate', inputs.allocationInput),
  'role.vault_owner.vaultFeeConfigUpdate': onchain(
    'vault_owner',
    'vaultFeeConfigUpdate',
    ownership.feeConfigInput,
  ),
  'role.vault_owner.vaultManagementSettingsSave': metadataOnly(
    'vault_owner',
    'vaultManagementSettingsSave',
    ownership.managementSettingsInput,
  ),
  'role.vault_owner.vaultOwnerSettingsSave': metadataOnly(
    'vault_owner',
    'vaultOwnerSettingsSave',
    ownership.ownerSettingsInput,
  ),
  'role.vault_owner.vaultOwnerTransferUpdate': onchain(
    'vault_owner',
    'vaultOwnerTransferUpdate',
    ownership.ownerTransferInput,
  ),
  'role.vault_owner.vaultReallocationBatch': onchain(
    'vault_owner',
    'vaultReallocationBatch',
    inputs.reallocationInput,
  ),
  'role.vault_owner.vaultRoleSettingsSave': onchain(
    'vault_owner',
    'vaultRoleSettingsSave',
    ownership.roleSettingsInput,
  ),
  'role.vault_owner.vaultRoutingUpdate': onchain('vault_owner', 'vaultRoutingUpdate', ownership.routingInput),
  'role.vault_owner.vaultSettingsUpdate': onchain(
    'vault_owner',
    'vaultSettingsUpdate',
    ownership.vaultSettingsInput,
  ),
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

/**
 * Which role of a keeper speaks for a role of the service. The vault's manager is the asset manager; who issues an asset
 * has it submitted by the curator. A role that is not here belongs to whoever a policy names.
 */
const AGENT_ROLES: Readonly<Record<string, Role>> = {
  liquidator: 'liquidator',
  allocator: 'allocator',
  nav_reporter: 'nav-reporter',
  asset_manager: 'asset-manager',
  vault_manager: 'asset-manager',
  lender: 'rfq-bidder',
  vault_owner: 'vault-owner',
  partner: 'partner',
  curator: 'curator',
  asset_issuer: 'curator',
  investor: 'investor',
}

/** What a lender does as an investor in a vault, and not as a bidder. */
const INVESTOR_TYPES: readonly WorkflowType[] = [
  'role.lender.investorFulfillRedeem',
  'role.lender.investorRequestRedeem',
  'role.lender.vaultShareMobilityInvestorAction',
]

/** Name the role of a keeper that a type belongs to; null when it belongs to none. Pure. */
export function agentRoleOf(type: WorkflowType): Role | null {
  const { role } = WORKFLOW_CATALOGUE[type]
  if (INVESTOR_TYPES.includes(type)) return 'investor'
  return role === null ? null : (AGENT_ROLES[role] ?? null)
}

/**
 * The workflow types and the events of their progress. Source: the document, "POST /v1/workflows/prepare" and
 * "Event types".
 */

const BASE = [
  'borrow',
  'claimWithdrawal',
  'deposit',
  'depositCollateral',
  'liquidate',
  'repay',
  'requestWithdrawal',
  'settleLiquidationClaim',
  'withdrawCollateral',
  'withdrawNow',
] as const

/** By role, in the document's spelling and order. */
const BY_ROLE = {
  allocator: ['vaultAllocate', 'vaultDeallocate', 'vaultReallocationBatch'],
  asset_issuer: ['assetSubmissionRequestCreate'],
  asset_manager: [
    'distressedRecoveryAcquisitionV3Bid',
    'distressedRecoveryFundV3ChannelPolicySet',
    'distressedRecoveryFundV3SelfLaunch',
    'vaultDeploy',
    'vaultShareMobilityManagerAction',
  ],
  borrower: ['borrowerBorrow', 'borrowerDepositCollateral', 'borrowerRepay', 'borrowerWithdrawCollateral'],
  curator: ['partnerChannelBlockedUpdate', 'partnerChannelDeploy', 'vaultMarketListingSave'],
  investor: ['partnerWrapperDeposit', 'partnerWrapperRedeem'],
  lender: [
    'distressedRecoveryFundV3AuctionBid',
    'distressedRecoveryFundV3RfqCancelBid',
    'distressedRecoveryFundV3RfqClaimRefund',
    'distressedRecoveryFundV3RfqFinalize',
    'distressedRecoveryFundV3RfqPlaceBid',
    'distressedRecoveryFundV3RfqReplaceBid',
    'investorFulfillRedeem',
    'investorRequestRedeem',
    'vaultShareMobilityInvestorAction',
  ],
  liquidator: ['liquidate', 'settleLiquidationClaim'],
  nav_reporter: ['navReportSignAndSubmit'],
  partner: [
    'partnerBorrowerFeeClaim',
    'partnerChannelDeploy',
    'partnerFeeSharesClaim',
    'partnerSubmitApplication',
    'partnerWrapperDeposit',
    'partnerWrapperRedeem',
  ],
  vault_manager: ['partnerChannelDeploy'],
  vault_owner: [
    'attachMarketToVault',
    'vaultAllocate',
    'vaultAllocatorUpdate',
    'vaultCuratorCapsSettingsSave',
    'vaultCuratorFeeSettingsSave',
    'vaultDeallocate',
    'vaultFeeConfigUpdate',
    'vaultManagementSettingsSave',
    'vaultOwnerSettingsSave',
    'vaultOwnerTransferUpdate',
    'vaultReallocationBatch',
    'vaultRoleSettingsSave',
    'vaultRoutingUpdate',
    'vaultSettingsUpdate',
  ],
} as const

/** All 61 types, as the request and the answer of prepare name them. */
export const WORKFLOW_TYPES: readonly string[] = [
  ...BASE,
  ...Object.entries(BY_ROLE).flatMap(([role, names]) => names.map((name) => `role.${role}.${name}`)),
]

/** Types that live at the service, so that prepare itself is their effect. Assumed. */
const METADATA_ONLY = [
  'role.asset_issuer.assetSubmissionRequestCreate',
  'role.curator.vaultMarketListingSave',
  'role.partner.partnerSubmitApplication',
  'role.vault_owner.vaultManagementSettingsSave',
  'role.vault_owner.vaultOwnerSettingsSave',
]

/** How a type is carried out, in the values that the document names. Assumed for each type. */
export const modeOf = (type: string) =>
  METADATA_ONLY.includes(type)
    ? { executionMode: 'metadata_only', custodyBoundary: 'wallet_session_authenticated' }
    : { executionMode: 'onchain_transaction', custodyBoundary: 'external_wallet_required' }

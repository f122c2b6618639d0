import { each, type Fields } from './notation.ts'

/**
 * Members of `input` for each type. Assumed as a whole: the document does not show them.
 * Amounts are base units; `…Timestamp` is unix seconds.
 */

const BPS = '!integer(0..)'
const BORROW: Fields = { ...each('marketAddress vaultAddress', '!addr'), assets: '!uint-string' }
const REPAY: Fields = { ...BORROW, borrowerAddress: '!addr' }
const COLLATERAL: Fields = { marketAddress: '!addr', assets: '!uint-string' }
const LIQUIDATION: Fields = {
  ...each('marketAddress vaultAddress borrowerAddress recipientAddress', '!addr'),
  ...each('repayAssets minCollateralAssets', '!uint-string'),
}
const CLAIM: Fields = { marketAddress: '!addr', claimId: '!uint-string' }
const ALLOCATION: Fields = { ...each('vaultAddress marketAddress', '!addr'), assets: '!uint-string' }
const AT_DESK: Fields = { rfqAddress: '!addr', rfqId: '!uint-string' }
const BID: Fields = { ...each('bidAssets expiresTimestamp', '!uint-string') }
const REALLOCATION: Fields = { vaultAddress: '!addr', ...each('withdrawals supplies', '!object[]') }
const LISTING: Fields = {
  ...each('vaultAddress marketAddress', '!addr'),
  absoluteCapAssets: '!uint-string',
  relativeCapBps: BPS,
  allocationEnabled: '!boolean',
}
const CHANNEL: Fields = {
  ...each('vaultAddress assetAddress resellerAddress curatorAddress', '!addr'),
  ...each('name symbol shareClass', '!string'),
  ...each('resellerFeeBps borrowerFeeBps', BPS),
  capAssets: '!uint-string',
}
const WRAPPER_DEPOSIT: Fields = {
  ...each('wrapperAddress receiverAddress', '!addr'),
  ...each('assets minShares', '!uint-string'),
}
const WRAPPER_REDEEM: Fields = {
  ...each('wrapperAddress receiverAddress', '!addr'),
  ...each('shares minAssets', '!uint-string'),
}
const REDEEM_REQUEST: Fields = { ...each('vaultAddress receiverAddress', '!addr'), shares: '!uint-string' }
const REDEEM_CLAIM: Fields = { vaultAddress: '!addr', requestId: '!uint-string' }

/** By type. */
export const WORKFLOW_INPUTS: Readonly<Record<string, Fields>> = {
  borrow: BORROW,
  claimWithdrawal: REDEEM_CLAIM,
  deposit: {
    ...each('vaultAddress receiverAddress', '!addr'),
    ...each('assets minShares', '!uint-string'),
  },
  depositCollateral: COLLATERAL,
  liquidate: LIQUIDATION,
  repay: REPAY,
  requestWithdrawal: REDEEM_REQUEST,
  settleLiquidationClaim: CLAIM,
  withdrawCollateral: COLLATERAL,
  withdrawNow: {
    ...each('vaultAddress receiverAddress', '!addr'),
    ...each('assets maxShares', '!uint-string'),
  },
  'role.allocator.vaultAllocate': ALLOCATION,
  'role.allocator.vaultDeallocate': ALLOCATION,
  'role.allocator.vaultReallocationBatch': REALLOCATION,
  'role.asset_issuer.assetSubmissionRequestCreate': {
    assetAddress: '!addr',
    ...each('name symbol issuerName website topCategory', '!string'),
    decimals: '!integer(0..)',
  },
  'role.asset_manager.distressedRecoveryAcquisitionV3Bid': {
    ...each('fundAddress acquisitionAddress', '!addr'),
    ...each('lotId bidAssets', '!uint-string'),
  },
  'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet': {
    fundAddress: '!addr',
    channel: '!enum(acquisition|auction|rfq)',
    enabled: '!boolean',
    maxAssetsPerEpoch: '!uint-string',
    ...each('maxPriceBps maxPositionBps', BPS),
  },
  'role.asset_manager.distressedRecoveryFundV3SelfLaunch': {
    ...each('name symbol', '!string'),
    quoteAssetAddress: '!addr',
    ...each('epochDurationSeconds minSubscriptionAssets maxSubscriptionAssets', '!uint-string'),
    ...each('carryRateBps performanceFeeBps preferredReturnBps', BPS),
  },
  'role.asset_manager.vaultDeploy': {
    ...each('name symbol', '!string'),
    ...each('baseAssetAddress ownerAddress allocatorAddress managerAddress', '!addr'),
    liquidityBufferBps: BPS,
    exitTermKind: '!enum(instant|notice|interval|maturity)',
    ...each('noticeSeconds intervalSeconds maturityTimestamp', '!uint-string'),
  },
  // Of the four actions the one that the witness takes.
  'role.asset_manager.vaultShareMobilityManagerAction': {
    vaultAddress: '!addr',
    action: '!enum(pause)',
    restoreAfterTimestamp: '!uint-string',
    reason: '!string',
  },
  'role.borrower.borrowerBorrow': BORROW,
  'role.borrower.borrowerDepositCollateral': COLLATERAL,
  'role.borrower.borrowerRepay': REPAY,
  'role.borrower.borrowerWithdrawCollateral': COLLATERAL,
  'role.curator.partnerChannelBlockedUpdate': {
    ...each('channelAddress accountAddress', '!addr'),
    blocked: '!boolean',
  },
  'role.curator.partnerChannelDeploy': CHANNEL,
  'role.curator.vaultMarketListingSave': {
    ...each('vaultAddress marketAddress', '!addr'),
    listed: '!boolean',
  },
  'role.investor.partnerWrapperDeposit': WRAPPER_DEPOSIT,
  'role.investor.partnerWrapperRedeem': WRAPPER_REDEEM,
  'role.lender.distressedRecoveryFundV3AuctionBid': {
    auctionAddress: '!addr',
    ...each('lotId bidAssets', '!uint-string'),
  },
  'role.lender.distressedRecoveryFundV3RfqCancelBid': { ...AT_DESK, bidId: '!uint-string' },
  'role.lender.distressedRecoveryFundV3RfqClaimRefund': { ...AT_DESK, bidId: '!uint-string' },
  'role.lender.distressedRecoveryFundV3RfqFinalize': AT_DESK,
  'role.lender.distressedRecoveryFundV3RfqPlaceBid': { ...AT_DESK, ...BID },
  'role.lender.distressedRecoveryFundV3RfqReplaceBid': { ...AT_DESK, ...BID, bidId: '!uint-string' },
  'role.lender.investorFulfillRedeem': REDEEM_CLAIM,
  'role.lender.investorRequestRedeem': REDEEM_REQUEST,
  // Of the two actions the one that the witness takes.
  'role.lender.vaultShareMobilityInvestorAction': {
    ...each('vaultAddress recipientAddress', '!addr'),
    action: '!enum(transfer)',
    shares: '!uint-string',
  },
  'role.liquidator.liquidate': LIQUIDATION,
  'role.liquidator.settleLiquidationClaim': CLAIM,
  'role.nav_reporter.navReportSignAndSubmit': {
    ...each('oracleAddress assetAddress', '!addr'),
    reportType: '!string',
    ...each('value valuationTimestamp', '!uint-string'),
    ...each('decimals revision', '!integer(0..)'),
    revisionLabel: '!string',
  },
  'role.partner.partnerBorrowerFeeClaim': {
    ...each('channelAddress recipientAddress', '!addr'),
    minAssets: '!uint-string',
  },
  'role.partner.partnerChannelDeploy': CHANNEL,
  'role.partner.partnerFeeSharesClaim': {
    ...each('channelAddress recipientAddress', '!addr'),
    shares: '!uint-string',
  },
  'role.partner.partnerSubmitApplication': {
    vaultAddress: '!addr',
    ...each('partnerName website useCase', '!string'),
  },
  'role.partner.partnerWrapperDeposit': WRAPPER_DEPOSIT,
  'role.partner.partnerWrapperRedeem': WRAPPER_REDEEM,
  'role.vault_manager.partnerChannelDeploy': CHANNEL,
  'role.vault_owner.attachMarketToVault': LISTING,
  'role.vault_owner.vaultAllocate': ALLOCATION,
  'role.vault_owner.vaultAllocatorUpdate': {
    ...each('vaultAddress allocatorAddress', '!addr'),
    granted: '!boolean',
  },
  'role.vault_owner.vaultCuratorCapsSettingsSave': LISTING,
  'role.vault_owner.vaultCuratorFeeSettingsSave': {
    ...each('vaultAddress recipientAddress', '!addr'),
    borrowerManagerFeeBps: BPS,
  },
  'role.vault_owner.vaultDeallocate': ALLOCATION,
  'role.vault_owner.vaultFeeConfigUpdate': {
    ...each('vaultAddress recipientAddress', '!addr'),
    ...each('managementFeeBps performanceFeeBps', BPS),
  },
  'role.vault_owner.vaultManagementSettingsSave': {
    vaultAddress: '!addr',
    ...each('managerName website logoUrl', '!string'),
  },
  'role.vault_owner.vaultOwnerSettingsSave': {
    vaultAddress: '!addr',
    shareClass: '!string',
    riskScore: '!integer(0..)',
  },
  // Of the three actions the one that the witness takes first.
  'role.vault_owner.vaultOwnerTransferUpdate': {
    ...each('vaultAddress newOwnerAddress', '!addr'),
    action: '!enum(offer)',
  },
  'role.vault_owner.vaultReallocationBatch': REALLOCATION,
  'role.vault_owner.vaultRoleSettingsSave': {
    ...each('vaultAddress accountAddress', '!addr'),
    role: '!enum(manager|curator)',
    granted: '!boolean',
  },
  'role.vault_owner.vaultRoutingUpdate': { vaultAddress: '!addr', marketAddresses: '!addr[]' },
  'role.vault_owner.vaultSettingsUpdate': {
    vaultAddress: '!addr',
    liquidityBufferBps: BPS,
    exitTermKind: '!enum(instant|notice|interval|maturity)',
    ...each('noticeSeconds intervalSeconds maturityTimestamp', '!uint-string'),
    ...each('minDepositAssets maxDepositAssets', '!uint-string'),
  },
}

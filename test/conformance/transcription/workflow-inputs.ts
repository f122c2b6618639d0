import { each, type Fields } from './notation.ts'

/**
 * Members of `input` for each type that the sandbox carries. Assumed as a whole: the document does not show them.
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

/** By type. */
export const WORKFLOW_INPUTS: Readonly<Record<string, Fields>> = {
  borrow: BORROW,
  claimWithdrawal: { vaultAddress: '!addr', requestId: '!uint-string' },
  deposit: {
    ...each('vaultAddress receiverAddress', '!addr'),
    ...each('assets minShares', '!uint-string'),
  },
  depositCollateral: COLLATERAL,
  liquidate: LIQUIDATION,
  repay: REPAY,
  requestWithdrawal: { ...each('vaultAddress receiverAddress', '!addr'), shares: '!uint-string' },
  settleLiquidationClaim: CLAIM,
  withdrawCollateral: COLLATERAL,
  withdrawNow: {
    ...each('vaultAddress receiverAddress', '!addr'),
    ...each('assets maxShares', '!uint-string'),
  },
  'role.allocator.vaultAllocate': ALLOCATION,
  'role.allocator.vaultDeallocate': ALLOCATION,
  'role.allocator.vaultReallocationBatch': {
    vaultAddress: '!addr',
    ...each('withdrawals supplies', '!object[]'),
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
  'role.lender.distressedRecoveryFundV3AuctionBid': {
    auctionAddress: '!addr',
    ...each('lotId bidAssets', '!uint-string'),
  },
  'role.lender.distressedRecoveryFundV3RfqCancelBid': { ...AT_DESK, bidId: '!uint-string' },
  'role.lender.distressedRecoveryFundV3RfqClaimRefund': { ...AT_DESK, bidId: '!uint-string' },
  'role.lender.distressedRecoveryFundV3RfqFinalize': AT_DESK,
  'role.lender.distressedRecoveryFundV3RfqPlaceBid': { ...AT_DESK, ...BID },
  'role.lender.distressedRecoveryFundV3RfqReplaceBid': { ...AT_DESK, ...BID, bidId: '!uint-string' },
  'role.liquidator.liquidate': LIQUIDATION,
  'role.liquidator.settleLiquidationClaim': CLAIM,
  'role.nav_reporter.navReportSignAndSubmit': {
    ...each('oracleAddress assetAddress', '!addr'),
    reportType: '!string',
    ...each('value valuationTimestamp', '!uint-string'),
    ...each('decimals revision', '!integer(0..)'),
    revisionLabel: '!string',
  },
}

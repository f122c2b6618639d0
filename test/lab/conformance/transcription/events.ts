/** Every event type that the document names. Source: the document, "Event types". */

const RESOURCES = [
  'activity',
  'allocation.intelligence',
  'assets',
  'credit.facilities',
  'deployments',
  'eligibility',
  'entities',
  'fees',
  'funds',
  'liquidation.recovery',
  'markets',
  'messaging',
  'nav.reports',
  'networks',
  'oracles',
  'partner.programs',
  'positions',
  'tranches',
  'vaults',
]

const STAGES = ['requested', 'submitted', 'mined', 'indexed', 'persisted_visible', 'final_success']

/** Stages of an admission, and of a faucet claim, in the order they are reached. */
export const ADMISSION_EVENTS = STAGES.map((stage) => `sandbox.admission.${stage}`)
export const FAUCET_EVENTS = STAGES.map((stage) => `sandbox.faucet.claim.${stage}`)

/** Names of the workflows whose progress events the document lists; what comes after the last is not shown. */
const WORKFLOW_EVENT_NAMES: readonly string[] = [
  'assetSubmissionRequestCreate',
  'attachMarketToVault',
  'borrowerBorrow',
  'borrowerDepositCollateral',
  'borrowerRepay',
  'borrowerWithdrawCollateral',
  'distressedRecoveryAcquisitionV3Bid',
  'distressedRecoveryFundV3AuctionBid',
  'distressedRecoveryFundV3ChannelPolicySet',
  'distressedRecoveryFundV3RfqCancelBid',
  'distressedRecoveryFundV3RfqClaimRefund',
  'distressedRecoveryFundV3RfqFinalize',
  'distressedRecoveryFundV3RfqPlaceBid',
  'distressedRecoveryFundV3RfqReplaceBid',
  'distressedRecoveryFundV3SelfLaunch',
  'investorFulfillRedeem',
  'investorRequestRedeem',
  'liquidate',
  'navReportSignAndSubmit',
  'partnerBorrowerFeeClaim',
  'partnerChannelBlockedUpdate',
  'partnerChannelDeploy',
  'partnerFeeSharesClaim',
]

/** All 57 named types. */
const EVENT_TYPES: readonly string[] = [
  ...RESOURCES.map((name) => `${name}.updated`),
  'sandbox.provisioned',
  'sandbox.reset.requested',
  'sandbox.reset.completed',
  ...ADMISSION_EVENTS,
  ...FAUCET_EVENTS,
  ...WORKFLOW_EVENT_NAMES.map((name) => `workflow.${name}.updated`),
]

/** Whether the document names a type. Its list of workflow events ends early: others of that form are assumed. */
export const isEventType = (type: string): boolean =>
  EVENT_TYPES.includes(type) || /^workflow\.\w+\.updated$/.test(type)

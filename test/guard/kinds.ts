import { encodeDeployData, type Hex, hashTypedData, stringToHex } from 'viem'
import {
  exitPoolAbi,
  fundFactoryAbi,
  lendingMarketAbi,
  lendingVaultAbi,
  navOracleAbi,
  recoveryAuctionAbi,
  recoveryFundAbi,
  rfqDeskAbi,
} from '../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../sandbox/contracts/artifacts.ts'
import { approval, type IntentDraft, intents } from '../../sandbox/service/workflows/intents.ts'
import type { Deployment } from '../../src/service/contract/deployment.ts'
import { NAV_REPORT_DOMAIN, NAV_REPORT_TYPES } from '../../src/service/contract/fund-assumptions.ts'
import type { PreparedWorkflow } from '../../src/service/contract/prepared-workflow.ts'
import {
  BORROWER,
  CHAIN_ID,
  COLLATERAL,
  LOAN,
  liquidationAnswer,
  deployment as liquidations,
  MARKET,
  NOW_MS,
  OTHER_MARKET,
  SELF,
  VAULT,
} from './fixtures.ts'
import { address, call, type Expected, type Kind, kind } from './kind.ts'
import { CHANNEL, EXPECTED_BY_HAND, KINDS_BY_HAND, REGISTRY } from './kinds-by-hand.ts'

const FUND = address('f0')
export const DESK = address('d0')
const AUCTION = address('d1')
export const HOUSE = address('d2')
const FACTORY = address('d3')
export const NAV_ORACLE = address('d4')
const EXIT = address('dd')

/** A deployment with everything that the workflows of all roles speak about. */
export const deployment: Deployment = {
  ...liquidations,
  assets: [
    ...liquidations.assets,
    { address: address('e0'), codeHash: `0x${'e1'.repeat(32)}`, symbol: 'sETH', decimals: 18 },
  ],
  funds: [{ address: FUND, codeHash: `0x${'f1'.repeat(32)}`, quoteAsset: LOAN }],
  contracts: Object.entries({
    rfqDesk: DESK,
    recoveryAuction: AUCTION,
    acquisitionHouse: HOUSE,
    fundFactory: FACTORY,
    fundNavOracle: NAV_ORACLE,
    primeNavOracle: address('d6'),
    btcReferenceOracle: address('d7'),
    ethReferenceOracle: address('d8'),
    btcExit: EXIT,
    ethExit: address('de'),
    registry: REGISTRY,
    btcRateModel: address('d9'),
    ethRateModel: address('da'),
    fundLens: address('db'),
    lens: address('dc'),
    partnerChannel: CHANNEL,
  }).map(([name, at]) => ({ name, address: at, codeHash: `0x${'d9'.repeat(32)}` })),
}

const BID = '5000000000'
const EXPIRES = String(NOW_MS / 1_000 + 600)
const DEADLINE = BigInt(NOW_MS / 1_000 + 30)

const lender = 'role.lender.distressedRecoveryFundV3'
const manager = 'role.asset_manager.'
const moved = { vaultAddress: VAULT, marketAddress: MARKET, assets: '1000000' }
const rfq = { rfqAddress: DESK, rfqId: '3' }
const bid = { ...rfq, bidId: '9' }
const withdrawals = [{ marketAddress: MARKET, assets: '300000' }]
const supplies = [
  { marketAddress: OTHER_MARKET, assets: '200000' },
  { marketAddress: MARKET, assets: '100000' },
]
const toMoves = (moves: typeof supplies) =>
  moves.map(({ marketAddress, assets }) => ({ market: marketAddress, assets: BigInt(assets) }))

/** A report of a fund's value, as it is put into calldata. */
export const navReport = {
  asset: FUND,
  reportType: stringToHex('nav', { size: 32 }),
  value: 1_020_000_000_000_000_000n,
  decimals: 18,
  valuationTime: BigInt(NOW_MS / 1_000 - 60),
  revision: 0,
  revisionLabel: 'daily',
  deadline: DEADLINE,
}
export const UNSIGNED: Hex = `0x${'00'.repeat(65)}`

const navDomain = { ...NAV_REPORT_DOMAIN, chainId: CHAIN_ID, verifyingContract: NAV_ORACLE }
/** The digest of the report, by the types that the contract has. */
export const NAV_DIGEST = hashTypedData({
  domain: navDomain,
  types: NAV_REPORT_TYPES,
  primaryType: 'NavReport',
  message: navReport,
})

/** What the service asks to sign for a report. */
export const navTypedData = {
  domain: navDomain,
  types: NAV_REPORT_TYPES,
  primaryType: 'NavReport',
  message: {
    ...navReport,
    value: String(navReport.value),
    valuationTime: String(navReport.valuationTime),
    deadline: String(navReport.deadline),
  },
}

const fundTerms = {
  name: 'Recovery Two',
  symbol: 'REC2',
  epochDurationSeconds: '604800',
  minSubscriptionAssets: '1000000',
  maxSubscriptionAssets: '1000000000000',
  carryRateBps: 1_000,
  performanceFeeBps: 500,
  preferredReturnBps: 600,
}
const vaultTerms = {
  name: 'Vault Two',
  symbol: 'V2',
  liquidityBufferBps: 500,
  exitTermKind: 'notice',
  noticeSeconds: '86400',
  intervalSeconds: '0',
  maturityTimestamp: '0',
}
/** The same as a constructor takes them. */
export const VAULT_SETUP = {
  name: vaultTerms.name,
  symbol: vaultTerms.symbol,
  liquidityBufferBps: 500,
  exitTerms: { kind: 1, noticeSeconds: 86_400n, intervalSeconds: 0n, maturityTimestamp: 0n },
}
const PEOPLE = { owner: SELF, allocator: address('a1'), manager: SELF }

/** Our own: composed by us as by a service. */
const sale = kind(
  'sell',
  'own.liquidator.sell',
  { marketAddress: MARKET, venueAddress: EXIT, assets: '1000000', minLoanAssets: '594000000' },
  {},
  [
    approval(COLLATERAL, EXIT, 1_000_000n),
    call(EXIT, exitPoolAbi, 'swap', [COLLATERAL, 1_000_000n, 594_000_000n, SELF, DEADLINE]),
  ],
)

/** Every workflow type that a role agent proposes; those with several shapes once for each. */
export const KINDS: readonly Kind[] = [
  kind(
    'liquidate',
    'role.liquidator.liquidate',
    {
      marketAddress: MARKET,
      vaultAddress: VAULT,
      borrowerAddress: BORROWER,
      repayAssets: '1000000000',
      minCollateralAssets: '1700000',
      recipientAddress: SELF,
    },
    { out: '1000000000' },
    [
      approval(LOAN, MARKET, 1_000_000_000n),
      call(MARKET, lendingMarketAbi, 'liquidate', [
        VAULT,
        BORROWER,
        1_000_000_000n,
        1_700_000n,
        SELF,
        DEADLINE,
      ]),
    ],
  ),
  kind('settle', 'role.liquidator.settleLiquidationClaim', { marketAddress: MARKET, claimId: '7' }, {}, [
    call(MARKET, lendingMarketAbi, 'settleLiquidationClaim', [7n]),
  ]),
  {
    ...sale,
    // Of 594 sUSD that come in at least, 2 % less than its worth.
    proposal: {
      ...sale.proposal,
      exposure: { token: COLLATERAL, assets: 1_000_000n, usdMicros: 12_122_449n },
    },
  },
  kind('allocate', 'role.allocator.vaultAllocate', moved, { moves: moved.assets }, [
    call(VAULT, lendingVaultAbi, 'allocate', [MARKET, BigInt(moved.assets)]),
  ]),
  kind('deallocate', 'role.allocator.vaultDeallocate', moved, { moves: moved.assets }, [
    call(VAULT, lendingVaultAbi, 'deallocate', [MARKET, BigInt(moved.assets)]),
  ]),
  kind(
    'reallocate',
    'role.allocator.vaultReallocationBatch',
    { vaultAddress: VAULT, withdrawals, supplies },
    { moves: '600000' },
    [call(VAULT, lendingVaultAbi, 'reallocate', [toMoves(withdrawals), toMoves(supplies)])],
  ),
  kind(
    'report',
    'role.nav_reporter.navReportSignAndSubmit',
    {
      oracleAddress: NAV_ORACLE,
      assetAddress: FUND,
      reportType: 'nav',
      value: String(navReport.value),
      decimals: 18,
      valuationTimestamp: String(navReport.valuationTime),
      revision: 0,
      revisionLabel: 'daily',
    },
    {},
    [
      {
        ...call(NAV_ORACLE, navOracleAbi, 'submitReport', [navReport, UNSIGNED]),
        signing: { kind: 'eip712', typedData: navTypedData, signaturePlacement: 'argument:1' },
      },
    ],
  ),
  kind(
    'acquire',
    `${manager}distressedRecoveryAcquisitionV3Bid`,
    { fundAddress: FUND, acquisitionAddress: HOUSE, lotId: '4', bidAssets: BID },
    { moves: BID },
    [call(FUND, recoveryFundAbi, 'bidAcquisition', [HOUSE, 4n, BigInt(BID)])],
  ),
  kind(
    'channel',
    `${manager}distressedRecoveryFundV3ChannelPolicySet`,
    {
      fundAddress: FUND,
      channel: 'auction',
      enabled: true,
      maxAssetsPerEpoch: '50000000000',
      maxPriceBps: 9_000,
      maxPositionBps: 2_000,
    },
    {},
    [
      call(FUND, recoveryFundAbi, 'setChannelPolicy', [
        stringToHex('auction', { size: 32 }),
        true,
        50_000_000_000n,
        9_000,
        2_000,
      ]),
    ],
  ),
  kind(
    'launch',
    `${manager}distressedRecoveryFundV3SelfLaunch`,
    { ...fundTerms, quoteAssetAddress: LOAN },
    {},
    [
      call(FACTORY, fundFactoryAbi, 'launch', [
        {
          ...fundTerms,
          quoteAsset: LOAN,
          epochDurationSeconds: 604_800n,
          minSubscriptionAssets: 1_000_000n,
          maxSubscriptionAssets: 1_000_000_000_000n,
        },
      ]),
    ],
  ),
  kind(
    'deploy',
    `${manager}vaultDeploy`,
    {
      ...vaultTerms,
      baseAssetAddress: LOAN,
      ownerAddress: PEOPLE.owner,
      allocatorAddress: PEOPLE.allocator,
      managerAddress: PEOPLE.manager,
    },
    {},
    [
      {
        target: null,
        calldata: encodeDeployData({
          abi: lendingVaultAbi,
          bytecode: loadArtifacts().LendingVault.bytecode,
          args: [{ ...VAULT_SETUP, asset: LOAN, directory: REGISTRY, ...PEOPLE }],
        }),
        label: 'deploy',
      },
    ],
  ),
  ...(
    [
      [
        'pause',
        { restoreAfterTimestamp: EXPIRES, reason: 'an audit' },
        'pauseShareMobility',
        [BigInt(EXPIRES), 'an audit', ''],
      ],
      ['restore', {}, 'restoreShareMobility', []],
      ['set_transfer_profile', { transferProfile: 'trusted_recipients' }, 'setTransferProfile', [1]],
      [
        'set_trusted_recipient',
        { recipientAddress: BORROWER, trusted: true },
        'setTrustedRecipient',
        [BORROWER, true],
      ],
    ] as const
  ).map(([action, input, functionName, args]) =>
    kind(action, `${manager}vaultShareMobilityManagerAction`, { vaultAddress: VAULT, action, ...input }, {}, [
      call(VAULT, lendingVaultAbi, functionName, args),
    ]),
  ),
  kind(
    'rfq-place',
    `${lender}RfqPlaceBid`,
    { ...rfq, bidAssets: BID, expiresTimestamp: EXPIRES },
    { out: BID },
    [
      approval(LOAN, DESK, BigInt(BID)),
      call(DESK, rfqDeskAbi, 'placeBid', [3n, BigInt(BID), BigInt(EXPIRES)]),
    ],
  ),
  ...(['up', 'down'] as const).map((way) =>
    kind(
      `rfq-replace-${way}`,
      `${lender}RfqReplaceBid`,
      { ...bid, bidAssets: BID, expiresTimestamp: EXPIRES },
      { out: BID },
      [
        ...(way === 'up' ? [approval(LOAN, DESK, 1_000n)] : []),
        call(DESK, rfqDeskAbi, 'replaceBid', [9n, BigInt(BID), BigInt(EXPIRES)]),
      ],
    ),
  ),
  kind('rfq-cancel', `${lender}RfqCancelBid`, bid, {}, [call(DESK, rfqDeskAbi, 'cancelBid', [9n])]),
  kind('rfq-refund', `${lender}RfqClaimRefund`, bid, {}, [call(DESK, rfqDeskAbi, 'claimRefund', [9n])]),
  kind('rfq-finalize', `${lender}RfqFinalize`, rfq, {}, [call(DESK, rfqDeskAbi, 'finalize', [3n])]),
  kind(
    'auction-bid',
    `${lender}AuctionBid`,
    { auctionAddress: AUCTION, lotId: '4', bidAssets: BID },
    { out: BID },
    [approval(LOAN, AUCTION, BigInt(BID)), call(AUCTION, recoveryAuctionAbi, 'bid', [4n, BigInt(BID)])],
  ),
  ...KINDS_BY_HAND,
]

/** Find a kind by its name. */
export const kindOf = (name: string): Kind => {
  const found = KINDS.find((each) => each.name === name)
  if (found === undefined) throw new TypeError(`no kind is called ${name}`)
  return found
}

const least = (value: string) => ({ op: 'gte', value })
const mobility = (field: string, expected: unknown): Expected => [
  'vault_share_mobility',
  VAULT,
  [field, expected],
  ['mobilityEpoch', least('4')],
]
const ofBid = (...fields: Expected[2][]): Expected => ['rfq_bid', `${DESK}:9`, ...fields]
const replaced = ofBid(['assets', BID], ['expiresAt', new Date(Number(EXPIRES) * 1_000).toISOString()])

/** What an honest service expects of each kind. */
const EXPECTED: Readonly<Record<string, readonly Expected[]>> = {
  liquidate: [
    ['credit_facility', `${MARKET}:${VAULT}:${BORROWER}`, ['debtShares', { op: 'lte', value: '1' }]],
  ],
  settle: [['liquidation_claim', `${MARKET}:7`, ['settled', true]]],
  allocate: [['vault_allocation', `${VAULT}:${MARKET}`, ['suppliedAssetsTotal', least('9')]]],
  deallocate: [['vault_allocation', `${VAULT}:${MARKET}`, ['recalledAssetsTotal', least('9')]]],
  reallocate: [
    [
      'vault_allocation',
      `${VAULT}:${MARKET}`,
      ['recalledAssetsTotal', least('9')],
      ['suppliedAssetsTotal', least('9')],
    ],
    ['vault_allocation', `${VAULT}:${OTHER_MARKET}`, ['suppliedAssetsTotal', least('9')]],
  ],
  report: [
    ['nav_report', `${NAV_ORACLE}:nav:${navReport.valuationTime}:0`, ['value', String(navReport.value)]],
  ],
  acquire: [['acquisition_bid', `${HOUSE}:4:${FUND}`, ['assets', least(BID)]]],
  channel: [
    [
      'fund_channel_policy',
      `${FUND}:auction`,
      ['enabled', true],
      ['maxAssetsPerEpoch', '50000000000'],
      ['maxPriceBps', '9000'],
      ['maxPositionBps', '2000'],
    ],
  ],
  launch: [['fund_launcher', `${FACTORY}:${SELF}`, ['count', least('1')]]],
  deploy: [['vault_deployment', `${PEOPLE.owner}:v2`, ['count', least('1')]]],
  pause: [mobility('shareMobilityPaused', true)],
  restore: [mobility('shareMobilityPaused', false)],
  set_transfer_profile: [mobility('transferProfile', 'trusted_recipients')],
  set_trusted_recipient: [
    ['trusted_recipient', `${VAULT}:${BORROWER}`, ['trusted', true]],
    ['vault_share_mobility', VAULT, ['mobilityEpoch', least('4')]],
  ],
  'rfq-place': [['rfq_bidder', `${DESK}:3:${SELF}`, ['bidCount', least('1')]]],
  'rfq-replace-up': [replaced],
  'rfq-replace-down': [replaced],
  'rfq-cancel': [ofBid(['status', 'cancelled'])],
  'rfq-refund': [ofBid(['status', 'refunded'])],
  'rfq-finalize': [['rfq', `${DESK}:3`, ['finalized', true]]],
  'auction-bid': [['auction_bid', `${AUCTION}:4:${SELF}`, ['assets', least(BID)]]],
  ...EXPECTED_BY_HAND,
}

/** An honest answer with these intents. */
export const answerOf = ({ name, proposal }: Kind, drafts: readonly IntentDraft[]): PreparedWorkflow => ({
  ...liquidationAnswer(),
  workflowType: proposal.workflowType,
  preflight: { ...liquidationAnswer().preflight, revalidateAtExecution: ['intent_not_expired'] },
  transactions: intents(CHAIN_ID, drafts).map((intent) => ({
    ...intent,
    target: intent.target === null ? null : `0x${intent.target.slice(2).toLowerCase()}`,
  })),
  canonicalPostconditions: (EXPECTED[name] ?? []).flatMap(([entityType, entityId, ...fields]) =>
    fields.map(([field, expected]) => ({ entityType, entityId, field, expected })),
  ),
})

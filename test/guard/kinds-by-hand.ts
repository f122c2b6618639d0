import { type Address, encodeDeployData, erc20Abi, keccak256, stringToHex } from 'viem'
import { lendingVaultAbi, partnerChannelAbi } from '../../sandbox/contracts/abis.ts'
import { loadArtifacts } from '../../sandbox/contracts/artifacts.ts'
import { approval } from '../../sandbox/service/workflows/intents.ts'
import type { WorkflowType } from '../../src/service/contract/workflow-types.ts'
import { BORROWER, LOAN, MARKET, OTHER_MARKET, SELF, VAULT } from './fixtures.ts'
import { address, call, type Expected, type Kind, kind } from './kind.ts'

export const REGISTRY = address('d5')
export const CHANNEL = address('cc')
/** Another key of the run configuration. */
export const OTHER_SIGNER = address('51')

const owner = (name: string) => `role.vault_owner.${name}` as WorkflowType
const ASSETS = '5000000000'
const SHARES = '2000000000000000'
const of = { vaultAddress: VAULT }
const role = (name: string) => keccak256(stringToHex(`${name.toUpperCase()}_ROLE`))
const listing = {
  ...of,
  marketAddress: MARKET,
  absoluteCapAssets: '1000000000000',
  relativeCapBps: 5_000,
  allocationEnabled: true,
}
const listed = [
  MARKET,
  { approved: true, allocationEnabled: true, relativeCapBps: 5_000, absoluteCapAssets: 1_000_000_000_000n },
]
const moved = { ...of, marketAddress: MARKET, assets: '1000000' }
const withdrawals = [{ marketAddress: MARKET, assets: '300000' }]
const supplies = [{ marketAddress: OTHER_MARKET, assets: '300000' }]
const moves = (list: typeof supplies) =>
  list.map(({ marketAddress, assets }) => ({ market: marketAddress, assets: BigInt(assets) }))
const settings = {
  liquidityBufferBps: 1_000,
  exitTermKind: 'interval',
  noticeSeconds: '86400',
  intervalSeconds: '604800',
  maturityTimestamp: '0',
  minDepositAssets: '100000000',
  maxDepositAssets: '500000000000',
}

/** One call of a vault. */
const vault = (
  name: string,
  type: WorkflowType,
  input: Kind['proposal']['input'],
  functionName: string,
  args: readonly unknown[],
  counted: { readonly moves?: string } = {},
): Kind => kind(name, type, { ...of, ...input }, counted, [call(VAULT, lendingVaultAbi, functionName, args)])

const OWNERS: readonly Kind[] = [
  vault('attach', owner('attachMarketToVault'), listing, 'setListing', listed),
  vault('caps', owner('vaultCuratorCapsSettingsSave'), listing, 'setListing', listed),
  vault('owner-allocate', owner('vaultAllocate'), moved, 'allocate', [MARKET, 1_000_000n], {
    moves: moved.assets,
  }),
  vault('owner-deallocate', owner('vaultDeallocate'), moved, 'deallocate', [MARKET, 1_000_000n], {
    moves: moved.assets,
  }),
  vault(
    'owner-reallocate',
    owner('vaultReallocationBatch'),
    { withdrawals, supplies },
    'reallocate',
    [moves(withdrawals), moves(supplies)],
    // What is taken back and what is supplied.
    { moves: '600000' },
  ),
  ...(
    [
      ['allocator-grant', true, 'grantRole', OTHER_SIGNER],
      ['allocator-revoke', false, 'revokeRole', BORROWER],
    ] as const
  ).map(([name, granted, functionName, allocatorAddress]) =>
    vault(name, owner('vaultAllocatorUpdate'), { allocatorAddress, granted }, functionName, [
      role('allocator'),
      allocatorAddress,
    ]),
  ),
  ...(
    [
      ['manager-grant', 'manager', true, 'grantRole', OTHER_SIGNER],
      ['curator-revoke', 'curator', false, 'revokeRole', BORROWER],
    ] as const
  ).map(([name, which, granted, functionName, accountAddress]) =>
    vault(name, owner('vaultRoleSettingsSave'), { role: which, accountAddress, granted }, functionName, [
      role(which),
      accountAddress,
    ]),
  ),
  vault(
    'fees',
    owner('vaultFeeConfigUpdate'),
    { managementFeeBps: 50, performanceFeeBps: 1_000, recipientAddress: SELF },
    'setFeeConfig',
    [50, 1_000, SELF],
  ),
  vault(
    'curator-fee',
    owner('vaultCuratorFeeSettingsSave'),
    { borrowerManagerFeeBps: 500, recipientAddress: OTHER_SIGNER },
    'setCuratorFee',
    [500, OTHER_SIGNER],
  ),
  vault('routing', owner('vaultRoutingUpdate'), { marketAddresses: [MARKET, OTHER_MARKET] }, 'setRouting', [
    [MARKET, OTHER_MARKET],
  ]),
  vault('settings', owner('vaultSettingsUpdate'), settings, 'setSettings', [
    1_000,
    { kind: 2, noticeSeconds: 86_400n, intervalSeconds: 604_800n, maturityTimestamp: 0n },
    100_000_000n,
    500_000_000_000n,
  ]),
  vault(
    'offer',
    owner('vaultOwnerTransferUpdate'),
    { action: 'offer', newOwnerAddress: OTHER_SIGNER },
    'beginDefaultAdminTransfer',
    [OTHER_SIGNER],
  ),
  vault('accept', owner('vaultOwnerTransferUpdate'), { action: 'accept' }, 'acceptDefaultAdminTransfer', []),
  vault('cancel', owner('vaultOwnerTransferUpdate'), { action: 'cancel' }, 'cancelDefaultAdminTransfer', []),
]

const channelTerms = {
  ...of,
  assetAddress: LOAN,
  name: 'Partner Notes',
  symbol: 'PN',
  shareClass: 'Institutional',
  resellerFeeBps: 100,
  borrowerFeeBps: 500,
  capAssets: '1000000000000',
}
const channelOf = (name: string, type: WorkflowType, resellerAddress: Address): Kind =>
  kind(name, type, { ...channelTerms, resellerAddress, curatorAddress: OTHER_SIGNER }, {}, [
    {
      target: null,
      calldata: encodeDeployData({
        abi: partnerChannelAbi,
        bytecode: loadArtifacts().PartnerChannel.bytecode,
        args: [
          {
            vault: VAULT,
            name: 'Partner Notes',
            symbol: 'PN',
            directory: REGISTRY,
            reseller: resellerAddress,
            curator: OTHER_SIGNER,
            shareClass: 'Institutional',
            resellerFeeBps: 100,
            borrowerFeeBps: 500,
            capAssets: 1_000_000_000_000n,
          },
        ],
      }),
      label: 'deploy',
    },
  ])

/** Of shares that leave, with what they count as: millionths of a dollar. */
const leaving = (one: Kind, token: Address, usdMicros: bigint): Kind => ({
  ...one,
  proposal: {
    ...one.proposal,
    exposure: { token, assets: BigInt(String(one.proposal.input.shares ?? 0)), usdMicros },
  },
})

const wrapperOf = (service: 'investor' | 'partner'): readonly Kind[] => [
  kind(
    `${service}-deposit`,
    `role.${service}.partnerWrapperDeposit`,
    { wrapperAddress: CHANNEL, assets: ASSETS, receiverAddress: SELF, minShares: SHARES },
    { out: ASSETS },
    [
      approval(LOAN, CHANNEL, BigInt(ASSETS)),
      call(CHANNEL, partnerChannelAbi, 'depositNow', [BigInt(ASSETS), SELF, BigInt(SHARES)]),
    ],
  ),
  leaving(
    kind(
      `${service}-redeem`,
      `role.${service}.partnerWrapperRedeem`,
      { wrapperAddress: CHANNEL, shares: SHARES, receiverAddress: SELF, minAssets: ASSETS },
      {},
      [call(CHANNEL, partnerChannelAbi, 'redeemNow', [BigInt(SHARES), SELF, BigInt(ASSETS)])],
    ),
    CHANNEL,
    BigInt(ASSETS),
  ),
]

const CHANNELS: readonly Kind[] = [
  channelOf('partner-channel', 'role.partner.partnerChannelDeploy', SELF),
  channelOf('curator-channel', 'role.curator.partnerChannelDeploy', OTHER_SIGNER),
  channelOf('manager-channel', 'role.vault_manager.partnerChannelDeploy', OTHER_SIGNER),
  ...wrapperOf('partner'),
  ...wrapperOf('investor'),
  kind(
    'fee-shares',
    'role.partner.partnerFeeSharesClaim',
    { channelAddress: CHANNEL, shares: SHARES, recipientAddress: SELF },
    {},
    [call(CHANNEL, partnerChannelAbi, 'claimFeeShares', [BigInt(SHARES), SELF])],
  ),
  kind(
    'borrower-fee',
    'role.partner.partnerBorrowerFeeClaim',
    { channelAddress: CHANNEL, recipientAddress: SELF, minAssets: ASSETS },
    {},
    [call(CHANNEL, partnerChannelAbi, 'claimBorrowerFee', [SELF, BigInt(ASSETS)])],
  ),
  kind(
    'block',
    'role.curator.partnerChannelBlockedUpdate',
    { channelAddress: CHANNEL, accountAddress: BORROWER, blocked: true },
    {},
    [call(CHANNEL, partnerChannelAbi, 'setBlocked', [BORROWER, true])],
  ),
]

/** 2,000 whole shares of a vault, at most 1.5 sUSD each, at a dollar. */
const SHARES_USD_MICROS = 3_000_000_000n
const HOLDERS: readonly Kind[] = [
  leaving(
    vault(
      'request-redeem',
      'role.lender.investorRequestRedeem',
      { shares: SHARES, receiverAddress: SELF },
      'requestWithdrawal',
      [BigInt(SHARES), SELF],
    ),
    VAULT,
    SHARES_USD_MICROS,
  ),
  vault('fulfill-redeem', 'role.lender.investorFulfillRedeem', { requestId: '7' }, 'claimWithdrawal', [7n]),
  leaving(
    kind(
      'transfer-shares',
      'role.lender.vaultShareMobilityInvestorAction',
      { ...of, action: 'transfer', recipientAddress: OTHER_SIGNER, shares: SHARES },
      {},
      [call(VAULT, erc20Abi, 'transfer', [OTHER_SIGNER, BigInt(SHARES)])],
    ),
    VAULT,
    SHARES_USD_MICROS,
  ),
  leaving(
    vault(
      'restore-shares',
      'role.lender.vaultShareMobilityInvestorAction',
      { action: 'restore' },
      'restoreShareMobility',
      [],
    ),
    VAULT,
    0n,
  ),
]

/** The workflows that people submit, each of one type or of one of its shapes. */
export const KINDS_BY_HAND: readonly Kind[] = [...OWNERS, ...CHANNELS, ...HOLDERS].map((one) => ({
  ...one,
  proposal: { ...one.proposal, kind: 'order' },
}))

const least = (value: string) => ({ op: 'gte', value })
const most = (value: string) => ({ op: 'lte', value })
const becomesListed: Expected = [
  'vault_listing',
  `${VAULT}:${MARKET}`,
  ['approved', true],
  ['allocationEnabled', true],
  ['absoluteCapAssets', '1000000000000'],
  ['relativeCapBps', '5000'],
]
const hasRole = (id: string, granted: boolean): readonly Expected[] => [
  ['vault_role', `${VAULT}:${id}`, ['granted', granted]],
]
const isOwned = (...fields: Expected[2][]): readonly Expected[] => [['vault_owner', VAULT, ...fields]]
const channel = (reseller: Address): readonly Expected[] => [
  ['partner_channel_deployment', `${VAULT}:${reseller}:institutional`, ['count', least('1')]],
]
const wraps = (shares: unknown): readonly Expected[] => [
  ['wrapper_position', `${CHANNEL}:${SELF}`, ['shares', shares]],
]

/** What an honest service expects of each of them. */
export const EXPECTED_BY_HAND: Readonly<Record<string, readonly Expected[]>> = {
  attach: [becomesListed],
  caps: [becomesListed],
  'owner-allocate': [['vault_allocation', `${VAULT}:${MARKET}`, ['suppliedAssetsTotal', least('9')]]],
  'owner-deallocate': [['vault_allocation', `${VAULT}:${MARKET}`, ['recalledAssetsTotal', least('9')]]],
  'owner-reallocate': [
    ['vault_allocation', `${VAULT}:${MARKET}`, ['recalledAssetsTotal', least('9')]],
    ['vault_allocation', `${VAULT}:${OTHER_MARKET}`, ['suppliedAssetsTotal', least('9')]],
  ],
  'allocator-grant': hasRole(`allocator:${OTHER_SIGNER}`, true),
  'allocator-revoke': hasRole(`allocator:${BORROWER}`, false),
  'manager-grant': hasRole(`manager:${OTHER_SIGNER}`, true),
  'curator-revoke': hasRole(`curator:${BORROWER}`, false),
  fees: [
    [
      'vault_fee_config',
      VAULT,
      ['managementFeeBps', '50'],
      ['performanceFeeBps', '1000'],
      ['recipientAddress', SELF],
    ],
  ],
  'curator-fee': [
    ['vault_fee_config', VAULT, ['borrowerManagerFeeBps', '500'], ['curatorRecipientAddress', OTHER_SIGNER]],
  ],
  routing: [['vault_routing', VAULT, ['marketAddresses', `${MARKET},${OTHER_MARKET}`]]],
  settings: [
    [
      'vault_settings',
      VAULT,
      ['liquidityBufferBps', '1000'],
      ['exitTermKind', 'interval'],
      ['noticeSeconds', '86400'],
      ['minDepositAssets', '100000000'],
    ],
  ],
  offer: isOwned(['pendingOwnerAddress', OTHER_SIGNER]),
  accept: isOwned(['ownerAddress', SELF], ['pendingOwnerAddress', '']),
  cancel: isOwned(['pendingOwnerAddress', '']),
  'partner-channel': channel(SELF),
  'curator-channel': channel(OTHER_SIGNER),
  'manager-channel': channel(OTHER_SIGNER),
  'partner-deposit': wraps(least('9')),
  'partner-redeem': wraps(most('9')),
  'investor-deposit': wraps(least('9')),
  'investor-redeem': wraps(most('9')),
  'fee-shares': [['partner_fee_shares', CHANNEL, ['claimedShares', least('9')]]],
  'borrower-fee': [['partner_borrower_fee', CHANNEL, ['claimedAssets', least('9')]]],
  block: [['channel_block', `${CHANNEL}:${BORROWER}`, ['blocked', true]]],
  'request-redeem': [['vault_position', `${VAULT}:${SELF}`, ['shares', most('9')]]],
  'fulfill-redeem': [['redemption_request', `${VAULT}:7`, ['status', 'paid']]],
  'transfer-shares': [['vault_position', `${VAULT}:${SELF}`, ['shares', most('9')]]],
  'restore-shares': [['vault_share_mobility', VAULT, ['shareMobilityPaused', false]]],
}

import { type Hex, keccak256, stringToHex, toFunctionSelector } from 'viem'
import { describe, expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { createReads, TOKEN_VIEWS } from '../../src/guard/reads/views.ts'
import type { Ruleset } from '../../src/guard/ruleset.ts'
import { sanityOf } from '../../src/guard/sanity/by-role.ts'
import { contradictionsIn } from '../../src/guard/sanity/contradictions.ts'
import type { SanityCheck } from '../../src/guard/sanity/judgement.ts'
import { TOKENS } from '../support/tokens.ts'
import type { Kind } from './kind.ts'
import { answerOf } from './kinds.ts'
import { REGISTRY } from './kinds-by-hand.ts'
import { judge, reasonOf } from './rules.ts'
import { SAVED } from './saved-kinds.ts'
import { CASES } from './shipped.ts'

describe('a bid that is judged at one desk and placed at another', () => {
  const CALLEES: Readonly<Record<string, string>> = {
    'rfq-place': 'rfqAddress',
    'rfq-replace-up': 'rfqAddress',
    'rfq-cancel': 'rfqAddress',
    'rfq-refund': 'rfqAddress',
    'rfq-finalize': 'rfqAddress',
    'auction-bid': 'auctionAddress',
  }
  it.each(CASES.filter(([, { name }]) => name in CALLEES))('is refused: %s', (_name, kind, ruleset) => {
    const input = { ...kind.proposal.input, [CALLEES[kind.name] ?? '']: REGISTRY }
    const other = { ...kind, proposal: { ...kind.proposal, input } }
    expect(reasonOf(judge(other, ruleset, answerOf(kind, kind.drafts)))).toBe('callee_differs')
  })
})

describe('the rules of a shipped policy', () => {
  it.each(CASES)('take what an honest service prepares: %s', (_name, kind, ruleset) => {
    expect(reasonOf(judge(kind, ruleset))).toBe('accepted')
  })

  it('hold every workflow type that an agent may propose', () => {
    const held = new Set(CASES.map(([, { proposal }]) => proposal.workflowType))
    const saved = SAVED.map(({ workflowType }) => workflowType)
    const proposed = new Set(agents.flatMap(({ workflowTypes }) => workflowTypes))
    expect([...proposed].filter((type) => !held.has(type) && !saved.includes(type))).toEqual([])
    expect(new Set([...held, ...saved]).size).toBe(18 + 30)
  })
})

const EXPIRY = ['intent_not_expired']
const MOVE = ['marketAddress', 'assets']
const ALLOCATION = [
  ...['vault_allocator', 'market_liquidity', 'market_not_paused', 'oracle_healthy', 'allocation_open'],
  ...EXPIRY,
]
const ALLOCATE = [['vaultAddress', ...MOVE], ALLOCATION]
const OWN_ALLOCATION = [
  ['vaultAddress', ...MOVE],
  ['vault_owner', ...ALLOCATION.slice(1)],
]
const LISTING = ['marketAddress', 'absoluteCapAssets', 'relativeCapBps', 'allocationEnabled']
const SETTINGS = [
  ...['liquidityBufferBps', 'exitTermKind', 'noticeSeconds', 'intervalSeconds', 'maturityTimestamp'],
  ...['minDepositAssets', 'maxDepositAssets'],
]
const DEPLOYMENT = [
  ...['vaultAddress', 'curatorAddress', 'resellerAddress'],
  ...['resellerFeeBps', 'borrowerFeeBps', 'capAssets'],
]
const AUCTION = 'role.lender.distressedRecoveryFundV3AuctionBid'
/** What each judgement reads of the request, what it proves of what the service revalidates, and where the last call goes. */
const JUDGEMENTS: Readonly<Record<string, readonly unknown[]>> = {
  'role.liquidator.liquidate': [
    ['marketAddress', 'vaultAddress', 'borrowerAddress', 'repayAssets', 'minCollateralAssets'],
    [
      ...['position_liquidatable', 'market_not_paused', 'oracle_healthy', 'repay_within_close_factor'],
      ...['liquidator_balance', ...EXPIRY],
    ],
  ],
  'role.liquidator.settleLiquidationClaim': [
    ['marketAddress', 'claimId'],
    ['claim_settleable', ...EXPIRY],
  ],
  'own.liquidator.sell': [['venueAddress', 'assets', 'minLoanAssets'], EXPIRY, 'venueAddress'],
  'role.allocator.vaultAllocate': ALLOCATE,
  'role.allocator.vaultDeallocate': ALLOCATE,
  'role.allocator.vaultReallocationBatch': [
    ['vaultAddress', ...MOVE.flatMap((member) => [`withdrawals[].${member}`, `supplies[].${member}`])],
    ALLOCATION,
  ],
  'role.nav_reporter.navReportSignAndSubmit': [
    [
      ...['oracleAddress', 'assetAddress', 'reportType', 'value', 'decimals', 'valuationTimestamp'],
      'revision',
    ],
    EXPIRY,
  ],
  'role.asset_manager.distressedRecoveryAcquisitionV3Bid': [
    ['fundAddress', 'acquisitionAddress', 'lotId', 'bidAssets'],
    EXPIRY,
  ],
  'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet': [
    ['fundAddress', 'channel', 'enabled', 'maxAssetsPerEpoch', 'maxPriceBps', 'maxPositionBps'],
    EXPIRY,
  ],
  'role.asset_manager.vaultShareMobilityManagerAction': [
    ['vaultAddress', 'restoreAfterTimestamp', 'transferProfile', 'recipientAddress', 'trusted'],
    EXPIRY,
  ],
  ...Object.fromEntries(
    [
      ['PlaceBid', ['rfqId', 'bidAssets', 'expiresTimestamp']],
      ['ReplaceBid', ['bidId', 'bidAssets', 'expiresTimestamp']],
      ['CancelBid', ['bidId']],
      ['Finalize', ['rfqId']],
      ['ClaimRefund', ['bidId']],
    ].map(([name, relies]) => [
      `role.lender.distressedRecoveryFundV3Rfq${name}`,
      [relies, EXPIRY, 'rfqAddress'],
    ]),
  ),
  [AUCTION]: [['lotId', 'bidAssets'], EXPIRY, 'auctionAddress'],
  ...Object.fromEntries(
    [
      ['attachMarketToVault', LISTING],
      ['vaultCuratorCapsSettingsSave', LISTING],
      ['vaultFeeConfigUpdate', ['managementFeeBps', 'performanceFeeBps']],
      ['vaultCuratorFeeSettingsSave', ['borrowerManagerFeeBps']],
      ['vaultAllocatorUpdate', ['allocatorAddress']],
      ['vaultRoleSettingsSave', ['role', 'accountAddress']],
      ['vaultRoutingUpdate', ['marketAddresses[]']],
      ['vaultSettingsUpdate', SETTINGS],
    ].map(([name, relies = []]) => [
      `role.vault_owner.${name}`,
      [
        ['vaultAddress', ...relies],
        ['vault_owner', ...EXPIRY],
      ],
    ]),
  ),
  'role.vault_owner.vaultOwnerTransferUpdate': [
    ['vaultAddress', 'newOwnerAddress'],
    ['vault_owner', 'ownership_offered', ...EXPIRY],
  ],
  'role.vault_owner.vaultAllocate': OWN_ALLOCATION,
  'role.vault_owner.vaultDeallocate': OWN_ALLOCATION,
  'role.vault_owner.vaultReallocationBatch': [
    ['vaultAddress', ...MOVE.flatMap((member) => [`withdrawals[].${member}`, `supplies[].${member}`])],
    ['vault_owner', ...ALLOCATION.slice(1)],
  ],
  'role.partner.partnerChannelDeploy': [DEPLOYMENT, EXPIRY],
  'role.curator.partnerChannelDeploy': [DEPLOYMENT, ['vault_curator', ...EXPIRY]],
  'role.vault_manager.partnerChannelDeploy': [DEPLOYMENT, ['vault_manager', ...EXPIRY]],
  ...Object.fromEntries(
    ['partner', 'investor'].flatMap((role) => [
      [
        `role.${role}.partnerWrapperDeposit`,
        [['wrapperAddress', 'assets', 'minShares'], ['channel_open', ...EXPIRY], 'wrapperAddress'],
      ],
      [
        `role.${role}.partnerWrapperRedeem`,
        [['wrapperAddress', 'shares', 'minAssets'], ['channel_open', ...EXPIRY], 'wrapperAddress'],
      ],
    ]),
  ),
  'role.partner.partnerFeeSharesClaim': [
    ['channelAddress', 'shares'],
    ['channel_reseller', ...EXPIRY],
    'channelAddress',
  ],
  'role.partner.partnerBorrowerFeeClaim': [
    ['channelAddress', 'minAssets'],
    ['channel_reseller', ...EXPIRY],
    'channelAddress',
  ],
  'role.curator.partnerChannelBlockedUpdate': [
    ['channelAddress', 'accountAddress', 'blocked'],
    ['channel_curator', ...EXPIRY],
    'channelAddress',
  ],
  'role.lender.investorRequestRedeem': [
    ['vaultAddress', 'shares', 'receiverAddress'],
    ['redemption_open', ...EXPIRY],
  ],
  'role.lender.investorFulfillRedeem': [
    ['vaultAddress', 'requestId'],
    ['redemption_due', ...EXPIRY],
  ],
  'role.lender.vaultShareMobilityInvestorAction': [
    ['vaultAddress', 'shares', 'recipientAddress'],
    ['shares_transferable', 'restore_due', ...EXPIRY],
  ],
}

describe('the judgements of a role', () => {
  const callsOf = (kind: Kind, ruleset: Ruleset) => {
    const checked = judge(kind, ruleset)
    const sanity = ruleset.sanity.get(kind.proposal.workflowType)
    if (!checked.ok || sanity === undefined) throw new TypeError(`${kind.name} is allowed and judged`)
    const [before, after] = [createReads(), createReads()]
    sanity.judge({ ...checked, proposal: kind.proposal, before, after })
    return { sanity, calls: [...before.calls, ...after.calls] }
  }

  it.each(CASES)('list each view that they read: %s', (_name, kind, ruleset) => {
    const { sanity, calls } = callsOf(kind, ruleset)
    const listed = new Set([...TOKEN_VIEWS, ...sanity.views].map((view) => toFunctionSelector(view)))
    // What the policy itself names of the chain for a report's value.
    if (kind.name === 'report') listed.add(toFunctionSelector('shareValueWad(address)'))
    expect(calls.filter(({ data }) => !listed.has(data.slice(0, 10) as Hex))).toEqual([])
  })

  it.each([
    ['allocate', 'ALLOCATOR_ROLE'],
    ['report', 'REPORTER_ROLE'],
    ['pause', 'MANAGER_ROLE'],
  ])('ask for a role by the hash of its name: %s', (name, role) => {
    const [, kind, ruleset] = CASES.find(([, each]) => each.name === name) ?? []
    if (kind === undefined || ruleset === undefined) throw new TypeError(`a shipped policy allows ${name}`)
    const { calls } = callsOf(kind, ruleset)
    const selector = toFunctionSelector('hasRole(bytes32,address)')
    const asked = calls.filter(({ data }) => data.startsWith(selector)).map(({ data }) => data.slice(10, 74))
    expect(asked).toEqual([keccak256(stringToHex(role)).slice(2)])
  })

  it('say what they read of the request, and what they prove', () => {
    const said = CASES.flatMap(([, { proposal }, { sanity }]) => {
      const { workflowType } = proposal
      const found: SanityCheck | undefined = sanity.get(workflowType)
      if (found === undefined) throw new TypeError(`${workflowType} is judged`)
      const { relies, revalidations, callee } = found
      return relies.length === 0
        ? []
        : [[workflowType, [relies, revalidations, ...(callee === undefined ? [] : [callee])]]]
    })
    expect(Object.fromEntries(said)).toEqual(JUDGEMENTS)
  })

  const AGE = ['priceAgeMax', 'guard.sanity.priceAgeMax', '2 min', '2 min', '121 s'] as const
  const share = (name: string) => [name, `guard.sanity.${name}`, '80 %', '80 %', '80.01 %'] as const
  it.each<[string, readonly (readonly [of: string, to: string, limit: string, at: string, past: string])[]]>([
    [
      'liquidator',
      [
        AGE,
        ['profitMin', 'guard.sanity.profitMin', '1 USD', '1 USD', '0.99 USD'],
        ['slippage', 'guard.sanity.minCollateral', '95 %', '5 %', '5.01 %'],
        ['inventoryMax', 'guard.sanity.inventoryMax.*', '5 sBTC', '5 sBTC', '5.1 sBTC'],
        ['venue', 'guard.sanity.exits.*.venue', 'pool', 'pool', 'other'],
        ['saleMax', 'guard.sanity.exits.*.saleMax', '2 sBTC', '2 sBTC', '2.1 sBTC'],
        ['exitDiscountMax', 'guard.sanity.exitDiscountMax', '2 %', '2 %', '2.01 %'],
        ['exitDiscountMax', 'guard.sanity.exitDiscountMax', '2 %', '2 %', '1.99 %'],
        ['tipShareMax', 'guard.sanity.gasShare', '50 %', '50 %', '50.01 %'],
        ['repayMax', 'limits.perWorkflow.movedMax', '9 USD', '9 USD', '10 USD'],
        ['repayPerHourMax', 'limits.perHour.movedMax', '9 USD', '9 USD', '10 USD'],
      ],
    ],
    ['allocator', [AGE, share('shareMax'), share('utilizationMax')]],
    ['nav-reporter', []],
    [
      'asset-manager',
      [
        AGE,
        ...['concentrationMax', 'positionMax', 'borrowerMax', 'marketMax'].map(share),
        ['closeMargin', 'guard.sanity.closeMargin', '2 min', '2 min', '119 s'],
        ['pause', 'guard.sanity.pauseMax', '1 d', '24 h', '25 h'],
        ['badDebtMax', 'guard.sanity.badDebtMax', '2 %', '2 %', '1.99 %'],
      ],
    ],
    [
      'rfq-bidder',
      [
        AGE,
        ['inventoryMax', 'guard.sanity.inventoryMax', '5 sBTC', '5 sBTC', '5.1 sBTC'],
        ['leadBy', 'guard.sanity.book.leadMax', '1 %', '1 %', '1.01 %'],
        ['lastCall', 'guard.sanity.book.lastCall', '2 min', '2 min', '121 s'],
        ['expiryAfterClose', 'guard.sanity.bindsAfterCloseMax', '2 min', '2 min', '121 s'],
        ['stepMax', 'guard.sanity.raiseMax', '5 %', '5 %', '5.01 %'],
        ['bidMax', 'limits.perWorkflow.movedMax', '9 USD', '9 USD', '10 USD'],
      ],
    ],
  ])('bound what the strategy of the %s asks for', (role, bounds) => {
    const strategy = sanityOf(role).strategy ?? []
    expect(strategy.map(({ of }) => of)).toEqual(bounds.map(([of]) => of))
    // What is not in a file is as its schema says.
    expect(contradictionsIn({}, strategy, TOKENS)).toEqual([])
    const nest = (path: string, value: string) =>
      path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
    for (const [of, to, limit, at, past] of bounds) {
      // The one of a token is about settings of that token.
      const one = to.replace('*', 'a')
      const found = (mine: string) =>
        contradictionsIn(
          Object.assign({}, nest(one, limit), nest(`strategy.a.${of}`, mine)),
          strategy,
          TOKENS,
        )
      expect(found(at), of).toEqual([])
      expect(found(past), of).toEqual([
        expect.objectContaining({
          path: `strategy.a.${of}`,
          isSanity: to.startsWith('guard.'),
          fix: expect.stringMatching(/^write (at (most|least) \S+ \S+, or change|the same in both)/),
        }),
      ])
    }
  })

  it('hold what the guard alone says to what the strategy does where it says nothing', () => {
    const found = (gasShare: string) =>
      contradictionsIn({ guard: { sanity: { gasShare } } }, sanityOf('liquidator').strategy ?? [], TOKENS)
    expect(found('49.99 %').map(({ path }) => path)).toEqual(['strategy.tipShareMax'])
    expect(found('50 %')).toEqual([])
    const discount = (exitDiscountMax: string) =>
      contradictionsIn(
        { guard: { sanity: { exitDiscountMax } } },
        sanityOf('liquidator').strategy ?? [],
        TOKENS,
      )
    expect(['1.99 %', '2 %', '2.01 %'].map((each) => discount(each).length)).toEqual([1, 0, 1])
  })
})

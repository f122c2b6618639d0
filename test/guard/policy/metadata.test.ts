import { encodeFunctionData } from 'viem'
import { describe, expect, it } from 'vitest'
import { checkLogs } from '../../../src/guard/checks/effects.ts'
import { amongOurs } from '../../../src/guard/ruleset.ts'
import { MARKET, SELF, STRANGER, VAULT } from '../fixtures.ts'
import { answerOf, deployment, kindOf } from '../kinds.ts'
import { OTHER_SIGNER } from '../kinds-by-hand.ts'
import { judge, NAV_RULE, type RuleText, reasonOf, rulesetOf } from '../rules.ts'

const EFFECTS = [{ workflowType: NAV_RULE.workflowType }]
const LISTING = 'role.curator.vaultMarketListingSave'
const vaultAddress = { in: '$deployment.vaults' }
const withMetadata = (...metadata: readonly Readonly<Record<string, unknown>>[]) =>
  rulesetOf([NAV_RULE], EFFECTS, deployment, { metadata })
const listing = (input: Readonly<Record<string, unknown>>, workflowType: string = LISTING) => ({
  id: 'list-market',
  workflowType,
  input,
})

describe('a type that consists of no call', () => {
  it('is allowed by conditions on its input alone, and moves nothing', () => {
    const rules = withMetadata(listing({ vaultAddress, marketAddress: { in: [MARKET] } }))
    expect(rules.effects.get(LISTING)).toEqual({ out: [], in: [], moves: [] })
    expect(rules.metadata.get(LISTING)?.leaves.map(({ path }) => path)).toEqual([
      ...['vaultAddress', 'marketAddress', 'listed'],
    ])
  })

  it.each<readonly [string, readonly Readonly<Record<string, unknown>>[], string]>([
    ['an address that may be any', [listing({ vaultAddress })], 'marketAddress: the member has no condition'],
    [
      'a member that is compared with itself',
      [listing({ vaultAddress, marketAddress: { eq: '$input.marketAddress' } })],
      'marketAddress: it may be anything',
    ],
    [
      'a list with itself',
      [listing({ vaultAddress, marketAddress: { in: [MARKET, '$input.marketAddress'] } })],
      'marketAddress: it may be anything',
    ],
    [
      'a number that is its own end',
      [
        listing(
          { vaultAddress, riskScore: { max: '$input.riskScore' } },
          'role.vault_owner.vaultOwnerSettingsSave',
        ),
      ],
      'riskScore: it may be anything',
    ],
    [
      'a number without an end',
      [listing({ vaultAddress, riskScore: { min: '1' } }, 'role.vault_owner.vaultOwnerSettingsSave')],
      'riskScore: it may be anything',
    ],
    ...[
      { max: '$deadline' },
      { min: '$deadline', max: '100' },
      { any: [{ eq: '$deadline' }, { max: '1' }] },
    ].map(
      (riskScore) =>
        [
          'the end of a call that there is not',
          [listing({ vaultAddress, riskScore }, 'role.vault_owner.vaultOwnerSettingsSave')],
          'riskScore: there is no call that ends by $deadline',
        ] as const,
    ),
    [
      'a member that is none',
      [listing({ vaultAddress, marketAddress: vaultAddress, other: vaultAddress })],
      'other: the input has no such member',
    ],
    ['a type with calls', [listing({}, NAV_RULE.workflowType)], 'consists of calls'],
    [
      'a type twice',
      [1, 2].map(() => listing({ vaultAddress, marketAddress: { in: [MARKET] } })),
      'is listed twice',
    ],
    [
      'an id twice',
      [
        listing({ vaultAddress, marketAddress: { in: [MARKET] } }),
        listing({ vaultAddress }, 'role.vault_owner.vaultManagementSettingsSave'),
      ],
      'guard.metadata[1].id: "list-market" is used twice',
    ],
    [
      'a member that one choice compares with itself',
      [listing({ vaultAddress, marketAddress: { any: [{ in: [MARKET] }, { eq: '$input.marketAddress' }] } })],
      'marketAddress: it may be anything',
    ],
    [
      'a number without an end by one choice',
      [
        listing(
          { vaultAddress, riskScore: { any: [{ max: '3' }, { min: '5' }] } },
          'role.vault_owner.vaultOwnerSettingsSave',
        ),
      ],
      'riskScore: it may be anything',
    ],
  ])('is refused with %s', (_, metadata, message) => {
    expect(() => withMetadata(...metadata)).toThrow(message)
  })

  it('is not denied, for no call of it would be', () => {
    const deny = [{ id: 'never', workflowType: LISTING, target: VAULT }]
    expect(() => rulesetOf([NAV_RULE], EFFECTS, deployment, { deny })).toThrow(
      `guard.deny[0].workflowType: ${LISTING} consists of no call`,
    )
  })
})

const GRANT = {
  workflowType: 'role.vault_owner.vaultAllocatorUpdate',
  when: { granted: 'true' },
  target: '$vault',
  function: 'function grantRole(bytes32 role, address account)',
  params: {
    role: { eq: `0x${'68'.repeat(32)}` },
    account: { eq: '$input.allocatorAddress', in: '$signers' },
  },
}
const granting = (changes: Partial<typeof GRANT>): RuleText => ({ ...GRANT, ...changes })
const compile = (rule: RuleText) => rulesetOf([rule], [{ workflowType: GRANT.workflowType }])

describe('what a call gives away', () => {
  it.each<readonly [string, RuleText]>([
    ['a token', granting({ target: '$asset.sUSD' })],
    [
      'anybody',
      granting({ params: { ...GRANT.params, account: { eq: '$input.allocatorAddress' } as never } }),
    ],
    [
      'whatever is pinned',
      granting({
        params: { ...GRANT.params, account: { eq: '$input.allocatorAddress', in: '$deployment.vaults' } },
      }),
    ],
    [
      'the first of all roles',
      granting({ params: { ...GRANT.params, role: { eq: `0x${'00'.repeat(32)}` } } }),
    ],
  ])('is never allowed to %s', (_, rule) => {
    expect(() => compile(rule)).toThrow('grantRole(bytes32,address) is never allowed')
  })

  it('goes to our signers, where the policy says so, and hangs on what the request chooses', () => {
    const kind = kindOf('allocator-grant')
    const { proposal } = kind
    const to = (rules: ReturnType<typeof compile>, allocatorAddress: string, granted = true) => {
      const input = { ...proposal.input, allocatorAddress, granted }
      const calldata = encodeFunctionData({
        abi:
          compile(GRANT)
            .rules.get(proposal.workflowType)
            ?.map(({ abi }) => abi) ?? [],
        functionName: 'grantRole',
        args: [`0x${'68'.repeat(32)}`, allocatorAddress],
      } as never)
      const answer = answerOf(kind, [{ target: VAULT, calldata, label: 'grant' }])
      return reasonOf(judge({ ...kind, proposal: { ...proposal, input } }, rules, answer))
    }
    const alone = compile(GRANT)
    const among = amongOurs(alone, { ours: [SELF, OTHER_SIGNER], sharing: [SELF] })
    expect([to(alone, SELF), to(alone, OTHER_SIGNER)]).toEqual(['postcondition_entity', 'parameter_account'])
    // Judged past its arguments, what an honest service expects is of the other signer.
    expect([to(among, OTHER_SIGNER), to(among, STRANGER)]).toEqual(['accepted', 'parameter_account'])
    expect(to(among, OTHER_SIGNER, false)).toBe('workflow_not_allowed')
  })
})

describe('shares that leave', () => {
  const shares = (out: readonly unknown[]) =>
    rulesetOf(
      [
        {
          workflowType: 'role.lender.investorRequestRedeem',
          target: '$vault',
          function:
            'function requestWithdrawal(uint256 shares, address receiver) returns (uint256 requestId)',
          params: { shares: { eq: '$input.shares' }, receiver: { eq: '$self' } },
        },
      ],
      [{ workflowType: 'role.lender.investorRequestRedeem', out }],
    )
  const { proposal } = kindOf('request-redeem')
  const leaves = (rules: ReturnType<typeof shares>, token: `0x${string}`) => {
    const effects = rules.effects.get(proposal.workflowType)
    const subject = {
      input: proposal.input,
      self: SELF,
      deadlineS: 0n,
      market: null,
      fund: null,
      effects,
      vault: deployment.vaults[0] ?? null,
      deployment,
    }
    const [to, from] = [VAULT, SELF].map((each) => `0x${'00'.repeat(12)}${each.slice(2)}` as const)
    const topics = [encodedTransfer, from ?? '0x', to ?? '0x'] as const
    const log = { address: token, data: `0x${'01'.padStart(64, '0')}` as const, topics }
    return checkLogs([log], subject, [])?.check ?? null
  }
  const encodedTransfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

  it('are those that the effects name of what is pinned, and no other token', () => {
    const named = shares([{ token: '$vault', assetsMax: '$input.shares' }])
    expect([leaves(named, VAULT), leaves(shares([]), VAULT)]).toEqual([null, 'unknown_token_left'])
    expect(leaves(named, STRANGER)).toBe('unknown_token_left')
    const foreign = shares([{ token: STRANGER, assetsMax: '$input.shares' }])
    expect(leaves(foreign, STRANGER)).toBe('unknown_token_left')
  })
})

import { keccak256, stringToHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Approvers } from '../../../src/guard/approval/approvers.ts'
import { show } from '../../../src/guard/explain/approval-screen.ts'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../../src/guard/policy/policy.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import { sanityOf } from '../../../src/guard/sanity/by-role.ts'
import type { ApprovalView } from '../../../src/workflow/approval-view.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { policyOf } from '../../support/policies.ts'
import { TOKENS } from '../../support/tokens.ts'
import { BORROWER, deployment, LOAN, MARKET, SELF, STRANGER, VAULT } from '../fixtures.ts'
import { deployment as everything, kindOf } from '../kinds.ts'
import { rulesetOf as plainRules, ROLE } from '../rules.ts'
import { SAVED } from '../saved-kinds.ts'
import { CASES } from '../shipped.ts'

const FUND = `0x${'fd'.repeat(20)}` as const
const pin = (byte: string, name: string) =>
  ({ name, address: `0x${byte.repeat(20)}`, codeHash: `0x${byte.repeat(32)}` }) as const
const named = {
  ...deployment,
  markets: deployment.markets.map((market, index) => ({ ...market, name: ['btc', 'btcSmall'][index] })),
  vaults: deployment.vaults.map((vault) => ({ ...vault, name: 'prime' })),
  funds: [{ ...pin('fd', 'recovery'), quoteAsset: LOAN }],
  contracts: [pin('e1', 'fundFactory'), pin('e2', 'registry'), pin('e3', 'fundNavOracle')],
}

/** The rules of a role's own policy file. */
function rulesetOf(role: 'liquidator' | 'allocator' | 'asset-manager' | 'nav-reporter') {
  const guard = guardPolicy(sanityOf(role).limits(TOKENS))
  const sections = z.object({
    role: z.literal(role),
    limits: limitsPolicy,
    freshness: freshnessPolicy,
    guard,
  })
  return compileRuleset(sections.parse(policyOf(role)), named)
}

const proposalOf = (changes: Pick<Proposal, 'workflowType' | 'input'> & Partial<Proposal>): Proposal => ({
  kind: 'order',
  subject: '',
  occurrence: '',
  summary: '',
  reason: {},
  exposure: { token: null, assets: 0n, usdMicros: 0n },
  ...changes,
})

const KNOWN = { approvers: { anna: { user: 'anna@ops1' } }, quorum: 1 }
const shown = (proposal: Proposal, role: Parameters<typeof rulesetOf>[0]) =>
  show({ role, proposal, signer: SELF }, rulesetOf(role), KNOWN)

/** As text, a call a paragraph. */
const textOf = ({ calls, effects, changes }: Omit<ApprovalView, 'day'>) =>
  [
    ...calls.flatMap((call) => [
      [call.to, call.function, ...call.notes].join(' | '),
      ...call.arguments.map(({ name, value }) => `  ${name} = ${value}`),
    ]),
    ...effects,
    ...changes.map(({ field, from, to }) => `${field}: ${from} → ${to}`),
  ].join('\n')

describe('what a person sees of a proposal', () => {
  it('is each call by our name of its contract, each amount with its unit, and who receives', () => {
    const input = {
      marketAddress: MARKET,
      vaultAddress: VAULT,
      borrowerAddress: BORROWER,
      repayAssets: '41650500000',
      minCollateralAssets: '63000000',
      recipientAddress: SELF,
    }
    const exposure = { token: LOAN, assets: 41_650_500_000n, usdMicros: 41_650_500_000n }
    const proposal = proposalOf({ workflowType: 'role.liquidator.liquidate', input, exposure })
    expect(textOf(shown(proposal, 'liquidator'))).toBe(
      `sUSD ${LOAN} | approve
  spender = btc ${MARKET}
  amount = 41,650.5 sUSD
btc ${MARKET} | liquidate
  vault = prime ${VAULT}
  borrower = ${BORROWER} (no name of ours)
  repayAssets = 41,650.5 sUSD
  minCollateralOut = 0.63 sBTC
  recipient = our signer ${SELF}
  deadline = at most 1 min after the answer
leaves us: at most 41,650.5 sUSD
counts as 41,650.5 USD
gas: at most 0.3 ETH`,
    )
  })

  it('is who asks, and who may approve it: everybody but them', () => {
    const input = { vaultAddress: VAULT, action: 'restore' }
    const proposal = proposalOf({ workflowType: 'role.asset_manager.vaultShareMobilityManagerAction', input })
    const [agents, annas] = [proposal, { ...proposal, askedBy: 'anna' }].map((each) =>
      shown(each, 'asset-manager'),
    )
    expect(agents).toMatchObject({
      askedBy: 'the agent of the asset-manager',
      quorum: 1,
      approvers: [{ name: 'anna', user: 'anna@ops1' }],
    })
    expect(annas).toMatchObject({ askedBy: 'anna', quorum: 1, approvers: [] })
    const ben = { key: 'ed25519:AA==' }
    const asked = (approvers: Approvers['approvers']) =>
      show({ role: 'asset-manager', proposal, signer: SELF }, rulesetOf('asset-manager'), {
        approvers,
        quorum: 1,
      }).approvers
    expect(asked({ ...KNOWN.approvers, ben })).toStrictEqual([
      { name: 'anna', user: 'anna@ops1' },
      { name: 'ben' },
    ])
    expect(asked({})).toBeNull()
  })

  it('is each element of a list', () => {
    const input = {
      vaultAddress: VAULT,
      withdrawals: [],
      supplies: named.markets.map(({ address }, index) => ({
        marketAddress: address,
        assets: String(1_000_000 * (index + 1)),
      })),
    }
    const proposal = proposalOf({ workflowType: 'role.allocator.vaultReallocationBatch', input })
    const { calls } = shown(proposal, 'allocator')
    expect(calls[0]?.arguments).toEqual([
      { name: 'supplies[0].market', value: `btc ${MARKET}` },
      { name: 'supplies[1].market', value: `btcSmall ${named.markets[1]?.address}` },
      { name: 'supplies[0].assets', value: '1 sUSD' },
      { name: 'supplies[1].assets', value: '2 sUSD' },
    ])
  })

  it('is what a setting was and what it becomes, and a choice by its word beside its value', () => {
    const input = {
      fundAddress: FUND,
      channel: 'acquisition',
      enabled: true,
      maxAssetsPerEpoch: '250000000000',
      maxPriceBps: 9_400,
      maxPositionBps: 2_000,
    }
    const workflowType = 'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet'
    const reason = { maxPriceBpsFrom: '9300', maxPriceBpsTo: '9400' }
    const proposal = proposalOf({ workflowType, input, reason, loosens: true })
    const seen = shown(proposal, 'asset-manager')
    expect(textOf(seen)).toContain(`recovery ${FUND} | setChannelPolicy
  channel = "acquisition" (0x6163717569736974696f6e`)
    expect(textOf(seen)).toContain('  maxAssetsPerEpoch = 250,000 sUSD\n  maxPriceBps = 94 %')
    expect(seen.changes).toEqual([{ field: 'maxPriceBps', from: '93 %', to: '94 %' }])
    // What was not there before, and what is no figure.
    const others = { maxPriceBpsTo: '9400', modeFrom: 'slow', modeTo: 'fast', mode: 'none' }
    expect(shown({ ...proposal, reason: others }, 'asset-manager').changes).toEqual([
      { field: 'maxPriceBps', from: null, to: '94 %' },
      { field: 'mode', from: 'slow', to: 'fast' },
    ])
    // Who submits it may write there what they like.
    expect(shown({ ...proposal, askedBy: 'anna' }, 'asset-manager').changes).toEqual([])
    expect(seen.effects).toContain('moves no token, ours or of others')
  })

  it('is all that the input of what is saved at the service says', () => {
    const saved = (workflowType: string, changes: Proposal['input'] = {}) => {
      const { proposal, ruleset } = SAVED.find((each) => each.workflowType === workflowType) ?? {}
      if (proposal === undefined || ruleset === undefined) throw new TypeError(`${workflowType} is saved`)
      const input = { ...proposal.input, ...changes }
      const given = { role: ruleset.role, proposal: { ...proposal, input }, signer: SELF }
      const [call] = show(given, ruleset, KNOWN).calls
      return call?.arguments.map(({ name, value }) => `${name} = ${value}`)
    }
    expect(saved('role.curator.vaultMarketListingSave')).toEqual([
      `vaultAddress = a vault ${VAULT}`,
      `marketAddress = btcMarket ${MARKET}`,
      'listed = true',
    ])
    const settings = 'role.vault_owner.vaultOwnerSettingsSave'
    expect(saved(settings)?.slice(1)).toEqual(['shareClass = "Institutional"', 'riskScore = 40'])
    // A text of digits is no figure, and what is no figure is not made one.
    expect(saved(settings, { shareClass: '1000', riskScore: 'low' })?.slice(1)).toEqual([
      'shareClass = "1000"',
      'riskScore = "low"',
    ])
    expect(saved(settings, { shareClass: null as never })).toContain('shareClass = NOTHING that is known')
  })

  it.each([
    ['allocator-grant', 'ALLOCATOR_ROLE'],
    ['curator-revoke', 'CURATOR_ROLE'],
    ['manager-grant', 'MANAGER_ROLE'],
  ])('is the name of a role beside its hash: %s', (name, role) => {
    const [, kind, ruleset] = CASES.find(([, each]) => each.name === name) ?? []
    if (kind === undefined || ruleset === undefined) throw new TypeError(`no shipped kind is called ${name}`)
    const given = { role: ruleset.role, proposal: kind.proposal, signer: SELF }
    const [call] = show(given, ruleset, KNOWN).calls
    expect(call?.arguments[0]?.value).toContain(`${role} ${keccak256(stringToHex(role))}`)
  })

  it('says of whom it has no name', () => {
    const input = {
      vaultAddress: VAULT,
      action: 'set_trusted_recipient',
      recipientAddress: STRANGER,
      trusted: true,
    }
    const workflowType = 'role.asset_manager.vaultShareMobilityManagerAction'
    const seen = shown(proposalOf({ workflowType, input }), 'asset-manager')
    expect(textOf(seen)).toContain(`  recipient = ${STRANGER} (no name of ours)\n  trusted = true`)
  })
})

describe('what a rule demands', () => {
  const kind = kindOf('rfq-place')
  const { proposal } = kind
  const { workflowType } = proposal
  const place = 'function placeBid(uint256 rfqId, uint256 bidAssets, uint64 expiresTimestamp)'
  const params = {
    rfqId: { eq: '$input.rfqId' },
    bidAssets: { eq: '$input.bidAssets' },
    expiresTimestamp: { eq: '$input.expiresTimestamp' },
  }
  /** What is shown of an argument under these conditions. */
  const said = (name: keyof typeof params, tests: unknown, input = proposal.input) => {
    const facts = { most: '$input.rfqId + 1' }
    const ruleset = plainRules(
      [{ workflowType, target: '$contract.rfqDesk', function: place, params: { ...params, [name]: tests } }],
      [{ workflowType }],
      everything,
      { facts },
    )
    const { calls } = show({ role: ROLE, proposal: { ...proposal, input }, signer: SELF }, ruleset, KNOWN)
    return calls[0]?.arguments.find((each) => each.name === name)?.value
  }

  it.each<[string, keyof typeof params, unknown]>([
    ['3', 'rfqId', { eq: '$input.rfqId' }],
    // What is not known before there is a call is said as it is written.
    ['at least 3, at most $fact.most (not given)', 'rfqId', { min: '$input.rfqId', max: '$fact.most' }],
    [
      'at least 3, at most $args.expiresTimestamp (not given)',
      'rfqId',
      { min: '$input.rfqId', max: '$args.expiresTimestamp' },
    ],
    [
      'at least 99 % of $input.bidAssets (5,000,000,000 base units), at most 5,000,000,000 base units',
      'bidAssets',
      { min: '99 % of $input.bidAssets', max: '$input.bidAssets' },
    ],
    ['exactly $input.rfqId (3), or at most 2 (2)', 'rfqId', { any: [{ eq: '$input.rfqId' }, { max: '2' }] }],
  ])('is said as %s', (text, name, tests) => expect(said(name, tests)).toBe(text))

  it('is NOTHING where the request does not say it', () => {
    const { rfqId: _rfqId, ...input } = proposal.input
    expect(said('rfqId', { eq: '$input.rfqId' }, input)).toBe('NOTHING that is known')
  })

  it('is said with what is sent and carried, and in the token that an approval goes to', () => {
    const [, , ruleset] = CASES.find(([, { name }]) => name === kind.name) ?? []
    const [approve, bid] = ruleset?.rules.get(workflowType) ?? []
    if (ruleset === undefined || approve === undefined || bid === undefined)
      throw new TypeError('a bid is approved, and placed')
    const inside = { data: 'calls[]', target: null, value: null, rules: [bid] }
    const rules = new Map([[workflowType, [{ ...approve, inside, valueWeiMax: 5n * 10n ** 15n }]]])
    // Neither an effect nor a market says what its amount is of.
    const effects = new Map([[workflowType, { out: [], in: [], moves: [] }]])
    const given = { role: ruleset.role, proposal, signer: SELF }
    const { calls } = show(given, { ...ruleset, rules, effects }, KNOWN)
    expect(calls.map(({ notes }) => notes)).toEqual([
      ['carries the next 1 calls', 'sends at most 0.005 ETH'],
      [],
    ])
    expect(calls[0]?.arguments.find(({ name }) => name === 'amount')?.value).toBe('5,000 sUSD')
  })

  it('moves an unknown amount of what is not pinned, or of what the request does not say', () => {
    const ruleset = rulesetOf('liquidator')
    const { proposal: liquidating } = kindOf('liquidate')
    const [known] = ruleset.effects.get(liquidating.workflowType)?.out ?? []
    if (known === undefined) throw new TypeError('a repayment leaves us')
    const unknown = { text: '$input.other', each: null, resolve: () => undefined }
    const out = [
      { ...known, token: { ...known.token, resolve: () => STRANGER } },
      { ...known, assetsMax: unknown },
    ]
    const effects = new Map([[liquidating.workflowType, { out, in: [], moves: [] }]])
    const given = { role: 'liquidator', proposal: liquidating, signer: SELF } as const
    expect(show(given, { ...ruleset, effects }, KNOWN).effects.slice(0, 2)).toEqual([
      `leaves us: at most an unknown amount of ${STRANGER}`,
      `leaves us: at most an unknown amount of ${LOAN}`,
    ])
  })
})

import { encodeFunctionData } from 'viem'
import { describe, expect, it } from 'vitest'
import { lendingVaultAbi } from '../../../sandbox/contracts/abis.ts'
import { BORROWER, LOAN, MARKET, OTHER_MARKET, STRANGER, VAULT } from '../fixtures.ts'
import type { Kind } from '../kind.ts'
import { answerOf, DESK, kindOf } from '../kinds.ts'
import { judge, type RuleText, reasonOf, rulesetOf } from '../rules.ts'

const BATCH = 'role.allocator.vaultReallocationBatch'
const MOBILITY = 'role.asset_manager.vaultShareMobilityManagerAction'
const REPLACE = 'role.lender.distressedRecoveryFundV3RfqReplaceBid'
const CHANNEL = 'role.asset_manager.distressedRecoveryFundV3ChannelPolicySet'

const batchRule = {
  workflowType: BATCH,
  target: '$vault',
  function:
    'function reallocate((address market, uint256 assets)[] withdrawals, (address market, uint256 assets)[] supplies)',
  params: {
    'withdrawals[].market': { eq: '$input.withdrawals[].marketAddress', in: '$deployment.markets' },
    'withdrawals[].assets': { eq: '$input.withdrawals[].assets' },
    'supplies[].market': { eq: '$input.supplies[].marketAddress', in: '$deployment.markets' },
    'supplies[].assets': { eq: '$input.supplies[].assets' },
  },
}
const batchEffect = {
  workflowType: BATCH,
  moves: [
    { token: '$asset.sUSD', assets: '$input.withdrawals[].assets' },
    { token: '$asset.sUSD', assets: '$input.supplies[].assets' },
  ],
}
const paths = (error: () => unknown) => {
  try {
    error()
  } catch (thrown) {
    return (thrown as { facts?: { path?: string } }).facts?.path
  }
  return undefined
}
const badRule = (rule: RuleText, changes: Readonly<Record<string, unknown>>) =>
  paths(() => rulesetOf([{ ...rule, ...changes }], [{ workflowType: rule.workflowType }]))

describe('lists', () => {
  const ruleset = rulesetOf([batchRule], [batchEffect])
  const kind = kindOf('reallocate')
  type Move = { market: `0x${string}`; assets: bigint }
  const out: Move[] = [{ market: MARKET, assets: 300_000n }]
  const into: Move[] = [
    { market: OTHER_MARKET, assets: 200_000n },
    { market: MARKET, assets: 100_000n },
  ]
  const answer = (withdrawals: Move[], supplies: Move[]) => {
    const calldata = encodeFunctionData({
      abi: lendingVaultAbi,
      functionName: 'reallocate',
      args: [withdrawals, supplies],
    })
    return reasonOf(judge(kind, ruleset, answerOf(kind, [{ target: VAULT, calldata, label: 'moves' }])))
  }
  const [first, second] = into

  it('are compared element by element, in order', () => {
    expect(answer(out, into)).toBe('accepted')
    if (first === undefined || second === undefined) throw new TypeError('two supplies')
    expect(answer(out, [second, first])).toBe('parameter_supplies_market')
    expect(answer(out, [first, { ...second, assets: 100_001n }])).toBe('parameter_supplies_assets')
    expect(answer(out, [first, { ...second, market: STRANGER }])).toBe('parameter_supplies_market')
  })

  it('are as long as the input says', () => {
    if (first === undefined) throw new TypeError('two supplies')
    expect(answer(out, [...into, first])).toBe('parameter_supplies_length')
    expect(answer(out, [first])).toBe('parameter_supplies_length')
    expect(answer([], into)).toBe('parameter_withdrawals_length')
    expect(answer(into, out)).toBe('parameter_withdrawals_length')
  })

  it('count their sum in budgets', () => {
    const { proposal } = kind
    const counting = (usdMicros: bigint): Kind => ({
      ...kind,
      proposal: { ...proposal, exposure: { ...proposal.exposure, usdMicros } },
    })
    // 600,000 base units of six decimals at 98 cents.
    expect(reasonOf(judge(counting(588_000n), ruleset))).toBe('accepted')
    expect(reasonOf(judge(counting(587_999n), ruleset))).toBe('exposure_underpriced')
  })

  it('need a condition on their length, a list to compare with, and a name', () => {
    const { params } = batchRule
    const loose = {
      ...params,
      'supplies[].market': { in: '$deployment.markets' },
      'supplies[].assets': { max: '5' },
    }
    expect(badRule(batchRule, { params: loose })).toBe('guard.allow[0].params.supplies[].market')
    const other = { ...params, 'supplies[].assets': { eq: '$input.supplies[].amount' } }
    expect(badRule(batchRule, { params: other })).toBe('guard.allow[0].params.supplies[].assets.eq')
    const missing = { ...params, 'supplies[].assets': undefined }
    expect(() => rulesetOf([{ ...batchRule, params: missing }], [batchEffect])).toThrow()
    const single = {
      ...batchRule,
      function: 'function allocate(address market, uint256 assets)',
      params: { market: { eq: '$input.supplies[].marketAddress' }, assets: { eq: '1' } },
    }
    expect(badRule(single, {})).toBe('guard.allow[0].params.market.eq')
    expect(badRule(batchRule, { function: 'function reallocate(uint256)' })).toBe('guard.allow[0].params')
  })
})

describe('choices of the input', () => {
  const mobilityRules: readonly RuleText[] = [
    {
      when: { action: 'set_transfer_profile' },
      function: 'function setTransferProfile(uint8 profile)',
      params: {
        profile: { eq: '$input.transferProfile', map: { open: '0', trusted_recipients: '1', frozen: '2' } },
      },
    },
    {
      when: { action: 'pause' },
      function: 'function pauseShareMobility(uint64 until, string reason, string freezeReason)',
      params: {
        until: { eq: '$input.restoreAfterTimestamp' },
        reason: { eq: '$input.reason' },
        freezeReason: { eq: '' },
      },
    },
    {
      when: { action: 'set_trusted_recipient' },
      function: 'function setTrustedRecipient(address recipient, bool trusted)',
      params: { recipient: { eq: BORROWER }, trusted: { eq: '$input.trusted' } },
    },
  ].map((rule) => ({ ...rule, workflowType: MOBILITY, target: '$vault' }))
  const ruleset = rulesetOf(mobilityRules, [{ workflowType: MOBILITY }])

  it('have calls of their own', () => {
    expect(reasonOf(judge(kindOf('pause'), ruleset))).toBe('accepted')
    expect(reasonOf(judge(kindOf('set_transfer_profile'), ruleset))).toBe('accepted')
    expect(reasonOf(judge(kindOf('set_trusted_recipient'), ruleset))).toBe('accepted')
    const [pause, profile] = [kindOf('pause'), kindOf('set_transfer_profile')]
    expect(reasonOf(judge(pause, ruleset, answerOf(pause, profile.drafts)))).toBe('function_not_allowed')
  })

  it('are refused before anything is prepared when no rule fits', () => {
    expect(reasonOf(judge(kindOf('restore'), ruleset))).toBe('workflow_not_allowed')
  })

  it('are numbers on chain by the map alone', () => {
    const kind = kindOf('set_transfer_profile')
    const answer = (profile: number) => {
      const calldata = encodeFunctionData({
        abi: lendingVaultAbi,
        functionName: 'setTransferProfile',
        args: [profile],
      })
      return reasonOf(judge(kind, ruleset, answerOf(kind, [{ target: VAULT, calldata, label: 'profile' }])))
    }
    expect(answer(1)).toBe('accepted')
    expect(answer(0)).toBe('parameter_profile')
    expect(answer(2)).toBe('parameter_profile')
    const narrow = mobilityRules.map((rule, index) =>
      index === 0
        ? { ...rule, params: { profile: { eq: '$input.transferProfile', map: { open: '0' } } } }
        : rule,
    )
    expect(reasonOf(judge(kind, rulesetOf(narrow, [{ workflowType: MOBILITY }])))).toBe('parameter_profile')
  })

  it('compare truth values and texts', () => {
    const [trust, pause] = [kindOf('set_trusted_recipient'), kindOf('pause')]
    const answer = (kind: Kind, functionName: 'setTrustedRecipient' | 'pauseShareMobility', args: never) => {
      const calldata = encodeFunctionData({ abi: lendingVaultAbi, functionName, args })
      return reasonOf(judge(kind, ruleset, answerOf(kind, [{ target: VAULT, calldata, label: 'it' }])))
    }
    expect(answer(trust, 'setTrustedRecipient', [BORROWER, false] as never)).toBe('parameter_trusted')
    expect(answer(trust, 'setTrustedRecipient', [STRANGER, true] as never)).toBe('parameter_recipient')
    const until = BigInt(String(pause.proposal.input.restoreAfterTimestamp))
    expect(answer(pause, 'pauseShareMobility', [until, 'An audit', ''] as never)).toBe('parameter_reason')
    expect(answer(pause, 'pauseShareMobility', [until, 'an audit', 'x'] as never)).toBe(
      'parameter_freeze_reason',
    )
    expect(answer(pause, 'pauseShareMobility', [until + 1n, 'an audit', ''] as never)).toBe('parameter_until')
  })

  it('must exist, and lead to a value of the parameter’s kind', () => {
    const rule = mobilityRules[0] ?? { workflowType: MOBILITY }
    expect(badRule(rule, { when: { action: 'burn' } })).toBe('guard.allow[0].when')
    expect(badRule(rule, { when: { deed: 'pause' } })).toBe('guard.allow[0].when')
    expect(badRule(rule, { params: { profile: { eq: '$input.transferProfile' } } })).toBe(
      'guard.allow[0].params.profile.eq',
    )
    const map = { open: 'first' }
    expect(badRule(rule, { params: { profile: { eq: '$input.transferProfile', map } } })).toBe(
      'guard.allow[0].params.profile.map',
    )
    expect(badRule(rule, { when: undefined })).toBe('guard.allow[0].params.profile.map')
  })
})

describe('words', () => {
  const rule = {
    workflowType: CHANNEL,
    target: '$fund',
    function:
      'function setChannelPolicy(bytes32 channel, bool enabled, uint256 maxAssetsPerEpoch, uint16 maxPriceBps, uint16 maxPositionBps)',
    params: {
      channel: { eq: '$input.channel' },
      enabled: { eq: '$input.enabled' },
      maxAssetsPerEpoch: { eq: '$input.maxAssetsPerEpoch' },
      maxPriceBps: { eq: '$input.maxPriceBps', max: '9500' },
      maxPositionBps: { eq: '$input.maxPositionBps' },
    },
  }
  const kind = kindOf('channel')

  it('are texts of the input, padded with zeros', () => {
    expect(reasonOf(judge(kind, rulesetOf([rule], [{ workflowType: CHANNEL }])))).toBe('accepted')
    const params = { ...rule.params, channel: { eq: 'rfq' } }
    expect(reasonOf(judge(kind, rulesetOf([{ ...rule, params }], [{ workflowType: CHANNEL }])))).toBe(
      'parameter_channel',
    )
  })

  it('may be held to the policy’s own bounds beside the input', () => {
    const params = { ...rule.params, maxPriceBps: { eq: '$input.maxPriceBps', max: '8999' } }
    expect(reasonOf(judge(kind, rulesetOf([{ ...rule, params }], [{ workflowType: CHANNEL }])))).toBe(
      'parameter_max_price_bps',
    )
  })

  it('have no order', () => {
    const params = { ...rule.params, channel: { max: '$input.channel' } }
    expect(badRule(rule, { params })).toBe('guard.allow[0].params.channel.max')
  })
})

describe('targets', () => {
  const rule = (target: string) => ({
    workflowType: REPLACE,
    target,
    function: 'function replaceBid(uint256 bidId, uint256 assets, uint64 expiresAt)',
    params: {
      bidId: { eq: '$input.bidId' },
      assets: { eq: '$input.bidAssets' },
      expiresAt: { eq: '$input.expiresTimestamp' },
    },
  })
  const effects = [{ workflowType: REPLACE, out: [{ token: '$asset.sUSD', assetsMax: '$input.bidAssets' }] }]
  const kind = kindOf('rfq-replace-down')

  it.each(['$contract.rfqDesk', '$input.rfqAddress'])('may be %s', (target) => {
    expect(reasonOf(judge(kind, rulesetOf([rule(target)], effects)))).toBe('accepted')
  })

  it('must be pinned', () => {
    const input = { ...kind.proposal.input, rfqAddress: STRANGER }
    const draft = kind.drafts.map((each) => ({ ...each, target: STRANGER }))
    const other = { ...kind, drafts: draft, proposal: { ...kind.proposal, input } }
    expect(judge(other, rulesetOf([rule('$input.rfqAddress')], effects))).toMatchObject({
      check: 'target_not_pinned',
      message: expect.stringContaining('which is not in the deployment.'),
    })
  })

  it('may not be a whole list', () => {
    expect(badRule(batchRule, { target: '$input.supplies[].marketAddress' })).toBe('guard.allow[0].target')
    const token = '$input.supplies[].marketAddress'
    const list = { ...batchEffect, out: [{ token, assetsMax: '5' }] }
    expect(paths(() => rulesetOf([batchRule], [list]))).toBe('guard.effects[0].out[0].token')
  })

  it.each([DESK, '$contract.desk', '$asset.USD', '$fund', '$market', '$vault', '$input.rfqId', '$deadline'])(
    'may not be %s',
    (target) => {
      expect(paths(() => rulesetOf([rule(target)], effects))).toBe('guard.allow[0].target')
    },
  )
})

describe('calls that may be missing', () => {
  const approve = {
    workflowType: REPLACE,
    optional: 'true',
    target: '$asset.sUSD',
    function: 'function approve(address spender, uint256 amount) returns (bool)',
    params: { spender: { eq: '$input.rfqAddress' }, amount: { max: '$input.bidAssets' } },
  }
  const replace = {
    workflowType: REPLACE,
    target: '$input.rfqAddress',
    function: 'function replaceBid(uint256 bidId, uint256 assets, uint64 expiresAt)',
    params: {
      bidId: { eq: '$input.bidId' },
      assets: { eq: '$input.bidAssets' },
      expiresAt: { eq: '$input.expiresTimestamp' },
    },
  }
  const effects = [{ workflowType: REPLACE, out: [{ token: '$asset.sUSD', assetsMax: '$input.bidAssets' }] }]
  const ruleset = rulesetOf([approve, replace], effects)
  const [up, down] = [kindOf('rfq-replace-up'), kindOf('rfq-replace-down')]

  it('are there or not', () => {
    expect(reasonOf(judge(up, ruleset))).toBe('accepted')
    expect(reasonOf(judge(down, ruleset))).toBe('accepted')
  })

  it('come in their place, once', () => {
    const [ahead, final] = up.drafts
    if (ahead === undefined || final === undefined) throw new TypeError('two drafts')
    const answer = (...drafts: (typeof ahead)[]) => reasonOf(judge(up, ruleset, answerOf(up, drafts)))
    expect(answer(final, ahead)).toBe('target_not_allowed')
    expect(answer(ahead)).toBe('target_not_allowed')
    expect(answer(ahead, ahead, final)).toBe('sequence_mismatch')
    expect(answer(final, final)).toBe('target_not_allowed')
    expect(answer()).toBe('sequence_mismatch')
  })

  it('are not the last ones', () => {
    const last = { ...replace, optional: 'true' }
    expect(paths(() => rulesetOf([approve, last], effects))).toBe('guard.allow')
    expect(paths(() => rulesetOf([replace, approve], effects))).toBe('guard.allow')
  })

  it('approve tokens of the deployment alone', () => {
    const token = { ...approve, target: '$contract.rfqDesk' }
    expect(judge(up, rulesetOf([token, replace], effects))).toMatchObject({
      check: 'target_not_pinned',
      message: expect.stringContaining('which is not in deployment.assets.'),
    })
    expect(up.proposal.exposure.token).toBe(LOAN)
  })
})

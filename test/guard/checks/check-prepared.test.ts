import { type Hex, maxUint256 } from 'viem'
import { describe, expect, it } from 'vitest'
import { checkPrepared } from '../../../src/guard/checks/check-prepared.ts'
import { checkRequest } from '../../../src/guard/checks/check-request.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import type { PreparedWorkflow, TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import {
  approve,
  BORROWER,
  bound,
  COLLATERAL,
  deployment,
  freeze,
  intent,
  LOAN,
  liquidate,
  liquidation,
  liquidationAnswer,
  liquidationArgs,
  MARKET,
  MIN_COLLATERAL,
  NOW_MS,
  OTHER_MARKET,
  REPAY,
  ruleset,
  SELF,
  STRANGER,
  sections,
  settle,
  settlement,
  settlementAnswer,
  VAULT,
} from '../fixtures.ts'

const check = (answer: PreparedWorkflow, proposal: Proposal = liquidation, nowMs = NOW_MS) =>
  checkPrepared({ workflow: bound(proposal), frozen: freeze(answer), ruleset, nowMs })

const reasonOf = (answer: PreparedWorkflow, proposal?: Proposal, nowMs?: number): string => {
  const checked = check(answer, proposal, nowMs)
  return checked.ok ? 'accepted' : checked.check
}

/** An honest answer with one intent replaced. */
const withIntent = (index: number, changes: Partial<TransactionIntent>): PreparedWorkflow => {
  const answer = liquidationAnswer()
  return {
    ...answer,
    transactions: answer.transactions.map((item, at) => (at === index ? { ...item, ...changes } : item)),
  }
}
const withApproval = (calldata: Hex) => withIntent(0, { calldata })
const withAction = (args: Partial<typeof liquidationArgs>) =>
  withIntent(1, { calldata: liquidate({ ...liquidationArgs, ...args }) })
const withPreflight = (changes: Partial<PreparedWorkflow['preflight']>): PreparedWorkflow => ({
  ...liquidationAnswer(),
  preflight: { ...liquidationAnswer().preflight, ...changes },
})
const withFreshness = (changes: Partial<PreparedWorkflow['preflight']['freshness']>) =>
  withPreflight({ freshness: { ...liquidationAnswer().preflight.freshness, ...changes } })
const withAnswer = (changes: Partial<PreparedWorkflow>): PreparedWorkflow => ({
  ...liquidationAnswer(),
  ...changes,
})
const withOrder = (...transactions: readonly TransactionIntent[]) =>
  withAnswer({ transactions: [...transactions] })

const honestApproval = intent(0, LOAN, approve(MARKET, REPAY))
const honestAction = intent(1, MARKET, liquidate(liquidationArgs))
/** The calldata with one byte of one 32-byte word replaced. */
const dirty = (calldata: Hex, word: number, byte: number): Hex => {
  const at = 2 + 8 + word * 64 + byte * 2
  return `0x${calldata.slice(2, at)}01${calldata.slice(at + 2)}`
}

const ATTACKS: readonly (readonly [string, PreparedWorkflow, string])[] = [
  ['says that it failed', withAnswer({ ok: false }), 'answer_not_ok'],
  [
    'is for another workflow type',
    withAnswer({ workflowType: 'role.liquidator.settleLiquidationClaim' }),
    'workflow_mismatch',
  ],
  ['is for a type we do not know', withAnswer({ workflowType: 'withdrawNow' }), 'workflow_mismatch'],
  ['claims to be final', withAnswer({ status: 'final_success' }), 'already_final'],
  ['has no transaction mode', withAnswer({ executionMode: 'metadata_only' }), 'execution_mode'],
  ['moves custody', withAnswer({ custodyBoundary: 'wallet_session_authenticated' }), 'custody_boundary'],
  ['calls its request two lines', withAnswer({ requestId: 'wf-1\nforged' }), 'request_id'],
  ['calls its request a path', withAnswer({ requestId: '../keys' }), 'request_id'],
  ['calls its request a directory', withAnswer({ requestId: '..' }), 'request_id'],
  ['calls its request a screen’s command', withAnswer({ requestId: 'wf\u001b[2J' }), 'request_id'],
  [
    'has an empty snapshot hash',
    withAnswer({ snapshotHash: `0x${'00'.repeat(32)}` }),
    'snapshot_hash_missing',
  ],
  ['names no postcondition', withAnswer({ canonicalPostconditions: [] }), 'postconditions_missing'],
  [
    'is blocked',
    withPreflight({ status: 'blocked', blockedReasons: ['market_paused'] }),
    'preflight_blocked',
  ],
  ['is blocked without a reason', withPreflight({ status: 'blocked' }), 'preflight_blocked'],
  ['passed but names a reason', withPreflight({ blockedReasons: ['oracle'] }), 'preflight_blocked'],
  ['has a stale snapshot', withFreshness({ status: 'stale' }), 'stale_snapshot'],
  ['has a missing snapshot', withFreshness({ status: 'missing' }), 'stale_snapshot'],
  ['has a blocked snapshot', withFreshness({ status: 'blocked' }), 'stale_snapshot'],
  ['has a freshness of the future', withFreshness({ status: 'splendid' }), 'stale_snapshot'],
  ['has an old snapshot called current', withFreshness({ lagSeconds: 21 }), 'stale_snapshot'],
  ['names no block', withFreshness({ blockNumber: null }), 'snapshot_block_missing'],
  [
    'asks for a revalidation we do not know',
    withPreflight({ revalidateAtExecution: ['moon_is_full'] }),
    'revalidation_unknown',
  ],
  [
    'asks for a revalidation of another type',
    withPreflight({ revalidateAtExecution: ['claim_settleable'] }),
    'revalidation_unknown',
  ],
  ['expired', withAnswer({ expiresAt: new Date(NOW_MS - 1).toISOString() }), 'expired'],
  ['is about to expire', withAnswer({ expiresAt: new Date(NOW_MS + 2_999).toISOString() }), 'expired'],
  ['has no intent', withOrder(), 'sequence_mismatch'],
  ['lacks the approval', withOrder({ ...honestAction, order: 0 }), 'sequence_mismatch'],
  ['lacks the action', withOrder(honestApproval), 'sequence_mismatch'],
  [
    'approves twice',
    withOrder(honestApproval, honestAction, { ...honestApproval, order: 2 }),
    'sequence_mismatch',
  ],
  [
    'acts before it approves',
    withOrder({ ...honestAction, order: 0 }, { ...honestApproval, order: 1 }),
    'target_not_allowed',
  ],
  ['numbers an intent twice', withOrder(honestApproval, { ...honestAction, order: 0 }), 'intent_order'],
  [
    'begins to number at one',
    withOrder({ ...honestApproval, order: 1 }, { ...honestAction, order: 2 }),
    'intent_order',
  ],
  ['is for another chain', withIntent(1, { chainId: 1 }), 'chain_mismatch'],
  ['approves on another chain', withIntent(0, { chainId: 1 }), 'chain_mismatch'],
  ['creates a contract', withIntent(1, { transactionKind: 'contract_deployment' }), 'contract_creation'],
  ['has no target', withIntent(1, { target: null }), 'contract_creation'],
  ['sends coin with the action', withIntent(1, { value: '1' }), 'value_above_cap'],
  ['sends coin with the approval', withIntent(0, { value: '1' }), 'value_above_cap'],
  [
    'asks for typed data',
    withIntent(1, { signing: { kind: 'eip712', typedData: {}, signaturePlacement: 'append' } }),
    'signing_not_allowed',
  ],
  ['goes to a stranger', withIntent(1, { target: STRANGER }), 'target_not_allowed'],
  ['goes to another market of ours', withIntent(1, { target: OTHER_MARKET }), 'target_not_allowed'],
  ['goes to the vault', withIntent(1, { target: VAULT }), 'target_not_allowed'],
  ['goes to ourselves', withIntent(1, { target: SELF }), 'target_not_allowed'],
  ['approves the collateral token', withIntent(0, { target: COLLATERAL }), 'target_not_allowed'],
  [
    'transfers instead of approving',
    withApproval(`0xa9059cbb${approve(STRANGER, REPAY).slice(10)}`),
    'function_not_allowed',
  ],
  [
    'raises the allowance instead',
    withApproval(`0x39509351${approve(MARKET, REPAY).slice(10)}`),
    'function_not_allowed',
  ],
  [
    'repays instead of liquidating',
    withIntent(1, { calldata: `0x12345678${liquidate(liquidationArgs).slice(10)}` }),
    'function_not_allowed',
  ],
  ['calls nothing', withIntent(1, { calldata: '0x' }), 'function_not_allowed'],
  ['has half a selector', withIntent(1, { calldata: '0x095e' }), 'function_not_allowed'],
  ['approves a stranger', withApproval(approve(STRANGER, REPAY)), 'approval_spender'],
  ['approves ourselves', withApproval(approve(SELF, REPAY)), 'approval_spender'],
  ['approves another market', withApproval(approve(OTHER_MARKET, REPAY)), 'approval_spender'],
  ['approves one base unit more', withApproval(approve(MARKET, REPAY + 1n)), 'approval_not_exact'],
  ['approves one base unit less', withApproval(approve(MARKET, REPAY - 1n)), 'approval_not_exact'],
  ['approves everything', withApproval(approve(MARKET, maxUint256)), 'approval_unlimited'],
  ['approves with trailing bytes', withApproval(`${approve(MARKET, REPAY)}00`), 'calldata_not_canonical'],
  [
    'approves with a trailing word',
    withApproval(`${approve(MARKET, REPAY)}${'00'.repeat(32)}`),
    'calldata_not_canonical',
  ],
  [
    'approves with dirty address bits',
    withApproval(dirty(approve(MARKET, REPAY), 0, 0)),
    'calldata_not_canonical',
  ],
  [
    'is cut short',
    withIntent(1, { calldata: `0x${liquidate(liquidationArgs).slice(2, -2)}` }),
    'calldata_not_canonical',
  ],
  [
    'has a dirty recipient',
    withIntent(1, { calldata: dirty(liquidate(liquidationArgs), 4, 3) }),
    'calldata_not_canonical',
  ],
  ['pays a stranger', withAction({ recipient: STRANGER }), 'parameter_recipient'],
  ['pays the market', withAction({ recipient: MARKET }), 'parameter_recipient'],
  ['liquidates somebody else', withAction({ borrower: STRANGER }), 'parameter_borrower'],
  ['liquidates ourselves', withAction({ borrower: SELF }), 'parameter_borrower'],
  ['repays a strange vault', withAction({ vault: STRANGER }), 'parameter_vault'],
  ['repays more', withAction({ repayAssets: REPAY + 1n }), 'parameter_repay_assets'],
  ['repays less', withAction({ repayAssets: REPAY - 1n }), 'parameter_repay_assets'],
  ['insists on nothing', withAction({ minCollateralOut: 0n }), 'parameter_min_collateral_out'],
  [
    'insists on one base unit less',
    withAction({ minCollateralOut: MIN_COLLATERAL - 1n }),
    'parameter_min_collateral_out',
  ],
  [
    'may run one second longer than it lives',
    withAction({ deadline: liquidationArgs.deadline + 1n }),
    'parameter_deadline',
  ],
  ['may run for ever', withAction({ deadline: maxUint256 }), 'parameter_deadline'],
  [
    'lives until 2099',
    { ...withAction({ deadline: 4_070_908_800n }), expiresAt: '2099-01-01T00:00:00.000Z' },
    'parameter_deadline',
  ],
]

describe('the static guard', () => {
  it('accepts an honest liquidation, and says what it is', () => {
    const checked = check(liquidationAnswer())
    expect(checked).toMatchObject({
      ok: true,
      notAfterMs: NOW_MS + 27_000,
      calls: [
        { to: LOAN, approval: { token: LOAN, spender: MARKET, assets: REPAY } },
        { to: MARKET, data: liquidate(liquidationArgs), valueWei: 0n, approval: null },
      ],
    })
  })

  it('takes what is current for fresh, and what is healthy', () => {
    for (const status of ['current', 'healthy']) expect(reasonOf(withFreshness({ status }))).toBe('accepted')
  })

  it('accepts an honest settlement', () => {
    expect(reasonOf(settlementAnswer(), settlement)).toBe('accepted')
  })

  it('accepts intents in any order of the list, since each names its place', () => {
    expect(reasonOf(withOrder(honestAction, honestApproval))).toBe('accepted')
  })

  it.each(ATTACKS)('refuses an answer that %s', (_name, answer, reason) => {
    expect(reasonOf(answer)).toBe(reason)
  })

  it('writes no seventy digits where everything is approved', () => {
    const checked = check(withApproval(approve(MARKET, maxUint256)))
    expect(checked).toMatchObject({
      message: expect.stringContaining(' is unlimited sUSD (2^256 − 1 base units)'),
    })
  })

  it('refuses the settlement of another claim', () => {
    const answer = { ...settlementAnswer(), transactions: [intent(0, MARKET, settle(8n))] }
    expect(reasonOf(answer, settlement)).toBe('parameter_claim_id')
  })

  it('refuses a liquidation prepared for a settlement', () => {
    expect(reasonOf(liquidationAnswer(), settlement)).toBe('workflow_mismatch')
  })

  it('takes a snapshot at the age limit, and refuses it one millisecond past', () => {
    // One second of lag at the service, then 19 s here, is the 20 s that the policy allows.
    const answer = liquidationAnswer()
    expect(reasonOf(answer, liquidation, NOW_MS + 19_000)).toBe('accepted')
    expect(reasonOf(answer, liquidation, NOW_MS + 19_001)).toBe('stale_snapshot')
  })

  it('takes an answer until the margin before its end begins', () => {
    const soon = {
      ...withAction({ deadline: BigInt(NOW_MS / 1_000 + 10) }),
      expiresAt: new Date(NOW_MS + 10_000).toISOString(),
    }
    expect(reasonOf(soon, liquidation, NOW_MS + 6_999)).toBe('accepted')
    expect(reasonOf(soon, liquidation, NOW_MS + 7_000)).toBe('expired')
  })

  it('caps the life of an answer by policy, whatever it says', () => {
    const checked = check(withAnswer({ expiresAt: '2099-01-01T00:00:00.000Z' }))
    expect(checked).toMatchObject({ ok: true, notAfterMs: NOW_MS + 57_000 })
  })

  it('takes a deadline at the last second of the answer', () => {
    expect(reasonOf(withAction({ deadline: BigInt(NOW_MS / 1_000 + 30) }))).toBe('accepted')
  })

  it('takes a target in any case of its letters', () => {
    expect(reasonOf(withIntent(1, { target: `0x${MARKET.slice(2).toUpperCase()}` }))).toBe('accepted')
  })

  it('refuses an approval for anybody but the next call’s target, whatever a rule says', () => {
    const [first, ...rest] = sections.guard.allow
    if (first === undefined) throw new TypeError('the policy has rules')
    const params = { ...first.params, spender: { eq: '$self' } }
    const allow = [{ ...first, params }, ...rest]
    const loose = compileRuleset({ ...sections, guard: { ...sections.guard, allow } }, deployment)
    const frozen = freeze(withApproval(approve(SELF, REPAY)))
    const checked = checkPrepared({ workflow: bound(liquidation), frozen, ruleset: loose, nowMs: NOW_MS })
    expect(checked).toMatchObject({ ok: false, check: 'approval_spender' })
  })

  it('knows a revalidation by the name that a deployment gives it, for the types that it is a check of', () => {
    const renamed = compileRuleset(sections, deployment, {
      isUnderWater: 'position_liquidatable',
      isSettleable: 'claim_settleable',
    })
    const checkOf = (...revalidateAtExecution: string[]) => {
      const frozen = freeze(withPreflight({ revalidateAtExecution }))
      return checkPrepared({ workflow: bound(liquidation), frozen, ruleset: renamed, nowMs: NOW_MS })
    }
    expect(checkOf('isUnderWater', 'oracle_healthy')).toMatchObject({ ok: true })
    expect(checkOf('isSettleable')).toMatchObject({ ok: false, check: 'revalidation_unknown' })
    expect(renamed.hash).not.toBe(compileRuleset(sections, deployment).hash)
  })

  it('takes a parameter at the bounds that a rule sets, and not one past either', () => {
    const [first, second, ...rest] = sections.guard.allow
    if (first === undefined || second === undefined) throw new TypeError('the policy has rules')
    const params = { ...second.params, repayAssets: { min: '100', max: '200' } }
    const allow = [first, { ...second, params }, ...rest]
    const bounded = compileRuleset({ ...sections, guard: { ...sections.guard, allow } }, deployment)
    const judge = (repayAssets: bigint) => {
      const frozen = freeze(withAction({ repayAssets }))
      return checkPrepared({ workflow: bound(liquidation), frozen, ruleset: bounded, nowMs: NOW_MS }).ok
    }
    expect([99n, 100n, 200n, 201n].map(judge)).toEqual([false, true, true, false])
  })
})

describe('an answer that was judged before', () => {
  const frozen = freeze(liquidationAnswer())
  const honest = bound(liquidation)
  const judge = (changes: Partial<Parameters<typeof checkPrepared>[0]>) => {
    const given = { workflow: honest, frozen, ruleset, nowMs: NOW_MS }
    expect(checkPrepared(given).ok).toBe(true)
    const checked = checkPrepared({ ...given, ...changes })
    return checked.ok ? 'accepted' : checked.check
  }

  it('is judged once for the same workflow under the same rules', () => {
    const given = { workflow: honest, frozen, ruleset, nowMs: NOW_MS }
    const [first, again] = [checkPrepared(given), checkPrepared({ ...given, workflow: { ...honest } })]
    expect(first.ok && again.ok && first.calls === again.calls).toBe(true)
  })

  it('is judged anew for anything else', () => {
    const rules = new Map([...ruleset.rules].map(([type]) => [type, []]))
    expect(judge({ ruleset: { ...ruleset, rules } })).toBe('workflow_not_allowed')
    const { input } = liquidation
    const more = { ...liquidation, input: { ...input, minCollateralAssets: String(MIN_COLLATERAL + 1n) } }
    expect(judge({ workflow: bound(more) })).toBe('parameter_min_collateral_out')
    expect(judge({ workflow: { ...honest, role: 'allocator' } })).toBe('role_not_allowed')
    expect(judge({ workflow: { ...honest, chainId: 1 } })).toBe('chain_mismatch')
    expect(judge({ workflow: { ...honest, signer: STRANGER } })).toBe('parameter_recipient')
  })

  it('is refused as blocked in words of the service, made printable', () => {
    const said = (blockedReasons: string[]) => {
      const checked = check(withPreflight({ status: 'blocked', blockedReasons }))
      return checked.ok ? '' : checked.message
    }
    expect(said([])).toBe("The service's preflight is blocked: no reason given.")
    expect(said(['a', 'b\u001b[2J'])).toContain('blocked: a, b')
    expect(said(['a', 'b\u001b[2J'])).not.toContain('\u001b')
  })
})

describe('a request', () => {
  const asked = (input: Readonly<Record<string, string>>, changes: Partial<Proposal> = {}) =>
    reasonOf(liquidationAnswer(), { ...liquidation, input: { ...liquidation.input, ...input }, ...changes })

  it.each([
    ['a market that is not pinned', asked({ marketAddress: STRANGER }), 'market_not_pinned'],
    ['a vault that is not pinned', asked({ vaultAddress: STRANGER }), 'vault_not_pinned'],
    ['an amount that is not digits', asked({ repayAssets: '1e9' }), 'input_invalid'],
    ['an address that is too short', asked({ borrowerAddress: BORROWER.slice(0, -1) }), 'input_invalid'],
    ['a member nobody knows', asked({ data: '0x' }), 'input_invalid'],
    [
      'an exposure of another token',
      asked({}, { exposure: { ...liquidation.exposure, token: COLLATERAL } }),
      'exposure_mismatch',
    ],
    [
      'an exposure below what it repays',
      asked({}, { exposure: { ...liquidation.exposure, assets: 1n } }),
      'exposure_mismatch',
    ],
    [
      'an exposure without a price',
      asked({}, { exposure: { ...liquidation.exposure, usdMicros: 0n } }),
      'exposure_underpriced',
    ],
  ])('is refused for %s', (_name, reason, expected) => {
    expect(reason).toBe(expected)
  })

  it('may move the limit of one workflow, and not one millionth of a dollar more', () => {
    const limit = ruleset.limits.perWorkflow.usdMicrosMax
    expect(asked({}, { exposure: { ...liquidation.exposure, usdMicros: limit } })).toBe('accepted')
    expect(asked({}, { exposure: { ...liquidation.exposure, usdMicros: limit + 1n } })).toBe(
      'limit_workflow_usd',
    )
  })

  it('is refused for another role, and for a type that no rule allows', () => {
    const judge = (changes: Partial<Parameters<typeof checkRequest>[0]>) =>
      checkRequest({ proposal: liquidation, role: 'liquidator', signer: SELF, ruleset, ...changes })
    expect(judge({})).toMatchObject({ ok: true })
    expect(judge({ role: 'allocator' })).toMatchObject({ ok: false, check: 'role_not_allowed' })
    const others = { ...ruleset, role: 'allocator' } as const
    expect(judge({ ruleset: others })).toMatchObject({ ok: false, check: 'role_not_allowed' })
    const bare = { ...ruleset, rules: new Map() }
    expect(judge({ ruleset: bare })).toMatchObject({ ok: false, check: 'workflow_not_allowed' })
  })

  it('is refused when the recipient asked for is not the one the policy rules', () => {
    const answer = withAction({ recipient: STRANGER })
    const proposal = { ...liquidation, input: { ...liquidation.input, recipientAddress: STRANGER } }
    expect(reasonOf(answer, proposal)).toBe('parameter_recipient')
  })
})

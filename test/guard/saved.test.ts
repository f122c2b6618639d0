import { describe, expect, it } from 'vitest'
import { checkPrepared } from '../../src/guard/checks/check-prepared.ts'
import { checkRequest } from '../../src/guard/checks/check-request.ts'
import type { PreparedWorkflow } from '../../src/service/contract/prepared-workflow.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { CHAIN_ID, freeze, intent, MARKET, NOW_MS, SELF, STRANGER } from './fixtures.ts'
import { answerOf, kindOf } from './kinds.ts'
import { ROLE } from './rules.ts'
import { HONEST, INPUT, POSTCONDITIONS, proposal, ruleset, saved } from './saving.ts'

const report = kindOf('report')
const judged = (changes: Partial<PreparedWorkflow> = {}, nowMs = NOW_MS) => {
  const workflow = { role: ROLE, chainId: CHAIN_ID, signer: SELF, proposal }
  const checked = checkPrepared({ workflow, frozen: freeze({ ...HONEST, ...changes }), ruleset, nowMs })
  return checked.ok ? checked.calls.length : checked.check
}

describe('an answer of what is done by preparing it', () => {
  it('is taken without a call, whether it says that it is done or leaves that to be asked', () => {
    expect([judged(), judged({ status: 'prepared' })]).toEqual([0, 0])
  })

  it('has no age, whether it says that it is done or not: a stored answer may come after its end, and what is saved stays', () => {
    const { preflight } = HONEST
    const late = { preflight: { ...preflight, freshness: { ...preflight.freshness, lagSeconds: 3_600 } } }
    const over = { expiresAt: new Date(NOW_MS - 1).toISOString() }
    const each = (open: Partial<PreparedWorkflow>) => [
      judged(open, NOW_MS + 3_600_000),
      judged({ ...open, ...late }),
      judged({ ...open, ...over }),
    ]
    expect([each({}), each({ status: 'prepared' })]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ])
  })

  it.each<readonly [string, Partial<PreparedWorkflow>, string]>([
    ['brings a transaction', { transactions: [intent(0, MARKET, '0x')] }, 'transactions_unasked'],
    ['is of another mode', { executionMode: 'onchain_transaction' }, 'execution_mode'],
    ['asks an outside wallet', { custodyBoundary: 'external_wallet_required' }, 'custody_boundary'],
    ['is of another type', { workflowType: 'role.vault_owner.vaultOwnerSettingsSave' }, 'workflow_mismatch'],
    ['was blocked', { preflight: { ...HONEST.preflight, status: 'blocked' } }, 'preflight_blocked'],
    ['says of nothing that it came true', { canonicalPostconditions: [] }, 'postconditions_missing'],
    [
      'says less than we asked for',
      { canonicalPostconditions: POSTCONDITIONS.slice(1) },
      'postcondition_absent',
    ],
    [
      'saved another value',
      { canonicalPostconditions: [saved('managerName', 'Bea'), ...POSTCONDITIONS.slice(1)] },
      'postcondition_value',
    ],
    [
      'saved it of another vault',
      { canonicalPostconditions: POSTCONDITIONS.map((one) => ({ ...one, entityId: STRANGER })) },
      'postcondition_entity',
    ],
    ['calls its request a path', { requestId: '../keys' }, 'request_id'],
  ])('is refused where it %s', (_, changes, check) => {
    expect(judged(changes)).toBe(check)
  })

  it('is of no type that the policy does not name, and of no input that it does not allow', () => {
    const asked = (changes: Partial<Proposal>) => {
      const checked = checkRequest({
        proposal: { ...proposal, ...changes },
        role: ROLE,
        signer: SELF,
        ruleset,
      })
      return checked.ok ? 'allowed' : checked.check
    }
    expect(asked({})).toBe('allowed')
    expect(asked({ workflowType: 'role.vault_owner.vaultOwnerSettingsSave' })).toBe('workflow_not_allowed')
    expect(asked({ input: { ...INPUT, vaultAddress: STRANGER } })).toBe('vault_not_pinned')
    expect(asked({ input: { ...INPUT, website: 'http://a.example' } })).toBe('input_invalid')
  })

  it('never ends a type that we have to sign', () => {
    const frozen = freeze({ ...answerOf(report, report.drafts), status: 'final_success' })
    const workflow = { role: ROLE, chainId: CHAIN_ID, signer: SELF, proposal: report.proposal }
    expect(checkPrepared({ workflow, frozen, ruleset, nowMs: NOW_MS })).toMatchObject({
      check: 'already_final',
    })
  })
})

import { describe, expect, it } from 'vitest'
import { checkPrepared } from '../../../src/guard/checks/check-prepared.ts'
import type { PreparedWorkflow } from '../../../src/service/contract/prepared-workflow.ts'
import { WORKFLOW_CATALOGUE, type WorkflowType } from '../../../src/service/contract/workflow-types.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { CHAIN_ID, freeze, intent, MARKET, NOW_MS, SELF, STRANGER } from '../../guard/fixtures.ts'
import { SAVED, type SavedKind } from '../../guard/saved-kinds.ts'
import { PREPARED } from '../../guard/shipped.ts'
import { ATTACKS } from './all.ts'
import { aimOf, expectedOf } from './play.ts'

/** What is done to what is done by preparing it: another answer, or another request, and the check that refuses it. */
const ON_SAVED: readonly (readonly [
  name: string,
  on: (saved: SavedKind) => {
    readonly answer?: Partial<PreparedWorkflow>
    readonly input?: Proposal['input']
  },
  check: string,
])[] = [
  [
    'brings a transaction',
    () => ({ answer: { transactions: [intent(0, MARKET, '0x')] } }),
    'transactions_unasked',
  ],
  [
    'wants a transaction to be signed',
    () => ({ answer: { executionMode: 'onchain_transaction' } }),
    'execution_mode',
  ],
  [
    'asks an outside wallet',
    () => ({ answer: { custodyBoundary: 'external_wallet_required' } }),
    'custody_boundary',
  ],
  ['is for another type', () => ({ answer: { workflowType: 'deposit' } }), 'workflow_mismatch'],
  ['says that it failed', () => ({ answer: { ok: false } }), 'answer_not_ok'],
  [
    'is of no snapshot',
    () => ({ answer: { snapshotHash: `0x${'00'.repeat(32)}` } }),
    'snapshot_hash_missing',
  ],
  ['calls its request a path', () => ({ answer: { requestId: '../../admin' } }), 'request_id'],
  [
    'was blocked',
    ({ answer }) => ({ answer: { preflight: { ...answer.preflight, status: 'blocked' } } }),
    'preflight_blocked',
  ],
  [
    'wants a check that nobody knows',
    ({ answer }) => ({
      answer: { preflight: { ...answer.preflight, revalidateAtExecution: ['moon_is_full'] } },
    }),
    'revalidation_unknown',
  ],
  [
    'says of nothing that it came true',
    () => ({ answer: { canonicalPostconditions: [] } }),
    'postconditions_missing',
  ],
  [
    'saved it for a stranger',
    ({ answer }) => ({
      answer: {
        canonicalPostconditions: answer.canonicalPostconditions.map((one) => ({
          ...one,
          entityId: STRANGER,
        })),
      },
    }),
    'postcondition_entity',
  ],
  [
    'saved something else',
    ({ answer }) => ({
      answer: {
        canonicalPostconditions: answer.canonicalPostconditions.map((one) => ({
          ...one,
          expected: 'rejected',
        })),
      },
    }),
    'postcondition_value',
  ],
  [
    'is about what the policy does not list',
    ({ proposal: { input } }) => {
      const member = 'vaultAddress' in input ? 'vaultAddress' : 'assetAddress'
      return { input: { ...input, [member]: STRANGER } }
    },
    '*',
  ],
]

const judged = (one: SavedKind, changes: ReturnType<(typeof ON_SAVED)[number][1]>): string => {
  const { ruleset, proposal, answer } = one
  const workflow = {
    role: ruleset.role,
    chainId: CHAIN_ID,
    signer: SELF,
    proposal: { ...proposal, input: changes.input ?? proposal.input },
  }
  const frozen = freeze({ ...answer, ...changes.answer })
  const checked = checkPrepared({ workflow, frozen, ruleset, nowMs: NOW_MS })
  return checked.ok ? 'accepted' : checked.check
}

describe.each(SAVED.map((one) => [one.workflowType, one] as const))('%s', (type, one) => {
  it('is accepted as an honest service answers it, and refused by name where it is attacked', () => {
    expect(judged(one, {})).toBe('accepted')
    const unlisted = 'vaultAddress' in one.proposal.input ? 'vault_not_pinned' : 'parameter_asset_address'
    for (const [name, on, check] of ON_SAVED) {
      expect(judged(one, on(one)), `${type} ${name}`).toBe(check === '*' ? unlisted : check)
    }
  })
})

describe('each workflow type that people submit', () => {
  const counts = new Map<WorkflowType, Set<string>>()
  for (const [, kind, ruleset] of PREPARED) {
    const aim = aimOf(kind, ruleset)
    const { workflowType } = kind.proposal
    const names = counts.get(workflowType) ?? new Set()
    for (const attack of ATTACKS) {
      const served = attack.on(aim)
      // An answer that no schema takes says nothing of the type.
      if (served !== null && !expectedOf(attack, aim, served).startsWith('service.')) names.add(attack.name)
    }
    counts.set(workflowType, names)
  }
  for (const { workflowType } of SAVED) counts.set(workflowType, new Set(ON_SAVED.map(([name]) => name)))
  const typesOf = (roles: readonly string[]) =>
    [...counts.keys()].filter((type) => roles.includes(WORKFLOW_CATALOGUE[type].role ?? ''))

  it('has ten attacks at least, each with the check that refuses it', () => {
    const lender = typesOf(['lender']).filter((type) => !type.includes('distressedRecovery'))
    const all = [
      ...typesOf(['vault_owner', 'partner', 'vault_manager', 'curator', 'asset_issuer', 'investor']),
      ...lender,
    ]
    expect(all).toHaveLength(30)
    expect(all.filter((type) => (counts.get(type)?.size ?? 0) < 10)).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { checkPrepared } from '../../../src/guard/checks/check-prepared.ts'
import { checkPostconditions } from '../../../src/guard/checks/postconditions.ts'
import type { CanonicalPostcondition } from '../../../src/service/contract/prepared-workflow.ts'
import { CHAIN_ID, freeze, MARKET, NOW_MS, OTHER_MARKET, SELF, STRANGER, VAULT } from '../fixtures.ts'
import { answerOf } from '../kinds.ts'
import { PREPARED } from '../shipped.ts'

type Change = (honest: CanonicalPostcondition) => Partial<CanonicalPostcondition>

/** The entity beside it: another market's, desk's, lot's or bidder's. */
const another: Change = ({ entityId }) => ({ entityId: entityId.replace(/0x[0-9a-f]{40}/, STRANGER) })
const ATTACKS: readonly (readonly [string, Change, string])[] = [
  ['another entity', another, 'postcondition_entity'],
  ['an entity of another type', () => ({ entityType: 'position' }), 'postcondition_entity'],
  ['all entities', () => ({ entityId: '*' }), 'postcondition_entity'],
  [
    'more than the entity',
    ({ entityId }) => ({ entityId: `${entityId}:${OTHER_MARKET}` }),
    'postcondition_entity',
  ],
  ['another field', () => ({ field: 'riskScore' }), 'postcondition_value'],
  ['a member that every object has', () => ({ field: 'constructor' }), 'postcondition_value'],
  ['what never comes', () => ({ expected: null }), 'postcondition_value'],
  [
    'the opposite',
    ({ expected }) => ({ expected: expected === true ? false : 'open' }),
    'postcondition_value',
  ],
]

describe.each(PREPARED)('the postconditions of %s', (_name, kind, ruleset) => {
  const honest = answerOf(kind, kind.drafts)
  const judged = (canonicalPostconditions: CanonicalPostcondition[]) => {
    const workflow = { role: ruleset.role, chainId: CHAIN_ID, signer: SELF, proposal: kind.proposal }
    const frozen = freeze({ ...honest, canonicalPostconditions })
    const checked = checkPrepared({ workflow, frozen, ruleset, nowMs: NOW_MS })
    return checked.ok ? 'accepted' : checked.check
  }

  it('are taken where they are about what it changes', () => {
    expect(honest.canonicalPostconditions.length).toBeGreaterThan(0)
    expect(judged(honest.canonicalPostconditions)).toBe('accepted')
  })

  it.each(ATTACKS)('are refused before a key is asked where one is about %s', (_name, change, check) => {
    for (const [index, one] of honest.canonicalPostconditions.entries()) {
      const hostile = honest.canonicalPostconditions.with(index, { ...one, ...change(one) })
      expect(judged(hostile)).toBe(check)
    }
  })
})

describe('the postconditions of a type that nobody says the changes of', () => {
  const judged = (entityId: string, to: typeof MARKET | null = MARKET) => {
    const one = { entityType: 'vault', entityId, field: 'assets', expected: true }
    const subject = { input: { vaultAddress: VAULT, assets: '5' }, self: SELF }
    return checkPostconditions([one], 'deposit', subject, [{ to: STRANGER }, { to }])?.check ?? 'taken'
  }

  it('are about addresses of the request, of ours, or of the contract that is called last', () => {
    for (const id of [
      VAULT,
      SELF,
      MARKET,
      `${MARKET}:${VAULT}:7`,
      `9:${VAULT.toUpperCase().replace('0X', '0x')}`,
    ])
      expect(judged(id), id).toBe('taken')
  })

  it('are about nothing else, and not about nothing', () => {
    for (const id of ['', '7', '*', STRANGER, `${VAULT}:${STRANGER}`, `${STRANGER}:${VAULT}`, OTHER_MARKET])
      expect(judged(id), id).toBe('postcondition_entity')
    expect(judged(MARKET, null)).toBe('postcondition_entity')
  })
})

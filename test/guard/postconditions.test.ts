import { describe, expect, it } from 'vitest'
import { checkPrepared } from '../../src/guard/check-prepared.ts'
import type { CanonicalPostcondition } from '../../src/service/contract/prepared-workflow.ts'
import { CHAIN_ID, freeze, NOW_MS, OTHER_MARKET, SELF, STRANGER } from './fixtures.ts'
import { answerOf } from './kinds.ts'
import { CASES } from './shipped.ts'

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

describe.each(CASES)('the postconditions of %s', (_name, kind, ruleset) => {
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

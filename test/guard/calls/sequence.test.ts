import { describe, expect, it } from 'vitest'
import { checkSequence } from '../../../src/guard/calls/sequence.ts'
import type { Rule } from '../../../src/guard/policy/rule.ts'
import { CHAIN_ID, deployment, liquidation, liquidationAnswer, NOW_MS, ruleset, SELF } from '../fixtures.ts'

const answer = liquidationAnswer()
const subject = {
  input: liquidation.input,
  self: SELF,
  deadlineS: BigInt(NOW_MS / 1_000 + 30),
  market: deployment.markets[0] ?? null,
  vault: deployment.vaults[0] ?? null,
  fund: null,
  deployment,
}
const rules = ruleset.rules.get(liquidation.workflowType) ?? []
const check = (transactions: typeof answer.transactions, by: readonly Rule[]) => {
  const checked = checkSequence({ ...answer, transactions }, CHAIN_ID, by, subject)
  return checked.ok ? checked.calls.length : checked.check
}

describe('the intents of an answer', () => {
  it('are all that the rules say', () => {
    expect(check(answer.transactions, rules)).toBe(2)
  })

  it('are never none, whether no rule is there or each may be left out', () => {
    expect(check([], [])).toBe('sequence_mismatch')
    expect(
      check(
        [],
        rules.map((rule) => ({ ...rule, optional: true })),
      ),
    ).toBe('sequence_mismatch')
    expect(check(answer.transactions, [])).toBe('sequence_mismatch')
  })

  it('are said to be as many as they may be', () => {
    const said = (by: readonly Rule[]) => {
      const checked = checkSequence({ ...answer, transactions: [] }, CHAIN_ID, by, subject)
      return checked.ok ? 'fits' : checked.message
    }
    expect(said(rules)).toContain('has 0 intents; role.liquidator.liquidate is 2 by')
    expect(said(rules.map((rule, index) => ({ ...rule, optional: index === 0 })))).toContain('is 1 or 2 by')
  })
})

import { describe, expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { answerOf, REGISTRY } from './kinds.ts'
import { judge, reasonOf } from './rules.ts'
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
    const proposed = agents.flatMap(({ workflowTypes }) => workflowTypes)
    expect(proposed.filter((type) => !held.has(type))).toEqual([])
    expect(proposed).toHaveLength(17)
  })
})

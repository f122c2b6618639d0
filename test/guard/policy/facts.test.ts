import { type Address, encodeAbiParameters, type Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { parseExpression } from '../../../src/guard/policy/fact-arithmetic.ts'
import { createReads } from '../../../src/guard/reads/views.ts'
import { compileRuleset, type Ruleset } from '../../../src/guard/ruleset.ts'
import { deployment as liquidations, sections } from '../fixtures.ts'
import { deployment, kindOf } from '../kinds.ts'
import { REGISTRY } from '../kinds-by-hand.ts'
import { judge, reasonOf, rulesetOf } from '../rules.ts'

const evaluate = (text: string, values: Readonly<Record<string, bigint>> = {}) =>
  parseExpression(text)?.evaluate((reference) => values[reference] ?? null)

describe('arithmetic', () => {
  it.each<[string, bigint | null | undefined]>([
    ['2 + 3 * 4', 14n],
    ['(2 + 3) * 4', 20n],
    ['20 - 3 - 2', 15n],
    ['7 / 2 * 2', 6n],
    ['2 * 10 ^ 3', 2_000n],
    ['$fact.a / $input.b', 3n],
    ['$fact.a / ($input.b - 3)', null],
    ['$fact.c + 1', null],
    ['10 ^ 100', 10n ** 100n],
    ['10 ^ 101', null],
    ['5 ^ 0', 1n],
    ['2 +', undefined],
    ['(2', undefined],
    ['(2 3', undefined],
    ['2)', undefined],
    ['2 3', undefined],
    ['2.5', undefined],
    ['-2', undefined],
    ['a', undefined],
    ['', undefined],
  ])('of %s', (text, value) => {
    expect(evaluate(text, { '$fact.a': 10n, '$input.b': 3n })).toBe(value)
  })
})

const kind = kindOf('rfq-cancel')
const { workflowType } = kind.proposal
const cancel = (tests: unknown) => ({
  workflowType,
  target: '$contract.rfqDesk',
  function: 'function cancelBid(uint256 bidId)',
  params: { bidId: tests },
})
const MINE = {
  target: '$contract.registry',
  function: 'function newest(address owner) view returns (uint256 id, bool open)',
  args: ['$self'],
  result: 'id',
}
const compile = (facts: unknown, tests: unknown = { eq: '$fact.mine' }) =>
  rulesetOf([cancel(tests)], [{ workflowType }], deployment, { facts })

/** What the judgement says once the chain has answered each read with this. */
function judged(ruleset: Ruleset, answer: (to: Address) => Hex | null): string {
  const checked = judge(kind, ruleset)
  if (!checked.ok) return checked.check
  const [before, after] = [createReads(), createReads()]
  const about = { ...checked, proposal: kind.proposal, before, after }
  const judgement = ruleset.sanity.get(workflowType)?.judge(about)
  before.fill(before.calls.map(({ to }) => answer(to)))
  return judgement?.checkState(0)?.check ?? 'accepted'
}
const newest = (id: bigint): Hex => encodeAbiParameters([{ type: 'uint256' }, { type: 'bool' }], [id, true])

describe('a fact of the policy', () => {
  it('is read where a condition names it, and holds the call to what the chain says', () => {
    const ruleset = compile({ mine: MINE })
    expect(reasonOf(judge(kind, ruleset))).toBe('accepted')
    expect(judged(ruleset, (to) => (to === REGISTRY ? newest(9n) : null))).toBe('accepted')
    expect(judged(ruleset, () => newest(8n))).toBe('parameter_bid_id')
    expect(judged(ruleset, () => null)).toBe('parameter_bid_id')
    expect(judged(ruleset, () => '0x12')).toBe('parameter_bid_id')
  })

  it('may be computed from others, each of which is asked once', () => {
    const ruleset = compile(
      {
        mine: MINE,
        least: '$fact.mine - 1',
        most: '($fact.mine + 1) * 2 / 2',
        // What no condition names is not asked at all.
        idle: { ...MINE, function: 'function oldest(address owner) view returns (uint256 id)' },
      },
      { eq: '$input.bidId', min: '$fact.least', max: '$fact.most' },
    )
    const outcomes = [7n, 8n, 9n, 10n, 11n].map((id) => judged(ruleset, () => newest(id)))
    expect(outcomes.map((each) => each === 'accepted')).toEqual([false, true, true, true, false])
    const checked = judge(kind, ruleset)
    if (!checked.ok) throw new TypeError(checked.message)
    const before = createReads()
    ruleset.sanity
      .get(workflowType)
      ?.judge({ ...checked, proposal: kind.proposal, before, after: createReads() })
    expect(before.calls).toHaveLength(1)
  })

  it('that is below zero is not known', () => {
    const ruleset = compile(
      { mine: MINE, least: '$fact.mine - 100' },
      { eq: '$input.bidId', min: '$fact.least' },
    )
    expect(judged(ruleset, () => newest(9n))).toBe('parameter_bid_id')
  })

  it.each<[string, unknown, string]>([
    ['is not stated', {}, 'allow[0].params.bidId.eq'],
    ['is of another kind', { mine: { ...MINE, result: 'open' } }, 'allow[0].params.bidId.eq'],
    ['is no result', { mine: { ...MINE, result: 'age' } }, 'facts.mine.result'],
    ['is one of several', { mine: { ...MINE, result: undefined } }, 'facts.mine.result'],
    ['lacks an argument', { mine: { ...MINE, args: [] } }, 'facts.mine.args'],
    ['has an argument of another kind', { mine: { ...MINE, args: ['$input.bidId'] } }, 'facts.mine.args[0]'],
    [
      'has an argument of no kind',
      {
        mine: { ...MINE, function: 'function newest(uint256[] ids) view returns (uint256 id)', args: ['5'] },
      },
      'facts.mine.args[0]',
    ],
    [
      'changes something',
      { mine: { ...MINE, function: 'function newest(address owner) returns (uint256 id)' } },
      'facts.mine.function',
    ],
    ['goes to nobody', { mine: { ...MINE, target: '$contract.nobody' } }, 'facts.mine.target'],
    ['stands for nothing', { mine: { ...MINE, target: '$asked' } }, 'facts.mine.target'],
    ['follows from itself', { mine: '$fact.other', other: '$fact.mine + 1' }, 'facts.mine'],
    ['follows from nothing', { mine: '$fact.other' }, 'facts.other'],
    ['is no arithmetic', { mine: '5 apples' }, 'facts.mine'],
    ['is in parts', { mine: { results: { id: '5' } } }, 'facts.mine'],
  ])('is refused where it %s', (_name, facts, path) => {
    expect(() => compile(facts)).toThrow(
      expect.objectContaining({ code: 'policy.guard_invalid', facts: { path: `guard.${path}` } }),
    )
  })

  it('is refused where nothing can have it, and where balances are to be others', () => {
    expect(() => compile({ mine: MINE, vault: { ...MINE, target: '$vault' } })).toThrow(
      /guard\.facts\.vault\.target/,
    )
    expect(() => compile({ mine: MINE, balanceOf: '5' })).toThrow(/EIP-20/)
  })
})

describe('a view of the judgement', () => {
  const renamed = (facts: unknown) => () =>
    compileRuleset({ ...sections, guard: { ...sections.guard, facts: facts as never } }, liquidations)

  it('may be read otherwise, as what it was and no other kind', () => {
    expect(renamed({ closeFactorBps: '5000' })).not.toThrow()
    expect(renamed({ paused: 'false' })).not.toThrow()
    expect(
      renamed({
        debtOf: {
          target: '$asked',
          function: 'function owed(address who) view returns (uint256)',
          args: ['$asked.borrower'],
        },
      }),
    ).not.toThrow()
    expect(renamed({ closeFactorBps: 'false' })).toThrow(/closeFactorBps/)
    expect(renamed({ paused: '5' })).toThrow(/paused/)
    expect(
      renamed({ debtOf: { target: '$asked', function: 'function owed() view returns (bool)', args: [] } }),
    ).toThrow(/debtOf/)
    expect(
      renamed({
        debtOf: {
          target: '$asked',
          function: 'function owed(address who) view returns (uint256)',
          args: ['$asked.lender'],
        },
      }),
    ).toThrow(/args\[0\]/)
  })

  it('that answers in parts has each of them, and no other', () => {
    const read = { priceWad: '1', sourceAsOf: '1', updatedAt: '1', state: '1' }
    expect(renamed({ read: { results: read } })).not.toThrow()
    expect(renamed({ read: '1' })).toThrow(/several parts/)
    const { state: _state, ...others } = read
    expect(renamed({ read: { results: others } })).toThrow(/results\.state/)
    expect(renamed({ read: { results: { ...read, age: '1' } } })).toThrow(/results\.age/)
  })

  it('need not be listed among the views then', () => {
    const views = sections.guard.views.filter((text) => !text.includes('closeFactorBps'))
    const guard = { ...sections.guard, views }
    expect(() => compileRuleset({ ...sections, guard }, liquidations)).toThrow(/closeFactorBps/)
    const facts = { closeFactorBps: '5000' }
    expect(() => compileRuleset({ ...sections, guard: { ...guard, facts } }, liquidations)).not.toThrow()
  })
})

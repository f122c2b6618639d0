import { describe, expect, it } from 'vitest'
import { RolekeeperError } from '../../../src/errors.ts'
import { type Condition, describeCondition, isMet } from '../../../src/guard/policy/conditions.ts'
import {
  compileList,
  compileMapped,
  compileReference,
  knownReferences,
  type Reference,
  type Scope,
  type Subject,
  sumOf,
} from '../../../src/guard/policy/references.ts'
import type { ValueKind } from '../../../src/guard/policy/values.ts'
import { NOW_MS, SELF } from '../fixtures.ts'
import { deployment } from '../kinds.ts'

const [market = null] = deployment.markets
const [vault = null] = deployment.vaults
const [fund = null] = deployment.funds

const inputs: Scope['inputs'] = new Map([
  ['marketAddress', 'address'],
  ['vaultAddress', 'address'],
  ['fundAddress', 'address'],
  ['amount', 'uint'],
  ['moves[].assets', 'uint'],
  ['choice', 'text'],
])
const scope: Scope = {
  inputs,
  deployment,
  args: new Map([
    ['cap', 'uint'],
    ['xs[]', 'uint'],
    ['word', 'string'],
  ]),
  facts: new Map<string, { readonly kind: string } | RolekeeperError>([
    ['price', { kind: 'uint' }],
    ['gone', new RolekeeperError('policy.guard_invalid', 'it is not to be had here.')],
  ]),
}
const subject: Subject = {
  input: { amount: '200', moves: [{ assets: '3' }, { assets: '4' }], choice: 'open' },
  self: SELF,
  deadlineS: BigInt(NOW_MS / 1_000),
  market,
  vault,
  fund,
  deployment,
  args: { cap: 200n },
}
const need = (text: string, kind: ValueKind = 'uint'): Reference => {
  const reference = compileReference(text, kind, scope)
  if (reference === null) throw new TypeError(text)
  return reference
}
const one = (value: bigint | undefined): Reference => ({ text: '$it', each: null, resolve: () => value })

describe('a reference', () => {
  it.each([
    ['$market', 'marketAddress', market?.address],
    ['$market.loanAsset', 'marketAddress', market?.loanAsset],
    ['$market.collateralAsset', 'marketAddress', market?.collateralAsset],
    ['$market.oracle', 'marketAddress', market?.oracle],
    ['$vault', 'vaultAddress', vault?.address],
    ['$fund', 'fundAddress', fund?.address],
    ['$fund.quoteAsset', 'fundAddress', fund?.quoteAsset],
  ])('%s is what the request names by %s, and nothing where it names none', (text, member, address) => {
    expect(address).toBeDefined()
    expect(need(text, 'address').resolve(subject)).toBe(address)
    const without = new Map([...inputs].filter(([name]) => name !== member))
    expect(compileReference(text, 'address', { ...scope, inputs: without })).toBeNull()
  })

  it('is to ourselves, whatever the request names', () => {
    const bare = { ...scope, inputs: new Map() }
    expect(compileReference('$self', 'address', bare)?.resolve(subject)).toBe(SELF)
  })

  it.each(['assets', 'markets', 'vaults', 'funds', 'contracts'] as const)(
    'lists what is pinned: %s',
    (name) => {
      const addresses = deployment[name].map(({ address }) => address)
      expect(addresses).not.toEqual([])
      expect(compileList(`$deployment.${name}`, deployment)?.map((each) => each.resolve(subject))).toEqual(
        addresses,
      )
      expect(compileList(name, deployment)).toBeNull()
    },
  )

  it('is one of those that an error names, each of the kind that is wanted', () => {
    const arguments_ = ['$args.cap', '$args.xs[]', '$fact.price']
    const amounts = ['$input.amount', '$input.moves[].assets']
    expect(knownReferences('uint', scope)).toEqual([...amounts, ...arguments_, '$deadline'])
    expect(knownReferences('int', scope)).toEqual(amounts)
    expect(knownReferences('string', scope)).toEqual(['$input.choice', '$args.word'])
    const addresses = knownReferences('address', scope)
    expect(addresses).toEqual(
      expect.arrayContaining(['$input.vaultAddress', '$self', '$market', '$asset.sUSD', '$contract.rfqDesk']),
    )
    expect(addresses).not.toContain('$input.amount')
    expect(knownReferences('bool', { inputs, deployment })).toEqual([])
  })

  it('leads from a choice of the input to its number on chain, and from nothing else', () => {
    const mapped = compileMapped('$input.choice', { open: '7' }, 'uint', scope)
    expect(mapped?.resolve(subject)).toBe(7n)
    expect(mapped?.resolve({ ...subject, input: { choice: 'shut' } })).toBeUndefined()
    for (const text of ['$args.word', 'open', '$input.amount'])
      expect(compileMapped(text, { open: '7' }, 'uint', scope), text).toBeNull()
    expect(compileMapped('$input.choice', { open: 'seven' }, 'uint', scope)).toBeNull()
  })

  it('adds up a list, and no list that is not there', () => {
    expect(sumOf(need('$input.moves[].assets'), subject)).toBe(7n)
    expect(sumOf(need('$input.moves[].assets'), { ...subject, input: { moves: [] } })).toBe(0n)
    expect(sumOf(need('$input.moves[].assets'), { ...subject, input: {} })).toBeNull()
    expect(sumOf(need('$input.moves[].assets'), { ...subject, input: { moves: [{}] } })).toBeNull()
    expect(sumOf(need('$input.amount'), subject)).toBe(200n)
  })
})

describe('what is denied', () => {
  const between: Condition = {
    op: 'any',
    of: [
      [{ op: 'eq', reference: one(1n) }],
      [
        { op: 'min', reference: one(5n), part: null },
        { op: 'max', reference: one(9n), part: null },
      ],
    ],
  }
  it('is described by all tests of one choice', () => {
    const met = [1n, 4n, 5n, 9n, 10n].map((value) => isMet(between, value, subject, []))
    expect(met).toEqual([true, false, true, true, false])
  })

  it('is described by anything where one of a list is not known', () => {
    const among = (...values: readonly (bigint | undefined)[]): Condition => ({
      op: 'in',
      text: 'a list',
      among: values.map(one),
    })
    expect(isMet(among(1n, undefined), 5n, subject, [])).toBe(true)
    expect(isMet(among(1n, 2n), 5n, subject, [])).toBe(false)
  })
})

describe('what a test demands', () => {
  const say = (condition: Condition) =>
    describeCondition(condition, subject, [], (value, reference) => `${value} of ${reference}`)
  const amount = need('$input.amount')
  const [least, most]: readonly Condition[] = [
    { op: 'min', reference: amount, part: { of: 995n, over: 1_000n } },
    { op: 'max', reference: amount, part: null },
  ]
  it('is said with its value', () => {
    if (least === undefined || most === undefined) throw new TypeError('two')
    expect(say({ op: 'eq', reference: amount })).toBe('exactly $input.amount (200 of $input.amount)')
    expect(say(least)).toBe('at least 99.5 % of $input.amount (200 of $input.amount)')
    expect(say(most)).toBe('at most $input.amount (200 of $input.amount)')
    expect(say({ op: 'max', reference: one(undefined), part: null })).toBe('at most $it (not given)')
    expect(say({ op: 'in', text: '$self, 0x99', among: [] })).toBe('one of $self, 0x99')
    expect(say({ op: 'any', of: [[most], [least, { op: 'eq', reference: one(1n) }]] })).toBe(
      'at most $input.amount (200 of $input.amount), or at least 99.5 % of $input.amount (200 of $input.amount) and exactly $it (1 of $it)',
    )
  })
})

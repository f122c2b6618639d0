import { type Abi, encodeAbiParameters, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { compileFacts, type Fact } from '../../../../src/guard/policy/compile/facts.ts'
import { inputShape } from '../../../../src/guard/policy/inputs.ts'
import type { GuardPolicy } from '../../../../src/guard/policy/policy.ts'
import type { Subject } from '../../../../src/guard/policy/references.ts'
import { createReads } from '../../../../src/guard/reads/views.ts'
import { BORROWER, SELF } from '../../fixtures.ts'
import { deployment } from '../../kinds.ts'
import { REGISTRY } from '../../kinds-by-hand.ts'

const VIEWS = parseAbi([
  'function terms() view returns ((uint8 kind, uint64 notice) found)',
  'function read(address who) view returns (uint256 price, bool open)',
  'function ids() view returns (uint256[] all)',
  'function debt(address who) view returns (uint256)',
  'function both() view returns ((uint8 kind) first, uint8 second)',
])
const scope = {
  inputs: inputShape('role.allocator.vaultReallocationBatch', {}) ?? new Map(),
  deployment,
}
const subject: Subject = {
  input: {},
  self: SELF,
  deadlineS: 5n,
  market: null,
  vault: null,
  fund: null,
  deployment,
}
type Sources = NonNullable<GuardPolicy['facts']>
const compile = (sources: Sources) => compileFacts(sources, VIEWS, scope)
function factOf(sources: Sources, name: string): Fact {
  const fact = compile(sources).get(name)
  if (fact === undefined || fact instanceof Error) throw new TypeError(`${name}: ${fact?.message}`)
  return fact
}
/** What a fact is once every read has this answer, and how many reads that took. */
function found(sources: Sources, name: string, answer: Hex | null = null) {
  const reads = createReads()
  const value = factOf(sources, name).ask({ reads, subject, asked: null })
  reads.fill(reads.calls.map(() => answer))
  return [value(), reads.calls.length]
}
const COUNT = { target: '$contract.registry', function: 'function count() view returns (uint256)', args: [] }
const nine = encodeAbiParameters([{ type: 'uint256' }], [9n])

describe('a view that answers in parts', () => {
  it('is the struct that it returns, or its results in order, once all of them are known', () => {
    const terms = { terms: { results: { kind: '1', notice: '$fact.count' } }, count: COUNT }
    expect(found(terms, 'terms', nine)).toEqual([{ kind: 1n, notice: 9n }, 1])
    expect(found(terms, 'terms')).toEqual([undefined, 1])
    const read = { read: { results: { open: 'true', price: '$fact.count * 2' } }, count: COUNT }
    expect(found(read, 'read', nine)).toEqual([[18n, true], 1])
    expect(found(read, 'read')).toEqual([undefined, 1])
  })

  it('is not read otherwise where one of them is a list or a struct', () => {
    for (const [name, results] of [
      ['ids', { all: '1' }],
      ['both', { kind: '1' }],
      ['both', { first: '1', second: '2' }],
    ] as const) {
      expect(compile({ [name]: { results } }).get(name)).toMatchObject({
        code: 'policy.guard_invalid',
        facts: { path: `guard.facts.${name}` },
      })
    }
  })
})

it('a view is read otherwise of whom and about whom the judgement asks', () => {
  const owed = { target: '$asked', function: 'function owed(address by) view returns (uint256)' }
  const abi: Abi = parseAbi(['function owed(address by) view returns (uint256)'])
  const fact = factOf({ debt: { ...owed, args: ['$asked.who'] } }, 'debt')
  const reads = createReads()
  const value = fact.ask({ reads, subject, asked: { to: REGISTRY, args: { who: BORROWER } } })
  reads.fill([nine])
  expect(value()).toBe(9n)
  expect(reads.calls).toEqual([
    { to: REGISTRY, data: encodeFunctionData({ abi, functionName: 'owed', args: [BORROWER] }) },
  ])
  const nobody = fact.ask({ reads: createReads(), subject, asked: null })
  expect(nobody()).toBeUndefined()
})

describe('a fact', () => {
  it('is of the kind that it says', () => {
    const kinds = { yes: 'true', who: BORROWER, five: '2 + 3', word: { ...COUNT, result: '0' } }
    expect(Object.keys(kinds).map((name) => factOf(kinds, name).kind)).toEqual([
      ...['bool', 'address', 'uint', 'uint'],
    ])
    expect(Object.keys(kinds).map((name) => found(kinds, name, nine)[0])).toEqual([true, BORROWER, 5n, 9n])
  })

  it('may be what is computed from nothing but its arguments', () => {
    const pure = { ...COUNT, function: 'function count(uint8 group) pure returns (uint256)', args: ['255'] }
    expect(found({ pure }, 'pure', nine)).toEqual([9n, 1])
  })

  it('is not known where its argument or its target is not, and then nothing is asked', () => {
    const of = { ...COUNT, function: 'function count(uint8 group) view returns (uint256)' }
    const whom = { ...COUNT, function: 'function whom() view returns (address)' }
    // Too much for its type, not known, of nobody.
    expect(found({ of: { ...of, args: ['256'] } }, 'of', nine)).toEqual([undefined, 0])
    expect(found({ of: { ...of, args: ['$fact.count'] }, count: COUNT }, 'of')).toEqual([undefined, 1])
    expect(found({ of: { ...COUNT, target: '$fact.whom' }, whom }, 'of')).toEqual([undefined, 1])
    expect(found({ more: '$fact.count + 1', count: COUNT }, 'more')).toEqual([undefined, 1])
  })

  it.each<[string, Sources, string]>([
    [
      'of each contract of a list',
      { all: { ...COUNT, target: '$input.supplies[].marketAddress' } },
      'all.target',
    ],
    [
      'that follows from itself in parts',
      { terms: { results: { kind: '1', notice: '$fact.terms' } } },
      'terms',
    ],
  ])('is not %s', (_name, sources, path) => {
    const [fact] = compile(sources).values()
    expect(fact).toMatchObject({ code: 'policy.guard_invalid', facts: { path: `guard.facts.${path}` } })
  })
})

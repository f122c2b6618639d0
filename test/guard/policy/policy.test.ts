import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../../src/guard/policy/policy.ts'

/** A text of so many letters. */
const long = (letters: number) => 'a'.repeat(letters)

describe('a policy', () => {
  const spend = { movedMax: '0.00001 USD', gasMax: '10 wei' }
  const rolling = { ...spend, revertsMax: '2' }
  const valid = { perWorkflow: spend, perHour: rolling, perDay: rolling, prices: { sUSD: '0.000001 USD' } }
  const fresh = {
    ageMax: '1 ms',
    blockLagMax: '0 blocks',
    headAgeMax: '1 ms',
    expiryMargin: '0 s',
    lifetimeMax: '1 ms',
  }

  it('takes limits that are equal', () => {
    expect(limitsPolicy.safeParse(valid).success).toBe(true)
  })

  it.each([
    ['a workflow above an hour', { ...valid, perWorkflow: { ...spend, movedMax: '0.000011 USD' } }],
    ['an hour above a day', { ...valid, perHour: { ...rolling, gasMax: '11 wei' } }],
    ['more reverts an hour than a day', { ...valid, perHour: { ...rolling, revertsMax: '3' } }],
    ['a number that is no text', { ...valid, perWorkflow: { ...spend, movedMax: 10 } }],
    ['no unit', { ...valid, perWorkflow: { ...spend, movedMax: '10' } }],
    ['another unit', { ...valid, perWorkflow: { ...spend, gasMax: '10 gas' } }],
    ['a key that it does not know', { ...valid, perWeek: rolling }],
    ['nothing for a day', { ...valid, perDay: undefined }],
    ['a token that is worth nothing', { ...valid, prices: { sUSD: '0 USD' } }],
  ])('refuses %s among limits', (_name, limits) => {
    expect(limitsPolicy.safeParse(limits).success).toBe(false)
  })

  /** Where a schema refuses a value: each place once; empty where it takes it. */
  const refusedAt = (schema: z.ZodType, value: unknown) => {
    const { success, error } = schema.safeParse(value)
    return success ? '' : [...new Set(error.issues.map(({ path }) => path.join('.')))].join()
  }

  it.each<[string, unknown, string]>([
    ['nothing of losses', valid, ''],
    ['a loss of an hour above a day’s', { loss: { perHour: '2 USD', perDay: '1 USD' } }, 'loss.perHour'],
    ['losses alike', { loss: { perHour: '1 USD', perDay: '1 USD' } }, ''],
    ['51 allowances', { allowances: Array(51).fill({ of: 'market', calls: '1', per: '1 h' }) }, 'allowances'],
    ['50 allowances', { allowances: Array(50).fill({ of: 'market', calls: '1', per: '1 h' }) }, ''],
    ['a workflow above an hour', { perWorkflow: { ...spend, gasMax: '11 wei' } }, 'perWorkflow.gasMax'],
    ['reverts above a day’s', { perHour: { ...rolling, revertsMax: '3' } }, 'perHour.revertsMax'],
    ['an hour above a day', { perHour: { ...rolling, gasMax: '11 wei' } }, 'perHour.gasMax'],
    ['no reverts', { perHour: { ...rolling, revertsMax: '0' } }, 'perHour.revertsMax'],
    ['1,001 reverts', { perDay: { ...rolling, revertsMax: '1001' } }, 'perDay.revertsMax'],
    ['1,000 reverts', { perDay: { ...rolling, revertsMax: '1000' } }, ''],
    ['a token without a name', { prices: { '': '1 USD' } }, 'prices.'],
    ['a token of 33 letters', { prices: { [long(33)]: '1 USD' } }, `prices.${long(33)}`],
    ['a token of 32 letters', { prices: { [long(32)]: '1 USD' } }, ''],
  ])('says of limits where they are refused: %s', (_name, changes, path) => {
    expect(refusedAt(limitsPolicy, { ...valid, ...(changes as object) })).toBe(path)
  })

  it.each([
    ['ageMax', '1 ms', '10 min', ['0 s', '600,001 ms']],
    ['blockLagMax', '0 blocks', '10,000 blocks', ['10,001 blocks']],
    ['headAgeMax', '1 ms', '1 h', ['0 s', '3,600,001 ms']],
    ['expiryMargin', '0 s', '10 min', ['600,001 ms']],
    ['lifetimeMax', '1 ms', '1 h', ['0 s', '3,600,001 ms']],
    ['confirmationMax', '1 s', '10 min', ['999 ms', '600,001 ms']],
  ])('bounds freshness at and one past: %s', (name, least, most, past) => {
    const at = (value: string) => refusedAt(freshnessPolicy, { ...fresh, [name]: value })
    expect([least, most].map(at)).toEqual(['', ''])
    expect(past.map(at)).toEqual(past.map(() => name))
    expect(freshnessPolicy.parse({ ...fresh, [name]: most })).toBeDefined()
  })

  const sanity = z.strictObject({})
  const guard = guardPolicy(sanity)
  const ruled = {
    id: 'a',
    workflowType: 'liquidate',
    target: '$market',
    function: 'function a(uint256 b)',
    params: { b: { eq: '1' } },
    valueMax: '0 ETH',
    gasMax: '21,000 gas',
  }
  const stated = { views: ['a'], allow: [ruled], effects: [], sanity: {}, gasHeadroom: '125 %' }
  const rule = (changes: object) => ({ allow: [{ ...ruled, ...changes }] })
  const test = (b: object) => rule({ params: { b } })
  const creation = { codeHash: `0x${'a1'.repeat(32)}`, codeBytes: '49152' }
  const calls = { data: 'd', target: 't', value: 'v', inside: ['a'] }
  const typedData = { name: 'n', version: '1', type: 't', message: 'm', signature: 's' }
  const moved = { workflowType: 'liquidate', out: [], in: [] }
  const [into, out] = [
    { token: 't', assetsMin: '1' },
    { token: 't', assetsMax: '1' },
  ]
  const effect = (changes: object) => ({ effects: [{ ...moved, ...changes }] })
  const call = { target: '$asked', function: 'f', args: [] }

  it.each<[string, object]>([
    ['as little as there may be', {}],
    ['all that a rule may say', rule({ when: { [long(60)]: long(60) }, optional: 'true', creation })],
    ['calls inside, and a signature', rule({ calls, typedData })],
    [
      'calls inside by their bytes alone',
      rule({ calls: { data: long(100), inside: Array(16).fill(long(40)) } }),
    ],
    ['as much gas as a block has', rule({ gasMax: '16,000,000 gas' })],
    ['an id of 40', rule({ id: long(40) })],
    ['texts as long as they may be', rule({ function: long(800), target: long(200) })],
    ['100 values', test({ in: Array(100).fill('1') })],
    ['a choice of 20', test({ any: Array(20).fill({ min: '1' }) })],
    ['a map', test({ eq: '1', map: { [long(60)]: long(200) } })],
    ['the longest name', rule({ params: { [long(100)]: { max: '1' } } })],
    ['100 views', { views: Array(100).fill(long(800)) }],
    ['50 rules', { allow: Array(50).fill(ruled) }],
    ['50 denials', { deny: Array(50).fill({ id: 'a', target: '$self' }) }],
    [
      'a denial by its function',
      { deny: [{ id: 'a', workflowType: 'liquidate', function: 'f', params: {} }] },
    ],
    ['50 effects', { effects: Array(50).fill({ ...moved, out: [out], in: Array(10).fill(into) }) }],
    ['ten moves', effect({ moves: Array(10).fill({ token: 't', assets: '1' }) })],
    ['facts of each form', { facts: { a: '1', A_1: call, [long(60)]: { results: { a: '1' } } } }],
    ['a fact with ten arguments', { facts: { a: { ...call, args: Array(10).fill('1'), result: 'r' } } }],
    ['the most head room', { gasHeadroom: '500 %' }],
  ])('takes %s', (_name, changes) => {
    expect(refusedAt(guard, { ...stated, ...changes })).toBe('')
  })

  it('says what is counted, and what is part of what', () => {
    const said = (schema: z.ZodType, value: unknown) =>
      schema.safeParse(value).error?.issues.map(({ message }) => message) ?? []
    expect(said(limitsPolicy, { ...valid, perDay: { ...rolling, revertsMax: '1001' } })).toEqual([
      'allowed: 1 to 1000 reverts',
    ])
    expect(said(limitsPolicy, { ...valid, perHour: { ...rolling, gasMax: '11 wei' } })).toEqual([
      expect.stringMatching(/^perDay\.gasMax is 10 wei, and what perHour allows/),
    ])
    expect(said(limitsPolicy, { ...valid, perWorkflow: { ...spend, gasMax: '11 wei' } })).toEqual([
      expect.stringMatching(/^perHour\.gasMax is 10 wei, and what perWorkflow allows/),
    ])
    expect(said(guard, { ...stated, ...rule({ creation: { ...creation, codeBytes: '0' } }) })).toEqual([
      'allowed: 1 to 49152 bytes',
    ])
  })

  it.each<[string, object, string]>([
    ['a key that it does not know', { more: [] }, ''],
    ['no view', { views: [] }, 'views'],
    ['101 views', { views: Array(101).fill('a') }, 'views'],
    ['an empty view', { views: [''] }, 'views.0'],
    ['a view of 801 letters', { views: [long(801)] }, 'views.0'],
    ['no rule', { allow: [] }, 'allow'],
    ['51 rules', { allow: Array(51).fill(ruled) }, 'allow'],
    ['an id with capitals', rule({ id: 'A' }), 'allow.0.id'],
    ['no id', rule({ id: '' }), 'allow.0.id'],
    ['an id of 41', rule({ id: long(41) }), 'allow.0.id'],
    ['another type', rule({ workflowType: 'liquidat' }), 'allow.0.workflowType'],
    ['an empty member', rule({ when: { '': 'a' } }), 'allow.0.when.'],
    ['a member of 61 letters', rule({ when: { [long(61)]: 'a' } }), `allow.0.when.${long(61)}`],
    ['a choice of 61 letters', rule({ when: { a: long(61) } }), 'allow.0.when.a'],
    ['optional: false', rule({ optional: 'false' }), 'allow.0.optional'],
    ['a target of 201', rule({ target: long(201) }), 'allow.0.target'],
    ['no code', rule({ creation: { ...creation, codeBytes: '0' } }), 'allow.0.creation.codeBytes'],
    [
      'more code than a chain takes',
      rule({ creation: { ...creation, codeBytes: '49153' } }),
      'allow.0.creation.codeBytes',
    ],
    ['half a hash', rule({ creation: { ...creation, codeHash: '0xa1' } }), 'allow.0.creation.codeHash'],
    ['more of a creation', rule({ creation: { ...creation, more: '1' } }), 'allow.0.creation'],
    ['an empty function', rule({ function: '' }), 'allow.0.function'],
    ['a function of 801 letters', rule({ function: long(801) }), 'allow.0.function'],
    ['a parameter without a name', rule({ params: { '': { eq: '1' } } }), 'allow.0.params.'],
    [
      'a parameter of 101 letters',
      rule({ params: { [long(101)]: { eq: '1' } } }),
      `allow.0.params.${long(101)}`,
    ],
    ['no test', test({}), 'allow.0.params.b'],
    ['a map alone', test({ map: { a: '1' } }), 'allow.0.params.b'],
    ['a map beside another test', test({ min: '1', map: { a: '1' } }), 'allow.0.params.b'],
    ['a map of nothing', test({ eq: '1', map: { '': '1' } }), 'allow.0.params.b.map.'],
    ['a map of 61 letters', test({ eq: '1', map: { [long(61)]: '1' } }), `allow.0.params.b.map.${long(61)}`],
    ['a value of 201', test({ eq: long(201) }), 'allow.0.params.b.eq'],
    ['one of none', test({ in: [] }), 'allow.0.params.b.in'],
    ['one of 101', test({ in: Array(101).fill('1') }), 'allow.0.params.b.in'],
    ['a test that it does not know', test({ eq: '1', not: '2' }), 'allow.0.params.b'],
    ['a choice of one', test({ any: [{ eq: '1' }] }), 'allow.0.params.b.any'],
    ['a choice of 21', test({ any: Array(21).fill({ eq: '1' }) }), 'allow.0.params.b.any'],
    ['a choice of nothing', test({ any: [{ eq: '1' }, {}] }), 'allow.0.params.b.any.1'],
    ['a choice by a map alone', test({ any: [{ eq: '1' }, { map: { a: '1' } }] }), 'allow.0.params.b.any.1'],
    ['a choice of choices', test({ any: [{ eq: '1' }, { any: [] }] }), 'allow.0.params.b.any.1'],
    ['calls at no place', rule({ calls: { ...calls, data: '' } }), 'allow.0.calls.data'],
    ['calls at a place of 101', rule({ calls: { ...calls, data: long(101) } }), 'allow.0.calls.data'],
    ['calls to no place', rule({ calls: { ...calls, target: '' } }), 'allow.0.calls.target'],
    ['calls to a place of 101', rule({ calls: { ...calls, target: long(101) } }), 'allow.0.calls.target'],
    ['a value at no place', rule({ calls: { ...calls, value: '' } }), 'allow.0.calls.value'],
    ['a value at a place of 101', rule({ calls: { ...calls, value: long(101) } }), 'allow.0.calls.value'],
    ['calls of no rules', rule({ calls: { ...calls, inside: [] } }), 'allow.0.calls.inside'],
    ['calls of 17 rules', rule({ calls: { ...calls, inside: Array(17).fill('a') } }), 'allow.0.calls.inside'],
    ['calls of a rule without a name', rule({ calls: { ...calls, inside: [''] } }), 'allow.0.calls.inside.0'],
    ['calls of a rule of 41', rule({ calls: { ...calls, inside: [long(41)] } }), 'allow.0.calls.inside.0'],
    ...(['name', 'version', 'type', 'message', 'signature'] as const).flatMap(
      (key): [string, object, string][] => {
        const most = { name: 100, version: 20, type: 800, message: 60, signature: 60 }[key]
        return ['', long(most + 1)].map((value) => [
          `a signature with a ${key} of ${value.length}`,
          rule({ typedData: { ...typedData, [key]: value } }),
          `allow.0.typedData.${key}`,
        ])
      },
    ),
    ['too little gas', rule({ gasMax: '20,999 gas' }), 'allow.0.gasMax'],
    ['too much gas', rule({ gasMax: '16,000,001 gas' }), 'allow.0.gasMax'],
    ['51 denials', { deny: Array(51).fill({ id: 'a', target: '$self' }) }, 'deny'],
    ['a denial of all', { deny: [{ id: 'a', workflowType: 'liquidate' }] }, 'deny.0'],
    ['a denial without an id', { deny: [{ target: '$self' }] }, 'deny.0.id'],
    ['51 effects', { effects: Array(51).fill(moved) }, 'effects'],
    ['two tokens that leave', effect({ out: [out, out] }), 'effects.0.out'],
    ['eleven that come in', effect({ in: Array(11).fill(into) }), 'effects.0.in'],
    ['eleven moves', effect({ moves: Array(11).fill({ token: 't', assets: '1' }) }), 'effects.0.moves'],
    ['more of an effect', effect({ more: [] }), 'effects.0'],
    ['a fact with a number first', { facts: { '1a': '1' } }, 'facts.1a'],
    ['a fact of 61 letters', { facts: { [long(61)]: '1' } }, `facts.${long(61)}`],
    ['an empty fact', { facts: { a: '' } }, 'facts.a'],
    ['a fact with eleven arguments', { facts: { a: { ...call, args: Array(11).fill('1') } } }, 'facts.a'],
    ['a fact of two forms', { facts: { a: { ...call, results: {} } } }, 'facts.a'],
    ['a fact without a name of its result', { facts: { a: { results: { '': '1' } } } }, 'facts.a'],
    ['too little head room', { gasHeadroom: '124.99 %' }, 'gasHeadroom'],
    ['too much head room', { gasHeadroom: '500.01 %' }, 'gasHeadroom'],
    ['a limit that the role does not know', { sanity: { a: '1' } }, 'sanity'],
  ])('refuses %s, and says where', (_name, changes, path) => {
    expect(guard.safeParse({ ...stated, ...changes }).success).toBe(false)
    expect(refusedAt(guard, { ...stated, ...changes })).toBe(path)
  })
})

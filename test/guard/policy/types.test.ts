import { encodeFunctionData, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { BORROWER, STRANGER } from '../fixtures.ts'
import { answerOf, DESK, deployment, kindOf } from '../kinds.ts'
import { judge, reasonOf, rulesetOf } from '../rules.ts'

const kind = kindOf('rfq-cancel')
const { workflowType } = kind.proposal
type Params = Readonly<Record<string, unknown>>

/** A cancellation that is this function instead, under these conditions. */
const rules = (signature: string, params: Params) =>
  rulesetOf([{ workflowType, target: '$contract.rfqDesk', function: signature, params }], [{ workflowType }])

/** What becomes of a call of the function with these arguments. */
function outcome(signature: string, params: Params, args: readonly unknown[]): string {
  const ruleset = rules(signature, params)
  const signatures: readonly string[] = [signature]
  const abi = parseAbi(signatures)
  const calldata = encodeFunctionData({ abi, functionName: 'f', args: [...args] })
  return reasonOf(judge(kind, ruleset, answerOf(kind, [{ target: DESK, calldata, label: 'it' }])))
}
const refused = (signature: string, params: Params): unknown => {
  try {
    rules(signature, params)
  } catch (error) {
    return (error as { facts?: { path?: string } }).facts?.path?.replace('guard.allow[0].params', '')
  }
  return 'compiled'
}

describe('every type of the ABI', () => {
  it.each<[string, string, Params, readonly unknown[], readonly unknown[], string]>([
    ['int', 'function f(int128 by)', { by: { eq: '-5' } }, [-5n], [5n], 'by'],
    ['int ranges', 'function f(int256 by)', { by: { min: '-9', max: '-3' } }, [-9n], [-2n], 'by'],
    ['bytes', 'function f(bytes data)', { data: { eq: '0xAB01' } }, ['0xab01'], ['0xab0100'], 'data'],
    ['no bytes', 'function f(bytes data)', { data: { eq: '0x' } }, ['0x'], ['0x00'], 'data'],
    [
      'short words',
      'function f(bytes4 id)',
      { id: { eq: '0x12345678' } },
      ['0x12345678'],
      ['0x12345679'],
      'id',
    ],
    [
      'words of text',
      'function f(bytes8 id)',
      { id: { eq: 'desk' } },
      ['0x6465736b00000000'],
      ['0x6465736b00000001'],
      'id',
    ],
    [
      'fixed arrays',
      'function f(uint8[2] pair)',
      { 'pair[0]': { eq: '1' }, 'pair[1]': { eq: '2' } },
      [[1, 2]],
      [[1, 3]],
      'pair_1',
    ],
    ['int of the input', 'function f(int256 by)', { by: { eq: '$input.bidId' } }, [9n], [-9n], 'by'],
    [
      'lists of pairs',
      'function f(uint8[2][] xs)',
      { 'xs[][0]': { eq: '1' }, 'xs[][1]': { eq: '2' }, 'xs.length': { max: '2' } },
      [[[1, 2]]],
      [
        [
          [1, 2],
          [1, 3],
        ],
      ],
      'xs_1',
    ],
    [
      'arrays of sixteen',
      'function f(uint8[16] xs)',
      Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`xs[${index}]`, { eq: `${index}` }])),
      [Array.from({ length: 16 }, (_, index) => index)],
      [Array.from({ length: 16 }, () => 0)],
      'xs_1',
    ],
    [
      'bounded lists',
      'function f(uint8[] xs)',
      { 'xs[]': { max: '9' }, 'xs.length': { max: '2' } },
      [[9, 1]],
      [[1, 10]],
      'xs',
    ],
    [
      'list lengths',
      'function f(uint8[] xs)',
      { 'xs[]': { max: '9' }, 'xs.length': { max: '2' } },
      [[]],
      [[1, 1, 1]],
      'xs_length',
    ],
    [
      'lists of lists',
      'function f(uint8[][] xs)',
      { 'xs[][]': { max: '9' }, 'xs.length': { max: '2' }, 'xs[].length': { max: '1' } },
      [[[1], []]],
      [[[1], [1, 1]]],
      'xs_length',
    ],
    [
      'structs in fixed arrays in lists',
      'function f((address who, (int8 by, bool on)[2] legs)[] xs)',
      {
        'xs.length': { eq: '1' },
        'xs[].who': { eq: BORROWER },
        'xs[].legs[0].by': { eq: '-1' },
        'xs[].legs[0].on': { eq: 'true' },
        'xs[].legs[1].by': { eq: '1' },
        'xs[].legs[1].on': { eq: 'false' },
      },
      [
        [
          {
            who: BORROWER,
            legs: [
              { by: -1, on: true },
              { by: 1, on: false },
            ],
          },
        ],
      ],
      [
        [
          {
            who: BORROWER,
            legs: [
              { by: -1, on: true },
              { by: 1, on: true },
            ],
          },
        ],
      ],
      'xs_legs_1_on',
    ],
  ])('is held to its conditions: %s', (_name, signature, params, honest, other, name) => {
    expect(outcome(signature, params, honest)).toBe('accepted')
    expect(outcome(signature, params, other)).toBe(`parameter_${name}`)
  })

  it.each<[string, string, Params, string]>([
    ['lists of any length', 'function f(uint8[] xs)', { 'xs[]': { max: '9' } }, '.xs[]'],
    [
      'inner lists of any length',
      'function f(uint8[][] xs)',
      { 'xs[][]': { max: '9' }, 'xs.length': { max: '2' } },
      '.xs[][]',
    ],
    // As long as itself is as long as it likes.
    [
      'a list that is as long as itself',
      'function f((address who, address via)[] xs)',
      { 'xs[].who': { eq: '$args.xs[].via' }, 'xs[].via': { in: [BORROWER] } },
      '.xs[].who',
    ],
    [
      'lists that are as long as each other',
      'function f((uint8 a, uint8 b)[] xs, (uint8 a, uint8 b)[] ys)',
      {
        'xs[].a': { eq: '$args.ys[].a' },
        'ys[].a': { max: '9' },
        'ys[].b': { eq: '$args.xs[].b' },
        'xs[].b': { max: '9' },
      },
      '.xs[].a',
    ],
    [
      'a list whose member is as long as the word for its length',
      'function f((uint8 abcd)[] xs)',
      { 'xs[].abcd': { max: '9' } },
      '.xs[].abcd',
    ],
    [
      'inner lists that are as long as each other',
      'function f(((uint8 a, uint8 b)[] ls)[] xs, ((uint8 a, uint8 b)[] ls)[] ys)',
      {
        'xs.length': { max: '2' },
        'ys.length': { max: '2' },
        'xs[].ls[].a': { eq: '$args.ys[].ls[].a' },
        'ys[].ls[].a': { max: '9' },
        'ys[].ls[].b': { eq: '$args.xs[].ls[].b' },
        'xs[].ls[].b': { max: '9' },
      },
      '.xs[].ls[].a',
    ],
    [
      'a length of any size',
      'function f(uint8[] xs)',
      { 'xs[]': { max: '9' }, 'xs.length': { min: '1' } },
      '.xs.length',
    ],
    ['an element without a condition', 'function f(uint8[2] xs)', { 'xs[0]': { eq: '1' } }, '.xs[1]'],
    ['long arrays', 'function f(uint8[17] xs)', {}, '.xs'],
    // Only the last of two of one name would be held to the condition.
    ['two parameters of one name', 'function f(uint256 a, uint256 a)', { a: { eq: '1' } }, ''],
    ['words that do not fit', 'function f(bytes4 id)', { id: { eq: 'letters' } }, '.id.eq'],
    ['words of other lengths', 'function f(bytes32 id)', { id: { eq: '0x1234' } }, '.id.eq'],
    ['text longer than a word', 'function f(bytes32 id)', { id: { eq: 'a'.repeat(33) } }, '.id.eq'],
    ['half a byte', 'function f(bytes data)', { data: { eq: '0x123' } }, '.data.eq'],
    ['integers with no lower end', 'function f(int256 by)', { by: { max: '5' } }, '.by'],
    ['functions as values', 'function f(function g)', { g: { eq: '0x' } }, '.g'],
    ['fixed-point numbers', 'function f(fixed128x18 by)', {}, 'guard.allow[0].function'],
  ])('does not allow %s', (_name, signature, params, path) => {
    expect(refused(signature, params)).toBe(path)
  })
})

describe('conditions', () => {
  const swap = 'function f(uint256 amountIn, uint256 amountOutMin, address from, address via)'
  const params = {
    amountIn: { max: '1000' },
    amountOutMin: { min: '99.5 % of $args.amountIn' },
    from: { eq: BORROWER },
    via: { eq: '$args.from' },
  }

  it('compare arguments with each other, in parts, exactly', () => {
    expect(outcome(swap, params, [200n, 199n, BORROWER, BORROWER])).toBe('accepted')
    // 99.5 % of 201 is 199.995: not a unit less.
    expect(outcome(swap, params, [201n, 199n, BORROWER, BORROWER])).toBe('parameter_amount_out_min')
    expect(outcome(swap, params, [201n, 200n, BORROWER, BORROWER])).toBe('accepted')
    expect(outcome(swap, params, [200n, 199n, BORROWER, STRANGER])).toBe('parameter_via')
  })

  it('compare a list with a list of the call, in length and order', () => {
    const pairs = 'function f(uint8[] most, uint8[] xs)'
    const bounds = {
      'most[]': { max: '9' },
      'most.length': { max: '3' },
      'xs[]': { max: '50 % of $args.most[]' },
    }
    const bounded = { ...bounds, 'xs.length': { max: '3' } }
    expect(
      outcome(pairs, bounded, [
        [8, 2],
        [4, 1],
      ]),
    ).toBe('accepted')
    expect(
      outcome(pairs, bounded, [
        [8, 2],
        [1, 4],
      ]),
    ).toBe('parameter_xs')
    expect(outcome(pairs, bounded, [[8, 2], [4]])).toBe('parameter_xs_length')
    expect(outcome(pairs, bounded, [[8], [4, 1]])).toBe('parameter_xs_length')
  })

  it('compare each of a list with one value', () => {
    const capped = { 'xs[]': { max: '$args.cap' }, 'xs.length': { max: '3' }, cap: { max: '9' } }
    const signature = 'function f(uint8[] xs, uint8 cap)'
    expect(outcome(signature, capped, [[3, 4], 4])).toBe('accepted')
    expect(outcome(signature, capped, [[3, 5], 4])).toBe('parameter_xs')
  })

  it('compare lists of lists at every depth, empty ones too', () => {
    const nested = 'function f(uint8[][] most, uint8[][] xs)'
    const bounds = {
      'most[][]': { max: '9' },
      'most.length': { max: '3' },
      'most[].length': { max: '2' },
      'xs[][]': { eq: '$args.most[][]' },
    }
    expect(
      outcome(nested, bounds, [
        [[1], []],
        [[1], []],
      ]),
    ).toBe('accepted')
    expect(outcome(nested, bounds, [[[1]], [[1], [], [], []]])).toBe('parameter_xs_length')
  })

  it('list values', () => {
    const one = 'function f(uint256 fee, address via, bytes4 id)'
    const lists = {
      fee: { in: ['500', '3000'] },
      via: { in: ['$self', BORROWER] },
      id: { in: ['0x00000001'] },
    }
    expect(outcome(one, lists, [3_000n, BORROWER, '0x00000001'])).toBe('accepted')
    expect(outcome(one, lists, [501n, BORROWER, '0x00000001'])).toBe('parameter_fee')
    expect(outcome(one, lists, [500n, STRANGER, '0x00000001'])).toBe('parameter_via')
    expect(outcome(one, lists, [500n, BORROWER, '0x00000002'])).toBe('parameter_id')
  })

  it('leave a choice, of which all tests of one hold', () => {
    const one = 'function f(uint256 fee)'
    const choice = { fee: { any: [{ eq: '0' }, { min: '10', max: '20' }], max: '15' } }
    const found = [0n, 5n, 10n, 15n, 16n, 21n].map((fee) => outcome(one, choice, [fee]))
    expect(found.map((reason) => reason === 'accepted')).toEqual([true, false, true, true, false, false])
  })

  it.each<[string, string, Params, string]>([
    [
      'a choice that bounds nothing',
      'function f(uint256 fee)',
      { fee: { any: [{ eq: '0' }, { min: '10' }] } },
      '.fee',
    ],
    ['a choice of one', 'function f(uint256 fee)', { fee: { any: [{ eq: '0' }] } }, undefined as never],
    [
      'a choice of nothing',
      'function f(uint256 fee)',
      { fee: { any: [{}, { eq: '0' }] } },
      undefined as never,
    ],
    ['an empty list', 'function f(uint256 fee)', { fee: { in: [] } }, undefined as never],
    ['a list of contracts', 'function f(uint256 fee)', { fee: { in: '$deployment.assets' } }, '.fee.in'],
    ['a list of another kind', 'function f(uint256 fee)', { fee: { in: ['5', 'five'] } }, '.fee.in[1]'],
    ['an argument that is not there', 'function f(uint256 fee)', { fee: { max: '$args.cost' } }, '.fee.max'],
    [
      'an argument of another kind',
      'function f(uint256 fee, int256 cost)',
      { fee: { max: '$args.cost' }, cost: { eq: '1' } },
      '.fee.max',
    ],
    [
      'arguments that hold each other',
      'function f(uint256 a, uint256 b)',
      { a: { max: '$args.b' }, b: { max: '$args.a' } },
      '.a',
    ],
    ['an argument that holds itself', 'function f(uint256 a)', { a: { max: '$args.a' } }, '.a'],
    ['a part of nothing', 'function f(uint256 a)', { a: { max: '99 % of 5' } }, '.a.max'],
    ['an exact part', 'function f(uint256 a)', { a: { eq: '99 % of $args.a' } }, '.a.eq'],
    [
      'a deadline past the clearance',
      'function f(uint64 deadline)',
      { deadline: { max: '101 % of $deadline' } },
      '.deadline',
    ],
    [
      'a minimum of no part',
      'function f(uint64 minOut, uint64 a)',
      { minOut: { min: '0 % of $args.a' }, a: { eq: '5' } },
      '.minOut',
    ],
    [
      'anybody by another word',
      'function f(address toAddress)',
      { toAddress: { in: '$deployment.contracts' } },
      '.toAddress',
    ],
    ['anybody by a prefix', 'function f(address _feeTo)', { _feeTo: { eq: '$input.rfqAddress' } }, '._feeTo'],
    [
      'anybody on another chain',
      'function f(bytes32 mintRecipient, uint64 a)',
      { mintRecipient: { eq: '$args.mintRecipient' }, a: { eq: '5' } },
      '.mintRecipient',
    ],
    ['any market as who is paid', 'function f(address to)', { to: { in: '$deployment.markets' } }, '.to'],
    [
      'an input as who is paid',
      'function f(address to)',
      { to: { in: ['$self', '$input.rfqAddress'] } },
      '.to',
    ],
  ])('do not allow %s', (_name, signature, params, path) => {
    expect(refused(signature, params)).toBe(path)
  })
})

it('a list of which nothing is pinned is refused', () => {
  const rule = { workflowType, target: '$contract.rfqDesk', function: 'function f(address at)' }
  const params = { at: { in: '$deployment.funds' } }
  const compile = (funds: typeof deployment.funds) => () =>
    rulesetOf([{ ...rule, params }], [{ workflowType }], { ...deployment, funds })
  expect(compile(deployment.funds)).not.toThrow()
  expect(compile([])).toThrow(expect.objectContaining({ facts: { path: 'guard.allow[0].params.at.in' } }))
})

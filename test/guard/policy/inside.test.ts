import { type Abi, type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { BORROWER, STRANGER } from '../fixtures.ts'
import { answerOf, DESK, deployment, kindOf } from '../kinds.ts'
import { REGISTRY } from '../kinds-by-hand.ts'
import { judge, reasonOf, rulesetOf } from '../rules.ts'

const kind = kindOf('rfq-cancel')
const { workflowType } = kind.proposal
const ABI = parseAbi([
  'function multicall(bytes[] data)',
  'function aggregate((address target, uint256 value, bytes data)[] calls) payable',
  'function execute(address target, uint256 value, bytes data, uint8 operation)',
  'function cancelBid(uint256 bidId)',
  'function touch(address who)',
])
const SIGNATURES = {
  multicall: 'function multicall(bytes[] data)',
  aggregate: 'function aggregate((address target, uint256 value, bytes data)[] calls) payable',
  execute: 'function execute(address target, uint256 value, bytes data, uint8 operation)',
}
const encode = (functionName: string, args: readonly unknown[]): Hex => {
  const abi: Abi = ABI
  return encodeFunctionData({ abi, functionName, args })
}

const wrapper = {
  id: 'wrap',
  workflowType,
  target: '$contract.rfqDesk',
  function: SIGNATURES.multicall,
  params: {},
  calls: { data: 'data[]', inside: ['cancel', 'touch'] },
}
const cancel = {
  id: 'cancel',
  workflowType,
  target: '$contract.rfqDesk',
  function: 'function cancelBid(uint256 bidId)',
  params: { bidId: { eq: '$input.bidId' } },
}
const touch = {
  ...cancel,
  id: 'touch',
  function: 'function touch(address who)',
  params: { who: { eq: BORROWER } },
}
type Source = Readonly<Record<string, unknown>> & { readonly workflowType: string }
const compile = (rules: readonly Source[], more = {}) =>
  rulesetOf(rules, [{ workflowType }], deployment, more)
const outcome = (rules: readonly Source[], calldata: Hex, more = {}, value = '0') => {
  const answer = answerOf(kind, [{ target: DESK, calldata, label: 'it' }])
  const transactions = answer.transactions.map((intent) => ({ ...intent, value }))
  return judge(kind, compile(rules, more), { ...answer, transactions })
}
const CANCEL = encode('cancelBid', [9n])
const TOUCH = encode('touch', [BORROWER])
const multicall = (...data: readonly Hex[]) => encode('multicall', [data])

describe('calls inside of a call', () => {
  const rules = [wrapper, cancel, touch]
  it('are held each to its own rule, in order, and are shown', () => {
    const checked = outcome(rules, multicall(CANCEL, TOUCH))
    expect(
      checked.ok && checked.calls.map(({ rule, inside }) => [rule.id, inside.map((each) => each.rule.id)]),
    ).toEqual([['wrap', ['cancel', 'touch']]])
    expect(checked.ok && checked.calls[0]?.inside[0]?.args).toEqual({ bidId: 9n })
  })

  it.each<[string, Hex, string]>([
    ['another argument', multicall(encode('cancelBid', [8n]), TOUCH), 'parameter_bid_id'],
    ['another order', multicall(TOUCH, CANCEL), 'function_not_allowed'],
    ['one more', multicall(CANCEL, TOUCH, TOUCH), 'sequence_mismatch'],
    ['one less', multicall(CANCEL), 'sequence_mismatch'],
    ['none', multicall(), 'sequence_mismatch'],
    ['no bytes', multicall('0x', TOUCH), 'function_not_allowed'],
    ['a byte more', multicall(`${CANCEL}00`, TOUCH), 'calldata_not_canonical'],
    [
      'a dirty address',
      multicall(CANCEL, `${TOUCH.slice(0, 10)}01${TOUCH.slice(12)}` as Hex),
      'calldata_not_canonical',
    ],
    ['another function', multicall(CANCEL, encode('multicall', [[]])), 'function_not_allowed'],
  ])('are refused with %s', (_name, calldata, check) => {
    expect(reasonOf(outcome(rules, calldata))).toBe(check)
  })

  it('are denied like any other', () => {
    const deny = [{ id: 'never', function: 'function touch(address who)', params: { who: { eq: BORROWER } } }]
    expect(reasonOf(outcome(rules, multicall(CANCEL, TOUCH), { deny }))).toBe('denied')
  })

  it('may be inside of those again, to a bounded depth', () => {
    const inner = { ...wrapper, id: 'inner', calls: { data: 'data[]', inside: ['cancel'] } }
    const deep = [{ ...wrapper, calls: { data: 'data[]', inside: ['inner'] } }, inner, cancel]
    expect(reasonOf(outcome(deep, multicall(multicall(CANCEL))))).toBe('accepted')
    expect(reasonOf(outcome(deep, multicall(multicall(encode('cancelBid', [8n])))))).toBe('parameter_bid_id')
    const deeper = [{ ...wrapper, id: 'outer', calls: { data: 'data[]', inside: ['wrap'] } }, ...deep]
    expect(() => compile(deeper)).toThrow(/more than 3 deep/)
    expect(() => compile([{ ...wrapper, calls: { data: 'data[]', inside: ['wrap'] } }])).toThrow()
  })

  it('may go to contracts of their own, with the value that came along and no other', () => {
    const aggregate = {
      ...wrapper,
      function: SIGNATURES.aggregate,
      calls: {
        data: 'calls[].data',
        target: 'calls[].target',
        value: 'calls[].value',
        inside: ['cancel', 'touch'],
      },
      valueMax: '10 wei',
    }
    const paid = { ...touch, target: '$contract.registry', valueMax: '5 wei' }
    const call = (to: Address, value: bigint) =>
      encode('aggregate', [
        [
          { target: DESK, value: 0n, data: CANCEL },
          { target: to, value, data: TOUCH },
        ],
      ])
    const run = (to: Address, value: bigint, sent: string) =>
      reasonOf(outcome([aggregate, cancel, paid], call(to, value), {}, sent))
    expect(run(REGISTRY, 5n, '5')).toBe('accepted')
    expect(run(STRANGER, 5n, '5')).toBe('target_not_allowed')
    expect(run(REGISTRY, 6n, '6')).toBe('value_above_cap')
    expect(run(REGISTRY, 5n, '6')).toBe('value_above_cap')
    expect(run(REGISTRY, 5n, '4')).toBe('value_above_cap')
  })

  it('are never delegated', () => {
    const execute = {
      ...wrapper,
      function: SIGNATURES.execute,
      params: { operation: { eq: '0' } },
      calls: { data: 'data', target: 'target', value: 'value', inside: ['cancel'] },
    }
    const run = (operation: number) =>
      reasonOf(outcome([execute, cancel], encode('execute', [DESK, 0n, CANCEL, operation])))
    expect(run(0)).toBe('accepted')
    expect(run(1)).toBe('parameter_operation')
    const open = { ...execute, params: { operation: { max: '1' } } }
    expect(() => compile([open, cancel])).toThrow(/never allowed/)
    const named = {
      ...execute,
      function: 'function delegatecall(address target, uint256 value, bytes data, uint8 operation)',
    }
    expect(() => compile([named, cancel])).toThrow(/never allowed/)
  })

  it('bound the list that they are in', () => {
    const gassed = {
      ...wrapper,
      function: 'function batch((address to, uint256 gas, bytes data)[] calls)',
      params: { 'calls[].gas': { max: '50000' } },
      calls: { data: 'calls[].data', target: 'calls[].to', inside: ['cancel'] },
    }
    expect(() => compile([gassed, cancel])).not.toThrow()
  })

  it.each<[string, readonly Source[], string]>([
    ['without a rule of their own', [{ ...wrapper, calls: undefined }], '[0].function'],
    [
      'as bytes of any kind',
      [{ ...wrapper, calls: undefined, params: { 'data[]': { eq: '0x' }, 'data.length': { max: '1' } } }],
      '[0].function',
    ],
    ['by a rule that is not there', [wrapper, cancel], '[0].calls.inside[1]'],
    [
      'as approvals',
      [
        wrapper,
        cancel,
        {
          ...touch,
          target: '$asset.sUSD',
          function: 'function approve(address spender, uint256 amount)',
          params: { spender: { eq: '$contract.rfqDesk' }, amount: { eq: '$input.bidId' } },
        },
      ],
      '[2]',
    ],
    ['that may be missing', [wrapper, cancel, { ...touch, optional: 'true' }], '[2]'],
    [
      'to a place of another type',
      [{ ...wrapper, calls: { ...wrapper.calls, target: 'data[]' } }, cancel, touch],
      '[0].calls.target',
    ],
    [
      'with a value of another type',
      [{ ...wrapper, calls: { ...wrapper.calls, value: 'data[]' } }, cancel, touch],
      '[0].calls.value',
    ],
    [
      'at no place',
      [{ ...wrapper, calls: { ...wrapper.calls, data: 'calls[]' } }, cancel, touch],
      '[0].calls.data',
    ],
    [
      'of which several have one place',
      [
        {
          ...wrapper,
          function: SIGNATURES.execute,
          params: { operation: { eq: '0' } },
          calls: { data: 'data', target: 'target', value: 'value', inside: ['cancel', 'touch'] },
        },
        ...[cancel, touch],
      ],
      '[0].calls.data',
    ],
    [
      'in lists of lists',
      [
        {
          ...wrapper,
          function: 'function batches(bytes[][] data)',
          params: {},
          calls: { data: 'data[][]', inside: ['cancel'] },
        },
        cancel,
      ],
      '[0].calls.data',
    ],
    [
      'with a value that nobody counts',
      [{ ...wrapper, valueMax: '1 wei' }, cancel, touch],
      '[0].calls.value',
    ],
  ])('are not allowed %s', (_name, sources, path) => {
    expect(() => compile(sources)).toThrow(
      expect.objectContaining({ code: 'policy.guard_invalid', facts: { path: `guard.allow${path}` } }),
    )
  })
})

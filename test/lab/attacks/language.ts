import {
  type Abi,
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  maxUint256,
  parseAbi,
  zeroAddress,
} from 'viem'
import { createReads } from '../../../src/guard/reads/views.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import { BORROWER, LOAN, SELF, STRANGER } from '../../guard/fixtures.ts'
import { answerOf, DESK, deployment, kindOf } from '../../guard/kinds.ts'
import { REGISTRY } from '../../guard/kinds-by-hand.ts'
import { judge, rulesetOf } from '../../guard/rules.ts'

/** A policy of another deployment than the sandbox's, as its file says it, and the call that it is written for. */
type Policy = { readonly rules: Ruleset; readonly honest: Hex; readonly says?: Hex }

/** One call under one of the policies, and the check that must refuse it. */
export type LanguageAttack = {
  readonly name: string
  readonly incident?: string
  readonly policy: keyof typeof POLICIES
  readonly call?: Hex
  readonly valueWei?: string
  /** What the chain says to each read; null: nothing. The honest answer where it is absent. */
  readonly says?: Hex | null
  readonly check: string
}

const KIND = kindOf('rfq-cancel')
const { workflowType } = KIND.proposal

const ABI: Abi = parseAbi([
  'function multicall(bytes[] data)',
  'function aggregate((address target, uint256 value, bytes data)[] calls) payable',
  'function execute(address target, uint256 value, bytes data, uint8 operation)',
  'function cancelBid(uint256 bidId)',
  'function touch(address who)',
  'function swap(address via, uint256 amount, uint256 minOut)',
  'function approve(address spender, uint256 amount)',
  'function transfer(address to, uint256 amount)',
  'function setApprovalForAll(address operator, bool approved)',
])
const encode = (functionName: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: ABI, functionName, args })
const CANCEL = encode('cancelBid', [9n])
const TOUCH = encode('touch', [BORROWER])
const multicall = (...data: readonly Hex[]) => encode('multicall', [data])
type Inner = { readonly target: Address; readonly value: bigint; readonly data: Hex }
const inner = (target: Address, data: Hex, value = 0n): Inner => ({ target, value, data })
const aggregate = (...calls: readonly Inner[]) => encode('aggregate', [calls])
const execute = (operation: number, target: Address = DESK, data = CANCEL) =>
  encode('execute', [target, 0n, data, operation])
const swap = (via: Address, amount: bigint, minOut: bigint) => encode('swap', [via, amount, minOut])

const wrapper = {
  id: 'wrap',
  workflowType,
  target: '$contract.rfqDesk',
  params: {},
  function: 'function multicall(bytes[] data)',
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
  id: 'touch',
  workflowType,
  target: '$contract.rfqDesk',
  function: 'function touch(address who)',
  params: { who: { eq: BORROWER } },
}
const swapping = {
  id: 'swap',
  workflowType,
  target: '$contract.rfqDesk',
  function: 'function swap(address via, uint256 amount, uint256 minOut)',
  params: {
    via: { in: ['$self', BORROWER, '$contract.registry'] },
    amount: { any: [{ eq: '0' }, { min: '1000', max: '2000' }] },
    minOut: { min: '99 % of $args.amount', max: '$args.amount' },
  },
}
const QUOTED = {
  target: '$contract.registry',
  function: 'function newest(address owner) view returns (uint256 id, bool open)',
  args: ['$self'],
  result: 'id',
}
const newest = (id: bigint): Hex => encodeAbiParameters([{ type: 'uint256' }, { type: 'bool' }], [id, true])
const compile = (rules: Parameters<typeof rulesetOf>[0], more = {}) =>
  rulesetOf(rules, [{ workflowType }], deployment, more)

const POLICIES = {
  multicall: { rules: compile([wrapper, cancel, touch]), honest: multicall(CANCEL, TOUCH) },
  aggregate: {
    rules: compile([
      {
        ...wrapper,
        function: 'function aggregate((address target, uint256 value, bytes data)[] calls) payable',
        calls: {
          data: 'calls[].data',
          target: 'calls[].target',
          value: 'calls[].value',
          inside: ['cancel', 'touch'],
        },
      },
      cancel,
      { ...touch, target: '$contract.registry' },
    ]),
    honest: aggregate(inner(DESK, CANCEL), inner(REGISTRY, TOUCH)),
  },
  execute: {
    rules: compile([
      {
        ...wrapper,
        function: 'function execute(address target, uint256 value, bytes data, uint8 operation)',
        params: { operation: { eq: '0' } },
        calls: { data: 'data', target: 'target', value: 'value', inside: ['cancel'] },
      },
      cancel,
    ]),
    honest: execute(0),
  },
  choice: { rules: compile([swapping]), honest: swap(SELF, 1_500n, 1_490n) },
  denied: {
    rules: compile([swapping], {
      deny: [
        { id: 'never-there', function: swapping.function, params: { via: { eq: BORROWER } } },
        {
          id: 'never-so-much',
          function: swapping.function,
          params: { amount: { min: '1900' }, via: { in: ['$self'] } },
        },
      ],
    }),
    honest: swap(SELF, 1_500n, 1_490n),
  },
  'denied inside': {
    rules: compile([wrapper, { ...cancel, params: { bidId: { min: '1', max: '9' } } }, touch], {
      deny: [{ id: 'not-that-one', function: cancel.function, params: { bidId: { eq: '8' } } }],
    }),
    honest: multicall(CANCEL, TOUCH),
  },
  fact: {
    rules: compile([{ ...cancel, params: { bidId: { eq: '$fact.mine' } } }], { facts: { mine: QUOTED } }),
    honest: CANCEL,
    says: newest(9n),
  },
  'part of a fact': {
    rules: compile(
      [
        {
          ...swapping,
          params: { ...swapping.params, minOut: { min: '99 % of $fact.mine', max: '$args.amount' } },
        },
      ],
      { facts: { mine: QUOTED } },
    ),
    honest: swap(SELF, 1_500n, 1_485n),
    says: newest(1_500n),
  },
} satisfies Readonly<Record<string, Policy>>

/** The check that refuses the call of an attack, or of the policy itself, or `accepted`; facts are read before. */
export function playCall(attack: Pick<LanguageAttack, 'policy' | 'call' | 'valueWei' | 'says'>): string {
  const policy: Policy = POLICIES[attack.policy]
  const answer = answerOf(KIND, [{ target: DESK, calldata: attack.call ?? policy.honest, label: 'it' }])
  const transactions = answer.transactions.map((intent) => ({ ...intent, value: attack.valueWei ?? '0' }))
  const checked = judge(KIND, policy.rules, { ...answer, transactions })
  if (!checked.ok) return checked.check
  const [before, after] = [createReads(), createReads()]
  const about = { ...checked, proposal: KIND.proposal, before, after }
  const judgement = policy.rules.sanity.get(workflowType)?.judge(about)
  const says = attack.says === undefined ? (policy.says ?? null) : attack.says
  before.fill(before.calls.map(() => says))
  return judgement?.checkState(0)?.check ?? 'accepted'
}

/** The names of the policies. */
export const LANGUAGE_POLICIES = Object.keys(POLICIES) as readonly (keyof typeof POLICIES)[]

/** The last word of calldata's first dynamic value points at the first again: one value, read twice. */
const sharedTails = (): Hex => {
  const data = multicall(CANCEL, CANCEL)
  const offset = data.slice(10 + 64 * 2, 10 + 64 * 3)
  return `0x${data.slice(2, 10 + 64 * 3)}${offset}${data.slice(10 + 64 * 4)}` as Hex
}

/** Calls that a policy written in the whole of the language must refuse. */
export const LANGUAGE_ATTACKS: readonly LanguageAttack[] = [
  // Calls inside of a call.
  ...(
    [
      ['a call more than the rules have', multicall(CANCEL, TOUCH, TOUCH), 'sequence_mismatch'],
      ['a call less', multicall(CANCEL), 'sequence_mismatch'],
      ['no call', multicall(), 'sequence_mismatch'],
      ['the calls in another order', multicall(TOUCH, CANCEL), 'function_not_allowed'],
      ['one call twice in the place of two', multicall(CANCEL, CANCEL), 'function_not_allowed'],
      [
        'an approval inside',
        multicall(CANCEL, encode('approve', [STRANGER, maxUint256])),
        'function_not_allowed',
      ],
      ['a transfer inside', multicall(CANCEL, encode('transfer', [STRANGER, 1n])), 'function_not_allowed'],
      [
        'an operator inside',
        multicall(CANCEL, encode('setApprovalForAll', [STRANGER, true])),
        'function_not_allowed',
      ],
      ['itself inside of itself', multicall(CANCEL, multicall(TOUCH)), 'function_not_allowed'],
      ['another argument inside', multicall(encode('cancelBid', [8n]), TOUCH), 'parameter_bid_id'],
      ['another person inside', multicall(CANCEL, encode('touch', [STRANGER])), 'parameter_who'],
      ['no bytes inside', multicall('0x', TOUCH), 'function_not_allowed'],
      [
        'three bytes of a selector inside',
        multicall(CANCEL.slice(0, 8) as Hex, TOUCH),
        'function_not_allowed',
      ],
      ['a selector alone inside', multicall(CANCEL.slice(0, 10) as Hex, TOUCH), 'calldata_not_canonical'],
      ['a byte more inside', multicall(`${CANCEL}00`, TOUCH), 'calldata_not_canonical'],
      ['a byte more behind all', `${multicall(CANCEL, TOUCH)}00` as Hex, 'calldata_not_canonical'],
      [
        'a word more behind all',
        `${multicall(CANCEL, TOUCH)}${'00'.repeat(32)}` as Hex,
        'calldata_not_canonical',
      ],
      ['two calls that share their bytes', sharedTails(), 'calldata_not_canonical'],
      [
        'an address with dirt above it inside',
        multicall(CANCEL, `${TOUCH.slice(0, 10)}01${TOUCH.slice(12)}` as Hex),
        'calldata_not_canonical',
      ],
    ] as const
  ).map(([name, call, check]) => ({ name: `multicall: ${name}`, policy: 'multicall' as const, call, check })),
  ...(
    [
      ['a stranger’s contract', aggregate(inner(DESK, CANCEL), inner(STRANGER, TOUCH)), 'target_not_allowed'],
      ['a token of ours', aggregate(inner(DESK, CANCEL), inner(LOAN, TOUCH)), 'target_not_allowed'],
      ['nobody', aggregate(inner(DESK, CANCEL), inner(zeroAddress, TOUCH)), 'target_not_allowed'],
      ['the contracts swapped', aggregate(inner(REGISTRY, CANCEL), inner(DESK, TOUCH)), 'target_not_allowed'],
      ['ourselves', aggregate(inner(SELF, CANCEL), inner(REGISTRY, TOUCH)), 'target_not_allowed'],
      ['value from nowhere', aggregate(inner(DESK, CANCEL, 1n), inner(REGISTRY, TOUCH)), 'value_above_cap'],
      [
        'a call more',
        aggregate(inner(DESK, CANCEL), inner(REGISTRY, TOUCH), inner(LOAN, TOUCH)),
        'sequence_mismatch',
      ],
    ] as const
  ).map(([name, call, check]) => ({ name: `aggregate: ${name}`, policy: 'aggregate' as const, call, check })),
  {
    name: 'aggregate: value that no call takes',
    policy: 'aggregate',
    valueWei: '1',
    check: 'value_above_cap',
  },
  {
    name: 'execute: delegated to our own desk',
    incident: 'Bybit, 2025',
    policy: 'execute',
    call: execute(1),
    check: 'parameter_operation',
  },
  {
    name: 'execute: delegated to a stranger',
    incident: 'Radiant Capital, 2024',
    policy: 'execute',
    call: execute(1, STRANGER),
    check: 'parameter_operation',
  },
  {
    name: 'execute: an operation that nobody knows',
    policy: 'execute',
    call: execute(2),
    check: 'parameter_operation',
  },
  {
    name: 'execute: an operation with dirt above it',
    policy: 'execute',
    call: `0x${execute(0).slice(2, 10 + 64 * 3)}${'0100'.padStart(64, '0')}${execute(0).slice(10 + 64 * 4)}`,
    check: 'calldata_not_canonical',
  },
  {
    name: 'execute: an approval',
    incident: 'Badger DAO, 2021',
    policy: 'execute',
    call: execute(0, DESK, encode('approve', [STRANGER, maxUint256])),
    check: 'function_not_allowed',
  },
  // A choice of bounds, lists of values, and arguments that are held to each other.
  ...(
    [
      ['an amount between the choices', swap(SELF, 1n, 1n), 'parameter_amount'],
      ['one below the second choice', swap(SELF, 999n, 999n), 'parameter_amount'],
      ['one above the second choice', swap(SELF, 2_001n, 2_001n), 'parameter_amount'],
      ['everything', swap(SELF, maxUint256, maxUint256), 'parameter_amount'],
      ['somebody who is not listed', swap(STRANGER, 1_500n, 1_500n), 'parameter_via'],
      ['nobody', swap(zeroAddress, 1_500n, 1_500n), 'parameter_via'],
      ['nothing in return', swap(SELF, 1_500n, 0n), 'parameter_min_out'],
      ['one less than the part in return', swap(SELF, 1_500n, 1_484n), 'parameter_min_out'],
      ['more than it gives in return', swap(SELF, 1_500n, 1_501n), 'parameter_min_out'],
      ['nothing for nothing from a stranger', swap(STRANGER, 0n, 0n), 'parameter_via'],
    ] as const
  ).map(([name, call, check]) => ({ name: `any: ${name}`, policy: 'choice' as const, call, check })),
  // Denials.
  {
    name: 'deny: a listed person who is denied',
    policy: 'denied',
    call: swap(BORROWER, 1_500n, 1_500n),
    check: 'denied',
  },
  {
    name: 'deny: nothing at all for who is denied',
    policy: 'denied',
    call: swap(BORROWER, 0n, 0n),
    check: 'denied',
  },
  { name: 'deny: as much as is denied', policy: 'denied', call: swap(SELF, 1_900n, 1_900n), check: 'denied' },
  {
    name: 'deny: the most that is allowed',
    policy: 'denied',
    call: swap(SELF, 2_000n, 2_000n),
    check: 'denied',
  },
  {
    name: 'deny: what is denied, inside of a call',
    policy: 'denied inside',
    call: multicall(encode('cancelBid', [8n]), TOUCH),
    check: 'denied',
  },
  // What the chain says.
  {
    name: 'fact: another id than the chain says',
    policy: 'fact',
    call: encode('cancelBid', [8n]),
    check: 'parameter_bid_id',
  },
  { name: 'fact: the chain says another', policy: 'fact', says: newest(8n), check: 'parameter_bid_id' },
  { name: 'fact: the chain says nothing', policy: 'fact', says: null, check: 'parameter_bid_id' },
  { name: 'fact: the chain says half an answer', policy: 'fact', says: '0x09', check: 'parameter_bid_id' },
  { name: 'fact: the chain says no bytes', policy: 'fact', says: '0x', check: 'parameter_bid_id' },
  {
    name: 'fact: less than its part',
    policy: 'part of a fact',
    call: swap(SELF, 1_500n, 1_484n),
    check: 'parameter_min_out',
  },
  {
    name: 'fact: the quote has risen',
    policy: 'part of a fact',
    says: newest(1_501n),
    check: 'parameter_min_out',
  },
  { name: 'fact: there is no quote', policy: 'part of a fact', says: null, check: 'parameter_min_out' },
]

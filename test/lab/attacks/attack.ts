import {
  type AbiFunction,
  type Address,
  decodeAbiParameters,
  encodeAbiParameters,
  type Hex,
  maxUint256,
  size,
} from 'viem'
import { loadArtifacts } from '../../../sandbox/contracts/artifacts.ts'
import { memberAt } from '../../../src/guard/policy/paths.ts'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import type { PreparedWorkflow, TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'

/** What an attack is aimed at: a workflow of ours, and what an honest service answers to it. */
export type Aim = {
  readonly ruleset: Ruleset
  readonly proposal: Proposal
  readonly self: Address
  readonly answer: PreparedWorkflow
  /** The digest that is recorded for it, where a call of it carries a signature. */
  readonly digest?: Hex
}

/** What is served instead: a value that is written as JSON, or the exact text. */
export type Served = PreparedWorkflow | { readonly text: string } | { readonly json: unknown }

/** One thing that a hostile service answers to a prepare request, and the check that must refuse it. */
export type Attack = {
  /** A fact, of which the subject is the answer: "approves everything". */
  readonly name: string
  /** The real incident that it repeats. */
  readonly incident?: string
  /** The hostile answer; null where it does not apply. Pure. */
  readonly on: (aim: Aim) => Served | null
  readonly check: string | ((aim: Aim) => string)
}

/** An address of the attacker. */
export const STRANGER: Address = `0x${'99'.repeat(20)}`
export const ZERO: Address = `0x${'00'.repeat(20)}`

/** An address that a person takes for another: its first and last four digits are the same. Pure. */
export function lookalike(address: Address): Address {
  const digits = address.slice(2).toLowerCase()
  return `0x${digits.slice(0, 4)}${'9'.repeat(32)}${digits.slice(-4)}`
}

/** The last intent: the action itself. */
export function lastOf({ transactions }: PreparedWorkflow): TransactionIntent {
  const last = transactions.at(-1)
  if (last === undefined) throw new TypeError('an honest answer has an intent')
  return last
}

/** Whether the action creates a contract. */
export const creates = ({ answer }: Aim): boolean => lastOf(answer).target === null

/** An answer whose action differs. */
export const withLast = (answer: PreparedWorkflow, change: Partial<TransactionIntent>): PreparedWorkflow => ({
  ...answer,
  transactions: [...answer.transactions.slice(0, -1), { ...lastOf(answer), ...change }],
})

/** An answer whose intents differ, one by one. */
export const withEach = (
  answer: PreparedWorkflow,
  change: (intent: TransactionIntent, index: number) => TransactionIntent,
): PreparedWorkflow => ({ ...answer, transactions: answer.transactions.map(change) })

const APPROVE = '0x095ea7b3'
/** Whether an intent is an ERC-20 approval. */
export const approves = ({ calldata }: TransactionIntent): boolean => calldata.startsWith(APPROVE)

/** One intent's call, taken apart by the function that our own policy writes. */
export type Call = {
  readonly intent: TransactionIntent
  readonly abi: AbiFunction
  readonly args: Readonly<Record<string, unknown>>
  /** The call with other arguments. */
  readonly encode: (args: Readonly<Record<string, unknown>>) => Hex
}

/** The code that a vault is created from, as our policy pins it. */
export const VAULT_CODE = loadArtifacts().LendingVault.bytecode

/** How long the code is that an honest answer creates a contract from, in bytes. */
export function codeBytesOf({ ruleset, proposal }: Aim): number {
  const creation = ruleset.rules.get(proposal.workflowType)?.find((rule) => rule.creation !== null)?.creation
  if (creation === null || creation === undefined) throw new TypeError('nothing is created')
  return creation.codeBytes
}

const taken = new WeakMap<PreparedWorkflow, readonly Call[]>()

/** Take an honest answer's intents apart. */
export function callsOf(aim: Aim): readonly Call[] {
  const calls = taken.get(aim.answer) ?? takeApart(aim)
  taken.set(aim.answer, calls)
  return calls
}

const takeApart = ({ answer, ruleset }: Aim): readonly Call[] =>
  answer.transactions.flatMap((intent) => {
    const rules = ruleset.rules.get(answer.workflowType as Proposal['workflowType']) ?? []
    const rule = rules.find(({ selector, target }) =>
      intent.target === null ? target === null : selector === intent.calldata.slice(0, 10),
    )
    if (rule === undefined) return []
    const { abi } = rule
    const headBytes = rule.creation?.codeBytes ?? size(rule.selector)
    const head: Hex = `0x${intent.calldata.slice(2, 2 + 2 * headBytes)}`
    const rest: Hex = `0x${intent.calldata.slice(2 + 2 * headBytes)}`
    const values = argumentsIn(abi, rest)
    // An answer that was attacked before may have none that can be taken apart.
    if (values === null) return []
    const args = Object.fromEntries(abi.inputs.map(({ name = '' }, index) => [name, values[index]]))
    const encode: Call['encode'] = (changed) => {
      const again = encodeAbiParameters(
        abi.inputs,
        abi.inputs.map(({ name = '' }) => changed[name]),
      )
      return `${head}${again.slice(2)}`
    }
    return [{ intent, abi, args, encode }]
  })

function argumentsIn({ inputs }: AbiFunction, encoded: Hex): readonly unknown[] | null {
  if (inputs.length === 0) return []
  return encoded === '0x' ? null : decodeAbiParameters(inputs, encoded)
}

/** A value's replacement; the value itself where nothing is to be changed. */
export type Change = (value: unknown, aim: Aim) => unknown

function replaced(
  root: unknown,
  [head = '', ...rest]: readonly string[],
  change: (value: unknown) => unknown,
): unknown {
  const name = head.replace('[]', '')
  const member = memberAt(root, name)
  const inner = (value: unknown) => (rest.length === 0 ? change(value) : replaced(value, rest, change))
  const next =
    head.endsWith('[]') && Array.isArray(member)
      ? member.map((each: unknown, index) => (index === 0 ? inner(each) : each))
      : inner(member)
  return { ...Object(root), [name]: next }
}

/** Name the refusal of a parameter by its path in our policy. Pure. */
const parameterCheck = (path: string): string =>
  `parameter_${path
    .replaceAll('[]', '')
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replaceAll('.', '_')}`

/** The calls of one function, `constructor` included, with one argument changed; of a list, its first element. */
export function argument(
  functionName: string,
  path: string,
  name: string,
  change: Change,
  check: Attack['check'] = parameterCheck(path),
): Attack {
  return {
    name: `${functionName}: ${name}`,
    check,
    on: (aim) => {
      const call = callsOf(aim).find(({ abi }) => abi.name === functionName)
      if (call === undefined) return null
      let value: unknown
      const args = replaced(call.args, path.split('.'), (held) => {
        value = change(held, aim)
        return value
      })
      // An empty list has no element to serve again.
      if (value === undefined || (Array.isArray(value) && value.includes(undefined))) return null
      const calldata = call.encode(Object(args))
      if (calldata === call.intent.calldata) return null
      return withEach(aim.answer, (intent) => (intent === call.intent ? { ...intent, calldata } : intent))
    },
  }
}

/** Changes of an argument. */
export const to =
  (value: unknown): Change =>
  () =>
    value
export const toSelf: Change = (_value, { self }) => self
export const plus =
  (more: bigint): Change =>
  (value) =>
    BigInt(String(value)) + more
export const times =
  (factor: bigint): Change =>
  (value) =>
    BigInt(String(value)) * factor
export const most = (bits: bigint): Change => to(bits === 256n ? maxUint256 : 2n ** bits - 1n)
/** For types that viem reads as numbers. */
export const toNumber =
  (change: (value: number) => number): Change =>
  (value) =>
    change(Number(value))

import type { AbiFunction, Hex } from 'viem'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import type { Condition } from './conditions.ts'
import type { When } from './inputs.ts'
import { memberAt } from './paths.ts'
import type { Reference } from './references.ts'
import type { ValueKind } from './values.ts'

/** One value of a call's arguments, and everything that must hold of it. */
export type Leaf = {
  /** Where it is: `amount`, `report.asset`, `supplies[].market`. */
  readonly path: string
  readonly kind: ValueKind
  readonly tests: readonly Condition[]
  /** Those of its tests that name facts, which the chain has to be asked for. */
  readonly quoted: readonly Condition[]
}

/** All that must hold of a value, read or not. Pure. */
export const testsOf = ({ tests, quoted }: Leaf): readonly Condition[] => [...tests, ...quoted]

/** A signature inside a call: which argument is signed under which type and domain, and where it goes. */
export type TypedData = {
  readonly name: string
  readonly version: string
  readonly primaryType: string
  readonly fields: readonly { readonly name: string; readonly type: string }[]
  readonly message: string
  readonly signature: string
  /** How the service names the place of the signature. */
  readonly placement: string
}

/** A call that is never signed: every part that it states must fit. */
export type Denial = {
  readonly id: string
  /** Null for any type. */
  readonly workflowType: WorkflowType | null
  /** Whether it is about creations of contracts; else it is about none. */
  readonly creates: boolean
  /** Null for any contract. */
  readonly target: Reference | null
  /** Null for any function; a constructor is a function of this name. */
  readonly call: { readonly abi: AbiFunction; readonly selector: Hex } | null
  /** Each is met by one value at least. */
  readonly leaves: readonly Leaf[]
}

/** Calls in the arguments of a call: where they are, and the rules that they are held to, one each and in this order. */
export type Inside = {
  /** The path of what is called with: `calls[].callData`. */
  readonly data: string
  /** The path of what is called; null where it is the contract itself. */
  readonly target: string | null
  /** The path of the native value sent along; null where none is. */
  readonly value: string | null
  readonly rules: readonly Rule[]
}

/** One call that may be signed, with everything that must hold of it. */
export type Rule = {
  readonly id: string
  readonly when: When
  readonly optional: boolean
  /** Null where the call creates a contract. */
  readonly target: Reference | null
  readonly creation: { readonly codeHash: Hex; readonly codeBytes: number } | null
  /** A constructor is a function of this name here. */
  readonly abi: AbiFunction
  readonly selector: Hex
  readonly isApproval: boolean
  readonly leaves: readonly Leaf[]
  /** Names of the facts that its conditions name. */
  readonly quotes: readonly string[]
  readonly typedData: TypedData | null
  /** The calls that it carries in its arguments; null for a call that carries none. */
  readonly inside: Inside | null
  /** What is refused of it, whatever the rule allows. */
  readonly denials: readonly Denial[]
  readonly valueWeiMax: bigint
  readonly gasMax: bigint
}

/** What of a rule holds values: those of a call, or of an input of a type that consists of none. */
export type ValueRule = Pick<Rule, 'id' | 'leaves' | 'isApproval' | 'target'>

/** The rules that apply to an input, in order: those whose `when` it meets. Pure. */
export const rulesFor = (rules: readonly Rule[], input: Readonly<Record<string, unknown>>): readonly Rule[] =>
  rules.filter(({ when }) =>
    Object.entries(when).every(([name, value]) => choiceOf(memberAt(input, name)) === value),
  )

/** A choice of an input as a rule writes it: text, or a boolean as `true` and `false`. */
const choiceOf = (value: unknown): unknown => (typeof value === 'boolean' ? String(value) : value)

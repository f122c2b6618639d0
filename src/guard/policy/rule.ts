import type { AbiFunction, Hex } from 'viem'
import type { Condition, Reference } from './conditions.ts'
import type { When } from './inputs.ts'
import { memberAt } from './paths.ts'
import type { ValueKind } from './values.ts'

/** One value of a call's arguments, and everything that must hold of it. */
export type Leaf = {
  /** Where it is: `amount`, `report.asset`, `supplies[].market`. */
  readonly path: string
  readonly kind: ValueKind
  readonly tests: readonly Condition[]
}

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
  /** Empty for a constructor. */
  readonly selector: Hex
  readonly isApproval: boolean
  readonly leaves: readonly Leaf[]
  readonly typedData: TypedData | null
  readonly valueWeiMax: bigint
  readonly gasMax: bigint
}

/** What one type of workflow may take out, must bring in, and moves of others, by reference. */
export type Effects = {
  readonly out: readonly { readonly token: Reference; readonly assetsMax: Reference }[]
  readonly in: readonly { readonly token: Reference; readonly assetsMin: Reference }[]
  readonly moves: readonly { readonly token: Reference; readonly assets: Reference }[]
}

/** The rules that apply to an input, in order: those whose `when` it meets. Pure. */
export const rulesFor = (rules: readonly Rule[], input: Readonly<Record<string, unknown>>): readonly Rule[] =>
  rules.filter(({ when }) => Object.entries(when).every(([name, value]) => memberAt(input, name) === value))

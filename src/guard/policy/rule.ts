import type { AbiFunction, Hex } from 'viem'
import type { Revalidation } from '../../service/contract/assumptions.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import type { Sanity } from '../sanity/look.ts'
import type { Condition, Reference } from './conditions.ts'
import type { Deployment } from './deployment.ts'
import type { When } from './inputs.ts'
import type { ValueKind } from './paths.ts'
import type { Freshness, Limits } from './policy.ts'

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

export type Effects = {
  readonly out: readonly { readonly token: Reference; readonly assetsMax: Reference }[]
  readonly in: readonly { readonly token: Reference; readonly assetsMin: Reference }[]
  readonly moves: readonly { readonly token: Reference; readonly assets: Reference }[]
}

/** A policy and a deployment, compiled: the guard reads nothing else. `hash` names it, 64 hex digits. */
export type Ruleset = {
  readonly hash: string
  readonly role: Role
  readonly limits: Limits
  readonly freshness: Freshness
  readonly gasHeadroomBps: bigint
  readonly deployment: Deployment
  /** Our name of a check by the service's, where they differ. */
  readonly revalidations: ReadonlyMap<string, Revalidation>
  /** The calls of each workflow type, in order. A type without an entry is not allowed. */
  readonly rules: ReadonlyMap<WorkflowType, readonly Rule[]>
  readonly effects: ReadonlyMap<WorkflowType, Effects>
  /** Our own judgement of each workflow type that the rules allow. */
  readonly sanity: ReadonlyMap<WorkflowType, Sanity>
}

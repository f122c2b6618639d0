import type { AbiFunction, Address } from 'viem'
import type { z } from 'zod'
import { type Refusal, refuse } from '../../errors.ts'
import type { Revalidation } from '../../service/contract/assumptions.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { Subject } from '../policy/conditions.ts'
import type { Reads } from '../views.ts'

/** What a judgement is about, and where it asks the chain. */
export type About = {
  readonly subject: Subject
  readonly proposal: Proposal
  /** Reads of the state that the bundle meets. */
  readonly before: Reads
  /** Reads of the state that the simulated bundle leaves; they are filled for `outcome` alone. */
  readonly after: Reads
}

/** What the chain says of a workflow's subject, judged by us alone. */
export type Look = {
  /** Whether the world is as the proposal needs it, at a block's time in Unix seconds. */
  readonly position: (timestampS: number) => Refusal | null
  /** Whether what the simulation showed is worth it. */
  readonly outcome: (shown: {
    /** What the gas used would cost at the fee offered. */
    readonly gasWei: bigint
    /** What the bundle does to the signer's balance of a token, base units. */
    readonly changeOf: (token: Address) => bigint
  }) => Refusal | null
}

/** A workflow type's own judgement. Every contract that it reads must be pinned in the deployment. */
export type Sanity = {
  /** The reads it makes: `guard.views` of the policy must list them with these types. */
  readonly views: readonly AbiFunction[]
  /** The revalidations that `position` covers, beside time and expiry. */
  readonly revalidations: readonly Revalidation[]
  readonly look: (about: About) => Look
}

/** A role's judgements, with the limits of `guard.sanity` that they keep. */
export type Judgements = {
  readonly limits: unknown
  readonly byType: ReadonlyMap<WorkflowType, Sanity>
}

/** Make the schema of a role's `guard.sanity`, which gives the role's judgements under these limits. Pure. */
export const judgedBy = <S extends z.ZodType>(
  schema: S,
  judgements: (limits: z.output<S>) => readonly (readonly [WorkflowType, Sanity])[],
) => schema.transform((limits): Judgements => ({ limits, byType: new Map(judgements(limits)) }))

/** The judgement of a type without one of its own: rules, effects and simulation decide alone. */
export const PLAIN: Sanity = {
  views: [],
  revalidations: ['intent_not_expired'],
  look: () => ({ position: () => null, outcome: () => null }),
}

/** Refuse because a read has no answer. Pure. */
export const unread = (what: string): Refusal =>
  refuse('read_failed', `The chain did not answer for ${what}; what is not known denies.`)

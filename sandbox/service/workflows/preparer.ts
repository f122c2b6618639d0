import type { Address, PublicClient } from 'viem'
import type { z } from 'zod'
import type { ExpectedValue, Revalidation } from '../../../src/service/contract/assumptions.ts'
import type {
  CanonicalPostcondition,
  TransactionIntent,
} from '../../../src/service/contract/prepared-workflow.ts'
import type { Freshness } from '../../../src/service/contract/resources.ts'
import {
  WORKFLOW_CATALOGUE,
  type WorkflowInput,
  type WorkflowType,
} from '../../../src/service/contract/workflow-types.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
import { parseBody } from '../http/parse-body.ts'
import type { RecordDraft, ServiceRecord, ServiceRecords } from '../records.ts'

/** What a request is judged by: one snapshot, one moment. */
export type Moment = {
  readonly snapshot: Snapshot
  readonly freshness: Freshness
  readonly principal: Address | null
  /** When the intents expire, in unix seconds; what has a deadline on chain reverts from then on. */
  readonly deadlineS: bigint
}

/** What preparing reads beside the snapshot. */
export type Reads = {
  readonly chainId: number
  /** The chain as it is now. */
  readonly node: PublicClient
  /** A balance of a token, base units. */
  readonly balanceOf: (token: Address, owner: Address) => Promise<bigint>
  /** What lives at the service and not on the chain. */
  readonly records: Pick<ServiceRecords, 'find' | 'list'>
}

/** A postcondition that the sandbox can check itself. */
export type Expectation = CanonicalPostcondition & { readonly expected: ExpectedValue }

/**
 * What judging a request gave. `judged` are the canonical rows, for the snapshot's hash. With a blocked reason there is
 * nothing to sign.
 */
export type Judgement = {
  readonly judged: unknown
  /** Stable names; empty means that the preflight passes. */
  readonly blockedReasons: readonly string[]
  readonly revalidateAtExecution: readonly Revalidation[]
  readonly transactions: readonly TransactionIntent[]
  readonly postconditions: readonly Expectation[]
  /** What a passed request of a type that lives at the service saves; nothing where the effect is on the chain. */
  readonly record?: RecordDraft
  /** What it was judged by and is saved in the place of; where that is another by then, nothing is saved. */
  readonly replaces?: ServiceRecord | null
}

/** Judges requests of one workflow type, and builds what they sign. */
export type Preparer = {
  readonly type: WorkflowType
  /** Throws ApiError 400 for an input that does not fit the catalogue. */
  readonly prepare: (input: unknown, moment: Moment, reads: Reads) => Promise<Judgement>
}

/** Make a preparer whose judge gets the input as the catalogue describes it. */
export function preparer<T extends WorkflowType>(
  type: T,
  judge: (input: WorkflowInput<T>, moment: Moment, reads: Reads) => Judgement | Promise<Judgement>,
): Preparer {
  const schema: z.ZodType = WORKFLOW_CATALOGUE[type].input
  return {
    type,
    prepare: async (input, moment, reads) =>
      judge(parseBody(schema, input) as WorkflowInput<T>, moment, reads),
  }
}

/** What is looked at again where nothing but the expiry can change what was judged. */
const EXPIRY: readonly Revalidation[] = ['intent_not_expired']

/** State what can be signed. */
export const passed = (
  judged: unknown,
  transactions: readonly TransactionIntent[],
  postconditions: readonly Expectation[],
  revalidateAtExecution = EXPIRY,
): Judgement => ({ judged, blockedReasons: [], revalidateAtExecution, transactions, postconditions })

/** State what is saved at the service at once: nothing is signed, and each member that is named is expected as it is saved. */
export const saved = (
  judged: unknown,
  record: RecordDraft,
  postconditions: readonly Expectation[],
): Judgement => ({ ...passed(judged, [], postconditions), record })

/** State what is saved for a review in the place of what was there, and of nothing else. */
export const savedFor = (
  before: ServiceRecord | null,
  record: RecordDraft,
  postconditions: readonly Expectation[],
): Judgement => ({ ...saved(before, record, postconditions), replaces: before })

/** Say why nothing can be signed. */
export const blocked = (
  judged: unknown,
  blockedReasons: readonly string[],
  revalidateAtExecution = EXPIRY,
): Judgement => ({ judged, blockedReasons, revalidateAtExecution, transactions: [], postconditions: [] })

/** The reason that a stale indexer gives for blocking anything; none when it is fresh. Pure. */
export function staleness(freshness: Freshness): string[] {
  return freshness.status === 'current' || freshness.status === 'healthy'
    ? []
    : [`indexer_${freshness.status}`]
}

/** Reads a field of one entity type on a snapshot; undefined when there is no such entity or field. Pure. */
export type FieldReader = (
  snapshot: Snapshot,
  entityId: string,
  field: string,
) => string | boolean | undefined

/** The workflows of one part of the protocol, and the entities that their postconditions speak about. */
export type Family = {
  readonly preparers: readonly Preparer[]
  /** By entity type. */
  readonly fields: Readonly<Record<string, FieldReader>>
}

import { z } from 'zod'
import { freshness } from './resources.ts'
import { addr, hash32, hexBytes, shortText, ts, uintString } from './scalars.ts'
import { SERVICE_TYPES } from './workflow-types.ts'

/** At most this many intents are in one workflow: an approval and the action, with room for one more pair. */
export const INTENTS_MAX = 4

/**
 * One transaction that the service asks us to sign. Strict: a member we do not know may change what is signed.
 * Source: service API, "TransactionIntent".
 */
export const transactionIntent = z.strictObject({
  order: z.number().int().min(0),
  chainId: z.number().int().min(1),
  transactionKind: z.enum(['contract_call', 'contract_deployment']),
  target: addr.nullable(),
  calldata: hexBytes,
  value: uintString,
  label: shortText,
  simulationRequired: z.boolean(),
  signing: z
    .strictObject({
      kind: z.string().max(200),
      typedData: z.record(z.string(), z.unknown()),
      signaturePlacement: z.string().max(200),
    })
    .optional(),
})
export type TransactionIntent = z.infer<typeof transactionIntent>

/** Source: service API, "CanonicalPostcondition". */
export const canonicalPostcondition = z.strictObject({
  entityType: shortText,
  entityId: shortText,
  field: shortText,
  expected: z.unknown(),
})
export type CanonicalPostcondition = z.infer<typeof canonicalPostcondition>

/** Published as one of the known types; a text here, so that a type of a later release is named. */
export const workflowTypeName = z.string().max(200).meta({ enum: SERVICE_TYPES })

/** Source: service API, "POST /v1/workflows/prepare", 200 body. Strict, because it leads to a signature. */
export const preparedWorkflow = z.strictObject({
  ok: z.boolean(),
  requestId: shortText,
  workflowType: workflowTypeName,
  status: z.enum(['prepared', 'final_success']),
  executionMode: z.enum(['onchain_transaction', 'metadata_only']),
  custodyBoundary: z.enum(['external_wallet_required', 'wallet_session_authenticated']),
  snapshotHash: hash32,
  expiresAt: ts,
  preflight: z.strictObject({
    status: z.enum(['passed', 'blocked']),
    blockedReasons: z.array(z.string().max(500)).max(50),
    freshness,
    revalidateAtExecution: z.array(z.string().max(200)).max(50),
  }),
  transactions: z.array(transactionIntent).max(INTENTS_MAX),
  canonicalPostconditions: z.array(canonicalPostcondition).max(50),
})
export type PreparedWorkflow = z.infer<typeof preparedWorkflow>

/** Source: service API, "POST /v1/workflows/prepare", request body. */
export const workflowPrepareRequest = z.strictObject({
  workflowType: workflowTypeName,
  chainId: z.number().int().min(1),
  deploymentNamespace: z.string().max(200).nullish(),
  principalAddress: addr.optional(),
  input: z.record(z.string(), z.unknown()),
  constraints: z.record(z.string(), z.unknown()).optional(),
})
export type WorkflowPrepareRequest = z.infer<typeof workflowPrepareRequest>

import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Address, type Hex, keccak256, stringToHex } from 'viem'
import type { Clock } from '../../src/clock.ts'
import { invariant } from '../../src/errors.ts'
import type {
  PreparedWorkflow,
  WorkflowPrepareRequest,
} from '../../src/service/contract/prepared-workflow.ts'
import {
  SERVICE_TYPES,
  WORKFLOW_CATALOGUE,
  type WorkflowType,
} from '../../src/service/contract/workflow-types.ts'
import type { Canonical, Snapshot } from '../indexer/canonical.ts'
import type { Fault } from './faults/faults.ts'
import { tamper } from './faults/tamper.ts'
import { ApiError, unknownChain } from './http/api-error.ts'
import type { Caller, Handler } from './http/handler.ts'
import { progressEvents } from './progress.ts'
import { recordEvents, type ServiceRecords } from './records.ts'
import type { WorkflowRecord, WorkflowRecords } from './workflow-records.ts'
import { blocked, type Judgement, type Moment, type Reads } from './workflows/preparer.ts'
import { preparerOf } from './workflows/registry.ts'

/** How long prepared intents may be signed and mined; a deadline on chain is the same moment. */
const LIFETIME_MS = 30_000

/** What prepare reads and writes. */
type PrepareDeps = {
  readonly canonical: Canonical
  readonly records: WorkflowRecords
  /** What lives at the service, which the types of no transaction save. */
  readonly serviceRecords: Pick<ServiceRecords, 'find' | 'save'>
  readonly clock: Clock
  readonly namespace: string
  readonly reads: Reads
  readonly fault: () => Pick<Fault, 'hostile' | 'blockPreflight'>
}

/**
 * POST /v1/workflows/prepare. Where a type is `metadata_only`, a preflight that passes is the whole workflow: its record is saved
 * and its end announced in the commit that the answer is stored in. Source: service API, section of the same name.
 */
export function prepareOperation(deps: PrepareDeps): Handler<'prepareWorkflow'> {
  return async ({ body: request, caller }) => {
    const type = checkTarget(request, deps)
    const principal = principalOf(request, caller, type)
    const expiresMs = deps.clock.nowMs() + LIFETIME_MS
    const moment: Moment = {
      snapshot: deps.canonical.snapshot(),
      freshness: deps.canonical.freshness(),
      principal,
      deadlineS: BigInt(Math.floor(expiresMs / 1_000)),
    }
    const { hostile, blockPreflight } = deps.fault()
    const judged = await preparerOf(type).prepare(request.input, moment, deps.reads)
    const judgement =
      blockPreflight === undefined
        ? judged
        : blocked(judged.judged, [blockPreflight], judged.revalidateAtExecution)
    const transactions = tamper(judgement.transactions, principal, hostile)
    const answer = answerOf(type, { ...judgement, transactions }, moment, expiresMs)
    const workflow = workflowOf(answer, judgement, moment, {
      applicationId: caller.applicationId,
      // Who has only what every page shows names a wallet without proof: the workflow is then of no wallet.
      principal: caller.key === 'publishable' && caller.wallet === null ? null : principal,
      createdMs: deps.clock.nowMs(),
    })
    const { record, replaces } = judgement
    const { wallet } = caller
    if (record === undefined) return { body: answer, commit: () => deps.records.insert(workflow) }
    invariant(wallet !== null, 'what saves a record needs a wallet session')
    return {
      body: answer,
      events: [...progressEvents([answer.status], workflow), ...recordEvents(record)],
      commit: () => {
        const stands = deps.serviceRecords.find(record.kind, record.key)
        if (replaces !== undefined && !isDeepStrictEqual(stands, replaces)) throw recordChanged()
        deps.records.insert(workflow)
        deps.serviceRecords.save({ ...record, wallet, atMs: workflow.createdMs })
      },
    }
  }
}

const recordChanged = () =>
  new ApiError(409, 'record_changed', 'What this was judged by was saved or reviewed meanwhile.', {
    retryable: true,
    retryAfterS: 1,
  })

/** Throws ApiError 403 where a wallet has to prove itself and did not, or proved to be another than the one that is named. */
function principalOf(request: WorkflowPrepareRequest, caller: Caller, type: WorkflowType): Address | null {
  if (WORKFLOW_CATALOGUE[type].custodyBoundary === 'wallet_session_authenticated' && caller.wallet === null) {
    throw new ApiError(
      403,
      'wallet_session_required',
      'This type takes effect at once: it needs a wallet session.',
    )
  }
  const principal = request.principalAddress ?? caller.wallet
  if (caller.wallet !== null && principal !== caller.wallet) {
    throw new ApiError(403, 'foreign_principal', 'A wallet session prepares for its own wallet only.')
  }
  return principal
}

/** What is saved is true from this block on; what is signed has yet to become true. */
function workflowOf(
  answer: PreparedWorkflow,
  { postconditions, record }: Judgement,
  { snapshot }: Moment,
  whose: Pick<WorkflowRecord, 'applicationId' | 'principal' | 'createdMs'>,
): WorkflowRecord {
  const isSaved = record !== undefined
  return {
    ...whose,
    requestId: answer.requestId,
    workflowType: answer.workflowType,
    status: answer.status,
    intents: answer.transactions.length,
    postconditions: postconditions.map((item) => ({
      ...item,
      satisfied: isSaved,
      blockNumber: isSaved ? snapshot.block.number.toString() : null,
    })),
    failedBlock: null,
    transactions: [],
  }
}

function checkTarget(request: WorkflowPrepareRequest, deps: PrepareDeps): WorkflowType {
  const type = SERVICE_TYPES.find((known) => known === request.workflowType)
  if (type === undefined) {
    throw new ApiError(400, 'unknown_workflow_type', 'There is no such workflow type.')
  }
  if (request.chainId !== deps.reads.chainId) throw unknownChain(deps.reads.chainId)
  const namespace = request.deploymentNamespace ?? deps.namespace
  if (namespace !== deps.namespace) {
    throw new ApiError(400, 'unknown_namespace', `This service's deployment is ${deps.namespace}.`)
  }
  return type
}

function answerOf(
  workflowType: WorkflowType,
  judgement: Judgement,
  moment: Moment,
  expiresMs: number,
): PreparedWorkflow {
  const { executionMode, custodyBoundary } = WORKFLOW_CATALOGUE[workflowType]
  return {
    ok: true,
    requestId: `wf_${randomUUID()}`,
    workflowType,
    status: judgement.record === undefined ? 'prepared' : 'final_success',
    executionMode,
    custodyBoundary,
    snapshotHash: snapshotHash(moment.snapshot, judgement.judged),
    expiresAt: new Date(expiresMs).toISOString(),
    preflight: {
      status: judgement.blockedReasons.length === 0 ? 'passed' : 'blocked',
      blockedReasons: [...judgement.blockedReasons],
      freshness: moment.freshness,
      revalidateAtExecution: [...judgement.revalidateAtExecution],
    },
    transactions: [...judgement.transactions],
    canonicalPostconditions: [...judgement.postconditions],
  }
}

function snapshotHash(snapshot: Snapshot, judged: unknown): Hex {
  const { number, hash } = snapshot.block
  const text = JSON.stringify({ block: { number, hash }, judged }, (_key, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
  return keccak256(stringToHex(text))
}

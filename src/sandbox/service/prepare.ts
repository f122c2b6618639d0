import { randomUUID } from 'node:crypto'
import { type Address, type Hex, keccak256, stringToHex } from 'viem'
import type { Clock } from '../../clock.ts'
import { invariant } from '../../errors.ts'
import { type Revalidation, WORKFLOW_INPUTS } from '../../service/assumptions.ts'
import type { Freshness } from '../../service/resources.ts'
import { addr } from '../../service/scalars.ts'
import {
  type PreparedWorkflow,
  type TransactionIntent,
  WORKFLOW_CATALOGUE,
  type WorkflowPrepareRequest,
  workflowPrepareRequest,
} from '../../service/workflows.ts'
import type { Canonical, Snapshot } from '../indexer/canonical.ts'
import { ApiError, unknownChain } from './api-error.ts'
import { DOCUMENTED_WORKFLOW_TYPES } from './documented-types.ts'
import type { Hostility } from './faults.ts'
import {
  liquidationIntents,
  liquidationPostconditions,
  settlementIntents,
  settlementPostconditions,
} from './intents.ts'
import { claimOf, judgeLiquidation, judgeSettlement, liquidationRows } from './judge.ts'
import type { WriteOperation } from './operation.ts'
import { parseBody } from './parse-body.ts'
import type { Expectation } from './postconditions.ts'
import type { WorkflowRecords } from './workflow-records.ts'

/** How long prepared intents may be signed and mined; the liquidation's deadline on chain is the same moment. */
const LIFETIME_MS = 30_000

/** What prepare reads. `balanceOf` is a principal's balance of a token on chain, base units. */
export type PrepareDeps = {
  readonly canonical: Canonical
  readonly records: WorkflowRecords
  readonly clock: Clock
  readonly chainId: number
  readonly namespace: string
  readonly balanceOf: (token: Address, owner: Address) => Promise<bigint>
  readonly hostile: () => Hostility | undefined
}

/** What judging a request gave. `judged` are the canonical rows, for the snapshot's hash. */
type Judgement = {
  readonly judged: unknown
  readonly blockedReasons: readonly string[]
  readonly revalidateAtExecution: readonly Revalidation[]
  readonly transactions: readonly TransactionIntent[]
  readonly postconditions: readonly Expectation[]
}

/** What a judgement is made of: one snapshot, one moment. */
type Moment = {
  readonly snapshot: Snapshot
  readonly freshness: Freshness
  readonly principal: Address | null
  readonly deadlineS: bigint
}

/** POST /v1/workflows/prepare. Source: service API, section of the same name. */
export function prepareOperation(deps: PrepareDeps): WriteOperation {
  return {
    method: 'POST',
    path: '/v1/workflows/prepare',
    access: 'key_or_wallet',
    perform: async ({ body, caller }) => {
      const request = parseBody(workflowPrepareRequest, body)
      checkTarget(request, deps)
      const principal = request.principalAddress ?? caller.wallet
      if (caller.wallet !== null && principal !== caller.wallet) {
        throw new ApiError(403, 'foreign_principal', 'A wallet session prepares for its own wallet only.')
      }
      const expiresMs = deps.clock.nowMs() + LIFETIME_MS
      const moment: Moment = {
        snapshot: deps.canonical.snapshot(),
        freshness: deps.canonical.freshness(),
        principal,
        deadlineS: BigInt(Math.floor(expiresMs / 1_000)),
      }
      const judgement = await judge(request, moment, deps)
      const answer = answerOf(request.workflowType, judgement, moment, expiresMs)
      return {
        body: answer,
        commit: () =>
          deps.records.insert({
            requestId: answer.requestId,
            workflowType: answer.workflowType,
            principal,
            status: 'prepared',
            intents: answer.transactions.length,
            postconditions: judgement.postconditions.map((item) => ({
              ...item,
              satisfied: false,
              blockNumber: null,
            })),
            createdMs: deps.clock.nowMs(),
            failedBlock: null,
            transactions: [],
          }),
      }
    },
  }
}

function checkTarget(request: WorkflowPrepareRequest, deps: PrepareDeps): void {
  if (!DOCUMENTED_WORKFLOW_TYPES.has(request.workflowType)) {
    throw new ApiError(400, 'unknown_workflow_type', 'There is no such workflow type.')
  }
  if (request.chainId !== deps.chainId) throw unknownChain(deps.chainId)
  const namespace = request.deploymentNamespace ?? deps.namespace
  if (namespace !== deps.namespace) {
    throw new ApiError(400, 'unknown_namespace', `This service's deployment is ${deps.namespace}.`)
  }
}

async function judge(request: WorkflowPrepareRequest, moment: Moment, deps: PrepareDeps): Promise<Judgement> {
  switch (request.workflowType) {
    case 'role.liquidator.liquidate':
      return judgeLiquidate(request, moment, deps)
    case 'role.liquidator.settleLiquidationClaim':
      return judgeSettle(request, moment, deps)
    default:
      return blocked(null, ['not_in_sandbox'], [])
  }
}

async function judgeLiquidate(
  request: WorkflowPrepareRequest,
  { snapshot, freshness, principal, deadlineS }: Moment,
  deps: PrepareDeps,
): Promise<Judgement> {
  const input = parseBody(WORKFLOW_INPUTS['role.liquidator.liquidate'], request.input)
  const rows = liquidationRows(snapshot, input, principal)
  const loanAsset = addr.safeParse(rows.market?.loanAssetAddress).data
  const balance =
    principal === null || loanAsset === undefined ? null : await deps.balanceOf(loanAsset, principal)
  const reasons = judgeLiquidation(input, rows, freshness, balance)
  const revalidate: Revalidation[] = [
    'position_liquidatable',
    'market_not_paused',
    'oracle_healthy',
    'repay_within_close_factor',
    'liquidator_balance',
    'intent_not_expired',
  ]
  if (reasons.length > 0) return blocked(rows, reasons, revalidate)
  invariant(
    rows.facility !== undefined && loanAsset !== undefined,
    'a liquidation that may pass has its rows',
  )
  return {
    judged: rows,
    blockedReasons: [],
    revalidateAtExecution: revalidate,
    transactions: liquidationIntents(deps.chainId, loanAsset, input, deadlineS, deps.hostile()),
    postconditions: liquidationPostconditions(input, rows.facility),
  }
}

function judgeSettle(
  request: WorkflowPrepareRequest,
  { snapshot, freshness, principal }: Moment,
  deps: PrepareDeps,
): Judgement {
  const input = parseBody(WORKFLOW_INPUTS['role.liquidator.settleLiquidationClaim'], request.input)
  const claim = claimOf(snapshot, input)
  const reasons = judgeSettlement(claim, principal, snapshot.block.timestampS, freshness)
  const revalidate: Revalidation[] = ['claim_settleable', 'intent_not_expired']
  if (reasons.length > 0) return blocked(claim ?? null, reasons, revalidate)
  invariant(claim !== undefined, 'a settlement that may pass has its claim')
  return {
    judged: claim,
    blockedReasons: [],
    revalidateAtExecution: revalidate,
    transactions: settlementIntents(deps.chainId, claim, deps.hostile()),
    postconditions: settlementPostconditions(claim),
  }
}

/** Nothing to sign where the preflight cannot pass. */
const blocked = (
  judged: unknown,
  blockedReasons: readonly string[],
  revalidateAtExecution: readonly Revalidation[],
): Judgement => ({ judged, blockedReasons, revalidateAtExecution, transactions: [], postconditions: [] })

function answerOf(
  workflowType: string,
  judgement: Judgement,
  moment: Moment,
  expiresMs: number,
): PreparedWorkflow {
  // Both of the sandbox's types are carried out in one way; a type that it blocks has no intents to carry out.
  const { executionMode, custodyBoundary } = WORKFLOW_CATALOGUE['role.liquidator.liquidate']
  return {
    ok: true,
    requestId: `wf_${randomUUID()}`,
    workflowType,
    status: 'prepared',
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

import type { FeePolicy } from '../../src/pipeline/transactions/fees.ts'
import type { PreparedWorkflow } from '../../src/service/contract/prepared-workflow.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Attempt, Slot } from '../../src/workflow/slot.ts'
import type { Workflow, WorkflowState } from '../../src/workflow/workflow.ts'

/** A signer's address for records that nobody signs. */
export const SIGNER = `0x${'51'.repeat(20)}` as const
export const MARKET = `0x${'a1'.repeat(20)}` as const
export const TOKEN = `0x${'70'.repeat(20)}` as const

/** Fees of at most 50 gwei, with 1 gwei of tip where nobody says more. */
export const FEE_POLICY: FeePolicy = {
  maxFeePerGasWei: 50_000_000_000n,
  priorityFeePerGasWei: 1_000_000_000n,
  priorityFeePerGasWeiMax: 3_000_000_000n,
  gainShareBps: 9_000n,
  nativePriceUsdMicros: 3_000_000_000n,
  baseFeeBps: 20_000n,
  bumpBps: 1_250n,
  bumpAfterBlocks: 3n,
}

/** A proposal as the liquidator makes one. */
export const proposalOf = (changes: Partial<Proposal> = {}): Proposal => ({
  workflowType: 'role.liquidator.liquidate',
  kind: 'liquidate',
  subject: `${MARKET}:0xv:0xb`,
  occurrence: '100:200',
  input: { marketAddress: MARKET, repayAssets: '1000' },
  exposure: { token: TOKEN, assets: 1_000n, usdMicros: 1_000n },
  summary: 'repay 1000',
  reason: { repayAssets: '1000' },
  ...changes,
})

/** An attempt; its bytes are placeholders. */
export const attemptOf = (changes: Partial<Attempt> = {}): Attempt => ({
  purpose: 'payload',
  maxFeePerGasWei: 2_000_000_000n,
  maxPriorityFeePerGasWei: 1_000_000_000n,
  unsigned: '0x01',
  digest: `0x${'d1'.repeat(32)}`,
  state: 'ordered',
  orderedAtMs: 1_000,
  ...changes,
})

/** An open slot with one ordered attempt. */
export const slotOf = (changes: Partial<Slot> = {}): Slot => ({
  index: 0,
  kind: 'intent',
  chainId: 31_337,
  signer: SIGNER,
  nonce: 7,
  payload: { to: MARKET, data: '0x', valueWei: 0n, gasLimit: 100_000n },
  predicted: { gasUsed: 80_000n, tokens: [] },
  state: 'open',
  attempts: [attemptOf()],
  ...changes,
})

/** The service's answer, without intents. */
export const answerOf = (changes: Partial<PreparedWorkflow> = {}): PreparedWorkflow => ({
  ok: true,
  requestId: 'wf-1',
  workflowType: 'role.liquidator.liquidate',
  status: 'prepared',
  executionMode: 'onchain_transaction',
  custodyBoundary: 'external_wallet_required',
  snapshotHash: `0x${'55'.repeat(32)}`,
  expiresAt: new Date(60_000).toISOString(),
  preflight: {
    status: 'passed',
    blockedReasons: [],
    freshness: { status: 'current', lagSeconds: 0 },
    revalidateAtExecution: [],
  },
  transactions: [],
  canonicalPostconditions: [],
  ...changes,
})

/** What one person approved, until then. */
export const approvedUntil = (untilMs: number): NonNullable<Workflow['hold']> => ({
  check: 'approval_always',
  message: 'always',
  hash: 'a1'.repeat(32),
  rules: 'rules',
  untilMs,
  shown: { calls: [], effects: [], changes: [], day: '', askedBy: '', quorum: 1, approvers: null },
  approvals: [{ by: 'anna', identity: { user: 'anna@ops1' }, atMs: 1 }],
  approvedAtMs: 1,
})

/** A workflow in a state, with what every later state needs. */
export const workflowOf = (state: WorkflowState, changes: Partial<Workflow> = {}): Workflow => ({
  id: '0123456789abcdef0123456789abcdef',
  role: 'liquidator',
  chainId: 31_337,
  signer: SIGNER,
  opportunity: 'ab'.repeat(32),
  round: 0,
  proposal: proposalOf(),
  state,
  version: 0,
  createdAtMs: 1_000,
  updatedAtMs: 1_000,
  strikes: 0,
  prepared: { bytesSha256: 'cd'.repeat(32), answer: answerOf(), receivedAtMs: 1_000 },
  clearance: {
    rulesetHash: 'rules',
    blockNumber: 10n,
    blockHash: `0x${'bb'.repeat(32)}`,
    atMs: 1_000,
    notAfterMs: 30_000,
    payloads: [],
    predictedTokens: [],
    allowances: [],
  },
  slots: [],
  ...changes,
})

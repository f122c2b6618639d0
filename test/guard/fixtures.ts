import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { z } from 'zod'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../src/guard/policy/policy.ts'
import { compileRuleset, type GuardSections } from '../../src/guard/ruleset.ts'
import { sanityOf } from '../../src/guard/sanity/by-role.ts'
import type { SanityCheck } from '../../src/guard/sanity/judgement.ts'
import type { Deployment } from '../../src/service/contract/deployment.ts'
import type { PreparedWorkflow, TransactionIntent } from '../../src/service/contract/prepared-workflow.ts'
import type { Role } from '../../src/service/contract/roles.ts'
import type { WorkflowType } from '../../src/service/contract/workflow-types.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { FrozenAnswer, Workflow } from '../../src/workflow/workflow.ts'
import { policyOf as textOf } from '../support/policies.ts'
import { TOKENS } from '../support/tokens.ts'

const address = (byte: string): Address => `0x${byte.repeat(20)}`
const hash = (byte: string): Hex => `0x${byte.repeat(32)}`

export const SELF = address('5e')
export const LOAN = address('a0')
export const COLLATERAL = address('c0')
export const MARKET = address('3a')
export const OTHER_MARKET = address('3b')
export const ORACLE = address('0c')
export const VAULT = address('7a')
export const BORROWER = address('b0')
export const STRANGER = address('99')
export const CHAIN_ID = 31_337

/** When everything here happens, Unix milliseconds; whole seconds. */
export const NOW_MS = 1_800_000_000_000

/** A deployment of one loan asset, one collateral, two markets and one vault. */
export const deployment: Deployment = {
  namespace: 'test',
  assets: [
    { address: LOAN, codeHash: hash('a1'), symbol: 'sUSD', decimals: 6 },
    { address: COLLATERAL, codeHash: hash('c1'), symbol: 'sBTC', decimals: 8 },
  ],
  markets: [MARKET, OTHER_MARKET].map((market, index) => ({
    address: market,
    name: index === 0 ? 'btcMarket' : 'ethMarket',
    codeHash: hash('31'),
    loanAsset: LOAN,
    collateralAsset: COLLATERAL,
    oracle: ORACLE,
    oracleCodeHash: hash('01'),
  })),
  vaults: [{ address: VAULT, codeHash: hash('71') }],
  funds: [],
  contracts: [],
}

const guard = guardPolicy(sanityOf('liquidator').limits(TOKENS))
const policy = textOf('liquidator')
const schema = z.object({
  role: z.literal('liquidator'),
  limits: limitsPolicy,
  freshness: freshnessPolicy,
  guard,
})

/** Read the guard's sections of a liquidator's policy, as a file states it. */
export const policyOf = (stated: unknown): GuardSections => schema.parse(stated)

/** The liquidator's own policy file, as it is written. */
export const shippedPolicy = () =>
  z
    .looseObject({
      guard: z.looseObject({
        views: z.array(z.string()),
        allow: z.array(z.looseObject({ id: z.string() })),
      }),
    })
    .parse(policy)

/** The guard's sections of the liquidator's own policy file. */
export const sections: GuardSections = policyOf(policy)

const { sanity } = z
  .object({ guard: z.object({ sanity: z.record(z.string(), z.unknown()) }) })
  .parse(policy).guard

/** A role's judgements by workflow type, under limits of `guard.sanity` as a file states them. */
export function judgementsOf(role: Role, limits: unknown): ReadonlyMap<WorkflowType, SanityCheck> {
  const own = sanityOf(role)
  return new Map(own.checks(own.limits(TOKENS).parse(limits)))
}

/** The liquidator's judgements as they would be under other limits of `guard.sanity`. */
export const judgedWith = (changes: Readonly<Record<string, unknown>>) =>
  judgementsOf('liquidator', { ...sanity, ...changes })

export const ruleset = compileRuleset(sections, deployment)

const ABI = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function liquidate(address vault, address borrower, uint256 repayAssets, uint256 minCollateralOut, address recipient, uint256 deadline)',
  'function settleLiquidationClaim(uint256 claimId)',
])

export const REPAY = 1_000_000_000n
export const MIN_COLLATERAL = 1_700_000n

/** Encode an approval. */
export const approve = (spender: Address, amount: bigint): Hex =>
  encodeFunctionData({ abi: ABI, functionName: 'approve', args: [spender, amount] })

/** What a liquidation's calldata says; each member can be tampered with. */
export const liquidationArgs = {
  vault: VAULT,
  borrower: BORROWER,
  repayAssets: REPAY,
  minCollateralOut: MIN_COLLATERAL,
  recipient: SELF,
  deadline: BigInt(NOW_MS / 1_000 + 30),
}

/** Encode a liquidation. */
export const liquidate = (args: typeof liquidationArgs): Hex =>
  encodeFunctionData({
    abi: ABI,
    functionName: 'liquidate',
    args: [args.vault, args.borrower, args.repayAssets, args.minCollateralOut, args.recipient, args.deadline],
  })

/** Encode a settlement. */
export const settle = (claimId: bigint): Hex =>
  encodeFunctionData({ abi: ABI, functionName: 'settleLiquidationClaim', args: [claimId] })

/** One intent to a contract. */
export const intent = (order: number, target: Address, calldata: Hex): TransactionIntent => ({
  order,
  chainId: CHAIN_ID,
  transactionKind: 'contract_call',
  target,
  calldata,
  value: '0',
  label: 'an intent',
  simulationRequired: true,
})

/** The answer to the liquidation below, honest in every part. */
export const liquidationAnswer = (): PreparedWorkflow => ({
  ok: true,
  requestId: 'wf-1',
  workflowType: 'role.liquidator.liquidate',
  status: 'prepared',
  executionMode: 'onchain_transaction',
  custodyBoundary: 'external_wallet_required',
  snapshotHash: hash('55'),
  expiresAt: new Date(NOW_MS + 30_000).toISOString(),
  preflight: {
    status: 'passed',
    blockedReasons: [],
    freshness: { status: 'current', lagSeconds: 1, blockNumber: '100' },
    revalidateAtExecution: ['position_liquidatable', 'market_not_paused', 'intent_not_expired'],
  },
  transactions: [intent(0, LOAN, approve(MARKET, REPAY)), intent(1, MARKET, liquidate(liquidationArgs))],
  canonicalPostconditions: [
    {
      entityType: 'credit_facility',
      entityId: `${MARKET}:${VAULT}:${BORROWER}`,
      field: 'debtShares',
      expected: { op: 'lte', value: '1' },
    },
  ],
})

/** The answer to the settlement below, honest in every part. */
export const settlementAnswer = (): PreparedWorkflow => ({
  ...liquidationAnswer(),
  workflowType: 'role.liquidator.settleLiquidationClaim',
  preflight: { ...liquidationAnswer().preflight, revalidateAtExecution: ['claim_settleable'] },
  canonicalPostconditions: [
    { entityType: 'liquidation_claim', entityId: `${MARKET}:7`, field: 'settled', expected: true },
  ],
  transactions: [intent(0, MARKET, settle(7n))],
})

export const liquidation: Proposal = {
  workflowType: 'role.liquidator.liquidate',
  kind: 'liquidate',
  subject: `${MARKET}:${VAULT}:${BORROWER}`,
  occurrence: 'shares:1,collateral:1',
  input: {
    marketAddress: MARKET,
    vaultAddress: VAULT,
    borrowerAddress: BORROWER,
    repayAssets: String(REPAY),
    minCollateralAssets: String(MIN_COLLATERAL),
    recipientAddress: SELF,
  },
  exposure: { token: LOAN, assets: REPAY, usdMicros: REPAY },
  summary: 'repay',
  reason: { priceWad: '60000000000000000000000' },
}

export const settlement: Proposal = {
  workflowType: 'role.liquidator.settleLiquidationClaim',
  kind: 'settle',
  subject: `${MARKET}:7`,
  occurrence: '7',
  input: { marketAddress: MARKET, claimId: '7' },
  exposure: { token: null, assets: 0n, usdMicros: 0n },
  summary: 'settle',
  reason: {},
}

/** Freeze an answer as received now. */
export const freeze = (answer: PreparedWorkflow): FrozenAnswer => ({
  bytesSha256: 'cd'.repeat(32),
  answer,
  receivedAtMs: NOW_MS,
})

/** The parts of a workflow that the guard reads. */
export const bound = (proposal: Proposal): Pick<Workflow, 'role' | 'chainId' | 'signer' | 'proposal'> => ({
  role: 'liquidator',
  chainId: CHAIN_ID,
  signer: SELF,
  proposal,
})

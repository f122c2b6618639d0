import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { RolekeeperError } from '../../../src/errors.ts'
import type { ServiceClient } from '../../../src/service/client.ts'
import { entityIdOf, type WorkflowProgress } from '../../../src/service/contract/assumptions.ts'
import type {
  CanonicalPostcondition,
  PreparedWorkflow,
} from '../../../src/service/contract/prepared-workflow.ts'
import { CHAIN_ID, type Chain } from './chain.ts'
import { effectOf, LOAN, MARKET, seizedFor } from './contracts.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'

const ABI = parseAbi([
  'function approve(address spender, uint256 amount) returns (bool)',
  'function liquidate(address vault, address borrower, uint256 repayAssets, uint256 minCollateralOut, address recipient, uint256 deadline)',
  'function settleLiquidationClaim(uint256 claimId)',
])

/** What may be wrong with the service for a while. */
export const SERVICE_FAULTS = [
  'down',
  'stalls',
  'loses_replies',
  'denies',
  'blocks',
  'overlong',
  'lies',
] as const
export type ServiceFault = (typeof SERVICE_FAULTS)[number]
export type ServiceWindow = {
  readonly fault: ServiceFault
  readonly fromMs: number
  readonly lengthMs: number
  readonly chance: number
}

/** The client that a keeper of this model has: what its pipeline and its outbox call. */
export type ModelClient = Pick<ServiceClient, 'prepareWorkflow' | 'getWorkflow' | 'registerTransaction'>

type Input = Readonly<Record<string, string>>
type Request = { readonly workflowType: string; readonly principalAddress: Address; readonly input: Input }

const TIMEOUT_MS = 3_000
const ANSWER_LIFETIME_MS = 30_000

const failed = (code: string, retry: 'later' | 'never') =>
  new RolekeeperError(`service.${code}`, `The service: ${code}.`, { retry })

/** The service of the model: it outlives the processes that ask it, and remembers each key. */
export class ModelService {
  readonly #chain: Chain
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #startMs: number
  readonly #faults: readonly ServiceWindow[]
  readonly #byKey = new Map<string, { readonly body: string; readonly answer: PreparedWorkflow }>()
  readonly #byRequest = new Map<string, PreparedWorkflow>()

  constructor(options: {
    readonly chain: Chain
    readonly scheduler: Scheduler
    readonly random: Random
    readonly startMs: number
    readonly faults: readonly ServiceWindow[]
  }) {
    this.#chain = options.chain
    this.#scheduler = options.scheduler
    this.#random = options.random
    this.#startMs = options.startMs
    this.#faults = options.faults
  }

  #fault(): ServiceFault | null {
    const atMs = this.#scheduler.nowMs() - this.#startMs
    const hit = this.#faults.find(({ fromMs, lengthMs }) => atMs >= fromMs && atMs < fromMs + lengthMs)
    return hit !== undefined && this.#random.chance(hit.chance) ? hit.fault : null
  }

  #call<T>(isAlive: Owner, work: (fault: ServiceFault | null) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const later = (ms: number, next: () => void) =>
        this.#scheduler.after(ms, () => (isAlive() ? next() : undefined))
      const fault = this.#fault()
      if (fault === 'down') {
        later(1, () => reject(failed('unreachable', 'later')))
        return
      }
      if (fault === 'stalls') {
        later(TIMEOUT_MS, () => reject(failed('timeout', 'later')))
        return
      }
      if (fault === 'denies') {
        later(10, () => reject(failed('unauthorized', 'never')))
        return
      }
      const there = this.#random.int(1, 40)
      this.#scheduler.after(there, () => {
        let done: { readonly value: T } | { readonly error: unknown }
        try {
          done = { value: work(fault) }
        } catch (error) {
          done = { error }
        }
        if (fault === 'loses_replies') {
          later(TIMEOUT_MS - there, () => reject(failed('timeout', 'later')))
          return
        }
        later(this.#random.int(1, 40), () => ('value' in done ? resolve(done.value) : reject(done.error)))
      })
    })
  }

  /** The service as one process reaches it. */
  client(isAlive: Owner): ModelClient {
    return {
      prepareWorkflow: (call) =>
        this.#call(isAlive, (fault) => {
          const body = 'bodyText' in call ? call.bodyText : JSON.stringify(call.body)
          const answer = this.#prepare(call.idempotencyKey, body, fault)
          return { answer, bytes: JSON.stringify(answer), freshness: null }
        }),
      getWorkflow: (call) =>
        this.#call(isAlive, (fault) => {
          const answer = this.#progress(call.params.requestId, fault)
          return { answer, bytes: JSON.stringify(answer), freshness: null }
        }),
      registerTransaction: (call) =>
        this.#call(isAlive, (fault) => {
          const answer = this.#progress(call.params.requestId, fault)
          return { answer, bytes: JSON.stringify(answer), freshness: null }
        }),
    }
  }

  #prepare(key: string, body: string, fault: ServiceFault | null): PreparedWorkflow {
    const known = this.#byKey.get(key)
    if (known !== undefined) {
      if (known.body !== body) throw failed('conflict', 'never')
      return known.answer
    }
    const answer = this.#answer(`wf-${this.#byKey.size + 1}`, JSON.parse(body) as Request, fault)
    this.#byKey.set(key, { body, answer })
    this.#byRequest.set(answer.requestId, answer)
    return answer
  }

  #answer(requestId: string, request: Request, fault: ServiceFault | null): PreparedWorkflow {
    const nowMs = this.#scheduler.nowMs()
    const endsAtMs = nowMs + (fault === 'overlong' ? 100 * 365 * 86_400_000 : ANSWER_LIFETIME_MS)
    return {
      ok: true,
      requestId,
      workflowType: request.workflowType,
      status: 'prepared',
      executionMode: 'onchain_transaction',
      custodyBoundary: 'external_wallet_required',
      snapshotHash: `0x${'55'.repeat(32)}`,
      expiresAt: new Date(endsAtMs).toISOString(),
      preflight: {
        status: fault === 'blocks' ? 'blocked' : 'passed',
        blockedReasons: fault === 'blocks' ? ['blocked'] : [],
        freshness: { status: 'current', lagSeconds: 1, blockNumber: String(this.#chain.tip.number) },
        revalidateAtExecution: [],
      },
      transactions: intentsOf(
        request,
        fault === 'lies',
        Math.floor((nowMs + ANSWER_LIFETIME_MS) / 1_000),
      ).map(({ to, data }, order) => ({
        order,
        chainId: CHAIN_ID,
        transactionKind: 'contract_call',
        target: to,
        calldata: data,
        value: '0',
        label: 'an intent',
        simulationRequired: true,
      })),
      canonicalPostconditions: [
        request.input.claimId === undefined
          ? {
              entityType: 'credit_facility',
              entityId: entityIdOf(
                MARKET,
                request.input.vaultAddress ?? '',
                request.input.borrowerAddress ?? '',
              ),
              field: 'debtShares',
              expected: { op: 'lte', value: '1' },
            }
          : {
              entityType: 'liquidation_claim',
              entityId: entityIdOf(MARKET, request.input.claimId),
              field: 'settled',
              expected: true,
            },
      ],
    }
  }

  /** Canonical state by the service's own indexer: what is final shows, and nothing else. */
  #progress(requestId: string, fault: ServiceFault | null): WorkflowProgress {
    const answer = this.#byRequest.get(requestId)
    if (answer === undefined) throw failed('not_found', 'never')
    const final = this.#chain.finalized()
    const [wanted] = answer.canonicalPostconditions
    const satisfied = wanted !== undefined && isDone(final, effectName(wanted))
    return {
      requestId,
      workflowType: answer.workflowType,
      status: (satisfied || fault === 'lies') && fault !== 'blocks' ? 'final_success' : 'indexed',
      transactions: [],
      canonicalPostconditions: answer.canonicalPostconditions.map((each) => ({
        ...each,
        satisfied: satisfied || fault === 'lies',
        blockNumber: String(final.number),
      })),
    }
  }
}

function isDone(tip: Chain['tip'], effect: string): boolean {
  for (let block: Chain['tip'] | null = tip; block !== null; block = block.parent) {
    if (block.transactions.some(({ tx, ok }) => ok && effectOf(tx.data) === effect)) return true
  }
  return false
}

const effectName = ({ entityId }: Pick<CanonicalPostcondition, 'entityId'>): string => {
  const [, second = '', borrower] = entityId.split(':')
  return borrower === undefined ? `settle ${second}` : `liquidate ${borrower}`
}

/** The calls of an answer; one that lies asks for something else than was asked of it. */
function intentsOf(
  { input, principalAddress }: Request,
  lies: boolean,
  deadlineS: number,
): readonly { readonly to: Address; readonly data: Hex }[] {
  if (input.claimId !== undefined) {
    const claimId = BigInt(input.claimId) + (lies ? 1n : 0n)
    return [
      {
        to: MARKET,
        data: encodeFunctionData({ abi: ABI, functionName: 'settleLiquidationClaim', args: [claimId] }),
      },
    ]
  }
  const repay = BigInt(input.repayAssets ?? '0')
  const least = BigInt(input.minCollateralAssets ?? seizedFor(repay))
  const vault = input.vaultAddress as Address
  const borrower = input.borrowerAddress as Address
  const amount = lies ? 2n ** 256n - 1n : repay
  return [
    { to: LOAN, data: encodeFunctionData({ abi: ABI, functionName: 'approve', args: [MARKET, amount] }) },
    {
      to: MARKET,
      data: encodeFunctionData({
        abi: ABI,
        functionName: 'liquidate',
        args: [vault, borrower, repay, least, principalAddress, BigInt(deadlineS)],
      }),
    },
  ]
}

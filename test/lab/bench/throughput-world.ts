import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Address,
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  parseAbi,
  parseEther,
  publicActions,
  walletActions,
} from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { startAnvil } from '../../support/anvil.ts'
import { receiptActions } from '../../support/receipts.ts'
import { countCalls } from './throughput-calls.ts'

/** What a contender is given: its own keys, and the same servers as the others. */
export type ThroughputSettings = {
  readonly rpcUrl: string
  readonly serviceUrl: string
  readonly chainId: number
  readonly desk: { readonly address: Address; readonly codeHash: Hex }
  readonly keys: readonly Hex[]
}

/** One workflow: which of its keys signs, and what makes it another than the rest. */
export type Job = {
  readonly key: number
  readonly id: number
  /** Of a role that no other key has; else all are of one, and share its budget. */
  readonly ofOwnRole?: boolean
}

/** What a contender is given to do: as soon as one job is confirmed the next begins, so many at once. */
export type Go = { readonly jobs: readonly Job[]; readonly atOnce: number }

/** What a contender answers with. `calls` counts requests by what they ask. */
export type Went = {
  readonly tookMs: number
  /** Computing time of its process, all threads. */
  readonly cpuMs: number
  /** The longest time that the journal held the event loop; 0 where there is none. */
  readonly journalMs: number
  readonly calls: Readonly<Record<string, number>>
}

const FINALIZE = parseAbi(['function finalize(uint256 rfqId)'])
/** Creates a contract that stores the number it is called with: PUSH1 4 CALLDATALOAD PUSH0 SSTORE STOP. */
const BYTECODE = '0x656004355f55005f526006601af3'

/** What every workflow is: one call of a contract with a number of its own. */
export const WORKFLOW_TYPE = 'role.lender.distressedRecoveryFundV3RfqFinalize'
export const inputOf = (desk: Address, { id }: Job) => ({ rfqAddress: desk, rfqId: String(id) })

/** What is final after a receipt's block: one more block. */
export const CONFIRMATIONS = 1n
/** How often a contender looks for a new head. */
export const POLL_MS = 100
/** A steady load meets blocks of this pace with a few dozen transactions each; longer ones would round the figures. */
const BLOCK_MS = 250

/**
 * Be a contender: take the settings from the bench that started this process, then carry what it says, again and again.
 * @param longestMs the longest that the journal held the event loop since it was asked last.
 */
export function contend(
  create: (settings: ThroughputSettings) => Promise<(job: Job) => Promise<void>>,
  longestMs: () => number = () => 0,
): void {
  process.on('disconnect', () => process.exit())
  process.once('message', async (settings: ThroughputSettings) => {
    const calls = countCalls()
    const carry = await create(settings)
    process.on('message', async (go: Go) => {
      const before = calls()
      longestMs()
      const measured = await measureJobs(go, carry)
      process.send?.({ ...measured, journalMs: longestMs(), calls: calls(before) } satisfies Went)
    })
    process.send?.('ready')
  })
}

/** Carry jobs to `confirmed`, so many at once, and measure it. */
export async function measureJobs(
  { jobs, atOnce }: Go,
  carry: (job: Job) => Promise<void>,
): Promise<Pick<Went, 'tookMs' | 'cpuMs'>> {
  const cpuBefore = process.cpuUsage()
  const startedMs = performance.now()
  const next = jobs.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const job of next) await carry(job)
    }),
  )
  const { user, system } = process.cpuUsage(cpuBefore)
  return { tookMs: performance.now() - startedMs, cpuMs: (user + system) / 1_000 }
}

/**
 * Start a chain with a contract to call, and a service that answers at once.
 */
export async function createThroughputWorld(contenders: number, keys: number) {
  const chain = await startAnvil()
  const client = createTestClient({ mode: 'anvil', transport: http(chain.rpcUrl), pollingInterval: 20 })
    .extend(publicActions)
    .extend(receiptActions)
    .extend(walletActions)
  const admin = privateKeyToAddress(generatePrivateKey())
  await client.impersonateAccount({ address: admin })
  await client.setBalance({ address: admin, value: parseEther('1') })
  const hash = await client.sendTransaction({ account: admin, chain: null, data: BYTECODE })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  const address = (contractAddress ?? '0x').toLowerCase() as Address
  const codeHash = keccak256((await client.getCode({ address })) ?? '0x')
  const all = Array.from({ length: contenders }, () => Array.from({ length: keys }, generatePrivateKey))
  for (const key of all.flat()) {
    await client.setBalance({ address: privateKeyToAddress(key), value: parseEther('1000') })
  }
  const service = await startService(chain.chainId, address, client)
  await client.setAutomine(false)
  const mining = setInterval(() => client.mine({ blocks: 1 }).catch(() => undefined), BLOCK_MS)
  const settings = all.map(
    (own): ThroughputSettings => ({
      rpcUrl: chain.rpcUrl,
      serviceUrl: service.url,
      chainId: chain.chainId,
      desk: { address, codeHash },
      keys: own,
    }),
  )
  const stop = async () => {
    clearInterval(mining)
    service.stop()
    await chain.stop()
  }
  return { settings, stop }
}

/** A service that prepares what it is asked for, and then says that all of it was seen. */
async function startService(
  chainId: number,
  desk: Address,
  chain: { readonly getBlockNumber: () => Promise<bigint> },
) {
  let blockNumber = String(await chain.getBlockNumber())
  const timer = setInterval(async () => {
    blockNumber = String(await chain.getBlockNumber().catch(() => blockNumber))
  }, 500)
  let count = 0
  const prepared = new Map<string, object>()
  const server = createServer(async (request, response) => {
    const body = await textOf(request)
    response.setHeader('content-type', 'application/json')
    if (request.method !== 'POST') {
      response.end(JSON.stringify(prepared.get(request.url?.split('/').at(-1) ?? '')))
      return
    }
    const { workflowType, input } = JSON.parse(body)
    count += 1
    const requestId = `wf-${count}`
    const postcondition = {
      entityType: 'rfq',
      entityId: `${input.rfqAddress}:${input.rfqId}`.toLowerCase(),
      field: 'finalized',
      expected: true,
    }
    prepared.set(requestId, {
      requestId,
      workflowType,
      status: 'final_success',
      transactions: [],
      canonicalPostconditions: [{ ...postcondition, satisfied: true, blockNumber: '1000000' }],
    })
    const calldata = encodeFunctionData({
      abi: FINALIZE,
      functionName: 'finalize',
      args: [BigInt(input.rfqId)],
    })
    response.end(
      JSON.stringify({
        ok: true,
        requestId,
        workflowType,
        status: 'prepared',
        executionMode: 'onchain_transaction',
        custodyBoundary: 'external_wallet_required',
        snapshotHash: keccak256(`0x${count.toString(16).padStart(64, '0')}`),
        expiresAt: new Date(Date.now() + 600_000).toISOString(),
        preflight: {
          status: 'passed',
          blockedReasons: [],
          freshness: { status: 'current', lagSeconds: 0, blockNumber },
          revalidateAtExecution: ['intent_not_expired'],
        },
        transactions: [
          {
            order: 0,
            chainId,
            transactionKind: 'contract_call',
            target: desk,
            calldata,
            value: '0',
            label: 'finalize',
            simulationRequired: true,
          },
        ],
        canonicalPostconditions: [postcondition],
      }),
    )
  })
  // A contender that is stopped for a while keeps its connections.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stop = () => {
    clearInterval(timer)
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, stop }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part
  return text
}

/**
 * The two scripts that the keeper's throughput is held against, told which over the command line. `viem`: a loop that
 * sends through viem's wallet client and its nonce manager, and waits for its receipts. `bare`: the calls and signatures
 * that the keeper makes, and nothing else. Neither checks or keeps anything.
 */
import { Agent, request } from 'undici'
import {
  createPublicClient,
  createWalletClient,
  defineChain,
  type Hex,
  http,
  keccak256,
  serializeTransaction,
  type TransactionSerializableEIP1559,
} from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import {
  CONFIRMATIONS,
  contend,
  inputOf,
  type Job,
  POLL_MS,
  type ThroughputSettings,
  WORKFLOW_TYPE,
} from './throughput-world.ts'

type Prepared = {
  readonly requestId: string
  readonly transactions: readonly [{ readonly target: Hex; readonly calldata: Hex }]
}

const [mode] = process.argv.slice(2)
const dispatcher = new Agent({ keepAliveTimeout: 120_000, connections: 64 })
contend(async (settings) => (mode === 'viem' ? createViemLoop(settings) : createBare(settings)))

async function post<T>(url: string, body: unknown): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const answer = await request(url, { dispatcher, method: 'POST', headers, body: JSON.stringify(body) })
  return (await answer.body.json()) as T
}

const prepare = ({ serviceUrl, desk }: ThroughputSettings, job: Job, principalAddress: Hex) =>
  post<Prepared>(`${serviceUrl}/v1/workflows/prepare`, {
    workflowType: WORKFLOW_TYPE,
    principalAddress,
    input: inputOf(desk.address, job),
  })

function createViemLoop(settings: ThroughputSettings): (job: Job) => Promise<void> {
  const chain = defineChain({
    id: settings.chainId,
    name: 'bench',
    rpcUrls: { default: { http: [settings.rpcUrl] } },
    nativeCurrency: { name: 'ether', symbol: 'ETH', decimals: 18 },
  })
  const transport = http(settings.rpcUrl)
  const nonceManager = createNonceManager({ source: jsonRpc() })
  const accounts = settings.keys.map((key) => privateKeyToAccount(key, { nonceManager }))
  const wallet = createWalletClient({ chain, transport, pollingInterval: POLL_MS })
  const reader = createPublicClient({ chain, transport, pollingInterval: POLL_MS })
  return async (job) => {
    const account = accounts[job.key]
    if (account === undefined) throw new TypeError('no such key')
    const { transactions } = await prepare(settings, job, account.address)
    const { target: to, calldata: data } = transactions[0]
    const hash = await wallet.sendTransaction({ account, to, data })
    const confirmations = Number(CONFIRMATIONS) + 1
    const receipt = await reader.waitForTransactionReceipt({ hash, confirmations, timeout: 120_000 })
    if (receipt.status !== 'success') throw new TypeError(`reverted: ${hash}`)
  }
}

/** What the keeper asks the service once a workflow is confirmed; nobody waits for the answer. */
async function seeProgress({ serviceUrl }: ThroughputSettings, requestId: string): Promise<void> {
  const answer = await request(`${serviceUrl}/v1/workflows/${requestId}`, { dispatcher })
  await answer.body.json()
}

async function createBare(settings: ThroughputSettings): Promise<(job: Job) => Promise<void>> {
  const { rpcUrl, chainId } = settings
  const rpc = async <T>(method: string, ...params: unknown[]): Promise<T> => {
    const { result, error } = await post<{ result: T; error?: unknown }>(rpcUrl, {
      jsonrpc: '2.0',
      id: 1,
      method,
      params,
    })
    if (error !== undefined) throw new TypeError(`${method}: ${JSON.stringify(error)}`)
    return result
  }
  const owners = await Promise.all(
    settings.keys.map(async (privateKey) => {
      const { address } = privateKeyToAccount(privateKey)
      return {
        privateKey,
        address,
        nonce: Number(await rpc<Hex>('eth_getTransactionCount', address, 'latest')),
      }
    }),
  )
  const heads = followHeads(rpc)
  return async (job) => {
    const owner = owners[job.key]
    if (owner === undefined) throw new TypeError('no such key')
    const { requestId, transactions } = await prepare(settings, job, owner.address)
    const { target: to, calldata: data } = transactions[0]
    const call = { from: owner.address, to, input: data }
    const simulate = () =>
      rpc<readonly { calls: readonly { gasUsed: Hex; status: Hex }[] }[]>(
        ...(['eth_simulateV1', { blockStateCalls: [{ calls: [call] }] }, 'latest'] as const),
      )
    const simulated = await simulate()
    const gas = (BigInt(simulated[0]?.calls[0]?.gasUsed ?? 0) * 13n) / 10n
    const transaction: TransactionSerializableEIP1559 = {
      type: 'eip1559',
      chainId,
      nonce: owner.nonce,
      to,
      data,
      gas,
      maxFeePerGas: 3_000_000_000n,
      maxPriorityFeePerGas: 1_000_000_000n,
    }
    owner.nonce += 1
    const [signature] = await Promise.all([
      sign({ hash: keccak256(serializeTransaction(transaction)), privateKey: owner.privateKey }),
      simulate(),
    ])
    const raw = serializeTransaction(transaction, signature)
    const done = heads.confirmed(keccak256(raw))
    await rpc('eth_sendRawTransaction', raw)
    await done
    seeProgress(settings, requestId).catch(() => undefined)
  }
}

/** Follow the chain block by block, with the receipts of each. */
function followHeads(rpc: <T>(method: string, ...params: unknown[]) => Promise<T>) {
  const waiting = new Map<Hex, () => void>()
  const mined: { readonly number: bigint; readonly hash: Hex }[] = []
  let seen: bigint | null = null
  const look = async () => {
    const head = BigInt((await rpc<{ number: Hex }>('eth_getBlockByNumber', 'latest', false)).number)
    for (let number = (seen ?? head) + (seen === null ? 0n : 1n); number <= head; number += 1n) {
      const at = `0x${number.toString(16)}`
      const [block, receipts] = await Promise.all([
        rpc<{ transactions: readonly { hash: Hex }[] }>('eth_getBlockByNumber', at, true),
        rpc<readonly { transactionHash: Hex; status: Hex }[]>('eth_getBlockReceipts', at),
      ])
      const good = new Set(
        receipts.filter(({ status }) => status === '0x1').map((each) => each.transactionHash),
      )
      for (const { hash } of block.transactions) if (good.has(hash)) mined.push({ number, hash })
      seen = number
    }
    for (const { number, hash } of mined) if (number + CONFIRMATIONS <= head) waiting.get(hash)?.()
  }
  const loop = async () => {
    await look().catch(() => undefined)
    setTimeout(loop, POLL_MS)
  }
  void loop()
  return {
    confirmed: (hash: Hex) =>
      new Promise<void>((resolve) => {
        waiting.set(hash, () => {
          waiting.delete(hash)
          resolve()
        })
      }),
  }
}

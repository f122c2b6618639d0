/**
 * The bare script that the keeper is held against: on the event it makes the calls that nobody can leave out, and
 * nothing else. It checks nothing, keeps nothing, and trusts what it is told. Told its settings over IPC, it answers
 * `ready`; at `act` it acts on the next price event.
 */
import { randomUUID } from 'node:crypto'
import { KMSClient, SignCommand } from '@aws-sdk/client-kms'
import { Agent, request } from 'undici'
import {
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  keccak256,
  parseAbi,
  serializeTransaction,
  type TransactionSerializableEIP1559,
} from 'viem'
import { WebSocket } from 'ws'
import { parseSignature } from '../../../src/sign/der.ts'
import { digestBytes, recoverable } from '../../../src/sign/signature.ts'

/** What the script is told. */
export type ScriptSettings = {
  readonly serviceUrl: string
  readonly rpcUrl: string
  readonly chainId: number
  readonly namespace: string
  readonly secretKey: string
  readonly kms: {
    readonly region: string
    readonly endpoint: string
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
  }
  readonly signer: { readonly keyId: string; readonly address: Address }
  readonly market: Address
  readonly oracle: Address
  readonly loanAsset: Address
}

type Rows = {
  readonly items: readonly {
    readonly liquidatable?: boolean
    readonly marketAddress: Address
    readonly vaultAddress: Address
    readonly borrowerAddress: Address
    readonly debtAssets: string
  }[]
}
type Prepared = { readonly transactions: readonly { readonly target: Address; readonly calldata: Hex }[] }

const ORACLE = parseAbi(['function read() view returns (uint256, uint64, uint64, uint8)'])
const COLLECTIONS = ['markets', 'credit-facilities', 'positions', 'liquidation-recovery'] as const
const BPS = 10_000n
const WITH_BONUS_BPS = 10_500n
const KEEP_BPS = 9_900n
const GAS_MAX = 900_000n
const TIP_WEI = 1_000_000_000n
/** Collateral has 8 decimals, the loan 6. */
const COLLATERAL_FOR_LOAN = 10n ** 2n * 10n ** 18n

let act = false
process.on('message', (told: ScriptSettings | 'act') => {
  if (told === 'act') act = true
  else void run(told)
})
process.on('disconnect', () => process.exit())

async function run(settings: ScriptSettings): Promise<void> {
  const { serviceUrl, secretKey } = settings
  const dispatcher = new Agent({ keepAliveTimeout: 120_000 })
  const ask = async (url: string, body?: unknown) => {
    const answer = await request(url, {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${secretKey}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    return answer.body.json()
  }
  const kms = new KMSClient(settings.kms)
  const react = createReaction(settings, ask, kms)
  const { token, url } = (await ask(`${serviceUrl}/v1/stream-token`, {})) as { token: string; url: string }
  const socket = new WebSocket(`${url}?token=${token}&types=oracles.updated`, { perMessageDeflate: false })
  socket.on('message', (data) => {
    if (!act || !String(data).includes('oracles.updated')) return
    act = false
    // The round counts as one without an end; the next one may do better.
    react().catch((error: unknown) => console.error(error))
  })
  socket.on('open', () => process.send?.('ready'))
}

function createReaction(
  settings: ScriptSettings,
  ask: (url: string, body?: unknown) => Promise<unknown>,
  kms: KMSClient,
): () => Promise<void> {
  const { serviceUrl, rpcUrl, chainId, signer, market, oracle, loanAsset } = settings
  const call = (to: Address, data: Hex) => ({ method: 'eth_call', params: [{ to, data }, 'latest'] })
  const rpc = async <T>(requests: readonly { method: string; params: readonly unknown[] }[]) => {
    const batch = requests.map((one, id) => ({ jsonrpc: '2.0', id, ...one }))
    const answers = (await ask(rpcUrl, batch)) as { id: number; result: T; error?: unknown }[]
    const failed = answers.find(({ error }) => error !== undefined)
    if (failed !== undefined) throw new TypeError(JSON.stringify(failed))
    return answers.toSorted((a, b) => a.id - b.id).map(({ result }) => result)
  }

  const read = async () => {
    const balance = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [signer.address] })
    const [rows, chain] = await Promise.all([
      Promise.all(COLLECTIONS.map((name) => ask(`${serviceUrl}/v1/${name}?limit=100`) as Promise<Rows>)),
      rpc<Hex>([
        { method: 'eth_getTransactionCount', params: [signer.address, 'latest'] },
        { method: 'eth_gasPrice', params: [] },
        call(oracle, encodeFunctionData({ abi: ORACLE, functionName: 'read' })),
        call(loanAsset, balance),
      ]),
    ])
    return { facilities: rows[1], recoveries: rows[3], chain }
  }

  const sign = async (transaction: TransactionSerializableEIP1559): Promise<Hex> => {
    const digest = keccak256(serializeTransaction(transaction))
    const reply = await kms.send(
      new SignCommand({
        KeyId: signer.keyId,
        Message: digestBytes(digest),
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      }),
    )
    const { r, s } = parseSignature(reply.Signature ?? new Uint8Array())
    return serializeTransaction(transaction, await recoverable(digest, r, s, signer.address))
  }

  return async () => {
    const { facilities, recoveries, chain } = await read()
    const [count = '0x0', gasPrice = '0x0', price = '0x'] = chain
    const victim = recoveries?.items.find(({ liquidatable }) => liquidatable)
    const debt = facilities?.items.find(({ borrowerAddress }) => borrowerAddress === victim?.borrowerAddress)
    if (victim === undefined || debt === undefined) throw new TypeError('nobody can be liquidated')
    const [priceWad] = decodeFunctionResult({ abi: ORACLE, functionName: 'read', data: price })
    const repay = BigInt(debt.debtAssets) / 2n
    const least = (repay * WITH_BONUS_BPS * KEEP_BPS * COLLATERAL_FOR_LOAN) / (priceWad * BPS * BPS)
    const prepared = (await ask(`${serviceUrl}/v1/workflows/prepare`, {
      workflowType: 'role.liquidator.liquidate',
      chainId,
      deploymentNamespace: settings.namespace,
      principalAddress: signer.address,
      input: {
        marketAddress: market,
        vaultAddress: victim.vaultAddress,
        borrowerAddress: victim.borrowerAddress,
        repayAssets: String(repay),
        minCollateralAssets: String(least),
        recipientAddress: signer.address,
      },
    })) as Prepared
    const maxFeePerGas = BigInt(gasPrice) * 2n + TIP_WEI
    const transactions = prepared.transactions.map(
      ({ target, calldata }, index): TransactionSerializableEIP1559 => ({
        type: 'eip1559',
        chainId,
        nonce: Number(count) + index,
        to: target,
        data: calldata,
        gas: GAS_MAX,
        maxFeePerGas,
        maxPriorityFeePerGas: TIP_WEI,
      }),
    )
    const calls = transactions.map(({ to, data }) => ({ from: signer.address, to, input: data }))
    const params = [{ blockStateCalls: [{ calls }] }, 'latest']
    const [simulated] = await rpc<{ calls: { gasUsed: Hex; status: Hex }[] }[]>([
      { method: 'eth_simulateV1', params },
    ])
    const gas = simulated?.[0]?.calls.map(({ gasUsed }) => (BigInt(gasUsed) * 13n) / 10n) ?? []
    const raws = await Promise.all(
      transactions.map((one, index) => sign({ ...one, gas: gas[index] ?? GAS_MAX })),
    )
    await rpc(raws.map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] })))
  }
}

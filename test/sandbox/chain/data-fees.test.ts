import { rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  createTestClient,
  type Hex,
  hexToBigInt,
  http,
  keccak256,
  parseEther,
  publicActions,
  serializeTransaction,
  toHex,
  walletActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Chain, startChain } from '../../../sandbox/chain/chain.ts'
import { type NodeFront, startNodeFront } from '../../../sandbox/chain/node-front.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { l1BlockAbi } from '../../../sandbox/contracts/abis.ts'
import { dataFeeCall, dataFeeWei } from '../../../src/chain/data-fee.ts'
import { newDirectory } from '../../support/directory.ts'

const chainId = 731_337
const account = privateKeyToAccount(keccak256(toHex('payer')))
const folder = newDirectory()
let chain: Chain
let front: NodeFront

const connect = () =>
  createTestClient({ mode: 'anvil', transport: http(chain.rpcUrl, TO_CHAIN) })
    .extend(publicActions)
    .extend(walletActions)
let client: ReturnType<typeof connect>

beforeAll(async () => {
  chain = await startChain({ stateFile: join(folder, 'chain.json'), chainId, isOpStack: true })
  front = await startNodeFront(chain.rpcUrl, true)
  client = connect()
  await client.setBalance({ address: account.address, value: parseEther('10') })
})
afterAll(async () => {
  await front?.stop()
  await chain?.stop()
  rmSync(folder, { recursive: true })
})

/** Bytes of one shape, of which the next is the first's successor: the same in each run. */
function bytes(length: number, of: (index: number, random: () => number) => number): Hex {
  let state = 1
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor(state / 2 ** 16) % 256
  }
  return toHex(Uint8Array.from({ length }, (_, index) => of(index, random)))
}

const SHAPES: Readonly<Record<string, Hex>> = {
  nothing: '0x',
  'a few': bytes(5, (index) => index),
  zeros: bytes(300, () => 0),
  'what cannot be packed': bytes(300, (_, random) => random()),
  'a short cycle': bytes(9_000, (index) => index % 7),
  'three digits': bytes(9_000, (_, random) => random() % 3),
  'noise and zeros by turns': bytes(9_000, (index, random) => (index % 900 < 300 ? random() : 0)),
  'words, as of a call': bytes(600, (index, random) => (index % 32 < 28 ? 0 : random())),
  'repeats further off than are looked for': bytes(20_000, (index, random) =>
    index % 9_000 < 40 ? 7 : random(),
  ),
}

const receipt = z.object({ l1Fee: z.string(), gasUsed: z.string(), effectiveGasPrice: z.string() })
const ask = async (method: string, params: readonly unknown[]): Promise<unknown> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  return z
    .object({ result: z.unknown() })
    .parse(await (await fetch(front.url, { method: 'POST', headers, body })).json()).result
}

test.each(Object.entries(SHAPES))(
  'charges for %s what its receipts say, to the wei, and its oracle foretells',
  async (_, data) => {
    const { address } = account
    const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1n }
    const nonce = await client.getTransactionCount({ address })
    const sent = { type: 'eip1559', chainId, nonce, to: address, data, gas: 2_000_000n, ...fees } as const
    const before = await client.getBalance({ address })
    const { result: foretold } = z
      .object({ result: z.templateLiteral(['0x', z.string()]) })
      .parse({ result: await ask('eth_call', [dataFeeCall(serializeTransaction(sent)), 'latest']) })
    const hash = await client.sendRawTransaction({
      serializedTransaction: await account.signTransaction(sent),
    })
    const { blockNumber } = await client.waitForTransactionReceipt({ hash, pollingInterval: 5 })
    const paid = before - (await client.getBalance({ address }))

    const one = receipt.parse(await ask('eth_getTransactionReceipt', [hash]))
    const [inBlock] = z.array(receipt).parse(await ask('eth_getBlockReceipts', [toHex(blockNumber)]))
    const l1Fee = BigInt(one.l1Fee)
    expect(l1Fee).toBeGreaterThan(0n)
    expect(hexToBigInt(one.gasUsed as Hex) * BigInt(one.effectiveGasPrice) + l1Fee).toBe(paid)
    expect(inBlock).toEqual(one)
    // A signature can be packed no better than the oracle takes it to be.
    const wei = dataFeeWei(foretold) ?? 0n
    expect(wei * 100n).toBeGreaterThan(l1Fee * 97n)
    expect(wei * 97n).toBeLessThan(l1Fee * 100n)
  },
)

test('keeps what the chain below charges in the slots that the node reads', async () => {
  const read = (functionName: 'basefee' | 'baseFeeScalar' | 'blobBaseFeeScalar' | 'blobBaseFee') =>
    client.readContract({
      address: '0x4200000000000000000000000000000000000015',
      abi: l1BlockAbi,
      functionName,
    })
  expect(await Promise.all([read('basefee'), read('baseFeeScalar')])).toEqual([40_000_000_000n, 3_000_000])
  expect(await Promise.all([read('blobBaseFeeScalar'), read('blobBaseFee')])).toEqual([0, 0n])
})

test('answers for what is not there as any node does', async () => {
  expect(await ask('eth_getTransactionReceipt', [keccak256('0x')])).toBeNull()
  expect(await ask('eth_getBlockReceipts', ['0x0'])).toEqual([])
})

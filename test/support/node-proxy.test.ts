import {
  createTestClient,
  createWalletClient,
  type Hex,
  http,
  numberToHex,
  parseEther,
  publicActions,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Chain } from '../../sandbox/chain/chain.ts'
import { TO_CHAIN } from '../../sandbox/chain/to-chain.ts'
import { startAnvil } from './anvil.ts'
import { type NodeProxy, startNodeProxy } from './node-proxy.ts'
import { receiptActions } from './receipts.ts'

const account = privateKeyToAccount(generatePrivateKey())
let chain: Chain
let proxy: NodeProxy

const direct = () =>
  createTestClient({ mode: 'anvil', transport: http(chain.rpcUrl, TO_CHAIN) })
    .extend(publicActions)
    .extend(receiptActions)
const through = () =>
  createTestClient({ mode: 'anvil', transport: http(proxy.url, TO_CHAIN) }).extend(publicActions)

/** Ask the proxy as JSON-RPC, whatever it answers. */
async function rpc(...calls: readonly [method: string, ...params: unknown[]][]): Promise<unknown[]> {
  const answer = await fetch(proxy.url, {
    method: 'POST',
    body: JSON.stringify(calls.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params }))),
  })
  const rows = (await answer.json()) as { result?: unknown; error?: unknown }[]
  return rows.map((row) => ('error' in row ? row : row.result))
}

/** Send a transaction; anvil answers before the block is there that it mines for it. */
async function sendOne(): Promise<Hex> {
  const wallet = createWalletClient({ account, transport: http(chain.rpcUrl, TO_CHAIN) })
  const hash = await wallet.sendTransaction({ to: account.address, chain: null })
  await direct().waitForTransactionReceipt({ hash })
  return hash
}

beforeAll(async () => {
  chain = await startAnvil()
  proxy = await startNodeProxy(chain.rpcUrl)
  await direct().setBalance({ address: account.address, value: parseEther('1') })
  await direct().mine({ blocks: 5 })
})
afterEach(() => {
  proxy.setFaults()
  proxy.setView({ kind: 'honest' })
  proxy.forget()
})
afterAll(async () => {
  await proxy.stop()
  await chain.stop()
})

it('is the node behind it until it is asked to lie, and counts what passed', async () => {
  expect(await through().getBlock()).toEqual(await direct().getBlock())
  expect(proxy.methods()).toEqual(['eth_getBlockByNumber'])
})

it('lies in one answer of a batch and is spent', async () => {
  const methods = ['eth_getTransactionCount']
  proxy.setFaults({ methods, deed: { kind: 'result', result: '0xf4240' }, times: 1 })
  const asked = () => rpc(['eth_chainId'], ['eth_getTransactionCount', account.address, 'latest'])
  const [chainId, count] = await asked()
  expect([chainId, count]).toEqual([`0x${chain.chainId.toString(16)}`, '0xf4240'])
  const honest = await direct().getTransactionCount({ address: account.address })
  expect(await asked()).toEqual([chainId, numberToHex(honest)])
})

it('swallows a send, and passes another on before it cuts the connection', async () => {
  const nonce = await direct().getTransactionCount({ address: account.address })
  const raw = await account.signTransaction({
    chainId: chain.chainId,
    nonce,
    gas: 21_000n,
    to: account.address,
    maxFeePerGas: 10n ** 10n,
  })
  const methods = ['eth_sendRawTransaction']
  proxy.setFaults({ methods, deed: { kind: 'swallow' } })
  const hash = await through().sendRawTransaction({ serializedTransaction: raw })
  await expect(direct().getTransaction({ hash })).rejects.toThrow('could not be found')
  proxy.setFaults({ methods, deed: { kind: 'drop_after' } })
  await expect(through().sendRawTransaction({ serializedTransaction: raw })).rejects.toThrow()
  expect((await direct().waitForTransactionReceipt({ hash })).status).toBe('success')
})

it('sends its headers, then nothing', async () => {
  proxy.setFaults({ deed: { kind: 'headers_only' } })
  const patience = new AbortController()
  const answer = await fetch(proxy.url, {
    method: 'POST',
    body: '{"id":1,"method":"eth_chainId"}',
    signal: patience.signal,
  })
  expect(answer.status).toBe(200)
  const text = answer.text()
  proxy.setFaults()
  // A whole answer comes meanwhile, so that one would have come here.
  expect(await through().getChainId()).toBe(chain.chainId)
  patience.abort(new Error('no more patience'))
  await expect(text).rejects.toThrow('no more patience')
})

it('goes down and comes back at the same address', async () => {
  await proxy.down()
  await expect(through().getChainId()).rejects.toThrow()
  await proxy.up()
  expect(await through().getChainId()).toBe(chain.chainId)
})

it('lags: has neither the newest blocks, nor what happened in them', async () => {
  const before = await direct().getTransactionCount({ address: account.address })
  const hash = await sendOne()
  const head = await direct().getBlock()
  proxy.setView({ kind: 'lag', blocks: 1n })
  expect(await through().getBlockNumber({ cacheTime: 0 })).toBe(head.number - 1n)
  expect(await through().getTransactionCount({ address: account.address })).toBe(before)
  expect(
    await rpc(
      ['eth_getTransactionReceipt', hash],
      ['eth_getBlockByHash', head.hash, false],
      ['eth_getBlockByNumber', `0x${head.number.toString(16)}`, false],
      ['eth_getBalance', account.address, { blockHash: head.hash }],
    ),
  ).toEqual([null, null, null, expect.objectContaining({ error: expect.anything() })])
  proxy.setView({ kind: 'lag', blocks: 0n })
  expect((await through().getTransactionReceipt({ hash })).status).toBe('success')
})

it('claims a higher head, each made-up block on its parent', async () => {
  const head = await direct().getBlock()
  proxy.setView({ kind: 'ahead', blocks: 3n })
  const top = await through().getBlock()
  expect(top.number).toBe(head.number + 3n)
  const second = await through().getBlock({ blockHash: top.parentHash })
  const first = await through().getBlock({ blockHash: second.parentHash })
  expect([first.number, first.parentHash]).toEqual([head.number + 1n, head.hash])
  expect(await rpc(['eth_getBalance', account.address, { blockHash: top.hash }])).toEqual([
    `0x${(await direct().getBalance({ address: account.address })).toString(16)}`,
  ])
})

it('is on a fork: its own hashes that hold together, and without our transactions', async () => {
  const above = await direct().getBlockNumber({ cacheTime: 0 })
  const hash = await sendOne()
  await direct().mine({ blocks: 2 })
  const real = await direct().getBlock()
  proxy.setView({ kind: 'fork', above })
  const top = await through().getBlock()
  expect([top.number, top.hash === real.hash]).toEqual([real.number, false])
  const second = await through().getBlock({ blockHash: top.parentHash })
  const first = await through().getBlock({ blockHash: second.parentHash })
  expect(first.parentHash).toBe((await direct().getBlock({ blockNumber: above })).hash)
  expect(
    await rpc(['eth_getTransactionReceipt', hash], ['eth_getBlockByHash', real.hash, false], ['eth_chainId']),
  ).toEqual([null, null, `0x${chain.chainId.toString(16)}`])
})

it('is on another chain', async () => {
  proxy.setView({ kind: 'other_chain', chainId: 1 })
  expect(await rpc(['eth_chainId'])).toEqual(['0x1'])
})

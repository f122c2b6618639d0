import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createTestClient, http, parseEther, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Chain } from '../../../sandbox/chain/chain.ts'
import { type NodeFront, startNodeFront } from '../../../sandbox/chain/node-front.ts'
import { TO_CHAIN } from '../../../sandbox/chain/to-chain.ts'
import { createNodes } from '../../../src/chain/http-nodes.ts'
import type { SimulatedTransaction } from '../../../src/chain/nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { startScriptedNode } from '../../chain/scripted-node.ts'
import { startAnvil } from '../../support/anvil.ts'

const RECIPIENT = `0x${'b2'.repeat(20)}` as const
const NONCE = 3
const FEE_WEI = 2_000_000_000n
const account = privateKeyToAccount(generatePrivateKey())

let chain: Chain
let front: NodeFront
beforeAll(async () => {
  chain = await startAnvil()
  front = await startNodeFront(chain.rpcUrl)
  const client = createTestClient({ mode: 'anvil', transport: http(chain.rpcUrl, TO_CHAIN) }).extend(
    publicActions,
  )
  await client.setBalance({ address: account.address, value: parseEther('1') })
  await client.setNonce({ address: account.address, nonce: NONCE })
  await client.mine({ blocks: 1 })
  await client.setAutomine(false)
})
afterAll(async () => {
  await front.stop()
  await chain.stop()
})

it('has blocks mined at intervals, until it is told otherwise', async () => {
  const number = async () => Number((await ask('eth_blockNumber', [])).result)
  const before = await number()
  await front.mineEvery(1)
  await expect.poll(number).toBeGreaterThanOrEqual(before + 2)
  await front.mineEvery(0)
})

type Said = {
  readonly id: unknown
  readonly result?: unknown
  readonly error?: { code: number; message: string }
}

async function post(
  body: unknown,
  url = front.url,
): Promise<{ status: number; json: Said & readonly Said[] }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: text,
  })
  return { status: response.status, json: JSON.parse(await response.text()) }
}
const ask = async (method: string, params: unknown[], url?: string) =>
  (await post({ jsonrpc: '2.0', id: 1, method, params }, url)).json

const hex = (value: number | bigint) => `0x${value.toString(16)}`
const call = (changes: object = {}) => ({
  from: account.address,
  to: RECIPIENT,
  value: '0x1',
  gas: '0x5208',
  nonce: hex(NONCE),
  maxFeePerGas: hex(FEE_WEI),
  maxPriorityFeePerGas: '0x0',
  ...changes,
})
const simulated = (calls: readonly object[], block: object = {}, validation = true) =>
  ask('eth_simulateV1', [
    {
      blockStateCalls: [{ blockOverrides: { baseFeePerGas: hex(1_000_000_000) }, calls, ...block }],
      validation,
    },
    'latest',
  ])
const NONCES = `address ${account.address}, tx:`

describe('a simulation with validation', () => {
  it.each([
    ['the sender’s nonce', [call()], {}],
    ['nonces that follow', [call(), call({ nonce: hex(NONCE + 1) })], {}],
    ['no nonce at all', [call({ nonce: undefined }), call({ nonce: hex(NONCE + 1) })], {}],
    [
      'the nonce that an override sets',
      [call({ nonce: '0x9' })],
      { stateOverrides: { [account.address]: { nonce: '0x9' } } },
    ],
    ['a fee cap at the base fee', [call({ maxFeePerGas: hex(1_000_000_000) })], {}],
  ])('takes %s', async (_name, calls, block) => {
    expect(await simulated(calls, block)).toMatchObject({
      result: [{ calls: calls.map(() => ({ status: '0x1' })) }],
    })
  })

  it.each([
    [
      'a nonce one too low',
      [call({ nonce: hex(NONCE - 1) })],
      -38010,
      `err: nonce too low: ${NONCES} 2 state: 3 (supplied gas 21000)`,
    ],
    [
      'a nonce one too high',
      [call({ nonce: hex(NONCE + 1) })],
      -38011,
      `err: nonce too high: ${NONCES} 4 state: 3 (supplied gas 21000)`,
    ],
    [
      'a gap after a call',
      [call(), call({ nonce: hex(NONCE + 2) })],
      -38011,
      `err: nonce too high: ${NONCES} 5 state: 4 (supplied gas 21000)`,
    ],
    [
      'a nonce used by a call before',
      [call(), call()],
      -38010,
      `err: nonce too low: ${NONCES} 3 state: 4 (supplied gas 21000)`,
    ],
    [
      'a fee cap one below the base fee',
      [call({ maxFeePerGas: hex(999_999_999) })],
      -32602,
      `err: max fee per gas less than block base fee: address ${account.address}, maxFeePerGas: 999999999, baseFee: 1000000000 (supplied gas 21000)`,
    ],
    [
      'more than the balance',
      [call({ value: hex(parseEther('1')) })],
      -38014,
      'err: insufficient funds for gas * price + value',
    ],
    ['too little gas to begin', [call({ gas: '0x5207' })], -38013, 'err: intrinsic gas too low'],
  ])('refuses %s', async (_name, calls, code, message) => {
    expect(await simulated(calls)).toMatchObject({ error: { code, message } })
  })

  it('refuses a fee cap below the base fee that follows from the parent block', async () => {
    const parameters = { blockStateCalls: [{ calls: [call({ maxFeePerGas: '0x1' })] }], validation: true }
    const { error } = await ask('eth_simulateV1', [parameters, 'latest'])
    expect(error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('maxFeePerGas: 1, baseFee:'),
    })
  })

  it('runs a creation, pays for it, and reverts with what its constructor says', async () => {
    const create = (input: string) => call({ to: undefined, value: '0x0', gas: '0x30d40', input })
    // Deploys one byte of code; and a constructor that reverts with one word of 1.
    const [deploys, reverts] = ['0x600160005360016000f3', '0x600160005260206000fd']
    const { result } = await simulated([create(deploys), { ...create(reverts), nonce: hex(NONCE + 1) }])
    expect(result).toMatchObject([{ calls: [{ status: '0x1' }, { status: '0x0' }] }])
    const [{ calls }] = result as readonly [
      { readonly calls: readonly { gasUsed: string; returnData: string }[] },
    ]
    expect(Number(calls[0]?.gasUsed)).toBeGreaterThan(53_000)
    expect(calls[1]?.returnData).toBe(`0x${'1'.padStart(64, '0')}`)
  })

  it('is asked for: without it anything runs', async () => {
    expect(await simulated([call({ nonce: '0x63', maxFeePerGas: '0x1' })], {}, false)).toHaveProperty(
      'result',
    )
  })
})

describe('three nonces in flight', () => {
  const signed = (nonce: number) =>
    account.signTransaction({
      type: 'eip1559',
      chainId: chain.chainId,
      to: RECIPIENT,
      value: 1n,
      gas: 21_000n,
      nonce,
      maxFeePerGas: FEE_WEI,
      maxPriorityFeePerGas: 0n,
    })
  const transaction = (nonce: number): SimulatedTransaction => ({
    from: account.address,
    to: RECIPIENT,
    data: '0x',
    valueWei: 1n,
    gasLimit: 21_000n,
    nonce,
    maxFeePerGasWei: FEE_WEI,
    maxPriorityFeePerGasWei: 0n,
  })
  const pending = [NONCE, NONCE + 1, NONCE + 2].map(transaction)

  it('let the keeper simulate the fourth with the right nonce, and none with a gap or a used one', async () => {
    const hashes: unknown[] = []
    for (const { nonce } of pending)
      hashes.push((await ask('eth_sendRawTransaction', [await signed(nonce)])).result)
    expect(new Set(hashes.filter((hash) => typeof hash === 'string')).size).toBe(3)
    expect(await ask('eth_getTransactionCount', [account.address, 'pending'])).toMatchObject({
      result: hex(NONCE + 3),
    })
    const nodes = await createNodes({
      chainId: chain.chainId,
      read: [front.url],
      send: [front.url],
      agree: 1,
      finality: 'finalized',
      timeoutMs: 2_000,
      pollMs: 20,
      clock: systemClock,
    })
    const simulate = (nonce: number, before = pending) =>
      nodes.simulate({ pending: before, before: [], bundle: [transaction(nonce)], after: [] })
    try {
      expect(await simulate(NONCE + 3)).toMatchObject({
        pending: ['success', 'success', 'success'],
        bundle: [{ status: 'success' }],
      })
      for (const wrong of [NONCE + 4, NONCE + 2]) {
        await expect(simulate(wrong)).rejects.toMatchObject({
          code: 'node.simulation_rejected',
          facts: { reason: 'nonce_mismatch' },
        })
      }
      // Forgetting what is in flight is a gap too.
      await expect(simulate(NONCE + 3, [])).rejects.toMatchObject({ facts: { reason: 'nonce_mismatch' } })
    } finally {
      nodes.close()
    }
  })
})

describe('an estimate', () => {
  const estimate = (changes: object) =>
    ask('eth_estimateGas', [{ from: account.address, to: RECIPIENT, ...changes }])

  it('is free for a call without a fee, and bound to what its sender can pay with one', async () => {
    expect(await estimate({ value: '0x1' })).toMatchObject({ result: '0x5208' })
    expect(await estimate({ value: '0x1', maxFeePerGas: hex(FEE_WEI) })).toMatchObject({ result: '0x5208' })
    expect(await estimate({ maxFeePerGas: '0x1' })).toMatchObject({
      error: { code: -32000, message: /less than block base fee/ },
    })
    const poor = { from: RECIPIENT, maxFeePerGas: hex(FEE_WEI) }
    expect(await estimate(poor)).toMatchObject({ error: { message: 'gas required exceeds allowance (0)' } })
    const all = { value: hex(parseEther('1')), maxFeePerGas: hex(FEE_WEI) }
    expect(await estimate(all)).toMatchObject({ error: { message: 'insufficient funds for transfer' } })
  })
})

describe('the front', () => {
  it.each([
    'anvil_setBalance',
    'evm_mine',
    'hardhat_setNonce',
    'eth_sendUnsignedTransaction',
    'personal_sign',
    'ETH_chainId',
    '',
  ])('does not offer %j, which anvil’s own address may', async (method) => {
    expect(await ask(method, [])).toMatchObject({ id: 1, error: { code: -32601 } })
  })

  it('answers a batch in order, each by its own rule', async () => {
    const one = (id: unknown, method: string, params: unknown[] = []) => ({
      jsonrpc: '2.0',
      id,
      method,
      params,
    })
    const { json } = await post([
      one('a', 'eth_chainId'),
      one(2, 'anvil_mine'),
      one(3, 'eth_simulateV1', [
        { blockStateCalls: [{ calls: [call({ nonce: '0x0' })] }], validation: true },
        'latest',
      ]),
      one(4, 'eth_getBalance', [RECIPIENT, 'latest']),
    ])
    expect(json).toMatchObject([
      { id: 'a', result: hex(chain.chainId) },
      { id: 2, error: { code: -32601 } },
      { id: 3, error: { code: -38010 } },
      { id: 4, result: '0x0' },
    ])
  })

  it('reads a block again when the next one came meanwhile, and sends nothing twice', async () => {
    const node = await startScriptedNode(chain.chainId, 5)
    const torn = await startNodeFront(node.url)
    let reads = 0
    // Anvil shows the next block's state as its head's while it mines it.
    Object.assign(node.answers, {
      eth_blockNumber: () => hex(reads === 0 ? 5 : 6),
      eth_getBalance: () => hex([1, 2, 3][reads++] ?? 0),
      eth_sendRawTransaction: () => '0x01',
    })
    try {
      const one = (method: string) => ({ jsonrpc: '2.0', id: method, method, params: [] })
      const asked = [one('eth_getBalance'), one('eth_sendRawTransaction')]
      expect((await post(asked, torn.url)).json).toMatchObject([{ result: '0x2' }, { result: '0x01' }])
      expect(node.requests).toEqual([
        ['eth_blockNumber', 'eth_getBalance', 'eth_sendRawTransaction'],
        ['eth_blockNumber'],
        ['eth_blockNumber', 'eth_getBalance'],
        ['eth_blockNumber'],
      ])
    } finally {
      await torn.stop()
      await node.stop()
    }
  })

  it('judges what it passes on: of a key given twice the last', async () => {
    const twice = '{"jsonrpc":"2.0","id":1,"method":"anvil_mine","params":[],"method":"eth_chainId"}'
    expect((await post(twice)).json).toMatchObject({ result: hex(chain.chainId) })
  })

  it('refuses what is no JSON-RPC, another method, a browser and a foreign host', async () => {
    for (const body of ['', '{', '[]', '{"id":1}', '"eth_chainId"']) {
      expect(await post(body)).toMatchObject({ status: 400, json: { error: { code: -32600 } } })
    }
    expect((await fetch(front.url)).status).toBe(405)
    expect((await fetch(front.url, { method: 'POST', headers: { origin: 'http://evil.test' } })).status).toBe(
      403,
    )
    const status = await new Promise((resolve, reject) => {
      const headers = { host: 'evil.test' }
      request(front.url, { method: 'POST', headers }, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end()
    })
    expect(status).toBe(403)
  })

  it('says so when the chain is gone', async () => {
    const orphan = await startNodeFront('http://127.0.0.1:1')
    try {
      const asked = { jsonrpc: '2.0', id: 1, params: [] }
      expect((await post({ ...asked, method: 'eth_chainId' }, orphan.url)).status).toBe(502)
      expect((await post({ ...asked, method: 'eth_estimateGas', params: [call()] }, orphan.url)).status).toBe(
        502,
      )
    } finally {
      await orphan.stop()
    }
  })

  it('ends what it asked for a client that went away, and goes on', async () => {
    const half = createServer((incoming, reply) => {
      incoming.resume()
      reply.writeHead(200, { 'content-length': 100 }).write('{')
    })
    half.listen(0, '127.0.0.1')
    await once(half, 'listening')
    const slow = await startNodeFront(`http://127.0.0.1:${(half.address() as AddressInfo).port}`)
    try {
      const asked = { method: 'POST', body: JSON.stringify({ id: 1, method: 'eth_chainId' }) }
      for (let client = 0; client < 2; client++) {
        const gone = new AbortController()
        const upstream = once(half, 'connection') as Promise<[Socket]>
        await fetch(slow.url, { ...asked, signal: gone.signal })
        const [socket] = await upstream
        gone.abort()
        await once(socket, 'close')
      }
    } finally {
      await slow.stop()
      half.closeAllConnections()
      half.close()
    }
  })
})

import { inspect } from 'node:util'
import { keccak256 } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { createNodes, type NodesOptions } from '../../src/chain/http-nodes.ts'
import type { Head, Nodes } from '../../src/chain/nodes.ts'
import { systemClock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { WAIT_MS_MAX } from '../support/until.ts'
import { CANARY, type ScriptedNode, startScriptedNode, wireBlock } from './scripted-node.ts'

const CHAIN_ID = 4_242
/** For those that never answer; the others have it, too. */
const DEAF = { timeoutMs: 2_000 }
const ADDRESS = `0x${'ad'.repeat(20)}` as const
const HASH = `0x${'0a'.repeat(32)}` as const
const RAW = '0x02c0' as const

const open: { readonly stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const item of open.splice(0)) await item.stop()
})

async function node(height = 10, chainId = CHAIN_ID): Promise<ScriptedNode> {
  const started = await startScriptedNode(chainId, height)
  open.push(started)
  return started
}

async function connect(
  read: readonly ScriptedNode[],
  changes: Partial<Omit<NodesOptions, 'send'>> & { readonly send?: readonly ScriptedNode[] } = {},
): Promise<Nodes> {
  const { send = read, ...rest } = changes
  const nodes = await createNodes({
    chainId: CHAIN_ID,
    read: read.map(({ url }) => url),
    agree: 1,
    finality: 'finalized',
    timeoutMs: WAIT_MS_MAX,
    pollMs: 20,
    clock: systemClock,
    ...rest,
    send: send.map(({ url }) => url),
  })
  open.push({ stop: nodes.close })
  return nodes
}

/** The error that a promise rejects with, as its code; every trace of it is searched for the URL's key. */
async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof RolekeeperError))
    throw new TypeError('it did not fail as expected', { cause: error })
  const everything =
    inspect(error, { depth: 10, showHidden: true }) + error.stack + JSON.stringify(error.facts)
  expect(everything).not.toContain(CANARY)
  expect(error.fix).toBeDefined()
  return error.code
}

const receiptOf = (transactionHash: string, blockNumber = 5) => ({
  transactionHash,
  from: ADDRESS,
  blockNumber: `0x${blockNumber.toString(16)}`,
  blockHash: HASH,
  status: '0x1',
  gasUsed: '0x5208',
  effectiveGasPrice: '0x1',
  logs: [],
})

const transactionOf = (hash: string) => ({
  hash,
  from: ADDRESS,
  nonce: '0x4',
  type: '0x2',
  chainId: '0x1092',
  to: ADDRESS,
  input: '0x',
  value: '0x0',
  gas: '0x5208',
  maxFeePerGas: '0x2',
  maxPriorityFeePerGas: '0x1',
  accessList: [],
})

describe('connecting', () => {
  it('refuses a node on another chain, whatever the others are', async () => {
    const [right, wrong] = [await node(), await node(10, 1)]
    expect(await codeOf(connect([right, wrong]))).toBe('node.wrong_chain')
    expect(await codeOf(connect([right], { send: [wrong] }))).toBe('node.wrong_chain')
  })

  it('leaves a node on another chain out and says so, where enough others are not', async () => {
    const [wrong, ...right] = [await node(99, 1), await node(), await node()]
    const said: string[] = []
    const onWrongChain = ({ message }: Error) => void said.push(message)
    const nodes = await connect([wrong, ...right], { agree: 2, send: right, onWrongChain })
    expect(said).toEqual([expect.stringContaining('Node read-1 is on chain 1')])
    expect((await nodes.head()).number).toBe(10n)
    expect(nodes.health()[0]).toMatchObject({ state: 'down', lastErrorCode: 'node.wrong_chain' })
    expect(await codeOf(connect([wrong, ...right], { agree: 3, onWrongChain }))).toBe('node.wrong_chain')
    expect(await codeOf(connect(right, { send: [wrong], onWrongChain }))).toBe('node.wrong_chain')
  })

  it.each([
    ['refuses to name its chain', { fault: { code: -32_005, message: 'limit' } }, 'node.refused'],
    ['answers garbage for its chain', 'mainnet', 'node.bad_answer'],
  ])('goes on with the others where one %s', async (_, answer, code) => {
    const [mute, ...others] = [await node(99), await node(), await node()]
    mute.answers.eth_chainId = () => answer
    const nodes = await connect([mute, ...others], { agree: 2 })
    expect((await nodes.head()).number).toBe(10n)
    expect(nodes.health()[0]).toMatchObject({ state: 'down', lastErrorCode: code })
    expect(await codeOf(connect([mute]))).toBe(code)
  })

  it('refuses when no node answers, and does with one that does', async () => {
    const [dead, alive] = [await node(), await node()]
    await dead.stop()
    expect(await codeOf(connect([dead]))).toBe('node.unreachable')
    expect((await (await connect([dead, alive])).head()).number).toBe(10n)
  })

  it('names what is wrong with a node: it hangs, refuses by HTTP, or answers garbage', async () => {
    const one = await node()
    const nodes = await connect([one], DEAF)
    one.behave = 'hang'
    expect(await codeOf(nodes.head())).toBe('node.timeout')
    one.behave = 502
    expect(await codeOf(nodes.head())).toBe('node.http_status')
    one.behave = 'answer'
    one.answers.eth_getBlockByNumber = () => ({ number: CANARY })
    expect(await codeOf(nodes.head())).toBe('node.bad_answer')
    one.answers.eth_getBlockByNumber = () => ({ fault: { code: -32_005, message: `limit of ${CANARY}` } })
    expect(await codeOf(nodes.head())).toBe('node.refused')
  })

  it('has one deadline over headers and body: a node that sends its headers, then nothing, is given up in time', async () => {
    const one = await node()
    const nodes = await connect([one], DEAF)
    one.behave = 'headers'
    expect(await codeOf(nodes.head())).toBe('node.timeout')
    expect(await nodes.send(RAW)).toEqual([{ node: 'send-1', outcome: 'unknown', detail: 'timeout' }])
  })

  it('closes without waiting for a node that hangs or sends no more than its headers', async () => {
    const [hanging, silent] = [await node(), await node()]
    const nodes = await connect([hanging, silent], { timeoutMs: 600_000 })
    hanging.behave = 'hang'
    silent.behave = 'headers'
    const asked = codeOf(nodes.head())
    await nodes.close()
    expect(await asked).toBe('node.unreachable')
  })

  it('asks for the chain again after ten seconds, beside the work', async () => {
    const one = await node()
    let monotonicMs = 1_000_000
    const nodes = await connect([one], { clock: { ...systemClock, monotonicMs: () => monotonicMs } })
    one.answers.eth_chainId = () => '0x1'
    monotonicMs += 10_000
    await nodes.head()
    const before = one.requests.flat().filter((method) => method === 'eth_chainId').length
    monotonicMs += 1
    await expect.poll(() => codeOf(nodes.head())).toBe('node.wrong_chain')
    expect(one.requests.flat().filter((method) => method === 'eth_chainId').length).toBeGreaterThan(before)
    one.answers.eth_chainId = () => `0x${CHAIN_ID.toString(16)}`
    expect((await nodes.head()).number).toBe(10n)
  })

  it('proves the chain again once a connection broke', async () => {
    const one = await node()
    const nodes = await connect([one])
    one.behave = 'drop'
    expect(await codeOf(nodes.head())).toBe('node.unreachable')
    one.behave = 'answer'
    one.answers.eth_chainId = () => '0x1'
    expect(await codeOf(nodes.head())).toBe('node.wrong_chain')
    one.answers.eth_chainId = () => `0x${CHAIN_ID.toString(16)}`
    expect((await nodes.head()).number).toBe(10n)
  })
})

describe('reading', () => {
  it('takes the head of the node that is furthest ahead, and asks it first', async () => {
    const [behind, ahead] = [await node(10), await node(12)]
    const nodes = await connect([behind, ahead])
    expect((await nodes.head()).number).toBe(12n)
    ahead.answers.eth_getBalance = () => '0x7'
    behind.answers.eth_getBalance = () => '0x1'
    expect(await nodes.balanceWei(ADDRESS)).toBe(7n)
    const other = { ...(await nodes.head()), hash: `0x${'ab'.repeat(32)}` as const }
    ahead.answers.eth_getBalance = (params) => (JSON.stringify(params).includes(other.hash) ? '0x9' : '0x7')
    expect(await nodes.balanceWei(ADDRESS, other)).toBe(9n)
  })

  it('asks the next node when one fails', async () => {
    const [first, second] = [await node(12), await node(10)]
    const nodes = await connect([first, second])
    await nodes.head()
    first.behave = 'drop'
    second.answers.eth_getBalance = () => '0x1'
    expect(await nodes.balanceWei(ADDRESS)).toBe(1n)
  })

  it('sends many calls as one request, and answers null for one that reverts', async () => {
    const one = await node()
    const nodes = await connect([one])
    let count = 0
    one.answers.eth_call = () => {
      count += 1
      return count === 2 ? { fault: { code: 3, message: 'execution reverted: no' } } : '0x01'
    }
    const before = one.requests.length
    expect(await nodes.calls([1, 2, 3].map(() => ({ to: ADDRESS, data: '0x' })))).toEqual([
      '0x01',
      null,
      '0x01',
    ])
    const [, ...rest] = one.requests.slice(before)
    expect(rest).toEqual([['eth_call', 'eth_call', 'eth_call']])
  })

  it('fails a call that a node could not run, rather than call it reverted', async () => {
    const one = await node()
    const nodes = await connect([one])
    one.answers.eth_call = () => ({ fault: { code: -32_000, message: 'header not found' } })
    expect(await codeOf(nodes.calls([{ to: ADDRESS, data: '0x' }]))).toBe('node.refused')
  })

  it('takes a transaction that as many nodes have in a block as must agree, and null before', async () => {
    const three = [await node(), await node(), await node()] as const
    for (const one of three) one.answers.eth_getTransactionByHash = () => transactionOf(HASH)
    const nodes = await connect(three, { agree: 2 })
    expect(await nodes.transaction(HASH)).toBeNull()
    three[1].answers.eth_getTransactionReceipt = () => receiptOf(HASH)
    expect(await nodes.transaction(HASH)).toBeNull()
    three[2].answers.eth_getTransactionReceipt = () => receiptOf(HASH)
    const receipt = { hash: HASH, blockNumber: 5n, status: 'success' }
    expect(await nodes.transaction(HASH)).toMatchObject({ hash: HASH, nonce: 4, receipt })
  })

  it('refuses the receipt of another transaction', async () => {
    const [one, honest] = [await node(), await node()]
    for (const each of [one, honest]) each.answers.eth_getTransactionByHash = () => transactionOf(HASH)
    one.answers.eth_getTransactionReceipt = () => receiptOf(`0x${'0b'.repeat(32)}`)
    expect(await codeOf((await connect([one])).transaction(HASH))).toBe('node.bad_answer')
    honest.answers.eth_getTransactionReceipt = () => receiptOf(HASH, 6)
    const found = await (await connect([one, honest])).transaction(HASH)
    expect(found).toMatchObject({ receipt: { blockNumber: 6n } })
  })

  it('calls final what two of three call final: neither the one ahead nor the one that stands still decides', async () => {
    const three = [await node(50), await node(50), await node(50)] as const
    const heights = [31, 29, 3]
    for (const [index, one] of three.entries()) {
      one.answers.eth_getBlockByNumber = ([tag]) =>
        wireBlock(tag === 'latest' ? 50 : tag === 'finalized' ? (heights[index] ?? 0) : Number(tag))
    }
    const byTag = await connect(three, { agree: 2 })
    expect((await byTag.finalized()).number).toBe(29n)
    const byDepth = await connect(three, { agree: 2, finality: { confirmations: 12n } })
    expect((await byDepth.finalized()).number).toBe(38n)
  })

  it('does not believe one node of three that counts 1,000,000 transactions, and says that it stood alone', async () => {
    const three = [await node(), await node(), await node()] as const
    const alone: (string | number | boolean | null | undefined)[] = []
    for (const one of three) one.answers.eth_getTransactionCount = () => '0x4'
    three[0].answers.eth_getTransactionCount = () => '0xf4240'
    const nodes = await connect(three, { agree: 2, onDisagreement: ({ facts }) => alone.push(facts.node) })
    expect(await nodes.transactionCount(ADDRESS, 7n)).toBe(4)
    expect(await nodes.transactionCount(ADDRESS, HASH)).toBe(4)
    expect(await nodes.transactionCount(ADDRESS, 'pending')).toBe(4)
    expect(alone).toContain('read-1')
    expect(nodes.health()[0]).toMatchObject({ node: 'read-1', state: 'alone' })
  })

  it('hashes code, and says null where there is none', async () => {
    const one = await node()
    one.answers.eth_getCode = (params) => (params[0] === ADDRESS ? '0x6001' : '0x')
    const nodes = await connect([one])
    expect(await nodes.codeHashes([ADDRESS, `0x${'00'.repeat(20)}`])).toEqual([keccak256('0x6001'), null])
  })

  it('hashes code anew once it changes', async () => {
    const one = await node()
    const nodes = await connect([one])
    for (const code of ['0x6001', '0x6001', '0x6002'] as const) {
      one.answers.eth_getCode = () => code
      expect(await nodes.codeHashes([ADDRESS])).toEqual([keccak256(code)])
    }
  })
})

describe('sending', () => {
  it('sends to every sending node once, and says what each came to', async () => {
    const [good, known, deaf, gone] = [await node(), await node(), await node(), await node()]
    good.answers.eth_sendRawTransaction = () => keccak256(RAW)
    known.answers.eth_sendRawTransaction = () => ({ fault: { code: -32_000, message: 'already known' } })
    const nodes = await connect([good], { ...DEAF, send: [good, known, deaf, gone] })
    deaf.behave = 'hang'
    gone.behave = 'drop'
    expect(await nodes.send(RAW)).toEqual([
      { node: 'send-1', outcome: 'accepted', detail: 'ok' },
      { node: 'send-2', outcome: 'accepted', detail: 'already_known' },
      { node: 'send-3', outcome: 'unknown', detail: 'timeout' },
      { node: 'send-4', outcome: 'unknown', detail: 'unreachable' },
    ])
    for (const one of [good, known, deaf, gone]) {
      expect(one.requests.flat().filter((method) => method === 'eth_sendRawTransaction')).toHaveLength(1)
    }
  })

  it('does not believe a node that names another hash', async () => {
    const one = await node()
    one.answers.eth_sendRawTransaction = () => HASH
    const [outcome] = await (await connect([one])).send(RAW)
    expect(outcome).toEqual({ node: 'send-1', outcome: 'unknown', detail: 'other_hash' })
  })

  it('sends nothing to a node that came back on another chain', async () => {
    const one = await node()
    const nodes = await connect([one])
    one.behave = 'drop'
    await nodes.send(RAW)
    one.behave = 'answer'
    one.answers.eth_chainId = () => '0x1'
    const before = one.requests.length
    expect(await nodes.send(RAW)).toEqual([{ node: 'send-1', outcome: 'rejected', detail: 'wrong_chain' }])
    expect(one.requests.slice(before).flat()).toEqual(['eth_chainId'])
  })
})

describe('heads', () => {
  it('are told once each, newest first known, until nobody listens', async () => {
    const one = await node(10)
    const nodes = await connect([one])
    const told: Head[] = []
    const next = (count: number) =>
      new Promise<void>((resolve) => {
        const stop = nodes.onHead((head) => {
          told.push(head)
          if (told.length < count) one.answers.eth_getBlockByNumber = () => wireBlock(10 + told.length)
          else {
            stop()
            resolve()
          }
        })
      })
    await next(3)
    expect(told.map(({ number }) => number)).toEqual([10n, 11n, 12n])
    await nodes.close()
    const after = one.requests.length
    await systemClock.sleep(60)
    expect(one.requests.length).toBe(after)
  })

  it('leave a simulation one request while they are polled', async () => {
    const one = await node(10)
    one.answers.eth_simulateV1 = () => [{ calls: [{ status: '0x1', gasUsed: '0x5208', returnData: '0x2a' }] }]
    const nodes = await connect([one], { pollMs: 1_000 })
    const { promise, resolve } = Promise.withResolvers<void>()
    nodes.onHead(() => resolve())
    await promise
    const before = one.requests.length
    const result = await nodes.simulate({
      pending: [],
      before: [{ to: ADDRESS, data: '0x' }],
      bundle: [],
      after: [],
    })
    expect(result).toMatchObject({ block: { number: 10n }, before: ['0x2a'] })
    expect(one.requests.slice(before)).toEqual([['eth_simulateV1']])
  })
})

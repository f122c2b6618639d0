import { afterEach, describe, expect, it } from 'vitest'
import { createBatches } from '../../src/chain/batches.ts'
import { PARTS_MAX } from '../../src/chain/block-reads.ts'
import { createNodes, type NodesOptions } from '../../src/chain/http-nodes.ts'
import type { Nodes } from '../../src/chain/nodes.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { type ScriptedNode, startScriptedNode, wireBlock } from './scripted-node.ts'

const CHAIN_ID = 4242
const OURS = `0x${'aa'.repeat(20)}` as const
const OTHER = `0x${'bb'.repeat(20)}` as const
const word = (number: number) => `0x${number.toString(16).padStart(64, '0')}` as const
const MIB = 1024 * 1024

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function start(options: Partial<NodesOptions> = {}) {
  const node = await startScriptedNode(CHAIN_ID, 10)
  const time = { monotonicMs: 0 }
  const nodes = await createNodes({
    chainId: CHAIN_ID,
    agree: 1,
    finality: 'finalized',
    read: [node.url],
    send: [node.url],
    timeoutMs: 20_000,
    pollMs: 1_000_000,
    clock: { ...systemClock, nowMs: () => 0, monotonicMs: () => time.monotonicMs },
    ...options,
  })
  ends.push(nodes.close, node.stop)
  return { node, nodes, time }
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => value,
    (error: unknown) => (error instanceof RolekeeperError ? error.code : error),
  )
const fault = (code: number, message: string) => ({ fault: { code, message } })
const calls = (nodes: Nodes, many: number) =>
  nodes.calls(
    Array.from({ length: many }, () => ({ to: OURS, data: '0x' })),
    10n,
  )

describe('a node that takes few calls at once', () => {
  const tooMany = { jsonrpc: '2.0', error: { code: -32_000, message: 'batch of more than 10' } }
  it.each([
    ['one error for all', {}, { ...tooMany, id: null }],
    ['a list of one error, as geth does', {}, [{ ...tooMany, id: 0 }]],
    ['the status 413', { status: 413 }, 'no'],
    ['the status 400 and an error', { status: 400 }, { ...tooMany, id: null }],
  ])('and says so by %s is asked for as many as it takes, from then on at once', async (_, how, body) => {
    const { node, nodes, time } = await start()
    node.answers.eth_call = () => '0x01'
    node.instead = (methods) => (methods.length > 10 ? { ...how, body } : undefined)
    expect(await calls(nodes, 100)).toEqual(Array.from({ length: 100 }, () => '0x01'))
    node.requests.length = 0
    expect(await calls(nodes, 70)).toHaveLength(70)
    expect(node.requests.map((methods) => methods.length)).toEqual(Array(10).fill(7))
    // Ten minutes later it may have another plan.
    time.monotonicMs += 600_000
    node.instead = () => undefined
    node.requests.length = 0
    await calls(nodes, 70)
    expect(node.requests.filter((methods) => methods.includes('eth_call'))).toHaveLength(1)
  })

  it.each([401, 403, 404, 500, 502])('is none that answers %i: it is asked once', async (status) => {
    const { node } = await start()
    const body = { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'no' } }
    node.instead = () => ({ status, body })
    node.requests.length = 0
    const batches = createBatches(node.url, 20_000, systemClock)
    ends.push(batches.close)
    await Promise.all(Array.from({ length: 100 }, () => batches.ask('eth_call', [])))
    expect(node.requests.map((methods) => methods.length)).toEqual([100])
  })

  it('and refuses each alone as well is asked eight times in vain, and then as before', async () => {
    const { node, nodes } = await start()
    const body = { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'out of order' } }
    node.instead = () => ({ body })
    node.requests.length = 0
    expect(await codeOf(calls(nodes, 100))).toBe('node.refused')
    expect(node.requests.map((methods) => methods.length)).toEqual([100, 50, 25, 13, 7, 4, 2, 1])
    node.instead = () => undefined
    node.answers.eth_call = () => '0x01'
    node.requests.length = 0
    await calls(nodes, 100)
    expect(node.requests.map((methods) => methods.length)).toEqual([100])
  })

  it('or whose answers are too large together is asked for them in parts', async () => {
    const { node, nodes } = await start()
    const large = `0x${'00'.repeat(MIB)}`
    node.answers.eth_call = () => large
    expect((await calls(nodes, 12)).map((data) => data?.length)).toEqual(Array(12).fill(large.length))
    // As geth does, which answers what it has and leaves the rest out.
    let room = 3
    node.answers.eth_call = () => {
      room -= 1
      return room >= 0 ? '0x01' : fault(-32_003, 'response too large')
    }
    node.instead = () => {
      room = 3
      return undefined
    }
    expect(await calls(nodes, 10)).toEqual(Array(10).fill('0x01'))
  })
})

describe('a node whose every answer is too large', () => {
  it('is asked for few of a batch alone, and then after the others', async () => {
    const { node, nodes } = await start()
    node.answers.eth_call = () => '0x01'
    await calls(nodes, 1)
    node.requests.length = 0
    const body = 'f'.repeat(9 * MIB)
    node.instead = () => ({ body })
    expect(await codeOf(calls(nodes, 100))).toBe('node.answer_too_large')
    expect(node.requests.filter((methods) => methods.length === 1).length).toBeLessThan(32)
    expect(nodes.health()).toMatchObject([{ state: 'alone' }])
  })
})

describe('a node whose answers take long to read', () => {
  /** Each look at the clock takes as long as is said, so that reading does. */
  async function stepping() {
    const time = { nowMs: 0, stepMs: 0 }
    const monotonicMs = () => {
      time.nowMs += time.stepMs
      return time.nowMs
    }
    const clock = { ...systemClock, nowMs: () => 0, monotonicMs }
    const { node, nodes } = await start({ clock })
    const readFor = async (ms: number, bytes = 32 * 1024) => {
      node.answers.eth_call = () => {
        time.stepMs = ms
        return `0x${'00'.repeat(bytes)}`
      }
      await calls(nodes, 1)
      time.stepMs = 0
      node.answers.eth_call = () => '0x01'
      node.requests.length = 0
    }
    return { node, nodes, time, readFor }
  }

  it('is left alone for ten times as long, so that the others are heard', async () => {
    const { node, nodes, time, readFor } = await stepping()
    await readFor(600)
    expect(await codeOf(calls(nodes, 1))).toBe('node.bad_answer')
    expect(node.requests).toEqual([])
    expect(nodes.health()).toMatchObject([{ state: 'down', lastErrorCode: 'node.bad_answer' }])
    time.nowMs += 6_000
    expect(await calls(nodes, 1)).toEqual(['0x01'])
  })

  it('is asked again at once where they take no longer than others do', async () => {
    const { nodes, readFor } = await stepping()
    await readFor(100)
    expect(await calls(nodes, 1)).toEqual(['0x01'])
    // A pause of this machine while it reads what is short.
    await readFor(600, 1)
    expect(await calls(nodes, 1)).toEqual(['0x01'])
  })
})

describe('a node that limits how often it is asked', () => {
  const busy = { jsonrpc: '2.0', id: null, error: { code: -32_005, message: 'request rate limited' } }
  /** Waits at most so long that they are no wait of a test, and moves the clock by them. */
  async function hurried(before: () => Promise<void> = async () => {}) {
    const waitsMs: number[] = []
    const time = { monotonicMs: 0 }
    const sleep: Clock['sleep'] = async (ms, signal) => {
      if (ms < 1_000) return systemClock.sleep(ms, signal)
      waitsMs.push(ms)
      await before()
      time.monotonicMs += ms
    }
    const clock = { ...systemClock, nowMs: () => 0, monotonicMs: () => time.monotonicMs, sleep }
    return { ...(await start({ clock })), waitsMs }
  }
  it.each([
    ['no time', { status: 429 }, [1_000, 2_000]],
    ['no time, by an error without an id at 200', { body: busy }, [1_000, 2_000]],
    ['2 s by Retry-After', { status: 429, headers: { 'retry-after': '2' } }, [2_000, 2_000]],
    [
      '0 s by Retry-After, which is no time',
      { status: 429, headers: { 'retry-after': '0' } },
      [1_000, 2_000],
    ],
  ])('for %s is waited for, and asked for the rest', async (_, reply, expected) => {
    const { node, nodes, waitsMs } = await hurried()
    node.answers.eth_call = () => '0x01'
    let refused = 0
    node.instead = () => {
      refused += 1
      return refused <= 2 ? reply : undefined
    }
    expect(await calls(nodes, 3)).toEqual(['0x01', '0x01', '0x01'])
    expect(waitsMs).toEqual(expected)
  })

  it('counts what it refuses side by side once', async () => {
    let refused = 0
    const allWait = Promise.withResolvers<void>()
    const { node, nodes, waitsMs } = await hurried(async () => {
      if (waitsMs.length === 3) allWait.resolve()
      await allWait.promise
    })
    node.answers.eth_call = () => '0x01'
    node.instead = (methods) => {
      refused += methods.includes('eth_call') ? 1 : 0
      return refused <= 3 && methods.includes('eth_call') ? { status: 429 } : undefined
    }
    expect(await calls(nodes, 300)).toEqual(Array(300).fill('0x01'))
    expect(waitsMs).toEqual([1_000, 1_000, 1_000])
  })

  it('and takes no batches is found to take none, however few requests it answers at a time', async () => {
    let left = 5
    const { node, nodes } = await hurried(async () => {
      left = 5
    })
    node.answers.eth_call = () => '0x01'
    await calls(nodes, 1)
    node.instead = (methods) => {
      left -= 1
      if (left < 0) return { status: 429, headers: { 'retry-after': '1' } }
      return methods.length === 1
        ? undefined
        : { body: { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'no batches' } } }
    }
    expect(await calls(nodes, 12)).toEqual(Array(12).fill('0x01'))
  })

  it('is sent nothing late: what was to be sent is said to have gone nowhere', async () => {
    const { node, nodes, waitsMs } = await hurried()
    node.instead = (methods) =>
      methods.includes('eth_sendRawTransaction')
        ? { status: 429, headers: { 'retry-after': '4' } }
        : undefined
    const nowhere = [{ node: 'send-1', outcome: 'rejected', detail: 'left_alone' }]
    expect(await nodes.send('0x01')).toEqual(nowhere)
    node.requests.length = 0
    expect(await nodes.send('0x01')).toEqual(nowhere)
    expect(node.requests).toEqual([])
    expect(waitsMs).toEqual([])
  })

  it('for longer each time is given up after five seconds', async () => {
    const { node, nodes, waitsMs } = await hurried()
    node.instead = () => ({ status: 429 })
    expect(await codeOf(calls(nodes, 1))).toBe('node.rate_limited')
    expect(waitsMs).toEqual([1_000, 2_000])
  })

  it.each([
    ['30 s by Retry-After', { status: 429, headers: { 'retry-after': '30' } }, 30],
    [
      'a date by Retry-After',
      { status: 503, headers: { 'retry-after': new Date(20_000).toUTCString() } },
      20,
    ],
    ['an hour, which is too long', { status: 429, headers: { 'retry-after': '3600' } }, 60],
  ])('for %s is left alone until then', async (_, reply, seconds) => {
    const { node, nodes, time } = await start()
    node.answers.eth_call = () => '0x01'
    node.instead = () => reply
    expect(await codeOf(calls(nodes, 1))).toBe('node.rate_limited')
    node.instead = () => undefined
    node.requests.length = 0
    time.monotonicMs += seconds * 1_000 - 1
    expect(await codeOf(calls(nodes, 1))).toBe('node.rate_limited')
    expect(node.requests).toEqual([])
    time.monotonicMs += 1
    expect(await calls(nodes, 1)).toEqual(['0x01'])
  })

  it.each(['rate limit', 'Too Many Requests', 'response too large'])(
    'is not one of which a contract says so when it reverts: %s',
    async (text) => {
      const { node, nodes } = await start()
      node.answers.eth_call = () => fault(3, `execution reverted: ${text}`)
      expect(await calls(nodes, 2)).toEqual([null, null])
      node.answers.eth_call = () => '0x01'
      expect(await calls(nodes, 1)).toEqual(['0x01'])
    },
  )
})

it('a node that shows a block without a base fee is asked after the others', async () => {
  const { node, nodes } = await start()
  const { baseFeePerGas: _, ...before } = wireBlock(9)
  node.answers.eth_getBlockByNumber = () => before
  expect(await codeOf(nodes.block(9n))).toBe('node.no_base_fee')
  expect(nodes.health()).toMatchObject([{ state: 'alone' }])
})

describe('a node that lacks something about a block', () => {
  const sent = (hash: number, nonce: number, from: string = OURS) => ({
    hash: word(hash),
    from,
    nonce: `0x${nonce.toString(16)}`,
    type: '0x2',
    chainId: '0x1092',
    to: OTHER,
    input: '0x',
    value: '0x0',
    gas: '0x5208',
    maxFeePerGas: '0x77359400',
    maxPriorityFeePerGas: '0x1',
    accessList: [],
  })
  const receipt = (hash: number) => ({
    transactionHash: word(hash),
    from: OURS,
    blockNumber: '0xa',
    blockHash: word(10),
    status: '0x1',
    gasUsed: '0x5208',
    effectiveGasPrice: '0x3b9aca01',
    logs: [],
  })
  /** A block with these transactions, of which ours took the nonces from 5 to below `after`. */
  function mine(node: ScriptedNode, all: readonly ReturnType<typeof sent>[], after: number) {
    Object.assign(node.answers, {
      eth_getTransactionCount: ([, at]: readonly unknown[]) =>
        JSON.stringify(at).includes(word(9)) ? '0x5' : `0x${after.toString(16)}`,
      eth_getBlockByHash: ([, isWhole]: readonly unknown[]) => ({
        ...wireBlock(10),
        transactions: isWhole === true ? all : all.map(({ hash }) => hash),
      }),
      eth_getTransactionByBlockHashAndIndex: ([, index]: readonly unknown[]) => all[Number(index)] ?? null,
      eth_getTransactionReceipt: ([hash]: readonly unknown[]) => {
        const from = all.find((each) => each.hash === hash)?.from ?? OURS
        return { ...receipt(0), transactionHash: hash, from }
      },
    })
  }
  const blockOf = (nodes: Nodes) => nodes.blockOf(word(10), [OURS])

  it('has what took our nonces read, however large the rest is', async () => {
    const { node, nodes } = await start()
    // What 150 million gas pay for of nothing but zeros, at ten a byte: 30 MB of hex, in transactions of what one may cost.
    const zeros = Array.from({ length: 9 }, (_, index) => ({
      ...sent(100 + index, index, OTHER),
      input: `0x${'00'.repeat(1_666_666)}`,
    }))
    mine(node, [...zeros.slice(0, 4), sent(1, 5), ...zeros.slice(4), sent(2, 6)], 7)
    const block = await blockOf(nodes)
    expect(block?.transactions).toMatchObject([
      { nonce: 5, hash: word(1), receipt: { gasUsed: 21_000n } },
      { nonce: 6, hash: word(2) },
    ])
    const asked = node.requests.flat().filter((each) => each === 'eth_getTransactionByBlockHashAndIndex')
    expect(asked).toHaveLength(2)
  })

  it('is not asked for the whole of a block that says to be large', async () => {
    const { node, nodes } = await start()
    mine(node, [sent(100, 0, OTHER), sent(1, 5)], 6)
    const shown = node.answers.eth_getBlockByHash
    const wholes: unknown[] = []
    node.answers.eth_getBlockByHash = (params) => {
      if (params[1] === true) wholes.push(params)
      return { ...(shown?.(params) as object), size: '0xf4241' }
    }
    expect((await blockOf(nodes))?.transactions).toMatchObject([{ nonce: 5, hash: word(1) }])
    expect(wholes).toEqual([])
  })

  it('has the sender of what logs too much read without its receipt', async () => {
    const { node, nodes } = await start()
    const zeros = { ...sent(100, 0, OTHER), input: `0x${'00'.repeat(5 * MIB)}` }
    mine(node, [zeros, sent(101, 1, OTHER), sent(1, 5)], 6)
    const shown = node.answers.eth_getTransactionReceipt
    const log = { address: OTHER, topics: [], data: `0x${'00'.repeat(5 * MIB)}`, logIndex: '0x0' }
    node.answers.eth_getTransactionReceipt = (params) =>
      params[0] === word(101)
        ? { ...receipt(101), from: OTHER, logs: [{ ...log, ...receipt(101) }] }
        : shown?.(params)
    expect((await blockOf(nodes))?.transactions).toMatchObject([{ nonce: 5, hash: word(1) }])
  })

  it.each([
    ['of another transaction', { transactionHash: word(7) }, 'node.bad_answer'],
    ['of another block', { blockHash: word(7) }, 'node.not_shown'],
  ])(
    'and shows in a block that is too large a receipt %s has told nobody that something else took our nonce',
    async (_, wrong, code) => {
      const { node, nodes } = await start()
      const zeros = { ...sent(100, 0, OTHER), input: `0x${'00'.repeat(5 * MIB)}` }
      mine(node, [zeros, sent(1, 5)], 6)
      const shown = node.answers.eth_getTransactionReceipt
      node.answers.eth_getTransactionReceipt = (params) => ({
        ...(shown?.(params) as object),
        ...(params[0] === word(1) ? { from: OTHER, ...wrong } : {}),
      })
      expect(await codeOf(blockOf(nodes))).toBe(code)
    },
  )

  it('has what took our nonces read where it refuses to show a block whole', async () => {
    const { node, nodes } = await start()
    mine(node, [sent(9, 0, OTHER), sent(1, 5)], 6)
    const shown = node.answers.eth_getBlockByHash
    node.answers.eth_getBlockByHash = (params) =>
      params[1] === true ? fault(-32_003, 'response too large') : shown?.(params)
    expect((await blockOf(nodes))?.transactions).toMatchObject([{ nonce: 5, hash: word(1) }])
  })

  it('has no block of more parts read than any has, which would be asked for as slowly as it likes', async () => {
    const { node, nodes } = await start()
    mine(
      node,
      [...Array.from({ length: PARTS_MAX }, (_, index) => sent(1_000 + index, 0, OTHER)), sent(777, 5)],
      6,
    )
    const shown = node.answers.eth_getBlockByHash
    node.answers.eth_getBlockByHash = (params) =>
      params[1] === true ? fault(-32_000, 'too large') : shown?.(params)
    expect(await codeOf(blockOf(nodes))).toBe('node.bad_answer')
    expect(node.requests.flat()).not.toContain('eth_getTransactionReceipt')
  })

  it('is not asked for the transactions of a block that took none of our nonces', async () => {
    const { node, nodes } = await start()
    mine(node, [sent(100, 0, OTHER)], 5)
    node.requests.length = 0
    expect((await blockOf(nodes))?.transactions).toEqual([])
    expect(node.requests.flat().toSorted()).toEqual([
      ...['eth_getBlockByHash', 'eth_getTransactionCount', 'eth_getTransactionCount'],
    ])
  })

  it('or leaves out what a transaction paid is believed about the rest, and the price is worked out', async () => {
    const { node, nodes } = await start()
    mine(node, [sent(1, 5)], 6)
    node.answers.eth_getTransactionReceipt = () => ({
      ...receipt(1),
      effectiveGasPrice: undefined,
      l1Fee: '0x7',
      l1GasPrice: '0x1',
      operatorFeeScalar: null,
    })
    const base = BigInt(wireBlock(10).baseFeePerGas)
    expect((await blockOf(nodes))?.transactions).toMatchObject([
      { receipt: { effectiveGasPriceWei: base + 1n, dataFeeWei: 7n } },
    ])
    node.answers.eth_getTransactionByHash = () => sent(1, 5)
    expect(await nodes.transaction(word(1))).toMatchObject({ receipt: { effectiveGasPriceWei: base + 1n } })
  })

  it('has no receipt yet is asked again, and is no liar', async () => {
    const { node, nodes } = await start()
    mine(node, [sent(1, 5)], 6)
    node.answers.eth_getTransactionReceipt = () => null
    expect(await codeOf(blockOf(nodes))).toBe('node.not_shown')
    expect(nodes.health()).toMatchObject([{ state: 'ok', lastErrorCode: 'node.not_shown' }])
    node.answers.eth_getTransactionReceipt = () => receipt(1)
    expect((await blockOf(nodes))?.transactions).toHaveLength(1)
  })

  it('and counts a nonce that no transaction of ours took says so: an authorization by our key did', async () => {
    const { node, nodes } = await start()
    mine(node, [sent(100, 0, OTHER), sent(1, 6)], 7)
    expect((await blockOf(nodes))?.transactions).toMatchObject([
      { nonce: 5, hash: '0x', digest: null, receipt: { blockNumber: 10n, blockHash: word(10) } },
      { nonce: 6, hash: word(1) },
    ])
  })

  it.each<[string, (all: unknown[]) => unknown[]]>([
    ['none', () => []],
    ['all but ours', (all) => all.slice(0, 1)],
    ['ours without its sender', ([other, own]) => [other, { ...(own as object), from: null }]],
    ['another in the place of ours', ([other]) => [other, sent(3, 5, OTHER)]],
  ])('and shows of a block %s has told nobody that something else took our nonce', async (_, lacking) => {
    const { node, nodes } = await start()
    const all = [sent(100, 0, OTHER), sent(1, 5)]
    mine(node, all, 6)
    const whole = node.answers.eth_getBlockByHash
    node.answers.eth_getBlockByHash = (params) =>
      params[1] === true ? { ...wireBlock(10), transactions: lacking(all) } : whole?.(params)
    expect(await codeOf(blockOf(nodes))).toBe('node.bad_answer')
  })

  it('and leaves ours out of a block that is too large has told nobody so either', async () => {
    const { node, nodes } = await start()
    const zeros = { ...sent(100, 0, OTHER), input: `0x${'00'.repeat(5 * MIB)}` }
    mine(node, [zeros, sent(1, 5)], 6)
    node.answers.eth_getTransactionByBlockHashAndIndex = () => null
    expect(await codeOf(blockOf(nodes))).toBe('node.bad_answer')
  })

  it('and shows ours as larger than anything of ours is wrong, and nobody took its nonce', async () => {
    const { node, nodes } = await start()
    mine(node, [{ ...sent(1, 5), input: `0x${'00'.repeat(5 * MIB)}` }], 6)
    expect(await codeOf(blockOf(nodes))).toBe('node.bad_answer')
  })

  it('and shows what is too large reads as others by its receipt', async () => {
    const { node, nodes } = await start()
    const zeros = { ...sent(100, 0, OTHER), input: `0x${'00'.repeat(5 * MIB)}` }
    mine(node, [zeros, sent(1, 5)], 6)
    expect((await blockOf(nodes))?.transactions).toMatchObject([{ nonce: 5, hash: word(1) }])
  })

  it.each([
    ['fewer', 4],
    ['more than a block can hold', 2_000_000_000],
  ])('and counts %s nonces is wrong', async (_, after) => {
    const { node, nodes } = await start()
    mine(node, [], after)
    expect(await codeOf(blockOf(nodes))).toBe('node.bad_answer')
  })

  it.each([
    [-32_000, 'finalized block not found'],
    [-39_001, 'Unknown block'],
  ])(
    'and has nothing final yet, with the error %i, follows on from the first block',
    async (code, message) => {
      const { node, nodes } = await start()
      node.answers.eth_getBlockByNumber = ([tag]) =>
        tag === 'finalized'
          ? fault(code, message)
          : { ...wireBlock(tag === 'latest' ? 10 : Number(tag)), parentHash: word(0) }
      expect((await nodes.finalized()).number).toBe(0n)
      node.answers.eth_getBlockByNumber = ([tag]) => wireBlock(tag === 'latest' ? 10 : 6)
      expect((await nodes.finalized()).number).toBe(6n)
    },
  )

  it.each([
    ['an empty list', [], [5n, 0n, 7n]],
    ['null', null, [5n, 0n, 7n]],
    ['a list of null', [null], [5n, 0n, 7n]],
  ])('and names no tip of one block, with %s, still names those of the others', async (_, none, tipsWei) => {
    const { node, nodes } = await start()
    node.answers.eth_feeHistory = () => ({ reward: [['0x5'], none, ['0x7']] })
    expect(await nodes.feeHistory()).toEqual({ tipsWei })
    node.answers.eth_feeHistory = () => ({ oldestBlock: '0x1' })
    expect(await nodes.feeHistory()).toEqual({ tipsWei: [] })
  })
})

describe('a node that limits the logs of one answer', () => {
  const topic = word(1)
  const log = (block: number) => ({
    address: OTHER,
    topics: [topic],
    data: '0x',
    removed: false,
    blockNumber: `0x${block.toString(16)}`,
    blockHash: word(block),
    transactionHash: word(7),
    logIndex: '0x0',
  })
  const LOGGED = [3, 49, 50, 170]
  /** Answer ranges of at most so many blocks. */
  const limitTo = (node: ScriptedNode, blocks: number, refusal: ReturnType<typeof fault>) => {
    node.answers.eth_getLogs = ([filter]) => {
      const { fromBlock, toBlock } = filter as { readonly fromBlock: string; readonly toBlock: string }
      const [from, to] = [Number(fromBlock), Number(toBlock)]
      return to - from >= blocks ? refusal : LOGGED.filter((each) => each >= from && each <= to).map(log)
    }
  }
  const logsOf = async (nodes: Nodes, toBlock = 199n) =>
    (await nodes.logs({ addresses: [OTHER], topic, fromBlock: 0n, toBlock })).map(({ blockNumber }) =>
      Number(blockNumber),
    )

  it.each([
    [50, 4, fault(-32_005, 'query exceeds max block range 50')],
    [10, 34, fault(-32_602, 'eth_getLogs is limited to a 10 block range')],
    [1, 200, fault(-32_000, 'query returned more than 10000 results')],
  ])(
    'to those of %i blocks is asked in parts, and from then on in %i at once',
    async (blocks, parts, refusal) => {
      const { node, nodes } = await start()
      limitTo(node, blocks, refusal)
      expect(await logsOf(nodes)).toEqual(LOGGED)
      node.requests.length = 0
      expect(await logsOf(nodes)).toEqual(LOGGED)
      expect(node.requests).toHaveLength(parts)
    },
  )

  it('by its size is asked in parts', async () => {
    const { node, nodes } = await start()
    const large = (block: number) => ({ ...log(block), data: `0x${'00'.repeat(3 * MIB)}` })
    node.answers.eth_getLogs = ([filter]) => {
      const { fromBlock, toBlock } = filter as { readonly fromBlock: string; readonly toBlock: string }
      return LOGGED.filter((each) => each >= Number(fromBlock) && each <= Number(toBlock)).map(large)
    }
    expect(await logsOf(nodes)).toEqual(LOGGED)
  })

  it('or refuses them all says so, and asks for the whole range again the next time', async () => {
    const { node, nodes } = await start()
    node.answers.eth_getLogs = () => fault(-32_000, 'out of order')
    expect(await codeOf(logsOf(nodes))).toBe('node.refused')
    limitTo(node, 200, fault(-32_000, 'too many'))
    node.requests.length = 0
    expect(await logsOf(nodes)).toEqual(LOGGED)
    expect(node.requests).toHaveLength(1)
  })

  it('and has no such method is asked once', async () => {
    const { node, nodes } = await start()
    node.answers.eth_getLogs = () => fault(-32_601, 'the method eth_getLogs does not exist')
    node.requests.length = 0
    expect(await codeOf(logsOf(nodes))).toBe('node.refused')
    expect(node.requests).toHaveLength(1)
  })
})

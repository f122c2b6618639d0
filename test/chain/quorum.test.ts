import { keccak256 } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Endpoint } from '../../src/chain/endpoint.ts'
import { joinNodes } from '../../src/chain/join-nodes.ts'
import type { RpcAnswer } from '../../src/chain/json-rpc.ts'
import type { Head } from '../../src/chain/nodes.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { until } from '../support/until.ts'
import { wireBlock } from './scripted-node.ts'

const ADDRESS = `0x${'ad'.repeat(20)}` as const

/** A node of a test: a chain of blocks up to `tip`, from `forkAt` on with hashes of its own, and answers by method. */
type Model = Endpoint & {
  tip: number
  forkAt: number
  down: boolean
  /** What it is asked and does not answer. */
  readonly stalls: Set<string>
  readonly answers: Record<string, (params: readonly unknown[]) => unknown>
  readonly asked: (readonly [method: string, params: readonly unknown[]])[]
}

function model(name: string, tip = 10): Model {
  const hashOf = (height: number) =>
    `0x${(height >= node.forkAt ? name.charCodeAt(0) : 0).toString(16)}${height.toString(16).padStart(60, '0')}`.padEnd(
      66,
      '0',
    ) as `0x${string}`
  const blockAt = (height: number) =>
    height > node.tip ? null : { ...wireBlock(height, hashOf(height)), parentHash: hashOf(height - 1) }
  const unreachable = () => {
    throw new RolekeeperError('node.unreachable', `Node ${name} cannot be reached.`)
  }
  const ask = async (method: string, params: readonly unknown[]): Promise<RpcAnswer> => {
    node.asked.push([method, params])
    if (node.down) unreachable()
    if (node.stalls.has(method)) return new Promise(() => {})
    return { ok: true, result: (await node.answers[method]?.(params)) ?? null }
  }
  const node: Model = {
    name,
    tip,
    forkAt: Number.POSITIVE_INFINITY,
    down: false,
    stalls: new Set<string>(),
    asked: [],
    alive: () => !node.down,
    read: ask,
    once: ask,
    checkChain: async () => {},
    close: async () => {},
    answers: {
      eth_getBlockByNumber: ([tag]) =>
        blockAt(tag === 'latest' ? node.tip : tag === 'finalized' ? node.tip - 4 : Number(tag)),
    },
  }
  return node
}

function join(readers: readonly Model[], pollMs = 5, clock = systemClock, senders: readonly Model[] = []) {
  const reported: RolekeeperError[] = []
  const nodes = joinNodes({
    chainId: 1,
    readers,
    senders,
    agree: 2,
    finality: 'finalized',
    pollMs,
    clock,
    onDisagreement: (error) => reported.push(error),
  })
  return { nodes, reported }
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof RolekeeperError ? error.code : error),
  )

/** The heads that are announced, until `count` have been. */
async function heads(nodes: ReturnType<typeof join>['nodes'], count: number, onEach: (head: Head) => void) {
  const seen: bigint[] = []
  await new Promise<void>((resolve) => {
    nodes.onHead((head) => {
      seen.push(head.number)
      if (seen.length === count) resolve()
      else onEach(head)
    })
  })
  await nodes.close()
  return seen
}

const simulation = { pending: [], before: [{ to: ADDRESS, data: '0x' }], bundle: [], after: [] } as const
const simulated = (value: string) => () => [{ calls: [{ status: '0x1', gasUsed: '0x1', returnData: value }] }]

describe('the head', () => {
  it('is none that only one node claims: it answers no simulation of 50,000 for 1', async () => {
    const [a, b, liar] = [model('a'), model('b'), model('liar', 1_000_000)]
    a.answers.eth_simulateV1 = simulated('0x01')
    b.answers.eth_simulateV1 = simulated('0x01')
    liar.answers.eth_simulateV1 = simulated('0xc350')
    const { nodes } = join([liar, a, b])
    expect((await nodes.head()).number).toBe(10n)
    expect((await nodes.simulate(simulation)).before).toEqual(['0x01'])
    // With the same block too, it stands alone.
    liar.tip = 10
    await nodes.head()
    expect((await nodes.simulate(simulation)).before).toEqual(['0x01'])
  })

  it('goes on past a node that stands still but answers, which is said to be behind', async () => {
    const [still, a, b] = [model('still'), model('a'), model('b')]
    const { nodes } = join([still, a, b])
    const grow = () => {
      a.tip += 1
      b.tip += 1
    }
    expect(await heads(nodes, 4, grow)).toEqual([10n, 11n, 12n, 13n])
    expect((await nodes.finalized()).number).toBe(9n)
    expect(nodes.health()[0]).toMatchObject({ node: 'still', state: 'behind', blocksBehind: 3 })
    // One that goes down meanwhile was not well in between.
    const sinceMs = nodes.health()[0]?.sinceMs
    still.down = true
    await until(async () => {
      await nodes.head()
      expect(nodes.health()[0]).toMatchObject({ state: 'down', sinceMs })
    })
    // It comes back by itself.
    still.down = false
    still.tip = 13
    await until(async () => {
      await nodes.head()
      expect(nodes.health()[0]).toMatchObject({ state: 'ok', blocksBehind: 0 })
    })
  })

  it('stands still where one of two does, and it is said which', async () => {
    const [a, still] = [model('a', 20), model('still', 10)]
    const { nodes } = join([a, still])
    expect((await nodes.head()).number).toBe(10n)
    expect(nodes.health()).toMatchObject([
      { node: 'a', state: 'ok' },
      { node: 'still', state: 'behind', blocksBehind: 10 },
    ])
  })

  it('is the block below a fork of two, and the one that two of three have', async () => {
    const [a, b, c] = [model('a'), model('b'), model('c')]
    a.forkAt = 9
    expect((await join([a, b]).nodes.head()).number).toBe(8n)
    const { nodes } = join([a, b, c])
    expect((await nodes.head()).number).toBe(10n)
    expect(nodes.health()[0]).toMatchObject({ node: 'a', state: 'other_fork' })
    // A block that it has not shown yet takes it off no fork, and one that all share does.
    for (const each of [b, c]) each.tip = 11
    expect((await nodes.head()).number).toBe(11n)
    expect(nodes.health()[0]).toMatchObject({ node: 'a', state: 'other_fork' })
    a.forkAt = Number.POSITIVE_INFINITY
    for (const each of [a, b, c]) each.tip = 12
    expect((await nodes.head()).number).toBe(12n)
    expect(nodes.health()[0]).toMatchObject({ node: 'a', state: 'ok' })
  })

  it('does not wait for the second node’s own time: once one shows a block, the others are asked at once', async () => {
    const [a, b] = [model('a'), model('b', 9)]
    const honest = b.answers.eth_getBlockByNumber
    b.answers.eth_getBlockByNumber = (params) => {
      const said = honest?.(params)
      b.tip = 10
      return said
    }
    const { nodes } = join([a, b], 600_000)
    await new Promise<void>((resolve) => {
      nodes.onHead(({ number }) => {
        if (number === 10n) resolve()
      })
    })
    await nodes.close()
  })

  it('does not wait for a node that claims to be far ahead and is silent about every height', async () => {
    const [liar, a, b] = [model('liar', 1_000_000), model('a'), model('b')]
    const honest = liar.answers.eth_getBlockByNumber
    liar.answers.eth_getBlockByNumber = (params) =>
      params[0] === 'latest' ? honest?.(params) : new Promise(() => {})
    const { nodes } = join([liar, a, b])
    expect((await nodes.head()).number).toBe(10n)
    a.tip = 11
    expect((await nodes.head()).number).toBe(10n)
    b.tip = 11
    expect((await nodes.head()).number).toBe(11n)
  })

  it('is said to be none where two of two share no block: nothing goes on, and somebody hears of it', async () => {
    const [a, b] = [model('a'), model('b')]
    b.forkAt = 0
    const { nodes, reported } = join([a, b])
    nodes.onHead(() => {})
    await expect.poll(() => reported[0]?.code).toBe('node.disagreement')
    b.forkAt = Number.POSITIVE_INFINITY
    expect((await nodes.head()).number).toBe(10n)
    await nodes.close()
  })

  it('goes on without a node whose head cannot be read, which is said to stand alone', async () => {
    const [odd, a, b] = [model('odd'), model('a'), model('b')]
    odd.answers.eth_getBlockByNumber = () => ({ number: 'ten' })
    const { nodes } = join([odd, a, b])
    expect((await nodes.head()).number).toBe(10n)
    const said = { node: 'odd', state: 'alone', lastErrorCode: 'node.bad_answer' }
    expect(nodes.health()[0]).toMatchObject(said)
  })

  it('throws what is missing when too few nodes answer, and comes back with them', async () => {
    const [a, b] = [model('a'), model('b')]
    const { nodes } = join([a, b])
    b.down = true
    await expect(nodes.head()).rejects.toThrow(
      /^1 reading node answered eth_getBlockByNumber; 2 must say the same\. Node b .*\. Fix:/,
    )
    expect(nodes.health()[1]).toMatchObject({ node: 'b', state: 'down' })
    b.down = false
    expect((await nodes.head()).number).toBe(10n)
  })

  it('asks one node for its head and nothing else where one is enough', async () => {
    const one = model('a')
    const nodes = joinNodes({
      chainId: 1,
      readers: [one],
      senders: [],
      agree: 1,
      finality: 'finalized',
      pollMs: 5,
      clock: systemClock,
    })
    await nodes.head()
    expect(one.asked).toEqual([['eth_getBlockByNumber', ['latest', false]]])
  })
})

describe('an answer', () => {
  it('counts when two of three say it; who stood alone is reported, and asked last for a while', async () => {
    const [liar, a, b] = [model('liar'), model('a'), model('b')]
    for (const [node, wei] of [
      [liar, '0x1'],
      [a, '0x7'],
      [b, '0x7'],
    ] as const)
      node.answers.eth_getBalance = () => wei
    const { nodes, reported } = join([liar, a, b])
    expect(await nodes.balanceWei(ADDRESS)).toBe(7n)
    expect(reported).toMatchObject([
      { code: 'node.alone', facts: { node: 'liar', method: 'eth_getBalance' } },
    ])
    expect(nodes.health()[0]).toMatchObject({ state: 'alone', disagreements: 1 })
    const before = liar.asked.length
    expect(await nodes.balanceWei(ADDRESS)).toBe(7n)
    expect(liar.asked.slice(before).map(([method]) => method)).not.toContain('eth_getBalance')
  })

  it('is none where two of two differ: it is refused and reported, without a word of theirs', async () => {
    const [a, b] = [model('a'), model('b')]
    a.answers.eth_getBalance = () => '0x1'
    b.answers.eth_getBalance = () => '0x2'
    const { nodes, reported } = join([a, b])
    expect(await codeOf(nodes.balanceWei(ADDRESS))).toBe('node.disagreement')
    expect(reported).toMatchObject([
      { code: 'node.disagreement', facts: { method: 'eth_getBalance', agree: 2 } },
    ])
  })

  it('is not waited for from a node that stalls: the third is asked', async () => {
    const [stalled, a, b] = [model('stalled'), model('a'), model('b')]
    for (const node of [a, b]) node.answers.eth_getBalance = () => '0x7'
    stalled.stalls.add('eth_getBalance')
    const { nodes } = join([stalled, a, b])
    expect(await nodes.balanceWei(ADDRESS)).toBe(7n)
    expect(nodes.health()[0]).toMatchObject({ node: 'stalled', state: 'slow' })
  })

  it('comes from a node that was slow all the time, where it stalls again as soon as it is asked first again', async () => {
    const [stalled, a, b] = [model('stalled'), model('a'), model('b')]
    for (const node of [a, b]) node.answers.eth_getBalance = () => '0x7'
    stalled.stalls.add('eth_getBalance')
    let aheadMs = 0
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs }
    const { nodes } = join([stalled, a, b], 5, clock)
    const slowSinceMs = async () => {
      await nodes.balanceWei(ADDRESS)
      const [first] = nodes.health()
      return first?.state === 'slow' ? first.sinceMs : null
    }
    const sinceMs = await slowSinceMs()
    expect(sinceMs).not.toBeNull()
    aheadMs += 10_001
    expect(nodes.health()[0]?.state).toBe('ok')
    expect(await slowSinceMs()).toBe(sinceMs)
    aheadMs += 20_000
    expect(nodes.health()[0]?.state).toBe('ok')
    expect(await slowSinceMs()).toBeGreaterThan((sinceMs ?? 0) + 30_000)
  })

  it('to what is pending hides nothing that an honest node has seen, and adds nothing where one may be wrong', async () => {
    const [liar, a, b] = [model('liar'), model('a'), model('b')]
    for (const node of [a, b]) node.answers.eth_getTransactionCount = () => '0x9'
    const { nodes } = join([liar, a, b])
    const pending = async (said: string) => {
      liar.answers.eth_getTransactionCount = () => said
      return nodes.transactionCount(ADDRESS, 'pending')
    }
    expect([await pending('0x0'), await pending('0xf4240')]).toEqual([9, 9])
    b.down = true
    expect(await pending('0x0')).toBe(9)
    liar.answers.eth_getTransactionCount = () => '0x0'
    expect(await join([liar, a]).nodes.transactionCount(ADDRESS, 'pending')).toBe(9)
  })

  /** A clock by which a hedge is over at once, and what is late comes as soon as somebody waits for longer. */
  function belated(said: string) {
    const late = Promise.withResolvers<string>()
    const sleep: Clock['sleep'] = async (ms, signal) => {
      if (ms === 400) return
      late.resolve(said)
      return systemClock.sleep(ms, signal)
    }
    return { late: late.promise, clock: { ...systemClock, sleep } }
  }

  it('to what is pending adds nothing either where one may be wrong and another takes long', async () => {
    const [liar, a, b] = [model('liar'), model('a'), model('b')]
    const { late, clock } = belated('0x9')
    liar.answers.eth_getTransactionCount = () => '0xf4240'
    a.answers.eth_getTransactionCount = () => '0x9'
    b.answers.eth_getTransactionCount = () => late
    const { nodes } = join([liar, a, b], 5, clock)
    expect(await nodes.transactionCount(ADDRESS, 'pending')).toBe(9)
  })

  it.each([
    ['null', null],
    ['a block of long ago', wireBlock(1)],
  ])('to what is final waits for a third where one of two says %s', async (_, said) => {
    const [liar, a, b] = [model('liar'), model('a'), model('b')]
    let lies = said === null
    const over = Promise.withResolvers<void>()
    const { nodes } = join([liar, a, b], 5, { ...systemClock, sleep: async () => over.resolve() })
    const honest = { liar: liar.answers.eth_getBlockByNumber, b: b.answers.eth_getBlockByNumber }
    liar.answers.eth_getBlockByNumber = (params) =>
      params[0] === 'finalized' && lies ? said : honest.liar?.(params)
    b.answers.eth_getBlockByNumber = async (params) => {
      if (params[0] === 'finalized') await over.promise
      for (let turn = 0; turn < 50; turn += 1) await null
      return honest.b?.(params)
    }
    expect((await nodes.finalized()).number).toBe(6n)
    lies = true
    expect((await nodes.finalized()).number).toBe(6n)
  })

  it('of as many as must agree is enough, also where that takes long and another never answers', async () => {
    const [sleeper, a, b] = [model('sleeper'), model('a'), model('b')]
    sleeper.stalls.add('eth_estimateGas')
    const over = Promise.withResolvers<void>()
    a.answers.eth_estimateGas = () => '0x5300'
    b.answers.eth_estimateGas = async () => {
      await over.promise
      // By then somebody has looked who had answered.
      for (let turn = 0; turn < 50; turn += 1) await null
      return '0x5301'
    }
    const sleep: Clock['sleep'] = async () => over.resolve()
    const { nodes } = join([sleeper, a, b], 5, { ...systemClock, sleep })
    expect(await nodes.estimateNoopGas(ADDRESS)).toBe(0x5300n)
  })

  it('is asked of the same block, the same randomness and the same time of every node', async () => {
    const [a, b] = [model('a'), model('b')]
    for (const node of [a, b]) node.answers.eth_simulateV1 = simulated('0x01')
    await join([a, b]).nodes.simulate(simulation)
    const [first, second] = [a, b].map(({ asked }) => asked.find(([method]) => method === 'eth_simulateV1'))
    expect(first).toBeDefined()
    expect(first).toEqual(second)
  })
})

describe('a quorum that is missing', () => {
  it('is so from the first look on, while too few nodes are there, until enough are', async () => {
    const [one, other, third] = [model('a'), model('b'), model('c')]
    const { nodes } = join([one, other, third])
    await nodes.head()
    expect(nodes.quorumMissingSinceMs()).toBeNull()
    other.down = true
    expect(nodes.quorumMissingSinceMs()).toBeNull()
    third.down = true
    const sinceMs = nodes.quorumMissingSinceMs()
    expect(sinceMs).not.toBeNull()
    await until(() => expect(systemClock.monotonicMs()).toBeGreaterThan(sinceMs ?? 0))
    expect(nodes.quorumMissingSinceMs()).toBe(sinceMs)
    third.down = false
    expect(nodes.quorumMissingSinceMs()).toBeNull()
    await nodes.close()
  })

  it('is so while two nodes go on with blocks of their own', async () => {
    const [one, other] = [model('a'), model('b')]
    const { nodes } = join([one, other])
    await nodes.head()
    for (const node of [one, other]) Object.assign(node, { forkAt: 11, tip: 13 })
    expect((await nodes.head()).number).toBe(10n)
    expect(nodes.quorumMissingSinceMs()).not.toBeNull()
    Object.assign(other, {
      answers: { ...other.answers, eth_getBlockByNumber: one.answers.eth_getBlockByNumber },
    })
    expect((await nodes.head()).number).toBe(13n)
    expect(nodes.quorumMissingSinceMs()).toBeNull()
    await nodes.close()
  })
})

describe('a method that is asked for in vain', () => {
  it('is to show the newest block, from two failed looks on, also while an older one is known', async () => {
    const [one, other] = [model('a'), model('b')]
    const { nodes } = join([one, other])
    await nodes.head()
    const shown = other.answers.eth_getBlockByNumber
    other.answers.eth_getBlockByNumber = () => 'zz'
    const unlisten = nodes.onHead(() => undefined)
    const methods = () => nodes.unanswered().map(({ method }) => method)
    await until(() => expect(methods()).toEqual(['eth_getBlockByNumber (latest)']))
    Object.assign(other.answers, { eth_getBlockByNumber: shown })
    await until(() => expect(methods()).toEqual([]))
    unlisten()
    await nodes.close()
  })

  it('is to send what no node takes, until one does or says what is wrong with it', async () => {
    const [one, other] = [model('a'), model('b')]
    const { nodes } = join([one, other], 5, systemClock, [one, other])
    const listed = async (...said: readonly unknown[]) => {
      for (const [index, node] of [one, other].entries())
        node.answers.eth_sendRawTransaction = () => said[index]
      await nodes.send('0x02')
      return nodes.unanswered().map(({ method, error }) => [method, error.shortMessage])
    }
    expect(await listed('zz', 'zz')).toEqual([])
    const why = 'No node took what was sent. a: unknown (other_hash). b: unknown (other_hash).'
    expect(await listed('zz', 'zz')).toEqual([['eth_sendRawTransaction', why]])
    expect(await listed('zz', keccak256('0x02'))).toEqual([])
    await nodes.close()
  })

  it('is listed from its second failure on, since its first, until enough nodes answer alike', async () => {
    const [one, other] = [model('a'), model('b')]
    for (const node of [one, other]) node.answers.eth_getBalance = () => '0x1'
    const { nodes } = join([one, other])
    await nodes.head()
    other.answers.eth_getBalance = () => 'zz'
    const fail = () =>
      expect(nodes.balanceWei(`0x${'51'.repeat(20)}`)).rejects.toMatchObject({ code: 'node.quorum_missing' })
    await fail()
    expect(nodes.unanswered()).toEqual([])
    await fail()
    const [listed] = nodes.unanswered()
    expect(listed).toMatchObject({ method: 'eth_getBalance', error: { code: 'node.quorum_missing' } })
    await nodes.block(9n)
    await until(() => expect(systemClock.monotonicMs()).toBeGreaterThan(listed?.sinceMs ?? 0))
    await fail()
    expect(nodes.unanswered()).toMatchObject([{ method: 'eth_getBalance', sinceMs: listed?.sinceMs }])
    other.answers.eth_getBalance = () => '0x1'
    await nodes.balanceWei(`0x${'51'.repeat(20)}`)
    expect(nodes.unanswered()).toEqual([])
    await nodes.close()
  })
})

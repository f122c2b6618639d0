import { describe, expect, it } from 'vitest'
import type { Agent, Answer, Look, Moment, Question } from '../../agents/agent.ts'
import type { Head } from '../../src/chain/nodes.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { type ObserveDeps, observe as observeAgent } from '../../src/observe/observe.ts'
import { listed, pins, SIGNER } from '../agents/liquidator/service-fixtures.ts'
import { NOTHING_AROUND } from '../support/around.ts'

const TARGET = `0x${'1'.repeat(40)}` as const
const call = (data: `0x${string}`): Question => ({ kind: 'call', to: TARGET, data })
const HEAD: Head = {
  number: 10n,
  hash: '0x',
  parentHash: '0x',
  timestampS: 1_000,
  baseFeePerGasWei: 7n,
}

type Seen = { readonly answers: readonly (readonly Answer[])[]; readonly previous: unknown }
const agent = (
  waves: readonly (readonly Question[])[],
  watches: Agent['watches'] = {
    collections: ['vaults'],
    optional: ['allocation-intelligence'],
    eventTypes: [],
  },
) => ({
  role: 'allocator' as const,
  watches,
  see: (
    rows: object,
    _moment: Moment,
    _policy: unknown,
    previous: Seen | null,
  ): Look<Seen & { rows: object }> => {
    const next = (answers: readonly (readonly Answer[])[]): Look<Seen & { rows: object }> => {
      const ask = waves[answers.length]
      return ask === undefined
        ? { seen: { answers, previous, rows } }
        : { ask, next: (given) => next([...answers, given]) }
    }
    return next([])
  },
})
const heads: unknown[] = []
const collections = new Proxy({} as ObserveDeps['collections'], {
  get: (_all, name) => async () => {
    if (name === 'allocation-intelligence') throw new RolekeeperError('session.absent', 'none')
    if (name === 'funds') throw new RolekeeperError('service.down', 'down')
    return listed([])
  },
})
const deps: ObserveDeps = {
  collections,
  ofWallets: async () => listed([]),
  clock: { nowMs: () => 1_001_000, monotonicMs: () => 0 },
  dataFeeWei: () => 3n,
  nodes: {
    head: async () => HEAD,
    balanceWei: async () => 5n,
    calls: async (calls, at) => {
      heads.push(at)
      return calls.map(({ data }) => (data === '0xdead' ? null : data))
    },
  },
  outside: async () => ({ ok: true, text: 'outside', atMs: 3 }),
}
const observe = (asks: ReturnType<typeof agent>, previous: Seen | null = null) =>
  observeAgent<unknown, Seen & { rows: object }, unknown>(
    asks as never,
    null,
    { previous: previous as never, book: null, armed: new Map() },
    deps,
    {
      signer: SIGNER,
      chainId: 1,
      ours: [SIGNER],
      ...NOTHING_AROUND,
      deployment: pins,
      priorityFeePerGasWei: 2n,
      limits: { ageMsMax: 15_000, blockLagMax: 3n, headAgeMsMax: 15_000 },
    },
  )

describe('observing by asking', () => {
  it('answers each wave in order, calls at the one block that everything is seen at', async () => {
    const url = { kind: 'source', name: 'x', timeoutMs: 1 } as const
    heads.length = 0
    const seen = await observe(agent([[call('0x01'), url, call('0xdead')], [call('0x02')]]))
    expect(seen.answers).toMatchObject([
      [{ text: '0x01' }, { text: 'outside' }, { ok: false, check: 'call_failed' }],
      [{ text: '0x02' }],
    ])
    // The first wave too: the head that the poll shows may be the one before what an event speaks of.
    expect(heads).toEqual([HEAD, HEAD, HEAD])
    expect(seen).toMatchObject({
      chain: { blockNumber: 10n, dataFeeWei: 3n },
      nativeBalanceWei: 5n,
      freshness: { ok: true },
    })
  })

  it('goes without an optional collection, and not without another', async () => {
    const seen = await observe(agent([]))
    expect(seen.rows).toEqual({ vaults: [] })
    await expect(observe(agent([], { collections: ['funds'], eventTypes: [] }))).rejects.toThrow('down')
  })

  it('takes an agent that asks without end for broken', async () => {
    await expect(observe(agent(Array.from({ length: 5 }, () => [call('0x01')])))).rejects.toThrow('4 waves')
  })

  it('tells an agent what it saw the time before', async () => {
    const before: Seen = { answers: [], previous: null }
    expect((await observe(agent([]), before)).previous).toBe(before)
  })
})

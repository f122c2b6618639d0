import { expect, it } from 'vitest'
import type { Endpoint } from '../../src/chain/endpoint.ts'
import { joinNodes } from '../../src/chain/join-nodes.ts'
import type { Nodes, SimulatedTransaction, SimulationRequest } from '../../src/chain/nodes.ts'
import { systemClock } from '../../src/clock.ts'
import { wireBlock } from './scripted-node.ts'

const OURS = `0x${'ad'.repeat(20)}` as const
const TOKEN = `0x${'bb'.repeat(20)}` as const
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const word = (number: number | bigint) => `0x${number.toString(16).padStart(64, '0')}` as const

const receipt = {
  transactionHash: word(777),
  from: OURS,
  blockNumber: '0xa',
  blockHash: word(10),
  status: '0x1',
  gasUsed: '0x5208',
  effectiveGasPrice: '0x3b9aca00',
  logs: [{ address: TOKEN, topics: [word(1), word(2)], data: '0x01' }],
}
const sent = {
  hash: word(777),
  from: OURS,
  nonce: '0x5',
  type: '0x2',
  chainId: '0x1',
  to: TOKEN,
  input: '0x1234',
  value: '0x0',
  gas: '0x5208',
  maxFeePerGas: '0x77359400',
  maxPriorityFeePerGas: '0x1',
  accessList: [{ address: TOKEN, storageKeys: [word(3)] }],
}
const ran = { status: '0x1', gasUsed: '0x2', returnData: '0x01', logs: receipt.logs }

type Answer = (params: readonly unknown[]) => unknown
const HONEST: Readonly<Record<string, Answer>> = {
  eth_getBlockByNumber: ([tag]) => wireBlock(tag === 'latest' ? 10 : tag === 'finalized' ? 6 : Number(tag)),
  eth_getBlockByHash: ([, isWhole]) => ({
    ...wireBlock(10),
    transactions:
      isWhole === true ? [{ from: TOKEN, hash: word(778), odd: 1 }, sent] : [word(778), word(777)],
  }),
  eth_getTransactionByHash: () => sent,
  eth_getTransactionReceipt: () => receipt,
  eth_getBalance: () => '0x100',
  eth_getTransactionCount: ([, at]) => (String(JSON.stringify(at)).includes(word(9)) ? '0x5' : '0x6'),
  eth_call: () => '0x01',
  eth_getCode: () => '0x6001',
  eth_getStorageAt: () => word(7),
  eth_estimateGas: () => '0x5300',
  eth_feeHistory: () => ({ reward: Array.from({ length: 10 }, () => ['0x5']) }),
  eth_getLogs: () => [
    {
      address: TOKEN,
      topics: [TRANSFER, word(BigInt(OURS)), word(2)],
      data: word(5),
      removed: false,
      blockNumber: '0x8',
      blockHash: word(8),
      transactionHash: word(777),
      logIndex: '0x1',
    },
  ],
  eth_simulateV1: () => [{ calls: [ran, { ...ran, returnData: word(7) }, ran, ran] }],
}

/** What a node may put in the place of anything; an item of a list may come a million times. */
const WRONG: readonly unknown[] = [
  ...[
    null,
    undefined,
    -1,
    1.5,
    true,
    '',
    '0x',
    '0x0',
    '0x1',
    '0x3',
    `0x${'f'.repeat(64)}`,
    `0x${'f'.repeat(65)}`,
  ],
  ...['0x-1', word(999), {}, [], [[]], { toString: 1 }, 'x'.repeat(10_000), `0x${'ab'.repeat(10_000)}`],
]
const MANY = Array.from({ length: 300_000 }, () => 0)

/** Every answer that differs from `value` in one place. */
function* wrongly(value: unknown): Generator<unknown> {
  yield* WRONG
  if (Array.isArray(value)) {
    yield MANY
    yield [...value, ...value]
    for (const [index, item] of value.entries())
      for (const other of wrongly(item)) yield value.with(index, other)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value))
      for (const other of wrongly(item)) yield { ...value, [name]: other }
  }
}

function node(name: string, answers: Readonly<Record<string, Answer>>): Endpoint {
  const read: Endpoint['read'] = async (method, params) => ({ ok: true, result: answers[method]?.(params) })
  return { name, alive: () => true, read, once: read, checkChain: async () => {}, close: async () => {} }
}

const call = { to: TOKEN, data: '0x' } as const
const transaction: SimulatedTransaction = {
  from: OURS,
  to: TOKEN,
  data: '0x',
  valueWei: 0n,
  gasLimit: 1n,
  nonce: 1,
  maxFeePerGasWei: 10n ** 10n,
  maxPriorityFeePerGasWei: 0n,
}
const bundle: SimulationRequest = {
  pending: [transaction],
  before: [call],
  bundle: [transaction],
  after: [],
  codeAt: [TOKEN],
  slots: [{ of: TOKEN, slot: word(1) }],
}

const READS: readonly (readonly [
  name: string,
  methods: readonly string[],
  read: (nodes: Nodes) => unknown,
])[] = [
  ['the head', ['eth_getBlockByNumber'], (nodes) => nodes.head()],
  ['the final block', ['eth_getBlockByNumber'], (nodes) => nodes.finalized()],
  ['a block', ['eth_getBlockByNumber'], (nodes) => nodes.block(8n)],
  ['a call', ['eth_call'], (nodes) => nodes.calls([call])],
  [
    'what contracts logged',
    ['eth_getLogs'],
    (nodes) => nodes.logs({ addresses: [TOKEN], topic: TRANSFER, fromBlock: 7n, toBlock: 9n }),
  ],
  ['code', ['eth_getCode'], (nodes) => nodes.codeHashes([TOKEN])],
  ['a balance', ['eth_getBalance'], (nodes) => nodes.balanceWei(OURS)],
  ['a count', ['eth_getTransactionCount'], (nodes) => nodes.transactionCount(OURS, word(10))],
  ['a pending count', ['eth_getTransactionCount'], (nodes) => nodes.transactionCount(OURS, 'pending')],
  [
    'what we have in a block',
    ['eth_getBlockByHash', 'eth_getTransactionCount', 'eth_getTransactionReceipt'],
    (nodes) => nodes.blockOf(word(10), [OURS]),
  ],
  [
    'a transaction',
    ['eth_getTransactionByHash', 'eth_getTransactionReceipt'],
    (nodes) => nodes.transaction(word(777)),
  ],
  [
    'what moved',
    ['eth_getLogs'],
    (nodes) => nodes.transfers({ tokens: [TOKEN], account: OURS, fromBlock: 7n, toBlock: 9n }),
  ],
  ['tips', ['eth_feeHistory'], (nodes) => nodes.feeHistory()],
  ['the gas of a no-op', ['eth_estimateGas'], (nodes) => nodes.estimateNoopGas(OURS)],
  [
    'a simulation',
    ['eth_simulateV1', 'eth_getStorageAt'],
    async (nodes) => ({ ...(await nodes.simulate(bundle)), timestampS: null }),
  ],
]

const joined = (liar: Endpoint) =>
  joinNodes({
    chainId: 1,
    senders: [],
    agree: 2,
    finality: 'finalized',
    pollMs: 100,
    clock: systemClock,
    readers: [liar, node('a', HONEST), node('b', HONEST)],
  })

it.each(READS)(
  'two honest nodes say %s, whatever the third writes in one place of its answer',
  async (_name, methods, read) => {
    const honest = await read(joined(node('c', HONEST)))
    for (const method of methods) {
      for (const lie of wrongly(HONEST[method]?.(['latest']))) {
        const liar = node('liar', { ...HONEST, [method]: () => lie })
        expect(await read(joined(liar)), method).toEqual(honest)
      }
    }
  },
)

const NUMBERED = 'eth_getTransactionByBlockHashAndIndex'
const ROWS = [{ from: TOKEN, hash: word(778), odd: 1 }, sent]

it.each([
  ['shown whole', 'eth_getBlockByHash', ROWS],
  ['shown one by one', NUMBERED, ROWS],
])(
  'and what we have in a block, whatever the third writes in one transaction that is %s',
  async (_, method, rows) => {
    const read = (nodes: Nodes) => nodes.blockOf(word(10), [OURS])
    const honest = await read(joined(node('c', HONEST)))
    for (const lie of wrongly(rows)) {
      const liar = node('liar', {
        ...HONEST,
        [method]: (params) => {
          if (method === NUMBERED) return Array.isArray(lie) ? lie[Number(params[1])] : lie
          return params[1] === true
            ? { ...wireBlock(10), transactions: lie }
            : HONEST.eth_getBlockByHash?.(params)
        },
      })
      const narrow: Endpoint = {
        ...liar,
        read: async (asked, params) =>
          method === NUMBERED && asked === 'eth_getBlockByHash' && params[1] === true
            ? { ok: false, failure: { code: -32_000, message: 'too large' } }
            : liar.read(asked, params),
      }
      expect(await read(joined(narrow))).toEqual(honest)
    }
  },
)

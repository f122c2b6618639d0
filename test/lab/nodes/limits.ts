import type { NodeFault } from '../../support/node-proxy.ts'
import type { RpcCall } from '../../support/node-view.ts'

const refuse = (code: number, message: string): NodeFault['deed'] => ({ kind: 'refuse', code, message })

/** Blocks of a range of logs. */
const blocksOf = ({ params: [filter] }: RpcCall): number => {
  const { fromBlock, toBlock } = Object(filter)
  return Number(toBlock) - Number(fromBlock) + 1
}

const withoutPrice = (receipt: unknown): unknown => {
  const { effectiveGasPrice: _, ...rest } = Object(receipt)
  return receipt === null ? null : rest
}

/** Each second reward is null: as of a block without transactions. */
const withNulls = (history: unknown): unknown => {
  const { reward, ...rest } = Object(history)
  return { ...rest, reward: [reward].flat().map((each, index) => (index % 2 === 0 ? null : each)) }
}

/** Every so-and-so-many-th call. */
const every = (count: number) => {
  let calls = 0
  return () => {
    calls += 1
    return calls % count === 0
  }
}

/** Its faults are made anew each time, as some count. */
type Limit = { readonly text: string; readonly faults: () => readonly NodeFault[] }

/** What ordinary providers limit or leave out: a keeper works on whose nodes all do. */
export const LIMITS: Readonly<Record<string, Limit>> = {
  batch_of_10: {
    text: 'at most 10 calls in a batch',
    faults: () => [{ deed: refuse(-32_600, 'Batch size is too large'), when: (_, calls) => calls > 10 }],
  },
  no_batches: {
    text: 'no batches',
    faults: () => [{ deed: refuse(-32_600, 'Batches are not supported'), when: (_, calls) => calls > 1 }],
  },
  logs_of_500_blocks: {
    text: 'logs of at most 500 blocks',
    faults: () => [
      {
        deed: { kind: 'error', code: -32_000, message: 'block range is too wide' },
        methods: ['eth_getLogs'],
        when: (call) => blocksOf(call) > 500,
      },
    ],
  },
  logs_of_a_block: {
    text: 'logs of one block',
    faults: () => [
      {
        deed: { kind: 'error', code: -32_005, message: 'query returned more than 10000 results' },
        methods: ['eth_getLogs'],
        when: (call) => blocksOf(call) > 1,
      },
    ],
  },
  http_429: {
    text: 'HTTP 429 now and then, for 1 s',
    faults: () => [{ deed: { kind: 'status', status: 429, retryAfterS: 1 }, when: every(200) }],
  },
  rate_limit_at_200: {
    text: 'rate limit at 200 now and then',
    faults: () => [{ deed: refuse(-32_005, 'rate limit exceeded'), when: every(200) }],
  },
  receipts_without_price: {
    text: 'receipts without effectiveGasPrice',
    faults: () => [
      { deed: { kind: 'change', change: withoutPrice }, methods: ['eth_getTransactionReceipt'] },
    ],
  },
  null_rewards: {
    text: 'null rewards',
    faults: () => [{ deed: { kind: 'change', change: withNulls }, methods: ['eth_feeHistory'] }],
  },
  no_fee_history: {
    text: 'no eth_feeHistory',
    faults: () => [
      { deed: { kind: 'error', code: -32_601, message: 'no such method' }, methods: ['eth_feeHistory'] },
    ],
  },
  no_estimate: {
    text: 'no eth_estimateGas',
    faults: () => [
      { deed: { kind: 'error', code: -32_601, message: 'no such method' }, methods: ['eth_estimateGas'] },
    ],
  },
  no_logs: {
    text: 'no eth_getLogs',
    faults: () => [
      { deed: { kind: 'error', code: -32_601, message: 'no such method' }, methods: ['eth_getLogs'] },
    ],
  },
  large_blocks: {
    text: 'blocks too large to be read whole',
    faults: () => [
      {
        deed: { kind: 'error', code: -32_003, message: 'response too large' },
        methods: ['eth_getBlockByHash', 'eth_getBlockByNumber'],
        when: ({ params }) => params[1] === true,
      },
    ],
  },
  late: { text: 'each answer 150 ms late', faults: () => [{ deed: { kind: 'delay', ms: 150 } }] },
}

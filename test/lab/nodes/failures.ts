import type { NodeFault } from '../../support/node-proxy.ts'

/** Every method that the product calls. Source: the literals in src/chain; the architecture test holds this list to them. */
export const METHODS = [
  'eth_call',
  'eth_chainId',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getCode',
  'eth_getLogs',
  'eth_getStorageAt',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionByHash',
  'eth_getTransactionCount',
  'eth_getTransactionReceipt',
  'eth_sendRawTransaction',
  'eth_simulateV1',
] as const
export type Method = (typeof METHODS)[number]

/** More than the 8 MiB that an answer may have. */
const TOO_LARGE = 'f'.repeat(9_000_000)
/** Longer than a call may take. */
const SLOW_MS = 1_500

type Deed = NodeFault['deed']
const error = (code: number, message: string): Deed => ({ kind: 'error', code, message })

/** Asked at a start alone: the keeper begins anew beneath their failure. */
export const AT_START: ReadonlySet<Method> = new Set([
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_getCode',
  'eth_getStorageAt',
])

/** What has to be wrong as well, so that a method is asked: a block that is too large to be read whole. */
export const BESIDE: Readonly<Partial<Record<Method, NodeFault>>> = {
  eth_getTransactionByBlockHashAndIndex: {
    deed: { kind: 'result', result: TOO_LARGE },
    methods: ['eth_getBlockByHash'],
    when: ({ params }) => params[1] === true,
  },
}

/** Every way in which a method of a node fails. */
export const FAILURES = {
  missing: error(-32601, 'the method does not exist/is not available'),
  error: error(-32000, 'internal error'),
  'odd wording': error(4242, 'Oops! Something on our side went wrong.'),
  'rate limit': { kind: 'status', status: 429, retryAfterS: 2 },
  'range or batch': error(-32005, 'query exceeds the limit of your plan'),
  null: { kind: 'result', result: null },
  empty: { kind: 'change', change: emptied },
  malformed: { kind: 'change', change: malformed },
  'too large': { kind: 'result', result: TOO_LARGE },
  slow: { kind: 'delay', ms: SLOW_MS },
  hangs: { kind: 'hang' },
} as const satisfies Readonly<Record<string, Deed>>
export type Failure = keyof typeof FAILURES

/** Of its kind, with nothing in it. */
function emptied(result: unknown): unknown {
  if (Array.isArray(result)) return []
  return typeof result === 'object' ? {} : '0x'
}

/** As it was but for one member, the last, that is not of its form. */
function malformed(result: unknown): unknown {
  if (typeof result === 'string') return `${result}zz`
  if (Array.isArray(result)) return [...result.slice(0, -1), malformed(result.at(-1) ?? '')]
  if (typeof result !== 'object' || result === null) return 'zz'
  const [last, value] = Object.entries(result).at(-1) ?? ['zz', '']
  return { ...result, [last]: malformed(value) }
}

import { z } from 'zod'
import { systemClock } from '../clock.ts'
import { BATCH_MAX } from './batches.ts'
import { quantity } from './endpoint.ts'
import { createRequests, type NoAnswer, type Requests, type RpcAnswer, type RpcCall } from './json-rpc.ts'
import type { Head } from './nodes.ts'

/** What a node lacks of what a keeper would use, which it goes without: by a stable name, and what the node does instead. */
export type NodeLack = {
  readonly what: 'batch' | 'range' | 'receipts' | 'fee_history' | 'size'
  readonly says: string
}

/** So wide does the keeper ask for logs where nothing is known of the node. */
const RANGE_BLOCKS = 2_000n
/** Of an answer, in its JSON twice as many: as long as those of a busy block. The identity precompile gives back what it is sent. */
const SIZE_BYTES = 256 * 1_024
const IDENTITY = '0x0000000000000000000000000000000000000004'
const NOBODY = `0x${'00'.repeat(19)}01`

/** Ask one node for more than most give, each thing alone. Never throws: a node that answers nothing lacks all of it. */
export async function probeLacks(url: string, timeoutMs: number, head: Head): Promise<readonly NodeLack[]> {
  const requests = createRequests(url, timeoutMs, systemClock)
  try {
    const found = await Promise.all([
      widthOf(requests),
      receiptOf(head, requests),
      ...PROBES(head).map(async ({ what, call, isGiven }) => {
        const [answer] = (await requests.send([call])).answers
        return answer !== undefined && isGiven(resultOf(answer)) ? null : { what, says: saidBy(answer) }
      }),
    ])
    return found.flatMap((lack) => lack ?? [])
  } finally {
    await requests.close()
  }
}

/** How many calls a node takes at once, where these are fewer than the keeper sends. */
async function widthOf({ send }: Requests): Promise<NodeLack | null> {
  for (let width = BATCH_MAX; width >= 1; width = Math.floor(width / 2)) {
    const { answers } = await send(
      Array.from({ length: width }, () => ({ method: 'eth_chainId', params: [] })),
    )
    if (answers.every((answer) => resultOf(answer) !== undefined))
      return width === BATCH_MAX ? null : { what: 'batch', says: `takes ${width} calls at once` }
  }
  return { what: 'batch', says: 'takes no call' }
}

/** Whether a node has the receipt of a transaction in its newest block; of an empty one nothing is known. */
async function receiptOf({ hash }: Head, { send }: Requests): Promise<NodeLack | null> {
  const [block] = (await send([{ method: 'eth_getBlockByHash', params: [hash, false] }])).answers
  const [mined] = (block && hashes.safeParse(resultOf(block)).data?.transactions) ?? []
  if (mined === undefined) return null
  const [answer] = (await send([{ method: 'eth_getTransactionReceipt', params: [mined] }])).answers
  return answer !== undefined && receipt.safeParse(resultOf(answer)).success
    ? null
    : { what: 'receipts', says: saidBy(answer) }
}

const hashes = z.object({ transactions: z.array(z.string()) })
const receipt = z.object({ transactionHash: z.string(), status: z.string(), gasUsed: z.string() })

type Probe = Pick<NodeLack, 'what'> & {
  readonly call: RpcCall
  readonly isGiven: (result: unknown) => boolean
}

const isList = (result: unknown): boolean => Array.isArray(result)
const tips = z.object({ reward: z.array(z.array(z.string()).min(1)).min(1) })

const PROBES = ({ number }: Head): readonly Probe[] => [
  {
    what: 'range',
    call: {
      method: 'eth_getLogs',
      params: [
        {
          fromBlock: quantity(number < RANGE_BLOCKS ? 0n : number - RANGE_BLOCKS + 1n),
          toBlock: quantity(number),
          address: NOBODY,
        },
      ],
    },
    isGiven: isList,
  },
  {
    what: 'fee_history',
    call: { method: 'eth_feeHistory', params: ['0xa', quantity(number), [50]] },
    isGiven: (result) => tips.safeParse(result).success,
  },
  {
    what: 'size',
    call: {
      method: 'eth_call',
      params: [{ to: IDENTITY, data: `0x${'5a'.repeat(SIZE_BYTES)}` }, quantity(number)],
    },
    isGiven: (result) => typeof result === 'string' && result.length === 2 + 2 * SIZE_BYTES,
  },
]

const resultOf = (answer: RpcAnswer | NoAnswer): unknown =>
  'ok' in answer && answer.ok ? answer.result : undefined

/** What a node said in the place of what it was asked for; never in its own words. */
function saidBy(answer: RpcAnswer | NoAnswer | undefined): string {
  if (answer === undefined || 'kind' in answer) return `does not answer it (${answer?.kind ?? 'nothing'})`
  return answer.ok ? 'answers something else' : `refuses it (${answer.failure.code})`
}

import { numberToHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { type CanonicalChain, followCanonicalChain } from '../../../src/chain/canonical.ts'
import type { Endpoint } from '../../../src/chain/endpoint.ts'
import { joinNodes } from '../../../src/chain/join-nodes.ts'
import { systemClock } from '../../../src/clock.ts'
import { follow } from '../../../src/pipeline/transactions/follow.ts'
import { orderAttempt } from '../../../src/pipeline/transactions/transaction.ts'
import type { Slot } from '../../../src/workflow/slot.ts'
import { SIGNER, slotOf } from '../../support/workflows.ts'

const FEES = { maxFeePerGasWei: 9n, maxPriorityFeePerGasWei: 1n }
const CONFIRMATIONS = 15n
const hashOf = (kind: number, value: number) => numberToHex(kind * 1_000_000 + value + 1, { size: 32 })

/** So many slots, ordered and sent. */
const createSlots = (count: number): Slot[] =>
  Array.from({ length: count }, (_, nonce) => {
    const bare = slotOf({ nonce, attempts: [] })
    const attempt = orderAttempt(bare, 'payload', FEES, 1_000)
    return { ...bare, attempts: [{ ...attempt, state: 'sent', raw: '0x01', hash: hashOf(2, nonce) }] }
  })

/** A chain as a node's answers, in which a block takes the next so many nonces. */
function createChain() {
  const takes: number[][] = [[]]
  const header = (number: number) => ({
    number: numberToHex(number),
    hash: hashOf(1, number),
    parentHash: hashOf(1, number - 1),
    timestamp: numberToHex(number * 12),
    baseFeePerGas: '0x1',
    gasUsed: '0x0',
    gasLimit: '0x1c9c380',
    miner: SIGNER,
  })
  const wire = (nonce: number) => {
    const { payload } = slotOf()
    return {
      hash: hashOf(2, nonce),
      from: SIGNER,
      nonce: numberToHex(nonce),
      type: '0x2',
      chainId: numberToHex(31_337),
      to: payload.to,
      input: payload.data,
      value: '0x0',
      gas: numberToHex(payload.gasLimit),
      maxFeePerGas: '0x9',
      maxPriorityFeePerGas: '0x1',
    }
  }
  const receipt = (nonce: number, number: number) => ({
    transactionHash: hashOf(2, nonce),
    from: SIGNER,
    blockNumber: numberToHex(number),
    blockHash: hashOf(1, number),
    status: '0x1',
    gasUsed: '0x5208',
    effectiveGasPrice: '0x2',
    logs: [],
  })
  const calls: string[] = []
  const newest = () => takes.length - 1
  const answer = (method: string, params: readonly unknown[]): unknown => {
    const [id] = params
    // A node's own head is asked for whatever is in flight.
    if (id !== 'latest') calls.push(method)
    if (method === 'eth_getBlockByNumber') return header(id === 'latest' ? newest() : Number(id))
    if (method === 'eth_getTransactionCount') {
      const { blockHash } = params[1] as { readonly blockHash: string }
      const at = takes.findIndex((_, each) => hashOf(1, each) === blockHash)
      return numberToHex(takes.slice(0, at + 1).flat().length)
    }
    const number = takes.findIndex(
      (nonces, each) => hashOf(1, each) === id || nonces.some((nonce) => hashOf(2, nonce) === id),
    )
    if (method === 'eth_getBlockByHash')
      return {
        ...header(number),
        transactions: takes[number]?.map((nonce) => (params[1] === true ? wire(nonce) : hashOf(2, nonce))),
      }
    if (method === 'eth_getTransactionReceipt')
      return receipt(takes[number]?.find((nonce) => hashOf(2, nonce) === id) ?? 0, number)
    throw new TypeError(`nobody should ask ${method}`)
  }
  const endpoint = (name: string): Endpoint => {
    const read: Endpoint['read'] = async (method, params) => ({ ok: true, result: answer(method, params) })
    return { name, alive: () => true, read, once: read, checkChain: async () => {}, close: async () => {} }
  }
  return { calls, endpoint, mine: (nonces: number[]) => takes.push(nonces) }
}

describe('a thousand in flight, with two readers', () => {
  it('cost 6 node calls a head, and at most 8 each from send to final whatever the time to finality', async () => {
    const chain = createChain()
    chain.mine([])
    const nodes = joinNodes({
      chainId: 31_337,
      agree: 2,
      finality: { confirmations: CONFIRMATIONS },
      pollMs: 1,
      clock: systemClock,
      readers: [chain.endpoint('read-1'), chain.endpoint('read-2')],
      senders: [chain.endpoint('send-1')],
    })
    let slots = createSlots(1_000)
    let moved = Promise.withResolvers<void>()
    const canonical: CanonicalChain = await followCanonicalChain({
      nodes,
      clock: systemClock,
      signers: [SIGNER],
      lastFinal: null,
      doubtedFrom: null,
      onMoved: async () => {
        slots = slots.map((slot) => follow(slot, canonical.of(SIGNER), -1n))
        moved.resolve()
      },
      onFinal: async () => {},
      onForkPastFinality: async () => {},
      onFailed: (error) => moved.reject(error),
    })
    chain.calls.length = 0
    const perHead: number[] = []
    for (let block = 0; block < 100; block += 1) {
      const before = chain.calls.length
      moved = Promise.withResolvers()
      chain.mine(block < 20 ? Array.from({ length: 50 }, (_, index) => 50 * block + index) : [])
      await moved.promise
      perHead.push(chain.calls.length - before)
    }
    await canonical.stop()
    await nodes.close()
    expect(slots.filter(({ state }) => state === 'final')).toHaveLength(1_000)
    expect(chain.calls.length / slots.length).toBeLessThanOrEqual(8)
    // Of two nodes the block, a count and what is final; where the count rose, its transactions and a receipt for each.
    expect([...new Set(perHead)].toSorted((one, other) => one - other)).toEqual([6, 6 + 2 + 2 * 50])
  })
})

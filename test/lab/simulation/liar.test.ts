import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pad } from 'viem'
import { describe, expect, it } from 'vitest'
import { CHAIN_ID, Chain, txOf } from './chain.ts'
import { SIGNER, strangerRaw } from './kms.ts'
import { LIES, lieAbout } from './node.ts'
import { createRandom } from './random.ts'
import { answer } from './rpc.ts'

const CHAIN = join(import.meta.dirname, '../../../src/chain')
/** Asked when a connection is made, before a node is one of the schedule's: chaos has nodes of another chain. */
const ASKED_BEFORE = 'eth_chainId'

/** Every method that the product asks a node for, by its source. */
const methods = new Set(
  readdirSync(CHAIN, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => readFileSync(join(CHAIN, name), 'utf8').match(/(?<=')eth_\w+(?=')/g) ?? [])
    .filter((method) => method !== ASKED_BEFORE),
)

const random = createRandom(1)
const chain = new Chain({
  state: {
    nonces: new Map(),
    wei: new Map([[SIGNER, 10n ** 20n]]),
    tokens: new Map(),
    allowances: new Map(),
    positions: new Map(),
    claims: new Map(),
    paused: false,
  },
  nowMs: () => 1_800_000_000_000,
  finalityBlocks: 2,
  transferGas: 21_000n,
  baseFee: 1n,
  blocks: 12,
  random,
})
const mined = txOf(strangerRaw(CHAIN_ID, 0))
chain.submit(mined, chain.tip)
const block = chain.mine()
const call = { from: SIGNER, to: SIGNER, input: '0x', value: '0x0', gas: '0x5208', maxFeePerGas: '0x9' }

const PARAMS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  eth_getBlockByNumber: [
    ['latest', false],
    ['finalized', false],
    ['0x68', false],
  ],
  eth_getBlockByHash: [[block.hash, true]],
  eth_getTransactionByBlockHashAndIndex: [[block.hash, '0x0']],
  eth_getLogs: [
    [{ address: [SIGNER], fromBlock: '0x0', toBlock: '0x68', topics: [block.hash, pad(SIGNER)] }],
    [{ address: [SIGNER], fromBlock: '0x0', toBlock: '0x68', topics: [block.hash, null, pad(SIGNER)] }],
  ],
  eth_getTransactionByHash: [[mined.hash]],
  eth_getTransactionReceipt: [[mined.hash]],
  eth_getTransactionCount: [[SIGNER, 'pending']],
  eth_getBalance: [[SIGNER, { blockHash: block.hash }]],
  eth_getCode: [[SIGNER, { blockHash: block.hash }]],
  eth_getStorageAt: [[SIGNER, '0x0', { blockHash: block.hash }]],
  eth_call: [[{ to: SIGNER, data: '0x' }, { blockHash: block.hash }]],
  eth_feeHistory: [['0xa', '0x70', [50]]],
  eth_estimateGas: [[{ from: SIGNER, to: SIGNER }]],
  eth_sendRawTransaction: [[strangerRaw(CHAIN_ID, 1)]],
  eth_simulateV1: [
    [{ blockStateCalls: [{ blockOverrides: {}, calls: [{ ...call, nonce: '0x1' }] }] }, block.hash],
  ],
}

describe('the node that lies', () => {
  it.each([...methods])('lies about %s, with an answer that could be one', (method) => {
    const views = (PARAMS[method] ?? []).map((params) => ({
      chain,
      tip: chain.tip,
      passesOn: false,
      random,
      params,
    }))
    const told = views.flatMap((view) =>
      LIES.filter((lie) => lie !== 'garbage' && lie !== 'silence').flatMap((lie) => {
        const honest = answer(view, method, view.params)
        expect(honest).toHaveProperty('result')
        return lieAbout(lie, method, honest, view) ?? []
      }),
    )
    expect(told.length).toBeGreaterThan(0)
  })
})

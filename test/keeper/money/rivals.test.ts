import { type Address, encodeAbiParameters, type Hex, numberToHex, pad } from 'viem'
import { expect, it } from 'vitest'
import type { Head, MinedLog, MinedTransaction } from '../../../src/chain/nodes.ts'
import type { AgentConfig } from '../../../src/config/config.ts'
import { createRivals } from '../../../src/keeper/money/rivals.ts'
import { createLog } from '../../../src/ops/log.ts'
import { LIQUIDATED_TOPIC } from '../../../src/pipeline/transactions/effects.ts'
import { SIGNER } from '../../support/workflows.ts'

const MARKET: Address = `0x${'aa'.repeat(20)}`
const RIVAL: Address = `0x${'bb'.repeat(20)}`
const word = (value: number): Hex => numberToHex(value, { size: 32 })
const NAMES = ['address', 'address', 'uint256', 'uint256', 'uint256'] as const

/** A liquidation in a block, by its number. */
const liquidation = (number: number, liquidator: Address = RIVAL): MinedLog => ({
  address: MARKET,
  topics: [LIQUIDATED_TOPIC, word(1), pad(RIVAL), pad(RIVAL)],
  index: 0,
  data: encodeAbiParameters(
    NAMES.map((type) => ({ type })),
    [liquidator, liquidator, BigInt(1_000 * number), 5n, 0n],
  ),
  blockNumber: BigInt(number),
  blockHash: word(number),
  hash: word(1_000 + number),
})

/** Nodes in agreement about these, each block with a base fee of 7 wei and its number of wei above it. */
function watch(logs: MinedLog[], lost: readonly number[] = []) {
  const asked: string[] = []
  const chain = { head: 1_000n, nowMs: 0 }
  const headAt = (number: bigint): Head => ({
    number,
    hash: word(Number(number)),
    parentHash: word(0),
    timestampS: 12 * Number(number),
    baseFeePerGasWei: 7n,
  })
  const mined = (number: number) => ({
    receipt: { effectiveGasPriceWei: BigInt(7 + number), blockHash: word(number) },
  })
  const rivals = createRivals(
    [{ signer: { address: SIGNER } } as AgentConfig],
    { markets: [{ address: MARKET }] } as never,
    {
      clock: { monotonicMs: () => chain.nowMs } as never,
      log: createLog({ level: 'silent', secrets: [] }),
      nodes: {
        recent: async () => headAt(chain.head),
        logs: async ({ fromBlock, toBlock, addresses, topic }) => {
          asked.push(`${fromBlock}-${toBlock}`)
          expect([addresses, topic]).toEqual([[MARKET], LIQUIDATED_TOPIC])
          return logs.filter(({ blockNumber }) => blockNumber >= fromBlock && blockNumber <= toBlock)
        },
        transaction: async (hash) => {
          asked.push('transaction')
          const number = Number(hash) - 1_000
          return lost.includes(number) ? null : (mined(number) as MinedTransaction)
        },
        block: async (number) => headAt(number),
      },
    },
  )
  const read = async (head: bigint) => {
    Object.assign(chain, { head, nowMs: chain.nowMs + 60_001 })
    const before = asked.length
    rivals.begin()
    await expect.poll(() => asked.length).toBeGreaterThan(before)
  }
  return { rivals, read, asked }
}

it('is what others gave above the base fee, read once, and nothing of ours', async () => {
  const logs = [liquidation(100), liquidation(900), liquidation(950, SIGNER)]
  const { rivals, read, asked } = watch(logs)
  expect(rivals.now()).toEqual([])
  await read(1_000n)
  const first = { marketAddress: MARKET, repayAssets: 900_000n, tipWei: 900n, atMs: 10_800_000 }
  await expect.poll(rivals.now).toEqual([first])
  logs.push(liquidation(1_001))
  await read(1_002n)
  await expect.poll(() => rivals.now().map(({ tipWei }) => tipWei)).toEqual([900n, 1_001n])
  expect(asked).toEqual(['700-1000', 'transaction', '1001-1002', 'transaction'])
})

it('looks at ten of a read, leaves out what too few nodes have, and what is a day old', async () => {
  const logs = Array.from({ length: 30 }, (_, index) => liquidation(901 + index))
  const { rivals, read, asked } = watch(logs, [930])
  await read(1_000n)
  await expect.poll(() => rivals.now().length).toBe(9)
  expect(asked.filter((each) => each === 'transaction')).toHaveLength(10)
  expect(rivals.now().at(-1)?.tipWei).toBe(929n)
  await read(930n + 7_200n)
  await expect.poll(() => rivals.now().length).toBe(0)
})

import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { KeeperEvent } from '../../src/ops/events.ts'
import { createKeeperScene, type KeeperScene, reached } from '../support/keeper-scene.ts'

let world: KeeperScene
beforeAll(async () => {
  world = await createKeeperScene()
})
afterAll(() => world.stop())

const GWEI = 10n ** 9n
/** `fees.maxFeePerGasWei` of the shipped liquidator. */
const CAP_WEI = 300n * GWEI
/** A keeper looks for a head ten times a second: it sees every other block. */
const BLOCK_MS = 50

/** What a signer sent, as the chain has it. */
async function minedOf(signer: Address) {
  const { client } = world.scene
  const head = await client.getBlockNumber()
  const numbers = Array.from({ length: Number(head) + 1 }, (_, number) => BigInt(number))
  const blocks = await Promise.all(
    numbers.map((blockNumber) => client.getBlock({ blockNumber, includeTransactions: true })),
  )
  return blocks
    .flatMap(({ transactions }) => transactions)
    .filter(({ from }) => from.toLowerCase() === signer.toLowerCase())
}

it('offers nothing above its cap while the base fee is twenty times as high for 100 blocks, and ends all it began', async () => {
  const { client } = world.scene
  await world.openUnderWater()
  const mine = async (baseFeePerGas: bigint) => {
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas })
    await client.mine({ blocks: 1 })
  }
  await mine(4n * GWEI)
  const keeper = await world.start()
  await world.mineEvery(0)
  await keeper.until((event) => event.type === 'slot' && event.state === 'sent')
  for (let block = 0; block < 100; block += 1) {
    await mine(80n * GWEI)
    await sleep(BLOCK_MS)
  }
  await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 4n * GWEI })
  await world.mineEvery(1)
  const ends = ['succeeded', 'expired', 'cancelled', 'reverted'].map((state) => reached(state))
  await keeper.until((event: KeeperEvent) => ends.some((is) => is(event)))
  const mined = await minedOf(world.signer)
  expect(mined.map(({ nonce }) => nonce)).toEqual(mined.map((_, index) => index))
  expect(mined.length).toBeGreaterThanOrEqual(2)
  for (const { maxFeePerGas } of mined) expect(maxFeePerGas ?? 0n).toBeLessThanOrEqual(CAP_WEI)
  // Raised beyond the first offer, which the spike left below the base fee.
  expect(mined.some(({ maxFeePerGas }) => (maxFeePerGas ?? 0n) > 80n * GWEI)).toBe(true)
})

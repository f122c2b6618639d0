import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { kinkedRateModelAbi } from '../../../sandbox/contracts/abis.ts'
import { by, createWorld, from, refusal, type World, wad } from './world.ts'

let world: World
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createWorld()
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

test('a price of zero, beyond 128 bits, from the future or from before the last one is refused', async () => {
  const { oracle, client, feeder } = world
  const { number: blockNumber, timestamp } = await client.getBlock()
  const [, lastAsOf] = await oracle.read.read()
  const set = (priceWad: bigint, sourceAsOf: bigint) =>
    oracle.simulate.setPrice([priceWad, sourceAsOf], { ...from(feeder), blockNumber })
  await set(1n, timestamp)
  await set(2n ** 128n - 1n, lastAsOf)
  expect(await refusal(set(0n, timestamp))).toEqual(['PriceOutOfRange', 0n])
  expect(await refusal(set(2n ** 128n, timestamp))).toEqual(['PriceOutOfRange', 2n ** 128n])
  expect(await refusal(set(wad, timestamp + 1n))).toEqual(['SourceInFuture', timestamp + 1n, timestamp])
  expect(await refusal(set(wad, lastAsOf - 1n))).toEqual(['SourceWentBackwards', lastAsOf - 1n, lastAsOf])
})

test('only a feeder feeds, and only states that exist', async () => {
  const { oracle, allocator, feeder } = world
  const [name] = await refusal(oracle.simulate.setState([1], from(allocator)))
  expect(name).toBe('AccessControlUnauthorizedAccount')
  await oracle.simulate.setState([3], from(feeder))
  expect(await refusal(oracle.simulate.setState([4], from(feeder)))).toEqual(['UnknownState', 4])
})

test('a healthy price reads as stale one second past its age limit, and as healthy at it', async () => {
  const { oracle, client } = world
  const [, , updatedAt] = await oracle.read.read()
  const stateAfter = async (seconds: bigint) => {
    await client.setNextBlockTimestamp({ timestamp: updatedAt + seconds })
    await client.mine({ blocks: 1 })
    const [, , , state] = await oracle.read.read({ blockNumber: await client.getBlockNumber() })
    return state
  }
  expect(await stateAfter(3_600n)).toBe(1)
  expect(await stateAfter(3_601n)).toBe(2)
})

test('a state of blocked stays blocked whatever the age', async () => {
  const { oracle, feeder } = world
  await oracle.write.setState([3], by(feeder))
  await world.pass(10_000)
  const [, , , state] = await oracle.read.read()
  expect(state).toBe(3)
})

test('the borrow rate meets its figures at 0, the kink, full utilization and beyond', async () => {
  const { lens, market, client } = world
  const { rateModel } = await lens.read.market([market.address])
  const rate = (utilizationWad: bigint) =>
    client.readContract({
      address: rateModel.rateModel,
      abi: kinkedRateModelAbi,
      functionName: 'borrowRatePerSecond',
      args: [utilizationWad],
    })
  const percentAYear = async (utilizationWad: bigint) =>
    Number((await rate(utilizationWad)) * 31_536_000n) / 1e16
  expect(await percentAYear(0n)).toBeCloseTo(1, 6)
  expect(await percentAYear((wad * 4n) / 10n)).toBeCloseTo(3, 6)
  expect(await percentAYear((wad * 8n) / 10n)).toBeCloseTo(5, 6)
  expect(await percentAYear((wad * 9n) / 10n)).toBeCloseTo(42.5, 6)
  expect(await percentAYear(wad)).toBeCloseTo(80, 6)
  expect(await rate(wad * 2n)).toBe(await rate(wad))
})

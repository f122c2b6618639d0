import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { by, ceilDiv, createWorld, eth, from, never, refusal, usd, type World, wad } from './world.ts'

let world: World
let prime: Address
let growth: Address
let bob: Address
let liquidator: Address
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createWorld()
  prime = world.prime.address
  growth = world.growth.address
  bob = await world.person(usd('1000000'), eth('100'))
  liquidator = await world.person(usd('1000000'), 0n)
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

/** Bob puts up 10 sETH (30,000 sUSD) and borrows from the prime vault. */
async function openDebt(debt: bigint) {
  await world.market.write.depositCollateral([eth('10')], by(bob))
  await world.market.write.borrow([prime, debt], by(bob))
}

/** Bob owes 20,000 sUSD on 10 sETH worth 25,000, so his health is 25,000 × 0.78 / 20,000 = 0.975. */
async function sinkBob() {
  await openDebt(usd('20000'))
  await world.price('2500')
}

const liquidate = (repay: bigint, { minOut = 0n, deadline = never } = {}) =>
  world.market.simulate.liquidate([prime, bob, repay, minOut, liquidator, deadline], from(liquidator))

test('a borrower is liquidatable one unit of value below a health of one and not at one', async () => {
  const { market, oracle, client, admin } = world
  await openDebt(usd('20000'))
  const { number, timestamp } = await client.getBlock()
  const debt = await market.read.totalDebtOf([bob], { blockNumber: number })
  const worth = ceilDiv(debt * 10_000n, 7_800n)
  const liquidateAtWorth = async (value: bigint) => {
    // Ten sETH are worth `value` at this price, and no second passes in which the debt could grow.
    await client.setNextBlockTimestamp({ timestamp })
    await oracle.write.setPrice([value * 10n ** 11n, timestamp], by(admin))
    const at = { blockNumber: await client.getBlockNumber() }
    const health = await market.read.healthFactorWad([bob], at)
    const call = market.simulate.liquidate([prime, bob, 1_000_000n, 0n, liquidator, never], {
      ...from(liquidator),
      ...at,
    })
    return { health, call }
  }
  const healthy = await liquidateAtWorth(worth)
  expect(healthy.health).toBeGreaterThanOrEqual(wad)
  expect(await refusal(healthy.call)).toEqual(['NotLiquidatable', healthy.health])
  const unhealthy = await liquidateAtWorth(worth - 1n)
  expect(unhealthy.health).toBeLessThan(wad)
  await unhealthy.call
})

test('a liquidation may repay the close factor of the debt, rounded up, and not one unit more', async () => {
  await sinkBob()
  const { timestamp } = await world.client.getBlock()
  await world.client.setNextBlockTimestamp({ timestamp: timestamp + 60n })
  await world.client.mine({ blocks: 1 })
  const blockNumber = await world.client.getBlockNumber()
  const debt = await world.market.read.debtOf([prime, bob], { blockNumber })
  const limit = ceilDiv(debt * 5_000n, 10_000n)
  const terms = { ...from(liquidator), blockNumber }
  const attempt = (repay: bigint) =>
    world.market.simulate.liquidate([prime, bob, repay, 0n, liquidator, never], terms)
  await attempt(limit)
  expect(await refusal(attempt(limit + 1n))).toEqual(['RepayAboveCloseFactor', limit + 1n, limit])
  expect(await refusal(attempt(0n))).toEqual(['ZeroAmount'])
})

test('the seized collateral is the repayment and its bonus at the price, rounded down', async () => {
  await sinkBob()
  const repay = usd('1000.000001')
  const seized = (repay * 10_700n * eth('1')) / (usd('2500') * 10_000n)
  expect((await liquidate(repay)).result).toEqual([1n, seized])
  expect((await liquidate(repay, { minOut: seized })).result[1]).toBe(seized)
  expect(await refusal(liquidate(repay, { minOut: seized + 1n }))).toEqual([
    'CollateralOutBelowMin',
    seized,
    seized + 1n,
  ])
})

test('a liquidation runs at its deadline and not one second past', async () => {
  await sinkBob()
  const blockNumber = await world.client.getBlockNumber()
  const { timestamp } = await world.client.getBlock({ blockNumber })
  const attempt = (deadline: bigint) =>
    world.market.simulate.liquidate([prime, bob, 1_000_000n, 0n, liquidator, deadline], {
      ...from(liquidator),
      blockNumber,
    })
  await attempt(timestamp)
  expect(await refusal(attempt(timestamp - 1n))).toEqual(['DeadlinePassed', timestamp - 1n, timestamp])
})

test('an exact approval ends at zero', async () => {
  const { market, sUSD } = world
  await sinkBob()
  await sUSD.write.approve([market.address, usd('5000')], by(liquidator))
  await market.write.liquidate([prime, bob, usd('5000'), 0n, liquidator, never], by(liquidator))
  expect(await sUSD.read.allowance([liquidator, market.address])).toBe(0n)
})

test('a claim is settled once, by its liquidator alone, after its delay, to its recipient', async () => {
  const { market, sETH } = world
  const recipient = await world.person(0n, 0n)
  await sinkBob()
  for (const repay of ['100', '200', '300']) {
    await market.write.liquidate([prime, bob, usd(repay), 0n, recipient, never], by(liquidator))
  }
  expect(await market.read.openClaims([liquidator])).toEqual([1n, 2n, 3n])
  const [, , , , collateral, settleableAt] = await market.read.claim([1n])
  const { client } = world
  await client.setNextBlockTimestamp({ timestamp: settleableAt + 10n })
  await client.mine({ blocks: 1 })

  expect(await refusal(market.simulate.settleLiquidationClaim([1n], from(bob)))).toEqual([
    'ClaimNotYours',
    1n,
  ])
  expect(await refusal(market.simulate.settleLiquidationClaim([9n], from(liquidator)))).toEqual([
    'ClaimNotYours',
    9n,
  ])
  await market.write.settleLiquidationClaim([1n], by(liquidator))
  expect(await sETH.read.balanceOf([recipient])).toBe(collateral)
  expect(await refusal(market.simulate.settleLiquidationClaim([1n], from(liquidator)))).toEqual([
    'ClaimAlreadySettled',
    1n,
  ])
  expect(await market.read.openClaims([liquidator])).toEqual([3n, 2n])
  await market.write.settleLiquidationClaim([2n], by(liquidator))
  await market.write.settleLiquidationClaim([3n], by(liquidator))
  expect(await market.read.openClaims([liquidator])).toEqual([])
})

test('a claim can be settled in the second its delay ends and not one before', async () => {
  const { market, client } = world
  await sinkBob()
  await market.write.liquidate([prime, bob, usd('100'), 0n, liquidator, never], by(liquidator))
  const { timestamp } = await client.getBlock()
  const settleAt = async (seconds: bigint) => {
    await client.setNextBlockTimestamp({ timestamp: timestamp + seconds })
    await client.mine({ blocks: 1 })
    const blockNumber = await client.getBlockNumber()
    return market.simulate.settleLiquidationClaim([1n], { ...from(liquidator), blockNumber })
  }
  expect(await refusal(settleAt(1n))).toEqual(['ClaimNotYetSettleable', 1n, timestamp + 2n])
  await settleAt(2n)
})

test('bad debt falls on the liquidated vault alone and lowers its share price', async () => {
  const { market } = world
  await openDebt(usd('12000'))
  await market.write.borrow([growth, usd('8000')], by(bob))
  await world.price('500')
  const share = 10n ** 12n
  const primePrice = await world.prime.read.convertToAssets([share])
  const growthPrice = await world.growth.read.convertToAssets([share])
  // 10 sETH at 500 with a bonus of 7 % are exhausted by 4,672.9 sUSD.
  await market.write.liquidate([prime, bob, usd('4672.897197'), 0n, liquidator, never], by(liquidator))
  expect(await market.read.collateralOf([bob])).toBe(0n)
  expect(await market.read.debtSharesOf([prime, bob])).toBe(0n)
  const badDebt = await market.read.badDebtOf([prime])
  expect(badDebt).toBeGreaterThan(usd('7327'))
  expect(await market.read.totalBadDebt()).toBe(badDebt)
  expect(await market.read.badDebtOf([growth])).toBe(0n)
  expect(await world.prime.read.convertToAssets([share])).toBeLessThan(primePrice)
  expect(await world.growth.read.convertToAssets([share])).toBeGreaterThanOrEqual(growthPrice)

  await market.write.realizeBadDebt([growth, bob], by(liquidator))
  expect(await market.read.badDebtOf([growth])).toBeGreaterThanOrEqual(usd('8000'))
  expect(await market.read.totalDebtOf([bob])).toBe(0n)
  expect(await world.growth.read.convertToAssets([share])).toBeLessThan(growthPrice)
  expect(await refusal(market.simulate.realizeBadDebt([growth, bob], from(liquidator)))).toEqual(['NoDebt'])
})

test('bad debt is not realized while collateral remains', async () => {
  await sinkBob()
  const early = world.market.simulate.realizeBadDebt([prime, bob], from(liquidator))
  expect(await refusal(early)).toEqual(['CollateralRemains', eth('10')])
})

test('the last share of a debt can be liquidated although half of it burns none', async () => {
  const { market } = world
  await market.write.depositCollateral([eth('0.000000001')], by(bob))
  await market.write.borrow([prime, 1n], by(bob))
  await world.pass(86_400)
  await world.price('0.5')
  expect(await market.read.debtOf([prime, bob])).toBe(2n)
  expect(await refusal(liquidate(3n))).toEqual(['RepayAboveCloseFactor', 3n, 2n])
  await market.write.liquidate([prime, bob, 2n, 0n, liquidator, never], by(liquidator))
  expect(await market.read.debtSharesOf([prime, bob])).toBe(0n)
})

test('the gate lets authorized liquidators alone through', async () => {
  const { market, admin } = world
  await sinkBob()
  await market.write.setLiquidatorGate([true], by(admin))
  expect(await refusal(liquidate(usd('1')))).toEqual(['LiquidatorNotAuthorized', liquidator])
  await world.authorize(liquidator)
  await liquidate(usd('1'))
})

import { type Address, parseEventLogs } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { lendingMarketAbi } from '../../../sandbox/contracts/abis.ts'
import { by, ceilDiv, createWorld, eth, from, never, ray, refusal, usd, type World, wad } from './world.ts'

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

test('health counts the decimals of both assets and the liquidation threshold', async () => {
  await openDebt(usd('20000'))
  const debt = await world.market.read.totalDebtOf([bob])
  const health = await world.market.read.healthFactorWad([bob])
  expect(health).toBe((usd('30000') * 7_800n * wad) / (debt * 10_000n))
})

test('lends up to the LLTV and not one unit more, and what it calls borrowable can be borrowed', async () => {
  await world.market.write.depositCollateral([eth('10')], by(bob))
  const limit = usd('21000')
  const tooMuch = world.market.simulate.borrow([prime, limit + 1n], from(bob))
  expect(await refusal(tooMuch)).toEqual(['AboveLltv', expect.any(BigInt), limit])
  await world.market.write.borrow([prime, usd('1000')], by(bob))
  await world.pass(600)
  const borrowable = await world.market.read.maxBorrowable([bob])
  await world.market.write.borrow([prime, borrowable - usd('0.01')], by(bob))
  expect(await world.market.read.totalDebtOf([bob])).toBeLessThanOrEqual(limit)
})

test('a partition lends its own cash and not one unit more', async () => {
  await world.market.write.depositCollateral([eth('100')], by(bob))
  await world.price('100000')
  const cash = usd('1000000')
  await world.market.simulate.borrow([prime, cash], from(bob))
  const over = world.market.simulate.borrow([prime, cash + 1n], from(bob))
  expect(await refusal(over)).toEqual(['InsufficientCash', cash + 1n, cash])
})

test('interest accrues by the second at the rate its utilization gives', async () => {
  const { market, client } = world
  await openDebt(usd('20000'))
  const opened = await client.getBlock()
  const indexBefore = await market.read.borrowIndexRay()
  const shares = await market.read.debtSharesOf([prime, bob])
  const debt = (shares * indexBefore) / ray
  const utilization = (debt * wad) / (debt + (await market.read.totalCash()))
  expect(await market.read.utilizationWad()).toBe(utilization)
  // 1 % a year, and 4 % more at the kink of 80 %.
  const rate = 317_097_919n + (1_268_391_679n * utilization) / ((wad * 8n) / 10n)
  expect(await market.read.borrowRatePerSecond()).toBe(rate)
  expect(await market.read.supplyRatePerSecond()).toBe((rate * utilization) / wad)

  await client.setNextBlockTimestamp({ timestamp: opened.timestamp + 31_536_000n })
  await client.mine({ blocks: 1 })
  const index = indexBefore + ceilDiv(indexBefore * rate * 31_536_000n, wad)
  // Pinned to its block: a call without one runs a little later.
  const blockNumber = await client.getBlockNumber()
  expect(await market.read.borrowIndexRay({ blockNumber })).toBe(index)
  expect(await market.read.debtOf([prime, bob], { blockNumber })).toBe(ceilDiv(shares * index, ray))
  const cash = usd('1000000') - usd('20000')
  expect(await market.read.allocatedAssets([prime], { blockNumber })).toBe(cash + (shares * index) / ray)
})

test('repaying more than the debt takes the debt alone and leaves no share behind', async () => {
  const { market, sUSD } = world
  await openDebt(usd('20000'))
  await world.pass(86_400)
  const before = await sUSD.read.balanceOf([bob])
  const hash = await market.write.repay([prime, bob, usd('900000')], by(bob))
  const { logs } = await world.client.getTransactionReceipt({ hash })
  const [repaid] = parseEventLogs({ abi: lendingMarketAbi, logs, eventName: 'Repaid' })
  expect(before - (await sUSD.read.balanceOf([bob]))).toBe(repaid?.args.assets)
  expect(await market.read.debtSharesOf([prime, bob])).toBe(0n)
  expect(await market.read.principalOf([prime, bob])).toBe(0n)
  expect(await market.read.healthFactorWad([bob])).toBe(2n ** 256n - 1n)
  expect(await refusal(market.simulate.repay([prime, bob, 1n], from(bob)))).toEqual(['NoDebt'])
})

test('a repayment too small to burn a share is refused, so nothing is paid for nothing', async () => {
  await openDebt(usd('20000'))
  await world.pass(86_400)
  expect(await refusal(world.market.simulate.repay([prime, bob, 1n], from(bob)))).toEqual([
    'RoundsToZeroShares',
    1n,
  ])
})

test('an oracle that is not healthy stops borrowing, withdrawal and liquidation', async () => {
  const { market, oracle, admin } = world
  await sinkBob()
  for (const state of [0, 2, 3]) {
    await oracle.write.setState([state], by(admin))
    const refused = ['OracleNotHealthy', state]
    expect(await refusal(market.simulate.borrow([prime, 1n], from(bob)))).toEqual(refused)
    expect(await refusal(market.simulate.withdrawCollateral([1n], from(bob)))).toEqual(refused)
    expect(await refusal(liquidate(usd('1')))).toEqual(refused)
    expect(await market.read.isLiquidatable([bob])).toBe(false)
    expect(await market.read.maxBorrowable([bob])).toBe(0n)
    await market.simulate.repay([prime, bob, usd('1')], from(bob))
  }
})

test('a pause stops borrowing, withdrawal and liquidation, never repayment or deposit', async () => {
  const { market, admin } = world
  await sinkBob()
  await market.write.setPaused([true], by(admin))
  expect(await refusal(market.simulate.borrow([prime, 1n], from(bob)))).toEqual(['MarketPaused'])
  expect(await refusal(market.simulate.withdrawCollateral([1n], from(bob)))).toEqual(['MarketPaused'])
  expect(await refusal(liquidate(usd('1')))).toEqual(['MarketPaused'])
  await market.simulate.repay([prime, bob, usd('1')], from(bob))
  await market.simulate.depositCollateral([1n], from(bob))
})

test('tokens sent straight to the market change no account', async () => {
  const { market, sUSD, sETH } = world
  await openDebt(usd('10000'))
  const blockOf = async () => ({ blockNumber: await world.client.getBlockNumber() })
  const read = async () => {
    const at = await blockOf()
    return Promise.all([
      market.read.totalCash(at),
      market.read.partition([prime], at).then(([cash]) => cash),
      market.read.collateralOf([bob], at),
      market.read.debtSharesOf([prime, bob], at),
    ])
  }
  const before = await read()
  await sUSD.write.transfer([market.address, usd('5000')], by(bob))
  await sETH.write.transfer([market.address, eth('1')], by(bob))
  expect(await read()).toEqual(before)
})

test('lists eight vaults and not nine', async () => {
  const { market, admin } = world
  const { length } = await market.read.vaults()
  for (let listed = length; listed < 8; listed++) {
    const vault = await world.newVault()
    await market.write.addVault([vault.address], by(admin))
  }
  const ninth = await world.newVault()
  expect(await refusal(market.simulate.addVault([ninth.address], from(admin)))).toEqual(['VaultsFull'])
})

test('only the owner lists vaults, and only a listed vault supplies, withdraws or lends', async () => {
  const { market, admin } = world
  expect(await refusal(market.simulate.addVault([growth], from(bob)))).toEqual([
    'OwnableUnauthorizedAccount',
    bob,
  ])
  expect(await refusal(market.simulate.addVault([growth], from(admin)))).toEqual([
    'VaultAlreadyListed',
    growth,
  ])
  expect(await refusal(market.simulate.supply([1n], from(bob)))).toEqual(['VaultNotListed', bob])
  expect(await refusal(market.simulate.withdraw([1n], from(bob)))).toEqual(['VaultNotListed', bob])
  expect(await refusal(market.simulate.borrow([bob, 1n], from(bob)))).toEqual(['VaultNotListed', bob])
})

test('the lens says of a facility what the market says', async () => {
  const { market, lens } = world
  await sinkBob()
  const at = { blockNumber: await world.client.getBlockNumber() }
  const [facility] = await lens.read.facilities([market.address, [prime], [bob]], at)
  expect(facility).toEqual({
    vault: prime,
    borrower: bob,
    principalAssets: usd('20000'),
    debtAssets: await market.read.debtOf([prime, bob], at),
    debtShares: await market.read.debtSharesOf([prime, bob], at),
    maxBorrowableAssets: await market.read.maxBorrowable([bob], at),
    healthFactorWad: await market.read.healthFactorWad([bob], at),
    collateralAssets: eth('10'),
    totalDebtAssets: await market.read.totalDebtOf([bob], at),
    liquidatable: true,
  })
  expect(await refusal(lens.read.facilities([market.address, [prime], []]))).toEqual([
    'LengthMismatch',
    1n,
    0n,
  ])
})

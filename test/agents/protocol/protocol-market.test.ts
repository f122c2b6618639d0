import type { Address } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { healthFactorWad } from '../../../agents/protocol/health.ts'
import { accruedDebt } from '../../../agents/protocol/interest.ts'
import { repayLimit, repayThatExhausts, seizedCollateral } from '../../../agents/protocol/liquidation.ts'
import type { Nodes } from '../../../src/chain/nodes.ts'
import {
  createBatch,
  readBalance,
  readClaim,
  readCollateral,
  readDebt,
  readDebtShares,
  readDecimals,
  readHealthFactor,
  readOpenClaims,
  readOracle,
  readTotalDebt,
} from '../../../src/observe/views.ts'
import { by, createWorld, eth, from, never, refusal, usd, type World } from '../../sandbox/contracts/world.ts'

const BONUS_BPS = 700
const THRESHOLD_BPS = 7_800
const CLOSE_FACTOR_BPS = 5_000

let world: World
let borrower: Address
let liquidator: Address
let vault: Address
let nodes: Pick<Nodes, 'calls'>

beforeAll(async () => {
  world = await createWorld()
  const { market, client, prime } = world
  nodes = {
    calls: (calls) =>
      Promise.all(calls.map(async ({ to, data }) => (await client.call({ to, data })).data ?? null)),
  }
  vault = prime.address
  await world.price('2000')
  borrower = await world.person(0n, eth('3.141592653589793238'))
  liquidator = await world.person(usd('100000'), 0n)
  await market.write.depositCollateral([eth('3.141592653589793238')], by(borrower))
  await market.write.borrow([vault, usd('4321.123456')], by(borrower))
  await world.pass(12_345)
  await world.price('1700.000000000000000123')
})
afterAll(() => world.stop())

/** Read the position as observation does, through our own views. */
async function position() {
  const { market, oracle } = world
  const batch = createBatch()
  const reads = {
    price: batch.ask(readOracle(oracle.address)),
    collateral: batch.ask(readCollateral(market.address, borrower)),
    totalDebt: batch.ask(readTotalDebt(market.address, borrower)),
    debt: batch.ask(readDebt(market.address, vault, borrower)),
    shares: batch.ask(readDebtShares(market.address, vault, borrower)),
    health: batch.ask(readHealthFactor(market.address, borrower)),
    loanDecimals: batch.ask(readDecimals(world.sUSD.address)),
    balance: batch.ask(readBalance(world.sUSD.address, liquidator)),
  }
  await batch.run(nodes)
  const price = { priceWad: reads.price()?.priceWad ?? 0n, loanDecimals: 6, collateralDecimals: 18 }
  return {
    price,
    terms: { price, liquidationBonusBps: BONUS_BPS },
    oracleState: reads.price()?.state,
    collateralAssets: reads.collateral() ?? 0n,
    totalDebtAssets: reads.totalDebt() ?? 0n,
    debtAssets: reads.debt() ?? 0n,
    debtShares: reads.shares() ?? 0n,
    healthWad: reads.health(),
    loanDecimals: reads.loanDecimals(),
    balance: reads.balance(),
  }
}

it('reads the market through its own views', async () => {
  const seen = await position()
  expect(seen).toMatchObject({
    price: { priceWad: 1_700_000_000_000_000_000_123n },
    oracleState: 1,
    collateralAssets: eth('3.141592653589793238'),
    loanDecimals: 6,
    balance: usd('100000'),
  })
  expect(seen.debtAssets).toBe(seen.totalDebtAssets)
  expect(seen.debtAssets).toBeGreaterThan(usd('4321.123456'))
  expect(seen.debtShares).toBeLessThanOrEqual(seen.debtAssets)
})

it('computes the health factor that the market computes', async () => {
  const seen = await position()
  const ours = healthFactorWad(
    {
      collateralAssets: seen.collateralAssets,
      debtAssets: seen.totalDebtAssets,
      liquidationThresholdBps: THRESHOLD_BPS,
    },
    seen.price,
  )
  expect(ours).toBe(seen.healthWad)
  expect(ours).toBeLessThan(10n ** 18n)
})

it('computes the seizure and the repay limit that the market enforces', async () => {
  const seen = await position()
  const limit = repayLimit(seen.debtAssets, CLOSE_FACTOR_BPS)
  const liquidate = (repay: bigint) =>
    world.market.simulate.liquidate([vault, borrower, repay, 0n, liquidator, never], from(liquidator))
  const [, seized] = (await liquidate(limit)).result
  expect(seized).toBe(seizedCollateral(limit, seen.collateralAssets, seen.terms))
  expect((await refusal(liquidate(limit + 100n)))[0]).toBe('RepayAboveCloseFactor')
})

it('grows debt no faster than the market does, and by no more than a unit less', async () => {
  const before = await position()
  const rate = await world.market.read.borrowRatePerSecond()
  const { timestamp } = await world.client.getBlock()
  await world.pass(15)
  const elapsedS = Number((await world.client.getBlock()).timestamp - timestamp)
  const after = await position()
  const ours = accruedDebt(before.debtAssets, rate, elapsedS)
  expect(after.debtAssets - ours).toBeGreaterThanOrEqual(0n)
  expect(after.debtAssets - ours).toBeLessThanOrEqual(1n)
})

it('exhausts the collateral with the repayment that it computes, and not with a unit less', async () => {
  await world.price('500')
  const seen = await position()
  const repay = repayThatExhausts(seen.collateralAssets, seen.terms)
  const liquidate = async (assets: bigint) => {
    const { result } = await world.market.simulate.liquidate(
      [vault, borrower, assets, 0n, liquidator, never],
      from(liquidator),
    )
    return result[1]
  }
  expect(await liquidate(repay)).toBe(seen.collateralAssets)
  expect(await liquidate(repay - 1n)).toBeLessThan(seen.collateralAssets)
})

it('reads the claim that a liquidation opens', async () => {
  const { market } = world
  await market.write.liquidate([vault, borrower, usd('100'), 0n, liquidator, never], by(liquidator))
  const { timestamp } = await world.client.getBlock()
  const batch = createBatch()
  const ids = batch.ask(readOpenClaims(market.address, liquidator))
  const claim = batch.ask(readClaim(market.address, 1n))
  await batch.run(nodes)
  expect(ids()).toEqual([1n])
  expect(claim()).toEqual({ collateralAssets: eth('0.214'), settleableAtS: Number(timestamp) + 2 })
})

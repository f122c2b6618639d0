import type { Address } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { healthFactorWad } from '../../../agents/protocol/health.ts'
import { accruedDebt } from '../../../agents/protocol/interest.ts'
import { repayLimit, repayThatExhausts, seizedCollateral } from '../../../agents/protocol/liquidation.ts'
import { liquidationViews, tokenViews } from '../../../agents/protocol/liquidation-views.ts'
import { createWave, type Wave } from '../../../agents/protocol/reading.ts'
import { by, createWorld, eth, from, never, refusal, usd, type World } from '../../sandbox/contracts/world.ts'
import { inOrder } from '../../support/in-order.ts'

const BONUS_BPS = 700
const THRESHOLD_BPS = 7_800
const CLOSE_FACTOR_BPS = 5_000

let world: World
let borrower: Address
let liquidator: Address
let vault: Address

beforeAll(async () => {
  world = await createWorld()
  const { market, prime } = world
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

/** Ask the chain what a wave asks. */
const answersTo = ({ questions }: Wave) =>
  Promise.all(
    questions.map(async ({ to, data }) => {
      const text = (await world.client.call({ to, data })).data
      return text === undefined ? ({ ok: false } as const) : ({ ok: true, text } as const)
    }),
  )

/** Read the position as the liquidator does, through our own views. */
async function position() {
  const wave = createWave()
  const { market, oracle } = world
  const reads = {
    price: wave.ask(liquidationViews, oracle.address, 'read', []),
    collateral: wave.ask(liquidationViews, market.address, 'collateralOf', [borrower]),
    totalDebt: wave.ask(liquidationViews, market.address, 'totalDebtOf', [borrower]),
    debt: wave.ask(liquidationViews, market.address, 'debtOf', [vault, borrower]),
    shares: wave.ask(liquidationViews, market.address, 'debtSharesOf', [vault, borrower]),
    health: wave.ask(liquidationViews, market.address, 'healthFactorWad', [borrower]),
    loanDecimals: wave.ask(tokenViews, world.sUSD.address, 'decimals', []),
  }
  const answers = await answersTo(wave)
  const [priceWad, , , oracleState] = reads.price(answers) ?? []
  const price = { priceWad: priceWad ?? 0n, loanDecimals: 6, collateralDecimals: 18 }
  return {
    price,
    terms: { price, liquidationBonusBps: BONUS_BPS },
    oracleState,
    collateralAssets: reads.collateral(answers) ?? 0n,
    totalDebtAssets: reads.totalDebt(answers) ?? 0n,
    debtAssets: reads.debt(answers) ?? 0n,
    debtShares: reads.shares(answers) ?? 0n,
    healthWad: reads.health(answers),
    loanDecimals: reads.loanDecimals(answers),
  }
}

inOrder('one market', () => {
  it('reads the market through its own views', async () => {
    const seen = await position()
    expect(seen).toMatchObject({
      price: { priceWad: 1_700_000_000_000_000_000_123n },
      oracleState: 1,
      collateralAssets: eth('3.141592653589793238'),
      loanDecimals: 6,
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
    const wave = createWave()
    const ids = wave.ask(liquidationViews, market.address, 'openClaims', [liquidator])
    const claim = wave.ask(liquidationViews, market.address, 'claim', [1n])
    const answers = await answersTo(wave)
    expect(ids(answers)).toEqual([1n])
    expect(claim(answers)?.slice(4, 6)).toEqual([eth('0.214'), timestamp + 2n])
  })
})

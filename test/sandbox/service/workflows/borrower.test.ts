import { type Address, decodeFunctionData, erc20Abi } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { lendingMarketAbi } from '../../../../sandbox/contracts/abis.ts'
import { inOrder } from '../../../support/in-order.ts'
import { BTC, usd } from '../../indexer/scene.ts'
import { createWorkflowScene, type WorkflowScene } from './scene.ts'

let world: WorkflowScene
let market: Address
let vault: Address

beforeAll(async () => {
  world = await createWorkflowScene()
  market = world.scene.at('btcMarket')
  vault = world.scene.at('primeVault')
})
afterAll(() => world.stop())
afterEach(() => expect(world.crashes).toEqual([]))

const BITCOIN = 10n ** 8n
const STRANGER: Address = `0x${'99'.repeat(20)}`
const ofMarket = () => ({ address: market, abi: lendingMarketAbi }) as const
const debtOf = (who: Address) =>
  world.scene.client.readContract({ ...ofMarket(), functionName: 'debtOf', args: [vault, who] })
const collateralOf = (who: Address) =>
  world.scene.client.readContract({ ...ofMarket(), functionName: 'collateralOf', args: [who] })
const allowanceOf = (token: 'sUSD' | 'sBTC', who: Address) =>
  world.scene.client.readContract({
    address: world.scene.at(token),
    abi: erc20Abi,
    functionName: 'allowance',
    args: [who, market],
  })

inOrder('a borrower on one chain', () => {
  test('a borrower deposits collateral, borrows, repays all and leaves, each to final success', async () => {
    const ann = await world.trader({ sBTC: BITCOIN, sUSD: usd('1000') })
    const { carryOut, prepare } = world
    const inMarket = { marketAddress: market, assets: String(BITCOIN) }
    expect((await carryOut(await prepare('depositCollateral', ann, inMarket), ann)).status).toBe(
      'final_success',
    )
    expect(await collateralOf(ann)).toBe(BITCOIN)
    expect(await allowanceOf('sBTC', ann)).toBe(0n)

    const loan = { marketAddress: market, vaultAddress: vault, assets: String(usd('40000')) }
    expect((await carryOut(await prepare('borrow', ann, loan), ann)).status).toBe('final_success')
    expect(await debtOf(ann)).toBeGreaterThanOrEqual(usd('40000'))

    const part = { ...loan, borrowerAddress: ann, assets: String(usd('10000')) }
    const partial = await prepare('repay', ann, part)
    expect(partial.transactions.map(({ label }) => label)).toEqual([
      'Approve exactly 10000000000 base units',
      'Repay up to 10000000000 base units',
    ])
    expect((await carryOut(partial, ann)).status).toBe('final_success')

    await world.scene.client.increaseTime({ seconds: 1_000 })
    await world.scene.client.mine({ blocks: 1 })
    const whole = await prepare('role.borrower.borrowerRepay', ann, { ...part, assets: String(usd('40900')) })
    const amounts = whole.transactions.map(
      ({ calldata }) => decodeFunctionData({ abi: [...erc20Abi, ...lendingMarketAbi], data: calldata }).args,
    )
    // The debt and less than a basis point on top, of which nothing stays allowed.
    const approved = BigInt(String(amounts[0]?.[1]))
    expect(approved).toBeLessThan(usd('30010'))
    expect(amounts).toEqual([
      [expect.any(String), approved],
      [expect.any(String), expect.any(String), approved],
      [expect.any(String), 0n],
    ])
    expect((await carryOut(whole, ann)).status).toBe('final_success')
    expect(await debtOf(ann)).toBe(0n)
    expect(await allowanceOf('sUSD', ann)).toBe(0n)

    const out = await prepare('role.borrower.borrowerWithdrawCollateral', ann, inMarket)
    expect((await carryOut(out, ann)).status).toBe('final_success')
    expect(await collateralOf(ann)).toBe(0n)
  })

  test('a borrower gets every reason that the market would have', async () => {
    const { reasons, scene } = world
    const ben = await world.trader({ sBTC: BITCOIN, sUSD: usd('10') })
    const loan = { marketAddress: market, vaultAddress: vault, assets: '1' }
    const owner = { ...loan, borrowerAddress: ben }
    const coins = { marketAddress: market, assets: '1' }
    const borrow = (input = loan) => reasons('role.borrower.borrowerBorrow', ben, input)

    expect(await reasons('borrow', undefined, loan)).toEqual(['principal_required', 'above_lltv'])
    expect(await borrow({ ...loan, marketAddress: STRANGER })).toEqual(['market_not_found', 'above_lltv'])
    expect(await borrow({ ...loan, vaultAddress: scene.at('growthVault') })).toEqual([
      'vault_not_found',
      'above_lltv',
    ])
    expect(await borrow({ ...loan, assets: '0' })).toEqual(['amount_is_zero'])
    expect(await borrow({ ...loan, assets: String(usd('3000001')) })).toEqual([
      'insufficient_market_liquidity',
      'above_lltv',
    ])
    expect(await reasons('repay', ben, owner)).toEqual(['debt_not_found'])
    expect(await reasons('repay', ben, { ...owner, marketAddress: STRANGER })).toEqual(['market_not_found'])
    expect(await reasons('depositCollateral', ben, { ...coins, assets: String(BITCOIN + 1n) })).toEqual([
      'principal_balance_too_small',
    ])
    expect(await reasons('withdrawCollateral', ben, coins)).toEqual(['insufficient_collateral'])

    await scene.deposit(BTC, ben, '1')
    const limit = usd('45000')
    // One debt share is kept back, which rounding may take, and is worth a little more than a base unit.
    expect(await borrow({ ...loan, assets: String(limit - 2n) })).toEqual([])
    expect(await borrow({ ...loan, assets: String(limit - 1n) })).toEqual(['above_lltv'])
    await scene.borrow(BTC, 'primeVault', ben, usd('22500'))
    expect(await reasons('withdrawCollateral', ben, { ...coins, assets: String(BITCOIN / 2n) })).toEqual([
      'above_lltv',
    ])
    expect(await reasons('withdrawCollateral', ben, { ...coins, assets: '49000000' })).toEqual([])
    expect(await reasons('repay', ben, { ...owner, assets: String(usd('30000')) })).toEqual([])

    // A base unit is worth less than one debt share.
    expect(await reasons('repay', ben, owner)).toEqual(['rounds_to_zero_shares'])
    const poor = await world.trader({ sUSD: usd('1') })
    expect(await reasons('repay', poor, { ...owner, assets: String(usd('2')) })).toEqual([
      'principal_balance_too_small',
    ])
    await scene.oracleState(BTC, 2)
    expect(await borrow()).toEqual(['oracle_not_healthy', 'above_lltv'])
    expect(await reasons('withdrawCollateral', ben, coins)).toEqual(['oracle_not_healthy'])
    await scene.oracleState(BTC, 1)
    await scene.pause(BTC, true)
    expect(await borrow()).toEqual(['market_paused'])
    // A more careful bound is fine.
    expect(await reasons('repay', ben, { ...owner, assets: '2' })).toEqual([])
    expect(await reasons('depositCollateral', ben, { ...coins, assets: '1' })).toEqual([])
  })
})

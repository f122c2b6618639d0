import { type Address, getAddress, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createFeeScene, DAY_S, type FeeScene, YEAR_S } from './fee-scene.ts'
import { by, ceilDiv, createWorld, eth, from, never, refusal, usd, type World, wad } from './world.ts'

let world: World
let scene: FeeScene
let owner: Address
let curator: Address
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createWorld()
  scene = await createFeeScene(world)
  owner = await world.person(0n, 0n)
  curator = await world.person(0n, 0n)
  await scene.vault.write.deposit([usd('1000000'), scene.holder], by(scene.holder))
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

const setFees = (management: number, performance: number) =>
  scene.vault.write.setFeeConfig([management, performance, owner], by(world.admin))
const setCuratorFee = (bps: number) => scene.vault.write.setCuratorFee([bps, curator], by(world.admin))
const accrue = () => scene.vault.write.accrueFees(by(curator))
const charged = () => scene.vault.read.accruedFees()
/** What a whole share is worth. */
const price = () => scene.vault.read.convertToAssets([10n ** 12n])

/** What the assets have to exceed for a gain, by the mark and the shares that were minted. */
async function markedAssets(): Promise<bigint> {
  const { vault, holder } = scene
  const owners = [holder, owner, curator, vault.address]
  const held = await Promise.all(owners.map((one) => vault.read.balanceOf([one])))
  const minted = held.reduce((sum, one) => sum + one, 0n)
  return ceilDiv((await vault.read.highWaterMark()) * (minted + 10n ** 6n), wad * 10n ** 6n)
}

test('charges nothing before a fee is set, and then nothing of what was gained until then', async () => {
  const { vault } = scene
  const supply = await vault.read.totalSupply()
  await scene.gain(usd('100000'))
  await scene.later(YEAR_S)
  await setFees(500, 3_000)
  expect(await charged()).toEqual([0n, 0n, 0n])
  expect(await vault.read.totalSupply()).toBe(supply)
  const top = (usd('1100000') + 1n) * wad * 10n ** 6n
  expect(await vault.read.highWaterMark()).toBe(ceilDiv(top, supply + 10n ** 6n))
  await scene.gain(usd('10'))
  // A second of management, and a part of what came since, less that.
  const second = (usd('1100010') * 500n) / (10_000n * YEAR_S)
  const gained = usd('1100010') - second + 1n - (await markedAssets())
  expect(await charged()).toEqual([second, (gained * 3_000n) / 10_000n, 0n])
  expect(gained).toBeGreaterThan(usd('9.9'))
})

test('a year of management is its part of all assets', async () => {
  await setFees(200, 0)
  await scene.later(YEAR_S)
  await accrue()
  expect(await charged()).toEqual([usd('20000'), 0n, 0n])
  expect(await price()).toBe(usd('0.98'))
  const { vault } = scene
  const earned = await vault.read.balanceOf([owner])
  // Worth the fee, and rounded down.
  expect(await vault.read.convertToAssets([earned + 1n])).toBe(usd('20000'))
})

test('a gain is charged once, however often and by whomever the fees are accrued', async () => {
  const { vault, holder } = scene
  await setFees(0, 1_000)
  await scene.gain(usd('100000'))
  const due = [0n, usd('10000'), 0n]
  expect(await charged()).toEqual(due)
  const [supply, worth, left] = await Promise.all([
    vault.read.totalSupply(),
    price(),
    vault.read.maxWithdraw([holder]),
  ])
  // What is due is in the price already: minting it changes neither price nor supply nor what a holder gets.
  await accrue()
  expect(await vault.read.totalSupply()).toBe(supply)
  expect([await price(), await vault.read.maxWithdraw([holder])]).toEqual([worth, left])
  expect(worth).toBe(usd('1.09') - 1n)
  expect(await vault.read.balanceOf([owner])).toBeGreaterThan(0n)
  const { timestamp } = await world.client.getBlock()
  await world.client.setNextBlockTimestamp({ timestamp })
  await accrue()
  await vault.write.withdraw([usd('10'), holder, holder], by(holder))
  await scene.later(YEAR_S)
  await accrue()
  expect(await charged()).toEqual(due)
})

test('the mark holds through a loss and the recovery, and past it only the rest is a gain', async () => {
  const { vault } = scene
  await setFees(0, 1_000)
  await scene.gain(usd('100000'))
  await accrue()
  const mark = await vault.read.highWaterMark()
  const needed = await markedAssets()
  await scene.lose(usd('300000'))
  await accrue()
  const assets = await vault.read.totalAssets()
  // Up to the mark to the unit, in two steps; a tenth of nine units is none.
  await scene.gain(usd('200000'))
  await accrue()
  await scene.gain(needed - assets - usd('200000') - 1n)
  expect(await charged()).toEqual([0n, usd('10000'), 0n])
  await scene.gain(9n)
  expect(await charged()).toEqual([0n, usd('10000'), 0n])
  expect(await vault.read.highWaterMark()).toBe(mark)
  await scene.gain(1n)
  expect(await charged()).toEqual([0n, usd('10000') + 1n, 0n])
})

test('turning a fee off and on again does not lower the mark', async () => {
  await setFees(0, 1_000)
  await scene.gain(usd('100000'))
  await setFees(0, 0)
  await scene.lose(usd('300000'))
  await setFees(0, 3_000)
  await scene.gain(usd('299999'))
  await scene.later(YEAR_S)
  await accrue()
  expect(await charged()).toEqual([0n, usd('10000'), 0n])
})

test('a changed fee and a changed recipient hold from then on: what was gained before is the old ones’', async () => {
  const { vault } = scene
  await setFees(0, 1_000)
  await scene.gain(usd('100000'))
  await vault.write.setFeeConfig([0, 3_000, curator], by(world.admin))
  expect(await charged()).toEqual([0n, usd('10000'), 0n])
  const paid = await vault.read.balanceOf([owner])
  expect(paid).toBeGreaterThan(0n)
  expect(await vault.read.balanceOf([curator])).toBe(0n)
  await scene.gain(usd('50000'))
  const gained = (await vault.read.totalAssets()) + 1n - (await markedAssets())
  // All of the new gain, but for the unit by which the mark rounds up.
  expect(usd('50000') - gained).toBeLessThanOrEqual(1n)
  await accrue()
  expect(await charged()).toEqual([0n, usd('10000') + (gained * 3_000n) / 10_000n, 0n])
  expect(await vault.read.balanceOf([owner])).toBe(paid)
})

test('fees are refused above their caps, without a recipient, to the vault itself, and by others', async () => {
  const { vault } = scene
  const { admin } = world
  const set = (fees: readonly [number, number, Address]) => vault.simulate.setFeeConfig(fees, from(admin))
  const setCurator = (fee: readonly [number, Address]) => vault.simulate.setCuratorFee(fee, from(admin))
  await set([500, 3_000, owner])
  await setCurator([2_000, curator])
  expect(await refusal(set([501, 0, owner]))).toEqual(['FeeAboveCap', 501n, 500n])
  expect(await refusal(set([0, 3_001, owner]))).toEqual(['FeeAboveCap', 3_001n, 3_000n])
  expect(await refusal(setCurator([2_001, curator]))).toEqual(['FeeAboveCap', 2_001n, 2_000n])
  for (const call of [
    () => set([1, 0, zeroAddress]),
    () => set([0, 1, zeroAddress]),
    () => setCurator([1, zeroAddress]),
  ]) {
    expect(await refusal(call())).toEqual(['FeeRecipientRefused', zeroAddress])
  }
  await set([0, 0, zeroAddress])
  await setCurator([0, zeroAddress])
  for (const call of [() => set([0, 0, vault.address]), () => setCurator([0, vault.address])]) {
    expect(await refusal(call())).toEqual(['FeeRecipientRefused', getAddress(vault.address)])
  }
  for (const call of [
    () => vault.simulate.setFeeConfig([0, 0, owner], from(owner)),
    () => vault.simulate.setCuratorFee([0, owner], from(owner)),
  ]) {
    expect(await refusal(call())).toEqual(['AccessControlUnauthorizedAccount', owner, expect.any(String)])
  }
})

test('borrowers’ interest is charged once, and a written-off loss is made good before more is', async () => {
  const { vault, holder } = scene
  const { market, admin } = world
  await setCuratorFee(2_000)
  await vault.write.allocate([market.address, usd('600000')], by(admin))
  const bob = await world.person(usd('1000000'), eth('1000'))
  const borrow = async () => {
    await world.price('3000')
    await market.write.depositCollateral([eth('100')], by(bob))
    await market.write.borrow([vault.address, usd('200000')], by(bob))
  }
  await borrow()
  const interest = async () => (await market.read.allocatedAssets([vault.address])) - usd('600000')
  const fee = async () => (await charged())[2]
  await scene.later(100n * DAY_S)
  await accrue()
  const first = await interest()
  expect(first).toBeGreaterThan(usd('500'))
  expect(await charged()).toEqual([0n, 0n, first / 5n])
  expect(await vault.read.balanceOf([owner])).toBe(0n)
  // Deposits, withdrawals, recalls and donations are no interest.
  await vault.write.deposit([usd('1000'), holder], by(holder))
  await vault.write.withdraw([usd('500'), holder, holder], by(holder))
  await scene.gain(usd('1000'))
  await vault.write.deallocate([market.address, usd('10')], by(admin))
  await vault.write.allocate([market.address, usd('10')], by(admin))
  const whole = (await interest()) / 5n
  // Each of those five accruals may have rounded a unit off.
  expect(whole - (await fee())).toBeLessThanOrEqual(6n)
  await world.price('20')
  const before = await fee()
  await market.write.liquidate([vault.address, bob, usd('2000'), 0n, bob, never], by(bob))
  expect(await interest()).toBeLessThan(-usd('100000'))
  await borrow()
  await scene.later(300n * DAY_S)
  const owed = await interest()
  await accrue()
  await setCuratorFee(0)
  await setCuratorFee(2_000)
  expect(await interest()).toBeGreaterThan(owed)
  // Two seconds of the first debt were not counted before it was written off.
  expect((await fee()) - before).toBeLessThan(100n)
})

test('nobody’s vault charges nobody: its donations and years mint no shares and cost who comes first nothing', async () => {
  const vault = await world.newVault()
  const { holder } = scene
  await world.sUSD.write.approve([vault.address, never], by(holder))
  await vault.write.setFeeConfig([500, 3_000, owner], by(world.admin))
  await vault.write.setCuratorFee([2_000, curator], by(world.admin))
  await world.sUSD.write.mint([vault.address, usd('1000')], by(world.admin))
  await scene.later(10n * YEAR_S)
  await vault.write.accrueFees(by(curator))
  expect(await vault.read.totalSupply()).toBe(0n)
  expect(await vault.read.accruedFees()).toEqual([0n, 0n, 0n])
  await scene.later(YEAR_S)
  await vault.write.deposit([usd('10000'), holder], by(holder))
  const [management, performance, interest] = await vault.read.accruedFees()
  expect([management, interest]).toEqual([0n, 0n])
  // A share is worth a thousand units here: less than one was rounded off the deposit, and is no more than that gain.
  expect(performance).toBeLessThan(300n)
  expect(await vault.read.maxWithdraw([holder])).toBeGreaterThan(usd('9990'))
})

test('inflating the price of a vault with fees costs the attacker, though the fees be its own', async () => {
  const vault = await world.newVault()
  const eve = await world.person(usd('200000'), 0n)
  for (const one of [eve, scene.holder]) await world.sUSD.write.approve([vault.address, never], by(one))
  await vault.write.setFeeConfig([500, 3_000, eve], by(world.admin))
  await vault.write.deposit([1n, eve], by(eve))
  await world.sUSD.write.transfer([vault.address, usd('100000')], by(eve))
  await vault.write.deposit([usd('10000'), scene.holder], by(scene.holder))
  expect(await vault.read.maxWithdraw([scene.holder])).toBeGreaterThan(usd('9990'))
  expect(await vault.read.maxWithdraw([eve])).toBeLessThan(usd('100000'))
})

test('fees accrue while shares may not move, and to who is not trusted', async () => {
  const { vault } = scene
  const { admin } = world
  await setFees(0, 1_000)
  await vault.write.setTransferProfile([1], by(admin))
  const { timestamp } = await world.client.getBlock()
  await vault.write.pauseShareMobility([timestamp + 100n, 'audit', 'audit'], by(admin))
  await scene.gain(usd('100000'))
  await accrue()
  expect(await vault.read.convertToAssets([(await vault.read.balanceOf([owner])) + 1n])).toBe(usd('10000'))
})

test('who leaves by the queue is paid the price after fees, and the fees are no smaller for it', async () => {
  const { vault, holder } = scene
  await setFees(0, 1_000)
  await vault.write.requestWithdrawal([await vault.read.balanceOf([holder]), holder], by(holder))
  await scene.gain(usd('100000'))
  const before = await world.sUSD.read.balanceOf([holder])
  await vault.write.claimWithdrawal([1n], by(curator))
  expect((await world.sUSD.read.balanceOf([holder])) - before).toBe(usd('1090000') - 1n)
  expect(await charged()).toEqual([0n, usd('10000'), 0n])
  expect(await vault.read.totalSupply()).toBe(await vault.read.balanceOf([owner]))
  expect(await vault.read.totalAssets()).toBe(usd('10000') + 1n)
})

test('who deposits before any fee is set pays none for the way back to the price that it paid', async () => {
  const { vault, holder } = scene
  await scene.gain(usd('100000'))
  await vault.write.deposit([usd('1000'), holder], by(holder))
  await scene.lose(usd('200000'))
  await setFees(0, 3_000)
  await scene.gain(usd('199999'))
  expect(await charged()).toEqual([0n, 0n, 0n])
  await scene.gain(usd('11'))
  expect((await charged())[1]).toBeGreaterThan(usd('2.9'))
})

import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { EXIT_TERM_KIND } from '../../../sandbox/deploy/vault-plan.ts'
import { by, createWorld, EXIT_AT_ONCE, type ExitTerms, from, refusal, usd, type World } from './world.ts'

let world: World
let ann: Address
let ben: Address
let eve: Address
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createWorld()
  // A block a second, whatever the machine's speed: what is due at a second can be met exactly.
  await world.client.setBlockTimestampInterval({ interval: 1 })
  ann = await world.person(usd('1000000'), 0n)
  ben = await world.person(usd('1000000'), 0n)
  eve = await world.person(0n, 0n)
  for (const person of [ann, ben]) {
    for (const { address } of [world.prime, world.growth]) {
      await world.sUSD.write.approve([address, usd('1000000')], by(person))
    }
  }
  await world.prime.write.deposit([usd('100000'), ann], by(ann))
  await world.prime.write.deposit([usd('50000'), ben], by(ben))
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

const worth = (assets: bigint) => world.prime.read.convertToShares([assets])
const request = async (owner: Address, assets: bigint, receiver = owner) =>
  world.prime.write.requestWithdrawal([await worth(assets), receiver], by(owner))
/** Lend the market all but these idle assets of the Prime vault, which shall keep no buffer. */
const leaveIdle = async (assets: bigint) => {
  const { prime, market, admin, allocator } = world
  const all = {
    approved: true,
    allocationEnabled: true,
    relativeCapBps: 10_000,
    absoluteCapAssets: 2n ** 128n,
  }
  await prime.write.setSettings([0, EXIT_AT_ONCE, 0n, 0n], by(admin))
  await prime.write.setListing([market.address, all], by(admin))
  await prime.write.allocate([market.address, (await prime.read.idleAssets()) - assets], by(allocator))
}

test('a deposit and a withdrawal keep the bounds that their caller sets', async () => {
  const { prime } = world
  const shares = await prime.read.previewDeposit([usd('10')])
  await prime.simulate.depositNow([usd('10'), ann, shares], from(ann))
  expect(await refusal(prime.simulate.depositNow([usd('10'), ann, shares + 1n], from(ann)))).toEqual([
    'SharesBelowMin',
    shares,
    shares + 1n,
  ])
  const cost = await prime.read.previewWithdraw([usd('10')])
  await prime.simulate.withdrawNow([usd('10'), ben, cost], from(ann))
  expect(await refusal(prime.simulate.withdrawNow([usd('10'), ben, cost - 1n], from(ann)))).toEqual([
    'SharesAboveMax',
    cost,
    cost - 1n,
  ])
})

test('requests are paid in their order, to the receivers they name, by whoever pushes', async () => {
  const { prime, sUSD } = world
  await request(ann, usd('30000'))
  await request(ben, usd('20000'), eve)
  expect(await prime.read.balanceOf([prime.address])).toBe(await worth(usd('50000')))
  expect(await prime.read.request([2n])).toMatchObject({ owner: ben, receiver: eve, paid: false })
  const before = await sUSD.read.balanceOf([ann])
  // The second request is claimed: the first is paid on the way.
  await prime.write.claimWithdrawal([2n], by(eve))
  expect((await sUSD.read.balanceOf([ann])) - before).toBe(usd('30000'))
  expect(await sUSD.read.balanceOf([eve])).toBe(usd('20000'))
  expect(await prime.read.queueHead()).toBe(3n)
  expect(await prime.read.balanceOf([prime.address])).toBe(0n)
  const claim = (id: bigint) => refusal(prime.simulate.claimWithdrawal([id], from(ann)))
  expect(await claim(1n)).toEqual(['RequestAlreadyPaid', 1n])
  expect(await claim(3n)).toEqual(['RequestNotFound', 3n])
  expect(await claim(0n)).toEqual(['RequestNotFound', 0n])
})

test('a request is paid when the idle assets cover it to the unit, and not before', async () => {
  const { prime, market, allocator } = world
  await leaveIdle(usd('30000') - 1n)
  await request(ann, usd('30000'))
  await request(ben, usd('1'))
  // The second could be funded, and waits for the first.
  const short = ['RequestNotFunded', 1n, usd('30000'), usd('30000') - 1n]
  expect(await refusal(prime.simulate.claimWithdrawal([1n], from(ann)))).toEqual(short)
  expect(await refusal(prime.simulate.claimWithdrawal([2n], from(ben)))).toEqual(short)
  expect((await prime.simulate.processQueue([10n], from(eve))).result).toBe(0n)
  expect(await prime.read.maxWithdraw([ann])).toBe(0n)
  await prime.write.deallocate([market.address, 1n], by(allocator))
  expect((await prime.simulate.processQueue([10n], from(eve))).result).toBe(1n)
  await prime.write.claimWithdrawal([1n], by(ann))
  expect(await prime.read.idleAssets()).toBe(0n)
})

test('notice, interval and maturity each pay from their second on, and never at once', async () => {
  const { admin, sUSD } = world
  const { timestamp } = await world.client.getBlock()
  const maturity = timestamp + 1_000n
  const terms = [
    [{ kind: EXIT_TERM_KIND.notice, noticeSeconds: 30n }, (at: bigint) => at + 30n],
    [{ kind: EXIT_TERM_KIND.interval, intervalSeconds: 60n }, (at: bigint) => (at / 60n + 1n) * 60n],
    [{ kind: EXIT_TERM_KIND.maturity, maturityTimestamp: maturity }, () => maturity],
  ] as const
  for (const [term, dueAt] of terms) {
    const vault = await world.newVault({ ...EXIT_AT_ONCE, ...term })
    await sUSD.write.approve([vault.address, usd('100')], by(ann))
    await vault.write.deposit([usd('100'), ann], by(ann))
    expect(await vault.read.maxWithdraw([ann])).toBe(0n)
    await vault.write.requestWithdrawal([await vault.read.convertToShares([usd('100')]), ann], by(ann))
    const item = await vault.read.request([1n])
    expect(item.dueAt).toBe(dueAt(item.requestedAt))
    await world.client.setNextBlockTimestamp({ timestamp: item.dueAt - 1n })
    await world.client.mine({ blocks: 1 })
    expect((await vault.simulate.processQueue([1n], from(eve))).result).toBe(0n)
    expect(await refusal(vault.simulate.claimWithdrawal([1n], from(ann)))).toEqual([
      'RequestNotDue',
      1n,
      item.dueAt,
    ])
    // The next block is of the due second.
    await vault.write.claimWithdrawal([1n], by(ann))
    expect((await world.client.getBlock()).timestamp).toBe(item.dueAt)
    expect(await vault.read.totalSupply()).toBe(0n)
  }
  const nonsense = { ...EXIT_AT_ONCE, kind: EXIT_TERM_KIND.notice }
  expect(await refusal(world.prime.simulate.setSettings([0, nonsense, 0n, 0n], from(admin)))).toEqual([
    'ExitTermsOutOfRange',
  ])
})

test('locked terms can be loosened and not tightened, and what loosens helps those who wait', async () => {
  const { growth, admin } = world
  const notice = (noticeSeconds: bigint) => ({ ...EXIT_AT_ONCE, kind: EXIT_TERM_KIND.notice, noticeSeconds })
  await growth.write.deposit([usd('100'), ann], by(ann))
  await growth.write.requestWithdrawal([await growth.read.convertToShares([usd('50')]), ann], by(ann))
  const { requestedAt } = await growth.read.request([1n])
  await growth.write.setSettings([0, notice(60n), 0n, 0n], by(admin))
  expect((await growth.read.request([1n])).dueAt).toBe(requestedAt + 10n)
  await growth.write.lockTightening(by(admin))
  const tighter = { ...EXIT_AT_ONCE, kind: EXIT_TERM_KIND.interval, intervalSeconds: 1n }
  for (const terms of [notice(61n), tighter]) {
    expect(await refusal(growth.simulate.setSettings([0, terms, 0n, 0n], from(admin)))).toEqual([
      'ExitTermsLocked',
    ])
  }
  await growth.write.setSettings([0, notice(4n), 0n, 0n], by(admin))
  expect((await growth.read.request([1n])).dueAt).toBe(requestedAt + 4n)
  await growth.write.setSettings([0, EXIT_AT_ONCE, 0n, 0n], by(admin))
  await growth.write.claimWithdrawal([1n], by(ann))
})

test('terms that are loosened and tightened again keep nobody who is due behind who is not', async () => {
  const { growth, admin } = world
  const notice = { ...EXIT_AT_ONCE, kind: EXIT_TERM_KIND.notice, noticeSeconds: 1_000n }
  const set = (terms: ExitTerms) => growth.write.setSettings([0, terms, 0n, 0n], by(admin))
  const ask = async (owner: Address) => {
    await growth.write.deposit([usd('100'), owner], by(owner))
    await growth.write.requestWithdrawal([await growth.read.convertToShares([usd('50')]), owner], by(owner))
  }
  await set(notice)
  await ask(ann)
  await set(EXIT_AT_ONCE)
  await ask(ben)
  await set(notice)
  await ask(ann)
  const claim = (id: bigint) => growth.simulate.claimWithdrawal([id], from(ann))
  for (const id of [1n, 3n]) {
    const { dueAt, requestedAt } = await growth.read.request([id])
    expect(dueAt).toBe(requestedAt + 1_000n)
    expect(await refusal(claim(id))).toEqual(['RequestNotDue', id, dueAt])
  }
  const before = await world.sUSD.read.balanceOf([ben])
  await growth.write.claimWithdrawal([2n], by(eve))
  expect((await world.sUSD.read.balanceOf([ben])) - before).toBe(usd('50'))
  expect(await growth.read.queueHead()).toBe(3n)
})

test('a pause stops transfers and deposits but no exit, until its manager or its time ends it', async () => {
  const { prime, assetManager } = world
  const { timestamp } = await world.client.getBlock()
  const until = timestamp + 100n
  const pause = (reason: string, freeze: string) => [until, reason, freeze] as const
  expect((await refusal(prime.simulate.pauseShareMobility(pause('x', ''), from(ann))))[0]).toBe(
    'AccessControlUnauthorizedAccount',
  )
  await prime.write.pauseShareMobility(pause('audit', ''), by(assetManager))
  expect(await prime.read.mobilityEpoch()).toBe(1n)
  const paused = ['ShareMobilityIsPaused', until]
  expect(await refusal(prime.simulate.transfer([ben, 1n], from(ann)))).toEqual(paused)
  expect(await prime.read.maxDeposit([ann])).toBe(0n)
  expect((await refusal(prime.simulate.deposit([1n, ann], from(ann))))[0]).toBe('ERC4626ExceededMaxDeposit')
  expect(await refusal(prime.simulate.pauseShareMobility(pause('again', ''), from(assetManager)))).toEqual(
    paused,
  )
  await prime.write.withdraw([usd('1'), ann, ann], by(ann))
  await request(ann, usd('1'))
  await prime.write.claimWithdrawal([1n], by(ben))

  // Its time has not come: the manager alone restores.
  await world.client.setNextBlockTimestamp({ timestamp: until - 1n })
  await world.client.mine({ blocks: 1 })
  expect((await refusal(prime.simulate.restoreShareMobility(from(ann))))[0]).toBe(
    'AccessControlUnauthorizedAccount',
  )
  await prime.simulate.restoreShareMobility(from(assetManager))
  await prime.write.restoreShareMobility(by(ann))
  expect((await world.client.getBlock()).timestamp).toBe(until)
  expect(await prime.read.mobilityEpoch()).toBe(2n)
  await prime.write.transfer([ben, 1n], by(ann))
  expect(await refusal(prime.simulate.restoreShareMobility(from(ann)))).toEqual(['ShareMobilityIsNotPaused'])
})

test('a pause that freezes redemption stops every exit, and the queue keeps its order until it ends', async () => {
  const { prime, assetManager } = world
  await request(ann, usd('1'))
  const { timestamp } = await world.client.getBlock()
  await prime.write.pauseShareMobility([timestamp + 100n, 'incident', 'loss under count'], by(assetManager))
  const frozen = ['RedemptionFrozen', 'loss under count']
  expect(await prime.read.maxRedeem([ann])).toBe(0n)
  expect(await refusal(prime.simulate.requestWithdrawal([10n ** 6n, ann], from(ann)))).toEqual(frozen)
  expect(await refusal(prime.simulate.claimWithdrawal([1n], from(ann)))).toEqual(frozen)
  await prime.write.restoreShareMobility(by(assetManager))
  await prime.write.claimWithdrawal([1n], by(ann))
})

test('the transfer profile governs shares that change hands, by transfer or by deposit', async () => {
  const { prime, assetManager } = world
  const give = () => prime.simulate.transfer([ben, 1n], from(ann))
  const depositFor = (to: Address) => prime.simulate.deposit([usd('1'), to], from(ann))
  await give()
  await prime.write.setTransferProfile([1], by(assetManager))
  expect(await refusal(give())).toEqual(['RecipientNotTrusted', ben])
  expect(await refusal(depositFor(ben))).toEqual(['RecipientNotTrusted', ben])
  await depositFor(ann)
  await prime.write.setTrustedRecipient([ben, true], by(assetManager))
  await give()
  await depositFor(ben)
  await prime.write.setTrustedRecipient([ben, false], by(assetManager))
  expect(await refusal(give())).toEqual(['RecipientNotTrusted', ben])
  await prime.write.setTransferProfile([2], by(assetManager))
  expect(await refusal(give())).toEqual(['TransfersFrozen'])
  await prime.simulate.withdraw([usd('1'), ben, ann], from(ann))
  expect(await prime.read.mobilityEpoch()).toBe(4n)
  // Shares sent to the vault itself would be nobody's.
  await prime.write.setTransferProfile([0], by(assetManager))
  expect((await refusal(prime.simulate.transfer([prime.address, 1n], from(ann))))[0]).toBe(
    'ERC20InvalidReceiver',
  )
})

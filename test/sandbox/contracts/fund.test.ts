import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createFundWorld, type FundWorld, word } from '../fund-world.ts'
import { by, eth, from, ray, refusal, usd, wad } from './world.ts'

let world: FundWorld
let ann: Address
let bob: Address
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createFundWorld()
  ann = await world.investor(usd('10000000'))
  bob = await world.investor(usd('10000000'))
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

/** Read or simulate on the newest block: the pending one has another time. */
const here = async (account: Address) => ({
  ...from(account),
  blockNumber: await world.client.getBlockNumber(),
})
const subscribe = async (who: Address, assets: bigint) =>
  world.fund.simulate.subscribe([assets], await here(who))

/** Open an epoch, let Ann put so much in, close it, and leave it to her to claim. */
async function fundWith(assets: bigint) {
  await world.fund.write.openEpoch([60n], by(world.admin))
  await world.fund.write.subscribe([assets], by(ann))
  await world.close()
}

test('a fund takes no money, opens no epoch and bids for nothing before it is approved, or when impaired', async () => {
  const { fund, admin, manager, house } = world
  await fund.write.openEpoch([60n], by(admin))
  const lot = await world.offer(eth('1'), usd('1'))
  const attempts = async () => [
    await refusal(subscribe(ann, usd('1000'))),
    await refusal(fund.simulate.bidAcquisition([house.address, lot.lotId, usd('1')], from(manager))),
  ]
  await fund.write.setApprovals([false, true], by(admin))
  expect(await attempts()).toEqual([['NotApproved'], ['NotApproved']])
  await fund.write.setApprovals([true, false], by(admin))
  expect(await attempts()).toEqual([['NotApproved'], ['NotApproved']])
  await fund.write.setApprovals([true, true], by(admin))
  await fund.write.setImpairment([2], by(admin))
  expect(await attempts()).toEqual([['FundImpaired'], ['FundImpaired']])
  await fund.write.setImpairment([1], by(admin))
  await subscribe(ann, usd('1000'))
  await world.close()
  await fund.write.setImpairment([2], by(admin))
  expect(await refusal(fund.simulate.openEpoch([60n], from(admin)))).toEqual(['FundImpaired'])
})

test('governance governs, the manager manages, and nobody else does either', async () => {
  const { fund, admin, manager, house, auction, desk } = world
  const governed = await Promise.all(
    [
      fund.simulate.setApprovals([true, true], from(manager)),
      fund.simulate.setImpairment([0], from(manager)),
      fund.simulate.setInvestorGate([true], from(manager)),
      fund.simulate.setManager([manager], from(manager)),
      fund.simulate.openEpoch([60n], from(manager)),
    ].map(refusal),
  )
  expect(governed).toEqual(governed.map(() => ['NotGovernance', manager]))
  const managed = await Promise.all(
    [
      fund.simulate.setPurchasesEnabled([true], from(admin)),
      fund.simulate.setChannelPolicy([word('rfq'), true, 1n, 1, 1], from(admin)),
      fund.simulate.bidAcquisition([house.address, 1n, 1n], from(admin)),
      fund.simulate.listAtAuction([auction.address, 1n, 1n, 1n], from(admin)),
      fund.simulate.openRfq([desk.address, 1n, 1n, 1n], from(admin)),
    ].map(refusal),
  )
  expect(managed).toEqual(managed.map(() => ['NotManager', admin]))
})

test('an epoch takes subscriptions until its scheduled close, and closes from then on', async () => {
  const { fund, admin, client } = world
  expect(await refusal(subscribe(ann, usd('1000')))).toEqual(['EpochNotOpen', 0n])
  await fund.simulate.openEpoch([1n], from(admin))
  for (const seconds of [0n, 61n]) {
    expect(await refusal(fund.simulate.openEpoch([seconds], from(admin)))).toEqual(['TermsOutOfRange'])
  }
  await fund.write.openEpoch([60n], by(admin))
  expect(await refusal(fund.simulate.openEpoch([60n], from(admin)))).toEqual(['EpochStillOpen', 1n])
  const { scheduledCloseAt } = await fund.read.epoch([1n])
  expect(scheduledCloseAt).toBe((await world.now()) + 60n)
  await client.setNextBlockTimestamp({ timestamp: scheduledCloseAt - 1n })
  await client.mine({ blocks: 1 })
  await subscribe(ann, usd('1000'))
  expect(await refusal(fund.simulate.closeEpoch(await here(bob)))).toEqual([
    'EpochNotDue',
    1n,
    scheduledCloseAt,
  ])
  await client.setNextBlockTimestamp({ timestamp: scheduledCloseAt })
  await client.mine({ blocks: 1 })
  expect(await refusal(subscribe(ann, usd('1000')))).toEqual(['EpochNotOpen', 1n])
  await fund.simulate.closeEpoch(await here(bob))
})

test('a subscription is at least the least one, when it grows and when it shrinks', async () => {
  const { fund, admin } = world
  await fund.write.openEpoch([60n], by(admin))
  const least = usd('1000')
  expect(await refusal(subscribe(ann, least - 1n))).toEqual(['BelowMinSubscription', least - 1n, least])
  await fund.write.subscribe([least], by(ann))
  await subscribe(ann, 1n)
  const withdraw = async (assets: bigint) => fund.simulate.withdrawSubscription([assets], await here(ann))
  expect(await refusal(withdraw(1n))).toEqual(['BelowMinSubscription', least - 1n, least])
  expect(await refusal(withdraw(least + 1n))).toEqual(['AboveSubscription', least + 1n, least])
  await withdraw(least)
})

test('a gated fund takes money from authorized wallets alone', async () => {
  const { fund, admin, registry } = world
  await fund.write.openEpoch([60n], by(admin))
  await fund.write.setInvestorGate([true], by(admin))
  expect(await refusal(subscribe(ann, usd('1000')))).toEqual(['InvestorNotAuthorized', ann])
  await registry.write.setAuthorization([ann, word('subscribe'), fund.address, true], by(admin))
  await subscribe(ann, usd('1000'))
})

test('an epoch over its most scales every subscriber down, and pays the rest back', async () => {
  const { fund, admin, sUSD } = world
  await fund.write.openEpoch([60n], by(admin))
  await fund.write.subscribe([usd('900000')], by(ann))
  await fund.write.subscribe([usd('300000')], by(bob))
  await world.close()
  const { scaleRay, shares } = await fund.read.epoch([1n])
  expect(scaleRay).toBe((ray * 10n) / 12n)
  expect(shares).toBe(1_000_000n * wad)
  const before = await sUSD.read.balanceOf([bob])
  await fund.write.claimShares([1n], by(bob))
  expect(await fund.read.balanceOf([bob])).toBe(250_000n * wad)
  expect((await sUSD.read.balanceOf([bob])) - before).toBe(usd('50000'))
  expect(await refusal(fund.simulate.claimShares([1n], from(bob)))).toEqual(['NothingToClaim', 1n, bob])
  expect(await refusal(fund.simulate.claimShares([2n], from(bob)))).toEqual(['EpochNotClosed', 2n])
})

test('later shares cost what the oracle says, and the net assets follow it', async () => {
  const { fund } = world
  await fundWith(usd('500000'))
  await world.value((wad * 5n) / 4n)
  expect(await fund.read.netAssets()).toBe(usd('625000'))
  await fundWith(usd('100000'))
  expect((await fund.read.epoch([2n])).shares).toBe(80_000n * wad)
  expect(await fund.read.netAssets()).toBe(usd('725000'))
})

test('purchases stop with their switch, without an epoch, and one second past the funding deadline', async () => {
  const { fund, admin, manager, house, client } = world
  const lot = await world.offer(eth('10'), usd('1000'), { openS: 3_600n })
  const bid = async () =>
    fund.simulate.bidAcquisition([house.address, lot.lotId, usd('1000')], await here(manager))
  expect(await refusal(bid())).toEqual(['EpochNotOpen', 0n])
  await fundWith(usd('500000'))
  await fund.write.setPurchasesEnabled([false], by(manager))
  expect(await refusal(bid())).toEqual(['PurchasesDisabled'])
  await fund.write.setPurchasesEnabled([true], by(manager))
  const { postCloseFundingDeadline: deadline, closedAt } = await fund.read.epoch([1n])
  expect(deadline).toBe(closedAt + 60n)
  await client.setNextBlockTimestamp({ timestamp: deadline })
  await client.mine({ blocks: 1 })
  await bid()
  await client.setNextBlockTimestamp({ timestamp: deadline + 1n })
  await client.mine({ blocks: 1 })
  expect(await refusal(bid())).toEqual(['FundingDeadlinePassed', deadline, deadline + 1n])
  await fund.write.openEpoch([60n], by(admin))
  await bid()
})

test('a bid keeps to its channel: switch, budget, price and position, at each limit and one past it', async () => {
  const { fund, manager, house } = world
  await fundWith(usd('500000'))
  // 10 sETH at 3,000 sUSD.
  const lot = await world.offer(eth('10'), usd('1'))
  const policy = (enabled: boolean, budget: bigint, priceBps: number, positionBps: number) =>
    fund.write.setChannelPolicy([word('acquisition'), enabled, budget, priceBps, positionBps], by(manager))
  const bid = (assets: bigint) =>
    fund.simulate.bidAcquisition([house.address, lot.lotId, assets], from(manager))

  await policy(false, usd('500000'), 10_000, 10_000)
  expect(await refusal(bid(usd('1')))).toEqual(['ChannelDisabled', word('acquisition')])
  await policy(true, usd('20000'), 10_000, 10_000)
  await bid(usd('20000'))
  expect(await refusal(bid(usd('20000') + 1n))).toEqual(['AboveEpochBudget', usd('20000') + 1n, usd('20000')])
  await policy(true, usd('500000'), 9_000, 10_000)
  await bid(usd('27000'))
  expect(await refusal(bid(usd('27000') + 1n))).toEqual(['AbovePriceLimit', usd('27000') + 1n, usd('27000')])
  await policy(true, usd('500000'), 10_000, 400)
  await bid(usd('20000'))
  expect(await refusal(bid(usd('20000') + 1n))).toEqual([
    'AbovePositionLimit',
    usd('20000') + 1n,
    usd('20000'),
  ])

  const set = (channel: string, priceBps: number) =>
    fund.simulate.setChannelPolicy([word(channel), true, 1n, priceBps, 1], from(manager))
  await set('rfq', 10_000)
  expect(await refusal(set('rfq', 10_001))).toEqual(['PolicyOutOfRange'])
  expect(await refusal(set('otc', 1))).toEqual(['UnknownChannel', word('otc')])
})

test('a bid takes idle assets alone, at a listed house, for a position that a healthy market prices', async () => {
  const { fund, admin, manager, house, auction, market, factory, oracle } = world
  await fundWith(usd('10000'))
  await fund.write.openEpoch([60n], by(admin))
  await fund.write.subscribe([usd('5000')], by(bob))
  const lot = await world.offer(eth('10'), usd('1'))
  const bid = (assets: bigint, place = house.address) =>
    fund.simulate.bidAcquisition([place, lot.lotId, assets], from(manager))
  await bid(usd('10000'))
  expect(await refusal(bid(usd('10000') + 1n))).toEqual(['InsufficientIdle', usd('10000') + 1n, usd('10000')])
  const elsewhere = ['VenueNotApproved', auction.address, word('acquisition')]
  expect(await refusal(bid(1n, auction.address))).toEqual(elsewhere)
  const odd = await world.offer(eth('10'), usd('1'), { lane: 'other' })
  const oddBid = fund.simulate.bidAcquisition([house.address, odd.lotId, 1n], from(manager))
  expect(await refusal(oddBid)).toEqual(['UnknownLane', word('other')])
  await oracle.write.setState([2], by(admin))
  expect(await refusal(bid(usd('1')))).toEqual(['OracleNotHealthy', 2])
  await oracle.write.setState([1], by(admin))
  await factory.write.setKind([market.address, word('')], by(admin))
  expect(await refusal(bid(usd('1')))).toEqual(['MarketNotApproved', market.address])
})

test('a raised bid pays the difference, an outbid one comes back, and a won one becomes a holding', async () => {
  const { fund, admin, manager, house, sETH } = world
  await fundWith(usd('500000'))
  const rival = await secondFund()
  const lot = await world.offer(eth('10'), usd('1000'))
  const bid = (assets: bigint, by_ = fund) =>
    by_.write.bidAcquisition([house.address, lot.lotId, assets], by(manager))
  const used = () => fund.read.usedAssets([2n, word('acquisition')])

  await bid(usd('1000'))
  expect(
    await refusal(fund.simulate.bidAcquisition([house.address, lot.lotId, usd('1000')], from(manager))),
  ).toEqual(['BidNotAboveOwn', usd('1000'), usd('1000')])
  await bid(usd('1500'))
  expect([await fund.read.idleAssets(), await fund.read.reservedAssets()]).toEqual([
    usd('498500'),
    usd('1500'),
  ])
  expect(await used()).toBe(usd('1500'))
  expect(await refusal(fund.simulate.releaseReservation([1n], from(bob)))).toEqual([
    'ReservationStillBid',
    1n,
  ])

  await bid(usd('2000'), rival)
  await fund.write.releaseReservation([1n], by(bob))
  expect([await fund.read.idleAssets(), await fund.read.reservedAssets()]).toEqual([usd('500000'), 0n])
  expect(await used()).toBe(0n)
  expect(await refusal(fund.simulate.releaseReservation([1n], from(bob)))).toEqual([
    'ReservationNotActive',
    1n,
  ])

  await bid(usd('3000'))
  await world.pass(60)
  await house.write.award([lot.lotId], by(bob))
  expect(await fund.read.holding([1n])).toMatchObject({
    status: 1,
    lane: word('liquid'),
    asset: sETH.address,
    amount: eth('10'),
    positionId: lot.positionId,
    transferPriceAssets: usd('3000'),
    market: lot.market,
    borrower: admin,
  })
  const sums = [await fund.read.idleAssets(), await fund.read.reservedAssets(), await fund.read.spentAssets()]
  expect(sums).toEqual([usd('497000'), 0n, usd('3000')])
  expect(await sETH.read.balanceOf([fund.address])).toBe(eth('10'))
})

test('a fund raises its leading bid with less left than the whole bid, and leaves nothing approved', async () => {
  const { fund, manager, house, sUSD } = world
  await fundWith(usd('1000'))
  const lot = await world.offer(eth('10'), usd('600'))
  for (const assets of [usd('600'), usd('700')]) {
    await fund.write.bidAcquisition([house.address, lot.lotId, assets], by(manager))
    expect(await sUSD.read.balanceOf([house.address])).toBe(assets)
    expect(await sUSD.read.allowance([fund.address, house.address])).toBe(0n)
  }
  expect([await fund.read.idleAssets(), await fund.read.reservedAssets()]).toEqual([usd('300'), usd('700')])
  expect(await sUSD.read.balanceOf([fund.address])).toBe(usd('300'))
})

/** Launch another fund of the same manager, with half a million in it. */
async function secondFund() {
  const { admin, sUSD } = world
  const other = await world.launch()
  await other.write.openEpoch([60n], by(admin))
  await sUSD.write.approve([other.address, usd('500000')], by(bob))
  await other.write.subscribe([usd('500000')], by(bob))
  await world.pass(60)
  await other.write.closeEpoch(by(bob))
  // The first fund's epoch went on meanwhile; a new one gives it time.
  await world.fund.write.openEpoch([60n], by(admin))
  return other
}

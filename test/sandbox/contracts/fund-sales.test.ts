import { type Address, getContract, toFunctionSelector } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { fundLensAbi } from '../../../sandbox/contracts/abis.ts'
import { createFundWorld, type FundWorld, word } from '../fund-world.ts'
import { by, eth, from, refusal, usd } from './world.ts'

let world: FundWorld
let ann: Address
let snapshot: `0x${string}`

/** The fund holds 10 sETH, worth 30,000 sUSD, in each lane: holding 1 is liquid, holding 2 restricted. */
beforeAll(async () => {
  world = await createFundWorld()
  const { fund, admin, manager, house, client } = world
  ann = await world.investor(usd('10000000'))
  await fund.write.openEpoch([60n], by(admin))
  await fund.write.subscribe([usd('500000')], by(ann))
  await world.close()
  const lots = [
    await world.offer(eth('10'), usd('1'), { lane: 'liquid' }),
    await world.offer(eth('10'), usd('1'), { lane: 'restricted' }),
  ]
  for (const { lotId } of lots) {
    await fund.write.bidAcquisition([house.address, lotId, usd('20000')], by(manager))
  }
  await client.increaseTime({ seconds: 60 })
  for (const { lotId } of lots) await house.write.award([lotId], by(admin))
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

const closesAt = async () => (await world.now()) + 100n
const atAuction = async (holdingId: bigint, reserve: bigint) =>
  world.fund.simulate.listAtAuction(
    [world.auction.address, holdingId, reserve, await closesAt()],
    from(world.manager),
  )
const atDesk = async (holdingId: bigint, reserve: bigint, desk = world.desk.address) =>
  world.fund.simulate.openRfq([desk, holdingId, reserve, await closesAt()], from(world.manager))

test('a restricted holding is sold by quotes alone, each venue by its own channel', async () => {
  const { auction } = world
  await atAuction(1n, usd('25000'))
  await atDesk(1n, usd('25000'))
  await atDesk(2n, usd('25000'))
  expect(await refusal(atAuction(2n, usd('25000')))).toEqual([
    'LaneNotForChannel',
    word('restricted'),
    word('auction'),
  ])
  expect(await refusal(atDesk(1n, usd('25000'), auction.address))).toEqual([
    'VenueNotApproved',
    auction.address,
    word('rfq'),
  ])
  expect(await refusal(atDesk(3n, usd('25000')))).toEqual(['HoldingNotHeld', 3n])
})

test('a reserve keeps to its channel: switch, budget, price and position, at each limit and one past it', async () => {
  const { fund, manager } = world
  const policy = (enabled: boolean, budget: bigint, priceBps: number, positionBps: number) =>
    fund.write.setChannelPolicy([word('rfq'), enabled, budget, priceBps, positionBps], by(manager))
  const limited = async (limit: bigint, error: string) => {
    await atDesk(1n, limit)
    expect(await refusal(atDesk(1n, limit + 1n))).toEqual([error, limit + 1n, limit])
  }
  await policy(false, usd('500000'), 10_000, 10_000)
  expect(await refusal(atDesk(1n, 1n))).toEqual(['ChannelDisabled', word('rfq')])
  await policy(true, usd('20000'), 10_000, 10_000)
  await limited(usd('20000'), 'AboveEpochBudget')
  await policy(true, usd('500000'), 9_000, 10_000)
  await limited(usd('27000'), 'AbovePriceLimit')
  await policy(true, usd('500000'), 10_000, 400)
  await limited(usd('20000'), 'AbovePositionLimit')
})

test('a listed holding waits at its venue, and comes back unsold', async () => {
  const { fund, manager, desk, sETH } = world
  await fund.write.openRfq([desk.address, 1n, usd('25000'), (await world.now()) + 10n], by(manager))
  expect([await sETH.read.balanceOf([fund.address]), await fund.read.heldAmount([sETH.address])]).toEqual([
    eth('10'),
    eth('10'),
  ])
  expect(await refusal(atAuction(1n, usd('25000')))).toEqual(['HoldingNotHeld', 1n])
  await world.pass(10)
  await desk.write.finalize([1n], by(ann))
  expect(await fund.read.holding([1n])).toMatchObject({ status: 1, venue: `0x${'00'.repeat(20)}` })
  expect(await fund.read.heldAmount([sETH.address])).toBe(eth('20'))
  await atAuction(1n, usd('25000'))
})

test('what a sale brings is idle again, and nobody but its venue reports it', async () => {
  const { fund, manager, auction, desk, sUSD, house } = world
  await fund.write.listAtAuction([auction.address, 1n, usd('25000'), (await world.now()) + 10n], by(manager))
  const claimed = (account: Address) => fund.simulate.recordDisposal([1n, 1n], from(account))
  expect(await refusal(claimed(desk.address))).toEqual(['HoldingNotListedHere', 1n, desk.address])
  expect(await refusal(claimed(auction.address))).toEqual(['NotReceived', 0n, 1n])
  const returned = fund.simulate.recordReturned([1n], from(auction.address))
  expect(await refusal(returned)).toEqual(['NotReceived', 0n, eth('10')])
  const terms = [word('p'), word('liquid'), sUSD.address, 1n, 1n, sUSD.address, ann] as const
  const recorded = fund.simulate.recordHolding(terms, from(house.address))
  expect(await refusal(recorded)).toEqual(['ReservationNotActive', 0n])

  await sUSD.write.approve([auction.address, usd('26000')], by(ann))
  await auction.write.bid([1n, usd('26000')], by(ann))
  await world.pass(60)
  await auction.write.settle([1n], by(ann))
  expect(await fund.read.idleAssets()).toBe(usd('486000'))
  expect(await fund.read.spentAssets()).toBe(usd('40000'))
  expect(await fund.read.holding([1n])).toMatchObject({ status: 3 })
})

test('the lens values a share by idle money and by holdings at their price, held or listed, not sold', async () => {
  const { fund, manager, auction, desk, sUSD, client, contracts } = world
  const lens = getContract({ address: contracts.fundLens.address, abi: fundLensAbi, client })
  const value = () => lens.read.shareValueWad([fund.address])
  // 500,000 shares: 460,000 sUSD idle, and 20 sETH at 3,000.
  expect(await value()).toBe(1_040_000_000_000_000_000n)
  const closes = (await world.now()) + 20n
  await fund.write.openRfq([desk.address, 2n, usd('25000'), closes], by(manager))
  await fund.write.listAtAuction([auction.address, 1n, usd('25000'), closes], by(manager))
  expect(await value()).toBe(1_040_000_000_000_000_000n)
  await sUSD.write.approve([auction.address, usd('25000')], by(ann))
  await auction.write.bid([1n, usd('25000')], by(ann))
  await world.pass(60)
  await auction.write.settle([1n], by(ann))
  expect(await value()).toBe(1_030_000_000_000_000_000n)
  await expect(lens.read.shareValueWad([(await world.launch()).address])).rejects.toThrow('reverted')
})

test('terms that make no fund are refused at launch', async () => {
  const { factory, admin, manager, terms, registry } = world
  const launch = (differs: Partial<typeof terms>) =>
    factory.simulate.launchFor([manager, { ...terms, ...differs }], from(admin))
  await launch({
    epochDurationSeconds: 31_536_000n,
    carryRateBps: 10_000,
    minSubscriptionAssets: usd('1000000'),
  })
  const wrong: readonly Partial<typeof terms>[] = [
    { epochDurationSeconds: 0n },
    { epochDurationSeconds: 31_536_001n },
    { minSubscriptionAssets: 0n },
    { minSubscriptionAssets: usd('1000000') + 1n },
    { carryRateBps: 10_001 },
    { performanceFeeBps: 10_001 },
    { preferredReturnBps: 10_001 },
    { name: '' },
    { symbol: '' },
  ]
  // The factory does not declare its funds' errors: the selector tells.
  const outOfRange = toFunctionSelector('TermsOutOfRange()')
  for (const differs of wrong) await expect(launch(differs)).rejects.toThrow(outOfRange)
  await expect(launch({ quoteAsset: manager })).rejects.toThrow('reverted')
  const own = () => factory.simulate.launch([terms], from(ann))
  expect(await refusal(own())).toEqual(['LauncherNotAuthorized', ann])
  await registry.write.setAuthorization([ann, word('selfLaunch'), factory.address, true], by(admin))
  await own()
  const foreign = factory.simulate.launchFor([ann, terms], from(ann))
  expect(await refusal(foreign)).toEqual(['OwnableUnauthorizedAccount', ann])
})

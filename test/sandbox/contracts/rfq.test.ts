import { type Address, decodeFunctionData } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTradeWorld, noticeAbi, type TradeWorld } from '../trade-world.ts'
import { by, eth, from, refusal, usd } from './world.ts'

let world: TradeWorld
let seller: Address
let ann: Address
let bob: Address
let snapshot: `0x${string}`
let closesAt: bigint
/** Later than any close here. */
let late: bigint

beforeAll(async () => {
  world = await createTradeWorld()
  seller = await world.trader(0n, eth('10'))
  ann = await world.trader(usd('100000'), 0n)
  bob = await world.trader(usd('100000'), 0n)
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
  closesAt = (await world.nowS()) + 40n
  late = closesAt + 100n
})
afterEach(() => world.client.revert({ id: snapshot }))

const reserve = usd('4000')
const open = (as: Address = seller) =>
  world.desk.write.open([7n, world.sETH.address, eth('2'), world.sUSD.address, reserve, closesAt], by(as))
const place = (who: Address, assets: bigint, expiresAt = late) =>
  world.desk.write.placeBid([1n, assets, expiresAt], by(who))
const finalize = async () => {
  await world.nextAt(closesAt)
  return world.desk.write.finalize([1n], by(world.admin))
}
/** The refusals of calls that are under way together. */
const refusals = (calls: readonly Promise<unknown>[]) => Promise.all(calls.map(refusal))
const held = () => world.sUSD.read.balanceOf([world.desk.address])

test('the best live bid wins, the loser takes its escrow back, once each', async () => {
  const { desk, sUSD, sETH } = world
  await open()
  await place(ann, usd('5000'))
  await place(bob, usd('6000'))
  expect(await held()).toBe(usd('11000'))
  await finalize()
  expect(await sUSD.read.balanceOf([seller])).toBe(usd('6000'))
  expect(await sETH.read.balanceOf([bob])).toBe(eth('2'))
  expect((await desk.read.rfq([1n])).winningBidId).toBe(2n)
  expect(await refusal(desk.simulate.finalize([1n], from(ann)))).toEqual(['RfqNotOpen', 1n])
  expect(await refusal(desk.simulate.cancelBid([1n], from(ann)))).toEqual(['RfqNotOpen', 1n])
  expect(await refusal(desk.simulate.claimRefund([2n], from(bob)))).toEqual(['BidNotRefundable', 2n])
  await desk.write.claimRefund([1n], by(ann))
  expect(await refusal(desk.simulate.claimRefund([1n], from(ann)))).toEqual(['BidNotRefundable', 1n])
  expect(await sUSD.read.balanceOf([ann])).toBe(usd('100000'))
  expect(await held()).toBe(0n)
})

test('of equal bids the earliest wins, and replacing one puts it last', async () => {
  const { desk } = world
  await open()
  await place(ann, usd('5000'))
  await place(bob, usd('5000'))
  const kept = await world.client.snapshot()
  await finalize()
  expect((await desk.read.rfq([1n])).winningBidId).toBe(1n)
  await world.client.revert({ id: kept })
  await desk.write.replaceBid([1n, usd('5000'), late], by(ann))
  await finalize()
  expect((await desk.read.rfq([1n])).winningBidId).toBe(2n)
})

test('replacing moves only the difference, up or down, and cancelling pays the rest back', async () => {
  const { desk, sUSD } = world
  await open()
  await place(ann, usd('5000'))
  // Just the difference is allowed to be taken.
  await sUSD.write.approve([desk.address, usd('1000')], by(ann))
  await desk.write.replaceBid([1n, usd('6000'), late], by(ann))
  expect(await held()).toBe(usd('6000'))
  expect(await sUSD.read.allowance([ann, desk.address])).toBe(0n)
  await desk.write.replaceBid([1n, usd('4500'), late], by(ann))
  expect(await held()).toBe(usd('4500'))
  await desk.write.cancelBid([1n], by(ann))
  expect(await held()).toBe(0n)
  expect(await sUSD.read.balanceOf([ann])).toBe(usd('100000'))
  const again = [
    desk.simulate.cancelBid([1n], from(ann)),
    desk.simulate.replaceBid([1n, usd('5000'), late], from(ann)),
  ]
  expect(await refusals(again)).toEqual(Array(2).fill(['BidNotBooked', 1n]))
  expect(await refusal(desk.simulate.claimRefund([1n], from(ann)))).toEqual(['BidNotRefundable', 1n])
})

test('a bid is the reserve at least, and expires later than now and within thirty days', async () => {
  const { desk } = world
  await open()
  await place(ann, reserve)
  await world.mineAt(closesAt - 10n)
  const [now, most] = [closesAt - 10n, await desk.read.OPEN_SECONDS_MAX()]
  const wrong = [
    [reserve - 1n, late, ['BelowReserve', reserve - 1n, reserve]],
    [reserve, now, ['ExpiryOutOfRange', now]],
    [reserve, now + most + 1n, ['ExpiryOutOfRange', now + most + 1n]],
  ] as const
  for (const [assets, expiresAt, refused] of wrong) {
    expect(await refusal(desk.simulate.placeBid([1n, assets, expiresAt], from(bob)))).toEqual(refused)
    expect(await refusal(desk.simulate.replaceBid([1n, assets, expiresAt], from(ann)))).toEqual(refused)
  }
  await desk.simulate.placeBid([1n, reserve, now + 1n], from(bob))
  await desk.simulate.placeBid([1n, reserve, now + most], from(bob))
})

test('bids are placed, changed and cancelled before the close, and it is finalized from the close on', async () => {
  const { desk } = world
  await open()
  await place(ann, reserve)
  const changes = () => [
    desk.simulate.placeBid([1n, reserve, late], from(bob)),
    desk.simulate.replaceBid([1n, reserve, late], from(ann)),
    desk.simulate.cancelBid([1n], from(ann)),
  ]
  await world.mineAt(closesAt - 1n)
  await Promise.all(changes())
  expect(await refusal(desk.simulate.finalize([1n], from(bob)))).toEqual(['RfqNotClosed', closesAt])
  await world.mineAt(closesAt)
  expect(await refusals(changes())).toEqual(Array(3).fill(['RfqClosed', closesAt]))
  // A live bid binds until the request is finalized.
  expect(await refusal(desk.simulate.claimRefund([1n], from(ann)))).toEqual(['BidNotRefundable', 1n])
  await desk.simulate.finalize([1n], from(bob))
})

test("another's bid is nobody else's business", async () => {
  const { desk } = world
  await open()
  await place(ann, reserve)
  const meddling = [
    desk.simulate.replaceBid([1n, reserve, late], from(bob)),
    desk.simulate.cancelBid([1n], from(bob)),
    desk.simulate.claimRefund([1n], from(bob)),
  ]
  expect(await refusals(meddling)).toEqual(Array(3).fill(['BidNotYours', 1n]))
  expect(await refusal(desk.simulate.placeBid([2n, reserve, late], from(bob)))).toEqual(['RfqNotOpen', 2n])
})

test('a bid that expires at the close cannot win, and is refundable from then on', async () => {
  const { desk, sUSD, sETH } = world
  await open()
  await place(ann, usd('5000'), closesAt)
  await world.mineAt(closesAt - 1n)
  expect(await desk.read.refundable([1n])).toBe(false)
  await world.mineAt(closesAt)
  expect(await desk.read.refundable([1n])).toBe(true)
  const kept = await world.client.snapshot()
  await desk.write.finalize([1n], by(bob))
  expect((await desk.read.rfq([1n])).state).toBe(3)
  expect(await sETH.read.balanceOf([seller])).toBe(eth('10'))
  await desk.write.claimRefund([1n], by(ann))
  expect(await held()).toBe(0n)
  expect(await sUSD.read.balanceOf([ann])).toBe(usd('100000'))

  await world.client.revert({ id: kept })
  // Its clock goes on from wherever the one that was taken back had come to.
  await world.mineAt(closesAt + 1n)
  await desk.write.claimRefund([1n], by(ann))
  expect(await desk.read.book([1n])).toEqual([])
  await desk.write.finalize([1n], by(bob))
  expect(await held()).toBe(0n)
})

test('a bid that expires one second after the close binds, and wins however late someone finalizes', async () => {
  const { desk } = world
  await open()
  await place(ann, usd('5000'), closesAt + 1n)
  await place(bob, reserve)
  await world.mineAt(late + 1n)
  expect(await desk.read.refundable([1n])).toBe(false)
  expect(await refusal(desk.simulate.claimRefund([1n], from(ann)))).toEqual(['BidNotRefundable', 1n])
  await desk.write.finalize([1n], by(bob))
  expect((await desk.read.rfq([1n])).winningBidId).toBe(1n)
  await desk.write.claimRefund([2n], by(bob))
  expect(await held()).toBe(0n)
})

test('a bid that expires before the close is refundable from its expiry on', async () => {
  const { desk } = world
  await open()
  await place(ann, reserve, closesAt - 10n)
  await world.mineAt(closesAt - 11n)
  expect(await desk.read.refundable([1n])).toBe(false)
  await world.mineAt(closesAt - 10n)
  await desk.write.claimRefund([1n], by(ann))
  expect(await held()).toBe(0n)
})

test('a full book gives the place of its worst bid to a better one, and to no other', async () => {
  const { desk } = world
  await open()
  const places = Number(await desk.read.BIDS_MAX())
  for (let i = 0; i < places; i++) await place(bob, reserve)
  expect(await refusal(desk.simulate.placeBid([1n, reserve, late], from(ann)))).toEqual(['BookFull', reserve])
  await place(ann, reserve + 1n)
  // The worst of equal bids is the latest.
  const displaced = BigInt(places)
  expect((await desk.read.bid([displaced])).state).toBe(2)
  expect(await desk.read.book([1n])).toHaveLength(places)
  expect(await refusal(desk.simulate.cancelBid([displaced], from(bob)))).toEqual(['BidNotBooked', displaced])
  await desk.write.claimRefund([displaced], by(bob))
  const { gasUsed } = await world.client.getTransactionReceipt({ hash: await finalize() })
  // With what telling a fund takes at the most, it fits in what the sandbox sends with.
  expect(gasUsed).toBeLessThan(400_000n)
  expect((await desk.read.rfq([1n])).winningBidId).toBe(displaced + 1n)
})

test('a fund is told what its holding brought, or that it has it back', async () => {
  const { client } = world
  const fund = await world.fund(0n, eth('2'))
  await open(fund)
  const toldIn = async (hash: `0x${string}`) => {
    const { logs } = await client.getTransactionReceipt({ hash })
    const told = logs.find((log) => log.address === fund.toLowerCase())
    return decodeFunctionData({ abi: noticeAbi, data: told?.data ?? '0x' })
  }
  const unsold = await client.snapshot()
  expect(await toldIn(await finalize())).toEqual({ functionName: 'recordReturned', args: [7n] })
  expect(await world.sETH.read.balanceOf([fund])).toBe(eth('2'))
  await client.revert({ id: unsold })
  await place(ann, usd('5000'))
  expect(await toldIn(await finalize())).toEqual({
    functionName: 'recordDisposal',
    args: [7n, usd('5000')],
  })
})

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

beforeAll(async () => {
  world = await createTradeWorld()
  seller = await world.trader(0n, eth('10'))
  ann = await world.trader(usd('10000'), 0n)
  bob = await world.trader(usd('10000'), 0n)
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
  closesAt = (await world.nowS()) + 20n
})
afterEach(() => world.client.revert({ id: snapshot }))

const terms = () => [7n, world.sETH.address, eth('2'), world.sUSD.address, usd('4000'), closesAt] as const
const open = (by_: Address = seller) => world.auction.write.open(terms(), by(by_))

test('a lot goes to the best bidder, and who is outbid has exactly that back at once', async () => {
  const { auction, sUSD, sETH } = world
  await open()
  await auction.write.bid([1n, usd('4000')], by(ann))
  await auction.write.bid([1n, usd('4040')], by(bob))
  expect(await sUSD.read.balanceOf([ann])).toBe(usd('10000'))
  await auction.write.bid([1n, usd('5000')], by(ann))
  expect(await sUSD.read.balanceOf([bob])).toBe(usd('10000'))
  expect(await sUSD.read.balanceOf([auction.address])).toBe(usd('5000'))
  expect(await refusal(auction.simulate.withdraw([1n], from(bob)))).toEqual(['NothingOwed', 1n, bob])
  await world.nextAt(closesAt)
  await auction.write.settle([1n], by(world.admin))

  expect(await refusal(auction.simulate.settle([1n], from(seller)))).toEqual(['LotNotOpen', 1n])
  expect(await refusal(auction.simulate.bid([1n, usd('6000')], from(ann)))).toEqual(['LotNotOpen', 1n])
  expect(await sUSD.read.balanceOf([auction.address])).toBe(0n)
  expect(await sUSD.read.balanceOf([seller])).toBe(usd('5000'))
  expect(await sUSD.read.balanceOf([ann])).toBe(usd('5000'))
  expect(await sETH.read.balanceOf([ann])).toBe(eth('2'))
})

test('who cannot be paid back does not stop who bids more, and withdraws it later, once', async () => {
  const { auction, sUSD } = world
  await open()
  await auction.write.bid([1n, usd('4000')], by(ann))
  const honest = await world.client.getCode({ address: sUSD.address })
  // Answers true to a transferFrom, and refuses a transfer.
  const bytecode = '0x60003560e01c6323b872dd14601257' + '5f5ffd5b60015f5260205ff3'
  await world.client.setCode({ address: sUSD.address, bytecode: bytecode as `0x${string}` })
  await auction.write.bid([1n, usd('4040')], by(bob))
  await world.client.setCode({ address: sUSD.address, bytecode: honest ?? '0x' })
  expect((await auction.read.lot([1n])).bestBidder).toBe(bob)
  expect(await auction.read.owedAssets([1n, ann])).toBe(usd('4000'))
  const committed = () => auction.read.commitments([ann, world.sETH.address, sUSD.address])
  // It is not paid back, and wins nothing any more.
  expect(await committed()).toEqual([usd('4000'), 0n])
  await auction.write.withdraw([1n], by(ann))
  expect(await committed()).toEqual([0n, 0n])
  expect(await sUSD.read.balanceOf([ann])).toBe(usd('10000'))
  expect(await refusal(auction.simulate.withdraw([1n], from(ann)))).toEqual(['NothingOwed', 1n, ann])
})

test('a bid is the reserve at least, then one increment above the best, rounded up', async () => {
  const { auction } = world
  const least = usd('4000')
  await open()
  expect(await refusal(auction.simulate.bid([1n, least - 1n], from(ann)))).toEqual([
    'BelowReserve',
    least - 1n,
    least,
  ])
  await auction.write.bid([1n, least + 1n], by(ann))
  // A hundredth of 4,000,000,001 is rounded up.
  const next = least + 1n + 40_000_001n
  expect(await refusal(auction.simulate.bid([1n, next - 1n], from(bob)))).toEqual([
    'BelowIncrement',
    next - 1n,
    next,
  ])
  await auction.simulate.bid([1n, next], from(bob))
  // The best bidder too; it pays the difference alone.
  expect(await refusal(auction.simulate.bid([1n, next - 1n], from(ann)))).toEqual([
    'BelowIncrement',
    next - 1n,
    next,
  ])
  await auction.write.bid([1n, usd('9000')], by(ann))
  expect(await world.sUSD.read.balanceOf([ann])).toBe(usd('1000'))
  expect(await auction.read.owedAssets([1n, ann])).toBe(0n)
})

test('bids are taken up to the second before the close, and the lot is settled from the close on', async () => {
  const { auction } = world
  await open()
  await world.mineAt(closesAt - 1n)
  await auction.simulate.bid([1n, usd('4000')], from(ann))
  expect(await refusal(auction.simulate.settle([1n], from(ann)))).toEqual(['LotNotClosed', closesAt])
  await world.mineAt(closesAt)
  expect(await refusal(auction.simulate.bid([1n, usd('4000')], from(ann)))).toEqual(['LotClosed', closesAt])
  await auction.simulate.settle([1n], from(ann))
})

test('a late bid leaves five seconds more, up to a minute in all', async () => {
  const { auction } = world
  const closeOf = async () => (await auction.read.lot([1n])).closesAt
  await open()
  await world.nextAt(closesAt - 5n)
  await auction.write.bid([1n, usd('4000')], by(ann))
  expect(await closeOf()).toBe(closesAt)
  await world.nextAt(closesAt - 4n)
  await auction.write.bid([1n, usd('4100')], by(bob))
  expect(await closeOf()).toBe(closesAt + 1n)
  let assets = usd('4100')
  for (let close = await closeOf(); close < closesAt + 60n; close = await closeOf()) {
    assets += assets / 50n
    await world.nextAt(close - 1n)
    await auction.write.bid([1n, assets], by(ann))
  }
  expect(await closeOf()).toBe(closesAt + 60n)
  await world.nextAt(closesAt + 59n)
  await auction.write.bid([1n, assets + assets / 50n], by(ann))
  expect(await closeOf()).toBe(closesAt + 60n)
})

test('a fund is told what its holding brought, or that it has it back', async () => {
  const { auction, sETH, client } = world
  const fund = await world.fund(0n, eth('4'))
  const toldIn = async (hash: `0x${string}`) => {
    const { logs } = await client.getTransactionReceipt({ hash })
    const told = logs.find((log) => log.address === fund.toLowerCase())
    return decodeFunctionData({ abi: noticeAbi, data: told?.data ?? '0x' })
  }
  await open(fund)
  await open(fund)
  await auction.write.bid([1n, usd('4000')], by(ann))
  await world.nextAt(closesAt)
  expect(await toldIn(await auction.write.settle([1n], by(ann)))).toEqual({
    functionName: 'recordDisposal',
    args: [7n, usd('4000')],
  })
  expect(await toldIn(await auction.write.settle([2n], by(ann)))).toEqual({
    functionName: 'recordReturned',
    args: [7n],
  })
  expect(await sETH.read.balanceOf([fund])).toBe(eth('2'))
})

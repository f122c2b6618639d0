import { type Address, decodeFunctionData, stringToHex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTradeWorld, noticeAbi, type TradeWorld } from '../trade-world.ts'
import { by, eth, from, refusal, usd } from './world.ts'

let world: TradeWorld
let seller: Address
let fund: Address
let rival: Address
let snapshot: `0x${string}`
let closesAt: bigint

beforeAll(async () => {
  world = await createTradeWorld()
  seller = await world.trader(0n, eth('10'))
  fund = await world.fund(usd('10000'), 0n)
  rival = await world.fund(usd('10000'), 0n)
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
  closesAt = (await world.nowS()) + 20n
})
afterEach(() => world.client.revert({ id: snapshot }))

const lotTerms = () => ({
  positionId: stringToHex('position', { size: 32 }),
  lane: stringToHex('liquid', { size: 32 }),
  market: world.market.address,
  borrower: world.allocator,
  asset: world.sETH.address,
  amount: eth('2'),
  quoteAsset: world.sUSD.address,
  reserveAssets: usd('4000'),
  closesAt,
})
const open = () => world.house.write.open([lotTerms()], by(seller))

test('a lot goes to the best bid, the seller is paid, and the fund is told what it holds', async () => {
  const { house, sUSD, sETH } = world
  await open()
  await house.write.bid([1n, usd('4000')], by(rival))
  await house.write.bid([1n, usd('4500')], by(fund))
  await world.nextAt(closesAt)
  const hash = await house.write.award([1n], by(world.admin))

  expect(await sUSD.read.balanceOf([seller])).toBe(usd('4500'))
  expect(await sUSD.read.balanceOf([fund])).toBe(usd('5500'))
  expect(await sUSD.read.balanceOf([rival])).toBe(usd('10000'))
  expect(await sUSD.read.balanceOf([house.address])).toBe(0n)
  expect(await sETH.read.balanceOf([fund])).toBe(eth('2'))
  const { logs } = await world.client.getTransactionReceipt({ hash })
  const told = logs.find((log) => log.address === fund.toLowerCase())
  expect(decodeFunctionData({ abi: noticeAbi, data: told?.data ?? '0x' })).toEqual({
    functionName: 'recordHolding',
    args: [
      lotTerms().positionId,
      lotTerms().lane,
      sETH.address,
      eth('2'),
      usd('4500'),
      world.market.address,
      world.allocator,
    ],
  })
  expect(await refusal(house.simulate.award([1n], from(seller)))).toEqual(['LotNotOpen', 1n])
  expect(await refusal(house.simulate.bid([1n, usd('5000')], from(fund)))).toEqual(['LotNotOpen', 1n])
})

test('bids are taken from the reserve on and up to the second before the close; awards from the close on', async () => {
  const { house } = world
  await open()
  const least = usd('4000')
  expect(await refusal(house.simulate.bid([1n, least - 1n], from(fund)))).toEqual([
    'BelowReserve',
    least - 1n,
    least,
  ])
  await house.write.bid([1n, least], by(fund))
  // Of equal bids the earliest wins: another one must be higher.
  expect(await refusal(house.simulate.bid([1n, least], from(rival)))).toEqual(['BidTooLow', least, least])
  await world.mineAt(closesAt - 1n)
  await house.simulate.bid([1n, least + 1n], from(rival))
  expect(await refusal(house.simulate.award([1n], from(seller)))).toEqual(['LotNotClosed', closesAt])
  await world.mineAt(closesAt)
  expect(await refusal(house.simulate.bid([1n, least + 1n], from(rival)))).toEqual(['LotClosed', closesAt])
  await house.simulate.award([1n], from(seller))
})

test('a fund raises its own bid by the difference, and is paid back at once when it is outbid', async () => {
  const { house, sUSD } = world
  await open()
  await house.write.bid([1n, usd('4000')], by(fund))
  await sUSD.write.approve([house.address, usd('1000')], by(fund))
  await house.write.bid([1n, usd('5000')], by(fund))
  expect(await sUSD.read.allowance([fund, house.address])).toBe(0n)
  expect(await sUSD.read.balanceOf([fund])).toBe(usd('5000'))
  expect(await sUSD.read.balanceOf([house.address])).toBe(usd('5000'))
  await house.write.bid([1n, usd('5001')], by(rival))
  expect(await sUSD.read.balanceOf([fund])).toBe(usd('10000'))
  expect(await sUSD.read.balanceOf([house.address])).toBe(usd('5001'))
})

test('a lot that nobody wants goes back to its seller', async () => {
  const { house, sETH } = world
  await open()
  await world.nextAt(closesAt)
  await house.write.award([1n], by(rival))
  expect(await sETH.read.balanceOf([seller])).toBe(eth('10'))
  expect((await house.read.lot([1n])).state).toBe(3)
})

test('only a fund of the quote asset bids', async () => {
  const { house, sUSD, sETH } = world
  await open()
  const refused = ['NotAFundOf', sUSD.address]
  expect(await refusal(house.simulate.bid([1n, usd('4000')], from(seller)))).toEqual(refused)
  const swapped = { asset: sUSD.address, amount: 1n, quoteAsset: sETH.address }
  await house.write.open([{ ...lotTerms(), ...swapped }], by(fund))
  expect(await refusal(house.simulate.bid([2n, usd('4000')], from(fund)))).toEqual([
    'NotAFundOf',
    sETH.address,
  ])
})

test('a fund that cannot be told does not hold up the seller, and nobody can starve a notice', async () => {
  const { house, sUSD, client } = world
  const deaf = await world.fund(usd('5000'), 0n, 'reverts')
  await open()
  await house.write.bid([1n, usd('5000')], by(deaf))
  await world.mineAt(closesAt)
  const starved = house.simulate.award([1n], { account: world.admin, gas: 450_000n })
  expect(await refusal(starved)).toEqual(['NotEnoughGas'])
  await house.write.award([1n], by(world.admin))
  expect(await sUSD.read.balanceOf([seller])).toBe(usd('5000'))
  const events = await client.getContractEvents({ ...house, eventName: 'FundNotTold' })
  expect(events.map(({ args }) => args)).toEqual([{ fund: deaf }])
})

test('what cannot be sold is not taken in', async () => {
  const { house } = world
  const { timestamp } = await world.client.getBlock()
  const most = await house.read.OPEN_SECONDS_MAX()
  const wrong = [
    { amount: 0n },
    { reserveAssets: 0n },
    { closesAt: timestamp },
    { closesAt: timestamp + most + 1n },
    { quoteAsset: world.sETH.address },
  ]
  for (const changes of wrong) {
    const call = house.simulate.open([{ ...lotTerms(), ...changes }], from(seller))
    expect(await refusal(call)).toEqual(['TermsOutOfRange'])
  }
  await house.simulate.open([{ ...lotTerms(), closesAt: timestamp + most }], from(seller))
})

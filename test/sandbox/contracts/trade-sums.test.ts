import fc from 'fast-check'
import { type Address, zeroHash } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTradeWorld, type TradeWorld } from '../trade-world.ts'
import { by, eth, usd } from './world.ts'

/** Each venue is played so many times, a fresh chain state each, by so many steps. */
const RUNS = 3
const STEPS = 100
const SEED = 20_260_101
const FUNDS = usd('1000000')
const STOCK = eth('1000')

let world: TradeWorld
let seller: Address
let bidders: readonly Address[]
let funds: readonly Address[]

beforeAll(async () => {
  world = await createTradeWorld()
  seller = await world.trader(0n, STOCK)
  bidders = [await world.trader(FUNDS, 0n), await world.trader(FUNDS, 0n), await world.trader(FUNDS, 0n)]
  funds = [await world.fund(FUNDS, 0n), await world.fund(FUNDS, 0n)]
})
afterAll(() => world.stop())

/** What a step is made of: any three numbers, which each kind of step reads its own way. */
type Rolls = readonly [number, number, number]
/** Steps that happen half as often as the others. */
const RARE = ['open', 'wait']
type Kinds = Readonly<Record<string, (rolls: Rolls, nowS: bigint) => Promise<unknown>>>

/** Play random steps, many of which are refused, and hold every sum in between; each kind must have worked sometimes. */
async function play(kinds: Kinds, expectSumsKept: () => Promise<void>): Promise<void> {
  const names = Object.keys(kinds)
  const worked = new Map(names.map((name) => [name, 0]))
  const roll = fc.nat(1_000_000)
  const steps = fc.array(
    fc.tuple(
      fc.constantFrom(...names, ...names.filter((name) => !RARE.includes(name))),
      fc.tuple(roll, roll, roll),
    ),
    {
      minLength: STEPS,
      maxLength: STEPS,
    },
  )
  const played = fc.asyncProperty(steps, async (all) => {
    const snapshot = await world.client.snapshot()
    for (const [index, [name, rolls]] of all.entries()) {
      const done = await kinds[name]?.(rolls, await world.nowS()).then(
        () => true,
        (refused: unknown) => {
          if (refused instanceof Error && refused.name === 'AssertionError') throw refused
          return false
        },
      )
      if (done) worked.set(name, (worked.get(name) ?? 0) + 1)
      if (index % 5 === 4) await expectSumsKept()
    }
    await world.client.revert({ id: snapshot })
  })
  await fc.assert(played, { numRuns: RUNS, seed: SEED, endOnFailure: true })
  for (const [name, times] of worked) expect(times, name).toBeGreaterThan(0)
}

const pick = <T>(from: readonly T[], roll: number): T => {
  const picked = from[roll % from.length]
  if (picked === undefined) throw new TypeError('Nothing to pick from.')
  return picked
}
const numbers = (last: bigint) => Array.from({ length: Number(last) }, (_, index) => BigInt(index) + 1n)
const sum = (parts: readonly bigint[]) => parts.reduce((total, part) => total + part, 0n)
/** Few different prices, so that equal bids are common; some below the reserve. */
const price = (roll: number) => usd('3900') + BigInt(roll % 20) * usd('100')
const OPEN = 1
const reserve = usd('4000')
const usdOf = (who: Address) => world.sUSD.read.balanceOf([who])
const ethOf = (who: Address) => world.sETH.read.balanceOf([who])
/** What a venue counts of a bidder: in escrow, and what that may win. */
const committedAt = (venue: TradeWorld['desk' | 'auction'], who: Address) =>
  venue.read.commitments([who, world.sETH.address, world.sUSD.address])
const sale = (nowS: bigint, [a, b]: Rolls) =>
  [7n, world.sETH.address, 1n + BigInt(a), world.sUSD.address, reserve, nowS + 10n + BigInt(b % 20)] as const

test('the desk holds what is bid and offered, nothing more, and pays nobody twice', async () => {
  const { desk } = world
  const bidsOf = async () =>
    Promise.all(numbers(await desk.read.lastBidId()).map((id) => desk.read.bid([id])))
  const anyBid = async (roll: number) => BigInt(roll % Number(await desk.read.lastBidId())) + 1n
  const bidderOf = async (bidId: bigint) => (await desk.read.bid([bidId])).bidder
  const kinds: Kinds = {
    open: (rolls, nowS) => desk.write.open(sale(nowS, rolls), by(seller)),
    place: async ([a, b, c], nowS) => {
      const rfqId = (await desk.read.lastRfqId()) - BigInt(a % 2)
      return desk.write.placeBid([rfqId, price(b), nowS + BigInt(c % 60)], by(pick(bidders, a)))
    },
    replace: async ([a, b, c], nowS) => {
      const bidId = await anyBid(a)
      return desk.write.replaceBid([bidId, price(b), nowS + BigInt(c % 60)], by(await bidderOf(bidId)))
    },
    cancel: async ([a]) => {
      const bidId = await anyBid(a)
      return desk.write.cancelBid([bidId], by(await bidderOf(bidId)))
    },
    claim: async ([a]) => {
      const bidId = await anyBid(a)
      return desk.write.claimRefund([bidId], by(await bidderOf(bidId)))
    },
    finalize: async ([a]) => {
      const rfqId = BigInt(a % Number(await desk.read.lastRfqId())) + 1n
      const { closesAt } = await desk.read.rfq([rfqId])
      const [bids, booked] = [await bidsOf(), new Set(await desk.read.book([rfqId]))]
      const live = bids
        .map((bid, index) => ({ ...bid, bidId: BigInt(index) + 1n }))
        .filter(({ bidId, expiresAt }) => booked.has(bidId) && expiresAt > closesAt)
        .toSorted((x, y) => Number(y.assets - x.assets) || Number(x.turn - y.turn))
      await desk.write.finalize([rfqId], by(pick(bidders, a)))
      expect((await desk.read.rfq([rfqId])).winningBidId).toBe(live[0]?.bidId ?? 0n)
    },
    wait: ([a]) => world.pass(1 + (a % 5)),
  }
  const [BOOKED, DISPLACED, WON] = [1, 2, 4]
  const expectSumsKept = async () => {
    const rfqIds = numbers(await desk.read.lastRfqId())
    const rfqs = await Promise.all(rfqIds.map((rfqId) => desk.read.rfq([rfqId])))
    const bids = await bidsOf()
    const waiting = bids.filter(({ state }) => state === BOOKED || state === DISPLACED)
    const won = bids.filter(({ state }) => state === WON)
    expect(await usdOf(desk.address)).toBe(sum(waiting.map(({ assets }) => assets)))
    expect(await ethOf(desk.address)).toBe(
      sum(rfqs.filter(({ state }) => state === OPEN).map(({ amount }) => amount)),
    )
    expect(await usdOf(seller)).toBe(sum(won.map(({ assets }) => assets)))
    for (const who of bidders) {
      const own = [...waiting, ...won].filter(({ bidder }) => bidder === who)
      expect((await usdOf(who)) + sum(own.map(({ assets }) => assets))).toBe(FUNDS)
      const bought = won.filter(({ bidder }) => bidder === who).map(({ rfqId }) => rfqs[Number(rfqId) - 1])
      expect(await ethOf(who)).toBe(sum(bought.map((rfq) => rfq?.amount ?? 0n)))
      const paid = waiting.filter(({ bidder }) => bidder === who)
      const hoped = paid
        .filter(({ state }) => state === BOOKED)
        .map(({ rfqId }) => rfqs[Number(rfqId) - 1])
        .filter((rfq) => rfq?.state === OPEN)
      expect(await committedAt(desk, who)).toEqual([
        sum(paid.map(({ assets }) => assets)),
        sum(hoped.map((rfq) => rfq?.amount ?? 0n)),
      ])
    }
    for (const [index, { state, winningBidId }] of rfqs.entries()) {
      const winners = won.filter(({ rfqId }) => rfqId === BigInt(index) + 1n)
      expect(winners).toHaveLength(winningBidId === 0n ? 0 : 1)
      expect(state === 2).toBe(winningBidId !== 0n)
    }
  }
  await play(kinds, expectSumsKept)
})

test('the auction holds the best bids and what is offered, and pays nobody twice', async () => {
  const { auction } = world
  const anyLot = async (roll: number) => (await auction.read.lastLotId()) - BigInt(roll % 2)
  const kinds: Kinds = {
    open: (rolls, nowS) => auction.write.open(sale(nowS, rolls), by(seller)),
    bid: async ([a, b, c]) => auction.write.bid([await anyLot(a), price(b)], by(pick(bidders, c))),
    raise: async ([a, , c]) => {
      const lotId = await anyLot(a)
      const { bestAssets } = await auction.read.lot([lotId])
      return auction.write.bid([lotId, bestAssets + bestAssets / 100n + 1n], by(pick(bidders, c)))
    },
    settle: async ([a, , c]) => auction.write.settle([await anyLot(a)], by(pick(bidders, c))),
    wait: ([a]) => world.pass(1 + (a % 5)),
  }
  const expectSumsKept = async () => {
    const lotIds = numbers(await auction.read.lastLotId())
    const lots = await Promise.all(lotIds.map((lotId) => auction.read.lot([lotId])))
    const open = lots.filter(({ state }) => state === OPEN)
    const sold = lots.filter(({ state }) => state === 2)
    expect(await usdOf(auction.address)).toBe(sum(open.map(({ bestAssets }) => bestAssets)))
    expect(await ethOf(auction.address)).toBe(sum(open.map(({ amount }) => amount)))
    expect(await usdOf(seller)).toBe(sum(sold.map(({ bestAssets }) => bestAssets)))
    for (const who of bidders) {
      const paid = [...open, ...sold].filter(({ bestBidder }) => bestBidder === who)
      const spent = sum(paid.map(({ bestAssets }) => bestAssets))
      expect((await usdOf(who)) + spent).toBe(FUNDS)
      const bought = sold.filter(({ bestBidder }) => bestBidder === who)
      expect(await ethOf(who)).toBe(sum(bought.map(({ amount }) => amount)))
      const led = open.filter(({ bestBidder }) => bestBidder === who)
      expect(await committedAt(auction, who)).toEqual([
        sum(led.map(({ bestAssets }) => bestAssets)),
        sum(led.map(({ amount }) => amount)),
      ])
    }
  }
  await play(kinds, expectSumsKept)
})

test('the house holds the best bids and what is offered, and pays nobody twice', async () => {
  const { house } = world
  const anyLot = async (roll: number) => (await house.read.lastLotId()) - BigInt(roll % 2)
  const kinds: Kinds = {
    open: (rolls, nowS) => {
      const [, asset, amount, quoteAsset, reserveAssets, closesAt] = sale(nowS, rolls)
      const position = { positionId: zeroHash, lane: zeroHash, market: asset, borrower: asset }
      return house.write.open(
        [{ ...position, asset, amount, quoteAsset, reserveAssets, closesAt }],
        by(seller),
      )
    },
    bid: async ([a, b, c]) => house.write.bid([await anyLot(a), price(b)], by(pick(funds, c))),
    award: async ([a, , c]) =>
      house.write.award([(await house.read.lastLotId()) - BigInt(a % 4)], by(pick(bidders, c))),
    wait: ([a]) => world.pass(1 + (a % 5)),
  }
  const expectSumsKept = async () => {
    const lotIds = numbers(await house.read.lastLotId())
    const lots = await Promise.all(lotIds.map((lotId) => house.read.lot([lotId])))
    const open = lots.filter(({ state }) => state === OPEN)
    const awarded = lots.filter(({ state }) => state === 2)
    expect(await usdOf(house.address)).toBe(sum(open.map(({ bestAssets }) => bestAssets)))
    expect(await ethOf(house.address)).toBe(sum(open.map(({ terms }) => terms.amount)))
    expect(await usdOf(seller)).toBe(sum(awarded.map(({ bestAssets }) => bestAssets)))
    for (const fund of funds) {
      const paid = [...open, ...awarded].filter(({ bestBidder }) => bestBidder === fund)
      expect((await usdOf(fund)) + sum(paid.map(({ bestAssets }) => bestAssets))).toBe(FUNDS)
      const bought = awarded.filter(({ bestBidder }) => bestBidder === fund)
      expect(await ethOf(fund)).toBe(sum(bought.map(({ terms }) => terms.amount)))
    }
  }
  await play(kinds, expectSumsKept)
})

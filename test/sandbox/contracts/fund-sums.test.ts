import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDice, type Dice } from '../dice.ts'
import { createFundWorld, type FundWorld } from '../fund-world.ts'
import { by, eth, usd } from './world.ts'

const seed = 20_260_101
const actions = 400

let world: FundWorld
let funds: readonly FundWorld['fund'][]
let people: readonly Address[]
const lots: { readonly lotId: bigint; readonly closesAt: bigint }[] = []

beforeAll(async () => {
  world = await createFundWorld()
  const { sUSD, auction, desk } = world
  funds = [world.fund, await world.launch()]
  people = [await world.investor(usd('900000000')), await world.investor(usd('900000000'))]
  const spenders = [...funds.map(({ address }) => address), auction.address, desk.address]
  for (const who of people) {
    for (const spender of spenders) await sUSD.write.approve([spender, usd('900000000')], by(who))
  }
  // Both begin with money, so that bids have something to bid with.
  for (const fund of funds) {
    await fund.write.openEpoch([60n], by(world.admin))
    for (const who of people) await fund.write.subscribe([usd('300000')], by(who))
  }
  await world.pass(60)
  for (const fund of funds) await fund.write.closeEpoch(by(world.admin))
})
afterAll(() => world.stop())

const sum = (parts: readonly bigint[]) => parts.reduce((total, part) => total + part, 0n)
const numbers = (last: bigint) => Array.from({ length: Number(last) }, (_, index) => BigInt(index + 1))

/** Some actions fail, as they should: a bid without money, a lot that is over. */
const kinds: Readonly<Record<string, (dice: Dice) => Promise<unknown>>> = {
  open: (dice) => dice.pick(funds).write.openEpoch([60n], by(world.admin)),
  close: (dice) => dice.pick(funds).write.closeEpoch(by(dice.pick(people))),
  subscribe: (dice) =>
    dice.pick(funds).write.subscribe([usd('1000') + dice.amount(usd('900000'))], by(dice.pick(people))),
  withdraw: (dice) =>
    dice.pick(funds).write.withdrawSubscription([dice.amount(usd('100000'))], by(dice.pick(people))),
  claim: async (dice) => {
    const fund = dice.pick(funds)
    const epochId = (await fund.read.epochId()) - BigInt(dice.upTo(3))
    return fund.write.claimShares([epochId], by(dice.pick(people)))
  },
  report: async (dice) => {
    const oracle = world.oracleAt(await world.fund.read.navOracle())
    const { value } = await oracle.read.latest([(await world.report()).reportType])
    const last = value === 0n ? 10n ** 18n : value
    return world.value((last * BigInt(90 + dice.upTo(21))) / 100n)
  },
  offer: async (dice) =>
    lots.push(await world.offer(eth('1') + dice.amount(eth('30')), usd('1'), { openS: 20n })),
  bid: async (dice) => {
    const lot = dice.pick(lots.slice(-3))
    const assets = usd('1') + dice.amount(usd('90000'))
    return dice.pick(funds).write.bidAcquisition([world.house.address, lot.lotId, assets], by(world.manager))
  },
  raise: async (dice) => {
    const lot = dice.pick(lots.slice(-2))
    const { bestAssets } = await world.house.read.lot([lot.lotId])
    const bid = [world.house.address, lot.lotId, bestAssets + dice.amount(usd('1000'))] as const
    return dice.pick(funds).write.bidAcquisition(bid, by(world.manager))
  },
  award: async (dice) => world.house.write.award([dice.pick(lots.slice(-8)).lotId], by(dice.pick(people))),
  release: async (dice) => {
    const fund = dice.pick(funds)
    const last = await fund.read.lastReservationId()
    return fund.write.releaseReservation([last - BigInt(dice.upTo(4))], by(dice.pick(people)))
  },
  auction: async (dice) => {
    const fund = dice.pick(funds)
    const holdingId = (await fund.read.lastHoldingId()) - BigInt(dice.upTo(3))
    const sale = [
      world.auction.address,
      holdingId,
      dice.amount(usd('3000')),
      (await world.now()) + 16n,
    ] as const
    return fund.write.listAtAuction(sale, by(world.manager))
  },
  rfq: async (dice) => {
    const fund = dice.pick(funds)
    const holdingId = (await fund.read.lastHoldingId()) - BigInt(dice.upTo(3))
    const sale = [world.desk.address, holdingId, dice.amount(usd('3000')), (await world.now()) + 16n] as const
    return fund.write.openRfq(sale, by(world.manager))
  },
  buy: async (dice) => {
    const lotId = (await world.auction.read.lastLotId()) - BigInt(dice.upTo(2))
    return world.auction.write.bid([lotId, usd('3000') + dice.amount(usd('1000'))], by(dice.pick(people)))
  },
  settle: async (dice) => {
    const lotId = (await world.auction.read.lastLotId()) - BigInt(dice.upTo(3))
    return world.auction.write.settle([lotId], by(dice.pick(people)))
  },
  finalize: async (dice) => {
    const rfqId = (await world.desk.read.lastRfqId()) - BigInt(dice.upTo(3))
    return world.desk.write.finalize([rfqId], by(dice.pick(people)))
  },
  wait: (dice) => world.pass(1 + dice.upTo(12)),
}

const HELD = 1
const DISPOSED = 3
const ACTIVE = 1

type Reservation = Awaited<ReturnType<FundWorld['fund']['read']['reservation']>>
type Holding = Awaited<ReturnType<FundWorld['fund']['read']['holding']>>

/** What is reserved for and spent on each lane, market and borrower is what the fund says of the last lots' ones. */
async function expectConcentration(
  fund: FundWorld['fund'],
  active: readonly Reservation[],
  holdings: readonly Holding[],
): Promise<void> {
  const { house } = world
  const termsOf = async (lotId: bigint) => (await house.read.lot([lotId])).terms
  const bids = active.map(async ([, , lotId, , assets]) => ({ ...(await termsOf(lotId)), assets }))
  const kept = holdings.filter(({ status }) => status !== DISPOSED)
  const parts = [
    ...(await Promise.all(bids)),
    ...kept.map((holding) => ({ ...holding, assets: holding.transferPriceAssets })),
  ]
  for (const { lotId } of lots.slice(-2)) {
    const { lane, market, borrower } = await termsOf(lotId)
    const inMarket = parts.filter((part) => part.market === market)
    const like = [
      parts.filter((part) => part.lane === lane),
      inMarket,
      inMarket.filter((part) => part.borrower === borrower),
    ]
    expect(await fund.read.concentrationAt([house.address, lotId])).toEqual(
      like.map((some) => sum(some.map(({ assets }) => assets))),
    )
  }
}

/** What every fund must keep, whatever happened. */
async function expectSumsKept(fund: FundWorld['fund']) {
  const { sUSD, sETH, terms } = world
  const epochId = await fund.read.epochId()
  const [idle, escrowed, reserved, spent, supply, reservations, holdings, epochs] = await Promise.all([
    fund.read.idleAssets(),
    fund.read.escrowedAssets(),
    fund.read.reservedAssets(),
    fund.read.spentAssets(),
    fund.read.totalSupply(),
    fund.read
      .lastReservationId()
      .then((last) => Promise.all(numbers(last).map((id) => fund.read.reservation([id])))),
    fund.read.lastHoldingId().then((last) => Promise.all(numbers(last).map((id) => fund.read.holding([id])))),
    Promise.all(numbers(epochId).map((id) => fund.read.epoch([id]))),
  ])
  const active = reservations.filter(([status]) => status === ACTIVE)
  expect(sum(active.map(([, , , , assets]) => assets))).toBe(reserved)
  // The house pays outbid money back at once; the fund counts it from its release on.
  const paidBack = await Promise.all(
    active.map(async ([, , lotId, , assets]) => {
      const { bestBidder, bestAssets } = await world.house.read.lot([lotId])
      if (bestBidder !== fund.address) return assets
      expect(bestAssets).toBe(assets)
      return 0n
    }),
  )
  expect(await sUSD.read.balanceOf([fund.address])).toBe(idle + escrowed + sum(paidBack))

  await expectConcentration(fund, active, holdings)

  const closed = epochs.filter(({ closedAt }) => closedAt !== 0n)
  const net = (epoch: (typeof epochs)[number]) => epoch.depositedAssets - epoch.withdrawnAssets
  const taken = (epoch: (typeof epochs)[number]) => {
    const most = terms.maxSubscriptionAssets
    return net(epoch) < most ? net(epoch) : most
  }
  const disposals = await fund.getEvents.HoldingDisposed({}, { fromBlock: 0n })
  const proceeds = sum(disposals.map(({ args }) => args.proceedsAssets ?? 0n))
  expect(sum(closed.map(taken)) + proceeds).toBe(idle + reserved + spent)

  expect(supply).toBe(sum(closed.map(({ shares }) => shares)))
  const owners = [...people, fund.address]
  expect(sum(await Promise.all(owners.map((who) => fund.read.balanceOf([who]))))).toBe(supply)

  const held = holdings.filter(({ status }) => status === HELD)
  const amount = sum(held.map((holding) => holding.amount))
  expect(await fund.read.heldAmount([sETH.address])).toBe(amount)
  expect(await sETH.read.balanceOf([fund.address])).toBe(amount)
  expect(holdings.filter(({ status }) => status === DISPOSED)).toHaveLength(disposals.length)
  expect(sum(holdings.map(({ transferPriceAssets }) => transferPriceAssets))).toBe(spent)

  const owed = await Promise.all(
    epochs.flatMap((epoch, index) =>
      people.map(async (who) => {
        const subscribed = await fund.read.subscriptionOf([BigInt(index + 1), who])
        if (subscribed === 0n) return 0n
        return epoch.closedAt === 0n ? subscribed : (subscribed * (net(epoch) - taken(epoch))) / net(epoch)
      }),
    ),
  )
  // Rounding leaves at most a unit a claim behind.
  expect(escrowed - sum(owed)).toBeGreaterThanOrEqual(0n)
  expect(escrowed - sum(owed)).toBeLessThan(BigInt(epochs.length * people.length))
}

test(`a fund's sums are kept through ${actions} random actions (seed ${seed})`, async () => {
  await world.client.setBlockTimestampInterval({ interval: 1 })
  const dice = createDice(seed)
  const done = new Map(Object.keys(kinds).map((kind) => [kind, 0]))
  const names = Object.keys(kinds)
  const often = [
    ...names,
    'bid',
    'raise',
    'raise',
    'raise',
    'release',
    'release',
    'open',
    'open',
    'buy',
    'buy',
    'award',
    'auction',
    'rfq',
    'settle',
    'finalize',
    'subscribe',
    'close',
  ]
  for (let i = 0; i < actions; i++) {
    const kind = dice.pick(often)
    const worked = await kinds[kind]?.(dice).then(
      () => true,
      () => false,
    )
    if (worked) done.set(kind, (done.get(kind) ?? 0) + 1)
    if (i % 25 === 24) for (const fund of funds) await expectSumsKept(fund)
  }
  for (const venue of [world.house, world.auction, world.desk]) {
    expect(await venue.getEvents.FundNotTold({}, { fromBlock: 0n })).toEqual([])
  }
  // A run in which a kind never worked would have shown nothing of it.
  for (const [kind, times] of done) expect(times, kind).toBeGreaterThan(0)
})

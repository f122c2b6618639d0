import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SHADE_MAX, shadeAmong } from '../../../agents/protocol/winners-curse.ts'
import { decide } from '../../../agents/rfq-bidder/decide.ts'
import type { AuctionSeen, Observed, RfqBidSeen, RfqSeen } from '../../../agents/rfq-bidder/seen.ts'
import { RFQ_TERMS } from '../../../src/service/contract/assumptions.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import {
  AUCTION,
  auction,
  BTC,
  bid,
  DESK,
  NOW_S,
  observed,
  policy,
  price,
  RIVAL,
  rfq,
  SELF,
  USD,
  underWay,
} from './fixtures.ts'
import { createTradeWorld } from './world.ts'

const RUNS = { numRuns: 1_000 }
const WAD = 10n ** 18n
const MILLION = 1_000_000n

/** Tight, so that every limit stops some. */
const rules = policy({
  bidUsdMicrosMax: 15_000n * MILLION,
  openBidsUsdMicrosMax: 30_000n * MILLION,
  auction: { ...policy().auction, owedUsdMicrosMax: 18_000n * MILLION },
  assets: {
    sBTC: {
      ...(policy().assets.sBTC as NonNullable<ReturnType<typeof policy>['assets']['sBTC']>),
      inventoryAssetsMax: 70_000_000n,
      openBidsUsdMicrosMax: 24_000n * MILLION,
    },
  },
})

const at = (priceUsd: number) => {
  const read = { priceWad: BigInt(priceUsd) * WAD, sourceAsOfS: NOW_S, state: 1 }
  return { prices: [price({ oracle: read, reference: read, servicePriceWad: read.priceWad })] }
}

/** Three in four leave room to bid, so that few scenes say nothing; of the others many are at an end. */
const mostly = (ample: readonly [number, number], whole: readonly [number, number]) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.noBias(fc.integer({ min: ample[0], max: ample[1] })) },
    { weight: 1, arbitrary: fc.integer({ min: whole[0], max: whole[1] }) },
  )
const isOurs = fc.constantFrom(true, false, false)
const amount = mostly([8_000_000, 30_000_000], [1_000_000, 30_000_000])
const reserveUsd = mostly([500, 3_000], [500, 12_000])

const aBid = fc.record({
  isOurs,
  usd: mostly([1_000, 5_000], [1_000, 14_000]),
  status: fc.constantFrom<RfqBidSeen['status']>('live', 'live', 'live', 'expired', 'lost', 'cancelled'),
})
const anRfq = fc.record({
  amount,
  reserveUsd,
  closesInS: mostly([-10, 60], [-20, 60]),
  sealed: fc.boolean(),
  bids: fc.array(aBid, { maxLength: 3 }),
})
const aLot = fc.record({
  amount,
  reserveUsd,
  closesInS: mostly([1, 40], [-20, 40]),
  best: fc.option(fc.record({ isOurs, usd: mostly([500, 5_000], [500, 14_000]) })),
  owedUsd: fc.constantFrom(0, 0, 4_000),
})
const aScene = fc.record({
  rfqs: fc.array(anRfq, { maxLength: 3 }),
  lots: fc.array(aLot, { maxLength: 2 }),
  priceUsd: fc.integer({ min: 20_000, max: 60_000 }),
  heldBtc: mostly([0, 20_000_000], [0, 80_000_000]),
  fundsUsd: mostly([15_000, 40_000], [0, 40_000]),
})
type Drawn = typeof aScene extends fc.Arbitrary<infer T> ? T : never

const usd = (whole: number) => BigInt(whole) * MILLION

function rfqOf(drawn: Drawn['rfqs'][number], index: number): RfqSeen {
  const isOpen = drawn.closesInS > 0
  return rfq({
    id: `${DESK}:${index}`,
    lot: `${DESK}:${index}`,
    number: String(index),
    amount: BigInt(drawn.amount),
    reserveAssets: usd(drawn.reserveUsd),
    closesAtS: NOW_S + drawn.closesInS,
    status: isOpen ? 'open' : 'closed',
    terms: { ...RFQ_TERMS, book: drawn.sealed ? 'sealed' : 'open' },
    bids: drawn.bids.map(({ isOurs, usd: whole, status }, at) =>
      bid({
        bidId: `${index}${at}`,
        bidder: isOurs ? SELF : RIVAL,
        assets: usd(whole),
        expiresAtS: NOW_S + drawn.closesInS + 300,
        status: isOpen && status === 'lost' ? 'live' : status,
        refundable: status === 'expired' || (!isOpen && status === 'lost'),
      }),
    ),
  })
}

function lotOf(drawn: Drawn['lots'][number], index: number): AuctionSeen {
  const bestBidder = drawn.best === null ? null : drawn.best.isOurs ? SELF : RIVAL
  const bestAssets = drawn.best === null ? null : usd(drawn.best.usd)
  return auction({
    id: `${AUCTION}:${index}`,
    lot: `${AUCTION}:${index}`,
    number: String(index),
    amount: BigInt(drawn.amount),
    reserveAssets: usd(drawn.reserveUsd),
    closesAtS: NOW_S + drawn.closesInS,
    status: drawn.closesInS > 0 ? 'open' : 'closed',
    bestBidder,
    bestAssets,
    nextAssets: bestAssets === null ? usd(drawn.reserveUsd) : (bestAssets * 101n) / 100n,
    bids: bestBidder === null || bestAssets === null ? [] : [{ bidder: bestBidder, assets: bestAssets }],
    owedAssets: usd(drawn.owedUsd),
  })
}

const sceneOf = (drawn: Drawn, changes: Partial<Observed> = {}): Observed =>
  observed({
    rfqs: drawn.rfqs.map(rfqOf),
    auctions: drawn.lots.map(lotOf),
    balances: { [USD]: usd(drawn.fundsUsd), [BTC]: BigInt(drawn.heldBtc) },
    ...at(drawn.priceUsd),
    ...changes,
  })

const bidOf = ({ input }: Proposal) => (typeof input.bidAssets === 'string' ? BigInt(input.bidAssets) : null)
const isInEscrow = ({ bidder, status }: RfqBidSeen) =>
  bidder === SELF && ['live', 'expired', 'displaced', 'lost'].includes(status)

/** Proposals as one text, by subject. */
const written = (proposals: readonly Proposal[]) =>
  proposals
    .map((proposal) =>
      JSON.stringify(proposal, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    )
    .toSorted()
    .join()

/** What of our bid on an offer is in escrow before a proposal, and what after it. */
function escrowsAfter(seen: Observed, proposals: readonly Proposal[]) {
  const changeOf = (proposal: Proposal) => {
    const standing = seen.rfqs
      .flatMap(({ bids, id }) => bids.map((each) => ({ ...each, offer: id })))
      .find(({ offer, bidId }) => offer === proposal.subject && bidId === proposal.input.bidId)
    return (bidOf(proposal) ?? 0n) - (standing?.assets ?? 0n)
  }
  const bidding = proposals.filter((proposal) => bidOf(proposal) !== null)
  const rfqs = seen.rfqs
    .flatMap(({ bids }) => bids.filter(isInEscrow))
    .reduce((sum, { assets }) => sum + assets, 0n)
  const auctions = seen.auctions.reduce(
    (sum, { bestBidder, bestAssets, owedAssets }) =>
      sum + owedAssets + (bestBidder === SELF ? (bestAssets ?? 0n) : 0n),
    0n,
  )
  // A raise grows what is bid; what is lowered or refused only shrinks it.
  const grown = bidding.reduce(
    (sum, proposal) => sum + (changeOf(proposal) > 0n ? changeOf(proposal) : 0n),
    0n,
  )
  return { before: rfqs + auctions, after: rfqs + auctions + grown, grown }
}

describe('every decision', () => {
  it('keeps the exposure within its limits, funds and inventory, and each bid below what the lot is worth', () => {
    const kinds = { place: 0, raise: 0, lower: 0, cancel: 0, finalize: 0, refund: 0, auction: 0 }
    fc.assert(
      fc.property(aScene, (drawn) => {
        const seen = sceneOf(drawn)
        const { proposals } = decide(seen, rules)
        for (const { kind } of proposals) kinds[kind as keyof typeof kinds] += 1
        const { after, grown } = escrowsAfter(seen, proposals)
        if (grown > 0n) {
          expect(after <= 24_000n * MILLION).toBe(true)
          expect(grown <= usd(drawn.fundsUsd)).toBe(true)
        }
        const offers = new Map([...seen.rfqs, ...seen.auctions].map((offer) => [offer.id, offer]))
        const bidFor = new Set<string>()
        for (const proposal of proposals) {
          const assets = bidOf(proposal)
          const offer = offers.get(proposal.subject)
          if (assets === null || offer === undefined) continue
          bidFor.add(offer.id)
          const markAssets = (offer.amount * BigInt(drawn.priceUsd)) / 100n
          expect(assets >= offer.reserveAssets && assets < markAssets).toBe(true)
          expect(assets <= BigInt(String(proposal.reason.limitAssets))).toBe(true)
          expect(assets <= rules.bidUsdMicrosMax).toBe(true)
          expect(proposal.worthUsdMicros).toBeGreaterThanOrEqual(rules.gainUsdMicrosMin)
        }
        // Whatever stands or is bid now can be held.
        const won = [...offers.values()].filter(
          (offer) =>
            bidFor.has(offer.id) ||
            ('terms' in offer
              ? offer.bids.some(({ bidder, status }) => bidder === SELF && status === 'live')
              : offer.bestBidder === SELF),
        )
        const amount = won.reduce((sum, offer) => sum + offer.amount, BigInt(drawn.heldBtc))
        if (bidFor.size > 0) expect(amount <= 70_000_000n).toBe(true)
      }),
      RUNS,
    )
    // What was never drawn was never tested.
    expect(Math.min(...Object.values(kinds))).toBeGreaterThan(RUNS.numRuns / 100)
  })

  it('is the same for the same observation, in whatever order offers come', () => {
    fc.assert(
      fc.property(aScene, (drawn) => {
        const seen = sceneOf(drawn)
        const turned = { ...seen, rfqs: seen.rfqs.toReversed(), auctions: seen.auctions.toReversed() }
        const first = written(decide(seen, rules).proposals)
        expect(written(decide(seen, rules).proposals)).toBe(first)
        expect(written(decide(turned, rules).proposals)).toBe(first)
      }),
      RUNS,
    )
  })

  it('proposes nothing twice: not beside itself, not beside what is in flight', () => {
    fc.assert(
      fc.property(aScene, (drawn) => {
        const seen = sceneOf(drawn)
        const { proposals, passedOver } = decide(seen, rules)
        const subjects = proposals.map(({ subject }) => subject)
        expect(new Set(subjects).size).toBe(subjects.length)
        const again = decide({ ...seen, inFlight: proposals.map(underWay) }, rules).proposals
        for (const { subject } of again) expect(subjects).not.toContain(subject)
        // Whatever was looked at was answered.
        const spokenOf = new Set([...subjects, ...passedOver.map(({ subject }) => subject)])
        for (const { id } of [...seen.rfqs, ...seen.auctions]) expect(spokenOf.has(id)).toBe(true)
      }),
      RUNS,
    )
  })
})

/** What is bid for one RFQ without a bid of ours: 0 for nothing. */
const bidWhen = (drawn: Drawn['rfqs'][number], priceUsd: number, heldBtc: number): bigint => {
  const open = { ...drawn, closesInS: 30, bids: drawn.bids.filter(({ isOurs }) => !isOurs) }
  const seen = observed({
    rfqs: [rfqOf(open, 1)],
    balances: { [USD]: usd(40_000), [BTC]: BigInt(heldBtc) },
    ...at(priceUsd),
  })
  const [proposal] = decide(seen, rules).proposals
  return proposal === undefined ? 0n : (bidOf(proposal) ?? 0n)
}

describe('a bid', () => {
  it('is not lower at a higher price', () => {
    fc.assert(
      fc.property(
        anRfq,
        fc.integer({ min: 20_000, max: 60_000 }),
        fc.integer({ min: 0, max: 9_000 }),
        (drawn, low, more) => {
          expect(bidWhen(drawn, low + more, 1_000_000) >= bidWhen(drawn, low, 1_000_000)).toBe(true)
        },
      ),
      RUNS,
    )
  })

  it('is not higher with more inventory', () => {
    fc.assert(
      fc.property(
        anRfq,
        fc.integer({ min: 0, max: 70_000_000 }),
        fc.integer({ min: 0, max: 9_000_000 }),
        (drawn, low, more) => {
          expect(bidWhen(drawn, 45_000, low + more) <= bidWhen(drawn, 45_000, low)).toBe(true)
        },
      ),
      RUNS,
    )
  })
})

const aStep = fc.record({
  does: fc.constantFrom(
    'open',
    'open sealed',
    'rival',
    'rival',
    'price',
    'look',
    'look',
    'look',
    'drop',
    'tick',
  ),
  by: fc.integer({ min: 0, max: 30 }),
})

describe('the life of a desk', () => {
  it('leaves no escrow of ours, whatever rivals, prices, lost workflows and restarts there are', () => {
    fc.assert(
      fc.property(fc.array(aStep, { minLength: 4, maxLength: 14 }), (steps) => {
        const world = createTradeWorld(NOW_S)
        let priceUsd = 50_000
        const look = (carried: (index: number) => boolean) => {
          const nowS = world.nowS()
          const read = { priceWad: BigInt(priceUsd) * WAD, sourceAsOfS: nowS, state: 1 }
          const seen = observed({
            ...world.shownTo(SELF),
            chain: { ...observed().chain, timestampS: nowS },
            nowMs: nowS * 1_000,
            balances: { [USD]: usd(40_000) + world.money(SELF), [BTC]: world.goods(SELF) },
            prices: [price({ oracle: read, reference: read, servicePriceWad: read.priceWad })],
          })
          const { proposals } = decide(seen, rules)
          for (const [index, proposal] of proposals.entries()) {
            if (carried(index)) expect(world.carryOut(SELF, proposal)).toBe(true)
          }
          return proposals.length
        }
        for (const { does, by } of steps) {
          if (does === 'open' || does === 'open sealed') {
            const closesAtS = world.nowS() + 10 + by
            world.openRfq({ closesAtS, reserveAssets: usd(7_000 + by * 80), sealed: does === 'open sealed' })
          } else if (does === 'rival') {
            world.place(RIVAL, String((by % 3) + 1), usd(8_000 + by * 60), world.nowS() + by * 3)
          } else if (does === 'price') priceUsd = 38_000 + by * 700
          else if (does === 'tick') world.tick(by)
          else look((index) => does === 'look' || (index + by) % 2 === 0)
        }
        for (let times = 0; times < 6; times += 1) {
          world.tick(30)
          look(() => true)
        }
        expect(look(() => true)).toBe(0)
        expect(world.orphaned(SELF)).toBe(0n)
      }),
      RUNS,
    )
  })
})

describe('the shade among bidders', () => {
  /** The definitions, by summing over the normal distribution. */
  const summed = (bidders: number) => {
    const width = 0.002
    let [below, ties, noise] = [0, 0, 0]
    for (let at = -8; at < 8; at += width) {
      const density = Math.exp((-at * at) / 2) / Math.sqrt(2 * Math.PI)
      below += density * width
      const weight = density * density * below ** (bidders - 2) * width
      ties += weight
      noise += weight * at
    }
    return { curse: noise / ties, margin: 1 / (bidders * (bidders - 1) * ties) }
  }

  it.each([2, 3, 4, 7, 11, 17])('of %i is what the definition says', (bidders) => {
    const { curse, margin } = shadeAmong(bidders)
    expect(Number(curse) / 10_000).toBeCloseTo(summed(bidders).curse, 2)
    expect(Number(margin) / 10_000).toBeCloseTo(summed(bidders).margin, 2)
  })

  it('is nothing for one alone, and no more beyond the table', () => {
    expect(shadeAmong(1)).toEqual({ curse: 0n, margin: 0n })
    expect(shadeAmong(60)).toEqual(shadeAmong(17))
    expect(SHADE_MAX).toBe(19_553n)
  })
})

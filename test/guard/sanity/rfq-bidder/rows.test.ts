import { describe, expect, it } from 'vitest'
import type { RfqBidderSeen } from '../../../../agents/rfq-bidder/seen.ts'
import { auction, bid, NOW_S, RIVAL, SELF } from '../../../agents/rfq-bidder/fixtures.ts'
import { COLLEAGUE, createBidderScene, type Deed, usd } from '../bidder-scene.ts'

/** RFQs of 1 sBTC each at most, for 40,000 sUSD at least, in the last call. */
const OPENINGS = Array.from(
  { length: 24 },
  (): Deed => (world) => {
    world.openRfq({ amount: 100_000_000n, reserveAssets: usd(40_000), closesAtS: NOW_S + 10 })
  },
)

describe('own bids that the service shows otherwise', () => {
  /** Half of the RFQs at a look, and our bids on them changed, or left out. */
  const ours = (change: object | null) => {
    let looks = 0
    return (shown: RfqBidderSeen) => {
      looks += 1
      return {
        ...shown,
        rfqs: shown.rfqs
          .filter(({ number }) => Number(number) % 2 === looks % 2)
          .map((rfq) => ({
            ...rfq,
            bids: rfq.bids.flatMap((each) =>
              each.bidder !== SELF ? each : change === null ? [] : { ...each, ...change },
            ),
          })),
      }
    }
  }

  it.each([
    ['as cancelled', ours({ status: 'cancelled' })],
    ['as refunded', ours({ status: 'refunded' })],
    ['not at all', ours(null)],
    ['as of somebody else', ours({ bidder: RIVAL, assets: usd(30_000) })],
  ])('%s: one bid an RFQ, and no more in escrow than the policy says', (_, lie) => {
    const scene = createBidderScene(OPENINGS, lie)
    const answers = Array.from({ length: 20 }, () => scene.look()).flat()
    expect(answers.filter((check) => check === null).length).toBe(scene.bidsOf().length)
    expect(scene.bidsOf()).toHaveLength(12)
    // $500,000 for one asset.
    expect(scene.spent()).toBe(usd(480_000))
    expect(new Set(answers.filter((check) => check !== null))).toEqual(
      new Set(['bid_stands', 'asset_escrow_above_limit']),
    )
  })
})

describe('a bidder of ours that the service hides', () => {
  it('is not outbid on an RFQ, lead by lead up to what the lot is worth', () => {
    const opening: Deed = (world) => {
      const number = world.openRfq({ closesAtS: NOW_S + 10 })
      world.place(COLLEAGUE, number, usd(9_000), NOW_S + 900)
    }
    // As somebody's, so that the agent takes part.
    const scene = createBidderScene([opening], (shown) => ({
      ...shown,
      rfqs: shown.rfqs.map((rfq) => ({
        ...rfq,
        bids: rfq.bids.map((each) => (each.bidder === COLLEAGUE ? { ...each, bidder: RIVAL } : each)),
      })),
    }))
    expect(scene.look()).toEqual(['bidder_is_ours'])
  })

  it('is not outbid at an auction', () => {
    const opening: Deed = (world) => {
      const number = world.openAuction({ closesAtS: NOW_S + 15 })
      world.raise(COLLEAGUE, number, usd(8_500))
    }
    const scene = createBidderScene([opening], (shown) => ({
      ...shown,
      auctions: shown.auctions.map((lot) => ({ ...lot, bestBidder: RIVAL, bids: [] })),
    }))
    expect(scene.look()).toEqual(['bidder_is_ours'])
  })
})

describe('a rival that the service invents', () => {
  it.each([1, 3])('%i of them raise no bid on an RFQ: its reserve is the price', (rivals) => {
    const opening: Deed = (world) => world.openRfq({ closesAtS: NOW_S + 10 })
    let highest = 8_200
    const scene = createBidderScene([opening], (shown) => ({
      ...shown,
      rfqs: shown.rfqs.map((rfq) => ({
        ...rfq,
        bids: [
          ...rfq.bids,
          ...Array.from({ length: rivals }, (_, index) =>
            bid({ bidId: `9${index}`, bidder: `0x${'9'.repeat(39)}${index}`, assets: usd(highest - index) }),
          ),
        ],
      })),
    }))
    const answers: (string | null)[] = []
    for (; highest < 9_900; highest += 100) answers.push(...scene.look())
    expect(scene.spent()).toBe(0n)
    expect(new Set(answers)).toEqual(new Set(['bid_above_rivals']))
  })

  it('raises no bid at an auction either', () => {
    const opening: Deed = (world) => world.openAuction({ closesAtS: NOW_S + 15 })
    const scene = createBidderScene([opening], (shown) => ({
      ...shown,
      auctions: shown.auctions.map((lot) =>
        auction({
          ...lot,
          bestBidder: RIVAL,
          bestAssets: usd(9_000),
          nextAssets: usd(9_090),
          bids: [{ bidder: RIVAL, assets: usd(9_000) }],
        }),
      ),
    }))
    expect(scene.look()).toEqual(['bid_above_rivals'])
    expect(scene.spent()).toBe(0n)
  })
})

it('bids as before where the service says what is there', () => {
  const opening: Deed = (world) => {
    world.openRfq({ closesAtS: NOW_S + 10 })
    world.place(RIVAL, '1', usd(8_500), NOW_S + 900)
    world.openAuction({ closesAtS: NOW_S + 15, amount: 30_000_000n })
    world.raise(RIVAL, '1', usd(8_500))
  }
  const scene = createBidderScene([opening], (shown) => shown)
  expect(scene.look()).toEqual([null, null])
  expect(scene.look()).toEqual([])
  expect(scene.bidsOf().map(({ assets }) => assets)).toEqual([8_727_477_209n])
})

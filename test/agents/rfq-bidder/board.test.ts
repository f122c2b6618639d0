import { expect, it } from 'vitest'
import { board } from '../../../agents/rfq-bidder/board.ts'
import { decide } from '../../../agents/rfq-bidder/decide.ts'
import type { Observed } from '../../../agents/rfq-bidder/seen.ts'
import { auction, bid, NOW_S, observed, policy, price, RIVAL, rfq, SELF } from './fixtures.ts'

const shown = (changes: Partial<Observed>) => {
  const seen = observed(changes)
  return board(seen, decide(seen, policy())).lots ?? []
}

it('shows what closes first before all, with the bids as a ladder and ours among them', () => {
  const [lot, offer] = shown({
    rfqs: [rfq({ bids: [bid(), bid({ bidId: '2', bidder: RIVAL, assets: 8_100_000_000n })] })],
    auctions: [
      auction({
        bestBidder: RIVAL,
        bestAssets: 8_200_000_000n,
        bids: [
          { bidder: SELF, assets: 8_050_000_000n },
          { bidder: RIVAL, assets: 8_200_000_000n },
        ],
      }),
    ],
  })
  expect(lot).toMatchObject({
    venue: 'auction',
    closesAtS: NOW_S + 15,
    status: 'open',
    what: '0.2 sBTC',
    reserve: '8,000 sUSD',
    reserveAmount: 8_000,
    bids: [
      { who: RIVAL, ours: false, text: '8,200 sUSD', amount: 8_200, status: 'leading' },
      { who: SELF, ours: true, text: '8,050 sUSD', amount: 8_050, status: 'outbid' },
    ],
  })
  expect(offer).toMatchObject({
    venue: 'rfq',
    bids: [
      { who: RIVAL, ours: false, status: 'live' },
      { who: SELF, ours: true, status: 'live' },
    ],
  })
})

it('shows our limit where the decision came so far, and what was decided', () => {
  const [bidding] = shown({ rfqs: [rfq()] })
  expect(bidding?.check).toBe('proposed')
  expect(bidding?.limitAmount).toBeGreaterThan(8_000)
  expect(bidding?.limit).toContain('sUSD')
  const [blind] = shown({ rfqs: [rfq()], prices: [price({ oracle: null })] })
  expect(blind).toMatchObject({ check: 'price_unknown', limit: null, limitAmount: null })
})

it('shows no more than a hundred', () => {
  const many = Array.from({ length: 120 }, (_, index) => rfq({ id: `0x0:${index}` }))
  expect(shown({ rfqs: many })).toHaveLength(100)
})

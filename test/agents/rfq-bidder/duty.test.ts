import { expect, it } from 'vitest'
import { decide } from '../../../agents/rfq-bidder/decide.ts'
import { due } from '../../../agents/rfq-bidder/duty.ts'
import type { Observed } from '../../../agents/rfq-bidder/seen.ts'
import { auction, bid, NOW_S, observed, policy, price, RIVAL, rfq } from './fixtures.ts'

const owed = (changes: Partial<Observed>, rules = policy()) => {
  const seen = observed(changes)
  return due(seen, decide(seen, rules), rules)
}

it('owes a bid from the last call on, until one can land no more, with half of that time as grace', () => {
  const { rfq: terms, landingS } = policy()
  const [open, ...rest] = owed({ rfqs: [rfq()], nativeBalanceWei: 0n })
  expect([open?.what, rest]).toEqual(['RFQ bid', []])
  expect(open).toMatchObject({
    sinceMs: null,
    untilMs: (NOW_S + 30 - landingS) * 1_000,
    graceMs: (terms.lastCallS - landingS) * 500,
    check: 'out_of_gas',
  })
  expect(open).not.toHaveProperty('chosen')
  // One whose time is to come is due from then on.
  const [later] = owed({ rfqs: [rfq({ closesAtS: NOW_S + 300 })] })
  expect(later).toMatchObject({ sinceMs: (NOW_S + 300 - terms.lastCallS) * 1_000 })
})

it.each([
  [
    'others pay more than our limit',
    { rfqs: [rfq({ bids: [bid({ bidder: RIVAL, assets: 10n ** 12n })] })] },
    'rivals_above_limit',
  ],
  ['it is too early', { rfqs: [rfq({ closesAtS: NOW_S + 300 })] }, 'before_last_call'],
  ['it can land no more', { rfqs: [rfq({ closesAtS: NOW_S })] }, 'too_late'],
  [
    'whoever feeds the oracle has to act',
    { rfqs: [rfq()], prices: [price({ serviceOracleState: 'stale' })] },
    'oracle_not_healthy',
  ],
])('leaves a bid by choice where %s', (_, changes, check) => {
  expect(owed(changes)).toMatchObject([{ what: 'RFQ bid', check, chosen: true }])
})

it('is late where the price is not known: that is no choice', () => {
  const [open] = owed({ rfqs: [rfq()], prices: [price({ oracle: null })] })
  expect(open).toMatchObject({ check: 'price_unknown' })
  expect(open).not.toHaveProperty('chosen')
})

it('owes escrow that can be claimed, and an RFQ to finalize that closed with our bid', () => {
  const closed = rfq({ status: 'closed', closesAtS: NOW_S - 5, bids: [bid()] })
  const over = rfq({ status: 'over', bids: [bid({ status: 'displaced', refundable: true })] })
  expect(owed({ rfqs: [over], nativeBalanceWei: 0n })).toMatchObject([
    { what: 'refund', subject: `${over.id}:bid:1`, amount: '8,000 sUSD', check: 'out_of_gas' },
  ])
  expect(owed({ rfqs: [closed], nativeBalanceWei: 0n })).toMatchObject([
    { what: 'RFQ to finalize', sinceMs: (NOW_S - 5) * 1_000, check: 'out_of_gas' },
  ])
  expect(owed({ rfqs: [rfq({ status: 'over' })] })).toEqual([])
})

it('owes an auction’s bid in its window, and what a person has to withdraw', () => {
  expect(owed({ rfqs: [], auctions: [auction({ owedAssets: 5_000_000n })] })).toMatchObject([
    { what: 'withdrawal by hand', amount: '5 sUSD', check: 'owed_not_withdrawable' },
    { what: 'auction bid' },
  ])
})

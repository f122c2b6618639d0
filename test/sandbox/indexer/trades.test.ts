import { type Address, numberToHex, zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import type { IndexedLog } from '../../../sandbox/indexer/logs.ts'
import {
  EMPTY_TRADE_BOOK,
  foldTrades,
  RFQ_BIDS_SPENT_MAX,
  TRADES_OVER_MAX,
} from '../../../sandbox/indexer/trade-book.ts'
import { tradeRows } from '../../../sandbox/indexer/trade-rows.ts'

const address = (n: number): Address => numberToHex(n, { size: 20 })
const [desk, bidder] = [address(1), address(2)]
const hash = numberToHex(0, { size: 32 })
const log = (event: IndexedLog['event']): IndexedLog => ({
  event,
  address: desk,
  blockNumber: 1n,
  blockHash: hash,
  timestampS: 100,
  txHash: hash,
  logIndex: 0,
})
const opened = (rfqId: bigint) =>
  log({
    eventName: 'RfqOpened',
    args: {
      rfqId,
      seller: address(3),
      holdingId: 0n,
      asset: address(4),
      amount: 1n,
      quoteAsset: address(5),
      reserveAssets: 1n,
      closesAt: 200n,
    },
  })
const finalized = (rfqId: bigint) =>
  log({ eventName: 'RfqFinalized', args: { rfqId, bidId: 0n, winner: zeroAddress, assets: 0n } })
const placed = (bidId: bigint, expiresAt = 300n) =>
  log({ eventName: 'RfqBidPlaced', args: { rfqId: 1n, bidId, bidder, assets: 1n, expiresAt } })
const cancelled = (bidId: bigint) =>
  log({ eventName: 'RfqBidCancelled', args: { rfqId: 1n, bidId, bidder, assets: 1n } })
const numbers = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index) + 1n)

test('of what is over only the newest is kept, and what is open always', () => {
  const open = foldTrades(EMPTY_TRADE_BOOK, numbers(TRADES_OVER_MAX + 2).map(opened))
  expect(open.rfqs.size).toBe(TRADES_OVER_MAX + 2)
  const full = foldTrades(
    open,
    numbers(TRADES_OVER_MAX + 1)
      .slice(1)
      .map(finalized),
  )
  expect(full.rfqs.size).toBe(TRADES_OVER_MAX + 2)
  const over = foldTrades(full, [finalized(BigInt(TRADES_OVER_MAX) + 2n)])
  expect([over.rfqs.has(`${desk}:1`), over.rfqs.has(`${desk}:2`)]).toEqual([true, false])
  // The given books stay as they were: a reorg goes back to them.
  expect(open.rfqs.get(`${desk}:2`)?.outcome).toBeNull()
})

test('a bidder that places and cancels without end does not grow the row', () => {
  const spam = numbers(RFQ_BIDS_SPENT_MAX + 5).flatMap((bidId) => [placed(bidId), cancelled(bidId)])
  const book = foldTrades(EMPTY_TRADE_BOOK, [opened(1n), placed(1_000n), ...spam, placed(1_001n)])
  const bids = book.rfqs.get(`${desk}:1`)?.bids ?? []
  expect(bids).toHaveLength(RFQ_BIDS_SPENT_MAX + 2)
  expect(bids.filter(({ state }) => state === 'booked').map(({ bidId }) => bidId)).toEqual(['1000', '1001'])
})

test('an RFQ is open up to the second before its close, and a bid that is live at its close stays so', () => {
  const at = (nowS: number, expiresAt: bigint) => {
    const book = foldTrades(EMPTY_TRADE_BOOK, [opened(1n), placed(1n, expiresAt)])
    const [row] = tradeRows(book, 1, nowS).rfqs
    return [row?.status, row?.bids[0]?.status, row?.bids[0]?.refundable, row?.bestBidAssets]
  }
  expect(at(198, 199n)).toEqual(['open', 'live', false, '1'])
  expect(at(199, 199n)).toEqual(['open', 'expired', true, null])
  expect(at(199, 200n)).toEqual(['open', 'live', false, '1'])
  expect(at(200, 200n)).toEqual(['closed', 'expired', true, null])
  expect(at(200, 201n)).toEqual(['closed', 'live', false, '1'])
  expect(at(10_000, 201n)).toEqual(['closed', 'live', false, '1'])
})

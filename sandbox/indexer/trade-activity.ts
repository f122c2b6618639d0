import { tradeEntityId } from '../../src/service/contract/trade-resources.ts'
import type { LogEntry } from './activity-entry.ts'
import type { IndexedLog } from './logs.ts'

/** Describe what happened to an RFQ, an auction lot or an acquisition lot; null for any other log. Pure. */
export function readTradeLog(log: IndexedLog): LogEntry | null {
  return readRfqLog(log) ?? readAuctionLog(log) ?? readAcquisitionLog(log)
}

function readRfqLog({ event, address }: IndexedLog): LogEntry | null {
  const rfq = (type: string, rfqId: bigint, amount: bigint): LogEntry => ({
    resourceType: 'rfq',
    resourceId: tradeEntityId(address, String(rfqId)),
    type,
    amount,
  })
  switch (event.eventName) {
    case 'RfqOpened':
      return rfq('rfq_opened', event.args.rfqId, event.args.amount)
    case 'RfqBidPlaced':
      return rfq('rfq_bid_placed', event.args.rfqId, event.args.assets)
    case 'RfqBidReplaced':
      return rfq('rfq_bid_replaced', event.args.rfqId, event.args.assets)
    case 'RfqBidCancelled':
      return rfq('rfq_bid_cancelled', event.args.rfqId, event.args.assets)
    case 'RfqBidDisplaced':
      return rfq('rfq_bid_displaced', event.args.rfqId, event.args.assets)
    case 'RfqRefundClaimed':
      return rfq('rfq_refund_claimed', event.args.rfqId, event.args.assets)
    case 'RfqFinalized':
      return rfq('rfq_finalized', event.args.rfqId, event.args.assets)
    default:
      return null
  }
}

function readAuctionLog({ event, address }: IndexedLog): LogEntry | null {
  const lot = (type: string, lotId: bigint, amount: bigint): LogEntry => ({
    resourceType: 'auction',
    resourceId: tradeEntityId(address, String(lotId)),
    type,
    amount,
  })
  switch (event.eventName) {
    case 'AuctionOpened':
      return lot('auction_opened', event.args.lotId, event.args.amount)
    case 'AuctionBid':
      return lot('auction_bid', event.args.lotId, event.args.assets)
    case 'AuctionWithdrawn':
      return lot('auction_withdrawn', event.args.lotId, event.args.assets)
    case 'AuctionSettled':
      return lot('auction_settled', event.args.lotId, event.args.assets)
    default:
      return null
  }
}

function readAcquisitionLog({ event, address }: IndexedLog): LogEntry | null {
  const lot = (type: string, lotId: bigint, amount: bigint): LogEntry => ({
    resourceType: 'acquisition',
    resourceId: tradeEntityId(address, String(lotId)),
    type,
    amount,
  })
  switch (event.eventName) {
    case 'LotOpened':
      return lot('acquisition_opened', event.args.lotId, event.args.terms.amount)
    case 'LotBid':
      return lot('acquisition_bid', event.args.lotId, event.args.assets)
    case 'LotAwarded':
      return lot('acquisition_awarded', event.args.lotId, event.args.assets)
    default:
      return null
  }
}

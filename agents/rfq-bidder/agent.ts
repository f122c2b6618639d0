import type { Agent } from '../agent.ts'
import { board } from './board.ts'
import { decide } from './decide.ts'
import { due } from './duty.ts'
import { type RfqBidderPolicy, rfqBidderPolicy } from './policy.ts'
import { see } from './see.ts'
import type { RfqBidderSeen } from './seen.ts'
import { CANCEL, CLAIM, FINALIZE, PLACE, RAISE, REPLACE } from './steps.ts'

/** The RFQ bidder: buys distressed holdings by RFQ and at auctions, and brings home what it put into escrow. */
export const rfqBidder: Agent<RfqBidderPolicy, RfqBidderSeen> = {
  role: 'rfq-bidder',
  watches: {
    collections: ['rfqs', 'auctions', 'markets'],
    // Which position a fund's holding is: to know a lot again that another role bids for.
    optional: ['funds'],
    eventTypes: [
      'activity.updated',
      'oracles.updated',
      'markets.updated',
      'funds.updated',
      'workflow.distressedRecoveryFundV3RfqPlaceBid.updated',
      'workflow.distressedRecoveryFundV3RfqReplaceBid.updated',
      'workflow.distressedRecoveryFundV3RfqCancelBid.updated',
      'workflow.distressedRecoveryFundV3RfqFinalize.updated',
      'workflow.distressedRecoveryFundV3RfqClaimRefund.updated',
      'workflow.distressedRecoveryFundV3AuctionBid.updated',
    ],
  },
  workflowTypes: [PLACE, REPLACE, CANCEL, FINALIZE, CLAIM, RAISE],
  explores: true,
  policy: rfqBidderPolicy,
  see,
  decide,
  due,
  board,
  contracts: ({ assets }) =>
    Object.entries(assets).map(([symbol, { referenceContract }]) => [
      `assets.${symbol}.referenceContract`,
      referenceContract,
    ]),
}

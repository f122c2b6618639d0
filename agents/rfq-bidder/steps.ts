import { inputText } from '../../src/workflow/proposal.ts'
import type { InFlight } from '../agent.ts'
import type { OfferSeen, RfqBidSeen } from './seen.ts'

/** The workflow types of the role, by what each does. */
export const PLACE = 'role.lender.distressedRecoveryFundV3RfqPlaceBid'
export const REPLACE = 'role.lender.distressedRecoveryFundV3RfqReplaceBid'
export const CANCEL = 'role.lender.distressedRecoveryFundV3RfqCancelBid'
export const FINALIZE = 'role.lender.distressedRecoveryFundV3RfqFinalize'
export const CLAIM = 'role.lender.distressedRecoveryFundV3RfqClaimRefund'
export const RAISE = 'role.lender.distressedRecoveryFundV3AuctionBid'

/** Name what makes a first bid on an RFQ, or after so many of ours, one and the same. Pure. */
export const placeOccurrence = (ownBids: number): string => `bids:${ownBids}`

/** Whether so many bids of ours show one that was placed; of one ordered by a person it cannot be known. Pure. */
export const showsPlaced = (occurrence: string, ownBids: number): boolean =>
  occurrence.startsWith('bids:') && occurrence !== placeOccurrence(ownBids)

/** Whether a workflow, ours or one ordered by a person, is about an offer. Pure. */
export function isAbout({ input }: Pick<InFlight, 'input'>, { venue, number }: OfferSeen): boolean {
  const named = (inputText(input, 'rfqAddress') ?? inputText(input, 'auctionAddress'))?.toLowerCase()
  return named === venue && (inputText(input, 'rfqId') ?? inputText(input, 'lotId')) === number
}

/** Whether a workflow claims what a bid has in escrow: that stands in the way of no other bid. Pure. */
export const claims = (
  { workflowType, input }: Pick<InFlight, 'workflowType' | 'input'>,
  { bidId }: RfqBidSeen,
): boolean => workflowType === CLAIM && input.bidId === bidId

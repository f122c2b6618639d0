/** The workflow types of the role, by what each does. */
export const PLACE = 'role.lender.distressedRecoveryFundV3RfqPlaceBid'
export const REPLACE = 'role.lender.distressedRecoveryFundV3RfqReplaceBid'
export const CANCEL = 'role.lender.distressedRecoveryFundV3RfqCancelBid'
export const FINALIZE = 'role.lender.distressedRecoveryFundV3RfqFinalize'
export const CLAIM = 'role.lender.distressedRecoveryFundV3RfqClaimRefund'
export const RAISE = 'role.lender.distressedRecoveryFundV3AuctionBid'

/** Name what makes a first bid on an RFQ, or after so many of ours, one and the same. Pure. */
export const placeOccurrence = (ownBids: number): string => `bids:${ownBids}`

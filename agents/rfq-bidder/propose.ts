import { usd } from '../../src/readable.js'
import type { PinnedDeployment } from '../../src/service/contract/deployment.ts'
import type { Proposal, Reason } from '../../src/workflow/proposal.ts'
import { BPS, tokenUnit } from '../protocol/health.ts'
import { assetsText, decimal, tokens } from '../protocol/text.ts'
import type { GasCost } from './commitments.ts'
import type { Valued } from './lot.ts'
import { type AuctionSeen, type OfferSeen, type RfqBidSeen, type RfqSeen, tokensOf } from './seen.ts'
import { CANCEL, CLAIM, FINALIZE, PLACE, placeOccurrence, RAISE, REPLACE } from './steps.ts'
import { usdMicrosOf } from './value.ts'

/** A bid that is decided: its amount in base units of the quote asset, what set it, and the gas that it may take. */
export type Bid = Valued & {
  readonly assets: bigint
  readonly limitedBy: string
  readonly gas: GasCost
}

/** Propose a first bid, or another after so many of ours. Pure. */
export const place = (rfq: RfqSeen, bid: Bid, ownBids: number, expiresAtS: number): Proposal => ({
  ...bidProposal(rfq, bid),
  workflowType: PLACE,
  kind: 'place',
  occurrence: placeOccurrence(ownBids),
  input: {
    rfqAddress: rfq.venue,
    rfqId: rfq.number,
    bidAssets: String(bid.assets),
    expiresTimestamp: String(expiresAtS),
  },
  summary: `bid ${summaryOf(rfq, bid)}`,
})

/** Propose to change a bid of ours, for the `times`th time. Pure. */
export const replace = (
  rfq: RfqSeen,
  bid: Bid,
  { bidId, assets, expiresAtS }: RfqBidSeen,
  times: number,
  untilS: number,
): Proposal => ({
  ...bidProposal(rfq, bid),
  workflowType: REPLACE,
  kind: bid.assets > assets ? 'raise' : 'lower',
  // What it is now, and how often it was changed: it may be the same twice.
  occurrence: `bid:${bidId}:${assets}@${expiresAtS}#${times}`,
  input: {
    rfqAddress: rfq.venue,
    rfqId: rfq.number,
    bidId,
    bidAssets: String(bid.assets),
    expiresTimestamp: String(untilS),
  },
  summary: `change bid ${bidId} from ${tokens(assets, bid.priced.quote.decimals, bid.priced.quote.symbol)} to ${summaryOf(rfq, bid)}`,
})

/** Propose a bid at an auction. Pure. */
export const raise = (lot: AuctionSeen, bid: Bid): Proposal => ({
  ...bidProposal(lot, bid),
  workflowType: RAISE,
  kind: 'auction',
  // Each bid of anybody makes another opportunity.
  occurrence: `bids:${lot.bids.length}`,
  input: { auctionAddress: lot.venue, lotId: lot.number, bidAssets: String(bid.assets) },
  summary: `auction bid ${summaryOf(lot, bid)}`,
})

/** What all three say alike. Winning brings what it is worth once it is won, less the bid and the gas. */
function bidProposal(offer: OfferSeen, { priced, worth, names, assets, limitedBy, gas }: Bid) {
  const { asset, quote } = priced
  const inUsdMicros = (amount: bigint) => (amount * quote.priceUsdMicros) / tokenUnit(quote.decimals)
  const gainUsdMicros = inUsdMicros(worth.wonAssets - assets) - gas.usdMicros
  const reason: Reason = {
    limitedBy,
    bidAssets: String(assets),
    reserveAssets: String(offer.reserveAssets),
    limitAssets: String(worth.limitAssets),
    valueAssets: String(worth.valueAssets),
    wonAssets: String(worth.wonAssets),
    expectedBps: Math.round(worth.expected.mean * 10_000),
    expectedBy: worth.expected.basis,
    casesWon: Math.round(worth.expected.won),
    worthAssets: String(worth.worthAssets),
    markAssets: String(worth.markAssets),
    priceWad: String(priced.priceWad),
    haircutBps: worth.haircutBps,
    skewBps: worth.skewBps,
    carryBps: worth.carryBps,
    bidders: worth.bidders,
    gasWei: String(gas.wei),
    gasUsdMicros: String(gas.usdMicros),
    gainUsdMicros: String(gainUsdMicros),
    closesAtS: offer.closesAtS,
    amount: String(offer.amount),
    ...tokensOf(offer),
  }
  return {
    subject: offer.id,
    lot: offer.lot,
    // A change of a bid counts whole: the service may not be trusted to ask for the difference alone.
    exposure: { token: quote.address, assets, usdMicros: usdMicrosOf(assets, quote) },
    gainUsdMicros,
    // When the next best is level with us: that is when the bid decides, and what its gas may cost a share of.
    worthUsdMicros: inUsdMicros(worth.valueAssets - assets),
    said: {
      of: names,
      worthUsdMicros: inUsdMicros(worth.worthAssets),
      markUsdMicros: inUsdMicros(worth.markAssets),
      brings: { token: asset.address, assets: offer.amount },
    },
    reason,
  }
}

/** `0.25 sBTC: 13,560.00 sUSD (97.60 % of 13,893.44), limit 13,610.00, expect +$120.00`. */
function summaryOf(offer: OfferSeen, { priced, worth, assets, gas }: Bid): string {
  const { asset, quote } = priced
  const paid = (amount: bigint) => tokens(amount, quote.decimals, quote.symbol)
  const partBps = worth.markAssets === 0n ? 0n : (assets * BPS) / worth.markAssets
  const gain = ((worth.wonAssets - assets) * quote.priceUsdMicros) / tokenUnit(quote.decimals) - gas.usdMicros
  return [
    `${paid(assets)} for ${tokens(offer.amount, asset.decimals, asset.symbol)}, ${decimal(partBps, 2, 2)} % of its price`,
    `limit ${paid(worth.limitAssets)}`,
    `expect ${gain < 0n ? '' : '+'}${usd(gain)}`,
  ].join(', ')
}

/** What all three say alike: what came back, or was won, is of the lot that was bid for. */
const endOf = ({ lot }: RfqSeen) => ({ lot, exposure: { token: null, assets: 0n, usdMicros: 0n } })

/** Propose to take a bid back; `why` is the rule that says so. Pure. */
export const cancel = (rfq: RfqSeen, bid: RfqBidSeen, why: string, message: string): Proposal => ({
  ...endOf(rfq),
  workflowType: CANCEL,
  kind: 'cancel',
  subject: rfq.id,
  occurrence: `bid:${bid.bidId}`,
  input: { rfqAddress: rfq.venue, rfqId: rfq.number, bidId: bid.bidId },
  summary: `cancel bid ${bid.bidId}: ${message}`,
  reason: { why, bidAssets: String(bid.assets), closesAtS: rfq.closesAtS, ...tokensOf(rfq) },
})

/** Propose to finalize an RFQ that is closed; `wins` is null where the others' bids are not shown. Pure. */
export const finalize = (rfq: RfqSeen, bid: RfqBidSeen, wins: boolean | null): Proposal => ({
  ...endOf(rfq),
  workflowType: FINALIZE,
  kind: 'finalize',
  subject: rfq.id,
  occurrence: 'finalize',
  input: { rfqAddress: rfq.venue, rfqId: rfq.number },
  summary: `finalize RFQ ${rfq.number}: our bid ${bid.bidId} ${wins === null ? 'may have won' : wins ? 'won' : 'lost'}`,
  reason: { bidAssets: String(bid.assets), wins: String(wins), closesAtS: rfq.closesAtS, ...tokensOf(rfq) },
})

/** Propose to claim a bid's escrow back. Pure. */
export function claim(rfq: RfqSeen, bid: RfqBidSeen, deployment: PinnedDeployment): Proposal {
  const winning = rfq.bids.find(({ status }) => status === 'won')
  const textOf = ({ assets }: RfqBidSeen) => assetsText(assets, rfq.quoteAsset, deployment)
  const lost =
    winning === undefined
      ? 'lost; who won is not shown'
      : `lost to ${winning.bidder}, who bid ${textOf(winning)}`
  const why =
    bid.status === 'lost' ? lost : bid.status === 'displaced' ? 'was displaced by higher ones' : bid.status
  return {
    ...endOf(rfq),
    workflowType: CLAIM,
    kind: 'refund',
    subject: bidSubject(rfq, bid),
    occurrence: 'refund',
    input: { rfqAddress: rfq.venue, rfqId: rfq.number, bidId: bid.bidId },
    summary: `claim back the ${textOf(bid)} of bid ${bid.bidId}, which ${why}`,
    reason: {
      status: bid.status,
      bidAssets: String(bid.assets),
      ...(winning === undefined ? {} : { winner: winning.bidder, winningAssets: String(winning.assets) }),
      ...tokensOf(rfq),
    },
  }
}

/** Name a bid, as workflows and `explain` do. Pure. */
export const bidSubject = ({ id }: RfqSeen, { bidId }: RfqBidSeen): string => `${id}:bid:${bidId}`

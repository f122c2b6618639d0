import type { AuctionSeen, RfqBidSeen, RfqSeen } from '../../../agents/rfq-bidder/seen.ts'
import { inputText, type Proposal } from '../../../src/workflow/proposal.ts'
import { AUCTION, auction, DESK, rfq } from './fixtures.ts'

type Who = RfqBidSeen['bidder']
type Bid = {
  bidId: string
  bidder: Who
  assets: bigint
  expiresAtS: number
  turn: number
  state: 'booked' | 'cancelled' | 'won' | 'refunded'
}
type Rfq = { terms: RfqSeen; bids: Bid[]; outcome: 'sold' | 'unsold' | null }
type Lot = {
  terms: AuctionSeen
  closesAtMaxS: number
  bids: { bidder: Who; assets: bigint }[]
  settled: boolean
}

/** What an offer is opened with; the rest is as the fixtures have it. */
export type Terms = Partial<Omit<RfqSeen, 'bids' | 'status' | 'number' | 'id' | 'terms'>> & {
  readonly sealed?: boolean
}

const INCREMENT_BPS = 100n

/**
 * A desk and an auction in memory, by the rules of the contracts: who bids is who pays, every step answers whether it went
 * through. Money may run below zero: the one who looks at it judges.
 */
export function createTradeWorld(startS: number) {
  const rfqs: Rfq[] = []
  const lots: Lot[] = []
  const money = new Map<Who, bigint>()
  const goods = new Map<Who, bigint>()
  let nowS = startS
  let lastBid = 0
  let lastTurn = 0
  const pay = (who: Who, assets: bigint) => money.set(who, (money.get(who) ?? 0n) + assets)
  const give = (who: Who, amount: bigint) => goods.set(who, (goods.get(who) ?? 0n) + amount)

  const rfqOf = (number: string | undefined) => rfqs.find(({ terms }) => terms.number === number)
  const lotOf = (number: string | undefined) => lots.find(({ terms }) => terms.number === number)
  const isTaking = (one: Rfq) => one.outcome === null && nowS < one.terms.closesAtS
  const liveAt = (bid: Bid, whenS: number) => bid.state === 'booked' && whenS < bid.expiresAtS
  const statusOf = (bid: Bid, one: Rfq): RfqBidSeen['status'] => {
    if (bid.state !== 'booked') return bid.state
    if (one.outcome !== null) return 'lost'
    return liveAt(bid, Math.min(nowS, one.terms.closesAtS)) ? 'live' : 'expired'
  }
  const isRefundable = (status: RfqBidSeen['status']) => status === 'expired' || status === 'lost'
  const fits = (one: Rfq, assets: bigint, expiresAtS: number) =>
    assets >= one.terms.reserveAssets && expiresAtS > nowS && expiresAtS <= nowS + 2_592_000

  const world = {
    nowS: () => nowS,
    tick: (seconds: number) => {
      nowS += seconds
    },
    money: (who: Who) => money.get(who) ?? 0n,
    goods: (who: Who) => goods.get(who) ?? 0n,
    openRfq: ({ sealed = false, ...terms }: Terms): string => {
      const number = String(rfqs.length + 1)
      const base = rfq({ ...terms, number, id: `${DESK}:${number}`, lot: `${DESK}:${number}` })
      const traded = { ...base.terms, book: sealed ? ('sealed' as const) : ('open' as const) }
      rfqs.push({ terms: { ...base, terms: traded }, bids: [], outcome: null })
      return number
    },
    openAuction: ({ sealed: _, ...terms }: Terms): string => {
      const number = String(lots.length + 1)
      const base = auction({ ...terms, number, id: `${AUCTION}:${number}`, lot: `${AUCTION}:${number}` })
      lots.push({ terms: base, closesAtMaxS: base.closesAtS + 60, bids: [], settled: false })
      return number
    },
    place: (who: Who, number: string | undefined, assets: bigint, expiresAtS: number): boolean => {
      const one = rfqOf(number)
      if (one === undefined || !isTaking(one) || !fits(one, assets, expiresAtS)) return false
      lastBid += 1
      lastTurn += 1
      one.bids.push({
        bidId: String(lastBid),
        bidder: who,
        assets,
        expiresAtS,
        turn: lastTurn,
        state: 'booked',
      })
      pay(who, -assets)
      return true
    },
    replace: (
      who: Who,
      number: string | undefined,
      bidId: string | undefined,
      assets: bigint,
      expiresAtS: number,
    ): boolean => {
      const one = rfqOf(number)
      const bid = one?.bids.find((each) => each.bidId === bidId && each.bidder === who)
      if (one === undefined || bid === undefined || bid.state !== 'booked') return false
      if (!isTaking(one) || !fits(one, assets, expiresAtS)) return false
      lastTurn += 1
      pay(who, bid.assets - assets)
      Object.assign(bid, { assets, expiresAtS, turn: lastTurn })
      return true
    },
    cancel: (who: Who, number: string | undefined, bidId: string | undefined): boolean => {
      const one = rfqOf(number)
      const bid = one?.bids.find((each) => each.bidId === bidId && each.bidder === who)
      if (one === undefined || bid === undefined || bid.state !== 'booked' || !isTaking(one)) return false
      bid.state = 'cancelled'
      pay(who, bid.assets)
      return true
    },
    claim: (who: Who, number: string | undefined, bidId: string | undefined): boolean => {
      const one = rfqOf(number)
      const bid = one?.bids.find((each) => each.bidId === bidId && each.bidder === who)
      if (one === undefined || bid === undefined || !isRefundable(statusOf(bid, one))) return false
      bid.state = 'refunded'
      pay(who, bid.assets)
      return true
    },
    finalize: (number: string | undefined): boolean => {
      const one = rfqOf(number)
      if (one === undefined || one.outcome !== null || nowS < one.terms.closesAtS) return false
      const [best] = one.bids.filter((bid) => liveAt(bid, one.terms.closesAtS)).toSorted(byRank)
      one.outcome = best === undefined ? 'unsold' : 'sold'
      if (best === undefined) return true
      best.state = 'won'
      give(best.bidder, one.terms.amount)
      return true
    },
    raise: (who: Who, number: string | undefined, assets: bigint): boolean => {
      const lot = lotOf(number)
      if (lot === undefined || lot.settled || nowS >= lot.terms.closesAtS || assets < nextBid(lot))
        return false
      const best = lot.bids.at(-1)
      if (best !== undefined) pay(best.bidder, best.assets)
      pay(who, -assets)
      lot.bids.push({ bidder: who, assets })
      const extendedS = Math.min(nowS + 5, lot.closesAtMaxS)
      lot.terms = { ...lot.terms, closesAtS: Math.max(lot.terms.closesAtS, extendedS) }
      return true
    },
    settle: (number: string): boolean => {
      const lot = lotOf(number)
      if (lot === undefined || lot.settled || nowS < lot.terms.closesAtS) return false
      lot.settled = true
      const best = lot.bids.at(-1)
      if (best !== undefined) give(best.bidder, lot.terms.amount)
      return true
    },
    /** Do what a proposal asks for, as its signer. */
    carryOut: (who: Who, { workflowType, input }: Proposal): boolean => {
      const [number, bidId] = [inputText(input, 'rfqId'), inputText(input, 'bidId')]
      const assets = BigInt(inputText(input, 'bidAssets') ?? 0)
      const expiresS = Number(inputText(input, 'expiresTimestamp'))
      switch (workflowType) {
        case 'role.lender.distressedRecoveryFundV3RfqPlaceBid':
          return world.place(who, number, assets, expiresS)
        case 'role.lender.distressedRecoveryFundV3RfqReplaceBid':
          return world.replace(who, number, bidId, assets, expiresS)
        case 'role.lender.distressedRecoveryFundV3RfqCancelBid':
          return world.cancel(who, number, bidId)
        case 'role.lender.distressedRecoveryFundV3RfqFinalize':
          return world.finalize(number)
        case 'role.lender.distressedRecoveryFundV3RfqClaimRefund':
          return world.claim(who, number, bidId)
        case 'role.lender.distressedRecoveryFundV3AuctionBid':
          return world.raise(who, inputText(input, 'lotId'), assets)
        default:
          throw new TypeError(`no bidder proposes ${workflowType}`)
      }
    },
    /** What the service shows to somebody: of a sealed book their own bids alone. */
    shownTo: (
      who: Who,
    ): { readonly rfqs: readonly RfqSeen[]; readonly auctions: readonly AuctionSeen[] } => ({
      rfqs: rfqs.map((one) => ({
        ...one.terms,
        status: one.outcome !== null ? 'over' : nowS < one.terms.closesAtS ? 'open' : 'closed',
        bids: one.bids
          .filter(({ bidder }) => one.terms.terms.book === 'open' || bidder === who)
          .map((bid): RfqBidSeen => {
            const status = statusOf(bid, one)
            return { ...bid, status, refundable: isRefundable(status) }
          }),
      })),
      auctions: lots.map((lot) => ({
        ...lot.terms,
        status: lot.settled ? 'over' : nowS < lot.terms.closesAtS ? 'open' : 'closed',
        bestBidder: lot.bids.at(-1)?.bidder ?? null,
        bestAssets: lot.bids.at(-1)?.assets ?? null,
        nextAssets: nextBid(lot),
        bids: lot.bids,
        // Who is outbid is paid back at once.
        owedAssets: 0n,
      })),
    }),
    /** One offer as everybody knows it, but for those who may not see its bids. */
    offer: (kind: 'rfq' | 'auction', number: string) => {
      const lot = kind === 'auction' ? lotOf(number) : undefined
      const one = kind === 'rfq' ? rfqOf(number) : undefined
      const live = (one?.bids ?? []).filter((bid) => liveAt(bid, nowS)).toSorted(byRank)
      const best = lot === undefined ? live[0] : lot.bids.at(-1)
      return {
        isOpen:
          one !== undefined ? isTaking(one) : lot !== undefined && !lot.settled && nowS < lot.terms.closesAtS,
        reserveAssets: (one ?? lot)?.terms.reserveAssets ?? 0n,
        leader: best?.bidder ?? null,
        bestAssets: best?.assets ?? 0n,
        nextAssets: lot === undefined ? 0n : nextBid(lot),
        bidIdOf: (who: Who) => live.find(({ bidder }) => bidder === who)?.bidId ?? null,
      }
    },
    /** What is in escrow of somebody and bound to nothing that is still open, base units. */
    orphaned: (who: Who): bigint =>
      rfqs
        .filter((one) => !isTaking(one))
        .flatMap(({ bids }) => bids.filter((bid) => bid.bidder === who && bid.state === 'booked'))
        .reduce((sum, { assets }) => sum + assets, 0n),
    /** What somebody has of what was sold, and bid for at all, by the offers' ids. */
    tradesOf: (who: Who) => ({
      won: [
        ...rfqs.filter(({ bids }) => bids.some((bid) => bid.bidder === who && bid.state === 'won')),
        ...lots.filter(({ bids, settled }) => settled && bids.at(-1)?.bidder === who),
      ].map(({ terms }) => terms.id),
      bidFor: [...rfqs, ...lots]
        .filter(({ bids }) => bids.some(({ bidder }) => bidder === who))
        .map(({ terms }) => terms.id),
    }),
  }
  return world
}
export type TradeWorld = ReturnType<typeof createTradeWorld>

/** The highest first; of equal ones the one placed or replaced earliest. */
const byRank = (one: Bid, other: Bid) =>
  one.assets === other.assets ? one.turn - other.turn : one.assets > other.assets ? -1 : 1

function nextBid({ terms, bids }: Lot): bigint {
  const best = bids.at(-1)?.assets
  if (best === undefined) return terms.reserveAssets
  return best + (best * INCREMENT_BPS + 9_999n) / 10_000n
}

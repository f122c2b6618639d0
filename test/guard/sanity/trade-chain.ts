import {
  type Abi,
  type AbiFunction,
  type Address,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import type { AuctionSeen, RfqBidSeen, RfqSeen } from '../../../agents/rfq-bidder/seen.ts'
import type { Call } from '../../../src/chain/nodes.ts'
import { TOKEN_VIEWS } from '../../../src/guard/reads/views.ts'
import { PRICE_VIEWS } from '../../../src/guard/sanity/price.ts'
import { AUCTION_VIEWS, DESK_VIEWS, ESCROW_VIEWS } from '../../../src/guard/sanity/rfq-bidder/views.ts'
import { AUCTION, DESK, REFERENCE } from '../../agents/rfq-bidder/fixtures.ts'

const VIEWS: readonly AbiFunction[] = [
  ...DESK_VIEWS,
  ...AUCTION_VIEWS,
  ...ESCROW_VIEWS,
  ...PRICE_VIEWS,
  ...TOKEN_VIEWS,
]

/** What desk and auction really hold, who has what, and what the asset is worth. */
type Truth = {
  readonly rfqs: readonly RfqSeen[]
  readonly auctions: readonly AuctionSeen[]
  readonly balanceOf: (token: Address, owner: Address) => bigint
  readonly price: readonly [priceWad: bigint, sourceAsOfS: bigint, updatedAtS: bigint, state: number]
}

/** Answer the guard's reads from what is really there, whatever the service says of it. Pure. */
export function tradeChain(truth: Truth): (call: Call) => Hex | null {
  return ({ to, data }) => {
    if (to === null) throw new TypeError('a read has a contract')
    const item = VIEWS.find((view) => toFunctionSelector(view) === data.slice(0, 10))
    if (item === undefined) throw new TypeError(`no view has the selector of ${data}`)
    const { args = [] } = decodeFunctionData({ abi: [item] as Abi, data })
    const result = answer(item.name, to, args, truth)
    return encodeFunctionResult({ abi: [item] as Abi, functionName: item.name, result } as never)
  }
}

const lower = (address: unknown) => String(address).toLowerCase() as Address

function answer(name: string, to: Address, args: readonly unknown[], truth: Truth): unknown {
  const [first, second, third] = args
  const numbered = <T extends { readonly number: string }>(list: readonly T[]) =>
    list.find(({ number }) => number === String(first))
  switch (name) {
    case 'rfq':
      return rfqStruct(numbered(truth.rfqs))
    case 'lot':
      return lotStruct(numbered(truth.auctions))
    case 'bid': {
      const found = truth.rfqs.flatMap((rfq) => rfq.bids.map((bid) => ({ rfq, bid })))
      const own = found.find(({ bid }) => bid.bidId === String(first))
      return own === undefined ? NO_BID : bidStruct(own.rfq, own.bid)
    }
    case 'bookedBids': {
      const rfq = numbered(truth.rfqs)
      return rfq?.bids.filter(isBooked).map((bid) => bidStruct(rfq, bid)) ?? []
    }
    case 'commitments': {
      const [bidder, asset, quoteAsset] = [lower(first), lower(second), lower(third)]
      const here = <T extends RfqSeen | AuctionSeen>(list: readonly T[]) =>
        list.filter((one) => one.asset === asset && one.quoteAsset === quoteAsset)
      const counted =
        to === DESK
          ? here(truth.rfqs).flatMap((rfq) => atDesk(rfq, bidder))
          : here(truth.auctions).map((lot) => atAuction(lot, bidder))
      const sum = (index: 0 | 1) => counted.reduce((total, each) => total + each[index], 0n)
      return [sum(0), sum(1)]
    }
    case 'refundable':
      return truth.rfqs.some(({ bids }) =>
        bids.some(({ bidId, refundable }) => refundable && bidId === String(first)),
      )
    case 'minIncrementBps':
      return 100n
    case 'read':
      return truth.price
    case 'balanceOf':
      return truth.balanceOf(to, lower(first))
    default:
      throw new TypeError(`this chain has no ${name}`)
  }
}

/** What the desk says of a bid that was never made. */
const NO_BID = { bidder: zeroAddress, state: 0, expiresAt: 0n, rfqId: 0n, assets: 0n, turn: 0n }
const isBooked = ({ status }: RfqBidSeen) => status === 'live' || status === 'expired'
const isWaiting = (bid: RfqBidSeen) => isBooked(bid) || bid.status === 'lost' || bid.status === 'displaced'

const atDesk = (rfq: RfqSeen, who: Address): readonly (readonly [bigint, bigint])[] =>
  rfq.bids
    .filter((bid) => bid.bidder === who && isWaiting(bid))
    .map((bid) => [bid.assets, rfq.status !== 'over' && isBooked(bid) ? rfq.amount : 0n])

const atAuction = (lot: AuctionSeen, who: Address): readonly [bigint, bigint] =>
  lot.status === 'over' || lot.bestBidder !== who ? [0n, 0n] : [lot.bestAssets ?? 0n, lot.amount]

const offerStruct = (one: RfqSeen | AuctionSeen | undefined) => ({
  seller: one?.seller ?? zeroAddress,
  state: one === undefined ? 0 : one.status === 'over' ? 2 : 1,
  closesAt: BigInt(one?.closesAtS ?? 0),
  closesAtMax: BigInt(one?.closesAtS ?? 0),
  sellerIsContract: false,
  holdingId: 0n,
  asset: one?.asset ?? zeroAddress,
  amount: one?.amount ?? 0n,
  quoteAsset: one?.quoteAsset ?? zeroAddress,
  reserveAssets: one?.reserveAssets ?? 0n,
})
const rfqStruct = (rfq: RfqSeen | undefined) => ({ ...offerStruct(rfq), winningBidId: 0n })
const lotStruct = (lot: AuctionSeen | undefined) => ({
  ...offerStruct(lot),
  bestBidder: lot?.bestBidder ?? zeroAddress,
  bestAssets: lot?.bestAssets ?? 0n,
})
const bidStruct = (rfq: RfqSeen, bid: RfqBidSeen) => ({
  bidder: bid.bidder,
  state: isBooked(bid) ? 1 : 3,
  expiresAt: BigInt(bid.expiresAtS),
  rfqId: BigInt(rfq.number),
  assets: bid.assets,
  turn: 0n,
})

/** The venues of this chain, by the names that the policy has for them. */
export const VENUES = [
  { name: 'rfqDesk', address: DESK, codeHash: '0x' },
  { name: 'recoveryAuction', address: AUCTION, codeHash: '0x' },
  { name: 'btcReferenceOracle', address: REFERENCE, codeHash: '0x' },
] as const

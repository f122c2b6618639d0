import type { Address } from 'viem'
import type { FundResource } from '../../src/service/contract/fund-resources.ts'
import type { AuctionResource } from '../../src/service/contract/trade-resources.ts'
import type { Look, Moment } from '../agent.ts'
import { askPrice, askSecondPrice } from '../protocol/price.ts'
import { createWave } from '../protocol/reading.ts'
import type { Rows } from '../rows.ts'
import type { RfqBidderPolicy } from './policy.ts'
import type { AuctionSeen, OfferSeen, PriceSeen, RfqBidderSeen, RfqBidSeen, RfqSeen } from './seen.ts'

const MARKET = [
  {
    type: 'function',
    name: 'paused',
    stateMutability: 'view',
    inputs: [],
    outputs: [{ name: '', type: 'bool' }],
  },
] as const

/**
 * See what is on offer, what we have in it, and what it is priced at: one wave, the oracle, the second source and the
 * pause of each pinned market whose collateral the policy lists. What is over and holds nothing of ours is left out.
 */
export function see(rows: Partial<Rows>, moment: Moment, policy: RfqBidderPolicy): Look<RfqBidderSeen> {
  const { chainId, deployment } = moment
  const self = lower(moment.signer)
  const here = <Row extends { readonly chainId: number }>(listed: readonly Row[] | undefined) =>
    (listed ?? []).filter((row) => row.chainId === chainId)
  const lots = lotsByHolding(here(rows.funds))
  const rfqs = here(rows.rfqs).map((row) => rfqSeen(row, lots))
  const auctions = here(rows.auctions).map((row) => auctionSeen(row, lots, self))

  const wave = createWave()
  const asked = deployment.markets.flatMap((market) => {
    const symbol = deployment.assets.find(({ address }) => address === market.collateralAsset)?.symbol
    const terms = symbol === undefined ? undefined : policy.assets[symbol]
    if (terms === undefined) return []
    return {
      market,
      oracle: askPrice(wave, market.oracle),
      reference: askSecondPrice(wave, market.oracle, terms.referenceContract, deployment),
      paused: wave.ask(MARKET, market.address, 'paused', []),
    }
  })
  const listed = here(rows.markets)
  return {
    ask: wave.questions,
    next: (answers) => ({
      seen: {
        rfqs: rfqs.filter((rfq) => rfq.status !== 'over' || rfq.bids.some(isOwedTo(self))),
        auctions: auctions.filter(({ status, owedAssets }) => status !== 'over' || owedAssets > 0n),
        prices: asked.map(({ market, oracle, reference, paused }): PriceSeen => {
          const row = listed.find(({ address }) => address === market.address)
          const stated = row?.oracle?.priceWad
          return {
            market: market.address,
            asset: market.collateralAsset,
            quoteAsset: market.loanAsset,
            oracle: oracle(answers),
            reference: reference(answers),
            paused: paused(answers),
            servicePriceWad: stated == null ? null : BigInt(stated),
            serviceOracleState: row?.oracleState ?? null,
          }
        }),
      },
    }),
  }
}

/** The position behind each holding that funds show, by the holding's id, `fund:number`. */
const lotsByHolding = (funds: readonly FundResource[]): ReadonlyMap<string, string> =>
  new Map(
    funds.flatMap(({ holdings }) =>
      (holdings ?? []).map(({ id, positionId }) => [id.toLowerCase(), positionId.toLowerCase()] as const),
    ),
  )

type OfferRow = Rows['rfqs'][number] | AuctionResource

function offerSeen(row: OfferRow, lots: ReadonlyMap<string, string>): Omit<OfferSeen, 'venue' | 'number'> {
  const holding = `${row.sellerAddress}:${BigInt(row.holdingId)}`
  return {
    id: row.id,
    // A seller without holdings of a number sells a lot that is nowhere else.
    lot: lots.get(holding) ?? (BigInt(row.holdingId) === 0n ? row.id : holding),
    seller: row.sellerAddress,
    asset: row.assetAddress,
    amount: BigInt(row.assetAmount),
    quoteAsset: row.quoteAssetAddress,
    reserveAssets: BigInt(row.reserveAssets),
    closesAtS: secondsOf(row.closesAt),
    status: row.status === 'open' || row.status === 'closed' ? row.status : 'over',
  }
}

const rfqSeen = (row: Rows['rfqs'][number], lots: ReadonlyMap<string, string>): RfqSeen => ({
  ...offerSeen(row, lots),
  venue: row.rfqAddress,
  number: row.rfqId,
  terms: row.terms,
  bids: row.bids.map((bid) => ({
    bidId: bid.bidId,
    bidder: bid.bidderAddress,
    assets: BigInt(bid.assets),
    expiresAtS: secondsOf(bid.expiresAt),
    status: bid.status,
    refundable: bid.refundable,
  })),
})

const auctionSeen = (
  row: AuctionResource,
  lots: ReadonlyMap<string, string>,
  self: Address,
): AuctionSeen => ({
  ...offerSeen(row, lots),
  venue: row.auctionAddress,
  number: row.lotId,
  bestBidder: row.bestBidderAddress,
  bestAssets: row.bestBidAssets === null ? null : BigInt(row.bestBidAssets),
  nextAssets: BigInt(row.nextBidAssets),
  bids: row.bids.map(({ bidderAddress, assets }) => ({ bidder: bidderAddress, assets: BigInt(assets) })),
  owedAssets: row.owed
    .filter(({ bidderAddress }) => bidderAddress === self)
    .reduce((sum, { assets }) => sum + BigInt(assets), 0n),
})

const isOwedTo = (self: Address) => (bid: RfqBidSeen) => bid.bidder === self && bid.refundable

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

const secondsOf = (time: string): number => Math.floor(Date.parse(time) / 1_000)

import { encodeAbiParameters } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../../agents/agent.ts'
import { decide } from '../../../agents/rfq-bidder/decide.ts'
import { see } from '../../../agents/rfq-bidder/see.ts'
import type { Rows } from '../../../agents/rows.ts'
import { RFQ_TERMS } from '../../../src/service/contract/assumptions.ts'
import {
  AUCTION,
  BTC,
  DESK,
  FUND,
  MARKET,
  NOW_S,
  observed,
  policy,
  RIVAL,
  SELF,
  SELLER,
  USD,
} from './fixtures.ts'

const iso = (timeS: number) => new Date(timeS * 1_000).toISOString()
const WAD = 10n ** 18n

const offer = {
  chainId: 31_337,
  sellerAddress: SELLER,
  assetAddress: BTC,
  assetAmount: '20000000',
  quoteAssetAddress: USD,
  reserveAssets: '8000000000',
  openedAt: iso(NOW_S - 10),
  closesAt: iso(NOW_S + 30),
  winnerAddress: null,
  proceedsAssets: null,
  holdingId: '0',
}
const rfqRow = (changes: Partial<Rows['rfqs'][number]> = {}): Rows['rfqs'][number] => ({
  ...offer,
  id: `${DESK}:7`,
  rfqAddress: DESK,
  rfqId: '7',
  status: 'open',
  bestBidAssets: null,
  winningBidId: null,
  bids: [],
  terms: RFQ_TERMS,
  ...changes,
})
const bidRow = (changes: Partial<Rows['rfqs'][number]['bids'][number]> = {}) => ({
  id: `${DESK}:1`,
  bidId: '1',
  bidderAddress: SELF,
  assets: '8000000000',
  placedAt: iso(NOW_S - 5),
  updatedAt: iso(NOW_S - 5),
  expiresAt: iso(NOW_S + 330),
  status: 'live' as const,
  refundable: false,
  ...changes,
})
const auctionRow = (changes: Partial<Rows['auctions'][number]> = {}): Rows['auctions'][number] => ({
  ...offer,
  id: `${AUCTION}:3`,
  auctionAddress: AUCTION,
  lotId: '3',
  status: 'open',
  bestBidderAddress: null,
  bestBidAssets: null,
  nextBidAssets: '8000000000',
  bids: [],
  owed: [],
  ...changes,
})
const market = {
  id: MARKET,
  chainId: 31_337,
  address: MARKET,
  oracleState: 'healthy',
  oracle: { priceWad: String(50_000n * WAD) },
} as unknown as Rows['markets'][number]

const price = (priceUsd: bigint, sourceAsOfS = NOW_S): Answer => ({
  ok: true,
  text: encodeAbiParameters(
    [{ type: 'uint256' }, { type: 'uint64' }, { type: 'uint64' }, { type: 'uint8' }],
    [priceUsd * WAD, BigInt(sourceAsOfS), BigInt(sourceAsOfS), 1],
  ),
  atMs: 0,
})
const isPaused = (paused: boolean): Answer => ({
  ok: true,
  text: encodeAbiParameters([{ type: 'bool' }], [paused]),
  atMs: 0,
})
const failed: Answer = { ok: false, check: 'call_failed', message: 'no answer' }

const moment = observed()
function seen(
  rows: Partial<Rows>,
  answers: readonly Answer[] = [price(50_000n), price(50_010n), isPaused(false)],
) {
  const look = see({ markets: [market], ...rows }, moment, policy())
  if (!('ask' in look)) throw new TypeError('prices are asked for')
  const done = look.next(answers, {})
  if (!('seen' in done)) throw new TypeError('one wave is enough')
  return { questions: look.ask, seen: done.seen }
}

describe('the look at what is on offer', () => {
  it('asks the oracle, the second source and the pause of each market whose collateral the policy lists', () => {
    const { questions, seen: found } = seen({})
    expect(questions).toHaveLength(3)
    expect(found.prices).toEqual([
      {
        market: MARKET,
        asset: BTC,
        quoteAsset: USD,
        oracle: { priceWad: 50_000n * WAD, sourceAsOfS: NOW_S, state: 1 },
        reference: { priceWad: 50_010n * WAD, sourceAsOfS: NOW_S, state: 1 },
        paused: false,
        servicePriceWad: 50_000n * WAD,
        serviceOracleState: 'healthy',
      },
    ])
  })

  it('has no second source where it is the oracle itself', () => {
    const { deployment } = moment
    const [pinned] = deployment.markets
    const contracts = [{ name: 'btcReferenceOracle', address: pinned?.oracle ?? DESK }]
    const look = see({ markets: [market] }, { ...moment, deployment: { ...deployment, contracts } }, policy())
    const done = 'ask' in look ? look.next([price(50_000n), isPaused(false)], {}) : look
    expect(done).toMatchObject({ seen: { prices: [{ reference: null, paused: false }] } })
  })

  it('leads from rows to a bid', () => {
    const { seen: found } = seen({ rfqs: [rfqRow()], auctions: [auctionRow()] })
    const { proposals } = decide({ ...moment, ...found }, policy())
    expect(proposals.map(({ kind, subject }) => [kind, subject])).toEqual([['place', `${DESK}:7`]])
  })

  it('knows nothing where nothing, or something else, comes back', () => {
    const { seen: found } = seen({ markets: [] }, [failed, { ok: true, text: '<html>', atMs: 0 }, failed])
    expect(found.prices[0]).toMatchObject({
      oracle: null,
      reference: null,
      paused: null,
      servicePriceWad: null,
      serviceOracleState: null,
    })
  })

  it('leaves out other chains, and what is over without money of ours', () => {
    const lost = bidRow({ status: 'lost', refundable: true })
    const { seen: found } = seen({
      rfqs: [
        rfqRow({ chainId: 1 }),
        rfqRow({ id: `${DESK}:1`, status: 'sold' }),
        rfqRow({ id: `${DESK}:2`, status: 'sold', bids: [{ ...lost, bidderAddress: RIVAL }] }),
        rfqRow({ id: `${DESK}:3`, status: 'unsold', bids: [lost] }),
        rfqRow({ id: `${DESK}:4`, status: 'closed' }),
      ],
      auctions: [
        auctionRow({ id: `${AUCTION}:1`, status: 'sold', owed: [{ bidderAddress: RIVAL, assets: '5' }] }),
        auctionRow({ id: `${AUCTION}:2`, status: 'sold', owed: [{ bidderAddress: SELF, assets: '5' }] }),
      ],
    })
    expect(found.rfqs.map(({ id }) => id)).toEqual([`${DESK}:3`, `${DESK}:4`])
    expect(found.auctions.map(({ id, owedAssets }) => [id, owedAssets])).toEqual([[`${AUCTION}:2`, 5n]])
  })

  it('knows a fund’s holding again by its position, wherever it is on offer', () => {
    const holding = { id: `${FUND}:2`, positionId: '0xABC' }
    const funds = [{ chainId: 31_337, address: FUND, holdings: [holding] }] as unknown as Rows['funds']
    const sold = { sellerAddress: FUND, holdingId: '2' }
    const lots = (rows: Partial<Rows>) => {
      const { seen: found } = seen({ rfqs: [rfqRow(sold)], auctions: [auctionRow(sold)], ...rows })
      return [...found.rfqs, ...found.auctions].map(({ lot }) => lot)
    }
    expect(lots({ funds })).toEqual(['0xabc', '0xabc'])
    // Without the funds' rows it is still one lot.
    expect(lots({})).toEqual([`${FUND}:2`, `${FUND}:2`])
    expect(seen({ rfqs: [rfqRow()] }).seen.rfqs[0]?.lot).toBe(`${DESK}:7`)
  })
})

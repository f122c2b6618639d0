import { describe, expect, it } from 'vitest'
import type { InFlight } from '../../../agents/agent.ts'
import { decide } from '../../../agents/asset-manager/decide.ts'
import type { ManagerPolicy } from '../../../agents/asset-manager/policy.ts'
import type { FundAtLot, FundFigures } from '../../../agents/asset-manager/seen.ts'
import { withCases } from '../../../agents/protocol/experience.ts'
import type { FundResource } from '../../../src/service/contract/fund-resources.ts'
import type { AcquisitionResource } from '../../../src/service/contract/trade-resources.ts'
import { acquisitionBidInput } from '../../../src/service/contract/workflow-inputs.ts'
import {
  BORROWER,
  channel,
  FUND,
  figures,
  fund,
  fundRow,
  HOUSE,
  house,
  iso,
  lot,
  MARKET,
  market,
  moment,
  NOW_S,
  outbid,
  POSITION,
  policy,
  RIVAL,
  RIVAL_FUND,
  SELLER,
  SIGNER,
  usd,
} from './fixtures.ts'

const BID = 'role.asset_manager.distressedRecoveryAcquisitionV3Bid'
type Seen = ReturnType<typeof moment>
/** The limit of the fixtures' lot is below what its fund's channel allows. */
const TWO_RIVALS = policy({ rivalsExpected: 2, marginBps: 300 })

const bidsOf = (seen: Seen, rules = policy()) => decide(seen, rules).proposals
const bidOf = (seen: Seen, rules = policy()) => {
  const [bid, ...others] = bidsOf(seen, rules)
  expect(others).toEqual([])
  return BigInt(String(bid?.input.bidAssets))
}
/** Why nothing is bid: every check, in order. */
const checksOf = (seen: Seen, rules: ManagerPolicy = policy()) => {
  const { proposals, passedOver } = decide(seen, rules)
  expect(proposals).toEqual([])
  return passedOver.map(({ check }) => check)
}
const withFund = (changes: Partial<FundResource>) => moment({ funds: [fund({ row: fundRow(changes) })] })
const withFigures = (changes: Partial<FundFigures>) =>
  moment({ funds: [fund({ figures: figures(changes) })] })
const withLot = (changes: Partial<AcquisitionResource>) => moment({ lots: [lot(changes)] })
const withSecond = (price: bigint, sourceAsOfS = NOW_S) =>
  moment({ markets: [market({}, undefined, 0n, { priceWad: price * 10n ** 18n, sourceAsOfS, state: 1 })] })
const flying = (bidAssets: bigint, lotId: string): InFlight => ({
  workflowId: 'w1',
  workflowType: BID,
  kind: 'bid',
  subject: `${HOUSE}:${lotId}`,
  occurrence: 'above:0',
  input: { fundAddress: FUND, acquisitionAddress: HOUSE, lotId, bidAssets: String(bidAssets) },
  exposure: { token: null, assets: 0n, usdMicros: 0n },
})

describe('a position that is worth more to us than it costs', () => {
  const [bid] = bidsOf(moment())

  it('is bid for at its reserve while nobody leads', () => {
    expect(bid).toMatchObject({
      workflowType: BID,
      kind: 'bid',
      subject: `${HOUSE}:1`,
      input: { fundAddress: FUND, acquisitionAddress: HOUSE, lotId: '1', bidAssets: String(usd(30_000)) },
      exposure: { token: null, assets: 0n, usdMicros: 30_000_000_000n },
      lot: POSITION,
    })
    expect(acquisitionBidInput.parse(bid?.input)).toEqual(bid?.input)
  })

  it('explains its value in numbers that add up exactly', () => {
    const of = (name: string) => BigInt(String(bid?.reason[name]))
    const costs = ['haircut', 'unrecovered', 'saleFee', 'capitalCost', 'fixedCost']
    const sum = costs.reduce((total, name) => total + of(`${name}Assets`), 0n)
    expect(of('worthAssets') - sum).toBe(of('fairAssets'))
    expect(of('wonAssets') - of('bidAssets') - of('feeAssets')).toBe(of('gainUsdMicros') + of('gasUsdMicros'))
  })

  it('counts what it pays for its bytes as gas, where the chain charges for them', () => {
    const rules = policy({ nativePriceUsdMicros: 10n ** 9n })
    const gasOf = (dataFeeWei: bigint) => {
      const [made] = bidsOf(moment({ chain: { ...moment().chain, dataFeeWei } }), rules)
      return BigInt(String(made?.reason.gasUsdMicros))
    }
    // A thousandth of a coin of $1,000.
    expect(gasOf(10n ** 15n) - gasOf(0n)).toBe(1_000_000n)
  })

  it('says so in one line', () => {
    expect(bid?.summary).toBe(
      'lot 1: bid 30,000 sUSD of at most 47,439.12 sUSD, worth 50,000 sUSD at the market, 48,257.62 sUSD to us (liquid), 47,440.47 sUSD once it is won',
    )
  })

  it('is bid for by the policy’s raise over the bidder that leads, and by our limit where the raise does not fit', () => {
    expect(bidOf(moment({ lots: [outbid(usd(40_000))] }))).toBe(usd(40_125))
    expect(bidOf(moment({ lots: [outbid(usd(46_350))] }), TWO_RIVALS)).toBe(46_394_077_388n)
  })

  it('is left alone at a reserve above what it is worth once it is won', () => {
    // 48,257.62 fair and 47,440.47 once won: 47,450 leave the margin below the first, and lose by the second.
    const { proposals, passedOver } = decide(withLot({ reserveAssets: String(usd(47_450)) }), policy())
    expect(proposals).toEqual([])
    expect(passedOver).toMatchObject([{ check: 'above_worth_once_won' }])
    expect(passedOver[0]?.message).toBe(
      'The least that leads is 47,450 sUSD; what it is worth once it is won, less fee and gas, allows 47,439.12 sUSD.',
    )
  })

  it('is left to a rival who bids our limit, and says how near it was', () => {
    const limit = 46_394_077_388n
    expect(bidOf(moment({ lots: [outbid(limit - 1n)] }), TWO_RIVALS)).toBe(limit)
    const { passedOver } = decide(moment({ lots: [outbid(limit)] }), TWO_RIVALS)
    expect(passedOver).toMatchObject([{ check: 'above_our_limit', subject: `${HOUSE}:1` }])
    expect(passedOver[0]?.near).toBeCloseTo(1, 6)
    expect(passedOver[0]?.message).toContain('46,394.08 sUSD')
  })

  it('counts for less in a slow lane, with dearer money, and with more rivals', () => {
    const limitOf = (seen: Seen, rules = policy()) =>
      BigInt(String(bidsOf(seen, rules)[0]?.reason.valueLimitAssets))
    const plain = limitOf(moment())
    expect(limitOf(withLot({ lane: 'restricted' }))).toBeLessThan(plain)
    expect(limitOf(moment(), policy({ capitalCostBpsPerYear: 5_000 }))).toBeLessThan(plain)
    expect(limitOf(moment(), policy({ rivalsExpected: 4 }))).toBeLessThan(plain)
  })

  it('is bid for when others can hardly answer any more, and looked at again then', () => {
    const early = withLot({ closesAt: iso(NOW_S + 21) })
    expect(checksOf(early)).toEqual(['before_last_call'])
    expect(decide(early, policy())).toMatchObject({ lookAgainAtMs: early.nowMs + 1_000 })
    expect(bidOf(withLot({ closesAt: iso(NOW_S + 20) }))).toBe(usd(30_000))
    // What keeps it from being bid for at all is said at once.
    const dear = withLot({ closesAt: iso(NOW_S + 21), reserveAssets: String(usd(49_000)) })
    expect(checksOf(dear)).toEqual(['above_worth_once_won'])
  })

  it('costs its fee as well: of what is funded, of the gain, and in the budgets', () => {
    const [withoutFee] = bidsOf(moment())
    const fee = policy({ purchaseFeeBps: 200 })
    const [bid] = bidsOf(moment(), fee)
    expect(bid?.exposure.usdMicros).toBe(30_600_000_000n)
    expect((withoutFee?.gainUsdMicros ?? 0n) - (bid?.gainUsdMicros ?? 0n)).toBe(usd(600))
    const short = withFigures({ idleAssets: usd(25_000 + 30_599) })
    expect(bidOf(short)).toBe(usd(30_000))
    expect(checksOf(short, fee)).toEqual(['not_funded'])
  })

  it('is worth what such positions brought, less what having won it says', () => {
    const { said } = bidsOf(moment())[0] ?? {}
    expect(said).toEqual({
      of: ['bid', 'lane:liquid', 'asset:liquid:sBTC', `seller:liquid:${SELLER}`],
      // 98 % of 99 % of 50,000, less 0.25 %.
      worthUsdMicros: 48_388_725_000n,
      markUsdMicros: 48_388_725_000n,
    })
    const valued = (seen: Seen) => {
      const reason = bidsOf(seen)[0]?.reason
      return { limit: BigInt(String(reason?.valueLimitAssets)), by: reason?.expectedBy }
    }
    const after = (count: number, error: number, gain: number) =>
      moment({
        experience: withCases(
          [],
          Array.from({ length: count }, () => ({ of: said?.of ?? [], came: { error, gain }, netUsd: 0 })),
        ),
      })
    const plain = valued(moment())
    expect(plain.by).toBe('prior')
    expect(valued(after(40, -0.05, 0.01))).toMatchObject({ by: 'measured' })
    expect(valued(after(40, -0.05, 0.01)).limit).toBeLessThan(plain.limit)
    expect(valued(after(40, 0.01, 0.05)).limit).toBeGreaterThan(plain.limit)
    expect(checksOf(after(5, -0.1, -0.05))).toEqual(['experience_against'])
    // What it gained does not pay for the capital: 12 % a year for 7 days.
    expect(checksOf(after(40, -0.03, 0.002))).toEqual(['experience_against'])
    expect(valued(after(40, -0.03, 0.003)).by).toBe('measured')
    // Further below than the policy lets experience move it, whatever was gained.
    expect(checksOf(after(40, -0.4, 0.3))).toEqual(['experience_against'])
    const [left] = decide(after(40, -0.4, 0.3), policy()).passedOver
    expect(left?.message).toContain('`rolekeeper experience forget asset-manager`')
    expect(left?.alarm?.fix).toContain('`rolekeeper experience forget asset-manager`')
  })

  it('is bid for by the gain on what is bid where there are several', () => {
    const cheap = lot({ id: `${HOUSE}:2`, lotId: '2', reserveAssets: String(usd(20_000)) })
    expect(bidsOf(moment({ lots: [lot(), cheap] })).map(({ input }) => input.lotId)).toEqual(['2', '1'])
  })
})

describe('what a fund may spend', () => {
  it('is what its closed epochs took and is left of it, less what is kept idle', () => {
    // 500,000 funded; 25,000 are kept idle. The lot is worth more than all of it.
    const rules = policy({ positionBpsMax: 9_500, borrowerBpsMax: 9_500, marketBpsMax: 9_500 })
    const lanes = { liquid: { ...rules.bidding.lanes.liquid, concentrationBpsMax: 10_000 } }
    const wide = { ...rules, bidding: { ...rules.bidding, lanes } } as ManagerPolicy
    const open = channel({ maxAssetsPerEpoch: usd(10_000_000), maxPositionBps: 10_000 })
    const channels = { ...figures().channels, acquisition: open }
    const big = lot(
      { assetAmount: '2000000000', reserveAssets: String(usd(475_000)) },
      { funds: [{ fundAddress: FUND, appraisedAssets: usd(1_000_000), reservation: null }] },
    )
    const seen = (row: Partial<FundResource>, more: Partial<FundFigures> = {}) =>
      moment({ lots: [big], funds: [fund({ row: fundRow(row), figures: figures({ channels, ...more }) })] })
    expect(bidOf(seen({}), wide)).toBe(usd(475_000))
    const [epoch] = fundRow().epochs ?? []
    const scaled = [{ ...epoch, activeScaleRay: String(10n ** 27n / 2n) }] as FundResource['epochs']
    expect(checksOf(seen({ epochs: scaled }), wide)).toEqual(['not_funded'])
    expect(checksOf(seen({}, { idleAssets: usd(474_999) }), wide)).toEqual(['not_funded'])
    expect(checksOf(seen({}, { reservedAssets: 1n }), wide)).toContain('not_funded')
  })

  it('comes back first from a bid of ours that was outbid there', () => {
    const reservation = { assets: usd(30_000), epochId: 1n }
    const at = { fundAddress: FUND, appraisedAssets: usd(50_000), reservation }
    const broke = fund({ figures: figures({ idleAssets: usd(25_000), usedAssets: usd(250_000) }) })
    const seen = (funds: readonly FundAtLot[]) =>
      moment({ funds: [broke], lots: [{ ...outbid(usd(29_000)), funds }] })
    expect(bidOf(seen([at]))).toBe(usd(30_000))
    expect(checksOf(seen([{ ...at, reservation: null }]))).toEqual(['not_funded'])
  })

  it('is reported where it waits in bids that lead nothing, and not where they lead', () => {
    const reserving = fund({ figures: figures({ reservedAssets: usd(31_000) }) })
    const waiting = (seen: Seen) =>
      decide(seen, policy()).passedOver.filter(({ check }) => check === 'reservation_not_released')
    const waits = moment({ funds: [reserving] })
    expect(waiting(waits)).toMatchObject([
      { subject: `fund:${FUND}:reserved`, reason: { waitingAssets: String(usd(31_000)) } },
    ])
    const house = { open: true, lane: 'liquid', bestFundAddress: FUND, bestAssets: usd(31_000) }
    expect(waiting(moment({ funds: [reserving], lots: [lot({}, { house })] }))).toEqual([])
  })

  it('is less what bids in flight may take', () => {
    const seen = (bid: bigint) =>
      moment({
        inFlight: [flying(bid, '9')],
        funds: [fund({ figures: figures({ usedAssets: usd(200_000) }) })],
      })
    expect(bidOf(seen(usd(20_000)))).toBe(usd(30_000))
    expect(checksOf(seen(usd(20_000) + 1n))).toEqual(['epoch_budget_used'])
  })

  it('is bounded by the concentration in lane, market and borrower', () => {
    const held = (marketAddress: string, borrowerAddress: string, assets: bigint) =>
      withFund({
        holdings: [
          {
            id: `${FUND}:1`,
            positionId: '1',
            fundAddress: FUND,
            assetLane: 'liquid',
            holdingStatus: 'held',
            transferPriceAssets: '0',
            marketAddress,
            borrowerAddress,
            recoveryValueAssets: String(assets),
          },
        ] as FundResource['holdings'],
      })
    // 40 % of 500,000 with one borrower, 70 % in one market, 60 % in the lane.
    expect(bidOf(held(MARKET, BORROWER, usd(170_000)))).toBe(usd(30_000))
    expect(checksOf(held(MARKET, BORROWER, usd(170_000) + 1n))).toEqual(['borrower_concentrated'])
    expect(checksOf(held(MARKET, RIVAL, usd(330_000)))).toEqual(['lane_concentrated'])
    const loose = policy({ marketBpsMax: 5_000 })
    expect(checksOf(held(MARKET, RIVAL, usd(230_000)), loose)).toEqual(['market_concentrated'])
  })
})

describe('nothing is bid', () => {
  const never: readonly (readonly [string, Seen, readonly string[]])[] = [
    [
      'on a stale observation',
      moment({ freshness: { ok: false, ageMs: 9, message: 'old' } }),
      ['observation_not_fresh', 'observation_not_fresh'],
    ],
    ['while purchases are off', withFund({ purchasesEnabled: false }), ['purchases_disabled', 'no_fund']],
    [
      'while purchases are not known',
      withFund({ purchasesEnabled: null }),
      ['purchases_disabled', 'no_fund'],
    ],
    [
      'by a fund that is not ready',
      withFund({ fundReadinessApproved: false }),
      ['fund_not_ready', 'no_fund'],
    ],
    [
      'in a quote asset that is not approved',
      withFund({ quoteAssetProfileApproved: null }),
      ['quote_asset_not_approved', 'no_fund'],
    ],
    ['by a fund that is watched', withFund({ impairmentStatus: 'watch' }), ['fund_impaired', 'no_fund']],
    ['before the first epoch', withFund({ currentEpoch: null }), ['no_epoch', 'no_fund']],
    ['while the epochs differ', withFigures({ epochId: 2n }), ['epoch_differs', 'no_fund']],
    [
      'with an epoch’s scale unknown',
      withFund({ epochs: [{ ...fundRow().epochs?.[0], activeScaleRay: null }] as FundResource['epochs'] }),
      ['funding_unknown', 'no_fund'],
    ],
    ['by a fund that we do not manage', withFigures({ manager: RIVAL }), ['not_manager', 'no_fund']],
    [
      'by a fund that was not read',
      moment({ funds: [fund({ figures: null })] }),
      ['fund_not_read', 'no_fund'],
    ],
    ['in other decimals', withFund({ quoteAssetDecimals: 18 }), ['decimals_differ', 'no_fund']],
    [
      'over a channel that is off',
      withFigures({ channels: { ...figures().channels, acquisition: channel({ enabled: false }) } }),
      ['channel_disabled', 'no_fund'],
    ],
    [
      'above the channel’s price',
      withFigures({ channels: { ...figures().channels, acquisition: channel({ maxPriceBps: 5_999 }) } }),
      ['above_channel_price'],
    ],
    [
      'above the channel’s position',
      withFigures({ channels: { ...figures().channels, acquisition: channel({ maxPositionBps: 599 }) } }),
      ['above_channel_position'],
    ],
    ['beyond the epoch’s budget', withFigures({ usedAssets: usd(220_000) + 1n }), ['epoch_budget_used']],
    ['for a lot that closes', withLot({ closesAt: iso(NOW_S + 3) }), ['closes_too_soon']],
    [
      'for a lot that its house has closed',
      moment({ lots: [lot({}, { house: house({ open: false }) })] }),
      ['lot_closed'],
    ],
    ['for a lot that was not read', moment({ lots: [lot({}, { house: null })] }), ['lot_not_read']],
    [
      'in a lane that its house does not know',
      moment({ lots: [lot({ lane: 'liquid' }, { house: house({ lane: 'restricted' }) })] }),
      ['lane_disputed'],
    ],
    ['in a lane of no terms', withLot({ lane: 'unheard' }), ['lane_not_allowed']],
    ['at a house that is not pinned', withLot({ acquisitionAddress: RIVAL }), ['house_not_pinned']],
    ['to ourselves', withLot({ sellerAddress: SIGNER }), ['seller_is_ours']],
    ['to a fund of ours', withLot({ sellerAddress: FUND }), ['seller_is_ours']],
    [
      'against our own lead',
      moment({ lots: [lot({}, { house: house({ bestFundAddress: FUND, bestAssets: usd(30_000) }) })] }),
      ['our_bid_leads'],
    ],
    [
      'against a colleague',
      moment({
        colleagues: [
          {
            role: 'rfq-bidder',
            workflowType: 'role.lender.distressedRecoveryFundV3AuctionBid',
            subject: 'x',
            lot: POSITION,
          },
        ],
      }),
      ['colleague_bids'],
    ],
    ['twice', moment({ inFlight: [flying(usd(30_000), '1')] }), ['already_in_flight']],
    ['in an unknown market', moment({ markets: [] }), ['market_not_pinned']],
    ['for another asset than the market’s', withLot({ assetAddress: RIVAL }), ['market_not_pinned']],
    [
      'at a price of zero',
      moment({ markets: [market({}, { priceWad: 0n, sourceAsOfS: NOW_S, state: 1 })] }),
      ['oracle_not_healthy'],
    ],
    [
      'at a stale price',
      moment({ markets: [market({}, { priceWad: 1n, sourceAsOfS: NOW_S, state: 2 })] }),
      ['oracle_not_healthy'],
    ],
    [
      'at an old price',
      moment({
        markets: [market({}, { priceWad: 50_000n * 10n ** 18n, sourceAsOfS: NOW_S - 121, state: 1 })],
      }),
      ['price_too_old'],
    ],
    ['at a price that is not known', moment({ markets: [market({}, null)] }), ['price_unknown']],
    [
      'at a price off by a thousand times',
      moment({ markets: [market({}, { priceWad: 50n * 10n ** 18n, sourceAsOfS: NOW_S, state: 1 })] }),
      ['price_diverges'],
    ],
    // Oracle, service and fund say the same.
    ['at a price that the second source does not bear out', withSecond(40_000n), ['price_diverges']],
    ['without a second source', moment({ markets: [market({}, undefined, 0n, null)] }), ['price_unknown']],
    ['while the second source has no price', withSecond(0n), ['oracle_not_healthy']],
    ['while the second source is old', withSecond(50_000n, NOW_S - 121), ['price_too_old']],
    [
      'at a value that the fund disputes',
      moment({
        lots: [lot({}, { funds: [{ fundAddress: FUND, appraisedAssets: usd(500), reservation: null }] })],
      }),
      ['value_disputed'],
    ],
    [
      'for what the fund does not appraise',
      moment({
        lots: [lot({}, { funds: [{ fundAddress: FUND, appraisedAssets: null, reservation: null }] })],
      }),
      ['not_appraised'],
    ],
    ['without gas', moment({ nativeBalanceWei: 0n }), ['out_of_funds']],
  ]
  for (const [name, seen, checks] of never) it(name, () => expect(checksOf(seen)).toEqual(checks))

  it('after the funding deadline, less the margin', () => {
    const epochTo = (deadline: number) => {
      const epoch = { ...fundRow().currentEpoch, postCloseFundingDeadline: String(deadline) }
      return withFund({ currentEpoch: epoch, epochs: [epoch] } as Partial<FundResource>)
    }
    expect(bidOf(epochTo(NOW_S + 4))).toBe(usd(30_000))
    expect(checksOf(epochTo(NOW_S + 3))).toEqual(['funding_deadline_passed', 'no_fund'])
  })

  it('for what the gas would eat up', () => {
    const rules = policy({ nativePriceUsdMicros: 10n ** 16n })
    expect(checksOf(moment(), rules)).toEqual(['above_worth_once_won'])
  })

  it('and of a fund that is not ours nothing is said', () => {
    const others = fund({ row: fundRow({ address: RIVAL_FUND, managerAddress: RIVAL }), figures: null })
    expect(checksOf(moment({ funds: [others] }))).toEqual(['no_fund'])
  })
})

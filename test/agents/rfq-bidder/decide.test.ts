import { describe, expect, it } from 'vitest'
import type { Ended } from '../../../agents/agent.ts'
import { decide } from '../../../agents/rfq-bidder/decide.ts'
import type {
  AuctionSeen,
  Observed,
  PriceSeen,
  RfqBidSeen,
  RfqSeen,
} from '../../../agents/rfq-bidder/seen.ts'
import { REPLACE } from '../../../agents/rfq-bidder/steps.ts'
import { RFQ_TERMS } from '../../../src/service/contract/assumptions.ts'
import {
  auctionBidInput,
  rfqBidInput,
  rfqFinalizeInput,
  rfqPlaceBidInput,
  rfqReplaceBidInput,
} from '../../../src/service/contract/workflow-inputs.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import {
  AUCTION,
  auction,
  BTC,
  bid,
  COLLEAGUE,
  DESK,
  FUND,
  NOW_S,
  observed,
  policy,
  price,
  RIVAL,
  rfq,
  SELF,
  SELLER,
  USD,
  underWay,
} from './fixtures.ts'

const PREFIX = 'role.lender.distressedRecoveryFundV3'
const WAD = 10n ** 18n
const usd = (whole: number) => BigInt(Math.round(whole * 1_000_000))
const rivalBid = (whole: number, bidId = '9') => bid({ bidId, bidder: RIVAL, assets: usd(whole) })

const proposed = (seen: Observed, rules = policy()) => decide(seen, rules).proposals
const only = (seen: Observed, rules = policy()): Proposal => {
  const { proposals } = decide(seen, rules)
  expect(proposals).toHaveLength(1)
  return proposals[0] as Proposal
}
const checksOf = (seen: Observed, rules = policy()) => {
  const { proposals, passedOver } = decide(seen, rules)
  expect(proposals).toEqual([])
  return passedOver.map(({ check }) => check)
}
const withRfq = (changes: Partial<RfqSeen>, around: Partial<Observed> = {}) =>
  observed({ rfqs: [rfq(changes)], ...around })
const withLot = (changes: Partial<AuctionSeen>, around: Partial<Observed> = {}) =>
  observed({ auctions: [auction(changes)], ...around })
const atPrice = (changes: Partial<PriceSeen>) => ({ prices: [price(changes)] })

describe('a first bid on an open RFQ', () => {
  const proposal = only(withRfq({}))

  it('is the reserve where nobody bids, in a shape that the service takes', () => {
    expect(proposal).toMatchObject({
      workflowType: `${PREFIX}RfqPlaceBid`,
      kind: 'place',
      subject: `${DESK}:7`,
      lot: `${DESK}:7`,
      occurrence: 'bids:0',
      exposure: { token: USD, assets: usd(8_000), usdMicros: usd(8_000) },
    })
    expect(rfqPlaceBidInput.parse(proposal.input)).toEqual({
      rfqAddress: DESK,
      rfqId: '7',
      bidAssets: '8000000000',
      expiresTimestamp: String(NOW_S + 330),
    })
  })

  it('explains itself in numbers that add up', () => {
    const of = (key: string) => BigInt(String(proposal.reason[key]))
    expect(of('markAssets')).toBe(usd(10_000))
    expect(of('valueAssets') < of('worthAssets') && of('worthAssets') < of('markAssets')).toBe(true)
    // Half a per cent of spread, $5 of least gain and the gas below the value, rounded in our favour.
    const kept = of('valueAssets') - of('limitAssets')
    const least = (of('valueAssets') * 50n) / 10_000n + usd(5) + of('gasUsdMicros')
    // Having won says more than being level with the next best: 0.85 standard deviations of 1 %.
    expect(of('worthAssets') - of('wonAssets')).toBe(usd(84.63))
    expect(kept - least >= 0n && kept - least <= 2n).toBe(true)
    expect(of('gainUsdMicros')).toBe(of('wonAssets') - of('bidAssets') - of('gasUsdMicros'))
    expect(proposal.gainUsdMicros).toBe(of('gainUsdMicros'))
    expect(proposal.summary).toBe(
      'bid 8,000 sUSD for 0.2 sBTC, 80.00 % of its price, limit 9,865.46 sUSD, expect +$1,867.88',
    )
  })

  it('counts what three transactions pay for their bytes as gas, where the chain charges for them', () => {
    const { chain } = observed()
    const dear = only(withRfq({}, { chain: { ...chain, dataFeeWei: 10n ** 14n } }))
    const more = (key: string) => BigInt(String(dear.reason[key])) - BigInt(String(proposal.reason[key]))
    expect(more('gasWei')).toBe(3n * 10n ** 14n)
    expect(more('limitAssets')).toBeLessThan(0n)
  })

  it('waits for the last call, and then goes a part of the way to our limit that grows with the rivals', () => {
    expect(checksOf(withRfq({ closesAtS: NOW_S + 31 }))).toEqual(['before_last_call'])
    const part = (rivals: readonly RfqBidSeen[]) => {
      const { input, reason } = only(withRfq({ bids: rivals }))
      const to = BigInt(String(reason.limitAssets)) - usd(9_000)
      return Number(((BigInt(String(input.bidAssets)) - usd(9_000)) * 1_000n) / to)
    }
    expect(part([rivalBid(9_000)])).toBe(166)
    expect(part([rivalBid(9_000), { ...rivalBid(8_500, '8'), bidder: SELLER }])).toBe(285)
  })

  it('does not count bids that cannot win', () => {
    const gone = { ...rivalBid(9_000), status: 'expired' as const }
    expect(only(withRfq({ bids: [gone] })).input.bidAssets).toBe('8000000000')
  })

  it('comes again after one that was cancelled, as another opportunity', () => {
    const cancelled = bid({ status: 'cancelled' })
    expect(only(withRfq({ bids: [cancelled] })).occurrence).toBe('bids:1')
  })

  it('names the position behind it where a fund sells', () => {
    expect(only(withRfq({ lot: '0xposition' })).lot).toBe('0xposition')
  })
})

describe('a bid in a sealed book', () => {
  const terms = { ...RFQ_TERMS, book: 'sealed' as const }
  /** Ten were won, and brought what was to be expected among three. */
  const usual = { won: 10, errors: -0.08463, squares: 0.00127 }
  const experience = ['bid', 'book:sealed'].map((of) => ({
    of,
    decided: 30,
    gains: 0.1,
    netUsd: 1_000,
    unpaidUsd: 0,
    ...usual,
  }))
  const withRfq = (changes: Partial<RfqSeen>, around: Partial<Observed> = {}) =>
    observed({ rfqs: [rfq(changes)], experience, ...around })
  const bidAmong = (rivalsMin: number) =>
    BigInt(String(only(withRfq({ terms }), policy({ rivalsMin })).input.bidAssets))

  it('is the reserve before anything came of others: what is paid is what a seller who knows more takes', () => {
    expect(only(withRfq({ terms }, { experience: [] })).input.bidAssets).toBe(String(usd(8_000)))
  })

  it('goes a tenth of the way to what experience would bid with each that was lost, and no further', () => {
    const after = (lost: number, won = 0) => [
      {
        of: 'book:sealed',
        decided: lost + won,
        won,
        errors: 0,
        squares: 0,
        gains: 0,
        netUsd: -1,
        unpaidUsd: 1,
      },
    ]
    const bidAfter = (lost: number, won = 0) =>
      BigInt(String(only(withRfq({ terms }, { experience: after(lost, won) })).input.bidAssets))
    const least = usd(8_000)
    const most = bidAfter(10)
    expect(most > usd(9_000)).toBe(true)
    expect([bidAfter(0), bidAfter(3), bidAfter(40)]).toEqual([
      least,
      least + ((most - least) * 3n) / 10n,
      most,
    ])
    // What was won moves the way's end by what came of it, and is no step.
    const way = (lost: number, won: number) =>
      Number(bidAfter(lost, won) - least) / Number(bidAfter(10, won) - least)
    expect(way(3, 9)).toBeCloseTo(0.3, 6)
  })

  it('stays below the limit by the margin and the curse of so many bidders', () => {
    const proposal = only(withRfq({ terms }))
    const of = (key: string) => BigInt(String(proposal.reason[key]))
    // Three bidders: 1.5073 standard deviations of 1 %, then the fixed costs.
    const shaded = (of('worthAssets') * (WAD - (15_073n * WAD) / 1_000_000n)) / WAD
    const apart = of('bidAssets') - (shaded - usd(5) - of('gasUsdMicros'))
    expect(apart > -usd(1) && apart < usd(1)).toBe(true)
    expect(of('bidAssets') < of('limitAssets')).toBe(true)
    expect(proposal.reason.limitedBy).toBe('shade')
  })

  it('is the reserve where nobody else is expected, and lower among many than among few', () => {
    expect(bidAmong(0)).toBe(usd(8_000))
    expect(bidAmong(9) < bidAmong(2)).toBe(true)
  })

  it('is the reserve where the shade goes below it and the limit does not', () => {
    const limit = BigInt(String(only(withRfq({ terms })).reason.limitAssets))
    expect(only(withRfq({ terms, reserveAssets: limit })).input.bidAssets).toBe(String(limit))
    expect(checksOf(withRfq({ terms, reserveAssets: limit + 1n }))).toEqual(['reserve_above_limit'])
  })

  it('moves with the value beyond the policy’s drift, both ways, and not within', () => {
    const placed = BigInt(String(only(withRfq({ terms })).input.bidAssets))
    const at = (priceWad: bigint) =>
      withRfq(
        { terms, bids: [bid({ assets: placed })] },
        atPrice({
          oracle: { priceWad, sourceAsOfS: NOW_S, state: 1 },
          reference: { priceWad, sourceAsOfS: NOW_S, state: 1 },
          servicePriceWad: priceWad,
        }),
      )
    expect(checksOf(at(50_200n * WAD))).toEqual(['bid_stands'])
    expect(only(at(50_400n * WAD))).toMatchObject({ workflowType: `${PREFIX}RfqReplaceBid`, kind: 'raise' })
    expect(only(at(49_600n * WAD))).toMatchObject({ workflowType: `${PREFIX}RfqReplaceBid`, kind: 'lower' })
    expect(only(at(39_000n * WAD))).toMatchObject({
      workflowType: `${PREFIX}RfqCancelBid`,
      reason: { why: 'reserve_above_limit' },
    })
  })
})

describe('a bidder that pays for what it does not win', () => {
  const after = (netUsd: number, won = 9, unpaidUsd = 0) => [
    { of: 'bid', decided: 30, won, errors: -0.08463, squares: 0.00127, gains: 0.1, netUsd, unpaidUsd },
  ]
  const rules = policy({ explorationUsdMicros: 2_000_000_000n })
  const seen = (...of: Parameters<typeof after>) => withRfq({}, { experience: after(...of) })

  it('stops by name once it has lost what the policy lets it explore with before it won ten', () => {
    // A bid and what ends it cost $4.35 at the head.
    expect([-1_995.66, -2_000].map((net) => checksOf(seen(net), rules))).toEqual([
      ['exploration_spent'],
      ['exploration_spent'],
    ])
    expect([seen(-1_995.65), seen(-2_000, 10)].map((each) => only(each, rules).kind)).toEqual([
      'place',
      'place',
    ])
  })

  it('stops as well, whatever it won before, once so much was paid since it last won', () => {
    expect(checksOf(seen(50_000, 40, 1_995.66), rules)).toEqual(['exploration_spent'])
    expect(only(seen(50_000, 40, 1_995.65), rules).kind).toBe('place')
  })

  it('leaves for each bid that is under way what that costs, and takes back none for the gas of the moment', () => {
    const other = { ...rfq({ bids: [bid()] }), id: `${DESK}:8`, number: '8', lot: `${DESK}:8` }
    const around = (net: number, baseFeePerGasWei: bigint) =>
      observed({
        rfqs: [other, rfq({})],
        experience: after(net),
        chain: { ...observed().chain, baseFeePerGasWei },
      })
    const { baseFeePerGasWei } = observed().chain
    const checks = (net: number, fee = baseFeePerGasWei) =>
      decide(around(net, fee), rules).passedOver.map(({ check }) => check)
    expect(checks(-1_991.3)).toEqual(['bid_stands'])
    expect(checks(-1_991.31)).toEqual(['bid_stands', 'exploration_spent'])
    expect(checks(-1_991.31, 40n * baseFeePerGasWei)).toEqual(['bid_stands', 'exploration_spent'])
  })

  it('takes back what stands once the budget is spent', () => {
    const standing = withRfq({ bids: [bid()] }, { experience: after(-2_000.01) })
    expect(only(standing, rules)).toMatchObject({ kind: 'cancel', reason: { why: 'exploration_spent' } })
  })

  it('calls no person because gas is dear', () => {
    const chain = { ...observed().chain, baseFeePerGasWei: 2_000_000_000_000n }
    const [stop] = decide(withRfq({}, { experience: [], chain }), rules).passedOver
    expect(stop?.check).toBe('gas_above_exploration')
    expect(stop).not.toHaveProperty('alarm')
  })

  it('says what was lost, what the policy allows, and what to do', () => {
    const [stop] = decide(seen(-2_345.67), rules).passedOver
    expect(stop?.message).toMatch(
      /^It has lost \$2,345\.67, gas included, with 9 won; the policy's exploration is \$2,000, and one more costs \$4\.35\. Fix: /,
    )
    expect(stop).toMatchObject({ alarm: { fix: expect.stringContaining('experience forget rfq-bidder') } })
  })
})

describe('a bid of ours on an open RFQ', () => {
  /** The last call is not yet. */
  const early = policy({ rfq: { ...policy().rfq, lastCallS: 6 } })

  it('stands while it leads and is not much more than it takes', () => {
    expect(checksOf(withRfq({ bids: [bid()] }))).toEqual(['bid_stands'])
    expect(checksOf(withRfq({ bids: [bid({ assets: usd(9_009) }), rivalBid(9_000)] }))).toEqual([
      'bid_stands',
    ])
  })

  it('is raised when it is beaten, with a new expiry', () => {
    const proposal = only(withRfq({ bids: [bid(), rivalBid(9_000)] }), early)
    expect(proposal).toMatchObject({
      workflowType: `${PREFIX}RfqReplaceBid`,
      kind: 'raise',
      occurrence: `bid:1:8000000000@${NOW_S + 330}#0`,
      exposure: { token: USD, assets: usd(9_009) },
    })
    expect(rfqReplaceBidInput.parse(proposal.input)).toEqual({
      rfqAddress: DESK,
      rfqId: '7',
      bidId: '1',
      bidAssets: String(usd(9_009)),
      expiresTimestamp: String(NOW_S + 330),
    })
  })

  it('is lowered when its rival left, and when it was level in amount with one', () => {
    expect(only(withRfq({ bids: [bid({ assets: usd(9_009) })] }))).toMatchObject({
      kind: 'lower',
      input: { bidAssets: '8000000000' },
    })
    expect(only(withRfq({ bids: [bid({ assets: usd(9_000) }), rivalBid(9_000)] }))).toMatchObject({
      kind: 'raise',
    })
  })

  it('is taken back when the others are above our limit: a bid that cannot win ties up its escrow', () => {
    const proposal = only(withRfq({ bids: [bid(), rivalBid(9_950)] }))
    expect(proposal).toMatchObject({
      workflowType: `${PREFIX}RfqCancelBid`,
      exposure: { token: null, assets: 0n, usdMicros: 0n },
      reason: { why: 'rivals_above_limit' },
    })
    expect(rfqBidInput.parse(proposal.input)).toEqual({ rfqAddress: DESK, rfqId: '7', bidId: '1' })
  })

  it('waits while the others are just above our limit: the next price may change that', () => {
    expect(checksOf(withRfq({ bids: [bid(), rivalBid(9_890)] }))).toEqual(['bid_stands'])
    expect(checksOf(withRfq({ bids: [rivalBid(9_890)] }))).toEqual(['rivals_above_limit'])
  })

  it('goes part of the way to our limit at the last call, when it is beaten and nobody can answer', () => {
    const beaten = (leftS: number, ...rivals: readonly RfqBidSeen[]) =>
      only(withRfq({ closesAtS: NOW_S + leftS, bids: [bid(), ...rivals] }), early)
    expect(beaten(7, rivalBid(9_000)).input.bidAssets).toBe(String(usd(9_009)))
    const one = beaten(6, rivalBid(9_000))
    const limit = BigInt(String(one.reason.limitAssets))
    expect(one.input.bidAssets).toBe(String(usd(9_000) + (limit - usd(9_000)) / 6n))
    const other = { ...rivalBid(8_500, '8'), bidder: SELLER }
    expect(beaten(6, rivalBid(9_000), other).input.bidAssets).toBe(
      String(usd(9_000) + ((limit - usd(9_000)) * 2n) / 7n),
    )
    expect(
      checksOf(withRfq({ closesAtS: NOW_S + 6, bids: [bid({ assets: usd(9_009) }), rivalBid(9_000)] })),
    ).toEqual(['bid_stands'])
  })

  it('is extended when it would expire before the close', () => {
    const ending = bid({ expiresAtS: NOW_S + 30 })
    expect(only(withRfq({ bids: [ending] }))).toMatchObject({
      kind: 'lower',
      input: { bidAssets: '8000000000', expiresTimestamp: String(NOW_S + 330) },
    })
  })

  it('is not raised more often than the policy says, however beaten', () => {
    const raised = (count: number): readonly Ended[] =>
      Array.from({ length: count }, (_, index) => ({
        ...underWay(only(withRfq({ bids: [bid(), rivalBid(9_000)] }))),
        workflowId: `w${index}`,
        kind: 'raise',
        state: 'succeeded' as const,
        begunAtMs: 0,
        endedAtMs: 0,
        check: null,
      }))
    const beaten = { bids: [bid(), rivalBid(9_000)] }
    const [at, past] = [raised(policy().rfq.raisesMax - 1), raised(policy().rfq.raisesMax)]
    expect(only(withRfq(beaten, { recent: at })).occurrence).toMatch(/#9$/)
    expect(checksOf(withRfq(beaten, { recent: past }))).toEqual(['raises_used_up'])
    expect(only(withRfq({ bids: [bid({ assets: usd(9_500) })] }, { recent: past })).kind).toBe('lower')
  })

  it('is the only one: of two the lower is taken back', () => {
    const proposal = only(withRfq({ bids: [bid({ bidId: '1' }), bid({ bidId: '2', assets: usd(8_100) })] }))
    expect(proposal).toMatchObject({ input: { bidId: '1' }, reason: { why: 'second_bid' } })
  })
})

const STOPS: readonly (readonly [string, Partial<RfqSeen>, Partial<Observed>])[] = [
  ['observation_not_fresh', {}, { freshness: { ok: false, ageMs: 48_000, message: 'old' } }],
  ['venue_not_pinned', { venue: RIVAL }, {}],
  ['seller_is_ours', { seller: SELF }, {}],
  ['seller_is_ours', { seller: COLLEAGUE }, {}],
  ['seller_is_ours', { seller: FUND }, {}],
  ['bidder_is_ours', { bids: [bid({ bidId: '5', bidder: COLLEAGUE, assets: 1n })] }, {}],
  [
    'lot_taken',
    {},
    {
      colleagues: [
        {
          role: 'asset-manager',
          workflowType: 'role.asset_manager.distressedRecoveryAcquisitionV3Bid',
          subject: 'lot 1',
          lot: `${DESK}:7`,
        },
      ],
    },
  ],
  ['side_not_traded', { terms: { ...RFQ_TERMS, side: 'bidder_sells' } }, {}],
  ['escrow_not_traded', { terms: { ...RFQ_TERMS, escrow: 'none' } }, {}],
  ['asset_not_allowed', { asset: RIVAL }, {}],
  ['quote_not_allowed', { quoteAsset: BTC }, {}],
  ['price_unknown', {}, { prices: [] }],
  ['price_unknown', {}, atPrice({ oracle: null })],
  ['price_unknown', {}, atPrice({ reference: null })],
  ['price_unknown', {}, atPrice({ servicePriceWad: null })],
  ['market_paused', {}, atPrice({ paused: true })],
  ['market_paused', {}, atPrice({ paused: null })],
  ['oracle_not_healthy', {}, atPrice({ serviceOracleState: 'stale' })],
  ['oracle_not_healthy', {}, atPrice({ oracle: { priceWad: 50_000n * WAD, sourceAsOfS: NOW_S, state: 2 } })],
  ['oracle_not_healthy', {}, atPrice({ oracle: { priceWad: 0n, sourceAsOfS: NOW_S, state: 1 } })],
  ['price_too_old', {}, atPrice({ oracle: { priceWad: 50_000n * WAD, sourceAsOfS: NOW_S - 121, state: 1 } })],
  ['price_too_old', {}, atPrice({ oracle: { priceWad: 50_000n * WAD, sourceAsOfS: NOW_S + 121, state: 1 } })],
  ['price_diverges', {}, atPrice({ servicePriceWad: 50_000_000n * WAD })],
  ['price_diverges', {}, atPrice({ servicePriceWad: 50_751n * WAD })],
  ['price_diverges', {}, atPrice({ reference: { priceWad: 50n * WAD, sourceAsOfS: NOW_S, state: 1 } })],
  ['inventory_unknown', {}, { balances: { [USD]: usd(1_000_000) } }],
  ['inventory_full', {}, { balances: { [USD]: usd(1_000_000), [BTC]: 4_980_000_001n } }],
]

describe('a rule that stops a lot', () => {
  it.each(STOPS)('%s: nothing is bid', (check, changes, around) => {
    expect(checksOf(withRfq(changes, around))).toEqual([check])
  })

  it.each(STOPS.filter(([check]) => check !== 'quote_not_allowed'))(
    '%s: a bid of ours is taken back',
    (check, { bids = [], ...changes }, around) => {
      const proposal = only(withRfq({ ...changes, bids: [bid(), ...bids] }, around))
      expect(proposal).toMatchObject({ workflowType: `${PREFIX}RfqCancelBid`, reason: { why: check } })
    },
  )

  it.each(STOPS.filter(([, changes]) => !('terms' in changes || 'bids' in changes || 'lot' in changes)))(
    '%s: nothing is bid at an auction',
    (check, changes, around) => {
      const lot: Partial<AuctionSeen> = { ...changes, bids: [] }
      if (check === 'lot_taken') return
      expect(checksOf(withLot(lot, around))).toEqual([check])
    },
  )

  it('counts the limits at their edge as kept', () => {
    const at = atPrice({
      servicePriceWad: 50_750n * WAD,
      oracle: { priceWad: 50_000n * WAD, sourceAsOfS: NOW_S - 120, state: 1 },
    })
    expect(proposed(withRfq({}, at))).toHaveLength(1)
    const full = { balances: { [USD]: usd(1_000_000), [BTC]: 4_980_000_000n } }
    expect(proposed(withRfq({}, full))).toHaveLength(1)
  })
})

describe('time', () => {
  it('is left for a bid to land, at the policy’s limit and not one second less', () => {
    expect(proposed(withRfq({ closesAtS: NOW_S + 3 }))).toHaveLength(1)
    expect(checksOf(withRfq({ closesAtS: NOW_S + 2 }))).toEqual(['too_late'])
    expect(checksOf(withRfq({ closesAtS: NOW_S + 2, bids: [bid(), rivalBid(9_900)] }))).toEqual(['too_late'])
  })

  it('says when to look again: the last call, the close, or the beginning of an auction’s window', () => {
    expect(decide(withRfq({ closesAtS: NOW_S + 54 }), policy()).lookAgainAtMs).toBe((NOW_S + 24) * 1_000)
    expect(decide(withRfq({ closesAtS: NOW_S + 5 }), policy()).lookAgainAtMs).toBe((NOW_S + 5) * 1_000)
    expect(decide(withLot({ closesAtS: NOW_S + 50 }), policy()).lookAgainAtMs).toBe((NOW_S + 30) * 1_000)
    expect(decide(observed(), policy()).lookAgainAtMs).toBeUndefined()
  })
})

describe('limits', () => {
  const bids = (whole: number, changes: Partial<RfqSeen> = {}) =>
    rfq({ id: `${DESK}:8`, lot: `${DESK}:8`, number: '8', bids: [bid({ assets: usd(whole) })], ...changes })
  const beside = (other: RfqSeen, around: Partial<Observed> = {}) =>
    observed({ rfqs: [rfq({ bids: [rivalBid(9_000)] }), other], ...around })
  const passed = (seen: Observed, rules = policy()) =>
    decide(seen, rules).passedOver.find(({ subject }) => subject === `${DESK}:7`)

  it('over all open bids, and for one asset, hold at their edge', () => {
    const limits = (whole: number) => ({ openBidsUsdMicrosMax: usd(whole), bidUsdMicrosMax: usd(whole) })
    const asset = (whole: number) => ({
      assets: {
        sBTC: { ...policy().assets.sBTC, openBidsUsdMicrosMax: usd(whole) } as never,
      },
    })
    expect(proposed(beside(bids(8_000)), policy(limits(17_009)))).toHaveLength(1)
    expect(passed(beside(bids(8_000)), policy(limits(17_008.999999)))?.check).toBe('open_bids_max')
    expect(proposed(beside(bids(8_000)), policy(asset(17_009)))).toHaveLength(1)
    const short = passed(beside(bids(8_000)), policy(asset(17_008.999999)))
    expect(short?.check).toBe('asset_bids_max')
    expect(short?.near).toBeGreaterThan(0.99)
  })

  it('count what is expired, displaced or lost until it is paid back', () => {
    const limits = policy({ openBidsUsdMicrosMax: usd(17_000), bidUsdMicrosMax: usd(17_000) })
    for (const status of ['expired', 'displaced', 'lost'] as const) {
      const lost = bids(8_000, {
        status: 'over',
        bids: [bid({ assets: usd(8_000), status, refundable: true })],
      })
      expect(passed(beside(lost), limits)?.check).toBe('open_bids_max')
    }
    const back = bids(8_000, { status: 'over', bids: [bid({ assets: usd(8_000), status: 'refunded' })] })
    expect(passed(beside(back), limits)).toBeUndefined()
  })

  it('of one bid, and of our funds, less what is in flight', () => {
    expect(passed(beside(bids(8_000)), policy({ bidUsdMicrosMax: usd(9_000) }))?.check).toBe('bid_max')
    const poor = { balances: { [USD]: usd(9_008), [BTC]: 0n } }
    expect(passed(beside(bids(8_000), poor))?.check).toBe('out_of_funds')
    const placing = only(withRfq({ id: `${DESK}:9`, number: '9', lot: 'other' }))
    const around = {
      balances: { [USD]: usd(17_008), [BTC]: 0n },
      inFlight: [underWay(placing)],
    }
    expect(passed(observed({ rfqs: [rfq({ bids: [rivalBid(9_000)] })], ...around }))?.check).toBe(
      'out_of_funds',
    )
  })

  it('count what is in flight once, also when its bid shows before the workflow ends', () => {
    const placing = only(withRfq({ id: `${DESK}:8`, number: '8', lot: 'other' }))
    const inFlight = [underWay(placing)]
    const limits = policy({ openBidsUsdMicrosMax: usd(17_009), bidUsdMicrosMax: usd(17_009) })
    expect(proposed(beside(bids(8_000), { inFlight }), limits)).toHaveLength(1)
    expect(proposed(beside(bids(8_000, { bids: [] }), { inFlight }), limits)).toHaveLength(1)
    const tight = policy({ openBidsUsdMicrosMax: usd(17_008), bidUsdMicrosMax: usd(17_008) })
    expect(passed(beside(bids(8_000), { inFlight }), tight)?.check).toBe('open_bids_max')
  })

  it('count against each asset what is in flight for a lot that the service does not list', () => {
    const placing = only(withRfq({ id: `${DESK}:9`, number: '9', lot: 'other' }))
    const seen = observed({ rfqs: [rfq({ bids: [rivalBid(9_000)] })], inFlight: [underWay(placing)] })
    const most = (whole: number) => {
      const { sBTC, ...assets } = policy().assets
      if (sBTC === undefined) throw new TypeError('the policy does not list sBTC')
      return policy({ assets: { ...assets, sBTC: { ...sBTC, openBidsUsdMicrosMax: usd(whole) } } })
    }
    expect(proposed(seen, most(17_009))).toHaveLength(1)
    expect(passed(seen, most(17_008))?.check).toBe('asset_bids_max')
  })

  it('give what promises most the first place', () => {
    const better = rfq({ id: `${DESK}:8`, lot: `${DESK}:8`, number: '8', amount: 22_000_000n })
    const limits = policy({ openBidsUsdMicrosMax: usd(8_500), bidUsdMicrosMax: usd(8_500) })
    expect(only(observed({ rfqs: [rfq(), better] }), limits).subject).toBe(`${DESK}:8`)
    expect(only(observed({ rfqs: [better, rfq()] }), limits).subject).toBe(`${DESK}:8`)
  })

  it('stop all bids while one of ours is in a token that the policy does not price', () => {
    const odd = bids(8_000, { quoteAsset: BTC, asset: USD })
    expect(passed(beside(odd))?.check).toBe('exposure_unknown')
  })

  it('need gas', () => {
    expect(checksOf(withRfq({}, { nativeBalanceWei: 1n }))).toEqual(['out_of_gas'])
    expect(checksOf(withLot({}, { nativeBalanceWei: 1n }))).toEqual(['out_of_gas'])
  })
})

describe('what is in flight', () => {
  it('is not proposed again', () => {
    const proposal = only(withRfq({}))
    expect(checksOf(withRfq({}, { inFlight: [underWay(proposal)] }))).toEqual(['already_in_flight'])
    const lot = only(withLot({}))
    expect(checksOf(withLot({}, { inFlight: [underWay(lot)] }))).toEqual(['already_in_flight'])
  })

  it('keeps no bid from being taken back, or an RFQ from its end, while it waits for a person', () => {
    const stale = { freshness: { ok: false, ageMs: 60_000, message: 'old' } }
    const proposal = only(withRfq({ bids: [bid()] }, stale))
    expect(proposal.kind).toBe('cancel')
    const change = { ...underWay(proposal), workflowType: REPLACE, kind: 'raise', held: true } as const
    expect(only(withRfq({ bids: [bid()] }, { ...stale, inFlight: [change] })).kind).toBe('cancel')
    const held = { ...underWay(proposal), held: true } as const
    expect(checksOf(withRfq({ bids: [bid()] }, { ...stale, inFlight: [held] }))).toEqual([
      'already_in_flight',
    ])
    const closed = withRfq({ status: 'closed', bids: [bid()] }, { inFlight: [change] })
    expect(only(closed).kind).toBe('finalize')
  })

  it('may have been ordered by a person: nothing is bid beside it, and it counts', () => {
    const ordered = { ...underWay(only(withRfq({}))), subject: 'an order', occurrence: 'c0ffee' }
    expect(checksOf(withRfq({}, { inFlight: [ordered] }))).toEqual(['already_in_flight'])
    const other = rfq({ id: `${DESK}:8`, lot: 'other', number: '8' })
    const limits = policy({ openBidsUsdMicrosMax: usd(15_999), bidUsdMicrosMax: usd(15_999) })
    expect(checksOf(observed({ rfqs: [rfq(), other], inFlight: [ordered] }), limits).toSorted()).toEqual([
      'already_in_flight',
      'open_bids_max',
    ])
  })

  it('counts what it may win as held', () => {
    const placing = only(withRfq({ id: `${DESK}:8`, number: '8', lot: 'other' }))
    const other = rfq({ id: `${DESK}:8`, number: '8', lot: 'other' })
    const nearlyFull = { balances: { [USD]: usd(1_000_000), [BTC]: 4_970_000_000n } }
    const seen = observed({ rfqs: [rfq(), other], inFlight: [underWay(placing)], ...nearlyFull })
    expect(decide(seen, policy()).passedOver.map(({ check }) => check)).toContain('inventory_full')
  })
})

describe('a closed RFQ', () => {
  const closed = (changes: Partial<RfqSeen>) =>
    withRfq({ status: 'closed', closesAtS: NOW_S - 1, ...changes })

  it('is finalized at once when we won', () => {
    const proposal = only(closed({ bids: [bid({ assets: usd(9_000) }), rivalBid(8_500)] }))
    expect(proposal).toMatchObject({
      workflowType: `${PREFIX}RfqFinalize`,
      occurrence: 'finalize',
      reason: { wins: 'true' },
    })
    expect(rfqFinalizeInput.parse(proposal.input)).toEqual({ rfqAddress: DESK, rfqId: '7' })
  })

  it('is finalized after a while when somebody else won: our escrow is free only then', () => {
    const bids = [bid(), rivalBid(8_500)]
    expect(checksOf(closed({ bids, closesAtS: NOW_S - 19 }))).toEqual(['left_to_winner'])
    expect(only(closed({ bids, closesAtS: NOW_S - 20 }))).toMatchObject({ reason: { wins: 'false' } })
  })

  it('is finalized without a promise to win where another bid is level', () => {
    const level = only(closed({ bids: [bid({ assets: usd(8_500) }), rivalBid(8_500)] }))
    expect(level).toMatchObject({ kind: 'finalize', reason: { wins: 'null' } })
  })

  it('is finalized at once where nobody knows who won', () => {
    const terms = { ...RFQ_TERMS, book: 'sealed' as const }
    expect(only(closed({ terms, bids: [bid()] }))).toMatchObject({ reason: { wins: 'null' } })
  })

  it('is left to whom it belongs to finalize', () => {
    const seller = { ...RFQ_TERMS, finalizer: 'seller' as const }
    const winner = { ...RFQ_TERMS, finalizer: 'winner' as const }
    expect(checksOf(closed({ terms: seller, bids: [bid()] }))).toEqual(['awaits_finalizer'])
    expect(checksOf(closed({ terms: winner, bids: [bid(), rivalBid(9_000)] }))).toEqual(['awaits_finalizer'])
    expect(only(closed({ terms: winner, bids: [bid()] })).workflowType).toBe(`${PREFIX}RfqFinalize`)
  })

  it('is nothing to us without a bid that binds', () => {
    expect(checksOf(closed({ bids: [rivalBid(9_000)] }))).toEqual(['rfq_closed'])
  })

  it('is settled whatever the price does', () => {
    const blind = { prices: [] }
    const seen = observed({
      rfqs: [rfq({ status: 'closed', closesAtS: NOW_S - 9, bids: [bid()] })],
      ...blind,
    })
    expect(only(seen).workflowType).toBe(`${PREFIX}RfqFinalize`)
  })
})

it('ends a bid in the name of its lot: what comes of it is held against what was expected there', () => {
  const lot = '0xposition'
  const closed = { status: 'closed', closesAtS: NOW_S - 60, lot } as const
  const stale = { freshness: { ok: false, ageMs: 60_000, message: 'old' } }
  const refund = withRfq({ ...closed, bids: [bid({ status: 'displaced', refundable: true })] })
  expect(only(withRfq({ lot, bids: [bid()] }, stale))).toMatchObject({ kind: 'cancel', lot })
  expect(only(withRfq({ ...closed, bids: [bid()] }))).toMatchObject({ kind: 'finalize', lot })
  expect(proposed(refund)).toMatchObject([{ kind: 'refund', lot }])
})

describe('a refund', () => {
  it.each(['expired', 'displaced', 'lost'] as const)('of a bid that is %s is claimed, once', (status) => {
    const bids = [bid({ status, refundable: true })]
    const seen = withRfq({ status: status === 'lost' ? 'over' : 'closed', closesAtS: NOW_S - 60, bids })
    const proposal = proposed(seen).find(({ kind }) => kind === 'refund')
    expect(proposal).toMatchObject({
      workflowType: `${PREFIX}RfqClaimRefund`,
      subject: `${DESK}:7:bid:1`,
      exposure: { token: null },
    })
    expect(rfqBidInput.parse(proposal?.input)).toEqual({ rfqAddress: DESK, rfqId: '7', bidId: '1' })
    const again = decide({ ...seen, inFlight: [underWay(proposal as Proposal)] }, policy())
    expect(again.proposals).toEqual([])
  })

  it('says who won, where that is shown', () => {
    const lost = bid({ status: 'lost', refundable: true, assets: usd(8_000) })
    const summaryOf = (bids: readonly RfqBidSeen[]) =>
      proposed(withRfq({ status: 'over', closesAtS: NOW_S - 60, bids })).find(({ kind }) => kind === 'refund')
    expect(summaryOf([lost, { ...rivalBid(9_000), status: 'won' }])).toMatchObject({
      summary: `claim back the 8,000 sUSD of bid 1, which lost to ${RIVAL}, who bid 9,000 sUSD`,
      reason: { winner: RIVAL, winningAssets: String(usd(9_000)) },
    })
    expect(summaryOf([lost])?.summary).toBe(
      'claim back the 8,000 sUSD of bid 1, which lost; who won is not shown',
    )
  })

  it('is not claimed of what others bid', () => {
    const bids = [{ ...rivalBid(9_000), status: 'lost' as const, refundable: true }]
    expect(proposed(withRfq({ status: 'over', bids }))).toEqual([])
  })
})

describe('an auction', () => {
  it('is bid at the least there is, in a shape that the service takes', () => {
    const proposal = only(withLot({}))
    expect(proposal).toMatchObject({
      workflowType: `${PREFIX}AuctionBid`,
      occurrence: 'bids:0',
      exposure: { token: USD, assets: usd(8_000) },
    })
    expect(auctionBidInput.parse(proposal.input)).toEqual({
      auctionAddress: AUCTION,
      lotId: '3',
      bidAssets: '8000000000',
    })
  })

  it('is waited with until its window, and left alone when it is too late', () => {
    expect(proposed(withLot({ closesAtS: NOW_S + 20 }))).toHaveLength(1)
    expect(checksOf(withLot({ closesAtS: NOW_S + 21 }))).toEqual(['before_window'])
    expect(checksOf(withLot({ closesAtS: NOW_S + 2 }))).toEqual(['too_late'])
  })

  const best = (whole: number, around: Partial<Observed> = {}) =>
    withLot(
      {
        bestBidder: RIVAL,
        bestAssets: usd(whole),
        nextAssets: usd(whole) + usd(whole) / 100n,
        bids: [{ bidder: RIVAL, assets: usd(whole) }],
      },
      around,
    )

  it('is stepped up by the least there is, or by more where the gas of many small steps is dearer', () => {
    const cheap = { ...observed().chain, baseFeePerGasWei: 1n, priorityFeePerGasWei: 1n }
    expect(only(best(8_200, { chain: cheap })).input.bidAssets).toBe(String(usd(8_282)))
    const proposal = only(best(8_200))
    const [limit, gas] = [proposal.reason.limitAssets, proposal.reason.gasUsdMicros].map(Number)
    const step = Math.sqrt(2 * (gas ?? 0) * ((limit ?? 0) - 8_200_000_000))
    expect(Number(proposal.input.bidAssets)).toBeCloseTo(8_200_000_000 + step, -1)
    const congested = { ...observed().chain, baseFeePerGasWei: 20_000_000_000n }
    const dear = only(best(8_200, { chain: congested }))
    expect(Number(dear.input.bidAssets)).toBeGreaterThan(Number(proposal.input.bidAssets) + 100_000_000)
  })

  it('goes as far as our limit and no further', () => {
    const last = only(best(9_700))
    expect(BigInt(String(last.input.bidAssets)) <= BigInt(String(last.reason.limitAssets))).toBe(true)
    const beyond = decide(best(9_800), policy()).passedOver[0]
    expect(beyond?.check).toBe('next_bid_above_limit')
    expect(beyond?.near).toBeGreaterThan(0.99)
  })

  it('is left alone while we lead', () => {
    const leading = { bestBidder: SELF, bestAssets: usd(8_000), bids: [{ bidder: SELF, assets: usd(8_000) }] }
    expect(checksOf(withLot({ ...leading, nextAssets: usd(8_080) }))).toEqual(['leads'])
  })

  it('takes no bid against another of ours', () => {
    const led = {
      bestBidder: COLLEAGUE,
      bestAssets: usd(8_000),
      bids: [{ bidder: COLLEAGUE, assets: usd(8_000) }],
    }
    expect(checksOf(withLot(led))).toEqual(['bidder_is_ours'])
  })

  it('counts what auctions owe us, says so, and bids no further than the policy lets them owe', () => {
    const owed = (whole: number) => {
      const past = auction({
        id: `${AUCTION}:2`,
        lot: 'past',
        number: '2',
        status: 'over',
        owedAssets: usd(whole),
      })
      return observed({ auctions: [past, auction()] })
    }
    const rules = policy({ auction: { ...policy().auction, owedUsdMicrosMax: usd(20_000) } })
    expect(decide(owed(12_000), rules).passedOver.map(({ check }) => check)).toEqual([
      'owed_not_withdrawable',
    ])
    expect(decide(owed(12_000), rules).proposals).toHaveLength(1)
    expect(checksOf(owed(12_000.000001), rules)).toEqual(['owed_not_withdrawable', 'owed_max'])
  })

  it('says of a closed one whose it is', () => {
    expect(checksOf(withLot({ status: 'closed' }))).toEqual(['auction_closed'])
  })
})

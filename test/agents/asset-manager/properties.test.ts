import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { InFlight } from '../../../agents/agent.ts'
import { decide } from '../../../agents/asset-manager/decide.ts'
import { fundedAssets } from '../../../agents/asset-manager/fund.ts'
import type { ManagerPolicy } from '../../../agents/asset-manager/policy.ts'
import type { FundFigures, FundSeen, LotSeen } from '../../../agents/asset-manager/seen.ts'
import { valuate } from '../../../agents/asset-manager/value.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { FUND, figures, fundRow, HOUSE, lotRow, moment, policy, RIVAL_FUND, USD, usd } from './fixtures.ts'

// A world is large: looking for the smallest that fails takes longer than reading one that does.
const RUNS = { numRuns: 1_000, endOnFailure: true }
const LIMITS = policy()
const OTHER_FUND = `0x${'e'.repeat(40)}` as const
const BASE = moment()
const ROWS = { fund: fundRow(), lot: lotRow() }
const QUOTE = { address: USD, symbol: 'sUSD', decimals: 6, priceUsdMicros: 1_000_000n }

const assets = (most: number) => fc.integer({ min: 0, max: most }).map((whole) => usd(whole))
const bps = (least = 0) => fc.integer({ min: least, max: 10_000 })

const fundFigures = fc.record({
  idleAssets: assets(80_000),
  reservedAssets: assets(100_000),
  netAssets: assets(600_000),
  usedAssets: assets(250_000),
  maxAssetsPerEpoch: assets(300_000),
  maxPriceBps: bps(5_000),
  maxPositionBps: bps(200),
})
const fundAt = (address: typeof FUND, drawn: FundDrawn): FundSeen => {
  const { maxAssetsPerEpoch, maxPriceBps, maxPositionBps, ...rest } = drawn
  const acquisition = { enabled: true, maxAssetsPerEpoch, maxPriceBps, maxPositionBps }
  const channels: FundFigures['channels'] = { ...figures().channels, acquisition }
  return {
    row: { ...ROWS.fund, id: address, address },
    figures: { manager: BASE.signer, epochId: 1n, channels, ...rest },
  }
}
type FundDrawn = typeof fundFigures extends fc.Arbitrary<infer T> ? T : never

const lotDrawn = fc.record({
  amount: fc.integer({ min: 1, max: 100_000_000 }),
  reserveBps: fc.integer({ min: 0, max: 9_000 }),
  best: fc.option(fc.integer({ min: 0, max: 3_000 })),
  lane: fc.constantFrom('liquid', 'restricted', 'unheard'),
  borrower: fc.constantFrom('1', '2'),
  ours: fc.nat(9).map((one) => one === 0),
  reserved: fc.option(assets(20_000)),
})
type LotDrawn = typeof lotDrawn extends fc.Arbitrary<infer T> ? T : never

const lotAt = (number: number, drawn: LotDrawn): LotSeen => {
  // One sBTC of eight decimals is 50,000 sUSD of six.
  const worth = BigInt(drawn.amount) * 500n
  const reserve = (worth * BigInt(drawn.reserveBps)) / 10_000n
  const best = drawn.best === null ? 0n : reserve + (worth * BigInt(drawn.best)) / 10_000n
  const leader = drawn.best === null ? null : drawn.ours ? OTHER_FUND : RIVAL_FUND
  const reservation = drawn.reserved === null ? null : { assets: drawn.reserved, epochId: 1n }
  return {
    row: {
      ...ROWS.lot,
      id: `${HOUSE}:${number}`,
      lotId: String(number),
      positionId: `0x${String(number).padStart(64, '0')}`,
      assetAmount: String(drawn.amount),
      reserveAssets: String(reserve === 0n ? 1n : reserve),
      lane: drawn.lane,
      borrowerAddress: `0x${drawn.borrower.repeat(40)}`,
      bids: [],
    },
    house: { open: true, lane: drawn.lane, bestFundAddress: leader, bestAssets: best },
    funds: [FUND, OTHER_FUND].map((fundAddress) => ({ fundAddress, appraisedAssets: worth, reservation })),
  }
}

const deployment = {
  ...BASE.deployment,
  funds: [FUND, OTHER_FUND].map((address) => ({ address, quoteAsset: USD })),
}
const worlds = fc
  .record({
    funds: fc.tuple(fundFigures, fundFigures),
    lots: fc.array(lotDrawn, { minLength: 1, maxLength: 4 }),
    flying: fc.option(fc.integer({ min: 1, max: 4 })),
  })
  .map(({ funds: [one, other], lots, flying }) => ({
    ...BASE,
    deployment,
    vaults: [],
    funds: [fundAt(FUND, one), fundAt(OTHER_FUND, other)],
    lots: lots.map((drawn, index) => lotAt(index + 1, drawn)),
    inFlight: flying === null ? [] : [underWay(String(flying), usd(10_000))],
  }))

const underWay = (lotId: string, bidAssets: bigint): InFlight => ({
  workflowId: `w${lotId}`,
  workflowType: 'role.asset_manager.distressedRecoveryAcquisitionV3Bid',
  kind: 'bid',
  subject: `${HOUSE}:${lotId}`,
  occurrence: 'x',
  input: { fundAddress: FUND, acquisitionAddress: HOUSE, lotId, bidAssets: String(bidAssets) },
  exposure: { token: null, assets: 0n, usdMicros: 0n },
})

const bidOf = ({ input }: Proposal) => BigInt(String(input.bidAssets))
const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n)

describe('bids', () => {
  it('never exceed what is funded, idle and budgeted, a cap, or the value; never two for one lot', () => {
    let bids = 0
    fc.assert(
      fc.property(worlds, (seen) => {
        const { proposals } = decide(seen, LIMITS)
        bids += proposals.length
        const lots = proposals.map(({ input }) => String(input.lotId))
        expect(new Set(lots).size).toBe(lots.length)
        for (const { row, figures: known } of seen.funds) {
          const mine = proposals.filter(({ input }) => input.fundAddress === row.address)
          const flying = sum(
            seen.inFlight.filter(({ input }) => input.fundAddress === row.address).map(flyingBid),
          )
          const released = sum(mine.map((bid) => lotFor(seen.lots, bid).funds[0]?.reservation?.assets ?? 0n))
          const acquisition = known?.channels.acquisition
          if (known === null || acquisition === undefined) continue
          const funded = fundedAssets(row, known) ?? 0n
          const idle = funded < known.idleAssets ? funded : known.idleAssets
          const bid = sum(mine.map(bidOf)) + (mine.length > 0 ? flying : 0n)
          if (mine.length === 0) continue
          expect(bid).toBeLessThanOrEqual(idle + released)
          expect(bid + known.usedAssets).toBeLessThanOrEqual(acquisition.maxAssetsPerEpoch + released)
          for (const each of mine) {
            const lot = lotFor(seen.lots, each)
            const worth = BigInt(lot.row.assetAmount) * 500n
            const assets = bidOf(each)
            expect(assets * 10_000n).toBeLessThanOrEqual(worth * BigInt(acquisition.maxPriceBps))
            expect(assets * 10_000n).toBeLessThanOrEqual(known.netAssets * BigInt(acquisition.maxPositionBps))
            expect(assets * 10_000n).toBeLessThanOrEqual(
              known.netAssets * BigInt(LIMITS.bidding.positionBpsMax),
            )
            expect(each.worthUsdMicros).toBeGreaterThan(0n)
            if (lot.house?.bestAssets === 0n) expect(each.gainUsdMicros).toBeGreaterThanOrEqual(0n)
            expect(assets).toBeGreaterThan(lot.house?.bestAssets ?? 0n)
            expect(assets).toBeGreaterThanOrEqual(BigInt(lot.row.reserveAssets))
            expect(lot.house?.bestFundAddress === FUND || lot.house?.bestFundAddress === OTHER_FUND).toBe(
              false,
            )
            expect(seen.inFlight.some(({ subject }) => subject === each.subject)).toBe(false)
          }
        }
      }),
      RUNS,
    )
    // The worlds do have lots worth a bid.
    expect(bids).toBeGreaterThan(200)
  })

  it('never come twice for one opportunity, and do not depend on the order of the rows', () => {
    fc.assert(
      fc.property(worlds, (seen) => {
        const first = decide(seen, LIMITS)
        expect(isDeepStrictEqual(decide(seen, LIMITS), first)).toBe(true)
        const turned = decide({ ...seen, lots: seen.lots.toReversed() }, LIMITS)
        expect(isDeepStrictEqual(turned.proposals, first.proposals)).toBe(true)
        const flying = first.proposals.map((bid) => underWay(String(bid.input.lotId), bidOf(bid)))
        const again = decide({ ...seen, inFlight: [...seen.inFlight, ...flying] }, LIMITS)
        const subjects = new Set(first.proposals.map(({ subject }) => subject))
        expect(again.proposals.some(({ subject }) => subjects.has(subject))).toBe(false)
      }),
      RUNS,
    )
  })
})

const flyingBid = ({ input }: InFlight) => BigInt(String(input.bidAssets))
function lotFor(lots: readonly LotSeen[], { input }: Proposal): LotSeen {
  const found = lots.find(({ row }) => row.lotId === input.lotId)
  if (found === undefined) throw new Error(`no lot ${input.lotId}`)
  return found
}

describe('the limit', () => {
  const lane = fc.record({
    haircutBps: fc.integer({ min: 0, max: 9_999 }),
    recoveryBps: bps(1),
    recoveryS: fc.integer({ min: 0, max: 315_360_000 }),
    uncertaintyBps: fc.integer({ min: 0, max: 5_000 }),
    concentrationBpsMax: fc.constant(10_000),
  })
  const costs = fc.record({
    capitalCostBpsPerYear: fc.integer({ min: 0, max: 100_000 }),
    purchaseFeeBps: bps(),
    saleFeeBps: fc.integer({ min: 0, max: 9_999 }),
    costUsdMicros: fc.bigInt({ min: 0n, max: 10n ** 9n }),
    marginBps: bps(),
    rivalsExpected: fc.integer({ min: 0, max: 20 }),
  })

  it('rises with worth and recovery, falls with every cost, with time, doubt and rivals, and stays below the value', () => {
    const drawn = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 15n }), fc.nat(25), lane, costs, fc.nat(2_000))
    fc.assert(
      fc.property(drawn, ([worth, rivals, terms, cost, more]) => {
        const rules: ManagerPolicy['bidding'] = { ...LIMITS.bidding, ...cost }
        const on = (seen: number) => ({ rivals: seen, experience: [], names: [] })
        const value = valuate(worth, on(rivals), terms, QUOTE, rules)
        const limit = (changes: Partial<typeof terms>, dearer: Partial<typeof cost> = {}) =>
          valuate(worth, on(rivals), { ...terms, ...changes }, QUOTE, { ...rules, ...dearer }).limitAssets
        const at = value.limitAssets
        expect(at).toBeLessThanOrEqual(value.fairAssets)
        expect(at).toBeGreaterThanOrEqual(0n)
        expect(
          valuate(worth + BigInt(more), on(rivals), terms, QUOTE, rules).limitAssets,
        ).toBeGreaterThanOrEqual(at)
        expect(valuate(worth, on(rivals + more), terms, QUOTE, rules).limitAssets).toBeLessThanOrEqual(at)
        expect(limit({ recoveryBps: terms.recoveryBps + more })).toBeGreaterThanOrEqual(at)
        expect(limit({ haircutBps: Math.min(10_000, terms.haircutBps + more) })).toBeLessThanOrEqual(at)
        expect(limit({ recoveryS: terms.recoveryS + more })).toBeLessThanOrEqual(at)
        expect(limit({ uncertaintyBps: terms.uncertaintyBps + more })).toBeLessThanOrEqual(at)
        expect(limit({}, { capitalCostBpsPerYear: cost.capitalCostBpsPerYear + more })).toBeLessThanOrEqual(
          at,
        )
        expect(limit({}, { marginBps: cost.marginBps + more })).toBeLessThanOrEqual(at)
        expect(limit({}, { purchaseFeeBps: cost.purchaseFeeBps + more })).toBeLessThanOrEqual(at)
        expect(limit({}, { saleFeeBps: Math.min(10_000, cost.saleFeeBps + more) })).toBeLessThanOrEqual(at)
        const sums =
          value.haircutAssets + value.unrecoveredAssets + value.saleFeeAssets + value.capitalCostAssets
        if (value.fairAssets > 0n) expect(worth - sums - value.fixedCostAssets).toBe(value.fairAssets)
      }),
      RUNS,
    )
  })
})

import type { Decision } from '../../../agents/agent.ts'
import { decide } from '../../../agents/rfq-bidder/decide.ts'
import type { RfqBidderPolicy } from '../../../agents/rfq-bidder/policy.ts'
import type { Observed } from '../../../agents/rfq-bidder/seen.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { USD } from '../../agents/rfq-bidder/fixtures.ts'
import type { Judge, ScenarioName } from './judgement.ts'
import { remember } from './remember.ts'
import { playRun, type Run, type RunBidder, type Trade, type Won } from './rfq-run.ts'
import { SHIPPED_BIDDER } from './shipped.ts'

const LOTS = 240
/** A bidder that wins nothing must not be stopped by the end of the run. */
const COLD_LOTS = 1_500

/** Everybody guesses, with the same noise; it is drawn for a run, and the policy states 1 %. */
const EQUALS: Trade = {
  noise: [0.01, 0.03],
  rivals: [1, 3],
  rivalsKnow: 'signal',
  margin: [0.005, 0.03],
  lemons: 0,
  lemonsLack: [0.02, 0.1],
  reserve: [0.7, 1.05],
  lemonsReserve: [0.97, 1.05],
}
const SEALED: Trade = { ...EQUALS, kinds: ['sealed'], rivals: [2, 4] }
const TRADES = {
  equals: EQUALS,
  shills: { ...EQUALS, rivals: [1, 8], rivalsKnow: 'seller', margin: [0, 0.05] },
  'informed-rivals': { ...EQUALS, rivals: [2, 2], rivalsKnow: 'worth', margin: [0, 0.005] },
  lemons: { ...EQUALS, rivals: [0, 2], lemons: 1 },
  'coherent-oracle': { ...EQUALS, oracleOff: [1.2, 1_000, 0.8] },
  // All books are sealed: a bidder without experience sees nothing of what wins them.
  'near-reserve': { ...SEALED, reserve: [0.8, 0.95], rivalsKnow: 'reserve', margin: [-0.03, -0.005] },
  'above-worth': { ...SEALED, reserve: [0.8, 0.95], rivalsKnow: 'worth', margin: [-0.03, 0] },
} as const satisfies Partial<Record<ScenarioName, Trade>>
type World = keyof typeof TRADES

/** A `decide` of the role, as it is or with a mistake in it. */
export type RfqDecide = (seen: Observed, policy: RfqBidderPolicy) => Decision

const micros = (usd: number) => BigInt(Math.floor(usd * 1_000_000))
/** What a bidder keeps who adapts to nothing. */
const FIXED_SPREAD = 0.02
/** What a professional keeps off the price; in hindsight the best of these, or to stay away. */
const DISCOUNTS = [0.01, 0.02, 0.03, 0.04, 0.06, 0.09]

/** Bids the price less a part: sealed at once, else step by step up to it. */
function discountedBy(part: number): RunBidder {
  return ({ rfqs, auctions, prices, signer, balances }) => {
    const priceUsd = Number(prices[0]?.oracle?.priceWad ?? 0n) / 1e18
    const limitOf = (amount: bigint) => {
      const limit = micros((Number(amount) / 1e8) * priceUsd * (1 - part))
      // A bid that stands, or leads, is all we have beside.
      const held = [...rfqs, ...auctions].flatMap(({ bids }) =>
        bids.filter(({ bidder }) => bidder === signer),
      )
      const have = (balances[USD] ?? 0n) + (held.at(-1)?.assets ?? 0n)
      return limit < have ? limit : 0n
    }
    const step = (name: string, input: Proposal['input']): Proposal => ({
      workflowType: `role.lender.distressedRecoveryFundV3${name}` as Proposal['workflowType'],
      kind: '',
      subject: '',
      occurrence: '',
      summary: '',
      reason: {},
      input,
      exposure: { token: null, assets: 0n, usdMicros: 0n },
    })
    const answers = rfqs.map(({ status, bids, number, venue, amount, reserveAssets, terms, closesAtS }) => {
      if (status !== 'open') return null
      const own = bids.find(({ bidder, status: at }) => bidder === signer && at === 'live')
      const best = bids.reduce((most, { assets }) => (assets > most ? assets : most), 0n)
      if (own !== undefined && (terms.book === 'sealed' || own.assets === best)) return null
      const above = terms.book === 'sealed' ? limitOf(amount) : (best * 1_001n) / 1_000n + 1n
      const bidAssets = above > reserveAssets ? above : reserveAssets
      if (bidAssets > limitOf(amount)) return null
      const input = {
        rfqAddress: venue,
        rfqId: number,
        bidAssets: String(bidAssets),
        expiresTimestamp: String(closesAtS + 300),
      }
      return own === undefined
        ? step('RfqPlaceBid', input)
        : step('RfqReplaceBid', { ...input, bidId: own.bidId })
    })
    const raises = auctions.map(({ status, bestBidder, nextAssets, amount, number, venue }) =>
      status !== 'open' || bestBidder === signer || nextAssets > limitOf(amount)
        ? null
        : step('AuctionBid', { auctionAddress: venue, lotId: number, bidAssets: String(nextAssets) }),
    )
    return { proposals: [...answers, ...raises].filter((one) => one !== null) }
  }
}

/** By what a bidder says that it does not pay. */
const STOPS = ['experience_against', 'exploration_spent']

const sumOf = (won: readonly Won[], of: (one: Won) => number) => won.reduce((sum, one) => sum + of(one), 0)
const cameOf = ({ won, gas }: Run) => sumOf(won, ({ profit }) => profit) - gas

/** The best of all discounts for this very run, and of staying away. */
const inHindsight = remember((world: World, seed: number): number =>
  Math.max(0, ...DISCOUNTS.map((part) => cameOf(playRun(seed, TRADES[world], LOTS, discountedBy(part))))),
)

/** What came of a run by the world's own ledger; what was expected counts against it, and for nothing. */
function scoresOf(world: World, seed: number, decideOne: RfqDecide, hasBaseline: boolean) {
  const run = playRun(seed, TRADES[world], LOTS, (seen) => decideOne(seen, SHIPPED_BIDDER))
  const came = cameOf(run)
  const paid = sumOf(run.won, (one) => one.paid)
  const said = sumOf(run.won, (one) => one.said)
  const last = run.won.filter(({ lot }) => lot >= LOTS * 0.75)
  return {
    cameUsd: { ours: came, baseline: hasBaseline ? inHindsight(world, seed) : null },
    cameOfPaidPercent: { ours: (100 * came) / Math.max(1, paid), baseline: null },
    lostUsd: { ours: Math.max(0, -came), baseline: null },
    lostAtMostUsd: { ours: -run.lowest, baseline: null },
    lastQuarterUsd: { ours: sumOf(last, ({ profit }) => profit), baseline: null },
    saidAboveCamePercent: { ours: 100 * (said / came - 1), baseline: null },
    lastBidAtLot: { ours: run.lastBidAt, baseline: null },
    stoppedByName: { ours: STOPS.some((check) => run.checks.has(check)) ? 1 : 0, baseline: null },
    overdrawnLots: { ours: run.overdrawn, baseline: null },
  }
}

const judgeOf = (scenarios: readonly World[], bounds: Judge['bounds'], decideOne: RfqDecide): Judge => ({
  role: 'rfq-bidder',
  baseline: 'the best constant discount in hindsight, or to stay away',
  scenarios,
  bounds: { ...bounds, overdrawnLots: { max: 0 } },
  play: (scenario, seed) => {
    const world = scenarios.find((one) => one === scenario)
    if (world === undefined) throw new RangeError(`no run is played in ${scenario}`)
    return scoresOf(world, seed, decideOne, bounds.cameUsd !== undefined)
  },
})

/** There is money to be made, though the seller may drive the price: said is what came, and no constant does better. */
export const rfqFairJudge = (decideOne: RfqDecide = decide): Judge =>
  judgeOf(
    ['equals', 'shills'],
    { cameUsd: { aboveBaseline: true }, saidAboveCamePercent: { medianMin: -10, medianMax: 10 } },
    decideOne,
  )

/** Others know more: it finds out at little cost, says so by name, and stops. */
export const rfqAdverseJudge = (decideOne: RfqDecide = decide): Judge =>
  judgeOf(
    ['informed-rivals', 'lemons'],
    {
      cameOfPaidPercent: { medianMin: -2 },
      lastQuarterUsd: { min: 0 },
      lastBidAtLot: { medianMax: 100 },
      stoppedByName: { min: 1 },
    },
    decideOne,
  )

/** The service and the oracle read the same wrong price: nothing is bid, nothing is lost. */
export const rfqOracleJudge = (decideOne: RfqDecide = decide): Judge =>
  judgeOf(['coherent-oracle'], { lostUsd: { max: 0 }, lastBidAtLot: { max: -1 } }, decideOne)

/**
 * Before it has won anything: where rivals bid little above the reserve it finds that out and earns, and where they bid more
 * than lots are worth it stops by name. Nowhere has it lost more than the policy's exploration by then.
 */
export const rfqColdJudge = (decideOne: RfqDecide = decide): Judge => ({
  role: 'rfq-bidder',
  baseline: 'a fixed spread of 2 %',
  scenarios: ['near-reserve', 'above-worth'],
  bounds: {
    cameUsd: { notBelowBaseline: true },
    lostAtMostUsd: { max: Number(SHIPPED_BIDDER.explorationUsdMicros) / 1e6 },
  },
  play: (scenario, seed) => {
    if (scenario !== 'near-reserve' && scenario !== 'above-worth')
      throw new RangeError(`no run is played in ${scenario}`)
    const run = playRun(seed, TRADES[scenario], COLD_LOTS, (seen) => decideOne(seen, SHIPPED_BIDDER))
    const fixed = playRun(seed, TRADES[scenario], COLD_LOTS, discountedBy(FIXED_SPREAD))
    return {
      cameUsd: { ours: cameOf(run), baseline: cameOf(fixed) },
      lostAtMostUsd: { ours: -run.lowest, baseline: -fixed.lowest },
      won: { ours: run.won.length, baseline: fixed.won.length },
      lastBidAtLot: { ours: run.lastBidAt, baseline: fixed.lastBidAt },
    }
  },
})

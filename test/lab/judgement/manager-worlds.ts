import { decide } from '../../../agents/asset-manager/decide.ts'
import type { ManagerPolicy } from '../../../agents/asset-manager/policy.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { FUND } from '../../agents/asset-manager/fixtures.ts'
import type { Judge, ScenarioName } from './judgement.ts'
import {
  type Bought,
  type LaneName,
  type Outcome,
  playPositions,
  type RunManager,
  type Trade,
} from './manager-run.ts'
import { remember } from './remember.ts'
import { SHIPPED_MANAGER } from './shipped.ts'

const LOTS = 480

/** Everybody guesses with the same noise, and lanes bring about what the policy states: 97 and 87 % of the worth. */
const EQUALS: Trade = {
  noise: [0.01, 0.04],
  luck: [0.02, 0.06],
  brings: { liquid: [0.94, 1], restricted: [0.8, 0.92] },
  seller: [-0.03, 0.03],
  fee: [0, 0.02],
  rivals: [1, 4],
  rivalsKnow: 'signal',
  margin: [0.01, 0.06],
  reserve: [0.6, 0.95],
}
const TRADES = {
  equals: EQUALS,
  'lanes-bring-less': { ...EQUALS, brings: { liquid: [0.84, 0.94], restricted: [0.6, 0.8] }, rivals: [0, 2] },
  'informed-rivals': { ...EQUALS, rivals: [2, 2], rivalsKnow: 'brings', margin: [0, 0.005] },
  lemons: { ...EQUALS, seller: [-0.3, -0.05], rivals: [0, 2], reserve: [0.9, 1.05], sellersKnow: true },
  'coherent-oracle': { ...EQUALS, oracleOff: [1.2, 1_000, 0.8] },
} as const satisfies Partial<Record<ScenarioName, Trade>>
type World = keyof typeof TRADES

/** A `decide` of the role, as it is or with a mistake in it. */
export type ManagerDecide = typeof decide

/** What a professional keeps off the worth of a position, by its lane; in hindsight the best of these, or to stay away. */
const DISCOUNTS = [0.02, 0.035, 0.05, 0.065, 0.08, 0.1, 0.125, 0.15, 0.18, 0.22, 0.27, 0.33]

/** Raises by a quarter of a hundredth of the worth, from the opening on, as far as the discount of the lane allows. */
function discountedBy(partOf: (lane: LaneName, fee: number) => number): RunManager {
  return ({ lots: [lot] }, feeBps) => {
    const worth = lot?.funds[0]?.appraisedAssets
    if (lot?.house == null || worth == null || lot.house.bestFundAddress === FUND) return { proposals: [] }
    const { bestAssets, bestFundAddress, lane } = lot.house
    const part = partOf(lane === 'liquid' ? lane : 'restricted', feeBps / 10_000)
    const bid = bestFundAddress === null ? BigInt(lot.row.reserveAssets) : bestAssets + worth / 400n
    // The fund itself pays 95 % at most.
    if (bid > (worth * BigInt(Math.round((1 - Math.max(part, 0.05)) * 1e6))) / 1_000_000n)
      return { proposals: [] }
    const proposal: Proposal = {
      workflowType: 'role.asset_manager.distressedRecoveryAcquisitionV3Bid',
      kind: 'bid',
      subject: '',
      occurrence: '',
      summary: '',
      reason: {},
      input: { bidAssets: String(bid) },
      exposure: { token: null, assets: 0n, usdMicros: 0n },
    }
    return { proposals: [proposal] }
  }
}

const sumOf = (bought: readonly Bought[], of: (one: Bought) => number) =>
  bought.reduce((sum, one) => sum + of(one), 0)
const profitOf = ({ profit }: Bought) => profit
const cameOf = ({ bought, gas }: Outcome) => sumOf(bought, profitOf) - gas

/** By lane the best of all discounts for this very run, or to stay away. */
const inHindsight = remember((world: World, seed: number): number => {
  const runs = DISCOUNTS.map(
    (part) =>
      playPositions(
        seed,
        TRADES[world],
        LOTS,
        discountedBy(() => part),
      ).bought,
  )
  const bestOf = (lane: LaneName) =>
    Math.max(
      0,
      ...runs.map((bought) =>
        sumOf(
          bought.filter((one) => one.lane === lane),
          profitOf,
        ),
      ),
    )
  return bestOf('liquid') + bestOf('restricted')
})

/** Off the worth what the policy states of a lane: what does not come back, what it costs, and a margin. */
const asStated: RunManager = discountedBy(
  (lane, fee) => 1 - (lane === 'liquid' ? 0.966 : 0.847) / (1.015 + fee),
)
const asStatedIn = remember((world: World, seed: number) =>
  cameOf(playPositions(seed, TRADES[world], LOTS, asStated)),
)

/** What came of a run by the world's own ledger; what was expected counts against it, and for nothing. */
function scoresOf(world: World, seed: number, decideOne: ManagerDecide, baseline: Baseline | null) {
  const rules = (purchaseFeeBps: number): ManagerPolicy => ({
    ...SHIPPED_MANAGER,
    bidding: { ...SHIPPED_MANAGER.bidding, purchaseFeeBps },
  })
  const run = playPositions(seed, TRADES[world], LOTS, (seen, feeBps) => decideOne(seen, rules(feeBps)))
  const { bought } = run
  const came = cameOf(run)
  const from = (part: number) => bought.filter(({ lot }) => lot >= LOTS * part)
  const saidAbove = (some: readonly Bought[]) =>
    100 * (sumOf(some, ({ said }) => said) / sumOf(some, profitOf) - 1)
  const alone = (ours: number) => ({ ours, baseline: null })
  return {
    cameUsd: { ours: came, baseline: baseline === null ? null : baseline(world, seed) },
    cameOfPaidPercent: alone(
      (100 * came) /
        Math.max(
          1,
          sumOf(bought, ({ paid }) => paid),
        ),
    ),
    lostUsd: alone(Math.max(0, -came)),
    lastQuarterUsd: alone(sumOf(from(0.75), profitOf)),
    saidAboveCamePercent: alone(saidAbove(bought)),
    saidAboveCameLaterPercent: alone(saidAbove(from(0.5))),
    lastBidAtLot: alone(run.lastBidAt),
    stoppedByName: alone(run.checks.has('experience_against') ? 1 : 0),
    bidsThatRevert: alone(run.refused),
  }
}

type Baseline = (world: World, seed: number) => number

const judgeOf = (
  scenarios: readonly World[],
  bounds: Judge['bounds'],
  decideOne: ManagerDecide,
  baseline: Baseline | null,
): Judge => ({
  role: 'asset-manager',
  baseline:
    baseline === asStatedIn ? 'a discount by lane' : 'by lane the best constant discount in hindsight',
  scenarios,
  bounds: { ...bounds, bidsThatRevert: { max: 0 } },
  play: (scenario, seed) => {
    const world = scenarios.find((one) => one === scenario)
    if (world === undefined) throw new RangeError(`no run is played in ${scenario}`)
    return scoresOf(world, seed, decideOne, baseline)
  },
})

/** There is money to be made: said is what came, and no discount by lane does better, known only afterwards. */
export const managerFairJudge = (decideOne: ManagerDecide = decide): Judge =>
  judgeOf(
    ['equals'],
    { cameUsd: { aboveBaseline: true }, saidAboveCamePercent: { medianMin: -10, medianMax: 10 } },
    decideOne,
    inHindsight,
  )

/** The policy is wrong about what lanes bring: recoveries correct it. */
export const managerLearningJudge = (decideOne: ManagerDecide = decide): Judge =>
  judgeOf(
    ['lanes-bring-less'],
    { cameUsd: { aboveBaseline: true }, saidAboveCameLaterPercent: { medianMin: -10, medianMax: 10 } },
    decideOne,
    asStatedIn,
  )

const ADVERSE: Judge['bounds'] = {
  cameOfPaidPercent: { medianMin: -2 },
  lastQuarterUsd: { medianMin: 0 },
  stoppedByName: { min: 1 },
}

/** Rivals know more: it finds out at little cost, says so by name, and stops. */
export const managerInformedJudge = (decideOne: ManagerDecide = decide): Judge =>
  judgeOf(['informed-rivals'], { ...ADVERSE, lastBidAtLot: { medianMax: 100 } }, decideOne, null)

/** Sellers know more: the same, but of those whom it pays to buy from at less. */
export const managerAdverseJudge = (decideOne: ManagerDecide = decide): Judge =>
  judgeOf(['lemons'], ADVERSE, decideOne, null)

/** Service, oracle and fund read the same wrong price: nothing is bid, nothing is lost. */
export const managerOracleJudge = (decideOne: ManagerDecide = decide): Judge =>
  judgeOf(['coherent-oracle'], { lostUsd: { max: 0 }, lastBidAtLot: { max: -1 } }, decideOne, null)

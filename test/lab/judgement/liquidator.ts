import type { Decision } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import type { LiquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import type { FacilitySeen } from '../../../agents/liquidator/seen.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { LOAN } from '../../agents/liquidator/fixtures.ts'
import type { Judge } from './judgement.ts'
import { bestKnowable, choicesOf, worthsOf } from './liquidator-optimum.ts'
import { isPlayed, keeperOf, type Played, play, type Seen, type Strategy, WEATHER } from './liquidator-run.ts'
import type { LiquidatorDecide } from './liquidator-worlds.ts'
import { remember } from './remember.ts'

/** Runs of a seed, each with its own luck in races: who wins a single one says little of who chose well. */
const LUCKS = [0, 1]

/** What a decision by hand does: one position by itself, with what others leave; it comes back to a lost race at once. */
function tryAlone(
  seen: Seen,
  rules: LiquidatorPolicy,
  one: FacilitySeen,
  tries: number,
): Proposal | undefined {
  const { lostRace, gas } = rules
  const revertedGasPerHourMax = lostRace.revertedGasPerHourMax - BigInt(tries) * gas.liquidateGas
  const atOnce = { subjectBackOffS: 0, marketBackOffS: 0, backOffSMax: 0, revertedGasPerHourMax }
  return decide({ ...seen, facilities: [one] }, { ...rules, lostRace: atOnce }).proposals[0]
}

/** One position after the other in some order, each at the size that is best for it alone, while limits leave room. */
function inTurn(
  seen: Seen,
  rules: LiquidatorPolicy,
  facilities: readonly FacilitySeen[],
): readonly Proposal[] {
  const balances = { ...seen.balances }
  const proposals: Proposal[] = []
  for (const one of facilities) {
    const gasWei = proposals.reduce((sum, { reason }) => sum + BigInt(String(reason.gasWei)), 0n)
    const left = { ...seen, balances, nativeBalanceWei: seen.nativeBalanceWei - gasWei }
    const proposal = tryAlone(left, rules, one, proposals.length)
    if (proposal === undefined) continue
    proposals.push(proposal)
    const token = seen.markets.find(({ address: at }) => at === one.marketAddress)?.collateralAsset ?? LOAN
    balances[LOAN] = (balances[LOAN] ?? 0n) - proposal.exposure.assets
    balances[token] = (balances[token] ?? 0n) + BigInt(String(proposal.reason.seizeAssets))
  }
  return proposals
}

/** Those whose collateral, so far as it counts, is worth less than their debt. */
const unhealthy = ({ facilities, markets }: Seen): readonly FacilitySeen[] =>
  facilities.filter(({ marketAddress, collateralAssets, positionDebtAssets }) => {
    const market = markets.find(({ address }) => address === marketAddress)
    const price = Number(market?.oracle?.priceWad ?? 0n) / 1e18
    const worth = (Number(collateralAssets) / 10 ** (market?.collateralDecimals ?? 0)) * price
    return worth * ((market?.liquidationThresholdBps ?? 0) / 1e4) < Number(positionDebtAssets) / 1e6
  })

/** First come: as they are listed. */
const firstCome: Strategy = (seen, rules) => inTurn(seen, rules, unhealthy(seen))

/** Greedy: the most profit for each dollar first. */
const greedyByYield: Strategy = (seen, rules) => {
  const alone = unhealthy(seen).flatMap((one) => {
    const proposal = tryAlone(seen, rules, one, 0)
    if (proposal === undefined) return []
    return [{ one, perDollar: Number(proposal.gainUsdMicros ?? 0n) / Number(proposal.exposure.usdMicros) }]
  })
  const sorted = alone.toSorted((one, other) => other.perDollar - one.perDollar)
  return inTurn(
    seen,
    rules,
    sorted.map(({ one }) => one),
  )
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** What a moment's set brings of the best that could be known, per cent; 100 where nothing could be done. */
function shareOfBest(seen: Seen, rules: LiquidatorPolicy, worth: number, left: ReadonlySet<string>): number {
  const { choices, shared } = choicesOf(seen, rules, left)
  const best = choices.length === 0 ? 0 : bestKnowable(choices, shared)
  return best <= 0 ? 100 : (100 * worth) / best
}

/** What the keeper is shown is old, or its second price is not the first. */
const isUntrusted = ({ freshness, references, markets }: Seen) =>
  !freshness.ok || (references.btcReferenceOracle?.priceWad ?? 0n) * 2n < (markets[0]?.oracle?.priceWad ?? 0n)

/** Watch a run: the least share of the best set, what was chosen by its worth, and what never should have been. */
function watching(decideOne: LiquidatorDecide, rules: LiquidatorPolicy) {
  const watched = { share: 100, belowFloor: 0, untrusted: 0 }
  let passedOver: Decision['passedOver'] = []
  const strategy: Strategy = (seen) => {
    const decided = decideOne(seen, rules)
    passedOver = decided.passedOver
    return decided.proposals
  }
  const watch = (seen: Seen, chosen: readonly Proposal[]) => {
    if (isUntrusted(seen)) {
      watched.untrusted += chosen.length
      return
    }
    const worths = worthsOf(seen, rules, chosen)
    const raced = passedOver.filter(({ check }) => check === 'lost_race')
    const left = new Set(raced.map(({ subject }) => subject))
    watched.share = Math.min(watched.share, shareOfBest(seen, rules, sum(worths), left))
    const floor = Number(rules.profitUsdMicrosMin) / 1e6
    watched.belowFloor += worths.filter((worth) => worth < floor - 0.01).length
  }
  return { watched, strategy, watch }
}

type Watch = ReturnType<typeof watching>['watch']

function playAll(scenario: Played, seed: number, strategy: Strategy, watch?: Watch) {
  // The book and its prices are the same with any luck: one run is watched.
  const runs = LUCKS.map((luck) => play(scenario, { seed, luck }, strategy, luck === 0 ? watch : undefined))
  const mean = (of: (run: (typeof runs)[number]) => number) => sum(runs.map(of)) / runs.length
  const [tries, reverts] = [mean((run) => run.tries), mean((run) => run.reverts)]
  return {
    profitUsd: mean((run) => run.profitUsd),
    byOddsUsd: mean((run) => run.byOddsUsd),
    wonPct: tries === 0 ? 100 : (100 * (tries - reverts)) / tries,
    reverts: Math.max(...runs.map((run) => run.reverts)),
  }
}

const professionals = remember(
  (scenario: Played, seed: number) =>
    [playAll(scenario, seed, firstCome), playAll(scenario, seed, greedyByYield)] as const,
)

/** The liquidator, against rivals as fast as it is. */
export const liquidatorWeatherJudge = (decideOne: LiquidatorDecide = decide): Judge => ({
  role: 'liquidator',
  baseline: 'first come',
  scenarios: Object.keys(WEATHER) as Played[],
  bounds: {
    shareOfBestSetPct: { min: 99 },
    byOddsUsd: { notBelowBaseline: true },
    byOddsBesideGreedyUsd: { notBelowBaseline: true, beside: 'greedy by profit for each dollar' },
    revertedGasOfBudgetPct: { max: 100 },
    proposalsBelowFloor: { max: 0 },
    actsOnUntrustedData: { max: 0 },
  },
  play: (scenario, seed) => {
    if (!isPlayed(scenario)) throw new RangeError(`The liquidator has nothing to do in ${scenario}.`)
    const { rules } = keeperOf(seed)
    const { watched, strategy, watch } = watching(decideOne, rules)
    const ours = playAll(scenario, seed, strategy, watch)
    const [first, greedy] = professionals(scenario, seed)
    const gas = Number(rules.gas.liquidateGas)
    const ofBudget = (reverts: number) => (100 * reverts * gas) / Number(rules.lostRace.revertedGasPerHourMax)
    return {
      shareOfBestSetPct: { ours: watched.share, baseline: null },
      byOddsUsd: { ours: ours.byOddsUsd, baseline: first.byOddsUsd },
      byOddsBesideGreedyUsd: { ours: ours.byOddsUsd, baseline: greedy.byOddsUsd },
      profitUsd: { ours: ours.profitUsd, baseline: first.profitUsd },
      wonOfTriedPct: { ours: ours.wonPct, baseline: first.wonPct },
      revertedGasOfBudgetPct: { ours: ofBudget(ours.reverts), baseline: ofBudget(first.reverts) },
      proposalsBelowFloor: { ours: watched.belowFloor, baseline: null },
      actsOnUntrustedData: { ours: watched.untrusted, baseline: null },
    }
  },
})

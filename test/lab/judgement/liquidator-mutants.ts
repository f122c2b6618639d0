import { decide } from '../../../agents/liquidator/decide.ts'
import type { LiquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import type { Mutant } from './judgement.ts'
import { liquidatorWeatherJudge } from './liquidator.ts'
import { liquidatorTipsJudge } from './liquidator-tips.ts'
import {
  type LiquidatorDecide,
  liquidatorBooksJudge,
  liquidatorClaimsJudge,
  liquidatorExitJudge,
} from './liquidator-worlds.ts'

/** Sees something that is not so. */
const seeing =
  (
    change: (seen: Parameters<LiquidatorDecide>[0]) => Partial<Parameters<LiquidatorDecide>[0]>,
  ): LiquidatorDecide =>
  (seen, policy) =>
    decide({ ...seen, ...change(seen) }, policy)

/** Takes the terms of every collateral for others. */
const believing =
  (change: Partial<LiquidatorPolicy['collaterals'][string]>): LiquidatorDecide =>
  (seen, policy) => {
    const collaterals = Object.entries(policy.collaterals).map(([name, terms]) => [
      name,
      { ...terms, ...change },
    ])
    return decide(seen, { ...policy, collaterals: Object.fromEntries(collaterals) })
  }

const gainDoubled: LiquidatorDecide = (seen, policy) => {
  const { proposals, ...rest } = decide(seen, policy)
  return {
    ...rest,
    proposals: proposals.map((one) => ({ ...one, gainUsdMicros: 2n * (one.gainUsdMicros ?? 0n) })),
  }
}
const haircutForgotten = believing({ exitHaircutBaseBps: 0, exitHaircutPerMillionUsdBps: 0 })
/** Only cash is seen: what was seized before is sold as if it were not there. */
const balanceIgnored = seeing(({ balances, markets }) => ({
  claims: [],
  balances: {
    ...balances,
    ...Object.fromEntries(markets.map(({ collateralAsset }) => [collateralAsset, 0n])),
  },
}))
const gasForgotten = seeing(({ chain }) => ({
  chain: { ...chain, baseFeePerGasWei: 0n, priorityFeePerGasWei: 0n },
}))
/** Each is judged as if it were alone: what they share is spent as often as there are positions. */
const oneByOne: LiquidatorDecide = (seen, policy) => ({
  proposals: seen.facilities.flatMap((one) => decide({ ...seen, facilities: [one] }, policy).proposals),
  passedOver: [],
})

const staleAccepted = seeing(() => ({ freshness: { ok: true, ageMs: 0, message: '' } }))
const secondPriceIgnored: LiquidatorDecide = (seen, policy) =>
  decide(seen, { ...policy, secondPrice: 'none' })
/** Its sign is turned: what a sale loses is taken for what it gains. */
const haircutGained = believing({ exitHaircutBaseBps: -200 })
/** The service's price is read in another unit: whatever is healthy looks as if it could be liquidated. */
const collateralDecimalLost = seeing(({ facilities }) => ({
  facilities: facilities.map((one) => ({ ...one, collateralAssets: (one.collateralAssets ?? 0n) / 10n })),
}))
const floorForgotten: LiquidatorDecide = (seen, policy) => decide(seen, { ...policy, profitUsdMicrosMin: 0n })
/** All of a debt is repaid at once, whatever the market lets. */
const closeFactorForgotten = seeing(({ markets }) => ({
  markets: markets.map((one) => ({ ...one, closeFactorBps: 10_000 })),
}))
/** The best is left for later, and what brings least is taken. */
const upsideDown: LiquidatorDecide = (seen, policy) => {
  const { proposals, ...rest } = decide(seen, policy)
  const gain = ({ gainUsdMicros = 0n }: (typeof proposals)[number]) => gainUsdMicros
  const sorted = proposals.toSorted((one, other) => (gain(one) < gain(other) ? -1 : 1))
  return { ...rest, proposals: sorted.slice(0, Math.ceil(sorted.length / 2)) }
}
const claimsForgotten: LiquidatorDecide = (seen, policy) => decide({ ...seen, claims: [] }, policy)

const racesForgotten = seeing(() => ({ recent: [] }))
/** The tip of the market, whatever is at stake. */
const tipForgotten: LiquidatorDecide = (seen, policy) => {
  const { proposals, ...rest } = decide(seen, policy)
  return { ...rest, proposals: proposals.map(({ offer: _offer, ...one }) => one) }
}

/** Deadly mistakes of the liquidator. */
export const liquidatorMutants: readonly Mutant[] = [
  {
    name: 'gain doubled',
    judge: liquidatorExitJudge(gainDoubled),
    scenario: 'joint-exit',
    figure: 'saidOffCamePercent',
  },
  {
    name: 'haircut forgotten',
    judge: liquidatorExitJudge(haircutForgotten),
    scenario: 'joint-exit',
    figure: 'saidOffCamePercent',
  },
  {
    name: 'our own balance ignored',
    judge: liquidatorExitJudge(balanceIgnored),
    scenario: 'joint-exit',
    figure: 'saidOffCamePercent',
  },
  {
    name: 'each sold alone',
    judge: liquidatorExitJudge(oneByOne),
    scenario: 'joint-exit',
    figure: 'cameUsd',
  },
  {
    name: 'what they share spent twice',
    judge: liquidatorBooksJudge(oneByOne),
    scenario: 'small-books',
    figure: 'shareOfBestSetPct',
  },
  {
    name: 'gas forgotten',
    judge: liquidatorClaimsJudge(gasForgotten),
    scenario: 'claims',
    figure: 'settledAtALoss',
  },
  {
    name: 'gas forgotten',
    judge: liquidatorBooksJudge(gasForgotten),
    scenario: 'small-books',
    figure: 'shareOfBestSetPct',
  },
  {
    name: 'old data taken for new',
    judge: liquidatorWeatherJudge(staleAccepted),
    scenario: 'indexer-stall',
    figure: 'actsOnUntrustedData',
  },
  {
    name: 'second price ignored',
    judge: liquidatorWeatherJudge(secondPriceIgnored),
    scenario: 'source-off-by-1000',
    figure: 'actsOnUntrustedData',
  },
  {
    name: 'the sign of the haircut turned',
    judge: liquidatorExitJudge(haircutGained),
    scenario: 'joint-exit',
    figure: 'saidOffCamePercent',
  },
  {
    name: 'a decimal of the collateral lost',
    judge: liquidatorWeatherJudge(collateralDecimalLost),
    scenario: 'volatile',
    figure: 'byOddsUsd',
    seed: 2,
  },
  {
    name: 'least profit forgotten',
    judge: liquidatorBooksJudge(floorForgotten),
    scenario: 'small-books',
    figure: 'belowFloor',
  },
  {
    name: 'close factor forgotten',
    judge: liquidatorWeatherJudge(closeFactorForgotten),
    scenario: 'rate-spike',
    figure: 'byOddsUsd',
    seed: 1,
  },
  {
    name: 'what brings least taken first',
    judge: liquidatorWeatherJudge(upsideDown),
    scenario: 'crash-with-congestion',
    figure: 'shareOfBestSetPct',
    seed: 1,
  },
  {
    name: 'claims never settled',
    judge: liquidatorClaimsJudge(claimsForgotten),
    scenario: 'claims',
    figure: 'cameUsd',
  },
  {
    name: 'lost races forgotten',
    judge: liquidatorTipsJudge(racesForgotten),
    scenario: 'tips-at-auction',
    figure: 'cameBesideLeastTipUsd',
  },
  {
    name: 'tip forgotten',
    judge: liquidatorTipsJudge(tipForgotten),
    scenario: 'tips-at-auction',
    figure: 'cameBesideLeastTipUsd',
    seed: 3,
  },
]

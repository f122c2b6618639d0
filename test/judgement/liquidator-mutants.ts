import { decide } from '../../agents/liquidator/decide.ts'
import type { LiquidatorPolicy } from '../../agents/liquidator/policy.ts'
import type { Mutant } from './judgement.ts'
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

const racesForgotten = seeing(() => ({ recent: [] }))
/** The tip of the market, whatever is at stake. */
const tipForgotten: LiquidatorDecide = (seen, policy) => {
  const { proposals, ...rest } = decide(seen, policy)
  return { ...rest, proposals: proposals.map(({ offer: _offer, ...one }) => one) }
}

/** Deadly mistakes of the liquidator. */
export const liquidatorMutants: readonly Mutant[] = [
  { name: 'gain doubled', judge: liquidatorExitJudge(gainDoubled), scenario: 'joint-exit' },
  { name: 'haircut forgotten', judge: liquidatorExitJudge(haircutForgotten), scenario: 'joint-exit' },
  { name: 'our own balance ignored', judge: liquidatorExitJudge(balanceIgnored), scenario: 'joint-exit' },
  { name: 'each sold alone', judge: liquidatorExitJudge(oneByOne), scenario: 'joint-exit' },
  { name: 'what they share spent twice', judge: liquidatorBooksJudge(oneByOne), scenario: 'small-books' },
  { name: 'gas forgotten', judge: liquidatorClaimsJudge(gasForgotten), scenario: 'claims' },
  { name: 'gas forgotten', judge: liquidatorBooksJudge(gasForgotten), scenario: 'small-books' },
  { name: 'lost races forgotten', judge: liquidatorTipsJudge(racesForgotten), scenario: 'tips-at-auction' },
  { name: 'tip forgotten', judge: liquidatorTipsJudge(tipForgotten), scenario: 'tips-at-auction' },
]

import type { Ended } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import type { Rival } from '../../../agents/protocol/rival.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { facility, LOAN, market, observation, policy } from '../../agents/liquidator/fixtures.ts'
import { createDice, type Dice } from './dice.ts'
import type { Judge, Score } from './judgement.ts'
import { NATIVE_USD } from './liquidator-optimum.ts'
import type { LiquidatorDecide } from './liquidator-worlds.ts'

const RACES = 120
const RACE_MS = 300_000
const DAY_MS = 86_400_000
/** A revert ends early. */
const REVERT_PART = 0.3
/** What a professional tips of what a liquidation brings, whoever is there; in hindsight the best of these. */
const SHARES = [0, 0.05, 0.2, 0.5, 0.7]
const TIP_GWEI = [5, 500] as const
const RULES = policy()

const spread = (dice: Dice, low: number, high: number) => low * (high / low) ** dice.unit()
const between = (dice: Dice, low: number, high: number) => low + (high - low) * dice.unit()

/**
 * Rivals of one run: how often one is there, and what they tip: a part of what is at stake, of their own habit, or whatever
 * it is the same, between 5 and 500 gwei. Drawn for the run.
 */
function rivalsOf(dice: Dice) {
  const present = between(dice, 0, 1)
  const count = 1 + Math.floor(3 * dice.unit())
  const habit = between(dice, 0.01, 0.6)
  const flat = dice.pick([null, null, spread(dice, ...TIP_GWEI)])
  return { present, count, habit, flat }
}

/** One race: how large the position, how dear gas, and the highest tip of the others, gwei. */
function racesOf(dice: Dice) {
  const { present, count, habit, flat } = rivalsOf(dice)
  const gas = Number(RULES.gas.liquidateGas)
  return Array.from({ length: RACES }, () => {
    const debt = spread(dice, 1_000, 400_000)
    const baseFee = spread(dice, 1, 40)
    // About what it brings: the bonus of half of the debt, less the haircut.
    const stakeGwei = (debt * 0.5 * 0.046 * 1e9) / NATIVE_USD / gas
    const each = Array.from({ length: count }, () =>
      dice.unit() >= present
        ? 0
        : Math.min(TIP_GWEI[1], Math.max(TIP_GWEI[0], flat ?? stakeGwei * habit * between(dice, 0.6, 1.4))),
    )
    return { debt, baseFee, rivalGwei: Math.max(0, ...each) }
  })
}
type Race = ReturnType<typeof racesOf>[number]

/** Run all races by a way to choose what is proposed; the last day is seen. */
function run(races: readonly Race[], strategy: LiquidatorDecide) {
  let recent: Ended[] = []
  let rivals: Rival[] = []
  let came = 0
  const won = { said: 0, came: 0 }
  for (const [index, { debt, baseFee, rivalGwei }] of races.entries()) {
    const nowMs = 1_000_000 + index * RACE_MS
    const timestampS = nowMs / 1_000
    const chain = {
      blockNumber: BigInt(index),
      timestampS,
      baseFeePerGasWei: BigInt(Math.round(baseFee * 1e9)),
      priorityFeePerGasWei: 10n ** 9n,
    }
    const oracle = { priceWad: 50_000n * 10n ** 18n, sourceAsOfS: timestampS, state: 1 }
    const debtAssets = BigInt(Math.round(debt * 1e6))
    // Health 0.98 at 80 %, one sBTC being worth 50,000.
    const collateralAssets = BigInt(Math.round(((debt * 0.98) / 0.8 / 50_000) * 1e8))
    const seen = observation({
      nowMs,
      chain,
      recent,
      rivals,
      nativeBalanceWei: 10n ** 20n,
      references: {
        ethReferenceOracle: { priceWad: BigInt(NATIVE_USD) * 10n ** 18n, sourceAsOfS: timestampS, state: 1 },
      },
      balances: { ...observation().balances, [LOAN]: 10n ** 13n },
      markets: [market({ oracle })],
      facilities: [
        facility({ debtAssets, positionDebtAssets: debtAssets, debtShares: debtAssets, collateralAssets }),
      ],
    })
    const [one] = strategy(seen, RULES).proposals
    if (one === undefined) continue
    const tipGwei = 1 + Number(one.offer?.tipWei ?? 0n) / 1e9
    const isWon = rivalGwei === 0 || tipGwei > rivalGwei
    const usdOf = (gas: bigint) => (Number(gas) * (baseFee + tipGwei) * NATIVE_USD) / 1e9
    // What is at stake by this world: half of the debt at 5 %, sold at 0.3 % and 1 % a million dollars.
    const repaid = Number(one.exposure.assets) / 1e6
    const worth = repaid * 1.05
    const gross = worth * (1 - 0.003 - 0.01 * (worth / 1e6)) - repaid
    const settled = (Number(RULES.gas.settleGas) * (baseFee + 1) * NATIVE_USD) / 1e9
    const net = gross - usdOf(RULES.gas.liquidateGas) - settled
    came += isWon ? net : -REVERT_PART * usdOf(RULES.gas.liquidateGas)
    won.came += isWon ? net : 0
    won.said += isWon ? Number(one.gainUsdMicros ?? 0n) / 1e6 : 0
    if (!isWon)
      rivals = [...rivals, rivalOf(debt, rivalGwei, nowMs)].filter(({ atMs }) => atMs > nowMs - DAY_MS)
    recent = [endedOf(one, isWon, nowMs), ...recent.filter(({ endedAtMs }) => endedAtMs > nowMs - DAY_MS)]
  }
  return { came, won }
}

/** Half of the debt, repaid by who tipped most, as the market logs it. */
const rivalOf = (debt: number, gwei: number, atMs: number): Rival => ({
  marketAddress: market().address,
  repayAssets: BigInt(Math.round(debt * 0.5e6)),
  tipWei: BigInt(Math.round(gwei * 1e9)),
  atMs,
})

const endedOf = (one: Proposal, isWon: boolean, nowMs: number): Ended => ({
  workflowId: one.occurrence,
  workflowType: one.workflowType,
  kind: one.kind,
  input: one.input,
  // Somewhere else: a position is never raced for twice here.
  subject: `elsewhere:${nowMs}`,
  occurrence: one.occurrence,
  exposure: { ...one.exposure, usdMicros: 0n },
  ...(one.offer === undefined ? {} : { offer: one.offer }),
  state: isWon ? 'succeeded' : 'reverted',
  begunAtMs: nowMs,
  endedAtMs: nowMs,
  check: null,
})

/** Tips the same part of what each brings, whatever came of it before. */
const alwaysTipping =
  (share: number): LiquidatorDecide =>
  (seen, rules) => {
    const { proposals, passedOver } = decide({ ...seen, recent: [], rivals: [] }, rules)
    const gas = rules.gas.liquidateGas
    const tipped = proposals.map((one) => {
      const wei = (Number(one.gainUsdMicros ?? 0n) / 1e6 / NATIVE_USD) * share * 1e18
      return { ...one, offer: { tipWei: BigInt(Math.round(wei)) / gas, shareBps: share * 1e4 } }
    })
    return { proposals: tipped, passedOver }
  }

function scoreTips(dice: Dice, decideOne: LiquidatorDecide): Readonly<Record<string, Score>> {
  const races = racesOf(dice)
  const ours = run(races, decideOne)
  const fixed = SHARES.map((share) => run(races, alwaysTipping(share)))
  const least = fixed[0] ?? ours
  const most = fixed.at(-1) ?? ours
  const best = Math.max(...fixed.map(({ came }) => came))
  return {
    cameUsd: { ours: ours.came, baseline: most.came },
    cameBesideLeastTipUsd: { ours: ours.came, baseline: least.came },
    ofBestShareInHindsightPercent: { ours: (100 * ours.came) / best, baseline: (100 * most.came) / best },
    saidOffCamePercent: { ours: 100 * Math.abs(ours.won.said / ours.won.came - 1), baseline: null },
  }
}

/** What is tipped, against rivals who tip. */
export const liquidatorTipsJudge = (decideOne: LiquidatorDecide = decide): Judge => ({
  role: 'liquidator',
  baseline: 'greedy by tip, 70 % of what it brings',
  scenarios: ['tips-at-auction'],
  bounds: {
    cameUsd: { aboveBaseline: true },
    cameBesideLeastTipUsd: { aboveBaseline: true, beside: 'the tip of the market' },
    ofBestShareInHindsightPercent: { medianMin: 85 },
    saidOffCamePercent: { max: 10 },
  },
  play: (_scenario, seed) => scoreTips(createDice(seed), decideOne),
})

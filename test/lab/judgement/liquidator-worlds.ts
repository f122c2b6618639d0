import type { Address } from 'viem'
import type { Decision, Observation } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import type { LiquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import type { ClaimSeen, LiquidatorSeen, MarketSeen } from '../../../agents/liquidator/seen.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { claim, facility, LOAN, market, observation } from '../../agents/liquidator/fixtures.ts'
import { createDice, type Dice } from './dice.ts'
import type { Judge, Score } from './judgement.ts'
import { bestKnowable, choicesOf, greedy, NATIVE_USD, worthsOf } from './liquidator-optimum.ts'
import { shippedLiquidator } from './shipped.ts'

type Seen = Observation<LiquidatorSeen>
/** A `decide` of the role, as it is or with a mistake in it. */
export type LiquidatorDecide = (seen: Seen, policy: LiquidatorPolicy) => Decision

const address = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`
const between = ({ unit }: Dice, low: number, high: number) => low + (high - low) * unit()
/** As likely from 1 to 2 as from 100 to 200. */
const spread = (dice: Dice, low: number, high: number) => low * (high / low) ** dice.unit()
const usd = (dollars: number) => BigInt(Math.round(dollars * 1e6))
const gwei = (fee: number) => BigInt(Math.round(fee * 1e9))
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

/** Wei that a try costs, as it lands: the base fee and the tip, without headroom. */
const landedUsd = (gas: bigint, { baseFeePerGasWei, priorityFeePerGasWei }: Seen['chain']) =>
  (Number(gas * (baseFeePerGasWei + priorityFeePerGasWei)) / 1e18) * NATIVE_USD
const liquidations = ({ proposals }: Decision) => proposals.filter(({ kind }) => kind === 'liquidate')
const gains = (proposals: readonly Proposal[]) =>
  sum(proposals.map(({ gainUsdMicros = 0n }) => Number(gainUsdMicros) / 1e6))
const chainAt = (baseFee: number) => ({
  ...observation().chain,
  baseFeePerGasWei: gwei(baseFee),
  priorityFeePerGasWei: gwei(1),
})

/** Three markets, the last two of one collateral. */
const SIDES = [
  { market: address(0x100), token: address(0xb7c), symbol: 'sBTC', decimals: 8, price: 60_000 },
  { market: address(0x200), token: address(0xe78), symbol: 'sETH', decimals: 18, price: 3_000 },
  { market: address(0x300), token: address(0xe78), symbol: 'sETH', decimals: 18, price: 3_000 },
] as const
type Side = (typeof SIDES)[number]
const unitsOf = ({ price, decimals }: Side, dollars: number) =>
  BigInt(Math.round((dollars / price) * 1e8)) * 10n ** BigInt(decimals - 8)

const marketOf = (side: Side, liquidationBonusBps: number): MarketSeen => {
  const priceWad = BigInt(side.price) * 10n ** 18n
  return market({
    id: side.market,
    address: side.market,
    symbol: `${side.symbol}/sUSD`,
    liquidationBonusBps,
    priceWad,
    collateralAsset: side.token,
    collateralSymbol: side.symbol,
    collateralDecimals: side.decimals,
    oracle: { priceWad, sourceAsOfS: 1_000, state: 1 },
  })
}
/** A position of so many dollars of debt, at a health. */
const positionOf = (side: Side, index: number, debtUsd: number, health: number) => {
  const debt = usd(debtUsd)
  return facility({
    marketId: side.market,
    marketAddress: side.market,
    borrower: address(0x1000 + index),
    debtAssets: debt,
    positionDebtAssets: debt,
    debtShares: debt,
    collateralAssets: unitsOf(side, (debtUsd * health) / 0.8),
  })
}

const BOOKS = 12

/** A small book under limits that bind or not: all of it is drawn. */
function bookOf(dice: Dice): readonly [Seen, LiquidatorPolicy] {
  const count = 1 + Math.floor(7 * dice.unit())
  const drawn = Array.from({ length: count }, (_, index) => {
    const side = dice.pick<Side>(SIDES)
    const debt = spread(dice, 200, 250_000)
    // Below 0.84 or so its collateral does not pay for all of its debt: the rest falls on the vault's suppliers.
    return { side, debt, seen: positionOf(side, index, debt, between(dice, 0.5, 0.999)) }
  })
  const debtOf = (symbol?: string) =>
    sum(drawn.map(({ side, debt }) => (symbol === undefined || side.symbol === symbol ? debt : 0)))
  const collateral = (side: Side) => {
    const room = debtOf(side.symbol) * spread(dice, 0.05, 1.5)
    return {
      held: unitsOf(side, room * dice.pick([0, 0, 0.2, 0.5])),
      terms: {
        inventoryAssetsMax: unitsOf(side, room),
        exitHaircutBaseBps: Math.round(between(dice, 0, 100)),
        exitHaircutPerMillionUsdBps: dice.pick([0, 100, 400, 2_000]),
      },
    }
  }
  const [btc, eth] = [collateral(SIDES[0]), collateral(SIDES[1])]
  const rules = shippedLiquidator({
    collaterals: { sBTC: btc.terms, sETH: eth.terms },
    repayUsdMicrosMax: usd(spread(dice, 5_000, 200_000)),
    repayUsdMicrosPerHourMax: usd(10_000_000),
    profitUsdMicrosMin: usd(spread(dice, 0.5, 50)),
  })
  const { liquidateGas } = rules.gas
  const reverts = 1n + BigInt(Math.floor(8 * dice.unit()))
  const seen = observation({
    chain: chainAt(spread(dice, 0.5, 60)),
    nativeBalanceWei: 10n ** 19n,
    balances: {
      [LOAN]: usd(debtOf() * spread(dice, 0.03, 1.5)),
      [SIDES[0].token]: btc.held,
      [SIDES[1].token]: eth.held,
    },
    markets: SIDES.map((side) => marketOf(side, Math.round(between(dice, 150, 1_000)))),
    facilities: drawn.map((each) => each.seen),
  })
  return [seen, { ...rules, lostRace: { ...rules.lostRace, revertedGasPerHourMax: reverts * liquidateGas } }]
}

/** What each book's set brings of the best of all, beside greedy by profit per dollar. */
function playBooks(dice: Dice, decideOne: LiquidatorDecide): Readonly<Record<string, Score>> {
  const shares = Array.from({ length: BOOKS }, () => {
    const [seen, rules] = bookOf(dice)
    const { choices, shared } = choicesOf(seen, rules, new Set())
    const best = bestKnowable(choices, shared)
    const share = (value: number) => (best <= 0 ? 100 : (100 * value) / best)
    const chosen = liquidations(decideOne(seen, rules))
    const worths = worthsOf(seen, rules, chosen)
    const came = sum(worths)
    const floor = Number(rules.profitUsdMicrosMin) / 1e6
    const said = gains(chosen)
    return {
      ours: share(came),
      baseline: share(greedy(choices, shared)),
      belowFloor: worths.filter((worth) => worth < floor - 0.01).length,
      off: said === came ? 0 : (100 * Math.abs(said - came)) / Math.max(1, Math.abs(came)),
    }
  })
  const least = (values: readonly number[]) => Math.min(...values)
  return {
    shareOfBestSetPct: {
      ours: least(shares.map(({ ours }) => ours)),
      baseline: least(shares.map(({ baseline }) => baseline)),
    },
    saidOffCamePercent: { ours: Math.max(...shares.map(({ off }) => off)), baseline: null },
    belowFloor: { ours: sum(shares.map((share) => share.belowFloor)), baseline: null },
  }
}

const EXITS = 5
const ROUNDS = 3
const SIDE = SIDES[0]

/**
 * Many positions of one collateral fall together; what was seized before lies there too, in balance and claims. All of it
 * is sold at the end, at one depth.
 */
function exitOf(dice: Dice) {
  const count = 5 + Math.floor(16 * dice.unit())
  const debts = Array.from({ length: count }, () => spread(dice, 30_000, 200_000))
  const before = dice.pick([0, 0, 1]) * spread(dice, 20_000, 1_000_000)
  const terms = {
    inventoryAssetsMax: unitsOf(SIDE, 100_000_000),
    exitHaircutBaseBps: Math.round(between(dice, 10, 60)),
    exitHaircutPerMillionUsdBps: Math.round(between(dice, 50, 300)),
  }
  return {
    debts,
    before,
    terms,
    bonusBps: Math.round(between(dice, 200, 800)),
    baseFee: spread(dice, 1, 30),
    rules: shippedLiquidator({
      collaterals: { sBTC: terms },
      repayUsdMicrosMax: usd(100_000),
      repayUsdMicrosPerHourMax: usd(100_000_000),
      lostRace: { ...shippedLiquidator().lostRace, revertedGasPerHourMax: 10n ** 9n },
    }),
  }
}
type Exit = ReturnType<typeof exitOf>

/** What was said, and what came once all was sold: by the ledger of this world. */
function playExit({ debts, before, terms, bonusBps, baseFee, rules }: Exit, decideOne: LiquidatorDecide) {
  const chain = chainAt(baseFee)
  const halves = unitsOf(SIDE, before / 2)
  const positions = debts.map((debt, index) => ({ ...positionOf(SIDE, index, debt, 0.97), bonusBps }))
  let loan = usd(100_000_000)
  let held = halves
  let said = 0
  let gasUsd = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const seen = observation({
      chain,
      nativeBalanceWei: 10n ** 20n,
      facilities: positions,
      markets: [marketOf(SIDE, bonusBps)],
      balances: { [LOAN]: loan, [SIDE.token]: held },
      claims: [
        claim({
          marketAddress: SIDE.market,
          collateralAsset: SIDE.token,
          collateralAssets: halves,
          settleableAtS: 9_000,
        }),
      ],
    })
    const chosen = liquidations(decideOne(seen, rules))
    said += gains(chosen)
    for (const one of chosen) {
      const position = positions.find(({ borrower }) => one.input.borrowerAddress === borrower)
      if (position === undefined) continue
      const repaid = one.exposure.assets
      const seized = unitsOf(SIDE, (Number(repaid) / 1e6) * (1 + bonusBps / 1e4))
      loan -= repaid
      held += seized
      gasUsd += landedUsd(rules.gas.liquidateGas + rules.gas.settleGas, chain)
      const left = (position.debtAssets ?? 0n) - repaid
      Object.assign(position, { debtAssets: left, positionDebtAssets: left, debtShares: left })
      position.collateralAssets = (position.collateralAssets ?? 0n) - seized
    }
  }
  const sale = (assets: bigint) => {
    const worth = (Number(assets) / 1e8) * SIDE.price
    const lost = terms.exitHaircutBaseBps / 1e4 + (terms.exitHaircutPerMillionUsdBps / 1e10) * worth
    return worth * (1 - lost)
  }
  const came = Number(loan - usd(100_000_000)) / 1e6 + sale(held + halves) - sale(2n * halves) - gasUsd
  return { said, came }
}

/** A professional's way: each that pays by itself, at the size that is best for it alone, as if it were sold alone. */
const eachAlone: LiquidatorDecide = (seen, rules) => ({
  proposals: seen.facilities.flatMap((one) => {
    const alone = { ...seen, balances: { ...seen.balances, [SIDE.token]: 0n }, claims: [], facilities: [one] }
    return liquidations(decide(alone, rules))
  }),
  passedOver: [],
})

function scoreExits(dice: Dice, decideOne: LiquidatorDecide): Readonly<Record<string, Score>> {
  const exits = Array.from({ length: EXITS }, () => exitOf(dice))
  const ours = exits.map((exit) => playExit(exit, decideOne))
  const baseline = exits.map((exit) => playExit(exit, eachAlone))
  const off = ({ said, came }: (typeof ours)[number]) =>
    said === 0 && came === 0 ? 0 : (100 * Math.abs(said - came)) / Math.max(1, Math.abs(came))
  const both = (of: (came: typeof ours) => number): Score => ({ ours: of(ours), baseline: of(baseline) })
  return {
    cameUsd: both((all) => sum(all.map(({ came }) => came))),
    lostUsd: both((all) => sum(all.map(({ came }) => Math.max(0, -came)))),
    saidOffCamePercent: both((all) => Math.max(...all.map(off))),
  }
}

const CLAIMS = 20
const MOMENTS = 48

/** Claims of a few cents to thousands of dollars, while gas goes from dear to cheap and back. */
function scoreClaims(dice: Dice, decideOne: LiquidatorDecide): Readonly<Record<string, Score>> {
  const drawn = Array.from({ length: CLAIMS }, (_, index): ClaimSeen => {
    const collateralAssets = unitsOf(SIDE, spread(dice, 0.3, 3_000)) + 1n
    const settleableAtS = 1_000 + Math.floor(12 * MOMENTS * 0.5 * dice.unit())
    return {
      ...claim(),
      marketAddress: SIDE.market,
      claimId: BigInt(index),
      collateralAsset: SIDE.token,
      collateralAssets,
      settleableAtS,
    }
  })
  const [low, high] = [spread(dice, 0.5, 5), spread(dice, 20, 300)]
  const turn = dice.unit()
  const feeAt = (moment: number) =>
    low * (high / low) ** (0.5 + 0.5 * Math.sin(2 * Math.PI * (turn + moment / MOMENTS)))
  const rules = shippedLiquidator({
    collaterals: {
      sBTC: {
        inventoryAssetsMax: unitsOf(SIDE, 10_000_000),
        exitHaircutBaseBps: 30,
        exitHaircutPerMillionUsdBps: 100,
      },
    },
  })
  const worthUsd = ({ collateralAssets }: ClaimSeen) => (Number(collateralAssets) / 1e8) * SIDE.price * 0.997
  const run = (strategy: LiquidatorDecide) => {
    let open = drawn
    const nets: number[] = []
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const timestampS = 1_000 + 12 * moment
      const chain = { ...chainAt(feeAt(moment)), timestampS }
      const oracle = { priceWad: BigInt(SIDE.price) * 10n ** 18n, sourceAsOfS: timestampS, state: 1 }
      const seen = observation({
        chain,
        nowMs: timestampS * 1_000,
        nativeBalanceWei: 10n ** 20n,
        facilities: [],
        claims: open,
        balances: { [LOAN]: 0n, [SIDE.token]: 0n },
        markets: [{ ...marketOf(SIDE, 500), oracle }],
      })
      const settled = new Set(strategy(seen, rules).proposals.map(({ occurrence }) => occurrence))
      for (const one of open)
        if (settled.has(String(one.claimId))) nets.push(worthUsd(one) - landedUsd(rules.gas.settleGas, chain))
      open = open.filter(({ claimId }) => !settled.has(String(claimId)))
    }
    return nets
  }
  const atOnce: LiquidatorDecide = ({ claims, chain }) => ({
    proposals: claims
      .filter(({ settleableAtS }) => settleableAtS <= chain.timestampS)
      .map(({ claimId }) => ({ occurrence: String(claimId) }) as Proposal),
    passedOver: [],
  })
  const [ours, baseline] = [run(decideOne), run(atOnce)]
  const losses = (nets: readonly number[]) => nets.filter((net) => net < 0).length
  const best = sum(
    drawn.map((one) => Math.max(0, worthUsd(one) - landedUsd(rules.gas.settleGas, chainAt(low)))),
  )
  return {
    cameUsd: { ours: sum(ours), baseline: sum(baseline) },
    settledAtALoss: { ours: losses(ours), baseline: losses(baseline) },
    ofCheapestGasPercent: { ours: (100 * sum(ours)) / best, baseline: (100 * sum(baseline)) / best },
  }
}

const judgeOf = (
  scenario: 'small-books' | 'joint-exit' | 'claims',
  baseline: string,
  bounds: Judge['bounds'],
  play: (dice: Dice) => Readonly<Record<string, Score>>,
): Judge => ({
  role: 'liquidator',
  baseline,
  bounds,
  scenarios: [scenario],
  play: (_scenario, seed) => play(createDice(seed)),
})

/** The set that is chosen, against the best of all subsets. */
export const liquidatorBooksJudge = (decideOne: LiquidatorDecide = decide): Judge =>
  judgeOf(
    'small-books',
    'greedy by profit for each dollar',
    {
      shareOfBestSetPct: { min: 99, aboveBaseline: true },
      saidOffCamePercent: { max: 1 },
      belowFloor: { max: 0 },
    },
    (dice) => playBooks(dice, decideOne),
  )

/** What is said of seizures that are all sold at one depth, against what they come to. */
export const liquidatorExitJudge = (decideOne: LiquidatorDecide = decide): Judge =>
  judgeOf(
    'joint-exit',
    'each as if it were sold alone',
    { saidOffCamePercent: { max: 10 }, lostUsd: { max: 0 }, cameUsd: { aboveBaseline: true } },
    (dice) => scoreExits(dice, decideOne),
  )

/** Claims against the gas of settling them. */
export const liquidatorClaimsJudge = (decideOne: LiquidatorDecide = decide): Judge =>
  judgeOf(
    'claims',
    'each at once',
    { settledAtALoss: { max: 0 }, cameUsd: { aboveBaseline: true } },
    (dice) => scoreClaims(dice, decideOne),
  )

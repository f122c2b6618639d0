import type { Address } from 'viem'
import type { Ended, Observation } from '../../agents/agent.ts'
import { decide } from '../../agents/liquidator/decide.ts'
import type { LiquidatorSeen } from '../../agents/liquidator/seen.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { facility, LOAN, market, observation, policy } from '../agents/liquidator/fixtures.ts'
import type { Judge, ScenarioName } from './judgement.ts'
import { bestKnowable, choicesOf, NATIVE_USD } from './liquidator-optimum.ts'

type Seen = Observation<LiquidatorSeen>
type Strategy = (seen: Seen) => readonly Proposal[]

const MOMENTS = 24
const MOMENT_S = 12
const POSITIONS = 30

/** Rivals look at the same block as we do; who of the two is first is a coin's matter. */
const RIVAL_SHARE = 0.5

/** Half of what is held is sold from one moment to the next, and what is left at the end. */
const SOLD = 2n
/** Of 6 decimals. */
const CASH = 60_000n * 10n ** 6n

/** How prices, gas and rates go in a scenario, and what of it the keeper is not shown. */
type Weather = {
  /** Largest step of a price, and its drift, a moment. */
  readonly tremble: number
  readonly drift: number
  readonly baseFeeGwei: (moment: number) => number
  /** Growth of every debt, a moment. */
  readonly interest: number
  readonly isStale?: (moment: number) => boolean
  /** The second source is a thousand times too low. */
  readonly isOff?: (moment: number) => boolean
}
const calmGas = () => 1
const WEATHER = {
  calm: { tremble: 0.004, drift: -0.001, baseFeeGwei: calmGas, interest: 1e-5 },
  volatile: { tremble: 0.03, drift: -0.002, baseFeeGwei: (moment) => 1 + (moment % 5), interest: 1e-5 },
  'crash-with-congestion': {
    ...{ tremble: 0.015, drift: -0.012, interest: 1e-5 },
    baseFeeGwei: (moment) => (moment < 6 ? 2 : 25),
  },
  'rate-spike': { tremble: 0.003, drift: 0, baseFeeGwei: calmGas, interest: 0.006 },
  'source-off-by-1000': {
    ...{ tremble: 0.02, drift: -0.003, baseFeeGwei: calmGas, interest: 1e-5 },
    isOff: (moment) => moment % 8 === 3,
  },
  'indexer-stall': {
    ...{ tremble: 0.02, drift: -0.003, baseFeeGwei: calmGas, interest: 1e-5 },
    isStale: (moment) => moment > 8 && moment < 14,
  },
} as const satisfies Partial<Record<ScenarioName, Weather>>
type Played = keyof typeof WEATHER
const isPlayed = (scenario: ScenarioName): scenario is Played => scenario in WEATHER

const address = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`
const BTC = address(0xb7c)
const ETH = address(0xe78)
const SIDES = [
  { market: address(0x100), token: BTC, symbol: 'sBTC', decimals: 8, price: 60_000, bonusBps: 500 },
  { market: address(0x200), token: ETH, symbol: 'sETH', decimals: 18, price: 3_000, bonusBps: 700 },
  { market: address(0x300), token: ETH, symbol: 'sETH', decimals: 18, price: 3_000, bonusBps: 400 },
] as const

const terms = { divergenceBpsMax: 100, ageSMax: 120 }
const RULES = policy({
  // A second price of a thousandth would be the price of native coin too.
  gas: { ...policy().gas, nativePriceUsdMicros: 3_000_000_000n },
  collaterals: {
    sBTC: { inventoryAssetsMax: 70_000_000n, exitHaircutBaseBps: 30, exitHaircutPerMillionUsdBps: 600 },
    sETH: { inventoryAssetsMax: 12n * 10n ** 18n, exitHaircutBaseBps: 30, exitHaircutPerMillionUsdBps: 900 },
  },
  secondPrice: {
    'sBTC/sUSD': { contract: 'btcReferenceOracle', ...terms },
    'sETH/sUSD': { contract: 'ethReferenceOracle', ...terms },
  },
  badDebt: { unpaidUsdMicrosMax: 10n ** 15n },
  lostRace: { subjectBackOffS: 12, marketBackOffS: 0, backOffSMax: 96, revertedGasPerHourMax: 9_000_000n },
})

/** A number from 0 to 1 that belongs to a seed and a few names: asked again it is the same. */
function roll(seed: number, ...names: readonly (string | number)[]): number {
  let mixed = seed
  for (const character of names.join('/')) {
    mixed = Math.imul(mixed ^ (character.codePointAt(0) ?? 0), 0x9e3779b1)
    mixed ^= mixed >>> 15
  }
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32
}

type Position = {
  readonly side: (typeof SIDES)[number]
  readonly borrower: Address
  debt: bigint
  collateral: bigint
}

/** One keeper's run through a scenario: its money, what the others leave of the positions, and what came of it. */
function play(
  scenario: Played,
  seed: number,
  strategy: Strategy,
  watch: (seen: Seen, chosen: readonly Proposal[]) => void,
) {
  const weather: Weather = WEATHER[scenario]
  const positions = Array.from({ length: POSITIONS }, (_, index) => positionOf(seed, index))
  const balances: Record<Address, bigint> = { [LOAN]: CASH, [BTC]: 0n, [ETH]: 0n }
  const recent: Ended[] = []
  const prices: number[] = SIDES.map(({ price }) => price)
  let nativeWei = 2n * 10n ** 18n
  let gasUsd = 0
  let reverts = 0
  let tries = 0
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    for (const [index, side] of SIDES.entries()) {
      const step = (2 * roll(seed, 'price', side.token, moment) - 1) * weather.tremble + weather.drift
      prices[index] = (prices[index] ?? 0) * (1 + step)
    }
    for (const position of positions)
      position.debt += BigInt(Math.round(Number(position.debt) * weather.interest))
    const seen = look(scenario, moment, { positions, balances, recent, prices, nativeWei })
    const chosen = strategy(seen)
    watch(seen, chosen)
    const mine = new Map(chosen.map((one) => [one.subject, one]))
    for (const [index, position] of positions.entries()) {
      if (!isUnder(position, prices)) continue
      const proposal = mine.get(subjectOf(position))
      const rival = roll(seed, 'rival', index, moment) < RIVAL_SHARE
      if (rival) shrink(position, position.debt / 2n, prices)
      if (proposal === undefined) continue
      tries += 1
      const gasWei = gasOf(seen, rival)
      nativeWei -= gasWei
      gasUsd += (Number(gasWei) / 1e18) * NATIVE_USD
      recent.unshift(endedOf(proposal, rival, seen.nowMs))
      if (rival) {
        reverts += 1
        continue
      }
      const seized = shrink(position, proposal.exposure.assets, prices)
      balances[LOAN] = (balances[LOAN] ?? 0n) - proposal.exposure.assets
      balances[position.side.token] = (balances[position.side.token] ?? 0n) + seized
    }
    sell(balances, prices, moment === MOMENTS - 1 ? 1n : SOLD)
  }
  return { profitUsd: Number((balances[LOAN] ?? 0n) - CASH) / 1e6 - gasUsd, reverts, tries }
}

/** What a try costs as it lands: the settlement of its claim too, where it is won. */
const gasOf = ({ chain: { baseFeePerGasWei, priorityFeePerGasWei } }: Seen, isLost: boolean) =>
  (RULES.gas.liquidateGas + (isLost ? 0n : RULES.gas.settleGas)) * (baseFeePerGasWei + priorityFeePerGasWei)

function positionOf(seed: number, index: number): Position {
  const side = SIDES[index % SIDES.length] ?? SIDES[0]
  const usd = 4_000 + 80_000 * roll(seed, 'size', index) ** 2
  const health = 1.001 + 0.3 * roll(seed, 'health', index)
  const collateral = (usd * health) / 0.8 / side.price
  return {
    side,
    borrower: address(0x1000 + index),
    debt: BigInt(Math.round(usd * 1e6)),
    collateral: BigInt(Math.round(collateral * 1e8)) * 10n ** BigInt(side.decimals - 8),
  }
}

const subjectOf = ({ side, borrower }: Position) => `${side.market}:${facility().vaultAddress}:${borrower}`
const priceOf = ({ side }: Position, prices: readonly number[]) => prices[SIDES.indexOf(side)] ?? 0
const wholeOf = ({ side, collateral }: Position) => Number(collateral) / 10 ** side.decimals
const isUnder = (position: Position, prices: readonly number[]) =>
  wholeOf(position) * priceOf(position, prices) * 0.8 < Number(position.debt) / 1e6

/** Repay part of a position. @returns what that seizes. */
function shrink(position: Position, repayAssets: bigint, prices: readonly number[]): bigint {
  const { side } = position
  const seized = ((Number(repayAssets) / 1e6) * (1 + side.bonusBps / 1e4)) / priceOf(position, prices)
  const assets = BigInt(Math.floor(seized * 1e8)) * 10n ** BigInt(side.decimals - 8)
  const taken = assets < position.collateral ? assets : position.collateral
  position.debt -= repayAssets
  position.collateral -= taken
  if (position.collateral === 0n) position.debt = 0n
  return taken
}

/** Sell a part of what is held, which loses as much as the policy says of so much at once. */
function sell(balances: Record<Address, bigint>, prices: readonly number[], part: bigint): void {
  for (const [index, { token, decimals, symbol }] of SIDES.slice(0, 2).entries()) {
    const terms = RULES.collaterals[symbol] ?? { exitHaircutBaseBps: 0, exitHaircutPerMillionUsdBps: 0 }
    const sold = (balances[token] ?? 0n) / part
    balances[token] = (balances[token] ?? 0n) - sold
    const usd = (Number(sold) / 10 ** decimals) * (prices[index] ?? 0)
    const lost = terms.exitHaircutBaseBps / 1e4 + (terms.exitHaircutPerMillionUsdBps / 1e10) * usd
    balances[LOAN] = (balances[LOAN] ?? 0n) + BigInt(Math.floor(usd * (1 - lost) * 1e6))
  }
}

/** What the keeper is shown of a moment. */
function look(
  scenario: Played,
  moment: number,
  world: {
    readonly positions: readonly Position[]
    readonly balances: Readonly<Record<Address, bigint>>
    readonly recent: readonly Ended[]
    readonly prices: readonly number[]
    readonly nativeWei: bigint
  },
): Seen {
  const weather: Weather = WEATHER[scenario]
  const timestampS = 1_000 + moment * MOMENT_S
  const reading = (price: number) => ({
    priceWad: BigInt(Math.round(price * 1e6)) * 10n ** 12n,
    sourceAsOfS: timestampS,
    state: 1,
  })
  const [btc = 0, eth = 0] = world.prices
  const second = (price: number) => reading(weather.isOff?.(moment) ? price / 1_000 : price)
  return observation({
    nowMs: timestampS * 1_000,
    chain: {
      blockNumber: BigInt(moment),
      timestampS,
      baseFeePerGasWei: BigInt(weather.baseFeeGwei(moment)) * 10n ** 9n,
      priorityFeePerGasWei: 10n ** 9n,
    },
    freshness: { ok: !weather.isStale?.(moment), ageMs: 0, message: 'as of this moment' },
    nativeBalanceWei: world.nativeWei,
    balances: { ...world.balances },
    exits: [],
    references: { btcReferenceOracle: second(btc), ethReferenceOracle: second(eth) },
    markets: SIDES.map((side, index) => {
      const oracle = reading(world.prices[index] ?? 0)
      return market({
        ...{ id: side.market, address: side.market, symbol: `${side.symbol}/sUSD` },
        ...{ collateralAsset: side.token, collateralSymbol: side.symbol, collateralDecimals: side.decimals },
        ...{ liquidationBonusBps: side.bonusBps, priceWad: oracle.priceWad, oracle },
      })
    }),
    facilities: world.positions
      .filter(({ debt }) => debt > 0n)
      .map(({ side, borrower, debt, collateral }) =>
        facility({
          ...{ marketId: side.market, marketAddress: side.market, borrower },
          ...{ debtAssets: debt, positionDebtAssets: debt, debtShares: debt, collateralAssets: collateral },
        }),
      ),
    recent: [...world.recent],
  })
}

function endedOf(proposal: Proposal, reverted: boolean, nowMs: number): Ended {
  const { workflowType, subject, occurrence, input, exposure, kind } = proposal
  return {
    ...{ workflowId: occurrence, workflowType, subject, occurrence, input, exposure, kind },
    ...{ state: reverted ? 'reverted' : 'succeeded', begunAtMs: nowMs, endedAtMs: nowMs, check: null },
  }
}

const ours: Strategy = (seen) => decide(seen, RULES).proposals

/**
 * First come: each position as it is listed, at the size that is best for it alone, while the same limits leave room for
 * it; it comes back to a lost race at once.
 */
const firstCome: Strategy = (seen) => {
  const { lostRace, gas } = RULES
  const balances = { ...seen.balances }
  const proposals: Proposal[] = []
  for (const one of seen.facilities) {
    const gasWei = proposals.reduce((sum, { reason }) => sum + BigInt(String(reason.gasWei)), 0n)
    const left = { balances, nativeBalanceWei: seen.nativeBalanceWei - gasWei }
    const revertedGasPerHourMax = lostRace.revertedGasPerHourMax - BigInt(proposals.length) * gas.liquidateGas
    const atOnce = { subjectBackOffS: 0, marketBackOffS: 0, backOffSMax: 0, revertedGasPerHourMax }
    const [proposal] = decide(
      { ...seen, ...left, facilities: [one] },
      { ...RULES, lostRace: atOnce },
    ).proposals
    if (proposal === undefined) continue
    proposals.push(proposal)
    const token = seen.markets.find(({ address: at }) => at === one.marketAddress)?.collateralAsset ?? LOAN
    balances[LOAN] = (balances[LOAN] ?? 0n) - proposal.exposure.assets
    balances[token] = (balances[token] ?? 0n) + BigInt(String(proposal.reason.seizeAssets))
  }
  return proposals
}

const worthOf = (proposals: readonly Proposal[]) =>
  proposals.reduce((sum, { gainUsdMicros = 0n }) => sum + Number(gainUsdMicros) / 1e6, 0)

/** What a moment's set brings of the best that could be known, per cent; 100 where nothing could be done. */
function shareOfBest(seen: Seen, chosen: readonly Proposal[], left: ReadonlySet<string>): number {
  const { choices, shared } = choicesOf(seen, RULES, left)
  const best = choices.length === 0 ? 0 : bestKnowable(choices, shared)
  return best <= 0 ? 100 : (100 * worthOf(chosen)) / best
}

/** The liquidator, against rivals as fast as it is. */
export const liquidatorJudge: Judge = {
  role: 'liquidator',
  baseline: 'first come',
  scenarios: Object.keys(WEATHER) as Played[],
  bounds: {
    shareOfBestSetPct: { min: 99 },
    proposalsBelowFloor: { max: 0 },
    revertedGasOfBudgetPct: { max: 100 },
    actsOnUntrustedData: { max: 0 },
  },
  play: (scenario, seed) => {
    if (!isPlayed(scenario)) throw new RangeError(`The liquidator has nothing to do in ${scenario}.`)
    let [share, belowFloor, untrusted, worth, baselineWorth] = [100, 0, 0, 0, 0]
    let baselineShare = 100
    const isUntrusted = ({ freshness, references, markets }: Seen) =>
      !freshness.ok ||
      (references.btcReferenceOracle?.priceWad ?? 0n) * 2n < (markets[0]?.oracle?.priceWad ?? 0n)
    const captured = play(scenario, seed, ours, (seen, chosen) => {
      if (isUntrusted(seen)) {
        untrusted += chosen.length
        return
      }
      const raced = decide(seen, RULES).passedOver.filter(({ check }) => check === 'lost_race')
      share = Math.min(share, shareOfBest(seen, chosen, new Set(raced.map(({ subject }) => subject))))
      worth += worthOf(chosen)
      belowFloor += chosen.filter(({ gainUsdMicros = 0n }) => gainUsdMicros < RULES.profitUsdMicrosMin).length
    })
    const baseline = play(scenario, seed, firstCome, (seen, chosen) => {
      if (isUntrusted(seen)) return
      baselineShare = Math.min(baselineShare, shareOfBest(seen, chosen, new Set()))
      baselineWorth += worthOf(chosen)
    })
    const gas = Number(RULES.gas.liquidateGas)
    const ofBudget = (reverts: number) => (100 * reverts * gas) / Number(RULES.lostRace.revertedGasPerHourMax)
    const wonPct = (got: number, sought: number) => (sought === 0 ? 100 : (100 * got) / sought)
    return {
      shareOfBestSetPct: { ours: share, baseline: baselineShare },
      profitUsd: { ours: captured.profitUsd, baseline: baseline.profitUsd },
      wonOfTriedPct: {
        ours: wonPct(captured.tries - captured.reverts, captured.tries),
        baseline: wonPct(baseline.tries - baseline.reverts, baseline.tries),
      },
      proposedUsd: { ours: worth, baseline: baselineWorth },
      revertedGasOfBudgetPct: { ours: ofBudget(captured.reverts), baseline: ofBudget(baseline.reverts) },
      proposalsBelowFloor: { ours: belowFloor, baseline: null },
      actsOnUntrustedData: { ours: untrusted, baseline: null },
    }
  },
}

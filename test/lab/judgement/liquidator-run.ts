import type { Address } from 'viem'
import type { Ended, Observation } from '../../../agents/agent.ts'
import type { LiquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import type { LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { facility, LOAN, market, observation } from '../../agents/liquidator/fixtures.ts'
import type { ScenarioName } from './judgement.ts'
import { NATIVE_USD } from './liquidator-optimum.ts'
import { shippedLiquidator } from './shipped.ts'

export type Seen = Observation<LiquidatorSeen>
export type Strategy = (seen: Seen, rules: LiquidatorPolicy) => readonly Proposal[]

const MOMENTS = 24
const MOMENT_S = 12
const POSITIONS = 30

/** Rivals look at the same block as we do; who of the two is first is a coin's matter. */
const RIVAL_SHARE = 0.5

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
export const WEATHER = {
  calm: { tremble: 0.004, drift: -0.001, baseFeeGwei: calmGas, interest: 1e-5 },
  volatile: { tremble: 0.03, drift: -0.002, baseFeeGwei: (moment) => 1 + (moment % 5), interest: 1e-5 },
  'crash-with-congestion': {
    tremble: 0.015,
    drift: -0.012,
    interest: 1e-5,
    baseFeeGwei: (moment) => (moment < 6 ? 2 : 25),
  },
  'rate-spike': { tremble: 0.003, drift: 0, baseFeeGwei: calmGas, interest: 0.006 },
  'source-off-by-1000': {
    tremble: 0.02,
    drift: -0.003,
    baseFeeGwei: calmGas,
    interest: 1e-5,
    isOff: (moment) => moment % 8 === 3,
  },
  'indexer-stall': {
    tremble: 0.02,
    drift: -0.003,
    baseFeeGwei: calmGas,
    interest: 1e-5,
    isStale: (moment) => moment > 8 && moment < 14,
  },
} as const satisfies Partial<Record<ScenarioName, Weather>>
export type Played = keyof typeof WEATHER
export const isPlayed = (scenario: ScenarioName): scenario is Played => scenario in WEATHER

const address = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`
const BTC = address(0xb7c)
const ETH = address(0xe78)
const SIDES = [
  { market: address(0x100), token: BTC, symbol: 'sBTC', decimals: 8, price: 60_000, bonusBps: 500 },
  { market: address(0x200), token: ETH, symbol: 'sETH', decimals: 18, price: 3_000, bonusBps: 700 },
  { market: address(0x300), token: ETH, symbol: 'sETH', decimals: 18, price: 3_000, bonusBps: 400 },
] as const

const terms = { divergenceBpsMax: 100, ageSMax: 120 }
/** What a keeper may have, drawn for a seed: dollars of cash, dollars of room for each collateral, and reverts an hour. */
const KEEPER = { cash: [8_000, 160_000], room: [8_000, 160_000], reverts: [4, 40] } as const

export type Keeper = { readonly cash: bigint; readonly rules: LiquidatorPolicy }

export function keeperOf(seed: number): Keeper {
  const drawn = (name: keyof typeof KEEPER, ...of: readonly string[]) => {
    const [low, high] = KEEPER[name]
    return low * (high / low) ** roll(seed, name, ...of)
  }
  const { gas, lostRace } = shippedLiquidator()
  const roomOf = ({ symbol, price, decimals }: (typeof SIDES)[number]) =>
    BigInt(Math.round((drawn('room', symbol) / price) * 1e8)) * 10n ** BigInt(decimals - 8)
  const sold = { exitHaircutBaseBps: 30 }
  const rules = shippedLiquidator({
    // A second price of a thousandth would be the price of native coin too.
    gas: { ...gas, nativePriceUsdMicros: 3_000_000_000n },
    collaterals: {
      sBTC: { ...sold, inventoryAssetsMax: roomOf(SIDES[0]), exitHaircutPerMillionUsdBps: 600 },
      sETH: { ...sold, inventoryAssetsMax: roomOf(SIDES[1]), exitHaircutPerMillionUsdBps: 900 },
    },
    secondPrice: {
      'sBTC/sUSD': { contract: 'btcReferenceOracle', ...terms },
      'sETH/sUSD': { contract: 'ethReferenceOracle', ...terms },
    },
    badDebt: { unpaidUsdMicrosMax: 10n ** 15n },
    lostRace: {
      ...lostRace,
      subjectBackOffS: 12,
      marketBackOffS: 0,
      backOffSMax: 96,
      revertedGasPerHourMax: BigInt(Math.round(drawn('reverts'))) * gas.liquidateGas,
    },
  })
  return { cash: BigInt(Math.round(drawn('cash') * 1e6)), rules }
}

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

/**
 * One keeper's run through a scenario: its money, what the others leave of the positions, and what came of it. Who is first
 * in a race belongs to `luck`. What the market would not take reverts, and costs its gas.
 */
export function play(
  scenario: Played,
  { seed, luck }: { readonly seed: number; readonly luck: number },
  strategy: Strategy,
  watch: (seen: Seen, chosen: readonly Proposal[]) => void = () => {},
) {
  const { cash, rules } = keeperOf(seed)
  const weather: Weather = WEATHER[scenario]
  const positions = Array.from({ length: POSITIONS }, (_, index) => positionOf(seed, index))
  const balances: Record<Address, bigint> = { [LOAN]: cash, [BTC]: 0n, [ETH]: 0n }
  const recent: Ended[] = []
  const prices: number[] = SIDES.map(({ price }) => price)
  let nativeWei = 2n * 10n ** 18n
  let [gasUsd, byOddsUsd] = [0, 0]
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
    const chosen = strategy(seen, rules)
    watch(seen, chosen)
    const mine = new Map(chosen.map((one) => [one.subject, one]))
    byOddsUsd += expected(seen, rules, mine, positions, prices)
    for (const [index, position] of positions.entries()) {
      const proposal = mine.get(subjectOf(position))
      const isRivals = isUnder(position, prices) && roll(seed, 'rival', index, moment, luck) < RIVAL_SHARE
      if (isRivals) shrink(position, position.debt / 2n, prices)
      if (proposal === undefined) continue
      const { assets } = proposal.exposure
      const isLost = isRivals || !isTaken(position, assets, prices, balances[LOAN] ?? 0n)
      tries += 1
      const gasWei = gasOf(seen, rules, proposal, isLost)
      nativeWei -= gasWei
      gasUsd += usdOf(gasWei)
      recent.unshift(endedOf(proposal, isLost, seen.nowMs))
      if (isLost) {
        reverts += 1
        continue
      }
      const seized = shrink(position, assets, prices)
      balances[LOAN] = (balances[LOAN] ?? 0n) - assets
      balances[position.side.token] = (balances[position.side.token] ?? 0n) + seized
    }
    sell(balances, rules, prices)
  }
  return { profitUsd: Number((balances[LOAN] ?? 0n) - cash) / 1e6 - gasUsd, byOddsUsd, reverts, tries }
}

const usdOf = (wei: bigint) => (Number(wei) / 1e18) * NATIVE_USD

/** Whether the market takes a repayment where nobody came first: unhealthy, within the close factor, and paid for. */
const isTaken = (position: Position, assets: bigint, prices: readonly number[], cash: bigint) =>
  isUnder(position, prices) && assets <= (position.debt + 1n) / 2n && assets <= cash

/** What a set brings by the odds of its races, dollars: each that is lost costs its gas, and what is won is sold together. */
function expected(
  seen: Seen,
  rules: LiquidatorPolicy,
  mine: ReadonlyMap<string, Proposal>,
  positions: readonly Position[],
  prices: readonly number[],
): number {
  const won = 1 - RIVAL_SHARE
  const sales = new Map<string, readonly number[]>()
  let cash = seen.balances[LOAN] ?? 0n
  let usd = 0
  for (const position of positions) {
    const proposal = mine.get(subjectOf(position))
    if (proposal === undefined) continue
    const { assets } = proposal.exposure
    usd -= usdOf(gasOf(seen, rules, proposal, true))
    if (!isTaken(position, assets, prices, cash)) continue
    cash -= assets
    const { symbol, decimals } = position.side
    const worth = (Number(seizedBy(position, assets, prices)) / 10 ** decimals) * priceOf(position, prices)
    const settled = usdOf(gasOf(seen, rules, proposal, false) - gasOf(seen, rules, proposal, true))
    usd += won * (worth - Number(assets) / 1e6 - settled)
    sales.set(symbol, [...(sales.get(symbol) ?? []), worth])
  }
  for (const [symbol, worths] of sales) {
    const { base, growth } = lossOf(rules, symbol)
    const [all, squares] = [1, 2].map((power) => worths.reduce((sum, worth) => sum + worth ** power, 0))
    // The square of what is won, where each is won or lost by itself.
    usd -= base * won * (all ?? 0) + growth * ((won * (all ?? 0)) ** 2 + won * (1 - won) * (squares ?? 0))
  }
  return usd
}

/** What a sale of so many dollars loses of them: `base` of it all, and `growth` with its square. */
function lossOf({ collaterals }: LiquidatorPolicy, symbol: string) {
  const { exitHaircutBaseBps = 0, exitHaircutPerMillionUsdBps = 0 } = collaterals[symbol] ?? {}
  return { base: exitHaircutBaseBps / 1e4, growth: exitHaircutPerMillionUsdBps / 1e10 }
}

/** What a try costs as it lands, with what it tips: the settlement of its claim too, where it is won. */
const gasOf = (
  { chain: { baseFeePerGasWei, priorityFeePerGasWei } }: Seen,
  { gas }: LiquidatorPolicy,
  { offer }: Proposal,
  isLost: boolean,
) =>
  gas.liquidateGas * (offer?.tipWei ?? 0n) +
  (gas.liquidateGas + (isLost ? 0n : gas.settleGas)) * (baseFeePerGasWei + priorityFeePerGasWei)

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

/** What a repayment seizes: all that is there at most. */
function seizedBy(position: Position, repayAssets: bigint, prices: readonly number[]): bigint {
  const { side, collateral } = position
  const seized = ((Number(repayAssets) / 1e6) * (1 + side.bonusBps / 1e4)) / priceOf(position, prices)
  const assets = BigInt(Math.floor(seized * 1e8)) * 10n ** BigInt(side.decimals - 8)
  return assets < collateral ? assets : collateral
}

/** Repay part of a position. @returns what that seizes. */
function shrink(position: Position, repayAssets: bigint, prices: readonly number[]): bigint {
  const taken = seizedBy(position, repayAssets, prices)
  position.debt -= repayAssets
  position.collateral -= taken
  if (position.collateral === 0n) position.debt = 0n
  return taken
}

/** Sell what was seized, which loses as much as the policy says of so much at once: all that a moment brings, at one depth. */
function sell(balances: Record<Address, bigint>, rules: LiquidatorPolicy, prices: readonly number[]): void {
  for (const [index, { token, decimals, symbol }] of SIDES.slice(0, 2).entries()) {
    const usd = (Number(balances[token] ?? 0n) / 10 ** decimals) * (prices[index] ?? 0)
    const { base, growth } = lossOf(rules, symbol)
    balances[token] = 0n
    balances[LOAN] = (balances[LOAN] ?? 0n) + BigInt(Math.floor((usd - base * usd - growth * usd ** 2) * 1e6))
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
        id: side.market,
        address: side.market,
        symbol: `${side.symbol}/sUSD`,
        collateralAsset: side.token,
        collateralSymbol: side.symbol,
        collateralDecimals: side.decimals,
        liquidationBonusBps: side.bonusBps,
        priceWad: oracle.priceWad,
        oracle,
      })
    }),
    facilities: world.positions
      .filter(({ debt }) => debt > 0n)
      .map(({ side, borrower, debt, collateral }) =>
        facility({
          marketId: side.market,
          marketAddress: side.market,
          borrower,
          debtAssets: debt,
          positionDebtAssets: debt,
          debtShares: debt,
          collateralAssets: collateral,
        }),
      ),
    recent: [...world.recent],
  })
}

function endedOf(proposal: Proposal, reverted: boolean, nowMs: number): Ended {
  const { workflowType, subject, occurrence, input, exposure, kind, offer } = proposal
  return {
    workflowId: occurrence,
    workflowType,
    subject,
    occurrence,
    input,
    exposure,
    kind,
    ...(offer === undefined ? {} : { offer }),
    state: reverted ? 'reverted' : 'succeeded',
    begunAtMs: nowMs,
    endedAtMs: nowMs,
    check: null,
  }
}

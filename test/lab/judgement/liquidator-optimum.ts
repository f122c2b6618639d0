import type { Observation } from '../../../agents/agent.ts'
import type { LiquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import type { FacilitySeen, LiquidatorSeen, MarketSeen } from '../../../agents/liquidator/seen.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'

/** One repayment as this solver sees it, dollars: `x` of them bring `gain·x − fixed`, less their part of the sale's loss. */
export type Choice = {
  readonly position: string
  readonly room: string
  /** Base units of the room that a dollar takes. */
  readonly takes: number
  readonly least: number
  readonly most: number
  readonly gain: number
  readonly fixed: number
}
/** A collateral: units that it has room for, those held, and dollars that a sale loses with the square of its units. */
type Depth = { readonly most: number; readonly held: number; readonly growth: number }
/** What all of them share. `floor` is the least that each has to bring, dollars. */
export type Shared = {
  readonly cash: number
  readonly rooms: ReadonlyMap<string, Depth>
  readonly countMax: number
  readonly floor: number
}

/** What one native coin is worth. */
export const NATIVE_USD = 3_000
/** Parts in which a subset is filled. */
const STEPS = 40
/** How much a room's use counts beside that of cash, where both are scarce. */
const TILTS = [0, 0.5, 1]

/**
 * What the best set brings, by other means than the agent's: every subset is tried that could bring more than the best so
 * far, each filled part by part where it brings most. Exact to the size of a part; each further choice doubles the time.
 */
export function bestKnowable(choices: readonly Choice[], shared: Shared): number {
  let best = greedy(choices, shared)
  // Beside nothing else each brings most: no subset brings more than the sum of these.
  const alone = choices.map((one) => {
    const { held, growth } = shared.rooms.get(one.room) ?? { held: 0, growth: 0 }
    return (one.gain - growth * one.takes * (2 * held + one.most * one.takes)) * one.most - one.fixed
  })
  for (let subset = 1; subset < 2 ** choices.length; subset += 1) {
    const isIn = (index: number) => (subset >> index) & 1
    if (alone.reduce((sum, most, index) => (isIn(index) ? sum + most : sum), 0) <= best) continue
    const chosen = choices.filter((_, index) => isIn(index))
    const positions = new Set(chosen.map(({ position }) => position))
    if (positions.size < chosen.length || chosen.length > shared.countMax) continue
    for (const tilt of TILTS) best = Math.max(best, fill(chosen, shared, tilt))
  }
  return best
}

/** What a set brings in full, 0 where it does not fit or one of it brings less than the floor. */
function fill(chosen: readonly Choice[], shared: Shared, tilt: number): number {
  const sizes = chosen.map(({ least }) => least)
  const size = (index: number) => sizes[index] ?? 0
  let cash = shared.cash
  const used = new Map<string, number>()
  const usedOf = (room: string) => used.get(room) ?? 0
  const depthOf = (room: string) => shared.rooms.get(room) ?? { most: 0, held: 0, growth: 0 }
  const use = ({ room, takes }: Choice, dollars: number) => {
    cash -= dollars
    used.set(room, usedOf(room) + dollars * takes)
  }
  for (const one of chosen) use(one, one.least)
  if (cash < 0 || [...used].some(([room, units]) => units > depthOf(room).most)) return 0
  const step = Math.max(...chosen.map(({ least, most }) => most - least)) / STEPS
  const fits = (one: Choice, index: number) =>
    Math.min(one.most - size(index), cash, (depthOf(one.room).most - usedOf(one.room)) / one.takes)
  /** Dollars for the next dollar. */
  const brings = ({ room, gain, takes }: Choice) =>
    gain - 2 * depthOf(room).growth * (depthOf(room).held + usedOf(room)) * takes
  for (;;) {
    let best = -1
    let bestWorth = 0
    for (const [index, one] of chosen.entries()) {
      if (fits(one, index) <= 1e-9 * one.most) continue
      const share = (one.takes * shared.cash) / Math.max(1e-9, depthOf(one.room).most)
      const worth = brings(one) / (1 - tilt + tilt * share)
      if (worth > bestWorth) [best, bestWorth] = [index, worth]
    }
    const one = chosen[best]
    if (one === undefined) break
    const { growth } = depthOf(one.room)
    const pays = growth > 0 ? brings(one) / (2 * growth * one.takes ** 2) : Number.POSITIVE_INFINITY
    const part = Math.min(step, fits(one, best), pays)
    if (part <= 1e-9 * one.most) break
    sizes[best] = size(best) + part
    use(one, part)
  }
  const each = chosen.map(({ room, gain, fixed, takes }, index) => {
    const { held, growth } = depthOf(room)
    return (gain - growth * (2 * held + usedOf(room)) * takes) * size(index) - fixed
  })
  return Math.min(...each) < shared.floor ? 0 : each.reduce((sum, one) => sum + one, 0)
}

/**
 * What a professional's set brings: again and again the one that brings most for each of its dollars, beside what is taken
 * already, as large as is best for it and fits.
 */
export function greedy(choices: readonly Choice[], shared: Shared): number {
  let [cash, count, value] = [shared.cash, shared.countMax, 0]
  let left = choices
  const used = new Map<string, number>()
  const sized = (one: Choice) => {
    const { most, held, growth } = shared.rooms.get(one.room) ?? { most: 0, held: 0, growth: 0 }
    const beside = used.get(one.room) ?? 0
    const pays =
      growth > 0 ? (one.gain / (growth * one.takes) - 2 * (held + beside)) / (2 * one.takes) : one.most
    const size = Math.min(one.most, cash, (most - beside) / one.takes, pays)
    const profit =
      (one.gain - growth * one.takes * (2 * (held + beside) + size * one.takes)) * size - one.fixed
    return { one, size, profit }
  }
  for (; count > 0; count -= 1) {
    const [best] = left
      .map(sized)
      .filter(({ size, profit }) => size > 0 && profit >= shared.floor)
      .toSorted((one, other) => other.profit / other.size - one.profit / one.size)
    if (best === undefined) break
    value += best.profit
    cash -= best.size
    used.set(best.one.room, (used.get(best.one.room) ?? 0) + best.size * best.one.takes)
    left = left.filter(({ position }) => position !== best.one.position)
  }
  return value
}

/** What could be repaid at a moment, read off the observation anew, in floating point. */
export function choicesOf(
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
  left: ReadonlySet<string>,
): { readonly choices: readonly Choice[]; readonly shared: Shared } {
  const gas = Number(policy.gas.liquidateGas + policy.gas.settleGas)
  const { baseFeePerGasWei, priorityFeePerGasWei } = seen.chain
  const headroom = 1 + policy.gas.baseFeeHeadroomBps / 1e4
  const reserveWei = gas * (Number(baseFeePerGasWei) * headroom + Number(priorityFeePerGasWei))
  const gasUsd = gasUsdOf({ seen, policy })
  const choices = seen.facilities.flatMap((facility) => {
    const market = seen.markets.find(({ address }) => address === facility.marketAddress)
    if (
      market === undefined ||
      left.has(`${facility.marketAddress}:${facility.vaultAddress}:${facility.borrower}`)
    )
      return []
    const choice = choiceOf(facility, market, { seen, policy }, gasUsd)
    return choice === null ? [] : [choice]
  })
  const rooms = new Map(
    seen.markets.map((market) => [market.collateralAsset ?? '', depthOf(market, { seen, policy })] as const),
  )
  const [loanAsset] = seen.markets.map((market) => market.loanAsset)
  const reverted = seen.recent.filter(
    ({ state, endedAtMs }) => state === 'reverted' && endedAtMs > seen.nowMs - 3.6e6,
  )
  const tries = Number(policy.lostRace.revertedGasPerHourMax / policy.gas.liquidateGas) - reverted.length
  return {
    choices,
    shared: {
      cash: Number(seen.balances[loanAsset ?? '0x'] ?? 0n) / 1e6,
      rooms,
      floor: Number(policy.profitUsdMicrosMin) / 1e6,
      countMax: Math.max(0, Math.min(Math.floor(Number(seen.nativeBalanceWei) / reserveWei), tries)),
    },
  }
}

type Known = { readonly seen: Observation<LiquidatorSeen>; readonly policy: LiquidatorPolicy }

const priceOf = ({ oracle }: MarketSeen) => Number(oracle?.priceWad ?? 0n) / 1e18

function depthOf(market: MarketSeen, { seen, policy }: Known): Depth {
  const { collateralAsset, collateralSymbol, collateralDecimals } = market
  const terms = policy.collaterals[collateralSymbol ?? '']
  const claimed = seen.claims.filter((claim) => claim.collateralAsset === collateralAsset)
  const held =
    Number(seen.balances[collateralAsset ?? '0x'] ?? 0n) +
    claimed.reduce((sum, { collateralAssets }) => sum + Number(collateralAssets), 0)
  const unitUsd = priceOf(market) / 10 ** (collateralDecimals ?? 0)
  return {
    most: Number(terms?.inventoryAssetsMax ?? 0n) - held,
    held,
    growth: ((terms?.exitHaircutPerMillionUsdBps ?? 0) / 1e10) * unitUsd ** 2,
  }
}

/** One repayment, whatever its size: a dollar of it brings `gain`, and at most `limit` may be repaid. */
type Terms = Omit<Choice, 'least' | 'most'> & { readonly limit: number }

const keyOf = ({ marketAddress, borrower }: FacilitySeen) => `${marketAddress}:${borrower}`

/** Null where the market would take nothing, or the policy knows nothing of the collateral. */
function termsOf(facility: FacilitySeen, market: MarketSeen, { policy }: Known, fixed: number): Terms | null {
  const collateral = policy.collaterals[market.collateralSymbol ?? '']
  const unit = 10 ** (market.collateralDecimals ?? 0)
  const price = priceOf(market)
  const value = (Number(facility.collateralAssets) / unit) * price
  const owed = Number(facility.positionDebtAssets) / 1e6
  if (collateral === undefined || value * ((market.liquidationThresholdBps ?? 0) / 1e4) >= owed) return null
  const withBonus = 1 + (market.liquidationBonusBps ?? 0) / 1e4
  const limit = Math.min(
    (Number(facility.debtAssets) / 1e6) * ((market.closeFactorBps ?? 0) / 1e4),
    value / withBonus,
    Number(policy.repayUsdMicrosMax) / 1e6,
  )
  const gain = withBonus * (1 - collateral.exitHaircutBaseBps / 1e4) - 1
  return {
    position: keyOf(facility),
    room: market.collateralAsset ?? '',
    takes: (withBonus / price) * unit,
    gain,
    fixed,
    limit,
  }
}

function choiceOf(facility: FacilitySeen, market: MarketSeen, known: Known, gasUsd: number): Choice | null {
  const terms = termsOf(facility, market, known, gasUsd)
  if (terms === null) return null
  const { takes, gain, limit, ...rest } = terms
  const { held, growth } = depthOf(market, known)
  const alone = (size: number) => (gain - growth * takes * (2 * held + size * takes)) * size
  const pays = growth > 0 ? (gain / (growth * takes) - 2 * held) / (2 * takes) : Number.POSITIVE_INFINITY
  const most = Math.min(limit, pays)
  const floor = Number(known.policy.profitUsdMicrosMin) / 1e6 + gasUsd
  if (most <= 0 || !(alone(most) >= floor)) return null
  // The smallest size that pays, by halving.
  let [low, least] = [0, most]
  for (let turn = 0; turn < 40; turn += 1) {
    const middle = (low + least) / 2
    if (alone(middle) >= floor) least = middle
    else low = middle
  }
  return { ...rest, takes, gain, least, most }
}

/**
 * What each of a set really brings, dollars, all sold together: by the sizes that are repaid, whatever is said of them. One
 * that the market would not take, or that the limits leave nothing for, brings nothing and costs its gas.
 */
export function worthsOf(
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
  chosen: readonly Proposal[],
): readonly number[] {
  const known = { seen, policy }
  const gasUsd = gasUsdOf(known)
  const { shared } = choicesOf(seen, policy, new Set())
  let [cash, places] = [shared.cash, shared.countMax]
  const used = new Map<string, number>()
  const taken = chosen.map(({ input, exposure }) => {
    const facility = seen.facilities.find(
      (one) => one.marketAddress === input.marketAddress && one.borrower === input.borrowerAddress,
    )
    const market = seen.markets.find(({ address }) => address === input.marketAddress)
    const terms =
      facility === undefined || market === undefined ? null : termsOf(facility, market, known, gasUsd)
    if (terms === null) return null
    const size = Number(exposure.assets) / 1e6
    const units = size * terms.takes
    const room = (shared.rooms.get(terms.room)?.most ?? 0) - (used.get(terms.room) ?? 0)
    // To a part in a hundred thousand: base units are rounded.
    const fits = [size - terms.limit, size - cash, (units - room) / terms.takes].every(
      (over) => over <= 1e-5 * size,
    )
    if (!fits || places < 1) return null
    cash -= size
    places -= 1
    used.set(terms.room, (used.get(terms.room) ?? 0) + units)
    return { ...terms, size }
  })
  return taken.map((one) => {
    if (one === null) return -gasUsd
    const { held, growth } = shared.rooms.get(one.room) ?? { held: 0, growth: 0 }
    return (one.gain - growth * (2 * held + (used.get(one.room) ?? 0)) * one.takes) * one.size - gasUsd
  })
}

const gasUsdOf = ({ seen: { chain }, policy: { gas } }: Known) =>
  (Number((gas.liquidateGas + gas.settleGas) * (chain.baseFeePerGasWei + chain.priorityFeePerGasWei)) /
    1e18) *
  NATIVE_USD

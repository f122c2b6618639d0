import type { Observation } from '../../agents/agent.ts'
import type { LiquidatorPolicy } from '../../agents/liquidator/policy.ts'
import type { FacilitySeen, LiquidatorSeen, MarketSeen } from '../../agents/liquidator/seen.ts'

/** One repayment as this solver sees it, dollars: `x` of them bring `gain·x − growth·x² − fixed`. */
export type Choice = {
  readonly position: string
  readonly room: string
  /** Base units of the room that a dollar takes. */
  readonly takes: number
  readonly least: number
  readonly most: number
  readonly gain: number
  readonly growth: number
  readonly fixed: number
}
/** What all of them share. */
export type Shared = {
  readonly cash: number
  readonly rooms: ReadonlyMap<string, number>
  readonly countMax: number
}

/** Parts in which a subset is filled. */
const STEPS = 40
/** How much a room's use counts beside that of cash, where both are scarce. */
const TILTS = [0, 0.5, 1]

/**
 * What the best set brings, by other means than the agent's: every subset is tried, each filled part by part where it
 * brings most. Exact to the size of a part; each further choice doubles the time.
 */
export function bestKnowable(choices: readonly Choice[], shared: Shared): number {
  let best = 0
  for (let subset = 1; subset < 2 ** choices.length; subset += 1) {
    const chosen = choices.filter((_, index) => (subset >> index) & 1)
    const positions = new Set(chosen.map(({ position }) => position))
    if (positions.size < chosen.length || chosen.length > shared.countMax) continue
    for (const tilt of TILTS) best = Math.max(best, fill(chosen, shared, tilt))
  }
  return best
}

function fill(chosen: readonly Choice[], shared: Shared, tilt: number): number {
  const sizes = chosen.map(({ least }) => least)
  const size = (index: number) => sizes[index] ?? 0
  let cash = shared.cash
  const rooms = new Map(shared.rooms)
  const use = ({ room, takes }: Choice, dollars: number) => {
    cash -= dollars
    rooms.set(room, (rooms.get(room) ?? 0) - dollars * takes)
  }
  for (const one of chosen) use(one, one.least)
  if (cash < 0 || [...rooms.values()].some((left) => left < 0)) return 0
  const step = Math.max(...chosen.map(({ least, most }) => most - least)) / STEPS
  const fits = (one: Choice, index: number) =>
    Math.min(one.most - size(index), cash, (rooms.get(one.room) ?? 0) / one.takes)
  for (;;) {
    let best = -1
    let bestWorth = 0
    for (const [index, one] of chosen.entries()) {
      if (fits(one, index) <= 1e-9 * one.most) continue
      const share = (one.takes * shared.cash) / Math.max(1e-9, shared.rooms.get(one.room) ?? 0)
      const worth = (one.gain - 2 * one.growth * size(index)) / (1 - tilt + tilt * share)
      if (worth > bestWorth) [best, bestWorth] = [index, worth]
    }
    const one = chosen[best]
    if (one === undefined) break
    const part = Math.min(step, fits(one, best))
    sizes[best] = size(best) + part
    use(one, part)
  }
  return chosen.reduce(
    (sum, { gain, growth, fixed }, index) => sum + (gain - growth * size(index)) * size(index) - fixed,
    0,
  )
}

/** What could be repaid at a moment, read off the observation anew, in floating point. */
export function choicesOf(
  seen: Observation<LiquidatorSeen>,
  policy: LiquidatorPolicy,
  left: ReadonlySet<string>,
): { readonly choices: readonly Choice[]; readonly shared: Shared } {
  const gasPriceWei =
    Number(seen.chain.baseFeePerGasWei) * (1 + policy.gas.baseFeeHeadroomBps / 1e4) +
    Number(seen.chain.priorityFeePerGasWei)
  const gasWei = Number(policy.gas.liquidateGas + policy.gas.settleGas) * gasPriceWei
  const gasUsd = (gasWei * Number(policy.gas.nativePriceUsdMicros)) / 1e24
  const choices = seen.facilities.flatMap((facility) => {
    const market = seen.markets.find(({ address }) => address === facility.marketAddress)
    if (
      market === undefined ||
      left.has(`${facility.marketAddress}:${facility.vaultAddress}:${facility.borrower}`)
    )
      return []
    const choice = choiceOf(facility, market, policy, gasUsd)
    return choice === null ? [] : [choice]
  })
  const rooms = new Map(
    seen.markets.map(({ collateralAsset, collateralSymbol }): [string, number] => [
      collateralAsset ?? '',
      Number(policy.collaterals[collateralSymbol ?? '']?.inventoryAssetsMax ?? 0n) -
        Number(seen.balances[collateralAsset ?? '0x'] ?? 0n),
    ]),
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
      countMax: Math.max(0, Math.min(Math.floor(Number(seen.nativeBalanceWei) / gasWei), tries)),
    },
  }
}

function choiceOf(
  facility: FacilitySeen,
  market: MarketSeen,
  policy: LiquidatorPolicy,
  gasUsd: number,
): Choice | null {
  const collateral = policy.collaterals[market.collateralSymbol ?? '']
  const unit = 10 ** (market.collateralDecimals ?? 0)
  const price = Number(market.oracle?.priceWad ?? 0n) / 1e18
  const value = (Number(facility.collateralAssets) / unit) * price
  const owed = Number(facility.positionDebtAssets) / 1e6
  if (collateral === undefined || value * ((market.liquidationThresholdBps ?? 0) / 1e4) >= owed) return null
  const withBonus = 1 + (market.liquidationBonusBps ?? 0) / 1e4
  const gain = withBonus * (1 - collateral.exitHaircutBaseBps / 1e4) - 1
  const growth = (collateral.exitHaircutPerMillionUsdBps / 1e10) * withBonus * withBonus
  const most = Math.min(
    (Number(facility.debtAssets) / 1e6) * ((market.closeFactorBps ?? 0) / 1e4),
    value / withBonus,
    Number(policy.repayUsdMicrosMax) / 1e6,
    growth > 0 ? gain / (2 * growth) : Number.POSITIVE_INFINITY,
  )
  const floor = Number(policy.profitUsdMicrosMin) / 1e6 + gasUsd
  const pays = (size: number) => (gain - growth * size) * size >= floor
  if (!pays(most)) return null
  // The smallest size that pays, by halving.
  let [low, least] = [0, most]
  for (let turn = 0; turn < 40; turn += 1) {
    const middle = (low + least) / 2
    if (pays(middle)) least = middle
    else low = middle
  }
  return {
    position: `${facility.marketAddress}:${facility.borrower}`,
    room: market.collateralAsset ?? '',
    takes: (withBonus / price) * unit,
    ...{ least, most, gain, growth, fixed: gasUsd },
  }
}

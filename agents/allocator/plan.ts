import { tokenUnit } from '../protocol/health.ts'
import type { Pool } from './lane.ts'
import { type Optimum, optimize } from './optimize.ts'
import type { VaultMarket } from './vault-markets.ts'

/** What the contract takes in one batch, each way. Source: service API, workflow inputs. */
export const MOVES_MAX = 16

/** Where every market of a vault ends, base units, in the order of the markets. */
export type Targets = readonly bigint[]

/** What may be there, and what all may hold together; base units. */
export type Limits = {
  readonly bounds: readonly { readonly leastAssets: bigint; readonly mostAssets: bigint }[]
  readonly budgetAssets: bigint
  readonly decimals: number
}

/**
 * Find the best targets that one batch can reach, or null when what must stay exceeds the budget. Pure. With more moves
 * than fit, the smaller ones wait and the rest is solved again.
 */
export function planTargets(
  vaultMarkets: readonly VaultMarket[],
  pool: Pool,
  limits: Limits,
): Targets | null {
  const optimum = optimize(pool)
  if (optimum === null) return null
  const targets = roundTargets(vaultMarkets, pool, optimum, limits)
  const moved = movesOf(vaultMarkets, targets)
  if (moved.withdrawals.length <= MOVES_MAX && moved.supplies.length <= MOVES_MAX) return targets
  const kept = (moves: typeof moved.supplies) =>
    moves
      .toSorted((one, other) => (one.assets > other.assets ? -1 : 1))
      .slice(0, MOVES_MAX)
      .map(({ vaultMarket }) => vaultMarket)
  const [outs, ins] = [new Set(kept(moved.withdrawals)), new Set(kept(moved.supplies))]
  const lanes = pool.lanes.map((lane, index) => {
    const vaultMarket = vaultMarkets[index]
    const isOut = vaultMarket !== undefined && outs.has(vaultMarket)
    const isIn = vaultMarket !== undefined && ins.has(vaultMarket)
    return { ...lane, least: isOut ? lane.least : lane.held, most: isIn ? lane.most : lane.held }
  })
  const narrowed = optimize({ ...pool, lanes })
  return narrowed === null ? null : roundTargets(vaultMarkets, { ...pool, lanes }, narrowed, limits)
}

/** Assets to or from one market. */
export type SeatMove = { readonly vaultMarket: VaultMarket; readonly assets: bigint }

/** Name the moves from what is held to the targets. Pure. */
export function movesOf(
  vaultMarkets: readonly VaultMarket[],
  targets: Targets,
): { readonly withdrawals: readonly SeatMove[]; readonly supplies: readonly SeatMove[] } {
  const changes = vaultMarkets.map((vaultMarket, index) => ({
    vaultMarket,
    change: (targets[index] ?? 0n) - vaultMarket.heldAssets,
  }))
  return {
    withdrawals: changes.flatMap(({ vaultMarket, change }) =>
      change < 0n ? [{ vaultMarket, assets: -change }] : [],
    ),
    supplies: changes.flatMap(({ vaultMarket, change }) =>
      change > 0n ? [{ vaultMarket, assets: change }] : [],
    ),
  }
}

/**
 * Turn floats into base units: rounded down, within every bound, and their sum within the budget. What a float could
 * miss is taken from the supplies first, then from whatever is above its least.
 */
function roundTargets(
  vaultMarkets: readonly VaultMarket[],
  { lanes }: Pool,
  { amounts }: Optimum,
  limits: Limits,
): Targets {
  const targets = vaultMarkets.map((vaultMarket, index) => {
    const amount = amounts[index] ?? 0
    const { leastAssets, mostAssets } = limits.bounds[index] ?? { leastAssets: 0n, mostAssets: 0n }
    if (amount === lanes[index]?.held) return vaultMarket.heldAssets
    const assets = toAssets(amount, limits.decimals)
    return assets < leastAssets ? leastAssets : assets > mostAssets ? mostAssets : assets
  })
  let excess = targets.reduce((sum, target) => sum + target, 0n) - limits.budgetAssets
  // Moves give way first, the largest supply before all; a market that stays is touched for dust as the last.
  const order = vaultMarkets.map((_, index) => index)
  const change = (index: number) => (targets[index] ?? 0n) - (vaultMarkets[index]?.heldAssets ?? 0n)
  const rank = (index: number) => (change(index) > 0n ? 0 : change(index) < 0n ? 1 : 2)
  order.sort((one, other) => rank(one) - rank(other) || Number(change(other) - change(one)) || one - other)
  for (const index of order) {
    if (excess <= 0n) break
    const target = targets[index] ?? 0n
    const least = limits.bounds[index]?.leastAssets ?? 0n
    const held = vaultMarkets[index]?.heldAssets ?? 0n
    const floor = target > held ? held : least
    const taken = excess < target - floor ? excess : target - floor
    targets[index] = target - taken
    excess -= taken
  }
  return targets
}

const FRACTION = 1_000_000

/** Whole tokens to base units, rounded down at a millionth of a token. */
function toAssets(tokens: number, decimals: number): bigint {
  const whole = Math.floor(Math.max(0, tokens))
  const parts = BigInt(Math.floor((Math.max(0, tokens) - whole) * FRACTION))
  return BigInt(whole) * tokenUnit(decimals) + (parts * tokenUnit(decimals)) / BigInt(FRACTION)
}

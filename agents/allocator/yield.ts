import { span, usd } from '../../src/readable.js'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { type Moment, type PassedOver, passOver } from '../agent.ts'
import { tokens } from '../protocol/text.ts'
import { expectedGainOf } from './expected-gain.ts'
import type { OpenVault } from './judge-vault.ts'
import { type Lane, laneReturn, learnedReturn, meanRate, moveCost, type Pool, rateAtKink } from './lane.ts'
import { movesOf, planTargets, type Targets } from './plan.ts'
import type { AllocatorPolicy } from './policy.ts'
import { movesText, proposeMoves } from './propose.ts'
import type { AllocatorSeen } from './seen.ts'
import { gasTokens, toTokens, type VaultMarket } from './vault-markets.ts'

/** What an allocation earns over the horizon as it stands, and what moving would change; whole tokens. */
type Gain = {
  readonly standing: number
  /** As experience has it, and what of it that adds. */
  readonly gross: number
  readonly learned: number
  readonly cost: number
}

/**
 * Find the allocation of a vault with the highest expected net return; null where buffer and queue leave nothing. Pure.
 * The service may narrow what is supplied, never widen it.
 */
export function yieldTargets(
  vault: OpenVault,
  vaultMarkets: readonly VaultMarket[],
  policy: AllocatorPolicy,
): Targets | null {
  const { books, decimals } = vault
  const allocated = vaultMarkets.reduce((sum, { heldAssets }) => sum + heldAssets, 0n)
  const budgetAssets = allocated + books.idleAssets - vault.neededAssets
  const budget = toTokens(budgetAssets, decimals)
  const pool = { ...poolOf(vault, vaultMarkets, policy), budget }
  return planTargets(vaultMarkets, pool, { bounds: vaultMarkets, budgetAssets, decimals })
}

const poolOf = (vault: OpenVault, vaultMarkets: readonly VaultMarket[], policy: AllocatorPolicy) => {
  // No token that leaves a market raises what the rest earns by more than the kink pays on it.
  const lentWorth = vault.horizonS * Math.max(...vaultMarkets.map(({ lane }) => rateAtKink(lane)))
  return {
    lanes: vaultMarkets.map(({ lane }) => worthLending(lane, lentWorth)),
    horizonS: vault.horizonS,
    turnoverCost: policy.costs.turnoverBps / 10_000,
  }
}

const HALVINGS = 40

/**
 * What pays less than is expected to be lost is left for nothing, and lent as long as it pays twice that: what was just
 * lent is not to be left at once.
 */
function worthLending(lane: Lane, lentWorth: number): Lane {
  const { held, least, most, lossRate } = lane
  const pays = (amount: number) => meanRate(lane, amount) >= 2 * lossRate
  let [enough, above] = pays(most) ? [most, most] : [0, most]
  for (let halving = 0; halving < HALVINGS && enough < above; halving++) {
    const middle = (enough + above) / 2
    if (pays(middle)) enough = middle
    else above = middle
  }
  return meanRate(lane, held) < lossRate
    ? { ...lane, least: Math.max(least, Math.min(held, enough)), most: Math.min(most, held) }
    : { ...lane, lentWorth, most: Math.max(Math.min(held, most), Math.min(most, enough)) }
}

/** Propose to bring a vault to targets, if that is worth it by the policy's margins; or say how near it came. Pure. */
export function proposeYield(
  vault: OpenVault,
  vaultMarkets: readonly VaultMarket[],
  targets: Targets | null,
  seen: Moment & AllocatorSeen,
  policy: AllocatorPolicy,
): Proposal | PassedOver {
  const { books, decimals } = vault
  const subject = vault.look.address
  if (targets === null) {
    const show = (assets: bigint) => tokens(assets, decimals, vault.symbol)
    const message = `Idle are ${show(books.idleAssets)}; buffer and queue need ${show(vault.neededAssets)} before anything is supplied, and the markets cannot give that back.`
    return passOver(subject, { check: 'nothing_to_supply', message })
  }
  const { withdrawals, supplies } = movesOf(vaultMarkets, targets)
  if (withdrawals.length + supplies.length === 0) {
    const stop = vault.supplyStop ?? {
      check: 'allocation_optimal',
      message: 'No allocation within the limits earns more, moving included.',
    }
    return passOver(subject, stop)
  }
  const gas = gasTokens(policy.costs.transactionGas, vault, seen, policy, 1n)
  const gain = gainOf(poolOf(vault, vaultMarkets, policy), vaultMarkets, targets, decimals, gas)
  const usdMicros = (amount: number) => BigInt(Math.floor(amount * Number(vault.priceUsdMicros)))
  const netUsdMicros = usdMicros(gain.gross - gain.cost)
  const reason = {
    horizonS: vault.horizonS,
    standingUsdMicros: String(usdMicros(gain.standing)),
    gainUsdMicros: String(usdMicros(gain.gross)),
    learnedUsdMicros: String(usdMicros(gain.learned)),
    costUsdMicros: String(usdMicros(gain.cost)),
    netUsdMicros: String(netUsdMicros),
  }
  const moves = movesText(vaultMarkets, targets, vault)
  const text = `${moves}: earns ${usd(usdMicros(gain.gross))} more in ${span(vault.horizonS * 1_000)}, moving costs ${usd(usdMicros(gain.cost))}`
  const short = shortfall(gain, usdMicros, policy)
  if (short !== null) {
    return { subject, check: short.check, message: `${text}; ${short.needs}.`, reason, near: short.near }
  }
  return proposeMoves(vault, vaultMarkets, targets, {
    kind: 'yield',
    why: text,
    reason,
    gain: { gainUsdMicros: netUsdMicros, worthUsdMicros: netUsdMicros + usdMicros(gas) },
    said: expectedGainOf(vault, vaultMarkets, targets),
  })
}

function gainOf(
  pool: Omit<Pool, 'budget'>,
  vaultMarkets: readonly VaultMarket[],
  targets: Targets,
  decimals: number,
  gas: number,
): Gain {
  const changes = vaultMarkets.map(({ lane, heldAssets }, index) => {
    const target = targets[index] ?? heldAssets
    return { lane, change: target === heldAssets ? 0 : toTokens(target - heldAssets, decimals) }
  })
  const total = (of: (change: number) => number) => changes.reduce((sum, { change }) => sum + of(change), 0)
  const lentMore = total((change) => change)
  const sameWay = (change: number) => (change * lentMore > 0 ? change : 0)
  // Of what is added, or withdrawn, so much lay or will lie idle: that this raises the rate on the rest counts for nothing.
  const idlePart = lentMore === 0 ? 0 : lentMore / total(sameWay)
  let [standing, reached, learned, cost] = [0, 0, 0, gas]
  for (const { lane, change } of changes) {
    const amount = lane.held + change
    const idle = idlePart * sameWay(change)
    const [before, after] = lentMore > 0 ? [lane.held + idle, amount] : [lane.held, amount - idle]
    standing += laneReturn(lane, lane.held, pool.horizonS, meanRate(lane, before))
    reached += laneReturn(lane, amount, pool.horizonS, meanRate(lane, after))
    learned += learnedReturn(lane, amount, pool.horizonS)
    cost += moveCost(lane, amount, pool.turnoverCost)
  }
  return { standing, gross: reached - standing + learned, learned, cost }
}

/** The margin that a gain misses by most; null when it meets all. */
function shortfall(
  { standing, gross, cost }: Gain,
  usdMicros: (amount: number) => bigint,
  { yields }: AllocatorPolicy,
): { readonly check: string; readonly needs: string; readonly near: number } | null {
  const net = gross - cost
  const overCost = (cost * yields.gainOverCostBpsMin) / 10_000
  const improvement = (Math.max(0, standing) * yields.improvementBpsMin) / 10_000
  const margins = [
    {
      check: 'gain_below_floor',
      needs: `the policy asks ${usd(yields.gainUsdMicrosMin)} net`,
      near: Number(usdMicros(net)) / Number(yields.gainUsdMicrosMin),
    },
    {
      check: 'gain_below_cost',
      needs: `the policy asks ${usd(usdMicros(overCost))} for that cost`,
      near: overCost === 0 ? 1 : gross / overCost,
    },
    {
      check: 'gain_below_noise',
      needs: `the policy asks ${usd(usdMicros(improvement))}, a part of what the vault earns anyway`,
      near: improvement === 0 ? 1 : net / improvement,
    },
  ]
  const worst = margins.reduce((low, margin) => (margin.near < low.near ? margin : low))
  return worst.near >= 1 ? null : { ...worst, near: Math.max(0, worst.near) }
}

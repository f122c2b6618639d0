import type { Proposal } from '../../src/workflow/proposal.ts'
import { type Moment, type PassedOver, passOver } from '../agent.ts'
import { dollars, tokens } from '../protocol/text.ts'
import type { OpenVault } from './judge-vault.ts'
import { laneReturn, moveCost, type Pool } from './lane.ts'
import { movesOf, planTargets, type Targets } from './plan.ts'
import type { AllocatorPolicy } from './policy.ts'
import { movesText, proposeMoves } from './propose.ts'
import type { AllocatorSeen } from './seen.ts'
import { gasTokens, toTokens, type VaultMarket } from './vault-markets.ts'

/** What an allocation earns over the horizon as it stands, and what moving would change; whole tokens. */
type Gain = { readonly standing: number; readonly gross: number; readonly cost: number }

/**
 * Propose the allocation with the highest expected net return, if getting there is worth it by the policy's margins; or
 * say how near it came. Pure. The service may narrow what is supplied, never widen it.
 */
export function proposeYield(
  vault: OpenVault,
  vaultMarkets: readonly VaultMarket[],
  seen: Moment & AllocatorSeen,
  policy: AllocatorPolicy,
): Proposal | PassedOver {
  const { books, decimals } = vault
  const subject = vault.look.address
  const allocated = vaultMarkets.reduce((sum, { heldAssets }) => sum + heldAssets, 0n)
  const budgetAssets = allocated + books.idleAssets - vault.neededAssets
  const pool: Pool = {
    lanes: vaultMarkets.map(({ lane }) => lane),
    budget: toTokens(budgetAssets, decimals),
    horizonS: vault.horizonS,
    turnoverCost: policy.costs.turnoverBps / 10_000,
  }
  const targets = planTargets(vaultMarkets, pool, { bounds: vaultMarkets, budgetAssets, decimals })
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
  const gas = gasTokens(policy.costs.transactionGas, vault, seen, policy)
  const gain = gainOf(pool, vaultMarkets, targets, decimals, gas)
  const usdMicros = (amount: number) => BigInt(Math.floor(amount * Number(vault.priceUsdMicros)))
  const netUsdMicros = usdMicros(gain.gross - gain.cost)
  const reason = {
    horizonS: vault.horizonS,
    standingUsdMicros: String(usdMicros(gain.standing)),
    gainUsdMicros: String(usdMicros(gain.gross)),
    costUsdMicros: String(usdMicros(gain.cost)),
    netUsdMicros: String(netUsdMicros),
  }
  const moves = movesText(vaultMarkets, targets, decimals)
  const text = `${moves}: earns ${dollars(usdMicros(gain.gross))} more in ${days(vault.horizonS)}, moving costs ${dollars(usdMicros(gain.cost))}`
  const short = shortfall(gain, usdMicros, policy)
  if (short !== null) {
    return { subject, check: short.check, message: `${text}; ${short.needs}.`, reason, near: short.near }
  }
  return proposeMoves(vault, vaultMarkets, targets, {
    ...{ kind: 'yield', why: text, reason },
    gain: { gainUsdMicros: netUsdMicros, worthUsdMicros: netUsdMicros + usdMicros(gas) },
  })
}

function gainOf(
  pool: Pool,
  vaultMarkets: readonly VaultMarket[],
  targets: Targets,
  decimals: number,
  gas: number,
): Gain {
  let [standing, reached, cost] = [0, 0, gas]
  for (const [index, { lane, heldAssets }] of vaultMarkets.entries()) {
    const target = targets[index] ?? heldAssets
    const amount = target === heldAssets ? lane.held : toTokens(target, decimals)
    standing += laneReturn(lane, lane.held, pool.horizonS)
    reached += laneReturn(lane, amount, pool.horizonS)
    cost += moveCost(lane, amount, pool.turnoverCost)
  }
  return { standing, gross: reached - standing, cost }
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
      needs: `the policy asks ${dollars(yields.gainUsdMicrosMin)} net`,
      near: Number(usdMicros(net)) / Number(yields.gainUsdMicrosMin),
    },
    {
      check: 'gain_below_cost',
      needs: `the policy asks ${dollars(usdMicros(overCost))} for that cost`,
      near: overCost === 0 ? 1 : gross / overCost,
    },
    {
      check: 'gain_below_noise',
      needs: `the policy asks ${dollars(usdMicros(improvement))}, a part of what the vault earns anyway`,
      near: improvement === 0 ? 1 : net / improvement,
    },
  ]
  const worst = margins.reduce((low, margin) => (margin.near < low.near ? margin : low))
  return worst.near >= 1 ? null : { ...worst, near: Math.max(0, worst.near) }
}

const days = (seconds: number) =>
  seconds < 86_400 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`

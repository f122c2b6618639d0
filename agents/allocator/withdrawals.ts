import type { Proposal } from '../../src/workflow/proposal.ts'
import type { PassedOver } from '../agent.ts'
import { tokenUnit } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import type { OpenVault } from './judge-vault.ts'
import { supplyRate } from './lane.ts'
import { MOVES_MAX, movesOf, planTargets, type Targets } from './plan.ts'
import type { AllocatorPolicy } from './policy.ts'
import { proposeMoves } from './propose.ts'
import { toTokens, type VaultMarket } from './vault-markets.ts'

/**
 * Propose what must be withdrawn whatever it costs: what the redemptions that are due need beyond what is idle, and what
 * lies in markets that are impaired. Null when there is neither. Pure. What is withdrawn is what earns least.
 */
export function proposeWithdrawals(
  vault: OpenVault,
  vaultMarkets: readonly VaultMarket[],
  policy: AllocatorPolicy,
): Proposal | PassedOver | null {
  const { books, decimals, symbol } = vault
  const shortAssets = vault.obligedAssets - books.idleAssets
  const worthAssets = (policy.leaving.withdrawUsdMicrosMin * tokenUnit(decimals)) / vault.priceUsdMicros
  const leaves = ({ impaired, cashAssets, heldAssets }: VaultMarket) =>
    impaired !== null && least(cashAssets, heldAssets) > worthAssets
  if (shortAssets <= 0n && !vaultMarkets.some(leaves)) return null
  const targets = withdrawalTargets(vault, vaultMarkets, leaves, shortAssets, policy)
  const { withdrawals } = movesOf(vaultMarkets, targets)
  const isShort = shortAssets > 0n
  const kind = isShort ? 'redemptions' : 'leave'
  const show = (assets: bigint) => tokens(assets, decimals, symbol)
  const withdrawn = withdrawals.reduce((sum, { assets }) => sum + assets, 0n)
  const why = isShort
    ? `${show(vault.obligedAssets)} are due or kept, ${show(books.idleAssets)} idle`
    : vaultMarkets
        .filter(leaves)
        .map(({ name, impaired }) => `${name} ${impaired?.check}`)
        .join(', ')
  if (withdrawals.length === 0) {
    return {
      subject: vault.look.address,
      check: 'nothing_withdrawable',
      message: `${why}; no market of the vault has cash to withdraw.`,
      reason: { shortAssets: String(shortAssets), idleAssets: String(books.idleAssets) },
    }
  }
  return proposeMoves(vault, vaultMarkets, targets, {
    kind,
    why: `${why}: withdraw ${show(withdrawn)}`,
    reason: {
      dueAssets: String(vault.dueAssets),
      obligedAssets: String(vault.obligedAssets),
      shortAssets: String(shortAssets),
    },
  })
}

const least = (one: bigint, other: bigint) => (one < other ? one : other)

/** The cheapest withdrawals that raise what is short; within the utilisation bands if that is enough. */
function withdrawalTargets(
  vault: OpenVault,
  vaultMarkets: readonly VaultMarket[],
  leaves: (vaultMarket: VaultMarket) => boolean,
  shortAssets: bigint,
  policy: AllocatorPolicy,
): Targets {
  const { decimals } = vault
  const heldAssets = vaultMarkets.reduce((sum, vaultMarket) => sum + vaultMarket.heldAssets, 0n)
  const budgetAssets = shortAssets > 0n ? heldAssets - shortAssets : heldAssets
  const emptied = (vaultMarket: VaultMarket) =>
    vaultMarket.heldAssets - least(vaultMarket.cashAssets, vaultMarket.heldAssets)
  const solve = (leastOf: (vaultMarket: VaultMarket) => bigint) => {
    const bounds = vaultMarkets.map((vaultMarket) =>
      leaves(vaultMarket)
        ? { leastAssets: emptied(vaultMarket), mostAssets: emptied(vaultMarket) }
        : {
            // A market that is not left gives only what is short.
            leastAssets: shortAssets > 0n ? leastOf(vaultMarket) : vaultMarket.heldAssets,
            mostAssets: vaultMarket.heldAssets,
          },
    )
    // Priced at what it pays now: that our leaving drives a rate up is no reason to take more than is needed.
    const lanes = vaultMarkets.map(({ lane }, index) => ({
      ...lane,
      rate: supplyRate(lane, lane.held),
      lossRate: 0,
      least: toTokens(bounds[index]?.leastAssets ?? 0n, decimals),
      most: toTokens(bounds[index]?.mostAssets ?? 0n, decimals),
    }))
    const pool = {
      lanes,
      budget: toTokens(budgetAssets, decimals),
      // A vault that is wound down still prefers to keep what pays.
      horizonS: policy.yields.horizonS,
      turnoverCost: policy.costs.turnoverBps / 10_000,
    }
    return planTargets(vaultMarkets, pool, { bounds, budgetAssets, decimals })
  }
  const all = () => {
    const most = new Set(
      vaultMarkets.toSorted((one, other) => Number(other.cashAssets - one.cashAssets)).slice(0, MOVES_MAX),
    )
    return vaultMarkets.map((vaultMarket) =>
      most.has(vaultMarket) ? emptied(vaultMarket) : vaultMarket.heldAssets,
    )
  }
  return solve(({ leastAssets }) => leastAssets) ?? solve(emptied) ?? all()
}

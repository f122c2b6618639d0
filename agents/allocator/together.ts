import type { Address } from 'viem'
import type { Proposal, ProposalInput } from '../../src/workflow/proposal.ts'
import type { Moment, PassedOver } from '../agent.ts'
import type { OpenVault } from './judge-vault.ts'
import type { Targets } from './plan.ts'
import type { AllocatorPolicy } from './policy.ts'
import type { AllocatorSeen } from './seen.ts'
import { type VaultMarket, vaultMarketsOf } from './vault-markets.ts'
import { proposeYield, yieldTargets } from './yield.ts'

type Observed = Moment & AllocatorSeen
/** By market what comes to it, base units; negative leaves. */
type Change = ReadonlyMap<Address, bigint>
/** That, by vault. */
export type Changes = ReadonlyMap<Address, Change>

/** Turns in which every vault answers the others: they are as good as settled long before. */
const TURNS_MAX = 12
/** A vault that changes its mind by less than this part of it has settled. */
const SETTLED = 1_000n

/**
 * Propose what earns all these vaults most together, or say of each why it stays. Pure. Each vault in turn answers what
 * the others are about to do, counting what it does to them, until none changes its mind. Those whose part is not worth
 * its move stay, and the others are asked again without them.
 * @param duties what is proposed already in vaults of ours, whatever it earns.
 */
export function proposeTogether(
  vaults: readonly OpenVault[],
  duties: Changes,
  seen: Observed,
  policy: AllocatorPolicy,
): ReadonlyMap<OpenVault, Proposal | PassedOver> {
  const outcomes = new Map<OpenVault, Proposal | PassedOver>()
  for (let moving = vaults; moving.length > 0; ) {
    const answers = settle(moving, duties, seen, policy)
    const changes = new Map(duties)
    for (const { vault, change } of answers) changes.set(vault.look.address, change)
    for (const { vault, targets } of answers) {
      const markets = vaultMarketsOf(vault, withChanges(seen, changes, vault), policy)
      outcomes.set(vault, proposeYield(vault, markets, targets, seen, policy))
    }
    const moves = (vault: OpenVault) => 'kind' in (outcomes.get(vault) ?? {})
    const isDone = answers.every(({ vault, change }) => change.size === 0 || moves(vault))
    const left = moving.filter(moves)
    moving = isDone ? [] : left
  }
  return outcomes
}

type Answer = { readonly vault: OpenVault; readonly targets: Targets | null; readonly change: Change }

function settle(
  vaults: readonly OpenVault[],
  duties: Changes,
  seen: Observed,
  policy: AllocatorPolicy,
): readonly Answer[] {
  const changes = new Map(duties)
  let answers: readonly Answer[] = []
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const before = answers
    answers = vaults.map((vault) => {
      const markets = vaultMarketsOf(vault, withChanges(seen, changes, vault), policy)
      const targets = yieldTargets(vault, markets, policy)
      const change = changeOf(markets, targets)
      changes.set(vault.look.address, change)
      return { vault, targets, change }
    })
    const isSame = (answer: Answer, index: number) => isNear(answer, before[index])
    if (vaults.length === 1 || answers.every(isSame)) break
  }
  return answers
}

function isNear({ vault, change }: Answer, before: Answer | undefined): boolean {
  const marginAssets = vault.books.totalAssets / SETTLED
  return [...change.keys(), ...(before?.change.keys() ?? [])].every((market) => {
    const apart = (change.get(market) ?? 0n) - (before?.change.get(market) ?? 0n)
    return apart <= marginAssets && -apart <= marginAssets
  })
}

const changeOf = (markets: readonly VaultMarket[], targets: Targets | null): Change =>
  new Map(
    markets.flatMap(({ marketAddress, heldAssets }, index) => {
      const change = (targets?.[index] ?? heldAssets) - heldAssets
      return change === 0n ? [] : [[marketAddress, change]]
    }),
  )

/** See the markets as one vault will find them once the others have moved. */
function withChanges(seen: Observed, changes: Changes, { look }: OpenVault): Observed {
  const others = [...changes].filter(([vault, change]) => vault !== look.address && change.size > 0)
  if (others.length === 0) return seen
  const byVault = new Map(others)
  const coming = (market: Address) => others.reduce((sum, [, change]) => sum + (change.get(market) ?? 0n), 0n)
  return {
    ...seen,
    vaults: seen.vaults.map((vault) => {
      const change = byVault.get(vault.address)
      if (change === undefined) return vault
      const allocations = vault.allocations.map((one) => ({
        ...one,
        heldAssets: one.heldAssets === null ? null : one.heldAssets + (change.get(one.marketAddress) ?? 0n),
      }))
      return { ...vault, allocations }
    }),
    markets: seen.markets.map((market) => ({
      ...market,
      cashAssets: market.cashAssets === null ? null : market.cashAssets + coming(market.address),
    })),
  }
}

/** What a request of this role changes. Pure. */
export function changeIn({ workflowType, input }: Pick<Proposal, 'workflowType' | 'input'>): Change {
  const isOut = workflowType === 'role.allocator.vaultDeallocate'
  const moves = [
    ...movesIn(isOut ? [input] : input.withdrawals, -1n),
    ...movesIn(workflowType === 'role.allocator.vaultAllocate' ? [input] : input.supplies, 1n),
  ]
  return new Map(moves)
}

const movesIn = (found: ProposalInput[string] | undefined, sign: bigint): readonly [Address, bigint][] =>
  (Array.isArray(found) ? (found as readonly { marketAddress: Address; assets: string }[]) : []).map(
    ({ marketAddress, assets }) => [marketAddress, sign * BigInt(assets)],
  )

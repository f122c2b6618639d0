import { type Address, encodeFunctionData, type Hex } from 'viem'
import { entityIdOf, type Revalidation } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingVaultAbi } from '../../contracts/abis.ts'
import { lower } from '../../indexer/logs.ts'
import type { VaultRead } from '../../indexer/state.ts'
import { same } from '../same.ts'
import { judgeMoves, type Move } from './allocation-judge.ts'
import { intents } from './intents.ts'
import {
  blocked,
  type Expectation,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

type AllocationInput = WorkflowInput<'role.allocator.vaultAllocate'>
type ReallocationInput = WorkflowInput<'role.allocator.vaultReallocationBatch'>

/** Who moves what between a vault and its markets: whom the vault lets, and what is looked at again. */
type Mover = {
  readonly reason: string
  readonly is: (vault: VaultRead, principal: Address) => boolean
  readonly revalidation: Revalidation
}

const ALLOCATOR: Mover = {
  reason: 'principal_not_allocator',
  is: ({ entry }, principal) => entry.allocators.has(lower(principal)),
  revalidation: 'vault_allocator',
}

/** The owner may do what an allocator does, without the role. */
const OWNER: Mover = {
  reason: 'principal_not_owner',
  is: ({ state }, principal) => same(state.owner, principal),
  revalidation: 'vault_owner',
}

/** What allocators, and a vault's owner itself, move between a vault and its markets. */
export const allocator: Family = {
  preparers: [
    preparer('role.allocator.vaultAllocate', allocate(ALLOCATOR)),
    preparer('role.allocator.vaultDeallocate', deallocate(ALLOCATOR)),
    preparer('role.allocator.vaultReallocationBatch', reallocate(ALLOCATOR)),
    preparer('role.vault_owner.vaultAllocate', allocate(OWNER)),
    preparer('role.vault_owner.vaultDeallocate', deallocate(OWNER)),
    preparer('role.vault_owner.vaultReallocationBatch', reallocate(OWNER)),
  ],
  fields: {
    // All that was ever moved: interest and borrowers do not touch it, so it shows one move for certain.
    vault_allocation: (snapshot, entityId, field) => {
      const [vaultAddress = '', marketAddress = ''] = entityId.split(':')
      const vault = vaultIn(snapshot, vaultAddress)
      if (vault === undefined) return undefined
      if (field === 'suppliedAssetsTotal') return String(total(vault, 'supplied', marketAddress))
      return field === 'recalledAssetsTotal' ? String(total(vault, 'recalled', marketAddress)) : undefined
    },
  },
}

const total = ({ entry }: VaultRead, direction: 'supplied' | 'recalled', market: string): bigint =>
  entry[direction].get(market.toLowerCase()) ?? 0n

type Judge<Input> = (input: Input, moment: Moment, reads: Reads) => Judgement

function allocate(mover: Mover): Judge<AllocationInput> {
  return (input, moment, reads) => {
    const assets = BigInt(input.assets)
    return prepareMoves(mover, input.vaultAddress, [], [{ ...input, assets }], moment, reads, {
      calldata: encodeFunctionData({
        abi: lendingVaultAbi,
        functionName: 'allocate',
        args: [input.marketAddress, assets],
      }),
      label: `Move ${assets} base units into the market`,
    })
  }
}

function deallocate(mover: Mover): Judge<AllocationInput> {
  return (input, moment, reads) => {
    const assets = BigInt(input.assets)
    return prepareMoves(mover, input.vaultAddress, [{ ...input, assets }], [], moment, reads, {
      calldata: encodeFunctionData({
        abi: lendingVaultAbi,
        functionName: 'deallocate',
        args: [input.marketAddress, assets],
      }),
      label: `Take ${assets} base units back from the market`,
    })
  }
}

function reallocate(mover: Mover): Judge<ReallocationInput> {
  const toMoves = (moves: ReallocationInput['supplies']) =>
    moves.map(({ marketAddress, assets }) => ({ marketAddress, assets: BigInt(assets) }))
  const toArgs = (moves: ReallocationInput['supplies']) =>
    moves.map(({ marketAddress, assets }) => ({ market: marketAddress, assets: BigInt(assets) }))
  return ({ vaultAddress, withdrawals, supplies }, moment, reads) =>
    prepareMoves(mover, vaultAddress, toMoves(withdrawals), toMoves(supplies), moment, reads, {
      calldata: encodeFunctionData({
        abi: lendingVaultAbi,
        functionName: 'reallocate',
        args: [toArgs(withdrawals), toArgs(supplies)],
      }),
      label: `Make ${withdrawals.length} withdrawals and ${supplies.length} supplies`,
    })
}

function prepareMoves(
  mover: Mover,
  vaultAddress: Address,
  withdrawals: readonly Move[],
  supplies: readonly Move[],
  { snapshot, freshness, principal }: Moment,
  { chainId }: Reads,
  call: { readonly calldata: Hex; readonly label: string },
): Judgement {
  const vault = vaultIn(snapshot, vaultAddress)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (vault === undefined) return blocked(null, [...reasons, 'vault_not_found'])
  if (principal !== null && !mover.is(vault, principal)) reasons.push(mover.reason)
  reasons.push(...judgeMoves(vault.state, snapshot.markets, withdrawals, supplies))
  if (reasons.length > 0) return blocked(vault.state, reasons)
  const postconditions = [...moved(vault, 'recalled', withdrawals), ...moved(vault, 'supplied', supplies)]
  return passed(vault.state, intents(chainId, [{ target: vault.address, ...call }]), postconditions, [
    mover.revalidation,
    ...(withdrawals.length > 0 ? (['market_liquidity'] as const) : []),
    ...(supplies.length > 0 ? (['allocation_open'] as const) : []),
    'intent_not_expired',
  ])
}

/** One expectation for each market: a batch may name it more than once. */
function moved(vault: VaultRead, direction: 'supplied' | 'recalled', moves: readonly Move[]): Expectation[] {
  const byMarket = Map.groupBy(moves, ({ marketAddress }) => marketAddress.toLowerCase())
  return [...byMarket].map(([market, ofMarket]) => {
    const assets = ofMarket.reduce((sum, move) => sum + move.assets, total(vault, direction, market))
    return {
      entityType: 'vault_allocation',
      entityId: entityIdOf(vault.address, market),
      field: `${direction}AssetsTotal`,
      expected: { op: 'gte', value: String(assets) },
    }
  })
}

import type { Address } from 'viem'
import type { z } from 'zod'
import { type ExpectedValue, entityIdOf } from '../../service/contract/assumptions.ts'
import {
  WORKFLOW_CATALOGUE,
  type WorkflowInput,
  type WorkflowType,
} from '../../service/contract/workflow-types.ts'

/** What is expected of a field: exactly this, or a figure that the service's own count is compared with. */
export type ExpectedField = { readonly is: ExpectedValue } | { readonly counts: 'gte' | 'lte' }

/** One thing that a workflow changes, as the service names it, and what becomes of its fields. */
export type ExpectedChange = {
  readonly entityType: string
  readonly entityId: string
  readonly fields: Readonly<Record<string, ExpectedField>>
}

/** Who asks, and the contract that the last call goes to; null where it is created. */
export type Parties = { readonly self: Address; readonly target: Address | null }

/** Pure. */
export const is = (expected: ExpectedValue): ExpectedField => ({ is: expected })
/** Pure. */
export const atLeast = (assets: string): ExpectedField => ({
  is: { op: 'gte', value: String(BigInt(assets)) },
})

/** One entity, and what becomes of its fields. Pure. */
export const changed = (
  entityType: string,
  entityId: string,
  fields: ExpectedChange['fields'],
): readonly ExpectedChange[] => [{ entityType, entityId, fields }]

/** What is lent to markets more than before, or taken back. */
const allocations = (
  vault: string,
  field: 'suppliedAssetsTotal' | 'recalledAssetsTotal',
  markets: readonly string[],
): readonly ExpectedChange[] =>
  markets.map((market) => ({
    entityType: 'vault_allocation',
    entityId: entityIdOf(vault, market),
    fields: { [field]: { counts: 'gte' } },
  }))

const marketsOf = (moves: readonly { readonly marketAddress: string }[]) =>
  moves.map(({ marketAddress }) => marketAddress)

/** A workflow type, and what its workflows change. */
export type ChangesOf = readonly [
  WorkflowType,
  (input: unknown, parties: Parties) => readonly ExpectedChange[],
]

/** What workflows of a type change, by the input that the catalogue describes. */
export function by<T extends WorkflowType>(
  type: T,
  changedBy: (input: WorkflowInput<T>, parties: Parties) => readonly ExpectedChange[],
): ChangesOf {
  const schema: z.ZodType = WORKFLOW_CATALOGUE[type].input
  return [type, (input, parties) => changedBy(schema.parse(input) as WorkflowInput<T>, parties)]
}

/** What moves of a vault's assets change, by its allocator and by its owner alike. Pure. */
export const movesOf = (mover: 'allocator' | 'vault_owner'): readonly ChangesOf[] => [
  by(`role.${mover}.vaultAllocate`, ({ vaultAddress, marketAddress }) =>
    allocations(vaultAddress, 'suppliedAssetsTotal', [marketAddress]),
  ),
  by(`role.${mover}.vaultDeallocate`, ({ vaultAddress, marketAddress }) =>
    allocations(vaultAddress, 'recalledAssetsTotal', [marketAddress]),
  ),
  by(`role.${mover}.vaultReallocationBatch`, ({ vaultAddress, withdrawals, supplies }) => [
    ...allocations(vaultAddress, 'recalledAssetsTotal', marketsOf(withdrawals)),
    ...allocations(vaultAddress, 'suppliedAssetsTotal', marketsOf(supplies)),
  ]),
]

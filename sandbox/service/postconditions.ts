import type { ExpectedValue } from '../../src/service/contract/assumptions.ts'
import type { CanonicalPostcondition } from '../../src/service/contract/prepared-workflow.ts'
import type { Snapshot } from '../indexer/canonical.ts'
import { fieldReaderOf } from './workflows/registry.ts'

/**
 * Read the field that a postcondition speaks about. An entity or field that is not there reads as undefined, which
 * nothing expects. Pure.
 */
export const fieldOf = (
  snapshot: Snapshot,
  { entityType, entityId, field }: Pick<CanonicalPostcondition, 'entityType' | 'entityId' | 'field'>,
) => fieldReaderOf(entityType)?.(snapshot, entityId, field)

/** Whether a value is what was expected: equal, or on the right side of an unsigned integer. Pure. */
export function holds(expected: ExpectedValue, actual: string | boolean | undefined): boolean {
  if (expected === null || typeof expected !== 'object') return expected === actual
  if (typeof actual !== 'string') return false
  const [value, bound] = [BigInt(actual), BigInt(expected.value)]
  return expected.op === 'lte' ? value <= bound : value >= bound
}

import { claimEntityId, type ExpectedValue, facilityEntityId } from '../../service/assumptions.ts'
import type { CanonicalPostcondition } from '../../service/workflows.ts'
import type { Snapshot } from '../indexer/canonical.ts'

/** A postcondition that the sandbox can check itself. */
export type Expectation = CanonicalPostcondition & { readonly expected: ExpectedValue }

/**
 * Read the field that a postcondition speaks about. A facility that is gone has no debt shares; any other entity or
 * field that is not there reads as undefined, which nothing expects. Pure.
 */
export function fieldOf(
  snapshot: Snapshot,
  item: Pick<CanonicalPostcondition, 'entityType' | 'entityId' | 'field'>,
) {
  if (item.entityType === 'credit_facility' && item.field === 'debtShares') {
    const facility = snapshot.facilities.find(({ resource }) => {
      const { marketAddress, vaultAddress, borrowerAddress } = resource
      return facilityEntityId(marketAddress, vaultAddress, borrowerAddress) === item.entityId
    })
    return (facility?.debtShares ?? 0n).toString()
  }
  if (item.entityType === 'liquidation_claim' && item.field === 'settled') {
    return snapshot.claims.find(
      (claim) => claimEntityId(claim.marketAddress, claim.claimId) === item.entityId,
    )?.settled
  }
  return undefined
}

/** Whether a value is what was expected: equal, or on the right side of an unsigned integer. Pure. */
export function holds(expected: ExpectedValue, actual: string | boolean | undefined): boolean {
  if (expected === null || typeof expected !== 'object') return expected === actual
  if (typeof actual !== 'string') return false
  const [value, bound] = [BigInt(actual), BigInt(expected.value)]
  return expected.op === 'lte' ? value <= bound : value >= bound
}

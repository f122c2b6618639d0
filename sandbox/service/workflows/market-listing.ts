import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lower } from '../../indexer/logs.ts'
import { same } from '../same.ts'
import { blocked, type Family, type Judgement, type Moment, preparer, saved, staleness } from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

const TYPE = 'role.curator.vaultMarketListingSave'

/** Which of a vault's markets its curator shows to its public. */
export const marketListing: Family = {
  preparers: [preparer(TYPE, save)],
  fields: {},
}

function save(
  { vaultAddress, marketAddress, listed }: WorkflowInput<typeof TYPE>,
  { snapshot, freshness, principal }: Moment,
): Judgement {
  const vault = vaultIn(snapshot, vaultAddress)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (vault === undefined) return blocked(null, [...reasons, 'vault_not_found'])
  if (principal !== null && !vault.entry.curators.has(lower(principal))) reasons.push('principal_not_curator')
  if (!snapshot.markets.some(({ address }) => same(address, marketAddress))) reasons.push('market_not_found')
  else if (!vault.state.allocations.some(({ market }) => same(market, marketAddress))) {
    reasons.push('market_not_attached')
  }
  if (reasons.length > 0) return blocked(vault.state, reasons)
  const key = entityIdOf(vaultAddress, marketAddress)
  return saved(
    vault.state,
    { kind: 'market_listing', key, body: { vaultAddress, marketAddress, listed }, status: 'saved' },
    [{ entityType: 'vault_market_listing', entityId: key, field: 'listed', expected: listed }],
  )
}

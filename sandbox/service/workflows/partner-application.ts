import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import {
  blocked,
  type Family,
  type Judgement,
  type Moment,
  preparer,
  type Reads,
  savedFor,
  staleness,
} from './preparer.ts'
import { vaultIn } from './vault-shares.ts'

const TYPE = 'role.partner.partnerSubmitApplication'

/** Applications of those who want to offer a vault to others; a review, not a workflow, approves them. */
export const partnerApplications: Family = {
  preparers: [preparer(TYPE, submit)],
  fields: {},
}

function submit(
  input: WorkflowInput<typeof TYPE>,
  { snapshot, freshness, principal }: Moment,
  { records }: Reads,
): Judgement {
  const { vaultAddress, partnerName, website, useCase } = input
  const reasons = staleness(freshness)
  if (vaultIn(snapshot, vaultAddress) === undefined) reasons.push('vault_not_found')
  if (principal === null) return blocked(null, [...reasons, 'principal_required'])
  const key = entityIdOf(vaultAddress, principal)
  const before = records.find('partner_application', key)
  // Another application would put it under review again, and what was deployed by it would lose its ground.
  if (before?.status === 'approved') reasons.push('application_approved')
  // Who reviews it reads one text.
  if (before?.status === 'submitted') reasons.push('application_under_review')
  if (reasons.length > 0) return blocked(before, reasons)
  return savedFor(
    before,
    {
      kind: 'partner_application',
      key,
      body: { vaultAddress, partnerName, website, useCase },
      status: 'submitted',
    },
    [{ entityType: 'partner_application', entityId: key, field: 'status', expected: 'submitted' }],
  )
}

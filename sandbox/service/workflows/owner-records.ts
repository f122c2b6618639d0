import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { become, judgeOwner } from './owner-act.ts'
import { blocked, type Family, type Judgement, type Moment, preparer, saved } from './preparer.ts'

const MANAGEMENT = 'role.vault_owner.vaultManagementSettingsSave'
const OWNER = 'role.vault_owner.vaultOwnerSettingsSave'

/** How a vault is shown and classed: its owner's word, which lives at the service and which no chain reads. */
export const ownerRecords: Family = {
  preparers: [preparer(MANAGEMENT, saveManagement), preparer(OWNER, saveClass)],
  fields: {},
}

function saveManagement(input: WorkflowInput<typeof MANAGEMENT>, moment: Moment): Judgement {
  const { vault, reasons } = judgeOwner(input.vaultAddress, moment)
  if (vault === undefined || reasons.length > 0) return blocked(vault?.state ?? null, reasons)
  const { managerName, website, logoUrl } = input
  return saved(
    vault.state,
    { kind: 'management_settings', key: vault.address, body: input, status: 'saved' },
    become('vault_management_settings', vault.address, { managerName, website, logoUrl }),
  )
}

function saveClass(input: WorkflowInput<typeof OWNER>, moment: Moment): Judgement {
  const { vault, reasons } = judgeOwner(input.vaultAddress, moment)
  if (vault === undefined || reasons.length > 0) return blocked(vault?.state ?? null, reasons)
  const { shareClass, riskScore } = input
  return saved(
    vault.state,
    { kind: 'owner_settings', key: vault.address, body: input, status: 'saved' },
    become('vault_owner_settings', vault.address, { shareClass, riskScore: String(riskScore) }),
  )
}

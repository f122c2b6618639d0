import type { Address } from 'viem'
import type { VaultResource } from '../../../src/service/contract/vault-resources.ts'
import { changesOf, personOf } from './difference.ts'
import {
  type DeclaredSetting,
  figuresText,
  ofOwner,
  type SettingsAt,
  type SettingsStep,
} from './settings-step.ts'

/** Compare how the service shows a vault and its manager: its own record, which no chain says. Pure. */
export function recordSettings({ declared, vault }: SettingsAt, subject: string): readonly DeclaredSetting[] {
  const { management, classification } = declared
  return [
    ...(management === undefined
      ? []
      : [ofOwner(`${subject}:management`, managementStep(management, vault.row))]),
    ...(classification === undefined
      ? []
      : [ofOwner(`${subject}:classification`, classificationStep(classification, vault.row))]),
  ]
}

/** What the service does not say yet is nothing, not the word for it. */
const orNothing = <T>(value: T | null | undefined): T | 'nothing' => value ?? 'nothing'

function managementStep(
  wanted: NonNullable<SettingsAt['declared']['management']>,
  { address, assetManager }: VaultResource,
): SettingsStep | null {
  const there = {
    managerName: orNothing(assetManager?.name),
    website: orNothing(assetManager?.website),
    logoUrl: orNothing(assetManager?.logoUrl),
  }
  const changes = changesOf(there, wanted)
  if (changes.length === 0) return null
  return {
    act: 'describe',
    direction: 'new',
    workflowType: 'role.vault_owner.vaultManagementSettingsSave',
    input: { vaultAddress: address, ...wanted },
    from: figuresText(there),
    changes,
  }
}

/** A vault that is said to be less risky, or for others, than it was may be bought by people who would not have it otherwise. */
function classificationStep(
  wanted: NonNullable<SettingsAt['declared']['classification']>,
  { address, shareClass, riskScore }: VaultResource,
): SettingsStep | null {
  const there = { shareClass: orNothing(shareClass), riskScore: orNothing(riskScore) }
  const isOfAnotherClass = shareClass != null && wanted.shareClass !== shareClass
  const isLessRisky = riskScore != null && wanted.riskScore < riskScore
  const changes = changesOf(there, wanted)
  if (changes.length === 0) return null
  return {
    act: 'classify',
    direction: isOfAnotherClass || isLessRisky ? 'looser' : 'new',
    workflowType: 'role.vault_owner.vaultOwnerSettingsSave',
    input: { vaultAddress: address, ...wanted },
    from: figuresText(there),
    changes,
  }
}

/** Compare who a vault belongs to: it is offered, and whoever it is offered to accepts by itself. Pure. */
export function ownerSetting(
  { declared, vault, seen }: SettingsAt,
  subject: string,
): readonly DeclaredSetting[] {
  if (declared.newOwner === undefined) return []
  const newOwnerAddress = personOf(declared.newOwner, seen)
  return [ofOwner(`${subject}:owner`, ownerStep(newOwnerAddress, vault))]
}

function ownerStep(newOwnerAddress: Address, { row, settings }: SettingsAt['vault']): SettingsStep | null {
  const { owner, pendingOwner } = settings
  if (owner === newOwnerAddress || pendingOwner === newOwnerAddress) return null
  const of = {
    workflowType: 'role.vault_owner.vaultOwnerTransferUpdate',
    from: `${owner},offered:${pendingOwner ?? 'nobody'}`,
  } as const
  const changes = (to: string) => [{ field: 'offeredTo', from: pendingOwner ?? 'nobody', to }]
  // Whoever was offered it could take it until then.
  if (pendingOwner !== null) {
    const input = { vaultAddress: row.address, action: 'cancel' }
    return { ...of, act: 'revoke', direction: 'stricter', input, changes: changes('nobody') }
  }
  const input = { vaultAddress: row.address, action: 'offer', newOwnerAddress }
  return { ...of, act: 'offer', direction: 'looser', input, changes: changes(newOwnerAddress) }
}

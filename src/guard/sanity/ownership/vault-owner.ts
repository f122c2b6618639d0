import { settings } from '../../../service/contract/yaml-scalars.ts'
import type { RoleSanity } from '../judgement.ts'
import { type OwnershipLimits, ownershipChecks, ownershipLimits } from './ownership.ts'

/** The vault owner's judgements: the vault itself says what it is before and after. */
export const vaultOwnerSanity: RoleSanity<OwnershipLimits> = {
  limits: () => settings(ownershipLimits),
  checks: ownershipChecks,
}

import { z } from 'zod'
import type { Role } from '../../service/contract/roles.ts'
import { allocatorSanity } from './allocator/allocator.ts'
import { assetManagerSanity } from './asset-manager/asset-manager.ts'
import { curatorSanity } from './channel/curator.ts'
import { investorSanity } from './channel/investor.ts'
import { partnerSanity } from './channel/partner.ts'
import type { RoleSanity } from './judgement.ts'
import { liquidatorSanity } from './liquidator/liquidator.ts'
import { navReporterSanity } from './nav-reporter.ts'
import { vaultOwnerSanity } from './ownership/vault-owner.ts'
import { rfqBidderSanity } from './rfq-bidder/rfq-bidder.ts'

const BY_ROLE: ReadonlyMap<Role, RoleSanity> = new Map<Role, RoleSanity>([
  ['asset-manager', assetManagerSanity],
  ['liquidator', liquidatorSanity],
  ['allocator', allocatorSanity],
  ['nav-reporter', navReporterSanity],
  ['rfq-bidder', rfqBidderSanity],
  ['vault-owner', vaultOwnerSanity],
  ['partner', partnerSanity],
  ['curator', curatorSanity],
  ['investor', investorSanity],
])

/** A role without judgements of its own: rules, effects and simulation decide. */
const NONE: RoleSanity = { limits: () => z.strictObject({}), checks: () => [] }

/** Find a role's own judgements; none for a role that has no file here. Pure. */
export const sanityOf = (role: Role): RoleSanity => BY_ROLE.get(role) ?? NONE

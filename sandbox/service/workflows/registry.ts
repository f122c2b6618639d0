import { invariant } from '../../../src/errors.ts'
import type { WorkflowType } from '../../../src/service/contract/workflow-types.ts'
import { acquisition } from './acquisition.ts'
import { allocator } from './allocator.ts'
import { assetSubmission } from './asset-submission.ts'
import { auction } from './auction.ts'
import { borrower } from './borrower.ts'
import { channelBlock } from './channel-block.ts'
import { channelClaims } from './channel-claims.ts'
import { channelDeploy } from './channel-deploy.ts'
import { fund } from './fund.ts'
import { investor } from './investor.ts'
import { lender } from './lender.ts'
import { liquidation } from './liquidation.ts'
import { marketListing } from './market-listing.ts'
import { nav } from './nav.ts'
import { ownerFees } from './owner-fees.ts'
import { ownerListing } from './owner-listing.ts'
import { ownerRecords } from './owner-records.ts'
import { ownerRoles } from './owner-roles.ts'
import { ownerSettings } from './owner-settings.ts'
import { ownerTransfer } from './owner-transfer.ts'
import { partnerApplications } from './partner-application.ts'
import type { Family, FieldReader, Preparer } from './preparer.ts'
import { redemption } from './redemption.ts'
import { rfq } from './rfq.ts'
import { vaultDeploy } from './vault-deploy.ts'
import { vaultMobility } from './vault-mobility.ts'
import { wrapper } from './wrapper.ts'

/** Everything that the sandbox carries out: each type of the service is in one of them. */
const FAMILIES: readonly Family[] = [
  acquisition,
  allocator,
  assetSubmission,
  auction,
  borrower,
  channelBlock,
  channelClaims,
  channelDeploy,
  fund,
  investor,
  lender,
  liquidation,
  marketListing,
  nav,
  ownerFees,
  ownerListing,
  ownerRecords,
  ownerRoles,
  ownerSettings,
  ownerTransfer,
  partnerApplications,
  redemption,
  rfq,
  vaultDeploy,
  vaultMobility,
  wrapper,
]

const preparers = new Map<string, Preparer>()
const fields = new Map<string, FieldReader>()
for (const family of FAMILIES) {
  for (const preparer of family.preparers) {
    invariant(!preparers.has(preparer.type), `${preparer.type} is prepared in one place`)
    preparers.set(preparer.type, preparer)
  }
  for (const [entityType, reader] of Object.entries(family.fields)) {
    invariant(!fields.has(entityType), `${entityType} is read in one place`)
    fields.set(entityType, reader)
  }
}

/** Find what prepares a type of the service. */
export function preparerOf(type: WorkflowType): Preparer {
  const preparer = preparers.get(type)
  invariant(preparer !== undefined, `${type} is prepared somewhere`)
  return preparer
}

/** Find what reads an entity type's fields; undefined for one that no postcondition speaks about. */
export const fieldReaderOf = (entityType: string): FieldReader | undefined => fields.get(entityType)

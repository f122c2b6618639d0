import { invariant } from '../../../src/errors.ts'
import type { WorkflowType } from '../../../src/service/contract/workflow-types.ts'
import { acquisition } from './acquisition.ts'
import { allocator } from './allocator.ts'
import { auction } from './auction.ts'
import { borrower } from './borrower.ts'
import { fund } from './fund.ts'
import { lender } from './lender.ts'
import { liquidation } from './liquidation.ts'
import { nav } from './nav.ts'
import type { Family, FieldReader, Preparer } from './preparer.ts'
import { redemption } from './redemption.ts'
import { rfq } from './rfq.ts'
import { vaultDeploy } from './vault-deploy.ts'
import { vaultMobility } from './vault-mobility.ts'

/** Everything that the sandbox carries out; any other type is answered with a blocked preflight. */
const FAMILIES: readonly Family[] = [
  acquisition,
  allocator,
  auction,
  borrower,
  fund,
  lender,
  liquidation,
  nav,
  redemption,
  rfq,
  vaultDeploy,
  vaultMobility,
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

/** Find what prepares a type; undefined where the sandbox does not carry it out. */
export const preparerOf = (type: WorkflowType): Preparer | undefined => preparers.get(type)

/** Find what reads an entity type's fields; undefined for one that no postcondition speaks about. */
export const fieldReaderOf = (entityType: string): FieldReader | undefined => fields.get(entityType)

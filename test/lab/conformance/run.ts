import { witnessOperation } from './operation-row.ts'
import type { Row } from './row.ts'
import { startSandboxUnderTest } from './sandbox-under-test.ts'
import type { Json } from './shape-check.ts'
import { ALLOCATOR } from './stories/allocator.ts'
import { ASSET_MANAGER } from './stories/asset-manager.ts'
import { AUCTION_BIDDER, RFQ_BIDDERS, RFQ_WAVERER } from './stories/bidders.ts'
import { BORROWER, ROLE_BORROWER } from './stories/borrower.ts'
import { CURATOR } from './stories/curator.ts'
import { INVESTOR, LENDING_INVESTOR } from './stories/investor.ts'
import { LENDER } from './stories/lender.ts'
import { LIQUIDATOR, ROLE_LIQUIDATOR } from './stories/liquidator.ts'
import { NAV_REPORTER } from './stories/nav-reporter.ts'
import { PARTNER } from './stories/partner.ts'
import { VAULT_OWNER } from './stories/vault-owner.ts'
import { OPERATIONS, type Operation } from './transcription/operations.ts'
import { witnessWorkflows } from './workflow-run.ts'
import { createWorld, type World } from './world.ts'

/** Operations that are looked at side by side: enough to hide each other's waiting, few enough for two cores. */
const SIDE_BY_SIDE = 4

/** Every workflow type is in one of them. */
export const STORIES = [
  LENDER,
  BORROWER,
  ROLE_BORROWER,
  LIQUIDATOR,
  ROLE_LIQUIDATOR,
  ALLOCATOR,
  NAV_REPORTER,
  ASSET_MANAGER,
  AUCTION_BIDDER,
  RFQ_BIDDERS,
  RFQ_WAVERER,
  VAULT_OWNER,
  PARTNER,
  CURATOR,
  INVESTOR,
  LENDING_INVESTOR,
]

/** A whole run: its rows, and the OpenAPI document that the sandbox served. */
export type Conformance = { readonly rows: readonly Row[]; readonly document: Json }

/** Start a sandbox, witness its operations and workflow types, and stop it. Rows are given as they finish. */
export async function runConformance(onRow: (row: Row) => void): Promise<Conformance> {
  const sandbox = await startSandboxUnderTest()
  try {
    const world = await createWorld(sandbox.info)
    const rows: Row[] = []
    const show = (row: Row) => {
      rows.push(row)
      onRow(row)
    }
    await Promise.all([witnessOperations(world, OPERATIONS, show), witnessWorkflows(world, STORIES, show)])
    await world.leave()
    return { rows, document: world.contract.document }
  } finally {
    await sandbox.stop()
  }
}

/** Witness operations, some at a time. */
export async function witnessOperations(
  world: World,
  operations: readonly Operation[],
  onRow: (row: Row) => void,
): Promise<void> {
  const waiting = operations.values()
  const work = async () => {
    for (const operation of waiting) onRow(await witnessOperation(world, operation))
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
}

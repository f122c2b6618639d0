import { witnessOperation } from './operation-row.ts'
import type { Row } from './row.ts'
import { startSandboxUnderTest } from './sandbox-under-test.ts'
import { ALLOCATOR } from './stories/allocator.ts'
import { ASSET_MANAGER } from './stories/asset-manager.ts'
import { AUCTION_BIDDER, RFQ_BIDDERS } from './stories/bidders.ts'
import { BORROWER, ROLE_BORROWER } from './stories/borrower.ts'
import { LENDER } from './stories/lender.ts'
import { LIQUIDATOR, ROLE_LIQUIDATOR } from './stories/liquidator.ts'
import { NAV_REPORTER } from './stories/nav-reporter.ts'
import { OPERATIONS } from './transcription/operations.ts'
import { witnessWorkflows } from './workflow-run.ts'
import { createWorld, type World } from './world.ts'

/** Operations that are looked at side by side: enough to hide each other's waiting, few enough for two cores. */
const SIDE_BY_SIDE = 4

const STORIES = [
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
]

/** Start a sandbox, witness its operations and workflow types, and stop it. Rows are given as they finish. */
export async function runConformance(onRow: (row: Row) => void): Promise<readonly Row[]> {
  const sandbox = await startSandboxUnderTest()
  try {
    const world = await createWorld(sandbox.info)
    const rows: Row[] = []
    const show = (row: Row) => {
      rows.push(row)
      onRow(row)
    }
    await Promise.all([witnessOperations(world, show), witnessWorkflows(world, STORIES, show)])
    await world.events.stop()
    return rows
  } finally {
    await sandbox.stop()
  }
}

/** Witness every operation, some at a time. */
export async function witnessOperations(world: World, onRow: (row: Row) => void): Promise<void> {
  const waiting = OPERATIONS.values()
  const work = async () => {
    for (const operation of waiting) onRow(await witnessOperation(world, operation))
  }
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
}

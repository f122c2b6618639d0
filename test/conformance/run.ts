import { witnessOperation } from './operation-row.ts'
import type { Row } from './row.ts'
import { startSandboxUnderTest } from './sandbox-under-test.ts'
import { OPERATIONS } from './transcription/operations.ts'
import { createWorld } from './world.ts'

/** Rows that are looked at side by side: enough to hide each other's waiting, few enough for two cores. */
const SIDE_BY_SIDE = 4

/** Start a sandbox, witness its operations and workflow types, and stop it. Rows are given as they finish. */
export async function runConformance(onRow: (row: Row) => void): Promise<readonly Row[]> {
  const sandbox = await startSandboxUnderTest()
  try {
    const world = await createWorld(sandbox.info)
    const rows: Row[] = []
    const waiting = OPERATIONS.values()
    const work = async () => {
      for (const operation of waiting) {
        const row = await witnessOperation(world, operation)
        rows.push(row)
        onRow(row)
      }
    }
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
    return rows
  } finally {
    await sandbox.stop()
  }
}

import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The files that take longest, by how long, and before all others: one that begins last is waited for alone. The runner itself
 * goes by a file's size where it has not run it before.
 */
export const LONGEST = [
  'test/end-to-end/console.test.ts',
  'test/end-to-end/health.test.ts',
  'test/end-to-end/crash.test.ts',
  'test/lab/judgement/judgement.test.ts',
  'test/lab/conformance/seeded-mistakes.test.ts',
  'test/lab/conformance/conformance.test.ts',
  'test/end-to-end/shadow-scenarios.test.ts',
  'test/end-to-end/declared.test.ts',
  'test/end-to-end/roles.test.ts',
  'test/docs.test.ts',
  'test/end-to-end/orders.test.ts',
  'test/end-to-end/image.test.ts',
  'test/keeper/seats/fleet-policies.test.ts',
  'test/lab/attacks/beneath.test.ts',
  'test/end-to-end/canaries.test.ts',
  'test/end-to-end/every-type.test.ts',
  'test/keeper/keeper.test.ts',
  'test/keeper/start.test.ts',
  'test/lab/nodes/nodes.test.ts',
  'test/end-to-end/compose.test.ts',
  'test/sandbox/main.test.ts',
  'test/keeper/health/quiet.test.ts',
  'test/chain/lacking-nodes.test.ts',
  'test/end-to-end/own-role.test.ts',
  'test/keeper/doctor/doctor.test.ts',
]

/** Begins with {@link LONGEST}. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.indexOf(relative(this.ctx.config.root, moduleId))
      return at === -1 ? LONGEST.length : at
    }
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import type { Scenario } from '../../sandbox/story/scenarios.ts'
import { sandboxConfig } from '../../src/cli/sandbox-config.ts'
import type { RunConfig } from '../../src/config/config.ts'
import { writeAnswer } from '../../src/ops/orders.ts'
import { startTestKeeper, type TestKeeper } from './keeper-scene.ts'
import { createHeldClock, waitFor } from './patient-world.ts'
import { removeDirectory, sandboxDirectory } from './sandbox.ts'

/** A sandbox that tells a scenario, and a keeper with every role beside it. */
export type RoleSession = {
  readonly sandbox: Sandbox
  readonly config: RunConfig
  /** Staff every role in a mode and begin; whatever is held for a person is approved at once. */
  readonly begin: (mode: 'live' | 'shadow') => Promise<TestKeeper>
  readonly stop: () => Promise<void>
}

/**
 * Start a sandbox in a directory of its own, its weather at once; its world waits for the keeper where the machine is busy. A
 * trouble inside fails the test that runs.
 * @param through where the keeper finds the service whose URL is given.
 */
export async function createRoleSession(
  scenario: Scenario,
  seed: number,
  through: (serviceUrl: string) => Promise<string> = async (serviceUrl) => serviceUrl,
): Promise<RoleSession> {
  const directory = sandboxDirectory()
  const clock = createHeldClock()
  const sandbox = await startSandbox({
    ...{ directory, seed, scenario, clock, weather: 'at-once', onProgress: () => {} },
    onTrouble: (cause) => {
      throw cause
    },
  })
  const written = sandboxConfig(directory)
  const config = { ...written, service: { ...written.service, url: await through(sandbox.info.serviceUrl) } }
  let running: TestKeeper | undefined
  let rest = async () => {}
  return {
    sandbox,
    config,
    begin: async (mode) => {
      const agents = config.agents.map((agent) => ({ ...agent, mode }))
      const begun = await startTestKeeper({ ...config, agents }, clock)
      running = begun
      rest = waitFor(begun.keeper, sandbox, clock)
      begun.keeper.onEvent((event) => {
        if (event.type === 'held')
          writeAnswer(config.directory, event.id, {
            verdict: 'approve',
            hash: event.hash,
            by: { user: 'test@sandbox' },
          })
      })
      return begun
    },
    stop: async () => {
      await rest()
      await running?.keeper.stop({ drainMs: 0 })
      await sandbox.stop()
      removeDirectory(directory)
    },
  }
}

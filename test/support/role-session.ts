import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import type { Scenario } from '../../sandbox/story/scenarios.ts'
import { sandboxConfig } from '../../src/cli/sandbox-config.ts'
import { systemClock } from '../../src/clock.ts'
import type { RunConfig } from '../../src/config/config.ts'
import { writeAnswer } from '../../src/ops/orders.ts'
import { startTestKeeper, type TestKeeper } from './keeper-scene.ts'
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
 * Start a sandbox in a directory of its own, its weather at once. A trouble inside fails the test that runs.
 * @param through where the keeper finds the service whose URL is given.
 */
export async function createRoleSession(
  scenario: Scenario,
  seed: number,
  through: (serviceUrl: string) => Promise<string> = async (serviceUrl) => serviceUrl,
): Promise<RoleSession> {
  const directory = sandboxDirectory()
  const sandbox = await startSandbox({
    ...{ directory, seed, scenario, clock: systemClock, weather: 'at-once', onProgress: () => {} },
    onTrouble: (cause) => {
      throw cause
    },
  })
  const written = sandboxConfig(directory)
  const config = { ...written, service: { ...written.service, url: await through(sandbox.info.serviceUrl) } }
  let running: TestKeeper | undefined
  return {
    sandbox,
    config,
    begin: async (mode) => {
      const agents = config.agents.map((agent) => ({ ...agent, mode }))
      const begun = await startTestKeeper({ ...config, agents })
      running = begun
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
      await running?.keeper.stop({ drainMs: 0 })
      await sandbox.stop()
      removeDirectory(directory)
    },
  }
}

import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import type { Scenario } from '../../sandbox/story/scenarios.ts'
import { sandboxConfig } from '../../src/cli/target/sandbox-config.ts'
import type { RunConfig } from '../../src/config/config.ts'
import { Secret } from '../../src/config/secrets/secret.ts'
import { writeAnswer } from '../../src/ops/orders.ts'
import { startTestKeeper, type TestKeeper } from './keeper-scene.ts'
import { createHeldClock, createPatientWorld, type PatientWorld } from './patient-world.ts'
import { failRun, removeDirectory, sandboxDirectory } from './sandbox.ts'

/** A sandbox that tells a scenario, and a keeper with every role beside it. */
export type RoleSession = {
  readonly sandbox: Sandbox
  readonly config: RunConfig
  /** Start a keeper, which the world waits for where the machine is busy. */
  readonly start: (config: RunConfig) => Promise<TestKeeper>
  /** Have the world stand still, or go on, soon. */
  readonly stand: PatientWorld['stand']
  /** The time of the world and of its keepers, Unix milliseconds. */
  readonly nowMs: () => number
  /** Staff every role in a mode and begin; whatever is held for a person is approved at once. */
  readonly begin: (mode: 'live' | 'shadow') => Promise<TestKeeper>
  readonly stop: () => Promise<void>
}

/** Where the keeper finds the service and the node whose URLs are given, instead of there. */
type Ways = {
  readonly service?: (url: string) => Promise<string>
  readonly node?: (url: string) => Promise<string>
}
const straight = async (url: string) => url

/**
 * Start a sandbox in a directory of its own, its weather at once; its world waits for the keeper where the machine is busy. A
 * trouble inside fails the run.
 */
export async function createRoleSession(
  scenario: Scenario,
  seed: number,
  { service = straight, node = straight }: Ways = {},
): Promise<RoleSession> {
  const directory = sandboxDirectory()
  const clock = createHeldClock()
  const sandbox = await startSandbox({
    directory,
    seed,
    scenario,
    clock,
    weather: 'at-once',
    onProgress: () => {},
    onTrouble: failRun,
  })
  const written = sandboxConfig(directory)
  const nodes = [new Secret(await node(sandbox.info.rpcUrl))]
  const config = {
    ...written,
    service: { ...written.service, url: await service(sandbox.info.serviceUrl) },
    chain: { ...written.chain, nodes: { ...written.chain.nodes, read: nodes, send: nodes } },
  }
  const world = createPatientWorld(sandbox, clock)
  let running: TestKeeper | undefined
  const start = async (by: RunConfig) => {
    running = await startTestKeeper(by, clock)
    world.attend(running.keeper)
    return running
  }
  return {
    sandbox,
    config,
    start,
    stand: world.stand,
    nowMs: clock.nowMs,
    begin: async (mode) => {
      const begun = await start({ ...config, agents: config.agents.map((agent) => ({ ...agent, mode })) })
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
      await world.end()
      await running?.keeper.stop({ drainMs: 0 })
      await sandbox.stop()
      removeDirectory(directory)
    },
  }
}

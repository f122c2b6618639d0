import { openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { systemClock } from '../../clock.ts'
import type { Keeper } from '../../keeper/keeper.ts'
import { DEFAULT_DIRECTORY } from '../../ops/directory.ts'
import { createOutlet } from '../../ops/outlet.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { command, type Outlets } from '../parse/command.ts'
import { DIRECTORY, durationMs, FAULT, SCENARIO, SEED, seedOf } from '../parse/options.ts'
import { createInterrupts, createShow, outletsOf, runSession } from '../session.ts'
import type { SandboxProcess } from '../target/sandbox-process.ts'

/** `rolekeeper start`: sandbox and keeper together. */
export const start = command({
  name: 'start',
  usage: '[--for TIME] [--json] [--fresh] [--seed N] [--scenario NAME] [--shadow] [--fault JSON]',
  help: `Start a chain, its contracts, the service and a KMS on this machine, and every role in live mode against them.
Ctrl-C ends it; started again, it resumes what was in flight.

  rolekeeper start --for 60s --json`,
  options: {
    for: { help: 'stop deciding then, finish what is in flight for at most 30 s, and report', value: 'TIME' },
    json: { help: 'print events as JSON, one object a line; the log goes to standard error' },
    fresh: { help: 'forget everything and start over' },
    seed: SEED,
    scenario: SCENARIO,
    shadow: { help: 'sign nothing: every role says what it would have done; see `rolekeeper shadow`' },
    fault: FAULT,
    directory: DIRECTORY,
  },
  argumentsMax: 0,
  run: async (given, _args, io) => {
    const forMs = given.for === undefined ? undefined : durationMs('for', given.for)
    const seed = seedOf(given.seed)
    const json = given.json === true
    const directory = resolve(given.directory ?? DEFAULT_DIRECTORY)
    const { checkStory, prepareDirectory, SANDBOX_PROGRAM, startSandboxProcess } = await import(
      '../target/sandbox-process.ts'
    )
    const { createProgress } = await import('../session.ts')
    checkStory(given)
    prepareDirectory(directory, given.fresh === true)
    let sandbox: SandboxProcess | undefined
    const interrupts = createInterrupts(() => sandbox?.kill())
    const progress = await createProgress('starting the sandbox', io)
    try {
      sandbox = startSandboxProcess({
        program: SANDBOX_PROGRAM,
        directory,
        seed,
        scenario: given.scenario,
        fault: given.fault,
        // A slow machine takes a while until the keeper is ready: what there is to do must not be over by then.
        waits: true,
        onProgress: progress.say,
      })
      const first = await Promise.race([sandbox.ready.then(() => 'ready'), interrupts.first])
      progress.end()
      if (first !== 'ready') return 0
      const { screen, log } = outletsOf(io)
      const shadow = given.shadow === true
      const { keeper, known } = await createSandboxKeeper(directory, { json, shadow, screen, log })
      const { begin } = sandbox
      keeper.onEvent(({ type }) => {
        if (type === 'ready') begin()
      })
      return await runSession(keeper, {
        show: await createShow({ ...io, out: screen.write }, { json, ...given, linkTo: directory, known }),
        interrupted: interrupts.first,
        broken: sandbox.ended,
        forMs,
      })
    } finally {
      progress.end()
      await sandbox?.stop()
      interrupts.release()
    }
  },
})

type How = Outlets & { readonly json: boolean; readonly shadow: boolean }

async function createSandboxKeeper(
  directory: string,
  { json, shadow, screen, ...out }: How,
): Promise<{ readonly keeper: Keeper; readonly known: Deployment }> {
  const { sandboxConfig } = await import('../target/sandbox-config.ts')
  const { secretsOf } = await import('../../config/config.ts')
  const { createLog } = await import('../../ops/log.ts')
  const { createKeeper } = await import('../../keeper/keeper.ts')
  const { version } = await import('../version.ts')
  const written = sandboxConfig(directory)
  const inShadow = written.agents.map((agent) => ({ ...agent, mode: 'shadow' as const }))
  const config = shadow ? { ...written, agents: inShadow } : written
  const secrets = () => secretsOf(config)
  // The timeline has the terminal to itself.
  const inFile = () =>
    createOutlet('log', openSync(join(directory, 'keeper.log'), 'w', 0o600), systemClock.monotonicMs)
  const lines = json ? out.log : inFile()
  const log = createLog({ level: 'info', secrets, write: lines.write })
  const keeper = createKeeper(config, { version, log, outlets: [screen, lines] })
  return { keeper, known: config.deployment }
}

import { join, resolve } from 'node:path'
import { DEFAULT_DIRECTORY } from '../../ops/directory.ts'
import { command } from '../parse/command.ts'
import { DIRECTORY, FAULT, SCENARIO, SEED, seedOf } from '../parse/options.ts'
import { createInterrupts } from '../session.ts'

/** `rolekeeper sandbox`: the service, its contracts, a chain and a KMS, for any program to talk to. */
export const sandbox = command({
  name: 'sandbox',
  usage:
    '[--fresh] [--seed N] [--scenario NAME] [--fault JSON] [--allow-loopback-webhooks] [--directory DIR]',
  help: `Start the sandbox alone: a chain, its contracts, the service and a KMS on this machine. sandbox.json in the
directory names every address and key that a program needs. Ctrl-C ends it.`,
  options: {
    fresh: { help: 'forget everything and start over' },
    seed: SEED,
    scenario: SCENARIO,
    fault: FAULT,
    'allow-loopback-webhooks': { help: 'deliver webhooks to this machine too, over plain HTTP' },
    directory: DIRECTORY,
  },
  argumentsMax: 0,
  run: async (given, _args, io) => {
    const seed = seedOf(given.seed)
    const directory = resolve(given.directory ?? DEFAULT_DIRECTORY)
    const { checkStory, prepareDirectory, SANDBOX_PROGRAM, startSandboxProcess } = await import(
      '../target/sandbox-process.ts'
    )
    const { createProgress } = await import('../session.ts')
    checkStory(given)
    prepareDirectory(directory, given.fresh === true)
    const progress = await createProgress('starting the sandbox', io)
    const running = startSandboxProcess({
      program: SANDBOX_PROGRAM,
      directory,
      seed,
      scenario: given.scenario,
      fault: given.fault,
      allowLoopbackWebhooks: given['allow-loopback-webhooks'] === true,
      onProgress: progress.say,
    })
    const interrupts = createInterrupts(running.kill)
    try {
      const first = await Promise.race([running.ready.then(() => 'ready'), interrupts.first])
      progress.end()
      if (first !== 'ready') return 0
      io.out(`The sandbox is ready: ${join(directory, 'sandbox.json')}\n`)
      await Promise.race([interrupts.first, running.ended])
      return 0
    } finally {
      progress.end()
      await running.stop()
      interrupts.release()
    }
  },
})

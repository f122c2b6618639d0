import { command, usageError } from '../parse/command.ts'
import { durationMs } from '../parse/options.ts'
import { createInterrupts, createShow, outletsOf, runSession } from '../session.ts'
import { placeText } from '../target/place.ts'

/** `rolekeeper run`: the keeper as a configuration says; it loads nothing of the sandbox. */
export const run = command({
  name: 'run',
  usage: '--config FILE [--for TIME] [--loosen HASH] [--json]',
  help: `Run the keeper against the service, the chain and the KMS that a configuration names. The log goes to standard
error as JSON. SIGTERM or Ctrl-C parks what is in flight; the next run takes it up again.

  rolekeeper run --config config/production.yaml`,
  options: {
    config: { help: 'the run configuration; config/example.yaml explains it', value: 'FILE' },
    for: { help: 'stop deciding after this time, for example 10m', value: 'TIME' },
    loosen: {
      help: 'take up a policy that is looser than the one before, by the hash of the change; several with commas',
      value: 'HASH',
    },
    json: { help: 'print events as JSON, one object a line' },
  },
  argumentsMax: 0,
  run: async ({ config: file, for: time, loosen, json }, _args, io) => {
    if (file === undefined)
      throw usageError('--config is missing.', 'name a run configuration, as config/example.yaml')
    const forMs = time === undefined ? undefined : durationMs('for', time)
    const { openRunConfig, secretsOf } = await import('../../config/config.ts')
    const { isWellKnown } = await import('../../sign/well-known.ts')
    const { createLog } = await import('../../ops/log.ts')
    const config = await openRunConfig(file, { env: io.env, isWellKnown })
    const { screen, log: lines } = outletsOf(io)
    const log = createLog({ level: 'info', secrets: () => secretsOf(config), write: lines.write })
    const { createKeeper } = await import('../../keeper/keeper.ts')
    const { version } = await import('../version.ts')
    const { leavePlace } = await import('../target/place.ts')
    leavePlace(config, file)
    const interrupts = createInterrupts(() => {})
    try {
      const keeper = createKeeper(config, {
        log,
        version,
        loosens: hashesOf(loosen, file),
        outlets: [screen, lines],
      })
      // What goes to a file or to a journal of the system is no place for a key.
      const linkTo = io.outIsTty ? { linkTo: config.directory } : {}
      const show = await createShow(
        { ...io, out: screen.write },
        { json: json === true, config: file, known: config.deployment, ...linkTo },
      )
      const isInFleet = config.fleet !== undefined
      return await runSession(keeper, { show, interrupted: interrupts.first, forMs, isInFleet })
    } finally {
      interrupts.release()
    }
  },
})

/** Read the changes that a start may take up, each by its hash, the second time with `.2` behind it. Throws RolekeeperError `usage` for what is none. */
function hashesOf(text: string | undefined, file: string): readonly string[] {
  const hashes = text?.split(',') ?? []
  if (hashes.every((hash) => /^[0-9a-f]{64}(\.[1-9]\d{0,3})?$/.test(hash))) return hashes
  throw usageError(
    '--loosen is no hash of a change.',
    `see: rolekeeper policy diff OLD NEW${placeText({ config: file })}`,
  )
}

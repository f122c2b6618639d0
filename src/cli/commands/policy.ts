import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { printable } from '../../errors.ts'
import { command, usageError } from '../command.ts'

/** `rolekeeper policy`: what is written, before anything runs by it. */
export const policy = command({
  name: 'policy',
  usage: 'migrate FILE --config RUN',
  help: `migrate: rewrite a policy of version 1, whose amounts have no units, as version 2. Comments and layout stay; what was
there is kept as FILE.old. RUN is a run configuration: its deployment says how many decimals each token has.

  rolekeeper policy migrate policies/liquidator.yaml --config config/production.yaml`,
  options: { config: { help: 'the run configuration whose deployment it is for', value: 'RUN' } },
  argumentsMax: 2,
  run: async ({ config }, [verb, file], io) => {
    if (verb !== 'migrate' || file === undefined || config === undefined) {
      throw usageError('policy takes `migrate`, a file and --config RUN.', 'see: rolekeeper policy --help')
    }
    const { migrateFile } = await import('../../keeper/policy-file.ts')
    const { text, changed } = migrateFile(file, config)
    if (changed === 0) {
      io.out(`${printable(file)} is of version 2 already.\n`)
      return 0
    }
    writeFileSync(`${file}.old`, readFileSync(file), { flag: 'wx' })
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
    io.out(`${printable(file)}: ${changed} places rewritten; ${printable(file)}.old is what was there.\n`)
    return 0
  },
})

import { writeFileSync } from 'node:fs'
import { printable, RolekeeperError } from '../../errors.ts'
import { createPersonKey } from '../../guard/person.ts'
import { command, usageError } from '../command.ts'
import type { PersonKey } from '../person-key.ts'

/** `rolekeeper approver`: a key of one's own, to approve with. */
export const approver = command({
  name: 'approver',
  usage: 'new NAME [--out FILE]',
  help: `Make a key pair for a person who approves, on that person's own machine. The private half is written to a file that
only you may read, and goes nowhere else; the public half is for approval.approvers of the policies.

  rolekeeper approver new anna`,
  options: { out: { help: 'the file to write (default: NAME.key)', value: 'FILE' } },
  argumentsMax: 2,
  run: async ({ out }, [what, name], io) => {
    if (what !== 'new' || name === undefined) throw usageError('Say what to do.', 'write `new NAME`')
    if (!/^[a-z][a-z0-9-]{0,39}$/.test(name)) {
      throw usageError(
        `"${printable(name)}" is no name of a person.`,
        'write lower-case letters, digits and hyphens, at most 40',
      )
    }
    const file = out ?? `${name}.key`
    const { publicKey, privatePem } = createPersonKey()
    const key: PersonKey = { name, privatePem }
    try {
      // Never over another key.
      writeFileSync(file, `${JSON.stringify(key)}\n`, { mode: 0o600, flag: 'wx' })
    } catch (cause) {
      throw new RolekeeperError(
        'approver.not_written',
        `${file} could not be written, or is there already.`,
        {
          fix: 'name another file with --out.',
          cause,
        },
      )
    }
    io.err(
      `${file} is yours alone: approve and submit with --key ${file}.\nFor the policies, under approval:\n`,
    )
    io.out(`approvers:\n  ${name}: { key: "${publicKey}" }\n`)
    return 0
  },
})

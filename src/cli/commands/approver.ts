import { writeFileSync } from 'node:fs'
import { printable, RolekeeperError } from '../../errors.ts'
import { answerText, createPersonKey, signText } from '../../guard/approval/person-key.ts'
import { KEY, type PersonKey, readPersonKey } from '../orders/person-key.ts'
import { command, unknownWord, usageError } from '../parse/command.ts'

const WORDS = {
  known: ['new', 'reply'],
  a: 'a command of approver',
  asks: 'Say what to do.',
  fix: 'write `new NAME` or `reply ID`',
}

/** `rolekeeper approver`: a key of one's own, to approve with. */
export const approver = command({
  name: 'approver',
  usage: 'new NAME [--out FILE] | reply ID --hash HASH --key FILE [--reject]',
  help: `Make a key pair for a person who approves, on that person's own machine. The private half is written to a file that
only you may read, and goes nowhere else; the public half is for approval.approvers of the policies.
\`reply\` signs an answer without a keeper at hand: the line of JSON may travel by whatever way to the keeper's \`replies\`.

  rolekeeper approver new anna
  rolekeeper approver reply ID --hash HASH --key anna.key | curl --data @- https://keeper.example/replies`,
  options: {
    out: { help: 'the file to write (default: NAME.key)', value: 'FILE' },
    ...KEY,
    hash: { help: 'of exactly what you read', value: 'HASH' },
    reject: { help: 'the answer is no' },
  },
  argumentsMax: 2,
  run: async ({ out, key: keyFile, hash, reject }, [what, name], io) => {
    if (what === 'reply' && name !== undefined) {
      io.out(`${JSON.stringify(replyOf(name, { keyFile, hash, reject }))}\n`)
      return 0
    }
    if (what !== 'new' || name === undefined)
      throw unknownWord(WORDS.known.includes(what ?? '') ? undefined : what, WORDS)
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

type Replied = {
  readonly keyFile: string | undefined
  readonly hash: string | undefined
  readonly reject: true | undefined
}

/** Sign an answer about what waits for a person. Throws RolekeeperError `usage`, and as `readPersonKey`. */
function replyOf(id: string, { keyFile, hash, reject }: Replied) {
  if (!/^[0-9a-f]{32}$/.test(id))
    throw usageError(`"${printable(id)}" is no whole id of a workflow.`, 'copy all 32 digits of it')
  if (hash === undefined || !/^[0-9a-f]{64}$/.test(hash))
    throw usageError('--hash is missing, or not whole.', 'copy all 64 digits of what you read')
  if (keyFile === undefined) throw usageError('--key is missing.', 'name the file of your own key')
  const verdict = reject === true ? 'reject' : 'approve'
  const { name, privatePem } = readPersonKey(keyFile)
  return { id, verdict, hash, name, signature: signText(answerText(verdict, id, hash), privatePem) }
}

import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { printable, RolekeeperError } from '../../../errors.ts'
import { checkFile } from '../../../keeper/policy-tools/file.ts'
import { newPolicy } from '../../../keeper/policy-tools/new.ts'
import { answersOf, createAsk } from '../../ask.ts'
import { configAt } from '../../orders/run-order.ts'
import { type Io, usageError } from '../../parse/command.ts'

/** What policies include: beside each of them, and shared by those of one folder. */
const SHARED = ['shared/fees-and-freshness.yaml', 'shared/vault-ownership.yaml']
const SHIPPED = fileURLToPath(new URL('../../../../policies/', import.meta.url))

type NewPolicyRequest = {
  readonly role: string
  readonly file: string
  /** `NAME=VALUE` each, for questions that are answered already. */
  readonly answers: readonly string[]
}
type NewPolicyOptions = { readonly config: string; readonly defaults?: true | undefined }

/**
 * Write a role's policy for a deployment, checked as a start does. Nothing is overwritten.
 * @returns 0 when it is written.
 */
export async function writeNewPolicy(
  { role, file, answers }: NewPolicyRequest,
  { config, defaults }: NewPolicyOptions,
  io: Io,
): Promise<number> {
  if (existsSync(file)) {
    throw new RolekeeperError('policy.file_there', `${file} is there already, and nothing is overwritten.`, {
      fix: 'name another file, or move that one away.',
    })
  }
  const given = answersOf(answers)
  const ask = createAsk(given, defaults === true, io)
  const text = await newPolicy({ role, to: file }, await configAt({ config }, io), ask.ask).finally(ask.close)
  const [unused] = given.keys()
  if (unused !== undefined) throw usageError(`Nothing asks for ${printable(unused)}.`, 'leave it out')
  placePolicy(file, text, config)
  io.out(`${printable(file)}: a policy of the ${role}, which loads. Read it, then run it in shadow.\n`)
  return 0
}

/** Put the file where it belongs once it is known to load; what it includes comes beside it where that is not there. */
export function placePolicy(file: string, text: string, config: string): void {
  const draft = `${file}.draft`
  for (const name of SHARED) {
    const shared = join(dirname(file), name)
    mkdirSync(dirname(shared), { recursive: true })
    if (!existsSync(shared)) copyFileSync(join(SHIPPED, name), shared)
  }
  writeFileSync(draft, text)
  // One that is refused stays: the refusal names its lines.
  checkFile(draft, config)
  writeFileSync(file, text, { flag: 'wx' })
  rmSync(draft)
}

import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { printable, RolekeeperError } from '../../errors.ts'
import { checkFile } from '../../keeper/policy-file.ts'
import { type Ask, newPolicy, type Question } from '../../keeper/policy-new.ts'
import { type Io, usageError } from '../command.ts'
import { configAt } from '../run-order.ts'

/** What policies include: beside each of them, and shared by those of one folder. */
const SHARED = 'shared/fees-and-freshness.yaml'
const SHIPPED = fileURLToPath(new URL('../../../policies/', import.meta.url))

type Asked = {
  readonly role: string
  readonly file: string
  /** `NAME=VALUE` each, for questions that are answered already. */
  readonly answers: readonly string[]
}
type Given = { readonly config: string; readonly defaults?: true | undefined }

/**
 * Write a role's policy for a deployment, checked as a start does. Nothing is overwritten.
 * @returns 0 when it is written.
 */
export async function writeNewPolicy(
  { role, file, answers }: Asked,
  { config, defaults }: Given,
  io: Io,
): Promise<number> {
  if (existsSync(file)) {
    throw new RolekeeperError('policy.file_there', `${file} is there already, and nothing is overwritten.`, {
      fix: 'name another file, or move that one away.',
    })
  }
  const given = new Map(answers.map((answer) => parted(answer)))
  const ask = createAsk(given, defaults === true, io)
  const text = await newPolicy({ role, to: file }, await configAt({ config }, io), ask.ask).finally(ask.close)
  const [unused] = given.keys()
  if (unused !== undefined) throw usageError(`Nothing asks for ${printable(unused)}.`, 'leave it out')
  place(file, text, config)
  io.out(`${printable(file)}: a policy of the ${role}, which loads. Read it, then run it in shadow.\n`)
  return 0
}

function parted(answer: string): readonly [string, string] {
  const [, name, value] = /^([\w.-]+)=(.*)$/s.exec(answer) ?? []
  if (name !== undefined && value !== undefined) return [name, value]
  throw usageError(
    `"${printable(answer)}" is no answer.`,
    'write NAME=VALUE, for example movedMax="50,000 USD"',
  )
}

/** Put the file where it belongs once it is known to load; what it includes comes beside it where that is not there. */
function place(file: string, text: string, config: string): void {
  const draft = `${file}.draft`
  const shared = join(dirname(file), SHARED)
  mkdirSync(dirname(shared), { recursive: true })
  if (!existsSync(shared)) copyFileSync(join(SHIPPED, SHARED), shared)
  writeFileSync(draft, text)
  // One that is refused stays: the refusal names its lines.
  checkFile(draft, config)
  writeFileSync(file, text, { flag: 'wx' })
  rmSync(draft)
}

/** Answer from what was given, else from standard input, where an empty line takes what is in brackets. */
function createAsk(
  given: Map<string, string>,
  defaults: boolean,
  io: Io,
): { readonly ask: Ask; readonly close: () => void } {
  const lines = defaults ? undefined : io.lines?.()
  const ask: Ask = async (question) => {
    const stated = given.get(question.name)
    given.delete(question.name)
    if (stated !== undefined) return checked(question, stated)
    if (defaults && question.fallback !== null) return checked(question, question.fallback)
    if (lines === undefined) throw unanswered(question)
    for (;;) {
      io.err(
        `${printable(question.asks, 1_000)}${question.fallback === null ? '' : ` [${printable(question.fallback)}]`}: `,
      )
      const { value, done } = await lines.next()
      if (done === true) throw unanswered(question)
      const answer = value.trim() === '' && question.fallback !== null ? question.fallback : value.trim()
      const wrong = question.wrong(answer)
      if (wrong === null) return answer
      io.err(`${printable(wrong, 1_000)}\n`)
    }
  }
  return { ask, close: () => void lines?.return?.(undefined) }
}

function checked(question: Question, answer: string): string {
  const wrong = question.wrong(answer)
  if (wrong === null) return answer
  throw usageError(
    `${question.name} is "${printable(answer)}": ${printable(wrong, 1_000)}.`,
    `it is ${printable(question.asks, 1_000)}`,
  )
}

const unanswered = ({ name, asks }: Question) =>
  usageError(`Nobody says ${name}: ${printable(asks, 1_000)}.`, `add ${name}=VALUE to the command`)

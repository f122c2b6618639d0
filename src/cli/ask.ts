import { printable } from '../errors.ts'
import type { Ask, Question } from '../keeper/policy-tools/new.ts'
import { type Io, usageError } from './parse/command.ts'

/** Answers that stand in the command, `NAME=VALUE` each, by their names. Throws RolekeeperError `usage` for what is none. */
export const answersOf = (answers: readonly string[]): Map<string, string> => new Map(answers.map(parted))

function parted(answer: string): readonly [string, string] {
  const [, name, value] = /^([\w.-]+)=(.*)$/s.exec(answer) ?? []
  if (name !== undefined && value !== undefined) return [name, value]
  throw usageError(
    `"${printable(answer)}" is no answer.`,
    'write NAME=VALUE, for example movedMax="50,000 USD"',
  )
}

/** Answer from what was given, else from standard input, where an empty line takes what is in brackets. */
export function createAsk(
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

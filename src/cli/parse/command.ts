import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { printable, RolekeeperError } from '../../errors.ts'
import type { Outlet } from '../../ops/outlet.ts'
import { perhaps } from './nearest.ts'

/** An option of a command: a switch, or with the name of its value. */
type Option = {
  readonly help: string
  readonly short?: string
  /** What the value is called in the help; absent for a switch. */
  readonly value?: string
}
type Options = Readonly<Record<string, Option>>

/** The options that were given: text for one with a value, true for a switch. */
type GivenOptions<O extends Options> = {
  readonly [name in keyof O]?: O[name] extends { readonly value: string } ? string : true
}

/** Where what lasts says what it does. */
export type Outlets = { readonly screen: Outlet; readonly log: Outlet }

/** Where a command reads from and writes to. */
export type Io = {
  /** Standard output: what was asked for. */
  readonly out: (text: string) => void
  /** Standard error: what happens meanwhile. */
  readonly err: (text: string) => void
  /**
   * Standard output and standard error of what goes on for as long as it is let: it does not end because nobody reads what it
   * says. Absent where both are taken for certain.
   */
  readonly outlets?: () => Outlets
  readonly outIsTty: boolean
  readonly errIsTty: boolean
  /** Standard input line by line; absent where nobody answers. */
  readonly lines?: () => AsyncIterator<string>
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What a command is, beside what it does. */
type CommandSpec<O extends Options> = {
  readonly name: string
  /** What follows the name, for example `list | show ID`. */
  readonly usage: string
  /** A few lines: what it does, and an example. */
  readonly help: string
  readonly options: O
  /** How many arguments it takes beside its options. */
  readonly argumentsMax: number
  /** @returns the exit code. */
  readonly run: (given: GivenOptions<O>, args: readonly string[], io: Io) => Promise<number>
}

/**
 * One command of `rolekeeper`, run with what follows its name.
 * @returns the exit code.
 * @throws RolekeeperError `usage` for an option or argument that it does not take, and what it throws itself.
 */
export type Command = ((args: readonly string[], io: Io) => Promise<number>) & {
  /** For completion: its options, each with what its value is called, and what follows its name. */
  readonly options: Options
  readonly usage: string
}

/** Make the error of a command line that is not understood; it exits with 2. */
export const usageError = (message: string, fix: string) => new RolekeeperError('usage', message, { fix })

/** What the first word of a command may be, and how it is written. */
type Words = {
  readonly known: readonly string[]
  readonly a: string
  readonly asks: string
  readonly fix: string
}

/** Make the error of a first word that a command does not know, with the nearest, or that is missing. Pure. */
export const unknownWord = (word: string | undefined, { known, a, asks, fix }: Words): RolekeeperError =>
  word === undefined
    ? usageError(asks, fix)
    : usageError(`"${printable(word)}" is not ${a}.`, `${perhaps(word, known)}${fix}`)

/** Make a command of its parts; `--help` comes with it. */
export function command<const O extends Options>(parts: CommandSpec<O>): Command {
  const run = async (args: readonly string[], io: Io) => {
    const { values, positionals } = parse(parts, args)
    if (values.help === true) {
      io.out(helpOf(parts))
      return 0
    }
    const [tooMany] = positionals.slice(parts.argumentsMax)
    if (tooMany !== undefined) throw usageError(`There is no place for "${tooMany}".`, seeHelp(parts))
    refusePaths(parts, values)
    return parts.run(values as GivenOptions<O>, positionals, io)
  }
  return Object.assign(run, { options: parts.options, usage: parts.usage })
}

/** Whether the value of an option is a file or a folder, by the word that its help has for it. Pure. */
export const isPath = (value: string): boolean => ['ADDRESSES', 'DIR', 'FILE', 'RUN'].includes(value)

/**
 * A variable that is not set leaves nothing, which would mean the current folder. A shell puts a home in the place of `~` where
 * it begins a word, and not in `--directory=~/x` or in quotes.
 */
function refusePaths({ options }: Described, given: Readonly<Record<string, unknown>>): void {
  for (const [name, { value }] of Object.entries(options)) {
    const path = given[name]
    if (value === undefined || !isPath(value) || typeof path !== 'string') continue
    if (path.trim() === '')
      throw usageError(
        `--${name} is empty: a variable in its place may not be set.`,
        `name a ${value === 'DIR' ? 'folder' : 'file'}, or leave --${name} out`,
      )
    if (path.startsWith('~'))
      throw usageError(
        `--${name} is "${printable(path)}", and nobody puts a folder in the place of ~ there.`,
        `write --${name} "$HOME/…", or the whole path.`,
      )
  }
}

/** A command as its help shows it. */
type Described = Omit<CommandSpec<Options>, 'run'>

const seeHelp = ({ name }: Described) => `see: rolekeeper ${name} --help`

function parse(parts: Described, args: readonly string[]) {
  const options: ParseArgsOptionsConfig = { help: { type: 'boolean', short: 'h' } }
  for (const [name, { short, value }] of Object.entries(parts.options)) {
    options[name] = {
      type: value === undefined ? 'boolean' : 'string',
      ...(short === undefined ? {} : { short }),
    }
  }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : ''
    const [, unknown] = /^Unknown option '([^']*)'/.exec(reason) ?? []
    if (unknown !== undefined) throw unknownOption(unknown, Object.keys(options), parts)
    const [, option] = /^Option '(?:-\w, )?(--[\w-]+)[^']*' argument is ambiguous/.exec(reason) ?? []
    if (option !== undefined) throw dashed(option, args[args.indexOf(option) + 1] ?? '', parts)
    // Node's first sentence names the option; the others explain how to quote, which our help does not need.
    const [sentence = ''] = cause instanceof Error ? cause.message.split(/\. |\n/) : []
    throw new RolekeeperError('usage', `${sentence.replace(/\.$/, '')}.`, { fix: seeHelp(parts), cause })
  }
}

const unknownOption = (word: string, known: readonly string[], parts: Described) =>
  usageError(
    `${printable(word)} is no option of ${parts.name}.`,
    `${perhaps(word.replace(/^-+/, ''), known, (near) => `--${near}`)}${seeHelp(parts)}`,
  )

/** What begins with a dash may be an option that stands where a value was meant to. */
const dashed = (option: string, value: string, parts: Described) =>
  usageError(
    `${option} is "${printable(value)}", which begins with a dash.`,
    `give its value without one; ${seeHelp(parts)}`,
  )

/** Write a command's help. Pure. */
function helpOf({ name, usage, help, options }: Described): string {
  const rows = Object.entries({ ...options, help: { help: 'show this', short: 'h' } as Option }).map(
    ([long, { short, value, help }]) =>
      [
        `${short === undefined ? '    ' : `-${short}, `}--${long}${value === undefined ? '' : ` ${value}`}`,
        help,
      ] as const,
  )
  const width = Math.max(...rows.map(([left]) => left.length))
  const lines = rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
  return `rolekeeper ${name} ${usage}`
    .trimEnd()
    .concat(`\n\n${help.trim()}\n\nOptions:\n${lines.join('\n')}\n`)
}

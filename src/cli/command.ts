import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { RolekeeperError } from '../errors.ts'

/** An option of a command: a switch, or with the name of its value. */
type Option = {
  readonly help: string
  readonly short?: string
  /** What the value is called in the help; absent for a switch. */
  readonly value?: string
}
type Options = Readonly<Record<string, Option>>

/** The options that were given: text for one with a value, true for a switch. */
type Given<O extends Options> = {
  readonly [name in keyof O]?: O[name] extends { readonly value: string } ? string : true
}

/** Where a command reads from and writes to. */
export type Io = {
  /** Standard output: what was asked for. */
  readonly out: (text: string) => void
  /** Standard error: what happens meanwhile. */
  readonly err: (text: string) => void
  readonly outIsTty: boolean
  readonly errIsTty: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What a command is, beside what it does. */
type Parts<O extends Options> = {
  readonly name: string
  /** What follows the name, for example `list | show ID`. */
  readonly usage: string
  /** A few lines: what it does, and an example. */
  readonly help: string
  readonly options: O
  /** How many arguments it takes beside its options. */
  readonly argumentsMax: number
  /** @returns the exit code. */
  readonly run: (given: Given<O>, args: readonly string[], io: Io) => Promise<number>
}

/**
 * One command of `rolekeeper`, run with what follows its name.
 * @returns the exit code.
 * @throws RolekeeperError `usage` for an option or argument that it does not take, and what it throws itself.
 */
export type Command = (args: readonly string[], io: Io) => Promise<number>

/** Make the error of a command line that is not understood; it exits with 2. */
export const usageError = (message: string, fix: string) => new RolekeeperError('usage', message, { fix })

/** Make a command of its parts; `--help` comes with it. */
export function command<const O extends Options>(parts: Parts<O>): Command {
  return async (args, io) => {
    const { values, positionals } = parse(parts, args)
    if (values.help === true) {
      io.out(helpOf(parts))
      return 0
    }
    const [tooMany] = positionals.slice(parts.argumentsMax)
    if (tooMany !== undefined) throw usageError(`There is no place for "${tooMany}".`, seeHelp(parts))
    return parts.run(values as Given<O>, positionals, io)
  }
}

/** A command as its help shows it. */
type Described = Omit<Parts<Options>, 'run'>

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
    // Node's first sentence names the option; the others explain how to quote, which our help does not need.
    const [sentence = ''] = cause instanceof Error ? cause.message.split(/\. |\n/) : []
    throw new RolekeeperError('usage', `${sentence.replace(/\.$/, '')}.`, { fix: seeHelp(parts), cause })
  }
}

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

/** Node's timers take 31 bits of milliseconds; one more fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * Read a duration: a whole number and a unit, `500ms`, `60s`, `10m` or `2h`; at most 596 hours.
 * @returns milliseconds.
 * @throws RolekeeperError `usage`.
 */
export function durationMs(option: string, text: string): number {
  const [, digits, unit = ''] = /^(\d{1,10})(ms|s|m|h)$/.exec(text) ?? []
  const ms = Number(digits) * ({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit] ?? Number.NaN)
  if (ms <= TIMER_MS_MAX) return ms
  throw usageError(
    `--${option} is "${text}".`,
    'give a number and a unit: 500ms, 60s, 10m or 2h; at most 596h',
  )
}

/** Where the state lives when nothing else is said. */
export const DIRECTORY = { help: 'where the state lives (default: .rolekeeper)', value: 'DIR' } as const
export const DEFAULT_DIRECTORY = '.rolekeeper'

/** The seed of the sandbox's weather. */
export const SEED = { help: 'of the weather: the same number tells the same story', value: 'N' } as const

/** How the sandbox's story goes. */
export const SCENARIO = {
  help: 'how the story goes: lively (the ordinary one), calm, volatile, crash-with-congestion, rate-spike, …',
  value: 'NAME',
} as const

/** What the sandbox's service does wrong. */
export const FAULT = {
  help: 'what the service does wrong, for rehearsals: {"latencyMs":200}, {"stream":{"drop":0.3}}, …',
  value: 'JSON',
} as const

/**
 * Read a seed.
 * @throws RolekeeperError `usage`.
 */
export function seedOf(text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,9}$/.test(text)) return text === undefined ? undefined : Number(text)
  throw usageError(`--seed is "${text}".`, 'give a whole number of at most 9 digits')
}

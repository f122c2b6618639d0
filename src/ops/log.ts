import { pino } from 'pino'
import { BrokenInvariant, printable, RolekeeperError } from '../errors.ts'
import { createScrubber, type Secrets } from './scrub.ts'

/** What may stand beside a message: flat and plain, so that nothing slips in with an object. */
export type Facts = Readonly<Record<string, string | number | bigint | boolean | null | undefined>>

/** Write one line of JSON. `message` is ours and constant; what varies is in `facts` and `error`. */
type LogLine = (message: string, facts?: Facts, error?: unknown) => void

/** A structured log. */
export type Log = Readonly<Record<'debug' | 'info' | 'warn' | 'error', LogLine>>

/** How a log is made. */
export type LogOptions = {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Values that must never leave: {@link createScrubber}. */
  readonly secrets: Secrets
  /** Takes whole lines: an outlet's, as nothing may end or stand still by what is only said. A silent log needs none. */
  readonly write?: (line: string) => void
}

/** A fact longer than this is cut; ours are shorter. */
const FACT_LENGTH_MAX = 500

/**
 * Create the log. Three fences: facts are an allowlist by their type and checked again here, an error gives its code,
 * sentence, facts and fix only, and every finished line passes the scrubber.
 */
export function createLog({ level, secrets, write = () => {} }: LogOptions): Log {
  const scrub = createScrubber(secrets)
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"at":"${new Date().toISOString()}"`,
      messageKey: 'message',
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => write(scrub(line)) },
  )
  const line =
    (at: keyof Log): LogLine =>
    (message, facts, error) =>
      logger[at](
        { ...plain(facts), ...(error === undefined ? {} : { error: describeError(error) }) },
        message,
      )
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}

function plain(facts: Facts = {}): Record<string, string | number | boolean | null> {
  const entries = Object.entries(facts).flatMap(
    ([name, value]): [string, string | number | boolean | null][] => {
      if (typeof value === 'string') return [[name, printable(value, FACT_LENGTH_MAX)]]
      if (typeof value === 'bigint') return [[name, String(value)]]
      return typeof value === 'number' || typeof value === 'boolean' || value === null ? [[name, value]] : []
    },
  )
  return Object.fromEntries(entries)
}

/**
 * Describe an error for a log. Another's error gives its name, its code and where it was thrown, never its message:
 * that may hold a URL with a key. Pure.
 */
function describeError(error: unknown, depth = 3): Record<string, unknown> {
  const cause =
    depth > 0 && error instanceof Error && error.cause !== undefined
      ? { cause: describeError(error.cause, depth - 1) }
      : {}
  if (error instanceof RolekeeperError) {
    const { code, shortMessage, facts, fix } = error
    return { code, message: printable(shortMessage, FACT_LENGTH_MAX), facts: plain(facts), fix, ...cause }
  }
  if (!(error instanceof Error)) return { name: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? { code: printable(error.code, 50) } : {}
  const message =
    error instanceof BrokenInvariant ? { message: printable(error.message, FACT_LENGTH_MAX) } : {}
  const stack = (error.stack ?? '').split('\n').filter((text) => /^\s+at /.test(text))
  return {
    name: printable(error.name, 50),
    ...code,
    ...message,
    at: stack.slice(0, 5).map((text) => text.trim()),
    ...cause,
  }
}

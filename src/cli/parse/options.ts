import { printable } from '../../errors.ts'
import { PROGRESS_STATES, TERMINAL_STATES } from '../../workflow/workflow.ts'
import { usageError } from './command.ts'

/** The states of workflows as commands show them: one that waits for a person is held, whatever it waits in. */
export const SHOWN_STATES: readonly string[] = ['held', ...PROGRESS_STATES, ...TERMINAL_STATES]

/** Node's timers take 31 bits of milliseconds; one more fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * Read a duration: a whole number and a unit, `500ms`, `60s`, `10m` or `2h`; at most 596 hours.
 * @returns milliseconds.
 * @throws RolekeeperError `usage`.
 */
export function durationMs(option: string, text: string): number {
  const ms = msOf(text)
  if (ms <= TIMER_MS_MAX) return ms
  throw usageError(
    `--${option} is "${text}".`,
    'give a number and a unit: 500ms, 60s, 10m or 2h; at most 596h',
  )
}

/**
 * Read how far to look back, milliseconds.
 * @param also what the option takes besides.
 * @throws RolekeeperError `usage`.
 */
export function lookBackMs(option: string, text: string, also = ''): number {
  const ms = msOf(text)
  if (!Number.isNaN(ms)) return ms
  throw usageError(
    `--${option} is "${printable(text)}".`,
    `give a number and a unit: 60s, 10m, 24h or 30d${also}`,
  )
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function msOf(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,10})([a-z]{1,2})$/.exec(text) ?? []
  return Number(digits) * (UNITS_MS[unit] ?? Number.NaN)
}

export const DIRECTORY = { help: 'where the state lives (default: .rolekeeper)', value: 'DIR' } as const

/** The seed of the sandbox's weather. */
export const SEED = { help: 'of the weather: the same number gives the same story', value: 'N' } as const

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

/** A refusal: a value with a stable name and a sentence that states the value and the limit. Never thrown. */
export type Refusal = { readonly ok: false; readonly check: string; readonly message: string }

/** A check passed, with what it established, or a refusal. */
export type Checked<T> = ({ readonly ok: true } & T) | Refusal

/** When an operation that failed may be tried again, unchanged. */
export type Retry = 'never' | 'now' | 'later'

/** What an operating error carries beside its sentence. */
type ErrorDetails = {
  /** What the operator should do, as an imperative sentence. */
  readonly fix?: string
  /** Values that are safe to log: never a secret, a URL with a key, or a vendor's message. */
  readonly facts?: Readonly<Record<string, string | number | boolean | null>>
  readonly retry?: Retry
  readonly cause?: unknown
}

/**
 * The one base of every operating error: something outside went wrong and an operator can act on it.
 * A refusal is a value, not an error; a broken invariant is an assert.
 */
export class RolekeeperError extends Error {
  override readonly name = 'RolekeeperError'
  /** A stable name, `area.what`, for logs, metrics and tests. */
  readonly code: string
  readonly shortMessage: string
  readonly fix: string | undefined
  readonly facts: Readonly<Record<string, string | number | boolean | null>>
  readonly retry: Retry

  constructor(code: string, shortMessage: string, details: ErrorDetails = {}) {
    const fix = details.fix
    super(fix === undefined ? shortMessage : `${shortMessage} Fix: ${fix}`, { cause: details.cause })
    this.code = code
    this.shortMessage = shortMessage
    this.fix = fix
    this.facts = details.facts ?? {}
    this.retry = details.retry ?? 'never'
  }
}

/** Stop the process's current step: an invariant of ours does not hold. Never used for bad input. */
export class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant'
}

/** Assert an invariant of ours. Throws {@link BrokenInvariant}; stays on in production. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new BrokenInvariant(message)
}

/** The service's own texts are at most 200 characters long. */
const LENGTH_MAX = 200

/**
 * Make a text that others wrote safe to show: control characters become spaces; bidirectional and other invisible
 * characters, and what a terminal would act on, go; the rest is cut at `lengthMax` characters. Pure.
 */
export function printable(text: string, lengthMax = LENGTH_MAX): string {
  const plain = text
    .slice(0, 4 * lengthMax)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cf}\p{Cs}\p{Co}]/gu, '')
    .trim()
  const letters = [...plain]
  return letters.length > lengthMax ? `${letters.slice(0, lengthMax - 1).join('')}…` : plain
}

/** Make a refusal. Pure. */
export const refuse = (check: string, message: string): Refusal => ({ ok: false, check, message })

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

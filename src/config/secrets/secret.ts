import { inspect } from 'node:util'

/** Values before the present one that the scrubber still takes out: what is in flight may carry them. */
const KEPT = 3

/** A value that never prints: not in a message, a log, JSON or an inspection. Only {@link Secret.reveal} gives it. */
export class Secret {
  #values: readonly string[]
  #accepts: ((value: string) => boolean) | undefined

  constructor(value: string) {
    this.#values = [value]
  }

  /** Give the value itself, to the one call that needs it now: a later call may be given another. */
  reveal(): string {
    return this.#values[0] ?? ''
  }

  /** Every value that it has and had of late, for the log's scrubber. */
  known(): readonly string[] {
    return this.#values
  }

  /** Demand something of every value that replaces this one. */
  demand(accepts: (value: string) => boolean): this {
    const before = this.#accepts
    this.#accepts = (value) => before?.(value) !== false && accepts(value)
    return this
  }

  /**
   * Take a new value, which the next call is given.
   * @returns whether it is what is demanded; if not, the value before stays.
   */
  replace(value: string): boolean {
    if (value === this.reveal()) return true
    if (this.#accepts?.(value) === false) return false
    this.#values = [value, ...this.#values].slice(0, KEPT + 1)
    return true
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}

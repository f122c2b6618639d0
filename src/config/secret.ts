import { inspect } from 'node:util'

/** A value that never prints: not in a message, a log, JSON or an inspection. Only {@link Secret.reveal} gives it. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Give the value itself, to the one call that needs it. */
  reveal(): string {
    return this.#value
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

import type { CanonicalChange } from './canonical.ts'

/** A row reduced to what makes a change of it worth an event. */
export type ChangeRow = {
  readonly eventType: string
  readonly subject: string
  readonly data: CanonicalChange['data']
  /** Equal prints mean: nothing but interest by the second has moved. */
  readonly print: string
}

/** Write what makes a change as one text. Pure. */
export const print = (...parts: readonly unknown[]): string => parts.map(String).join('|')

import type { Freshness } from '../service/resources.ts'

/** A whole collection as the client gives it: `dropped` rows could not be read and are not among the items. */
export type Listed<T> = {
  readonly items: readonly T[]
  readonly freshness: Freshness
  readonly dropped: number
}

/** A collection's read. */
export type List<T> = () => Promise<Listed<T>>

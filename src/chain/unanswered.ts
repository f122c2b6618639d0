import type { Clock } from '../clock.ts'
import type { RolekeeperError } from '../errors.ts'
import type { Unanswered } from './nodes.ts'

/** What the nodes were asked for in vain, by method. */
export type UnansweredMethods = {
  /** Enough nodes gave the same answer. */
  readonly answered: (method: string) => void
  readonly failed: (method: string, error: RolekeeperError) => void
  /** Each method that was asked for more than once since its last answer, the longest first. */
  readonly list: () => readonly Unanswered[]
}

/** Keep since when each method has had no answer that counts. One failure says nothing: a block may just be gone. */
export function createUnanswered({ monotonicMs }: Pick<Clock, 'monotonicMs'>): UnansweredMethods {
  const failing = new Map<string, Unanswered & { readonly count: number }>()
  return {
    answered: (method) => void failing.delete(method),
    failed: (method, error) => {
      const last = failing.get(method)
      const sinceMs = last?.sinceMs ?? monotonicMs()
      failing.set(method, { method, sinceMs, error, count: (last?.count ?? 0) + 1 })
    },
    list: () => [...failing.values()].filter(({ count }) => count > 1),
  }
}

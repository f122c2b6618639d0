import type { FailureStatus } from './api-error.ts'

/** A way to prepare what nobody asked for: the guard must refuse each. */
export type Hostility = 'foreign_target' | 'larger_approval' | 'changed_recipient'

/** What the service does wrong on purpose, for tests and benchmarks. An empty object is good behaviour. */
export type Fault = {
  /** Wait this long before every answer. */
  readonly latencyMs?: number
  /** Do what is asked on a path that matches, then cut the connection instead of answering. */
  readonly dropReply?: RegExp
  /** Answer this status on a path that matches, and do nothing. */
  readonly fail?: { readonly path: RegExp; readonly status: FailureStatus }
  readonly hostile?: Hostility
}

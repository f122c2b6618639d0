import type { Workflow } from './workflow.ts'

/**
 * What one step of a workflow came to: `moved` (write this record and go on at once), `written` (the same, and the
 * journal has it already), or `wait` (nothing to do until something happens, or so many milliseconds are over).
 */
export type Step =
  | { readonly type: 'moved'; readonly workflow: Workflow }
  | { readonly type: 'written'; readonly workflow: Workflow }
  | { readonly type: 'wait'; readonly ms: number }

/** Pure. */
export const moved = (workflow: Workflow): Step => ({ type: 'moved', workflow })

/** Pure. */
export const wait = (ms: number): Step => ({ type: 'wait', ms })

/** How soon a gate that holds something is asked again. */
export const HELD_MS = 500

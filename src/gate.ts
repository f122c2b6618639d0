import { type Refusal, refuse } from './workflow/verdict.ts'

/** What may stop a signature, read in the same turn before every KMS call and every first send. */
export type Gate = {
  /** No KMS call and no first send: the kill switch, or a signer in SAFE. */
  readonly closed: boolean
  /** Nothing new; what is public is still bumped and closed. */
  readonly paused: boolean
}

/** Why nothing new may begin, or null. Pure. */
export const stopped = (gate: Gate): Refusal | null => {
  if (gate.closed) return refuse('killed', 'The kill switch is on.')
  return gate.paused ? refuse('paused', 'The keeper is paused.') : null
}

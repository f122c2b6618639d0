import { type Refusal, refuse } from '../../errors.ts'
import { plural, span } from '../../readable.js'
import type { FrozenAnswer } from '../../workflow/workflow.ts'
import type { Freshness } from '../policy/policy.ts'

/**
 * Find when an answer ends, capped by our own policy, and from when nothing of it may be sent for the first time.
 * Unix milliseconds. Pure.
 */
export function lifetimeOf(
  { answer, receivedAtMs }: FrozenAnswer,
  { lifetimeMsMax, expiryMarginMs }: Freshness,
): { readonly endsAtMs: number; readonly notAfterMs: number } {
  const endsAtMs = Math.min(Date.parse(answer.expiresAt), receivedAtMs + lifetimeMsMax)
  return { endsAtMs, notAfterMs: endsAtMs - expiryMarginMs }
}

/** Refuse an answer whose snapshot is too old, or that has ended. Pure. */
export function checkAnswerAge(
  { answer, receivedAtMs }: FrozenAnswer,
  { ageMsMax, expiryMarginMs }: Freshness,
  notAfterMs: number,
  nowMs: number,
): Refusal | null {
  const ageMs = answer.preflight.freshness.lagSeconds * 1_000 + Math.max(0, nowMs - receivedAtMs)
  if (ageMs > ageMsMax) {
    return refuse(
      'stale_snapshot',
      `The snapshot is ${span(ageMs)} old; the policy allows ${span(ageMsMax)}. Fix: check the service's indexer lag, or raise freshness.ageMax.`,
    )
  }
  if (nowMs < notAfterMs) return null
  return refuse(
    'expired',
    `The answer ended ${span(nowMs - notAfterMs)} ago, ${span(expiryMarginMs)} of margin counted.`,
  )
}

/**
 * Refuse our node's head when it is older than the policy allows by our clock, or further ahead of it: by a clock that
 * is behind the chain's everything is young. Pure.
 */
export function checkHeadAge(
  timestampS: number,
  { headAgeMsMax }: Pick<Freshness, 'headAgeMsMax'>,
  nowMs: number,
): Refusal | null {
  const ageMs = nowMs - timestampS * 1_000
  if (ageMs > headAgeMsMax) {
    return refuse(
      'head_stale',
      `Our node's head is ${span(ageMs)} old; the policy allows ${span(headAgeMsMax)}. Fix: check the node, or raise freshness.headAgeMax.`,
    )
  }
  if (-ageMs <= headAgeMsMax) return null
  return refuse(
    'clock_behind',
    `Our clock is ${span(-ageMs)} behind our node's head; the policy allows ${span(headAgeMsMax)}. Fix: set the clock.`,
  )
}

/** Refuse when the service's snapshot and our node's head are too many blocks apart, either way. Pure. */
export function checkBlockLag(
  headNumber: bigint,
  snapshotNumber: bigint,
  { blockLagMax }: Freshness,
): Refusal | null {
  const lag = headNumber - snapshotNumber
  if (lag > blockLagMax) {
    return refuse(
      'snapshot_behind',
      `The service's snapshot is ${plural(lag, 'block')} behind our node; the policy allows ${blockLagMax}.`,
    )
  }
  if (-lag <= blockLagMax) return null
  return refuse(
    'node_behind',
    `Our node is ${-lag} blocks behind the service's snapshot; the policy allows ${blockLagMax}.`,
  )
}

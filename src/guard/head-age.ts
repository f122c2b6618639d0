import { type Refusal, refuse } from '../errors.ts'
import type { Ruleset } from './ruleset.ts'

/**
 * Judge the age of our node's head by our clock: null when it is neither older than the policy allows nor further ahead,
 * for by a clock that is behind the chain's everything is young. Pure.
 */
export function checkHeadAge(
  timestampS: number,
  { headAgeMsMax }: Pick<Ruleset['freshness'], 'headAgeMsMax'>,
  nowMs: number,
): Refusal | null {
  const ageMs = nowMs - timestampS * 1_000
  if (ageMs > headAgeMsMax) {
    return refuse(
      'head_stale',
      `Our node's head is ${ageMs} ms old; the policy allows ${headAgeMsMax} ms. Fix: check the node, or raise freshness.headAgeMsMax.`,
    )
  }
  if (-ageMs <= headAgeMsMax) return null
  return refuse(
    'clock_behind',
    `Our clock is ${-ageMs} ms behind our node's head; the policy allows ${headAgeMsMax} ms. Fix: set the clock.`,
  )
}

import { describe, expect, it } from 'vitest'
import {
  checkAnswerAge,
  checkBlockLag,
  checkHeadAge,
  lifetimeOf,
} from '../../../src/guard/checks/freshness.ts'
import { freeze, liquidationAnswer, NOW_MS } from '../fixtures.ts'

const FRESHNESS = {
  ageMsMax: 20_000,
  blockLagMax: 15n,
  headAgeMsMax: 30_000,
  expiryMarginMs: 3_000,
  lifetimeMsMax: 60_000,
}

const answerOf = (lagSeconds: number) => {
  const answer = liquidationAnswer()
  const { preflight } = answer
  return freeze({ ...answer, preflight: { ...preflight, freshness: { ...preflight.freshness, lagSeconds } } })
}
const ageAt = (lagSeconds: number, nowMs: number) =>
  checkAnswerAge(answerOf(lagSeconds), FRESHNESS, NOW_MS + 27_000, nowMs)?.check ?? 'fresh'

describe('the age of an answer', () => {
  it('is never less than what the service admits, whatever our clock does', () => {
    expect(ageAt(20, NOW_MS - 5_000)).toBe('fresh')
    expect(ageAt(21, NOW_MS - 5_000)).toBe('stale_snapshot')
  })

  it('is what the service admits, and the time since it came', () => {
    expect(ageAt(1, NOW_MS + 19_000)).toBe('fresh')
    expect(ageAt(1, NOW_MS + 19_001)).toBe('stale_snapshot')
  })

  it('ends with the answer, at the millisecond', () => {
    const until = { ...FRESHNESS, ageMsMax: 60_000 }
    const at = (nowMs: number) => checkAnswerAge(answerOf(0), until, NOW_MS + 27_000, nowMs)?.check ?? 'fresh'
    expect([at(NOW_MS + 26_999), at(NOW_MS + 27_000)]).toEqual(['fresh', 'expired'])
  })

  it('is bounded by our policy, or by the answer where that ends first', () => {
    expect(lifetimeOf(answerOf(0), FRESHNESS)).toEqual({
      endsAtMs: NOW_MS + 30_000,
      notAfterMs: NOW_MS + 27_000,
    })
    const shorter = { ...FRESHNESS, lifetimeMsMax: 10_000 }
    expect(lifetimeOf(answerOf(0), shorter)).toEqual({
      endsAtMs: NOW_MS + 10_000,
      notAfterMs: NOW_MS + 7_000,
    })
  })
})

describe('our head', () => {
  const at = (ageMs: number) => checkHeadAge((NOW_MS - ageMs) / 1_000, FRESHNESS, NOW_MS)?.check ?? 'fresh'

  it('may be as old as the policy allows, or as far ahead of our clock', () => {
    expect([at(30_000), at(30_001), at(-30_000), at(-30_001)]).toEqual([
      'fresh',
      'head_stale',
      'fresh',
      'clock_behind',
    ])
  })

  it('may be so many blocks from the snapshot, either way', () => {
    const lag = (head: bigint) => checkBlockLag(head, 100n, FRESHNESS)?.check ?? 'near'
    expect([lag(115n), lag(116n), lag(85n), lag(84n)]).toEqual([
      'near',
      'snapshot_behind',
      'near',
      'node_behind',
    ])
  })
})

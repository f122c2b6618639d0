import { expect, it } from 'vitest'
import { createAccess, linkOf } from '../../../src/ops/console/access.ts'

const MINUTE_MS = 60_000
const secret = '5e'.repeat(32)
const place = { url: 'http://127.0.0.1:9466', secret }

/** Links as a command makes them, and what judges them, by clocks that a test sets. */
function scene() {
  const clock = { nowMs: Date.parse('2026-01-01T00:00:00Z'), monotonicMs: 0 }
  const later = (ms: number) => {
    clock.nowMs += ms
    clock.monotonicMs += ms
  }
  const link = () => decodeURIComponent(linkOf(place, 'anna', clock.nowMs).split('#')[1] ?? '')
  const access = createAccess(secret, { nowMs: () => clock.nowMs, monotonicMs: () => clock.monotonicMs })
  return { clock, later, link, access }
}

it('lets nobody in by a link of before its start, one that was used, or one of ten minutes ago', () => {
  const { clock, later, link } = scene()
  const before = link()
  later(1)
  const started = createAccess(secret, {
    nowMs: () => clock.nowMs,
    monotonicMs: () => clock.monotonicMs,
  })
  expect(started.enter(before)).toBeNull()
  const [used, old] = [link(), link()]
  expect(started.enter(used)).toMatchObject({ user: 'anna' })
  expect(started.enter(used)).toBeNull()
  later(10 * MINUTE_MS + 1)
  expect(started.enter(old)).toBeNull()
})

it.each([-60, 60])('lets people in after somebody set the clock by %d minutes', (minutes) => {
  const { clock, later, link, access } = scene()
  later(MINUTE_MS)
  clock.nowMs += minutes * MINUTE_MS
  expect(access.enter(link())).toMatchObject({ user: 'anna' })
})

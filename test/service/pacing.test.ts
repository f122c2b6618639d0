import { expect, test } from 'vitest'
import { createPacer, retryAfterMs } from '../../src/service/pacing.ts'
import { leapingClock } from './clocks.ts'

const limit = (remaining: number, reset: number) => ({
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(reset),
})

test('reads both forms of Retry-After', () => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z')
  expect(retryAfterMs('3', nowMs)).toBe(3_000)
  expect(retryAfterMs('Thu, 01 Jan 2026 00:00:07 GMT', nowMs)).toBe(7_000)
})

test('takes a date in the past as now, and what is neither form as nothing', () => {
  const nowMs = Date.parse('2026-01-01T00:00:00Z')
  expect(retryAfterMs('Wed, 31 Dec 2025 23:59:59 GMT', nowMs)).toBe(0)
  for (const value of [undefined, '', '-1', '1.5', '2026-01-02', 'Foo, 99 Bar 2026 GMT', '9'.repeat(400)])
    expect(retryAfterMs(value, nowMs)).toBeUndefined()
})

test('sends at once until nothing remains, then not before the reset', () => {
  const clock = leapingClock()
  const pacer = createPacer(clock)
  pacer.sent()(limit(1, 2))
  expect(pacer.delayMs()).toBe(0)
  pacer.sent()
  expect(pacer.delayMs()).toBe(2_000)
  clock.leap(1_999)
  expect(pacer.delayMs()).toBe(1)
  clock.leap(1)
  expect(pacer.delayMs()).toBe(0)
})

test('counts requests in flight against what remains', () => {
  const pacer = createPacer(leapingClock())
  const [first] = [pacer.sent(), pacer.sent(), pacer.sent()]
  first?.(limit(2, 5))
  expect(pacer.delayMs()).toBe(5_000)
})

test('closes for no longer than a minute, whatever the headers ask', () => {
  const pacer = createPacer(leapingClock())
  pacer.sent()({ 'retry-after': '999999999', ...limit(0, 999_999_999) })
  expect(pacer.delayMs()).toBe(60_000)
})

test('ignores headers that are not integers', () => {
  const pacer = createPacer(leapingClock())
  pacer.sent()({ 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': 'NaN', 'retry-after': 'soon' })
  expect(pacer.delayMs()).toBe(0)
})

import { expect, it } from 'vitest'
import { createWatch } from '../../src/fleet/watch.ts'

it('counts from when an answer came to when the next was asked for', () => {
  const watch = createWatch(100)
  watch.see('a', 0, 10)
  expect(watch.unchangedMs()).toBe(0)
  watch.see('a', 60, 75)
  expect(watch.unchangedMs()).toBe(50)
  watch.see('a', 160, 161)
  expect(watch.unchangedMs()).toBe(150)
  expect(watch.changedWithin(1_000)).toBe(false)
  watch.see('b', 200, 210)
  expect([watch.unchangedMs(), watch.changedWithin(0)]).toEqual([0, true])
  watch.see('b', 290, 291)
  expect([watch.changedWithin(79), watch.changedWithin(80)]).toEqual([false, true])
})

it('begins anew after a pause of more than it may be, and not at it', () => {
  const watch = createWatch(100)
  watch.see('a', 0, 0)
  watch.see('a', 100, 100)
  expect(watch.unchangedMs()).toBe(100)
  watch.see('a', 201, 205)
  expect(watch.unchangedMs()).toBe(0)
  // That the same was there then and now is no change.
  expect(watch.changedWithin(1_000)).toBe(false)
})

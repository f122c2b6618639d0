import { expect, it } from 'vitest'
import { createEarned } from '../../../src/keeper/money/earned.ts'

it('adds up what came in dollars, and keeps the newest of a bounded line', () => {
  let nowMs = 0
  const earned = createEarned(() => nowMs)
  const account = { moved: 2_000_000n, gas: -500_000n, positions: 250_000n, marked: 1_000_000n }
  for (let second = 1; second <= 10_000; second += 1) {
    nowMs = second * 1_000
    earned.add('liquidator', account)
  }
  const [times = [], ...columns] = earned.points()
  expect(times.length).toBeLessThanOrEqual(1_000)
  expect([times[0], times.at(-1), ...columns.map((column) => column.at(-1))]).toEqual([
    ...[0, 10_000],
    ...[17_500, 10_000, -5_000],
  ])
  expect(times).toEqual(times.toSorted((one, other) => one - other))
})

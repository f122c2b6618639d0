import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BestSet, bestSet } from '../../../agents/liquidator/best-set.ts'
import type { Limits, Option } from '../../../agents/liquidator/pricing.ts'
import { bestKnowable } from '../../judgement/liquidator-optimum.ts'

const FLOOR = 3.5
const FIXED = 2.5

const options = (maxLength: number) =>
  fc.array(
    fc.record({
      group: fc.nat(maxLength),
      most: fc.double({ min: 200, max: 50_000, noNaN: true }),
      gain: fc.double({ min: 0.02, max: 0.09, noNaN: true }),
      growth: fc.constantFrom(0, 1e-8, 2e-7),
      // Of one collateral, at the bonus of one market or another.
      seizes: fc.constantFrom(1 / 60_000, 1.04 / 60_000),
    }),
    { minLength: 1, maxLength },
  )
const limits = fc.record({
  cash: fc.double({ min: 0, max: 120_000, noNaN: true }),
  rooms: fc.tuple(fc.double({ min: 0, max: 1.5, noNaN: true }), fc.double({ min: 0, max: 1.5, noNaN: true })),
  countMax: fc.integer({ min: 0, max: 6 }),
})

/** Groups lie in one room; of what does not pay there is none. */
const optionsOf = (drawn: readonly Omit<Option, 'room' | 'fixed' | 'least'>[]): readonly Option[] =>
  drawn.flatMap((one) => {
    const { gain, growth } = one
    const most = growth > 0 ? Math.min(one.most, gain / (2 * growth)) : one.most
    const least = (2 * FLOOR) / (gain + Math.sqrt(Math.max(0, gain ** 2 - 4 * growth * FLOOR)))
    return least > most ? [] : [{ ...one, most, least, room: one.group % 2, fixed: FIXED }]
  })

const choicesOf = (all: readonly Option[]) =>
  all.map(({ group, room, seizes, ...rest }) => ({
    ...{ position: String(group), room: String(room), takes: seizes },
    ...rest,
  }))
const shared = ({ cash, rooms, countMax }: Limits) => ({
  ...{ cash, countMax },
  rooms: new Map(rooms.map((room, index) => [String(index), room])),
})

function expectFits({ sizes }: BestSet, all: readonly Option[], { cash, rooms, countMax }: Limits): void {
  const used = (room?: number) =>
    all.reduce(
      (sum, option, index) =>
        sum + (room === undefined ? 1 : option.room === room ? option.seizes : 0) * (sizes[index] ?? 0),
      0,
    )
  const taken = all.filter((_, index) => (sizes[index] ?? 0) > 0)
  expect(used()).toBeLessThanOrEqual(cash * (1 + 1e-9))
  for (const [room, limit] of rooms.entries()) expect(used(room)).toBeLessThanOrEqual(limit * (1 + 1e-9))
  expect(taken.length).toBeLessThanOrEqual(countMax)
  expect(new Set(taken.map(({ group }) => group)).size).toBe(taken.length)
  for (const [index, { least, most }] of all.entries()) {
    const size = sizes[index] ?? 0
    expect(size === 0 || (size >= least * (1 - 1e-9) && size <= most * (1 + 1e-9))).toBe(true)
  }
}

describe('the best set', () => {
  it('is as good as the best of all subsets, fits, and is bounded', () => {
    fc.assert(
      fc.property(options(5), limits, (drawn, within) => {
        const all = optionsOf(drawn)
        const found = bestSet(all, within)
        expectFits(found, all, within)
        const best = bestKnowable(choicesOf(all), shared(within))
        expect(found.value).toBeGreaterThanOrEqual(best * (1 - 1e-4) - 0.01)
        expect(found.bound).toBeGreaterThanOrEqual(best * (1 - 1e-6))
      }),
      { numRuns: 1_000 },
    )
  })

  it('of two hundred is within a thousandth of its bound', () => {
    fc.assert(
      fc.property(fc.infiniteStream(options(1)), (stream) => {
        const drawn = [...stream.take(200)].flatMap(([one], group) =>
          one === undefined ? [] : [{ ...one, group }],
        )
        const all = optionsOf(drawn)
        const within = { cash: 1_000_000, rooms: [6, 5], countMax: 300 }
        const found = bestSet(all, within)
        expectFits(found, all, within)
        expect(found.bound).toBeLessThanOrEqual(found.value * 1.001)
      }),
      { numRuns: 20 },
    )
  })

  it('is nothing where nothing fits', () => {
    const [one] = optionsOf([{ group: 0, most: 1_000, gain: 0.05, growth: 0, seizes: 1 }])
    const none = (within: Limits) => bestSet(one === undefined ? [] : [one], within).value
    expect(none({ cash: 1_000, rooms: [1_000], countMax: 1 })).toBeCloseTo(47.5, 6)
    expect(none({ cash: 0, rooms: [1_000], countMax: 1 })).toBe(0)
    expect(none({ cash: 1_000, rooms: [0], countMax: 1 })).toBe(0)
    expect(none({ cash: 1_000, rooms: [1_000], countMax: 0 })).toBe(0)
    expect(none({ cash: 69, rooms: [1_000], countMax: 1 })).toBe(0)
    expect(none({ cash: 71, rooms: [1_000], countMax: 1 })).toBeCloseTo(1.05, 6)
    expect(bestSet([], { cash: 1, rooms: [], countMax: 1 })).toMatchObject({ sizes: [], value: 0, bound: 0 })
  })
})

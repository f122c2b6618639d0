import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BestSet, bestSet } from '../../../agents/liquidator/best-set.ts'
import type { Limits, Option } from '../../../agents/liquidator/pricing.ts'
import { bestKnowable } from '../../lab/judgement/liquidator-optimum.ts'

const FLOOR = 3.5
const FIXED = 2.5

const options = (maxLength: number) =>
  fc.array(
    fc.record({
      group: fc.nat(maxLength),
      most: fc.integer({ min: 200, max: 50_000 }),
      gain: fc.double({ min: 0.02, max: 0.09, noNaN: true }),
      // Of one collateral, at the bonus of one market or another.
      seizes: fc.constantFrom(1 / 60_000, 1.04 / 60_000),
    }),
    { minLength: 1, maxLength },
  )
/** Two collaterals of $60,000 a unit, of which a million dollars lose 0, 1 or 20 % more. */
const room = fc.record({
  most: fc.integer({ min: 0, max: 1_500 }).map((thousandths) => thousandths / 1_000),
  held: fc.constantFrom(0, 0.2, 1.5),
  growth: fc.constantFrom(0, 36, 720),
})
const limits = fc.record({
  cash: fc.integer({ min: 0, max: 120_000 }),
  rooms: fc.tuple(room, room),
  countMax: fc.integer({ min: 0, max: 6 }),
  floor: fc.constant(FLOOR - FIXED),
})

/** Groups lie in one room; of what does not pay beside what is held there is none. */
const optionsOf = (
  drawn: readonly Omit<Option, 'room' | 'fixed' | 'least'>[],
  rooms: Limits['rooms'],
  needed = FLOOR,
): readonly Option[] =>
  drawn.flatMap((one) => {
    const at = one.group % 2
    const { held = 0, growth = 0 } = rooms[at] ?? {}
    const slope = one.gain - 2 * growth * held * one.seizes
    const square = growth * one.seizes ** 2
    const most = square > 0 ? Math.min(one.most, slope / (2 * square)) : one.most
    const least = (2 * needed) / (slope + Math.sqrt(Math.max(0, slope ** 2 - 4 * square * needed)))
    return least > 0 && least <= most ? [{ ...one, most, least, room: at, fixed: FIXED }] : []
  })

const choicesOf = (all: readonly Option[]) =>
  all.map(({ group, room, seizes, ...rest }) => ({
    position: String(group),
    room: String(room),
    takes: seizes,
    ...rest,
  }))
const shared = ({ rooms, ...limits }: Limits) => ({
  ...limits,
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
  for (const [at, { most }] of rooms.entries()) expect(used(at)).toBeLessThanOrEqual(most * (1 + 1e-9))
  expect(taken.length).toBeLessThanOrEqual(countMax)
  expect(new Set(taken.map(({ group }) => group)).size).toBe(taken.length)
  for (const [index, { least, most }] of all.entries()) {
    const size = sizes[index] ?? 0
    expect(size === 0 || (size >= least * (1 - 1e-9) && size <= most * (1 + 1e-9))).toBe(true)
  }
}

const GRID = 100

/** What one or two options bring at most, each at least the floor: every pair of sizes on a grid is tried. */
function bestPair(all: readonly Option[], { rooms, floor, cash }: Limits): number {
  const [one, other] = all
  const sizesOf = ({ least, most }: Option) => [
    0,
    ...Array.from({ length: GRID + 1 }, (_, step) => least + ((most - least) * step) / GRID),
  ]
  const brings = ({ room, gain, seizes, fixed }: Option, size: number, besideUnits: number) => {
    const { most = 0, held = 0, growth = 0 } = rooms[room] ?? {}
    const units = besideUnits + seizes * size
    const value = (gain - growth * (2 * held + units) * seizes) * size - fixed
    return size === 0 ? 0 : units <= most && value >= floor ? value : Number.NEGATIVE_INFINITY
  }
  let best = 0
  for (const x of one === undefined ? [0] : sizesOf(one)) {
    const rest = other === undefined ? [0] : [...sizesOf(other), Math.min(other.most, cash - x)]
    for (const y of rest) {
      if (x + y > cash || (y > 0 && y < (other?.least ?? 0))) continue
      const isShared = one?.room === other?.room
      const beside = (option: Option | undefined, size: number) =>
        isShared ? (option?.seizes ?? 0) * size : 0
      const first = one === undefined ? 0 : brings(one, x, beside(other, y))
      const second = other === undefined ? 0 : brings(other, y, beside(one, x))
      best = Math.max(best, first + second)
    }
  }
  return best
}

describe('the best set', () => {
  it('is as good as the best of all subsets, fits, and is bounded', () => {
    fc.assert(
      fc.property(options(5), limits, (drawn, within) => {
        const all = optionsOf(drawn, within.rooms)
        const found = bestSet(all, within)
        expectFits(found, all, within)
        const best = bestKnowable(choicesOf(all), shared(within))
        expect(found.value).toBeGreaterThanOrEqual(best * (1 - 1e-4) - 0.01)
        expect(found.bound).toBeGreaterThanOrEqual(best * (1 - 1e-6))
      }),
      { numRuns: 1_000 },
    )
  })

  it('of two is as good as the best pair of sizes at which each brings the floor', () => {
    const one = fc.record({
      most: fc.integer({ min: 200, max: 50_000 }),
      gain: fc.double({ min: 0.02, max: 0.09, noNaN: true }),
      seizes: fc.constant(1 / 60_000),
    })
    const within = fc.record({
      cash: fc.integer({ min: 1_000, max: 100_000 }),
      rooms: fc.tuple(room, room),
      countMax: fc.constant(2),
      floor: fc.integer({ min: 1, max: 200 }),
    })
    fc.assert(
      fc.property(fc.tuple(one, one), fc.boolean(), within, (drawn, isShared, limits) => {
        // Of groups 0 and 2 the collateral is the same.
        const apart = drawn.map((each, index) => ({ ...each, group: isShared ? 2 * index : index }))
        const all = optionsOf(apart, limits.rooms, limits.floor + FIXED)
        const found = bestSet(all, limits)
        expectFits(found, all, limits)
        const best = bestPair(all, limits)
        expect(found.value).toBeGreaterThanOrEqual(best - 0.01)
        expect(found.bound).toBeGreaterThanOrEqual(best - 0.01)
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
        const rooms = [
          { most: 6, held: 0, growth: 0 },
          { most: 50, held: 1, growth: 36 },
        ]
        const all = optionsOf(drawn, rooms)
        const within = { cash: 1_000_000, rooms, countMax: 300, floor: FLOOR - FIXED }
        const found = bestSet(all, within)
        expectFits(found, all, within)
        expect(found.bound).toBeLessThanOrEqual(found.value * 1.001)
      }),
      { numRuns: 20 },
    )
  })

  it('is nothing where nothing fits', () => {
    const none = (changes: Partial<Limits> = {}) => {
      const within = { cash: 1_000, rooms: [depth(1_000)], countMax: 1, floor: 1, ...changes }
      return bestSet(optionsOf([{ group: 0, most: 1_000, gain: 0.05, seizes: 1 }], within.rooms), within)
        .value
    }
    expect(none()).toBeCloseTo(47.5, 6)
    expect(none({ cash: 0 })).toBe(0)
    expect(none({ rooms: [depth(0)] })).toBe(0)
    expect(none({ countMax: 0 })).toBe(0)
    expect(none({ cash: 69 })).toBe(0)
    expect(none({ cash: 71 })).toBeCloseTo(1.05, 6)
    const nothing = { cash: 1, rooms: [], countMax: 1, floor: 1 }
    expect(bestSet([], nothing)).toMatchObject({ sizes: [], value: 0, bound: 0 })
  })

  it('sells all of a collateral at one depth, with what is held', () => {
    // Each dollar brings 0.05 and loses 10⁻⁵ for each other dollar sold: 2,500 of them bring most, and 62.50.
    const options = [0, 1, 2].map((group) => ({ group, most: 1_000, gain: 0.05, seizes: 1 }))
    const value = (held: number) => {
      const rooms = [{ ...depth(10_000), held, growth: 1e-5 }]
      return bestSet(
        optionsOf(options, rooms).map((one) => ({ ...one, room: 0 })),
        {
          cash: 10_000,
          rooms,
          countMax: 5,
          floor: 1,
        },
      ).value
    }
    expect(value(0)).toBeCloseTo(62.5 - 3 * FIXED, 3)
    // 1,500 are left of the best 2,500: 1,500 × 0.05 − 10⁻⁵ × 1,500 × 3,500.
    expect(value(1_000)).toBeCloseTo(22.5 - 2 * FIXED, 3)
    expect(value(2_500)).toBe(0)
  })
})

const depth = (most: number) => ({ most, held: 0, growth: 0 })

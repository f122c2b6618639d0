import fc from 'fast-check'
import { expect, it } from 'vitest'
import { assign, fingerprintOnDuty } from '../../src/fleet/assign.ts'

const seatsOf = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `s${index}` }))
const named = (...names: string[]) => names.map((name) => ({ name }))
const countsOf = (assigned: ReadonlyMap<string, string>) => {
  const counts = new Map<string, number>()
  for (const name of assigned.values()) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
const movesOf = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) =>
  [...after].filter(([seat, to]) => before.has(seat) && before.get(seat) !== to).length

it('spreads seats evenly, moves as few as that needs, and then none', () => {
  const names = fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c', 'd', 'e'), { minLength: 1 })
  const held = fc.array(fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'gone')), { maxLength: 12 })
  fc.assert(
    fc.property(names, held, (able, holding) => {
      const seats = seatsOf(holding.length)
      const pairs = holding.flatMap((to, index) => (to === null ? [] : [[`s${index}`, to] as const]))
      const before = new Map(pairs)
      const after = assign(seats, before, named(...able))
      expect(after.size).toBe(seats.length)
      const counts = able.map((name) => countsOf(after).get(name) ?? 0)
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      expect(assign(seats, after, named(...able))).toEqual(after)
      // Whatever order each instance lists them in.
      expect(assign(seats.toReversed(), before, named(...able.toReversed()))).toEqual(after)
      const kept = countsOf(new Map(pairs.filter(([, to]) => able.includes(to))))
      const share = Math.ceil(seats.length / able.length)
      const must = pairs.length - [...kept.values()].reduce((sum, count) => sum + Math.min(count, share), 0)
      expect(movesOf(before, after)).toBeLessThanOrEqual(must + able.length)
    }),
  )
})

it('leaves a seat where it is while another has one fewer', () => {
  const holders = new Map([
    ['s0', 'a'],
    ['s1', 'a'],
    ['s2', 'b'],
  ])
  expect(assign(seatsOf(3), holders, named('a', 'b'))).toEqual(holders)
})

it('puts a seat into the zone that it prefers, and elsewhere where nobody is in it', () => {
  const seats = [{ name: 's0', zone: 'west' }, { name: 's1', zone: 'west' }, { name: 's2' }]
  const east = { name: 'a', zone: 'east' }
  const west = { name: 'b', zone: 'west' }
  const alone = assign(seats, new Map(), [east])
  expect([...alone.values()]).toEqual(['a', 'a', 'a'])
  expect(assign(seats, alone, [east, west])).toEqual(
    new Map([
      ['s0', 'b'],
      ['s1', 'b'],
      ['s2', 'a'],
    ]),
  )
})

it('lets those work that came first, and whoever holds a seat before them', () => {
  const instance = (name: string, arrived: number, isAble = true) => ({
    name,
    arrived,
    isAble,
    fingerprint: `of ${name}`,
    incarnation: '',
    beat: '1',
    release: '',
    seenS: 0,
    lagMs: 0,
    killed: false,
    paused: false,
  })
  const [one, two] = [instance('one', 3), instance('two', 7)]
  expect(fingerprintOnDuty([two, one], new Set())).toBe('of one')
  expect(fingerprintOnDuty([two, one], new Set(['two']))).toBe('of two')
  expect(fingerprintOnDuty([two, one], new Set(['two', 'one']))).toBe('of one')
  expect(fingerprintOnDuty([two, instance('one', 3, false)], new Set(['gone']))).toBe('of two')
  expect(fingerprintOnDuty([], new Set())).toBe(null)
  // A narrower policy goes before, among those who hold a seat: what it keeps down nobody else may work by.
  const tightened = { ...two, tightened: 1 }
  expect(fingerprintOnDuty([tightened, one], new Set(['two', 'one']))).toBe('of two')
  expect(fingerprintOnDuty([tightened, one], new Set(['one']))).toBe('of one')
  expect(fingerprintOnDuty([tightened, { ...one, tightened: 2 }], new Set(['two', 'one']))).toBe('of one')
})

it('comes to rest by single moves, in whatever order they are made, with and without zones', () => {
  const zone = fc.option(fc.constantFrom('east', 'west', 'north'), { nil: undefined })
  const instances = fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), zone }), {
    selector: ({ name }) => name,
    minLength: 1,
  })
  const held = fc.record({ zone, by: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'gone')) })
  fc.assert(
    fc.property(instances, fc.array(held, { maxLength: 16 }), fc.gen(), (able, rows, draw) => {
      const candidates = able.map(({ name, zone: own }) => ({ name, ...(own ? { zone: own } : {}) }))
      const seats = rows.map((row, index) => ({ name: `s${index}`, ...(row.zone ? { zone: row.zone } : {}) }))
      const holders = new Map<string, string>(
        rows.flatMap(({ by }, index) => (by ? [[`s${index}`, by] as const] : [])),
      )
      let moves = 0
      for (;;) {
        const due = [...assign(seats, holders, candidates)].filter(([seat, to]) => holders.get(seat) !== to)
        if (due.length === 0) break
        const [seat = '', to = ''] = draw(fc.constantFrom, ...due)
        holders.set(seat, to)
        moves += 1
        // A seat may be taken on from where it was put at first, and no more.
        expect(moves).toBeLessThanOrEqual(2 * seats.length)
      }
    }),
    { numRuns: 300 },
  )
})

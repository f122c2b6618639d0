import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Reservation } from '../../../src/journal/journal.ts'
import { RecentReservations, readRecent } from '../../../src/journal/sqlite/recent-reservations.ts'
import { SIGNER, TOKEN } from '../../support/workflows.ts'

const MINUTE = 60_000
const DAYS = 2 * 86_400_000
/** The beginning of a minute, three days on. */
const T = 4_320 * MINUTE
const row = (workflowId: string, changes: Partial<Reservation> = {}): Reservation => ({
  workflowId,
  role: 'liquidator',
  atMs: T,
  usdMicros: 5n,
  gasWei: 7n,
  reverted: false,
  ...changes,
})
const used = (usdMicros: bigint, calls: number, use = '') => new Map([[use, { usdMicros, calls }]])
/** What a minute has of one kind. */
const sum = (usdMicros: bigint, gasWei: bigint, rows: number, changes: object = {}) => ({
  workflowId: '',
  role: 'liquidator',
  atMs: T,
  reverted: false,
  usdMicros,
  gasWei,
  used: used(usdMicros, rows),
  ...changes,
})
const ids = (rows: readonly Reservation[] | null) => rows?.map(({ workflowId }) => workflowId)

describe('the reservations of the last two days', () => {
  it('are given of a role since a time, each as it was set last', () => {
    const recent = new RecentReservations([row('a'), row('b', { atMs: T + 1 })])
    recent.set(row('c', { role: 'allocator', atMs: T + 2 }))
    recent.set(row('a', { usdMicros: 9n }))
    expect(recent.since('liquidator', T)).toEqual([row('a', { usdMicros: 9n }), row('b', { atMs: T + 1 })])
    expect(ids(recent.since('liquidator', T + 1))).toEqual(['b'])
    expect(ids(recent.since('liquidator', T + 2))).toEqual([])
    expect(ids(recent.since('nav-reporter', T))).toEqual([])
  })

  it('are those from two days before the newest on, and what is older is for the records', () => {
    const recent = new RecentReservations([row('a'), row('b', { atMs: T + 1 })])
    for (const [atMs, isHeld] of [
      [T + 1 - DAYS, true],
      [T - DAYS, false],
    ] as const) {
      expect(recent.since('liquidator', atMs) !== null).toBe(isHeld)
      expect(recent.sums('liquidator', [T, atMs], '') !== null).toBe(isHeld)
      expect(recent.sums(null, [atMs, T], '') !== null).toBe(isHeld)
    }
    // Whatever is exactly two days old stays; a millisecond on, it leaves.
    recent.set(row('c', { atMs: T + DAYS }))
    expect(ids(recent.since('liquidator', T))).toEqual(['a', 'b', 'c'])
    recent.set(row('d', { atMs: T + 1 + DAYS }))
    expect(recent.since('liquidator', T)).toBeNull()
    expect(ids(recent.since('liquidator', T + 1))).toEqual(['b', 'c', 'd'])
    // What comes late and is old already does not bring back what left.
    recent.set(row('late', { atMs: T }))
    expect(recent.since('liquidator', T)).toBeNull()
  })

  it('are of another revision with each, of its own role and of all', () => {
    const recent = new RecentReservations([])
    const [own, all] = [recent.revisionOf('liquidator'), recent.revisionOf(null)]
    expect([own, all]).toEqual(['0', 'all 0'])
    for (const revision of [own, all]) expect(recent.isNewest('liquidator', revision)).toBe(true)
    recent.set(row('x', { role: 'allocator' }))
    expect(recent.isNewest('liquidator', own)).toBe(true)
    expect(recent.isNewest('liquidator', all)).toBe(false)
    recent.set(row('a'))
    recent.set(row('a'))
    expect([recent.revisionOf('liquidator'), recent.revisionOf(null)]).toEqual(['2', 'all 3'])
    expect(recent.isNewest('liquidator', own)).toBe(false)
    expect(recent.isNewest('liquidator', '2')).toBe(true)
  })
})

describe('the reservations of a minute', () => {
  const sums = (rows: readonly Reservation[], timesMs: readonly number[] = [T - 1], own = 'none') =>
    new RecentReservations(rows).sums('liquidator', timesMs, own)

  it('are one row, from the first of the times on', () => {
    const rows = [row('a'), row('b', { atMs: T + 59_999, usdMicros: 3n, gasWei: 2n })]
    for (const timesMs of [[T - 1], [T + MINUTE, T - 1]])
      expect(sums(rows, timesMs)).toEqual([sum(8n, 9n, 2)])
    expect(sums(rows, [T + MINUTE])).toEqual([])
    expect(sums([...rows, row('c', { atMs: T + MINUTE })])).toEqual([
      sum(8n, 9n, 2),
      sum(5n, 7n, 1, { atMs: T + MINUTE }),
    ])
  })

  it('are rows of their own where one of the times is among them, or the workflow', () => {
    const rows = [row('a'), row('b', { atMs: T + 2 })]
    expect(ids(sums(rows, [T]))).toEqual(['a', 'b'])
    expect(ids(sums(rows, [T + 1]))).toEqual(['b'])
    expect(ids(sums(rows, [T + 2]))).toEqual(['b'])
    expect(ids(sums(rows, [T + 3]))).toEqual([])
    expect(ids(sums(rows, [T + MINUTE - 1, T - MINUTE]))).toEqual(['a', 'b'])
    expect(ids(sums(rows, [T - 1], 'b'))).toEqual(['a', 'b'])
  })

  it('are apart by signer, by what a person approved and by the token that left', () => {
    const out = (assets: bigint, token = TOKEN) => ({ out: { token, assets } })
    const rows = [
      ...[row('a'), row('b', { signer: SIGNER }), row('c', { signer: SIGNER, approved: true })],
      ...[row('d', out(3n)), row('e', out(4n)), row('f', out(5n, SIGNER))],
      row('h', { signer: TOKEN }),
      row('g', { uses: ['market 0x1', 'market 0x1'] }),
    ]
    expect(sums(rows)).toStrictEqual([
      sum(10n, 14n, 2, {
        used: new Map([
          ['', { usdMicros: 5n, calls: 1 }],
          ['market 0x1', { usdMicros: 5n, calls: 2 }],
        ]),
      }),
      sum(5n, 7n, 1, { signer: SIGNER }),
      sum(5n, 7n, 1, { signer: SIGNER, approved: true }),
      sum(10n, 14n, 2, out(7n)),
      sum(5n, 7n, 1, out(5n, SIGNER)),
      sum(5n, 7n, 1, { signer: TOKEN }),
    ])
  })

  it('that reverted or are in shadow are rows beside it, as long as they are so', () => {
    const reverted = row('b', { reverted: true })
    const shadow = row('c', { shadow: true })
    const recent = new RecentReservations([row('a'), reverted, shadow])
    expect(recent.sums('liquidator', [T - 1], 'none')).toEqual([sum(5n, 7n, 1), reverted, shadow])
    recent.set(row('c'))
    recent.set(row('a', { reverted: true }))
    expect(recent.sums('liquidator', [T - 1], 'none')).toEqual([
      sum(5n, 7n, 1),
      reverted,
      row('a', { reverted: true }),
    ])
  })

  it('are changed with a reservation, and leave with the last of them', () => {
    const recent = new RecentReservations([row('a'), row('b')])
    recent.set(row('b', { usdMicros: 1n, gasWei: 2n, out: { token: TOKEN, assets: 3n } }))
    recent.set(row('b', { usdMicros: 2n, gasWei: 3n, out: { token: TOKEN, assets: 5n } }))
    expect(recent.sums('liquidator', [T - 1], 'none')).toEqual([
      sum(5n, 7n, 1),
      sum(2n, 3n, 1, { out: { token: TOKEN, assets: 5n } }),
    ])
    recent.set(row('a', { atMs: T + MINUTE }))
    recent.set(row('b', { atMs: T + MINUTE }))
    expect(recent.sums('liquidator', [T - 1], 'none')).toEqual([sum(10n, 14n, 2, { atMs: T + MINUTE })])
  })

  it('are forgotten when the last of them is two days old', () => {
    const recent = new RecentReservations([row('a'), row('b')])
    const left = vi.spyOn(Map.prototype, 'delete')
    onTestFinished(() => void vi.restoreAllMocks())
    recent.set(row('c', { atMs: T + DAYS + 1 }))
    expect(left).toHaveBeenCalledWith(T)
  })

  it('are those of all roles where no role is asked for', () => {
    const recent = new RecentReservations([row('a'), row('x', { role: 'allocator' })])
    expect(recent.sums(null, [T - 1], 'none')).toEqual([
      sum(5n, 7n, 1),
      sum(5n, 7n, 1, { role: 'allocator' }),
    ])
    expect(recent.sums('nav-reporter', [T - 1], 'none')).toEqual([])
  })
})

it('of the records those of two days up to the newest are read', () => {
  const asked: unknown[] = []
  const records = (newest: number | null) => ({
    rows: () => [{ at_ms: newest }],
    bodies: <R>(_sql: string, ...values: unknown[]): R[] => {
      asked.push(...values)
      return []
    },
  })
  readRecent(records(T))
  readRecent(records(null))
  expect(asked).toEqual([T - DAYS, -DAYS])
})

import fc from 'fast-check'
import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Fold } from '../../agents/rows.ts'
import { systemClock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { createBook } from '../../src/observe/book.ts'
import { createBorrowerRows } from '../../src/observe/borrower-rows.ts'
import type { ServiceClient } from '../../src/service/client.ts'
import type { Freshness, PositionResource } from '../../src/service/contract/resources.ts'
import { CHAIN_ID, fresh, MARKET, OTHER, positionRow } from '../agents/liquidator/service-fixtures.ts'
import { until } from '../support/until.ts'

/** Every row by its name, word for word. */
type Rows = Map<string, string>
const fold: Fold<Rows> = {
  collections: ['positions'],
  empty: () => new Map(),
  apply: (book, change) => {
    if (change.collection !== 'positions') return book
    const { marketAddress, walletAddress } = 'row' in change ? change.row : change.gone
    const name = `${marketAddress}:${walletAddress}`
    if ('row' in change) book.set(name, String(change.row.debtShares))
    else book.delete(name)
    return book
  },
}

const wallet = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`
const LIMITS = { ageMsMax: 15_000, blockLagMax: 3n, headAgeMsMax: 15_000 }
type Filter = 'filters' | 'ignores' | 'refuses' | 'takes the first' | 'takes the last'

/** A service that lists what a test puts there, two rows a page, and counts what it is asked. */
function createWorld(filter: Filter = 'filters') {
  const rows = new Map<string, PositionResource>()
  const world = {
    rows,
    monotonicMs: 1_000_000,
    freshness: fresh as Freshness,
    block: 10,
    pages: 0,
    swept: 0,
    unfiltered: 0,
    failing: 0,
    failed: 0,
    onPage: async () => {},
  }
  async function* listPositions({
    wallets,
    cursor,
  }: {
    readonly wallets?: readonly Address[]
    readonly cursor?: string | null
  } = {}) {
    if (wallets !== undefined && filter === 'refuses') throw new RolekeeperError('service.bad_request', 'No.')
    const part = {
      ignores: undefined,
      'takes the first': wallets?.slice(0, 1),
      'takes the last': wallets?.slice(-1),
    }
    const kept = filter in part ? part[filter as keyof typeof part] : wallets
    for (let after = cursor ?? ''; ; ) {
      world.pages += 1
      if (wallets === undefined && cursor == null && after === '') world.swept += 1
      if (world.failing > 0 && after !== '') {
        world.failing -= 1
        throw new RolekeeperError('service.unavailable', 'Not now.', { retry: 'later' })
      }
      const names = [...rows.keys()].toSorted().filter((name) => name > after)
      const items = names
        .flatMap((name) => rows.get(name) ?? [])
        .filter((row) => kept?.includes(row.walletAddress) ?? true)
      const page = items.slice(0, 2)
      const last = page.at(-1)
      after = last === undefined ? after : `${last.marketAddress}:${last.walletAddress}`
      const hasMore = items.length > 2
      const freshness = { ...world.freshness, blockNumber: String(world.block) }
      await world.onPage()
      yield { items: page, freshness, dropped: 0, hasMore, nextCursor: hasMore ? after : null }
      if (!hasMore) return
    }
  }
  const pages: Pick<ServiceClient['pages'], 'listPositions'> = { listPositions }
  const book = createBook(fold, {
    rows: createBorrowerRows(
      { pages: pages as ServiceClient['pages'] },
      () => world.monotonicMs,
      () => {
        world.unfiltered += 1
      },
    ),
    clock: {
      ...systemClock,
      monotonicMs: () => world.monotonicMs,
      sleep: (ms) => systemClock.sleep(ms / 100),
    },
    chainId: CHAIN_ID,
    limits: LIMITS,
    onSwept: () => {},
    onSweepFailed: () => {
      world.failed += 1
    },
  })
  const put = (name: string, debtShares: number | null) => {
    const [marketAddress, walletAddress] = name.split(':') as [Address, Address]
    if (debtShares === null) rows.delete(name)
    else rows.set(name, positionRow({ marketAddress, walletAddress, debtShares: String(debtShares) }))
  }
  const note = (subject: string) => book.note({ type: 'positions.updated', subject })
  const held = () => [...book.current()].toSorted()
  const there = () => [...rows].map(([name, row]) => [name, String(row.debtShares)]).toSorted()
  return { world, book, put, note, held, there }
}
const A = `${MARKET}:${wallet(1)}`
const B = `${MARKET}:${wallet(2)}`
const C = `${OTHER}:${wallet(1)}`

const name = fc.constantFrom(A, B, C, `${MARKET}:${wallet(3)}`, `${OTHER}:${wallet(4)}`)
const step = fc.oneof(
  fc.record({ name, debtShares: fc.option(fc.nat(9)), told: fc.constantFrom('once', 'twice', 'never') }),
  fc.constantFrom('look', 'sweep', 'sweep and change'),
)

describe('a book', () => {
  it('folded from what events named equals the service, but for what they lost; a sweep finds that too', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { world, book, put, note, held, there } = createWorld()
        let sweeping: Promise<void> | undefined
        const lost = new Set<string>()
        await book.sweepIfDue()
        for (const each of steps) {
          if (each === 'look') await book.read('positions', [])
          else if (typeof each === 'string') {
            if (sweeping === undefined) world.monotonicMs += 5_000
            sweeping ??= book.sweepIfDue()
            // What is put before it is awaited changes while its pages are read.
            if (each === 'sweep') {
              await sweeping
              sweeping = undefined
            }
          } else {
            world.block += 1
            put(each.name, each.debtShares)
            if (each.told === 'never') lost.add(each.name)
            else for (let time = 0; time < (each.told === 'once' ? 1 : 2); time += 1) note(each.name)
          }
        }
        await sweeping
        await book.read('positions', [])
        const known = (rows: readonly (readonly string[])[]) => rows.filter(([row = '']) => !lost.has(row))
        expect(known(held())).toEqual(known(there()))
        world.monotonicMs += 5_000
        await book.sweepIfDue()
        expect(held()).toEqual(there())
      }),
      { numRuns: 10_000 },
    )
  })

  it('takes a row that was read during a sweep for newer than its page', async () => {
    const { world, book, put, note, held, there } = createWorld()
    for (const [index, each] of [A, B, C].entries()) put(each, index)
    await book.sweepIfDue()
    world.monotonicMs += 5_000
    let reading: Promise<unknown> | undefined
    world.onPage = async () => {
      if (reading !== undefined) return
      // The first page is on its way, with what is no more.
      put(A, 7)
      note(A)
      reading = Promise.resolve()
      reading = book.read('positions', [])
      await reading
    }
    await book.sweepIfDue()
    expect(held()).toEqual(there())
  })

  it('goes on at its cursor where a page fails for now', async () => {
    const { world, book, put, held, there } = createWorld()
    for (let number = 0; number < 9; number += 1) put(`${MARKET}:${wallet(number)}`, number)
    world.failing = 3
    await book.sweepIfDue()
    expect(held()).toEqual(there())
    expect(world.swept).toBe(1)
  })

  it('is swept again where an event names no row', async () => {
    const { world, book, put, note, held, there } = createWorld()
    await book.sweepIfDue()
    put(A, 1)
    note('something else')
    world.monotonicMs += 1
    await book.sweepIfDue()
    expect(held()).toEqual(there())
  })
})

describe('a sweep', () => {
  const never = new Promise<never>(() => {})

  it('that fails takes its other collections with it', async () => {
    let paging = 0
    async function* listPositions({ signal }: { readonly signal?: AbortSignal } = {}) {
      paging += 1
      try {
        for (;;) {
          await new Promise(setImmediate)
          signal?.throwIfAborted()
          yield { items: [], freshness: fresh, dropped: 0, hasMore: true, nextCursor: 'more' }
        }
      } finally {
        paging -= 1
      }
    }
    // biome-ignore lint/correctness/useYield: it has no first page.
    async function* listLiquidationRecovery() {
      throw new RolekeeperError('service.unavailable', 'Not now.', { retry: 'later' })
    }
    const pages = { listPositions, listLiquidationRecovery } as unknown as ServiceClient['pages']
    const both: Fold<Rows> = { ...fold, collections: ['positions', 'liquidation-recovery'] }
    const book = createBook(both, {
      rows: createBorrowerRows({ pages }, systemClock.monotonicMs, () => {}),
      clock: systemClock,
      chainId: CHAIN_ID,
      limits: LIMITS,
      onSwept: () => {},
      onSweepFailed: () => {},
    })
    for (let look = 0; look < 3; look += 1) {
      await expect(book.sweepIfDue()).rejects.toThrow('Not now.')
      expect(paging).toBe(0)
    }
    book.close()
  })

  it('that does not end is not waited for, and the book grows old', async () => {
    const { world, book } = createWorld()
    await book.sweepIfDue()
    world.monotonicMs += 5_000
    world.onPage = () => never
    await book.sweepIfDue()
    expect(book.staleness(world.monotonicMs + 15_000)).toContain('20 s ago')
  })

  it('that is given up with the book is said to have failed by nobody', async () => {
    const { world, book, put } = createWorld()
    await book.sweepIfDue()
    for (const name of [A, B, C]) put(name, 1)
    world.monotonicMs += 5_000
    const given = Promise.withResolvers<void>()
    world.onPage = () => given.promise
    await book.sweepIfDue()
    book.close()
    world.failing = 1
    given.resolve()
    await until(() => expect(world.failing).toBe(0))
    await new Promise(setImmediate)
    expect(world.failed).toBe(0)
  })

  it('whose cursors never end is given up, and said to be too large', async () => {
    let given = 0
    async function* listPositions() {
      for (;;) {
        given += 1
        const freshness = { ...fresh, blockNumber: '10' }
        yield { items: [], freshness, dropped: 0, hasMore: true, nextCursor: String(given) }
      }
    }
    const pages: Pick<ServiceClient['pages'], 'listPositions'> = { listPositions }
    const book = createBook(fold, {
      rows: createBorrowerRows({ pages: pages as ServiceClient['pages'] }, systemClock.monotonicMs, () => {}),
      clock: systemClock,
      chainId: CHAIN_ID,
      limits: LIMITS,
      onSwept: () => {},
      onSweepFailed: () => {},
    })
    await expect(book.sweepIfDue()).rejects.toMatchObject({ code: 'service.too_large' })
    expect(given).toBe(50_001)
  })

  it.each([
    ['of the wallet that is asked for', true, 100],
    ['of others', false, 50_000],
  ])('whose cursors never end is not read for ever by a look either: rows %s', async (_, isAsked, most) => {
    let given = 0
    const [asked, other] = [`0x${'b1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as const
    const row: PositionResource = {
      marketId: 'm',
      chainId: CHAIN_ID,
      marketAddress: other,
      walletAddress: isAsked ? asked : other,
    }
    async function* listPositions() {
      for (;;) {
        given += 1
        yield { items: [row], freshness: fresh, dropped: 0, hasMore: true, nextCursor: String(given) }
      }
    }
    const pages: Pick<ServiceClient['pages'], 'listPositions'> = { listPositions }
    const rows = createBorrowerRows(
      { pages: pages as ServiceClient['pages'] },
      systemClock.monotonicMs,
      () => {},
    )
    await expect(rows.ofWallets('positions', [asked])).rejects.toMatchObject({ code: 'service.too_large' })
    // One page more where it was seen that nobody filters.
    expect(given).toBe(isAsked ? most : most + 1)
  })

  it('that took an hour is due within half an hour all the same', async () => {
    const { world, book } = createWorld()
    world.onPage = async () => {
      world.monotonicMs += 3_600_000
    }
    await book.sweepIfDue()
    world.onPage = async () => {}
    world.monotonicMs += 900_000
    await book.sweepIfDue()
    expect(world.swept).toBe(2)
  })
})

describe('a burst of events', () => {
  it('is read in few requests, and what is beyond is for a sweep', async () => {
    const { world, book, put, note, held, there } = createWorld()
    await book.sweepIfDue()
    const names = Array.from({ length: 1_100 }, (_, index) => `${MARKET}:${wallet(index)}`)
    for (const each of names) put(each, 1)
    for (const each of names) note(each)
    expect(book.changed().length).toBeLessThanOrEqual(1_000)
    world.monotonicMs += 1
    await book.sweepIfDue()
    expect(held()).toEqual(there())
  })

  it('about rows that are gone asks for them side by side', async () => {
    const { world, book, note } = createWorld()
    await book.sweepIfDue()
    for (let number = 0; number < 20; number += 1) note(`${MARKET}:${wallet(number)}`)
    let waiting = 0
    let most = 0
    world.onPage = async () => {
      waiting += 1
      most = Math.max(most, waiting)
      await new Promise(setImmediate)
      waiting -= 1
    }
    await book.read('positions', [])
    expect(most).toBe(20)
  })
})

describe('a service that does not filter by wallet', () => {
  it.each<Filter>(['ignores', 'refuses', 'takes the first', 'takes the last'])(
    'is noticed, and read page by page: %s',
    async (filter) => {
      const { world, book, put, note, held, there } = createWorld(filter)
      for (const [index, each] of [A, B, C, `${OTHER}:${wallet(9)}`].entries()) put(each, index)
      await book.sweepIfDue()
      for (const each of [A, B, C]) put(each, 8)
      for (const each of [A, B, C]) note(each)
      const { items } = await book.read('positions', [])
      await book.read('positions', [])
      expect(held()).toEqual(there())
      expect(items.length).toBeLessThanOrEqual(3)
      expect(world.unfiltered).toBe(1)
    },
  )

  it.each<Filter>(['takes the first', 'takes the last'])(
    'is noticed without any event: %s',
    async (filter) => {
      const { world, book, put } = createWorld(filter)
      for (const each of [A, B, C]) put(each, 8)
      await book.sweepIfDue()
      const { items } = await book.read('positions', [wallet(3), wallet(1), wallet(2)])
      expect(items.length).toBe(3)
      expect(world.unfiltered).toBe(1)
    },
  )

  it('is asked to do so again after ten minutes', async () => {
    const { world, book, put } = createWorld('refuses')
    put(A, 8)
    await book.read('positions', [wallet(1)])
    await book.read('positions', [wallet(1)])
    expect(world.unfiltered).toBe(1)
    world.monotonicMs += 600_000
    await book.read('positions', [wallet(1)])
    expect(world.unfiltered).toBe(2)
  })

  it('is read once for rows that are gone', async () => {
    const { world, book, note } = createWorld('refuses')
    await book.read('positions', [wallet(1)])
    for (let number = 0; number < 20; number += 1) note(`${MARKET}:${wallet(number)}`)
    world.pages = 0
    await book.read('positions', [])
    expect(world.pages).toBe(1)
  })
})

describe('the freshness of a book', () => {
  it('is that of its last read and of its last sweep, whichever is worse', async () => {
    const { world, book } = createWorld()
    world.freshness = { ...fresh, lagSeconds: 16 }
    await book.sweepIfDue()
    expect(book.freshnessWith('positions', fresh)).toMatchObject({ lagSeconds: 16, blockNumber: '10' })
    world.freshness = fresh
    world.monotonicMs += 1
    // Not fresh, it is swept again at once.
    await book.sweepIfDue()
    expect(book.freshnessWith('positions', fresh)).toMatchObject({ lagSeconds: 0 })
  })

  it('ends when a sweep is overdue', async () => {
    const { world, book } = createWorld()
    expect(book.staleness(world.monotonicMs)).toContain('not swept yet')
    await book.sweepIfDue()
    expect(book.staleness(world.monotonicMs + 15_000)).toBeNull()
    expect(book.staleness(world.monotonicMs + 15_001)).toContain('swept 15.0 s ago; 15 s are allowed')
  })

  it('keeps a row that was read while the service lagged for the next look', async () => {
    const { world, book, put, note } = createWorld()
    await book.sweepIfDue()
    put(A, 1)
    note(A)
    world.freshness = { ...fresh, status: 'stale' }
    await book.read('positions', [])
    expect(book.changed()).toEqual([wallet(1)])
    world.freshness = fresh
    await book.read('positions', [])
    expect(book.changed()).toEqual([])
  })

  it('keeps a row for the next look while what is read may be older than the event', async () => {
    const { world, book, put, note, held, there } = createWorld()
    await book.sweepIfDue()
    note(A)
    world.freshness = { ...fresh, lagSeconds: 10 }
    await book.read('positions', [])
    // What the event told of is there to read now.
    put(A, 1)
    world.monotonicMs += 9_999
    await book.read('positions', [])
    expect(book.changed()).toEqual([wallet(1)])
    world.monotonicMs += 1
    await book.read('positions', [])
    expect(held()).toEqual(there())
    expect(book.changed()).toEqual([])
  })
})

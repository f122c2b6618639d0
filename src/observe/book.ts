import type { Address } from 'viem'
import type { BorrowerCollection, Change, Fold, Rows } from '../../agents/rows.ts'
import { type Clock, endsWithin } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { span } from '../readable.js'
import { worstFreshness } from '../service/collection.ts'
import { BORROWER_EVENTS } from '../service/contract/assumptions.ts'
import type { Freshness } from '../service/contract/resources.ts'
import { type BorrowerRows, goneOf, type NamedRow, nameOf } from './borrower-rows.ts'
import type { ListedRows } from './collections.ts'
import { type FreshnessLimits, isFresh } from './freshness.ts'
import { pagesOf } from './sweeps.ts'

/** An event that names a row; any other hint is no news to a book. */
export type RowHint = { readonly type: string; readonly subject?: string }

/**
 * How often a book is swept while that is cheap: a sweep at each of the feed's, which come every 5 s. In a large world a
 * sweep takes minutes: then the pause is stretched until sweeping takes a fifth of the time, which keeps a million rows
 * swept within a quarter of an hour and leaves the service and this process to what events say. Decisions do not wait
 * for it: rows change by events, and what is acted on is read again at each look. A sweep finds what events lost.
 */
const SWEEP_EVERY_MS = 4_000
const SWEEP_SHARE = 5
/** Neither a service that drips nor a clock that was put forward puts the next sweep off for longer. */
const SWEEP_EVERY_MS_MAX = 900_000
/** A sweep this short is waited for by the look that begins it, as one page is; a longer one goes on beside looks. */
const WAITED_FOR_MS = 250
/** A sweep that was short before and is not now is not waited for any longer. */
const WAIT_MS_MAX = 2_000
/** More rows than this are not read one by one, which a service's quota has to allow at each look: a sweep is owed. */
const PENDING_MAX = 1_000
/** Rows that seem to be gone and are asked for once more, each alone; beyond, a sweep finds out. */
const GONE_MAX = 20

/** What a book is kept with. */
export type BookDeps = {
  readonly rows: BorrowerRows
  readonly clock: Clock
  readonly chainId: number
  readonly limits: FreshnessLimits
  /** Look again: a sweep that no look waited for has ended. */
  readonly onSwept: () => void
  /** It failed: the book grows old, and the next look sweeps again. */
  readonly onSweepFailed: (error: unknown) => void
}

/** An agent's book, kept up to date. */
export type KeptBook<Book> = {
  readonly collections: readonly BorrowerCollection[]
  readonly current: () => Book
  /** Take note of an event: the row that it names is read again by the next look. */
  readonly note: (hint: RowHint) => void
  /** The wallets whose rows events named since they were read last. */
  readonly changed: () => readonly Address[]
  /** Sweep if that is due. Resolves when the look that asks may go on; the first one waits for the first sweep. */
  readonly sweepIfDue: () => Promise<void>
  /** Read the rows of wallets of a collection of the book, with those that changed, and fold all of them. */
  readonly read: <C extends BorrowerCollection>(
    collection: C,
    wallets: readonly Address[],
  ) => Promise<ListedRows<Rows[C][number]>>
  /** How fresh a collection is by its last sweep and a later read of it. */
  readonly freshnessWith: (collection: BorrowerCollection, read: Freshness) => Freshness
  /** Why the book is too old to decide on, or null. */
  readonly staleness: (monotonicMs: number) => string | null
  /** Give up the sweep under way. */
  readonly close: () => void
}

/** A finished sweep; `read` is the worst of its pages, by collection. */
type Swept = {
  readonly beganAtMs: number
  readonly tookMs: number
  readonly read: ReadonlyMap<BorrowerCollection, Freshness>
}

/** Rows that events named, by name, each with when the last of them came. */
type Pending = Map<string, NamedRow & { readonly notedAtMs: number }>

/** Keep the book of an agent: sweeps into a new one that takes the old one's place, and rows folded in between. */
export const createBook = <Book>(fold: Fold<Book>, deps: BookDeps): KeptBook<Book> =>
  new SweptBook(fold, deps)

class SweptBook<Book> implements KeptBook<Book> {
  readonly #fold: Fold<Book>
  readonly #deps: BookDeps
  readonly #pending: ReadonlyMap<BorrowerCollection, Pending>
  readonly #stop = new AbortController()
  #book: Book
  /** The book that a sweep fills, and the rows that were read meanwhile, with their blocks: a page may be older. */
  #next: { book: Book; readonly read: Map<string, bigint> } | null = null
  #swept: Swept | null = null
  #sweeping: Promise<void> | undefined
  /** By looks; otherwise it goes on beside them. */
  #isWaitedFor = true
  /** What was noted cannot be read row by row. */
  #isOwed = false

  constructor(fold: Fold<Book>, deps: BookDeps) {
    this.#fold = fold
    this.#deps = deps
    this.#book = fold.empty()
    this.#pending = new Map(fold.collections.map((collection) => [collection, new Map()]))
  }

  get collections(): readonly BorrowerCollection[] {
    return this.#fold.collections
  }

  current(): Book {
    return this.#book
  }

  note({ type, subject = '' }: RowHint): void {
    const collection = this.collections.find((each) => BORROWER_EVENTS[each] === type)
    if (collection === undefined) return
    const named = goneOf(collection, subject)
    const pending = this.#pendingOf(collection)
    if (named === null || pending.size >= PENDING_MAX) this.#isOwed = true
    else pending.set(subject.toLowerCase(), { ...named, notedAtMs: this.#deps.clock.monotonicMs() })
  }

  changed(): readonly Address[] {
    const wallets = [...this.#pending.values()].flatMap((each) =>
      [...each.values()].map(({ wallet }) => wallet),
    )
    return [...new Set(wallets)]
  }

  #pendingOf(collection: BorrowerCollection): Pending {
    return this.#pending.get(collection) ?? new Map()
  }

  async sweepIfDue(): Promise<void> {
    if (this.#sweeping === undefined && this.#isDue()) {
      this.#sweeping = this.#sweep()
      this.#isWaitedFor = true
    }
    const sweeping = this.#sweeping
    if (sweeping === undefined || !this.#isWaitedFor) return
    if (this.#swept === null) return sweeping
    if (this.#swept.tookMs <= WAITED_FOR_MS && (await endsWithin(sweeping, WAIT_MS_MAX, this.#deps.clock)))
      return
    this.#isWaitedFor = false
    sweeping.then(this.#deps.onSwept, (error: unknown) => {
      // One that was given up has not failed.
      if (!this.#stop.signal.aborted) this.#deps.onSweepFailed(error)
    })
  }

  #isDue(): boolean {
    if (this.#swept === null) return true
    const { beganAtMs, tookMs, read } = this.#swept
    const isGood = [...read.values()].every((freshness) => isFresh(freshness, this.#deps.limits))
    const pauseMs = this.#isOwed || !isGood ? tookMs : this.#everyMs()
    return this.#deps.clock.monotonicMs() - beganAtMs >= pauseMs
  }

  #everyMs(): number {
    const pauseMs = SWEEP_SHARE * (this.#swept?.tookMs ?? 0)
    return Math.min(Math.max(SWEEP_EVERY_MS, pauseMs), SWEEP_EVERY_MS_MAX)
  }

  async #sweep(): Promise<void> {
    const { clock } = this.#deps
    const beganAtMs = clock.monotonicMs()
    const next = { book: this.#fold.empty(), read: new Map<string, bigint>() }
    this.#next = next
    const wasOwed = this.#isOwed
    this.#isOwed = false
    const failed = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, failed.signal])
    const sweeps = this.collections.map(
      async (each) => [each, await this.#sweepCollection(each, next, signal)] as const,
    )
    try {
      const read = await Promise.all(sweeps)
      this.#book = next.book
      this.#swept = { beganAtMs, tookMs: clock.monotonicMs() - beganAtMs, read: new Map(read) }
    } catch (error) {
      this.#isOwed ||= wasOwed
      // What is left of it would go on beside the next one, with a book of its own.
      failed.abort()
      await Promise.allSettled(sweeps)
      throw error
    } finally {
      this.#next = null
      this.#sweeping = undefined
    }
  }

  async #sweepCollection<C extends BorrowerCollection>(
    collection: C,
    next: { book: Book; readonly read: ReadonlyMap<string, bigint> },
    signal: AbortSignal,
  ): Promise<Freshness> {
    const { keyOf } = this.#deps.rows.sources[collection]
    let worst: Freshness | undefined
    for await (const { items, freshness } of pagesOf(
      this.#deps.rows.sources[collection],
      this.#deps.clock,
      signal,
    )) {
      worst = worst === undefined ? freshness : worstFreshness(worst, freshness)
      const block = BigInt(freshness.blockNumber ?? 0)
      for (const row of items) {
        if (row.chainId !== this.#deps.chainId) continue
        const newer = next.read.get(`${collection}:${nameOf(keyOf(row))}`)
        if (newer === undefined || newer < block)
          next.book = this.#fold.apply(next.book, changeTo(collection, row))
      }
    }
    if (worst !== undefined) return worst
    throw new RolekeeperError('service.garbage', 'A collection has no first page.', { retry: 'later' })
  }

  async read<C extends BorrowerCollection>(
    collection: C,
    wallets: readonly Address[],
  ): Promise<ListedRows<Rows[C][number]>> {
    const { rows, limits, clock } = this.#deps
    const askedAtMs = clock.monotonicMs()
    const pending = this.#pendingOf(collection)
    const named = [...pending]
    const asked = [...new Set([...wallets, ...named.map(([, { wallet }]) => wallet)])]
    const { signal } = this.#stop
    const listed = await rows.ofWallets(collection, asked, { signal })
    const block = listed.freshness.blockNumber
    const found = this.#foldRows(collection, listed.items, block)
    const missing = named.filter(([name]) => !found.has(name))
    if (missing.length > GONE_MAX) this.#isOwed = true
    else {
      const asks = missing.map(async ([name, { wallet, gone }]) => {
        // An answer about many may be about some of them only: what is missing is asked for alone.
        const isSure = asked.length === 1 || !rows.isFiltered(collection)
        const alone = isSure ? [] : (await rows.ofWallets(collection, [wallet], { signal })).items
        if (this.#foldRows(collection, alone, block).has(name)) rows.distrust(collection)
        else this.#foldIn(name, gone, block)
      })
      await Promise.all(asks)
    }
    // What was read while the service lagged behind the event is read again, until it does not.
    if (!isFresh(listed.freshness, limits)) return listed
    const asOfMs = askedAtMs - listed.freshness.lagSeconds * 1_000
    for (const [name, one] of named) {
      if (one.notedAtMs <= asOfMs && pending.get(name) === one) pending.delete(name)
    }
    return listed
  }

  /** @returns the names of the rows of our chain. */
  #foldRows<C extends BorrowerCollection>(
    collection: C,
    rows: readonly Rows[C][number][],
    block: string | null | undefined,
  ): ReadonlySet<string> {
    const { keyOf } = this.#deps.rows.sources[collection]
    const names = new Set<string>()
    for (const row of rows) {
      if (row.chainId !== this.#deps.chainId) continue
      const name = nameOf(keyOf(row))
      this.#foldIn(name, changeTo(collection, row), block)
      names.add(name)
    }
    return names
  }

  #foldIn(name: string, change: Change, block: string | null | undefined): void {
    this.#book = this.#fold.apply(this.#book, change)
    if (this.#next === null) return
    this.#next.book = this.#fold.apply(this.#next.book, change)
    this.#next.read.set(`${change.collection}:${name}`, BigInt(block ?? 0))
  }

  freshnessWith(collection: BorrowerCollection, read: Freshness): Freshness {
    const swept = this.#swept?.read.get(collection)
    // Pages of one sweep are of many blocks: what lies behind our head is judged by the newest read.
    const { blockNumber, blockTimestamp } = read
    return swept === undefined ? read : { ...worstFreshness(read, swept), blockNumber, blockTimestamp }
  }

  staleness(monotonicMs: number): string | null {
    if (this.#swept === null) return `${this.collections.join(' and ')} were not swept yet`
    const ageMs = monotonicMs - this.#swept.beganAtMs
    const allowedMs = Math.max(this.#deps.limits.ageMsMax, 2 * this.#everyMs() + this.#swept.tookMs)
    if (ageMs <= allowedMs) return null
    return `${this.collections.join(' and ')} were swept ${span(ageMs)} ago; ${span(allowedMs)} are allowed`
  }

  close(): void {
    this.#stop.abort()
  }
}

/** A row of a collection is a change of that collection; that both are of one kind is what generics cannot say. */
const changeTo = <C extends BorrowerCollection>(collection: C, row: Rows[C][number]) =>
  ({ collection, row }) as Change

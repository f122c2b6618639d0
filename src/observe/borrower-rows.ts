import type { Address } from 'viem'
import type { BorrowerCollection, BorrowerKey, Change, Rows } from '../../agents/rows.ts'
import { printable, RolekeeperError } from '../errors.ts'
import type { ServiceClient } from '../service/client.ts'
import { joinPages, type Page } from '../service/collection.ts'
import { addr } from '../service/contract/scalars.ts'
import type { ListedRows } from './collections.ts'

/** Wallets to name in one request: about 3,000 characters of a URL. */
const WALLETS_MAX = 50
/** Of so many wallets: 10,000 rows. */
const FILTERED_PAGES_MAX = 100
/** Rows of a whole collection, most of them others': as many as are swept. */
const SIFTED_PAGES_MAX = 50_000
/** Rows that are kept of it. */
const KEPT_MAX = 10_000
/** One wrong answer, of a proxy or a service that restarts, must not make every look read everything for ever. */
const DISTRUST_MS = 600_000

/** The rows of one collection, by page and by wallet. */
type Source<C extends BorrowerCollection> = {
  readonly pages: (
    asked: { readonly cursor?: string | null; readonly wallets?: readonly Address[] } & Stop,
  ) => AsyncGenerator<Page<Rows[C][number]>, void, undefined>
  /** What names a row, and whose it is. */
  readonly keyOf: (row: Rows[C][number]) => BorrowerKey[C]
  readonly walletOf: (row: Rows[C][number]) => Address
  /** Collections that are filtered by the same name are filtered the same way. */
  readonly filter: 'wallet' | 'borrower'
}
type Stop = { readonly signal?: AbortSignal }

/** Reads rows of borrowers without ever holding a whole collection. */
export type BorrowerRows = {
  readonly sources: { readonly [C in BorrowerCollection]: Source<C> }
  /**
   * Read the rows of some wallets; of none, one page, which says how fresh the collection is. A service that does not
   * filter by wallet, or not rightly, is read page by page instead, and what was asked for is kept.
   */
  readonly ofWallets: <C extends BorrowerCollection>(
    collection: C,
    wallets: readonly Address[],
    stop?: Stop,
  ) => Promise<ListedRows<Rows[C][number]>>
  /** Whether a collection is filtered by the service, and not page by page. */
  readonly isFiltered: (collection: BorrowerCollection) => boolean
  /** Do not let a collection be filtered for a while: it was seen to answer in part. */
  readonly distrust: (collection: BorrowerCollection) => void
}

/**
 * Join rows of borrowers to the service.
 * @param onUnfiltered called with a collection that is not filtered by wallet, which every look reads whole for a while.
 */
export function createBorrowerRows(
  { pages }: Pick<ServiceClient, 'pages'>,
  monotonicMs: () => number,
  onUnfiltered: (collection: BorrowerCollection) => void,
): BorrowerRows {
  const distrustedAtMs = new Map<BorrowerCollection, number>()
  const proven = new Set<Source<BorrowerCollection>['filter']>()
  const sources: BorrowerRows['sources'] = {
    positions: {
      pages: cleaned(pages.listPositions),
      keyOf: ({ marketAddress, walletAddress }) => ({ marketAddress, walletAddress }),
      walletOf: ({ walletAddress }) => walletAddress,
      filter: 'wallet',
    },
    'credit-facilities': {
      pages: cleaned(pages.listCreditFacilities),
      keyOf: facilityKey,
      walletOf: borrowerOf,
      filter: 'borrower',
    },
    'liquidation-recovery': {
      pages: cleaned(pages.listLiquidationRecovery),
      keyOf: facilityKey,
      walletOf: borrowerOf,
      filter: 'borrower',
    },
  }
  const isFiltered = (collection: BorrowerCollection) => {
    const sinceMs = distrustedAtMs.get(collection)
    return sinceMs === undefined || monotonicMs() - sinceMs >= DISTRUST_MS
  }
  const distrust = (collection: BorrowerCollection) => {
    if (!isFiltered(collection)) return
    distrustedAtMs.set(collection, monotonicMs())
    proven.delete(sources[collection].filter)
    onUnfiltered(collection)
  }
  return {
    sources,
    isFiltered,
    distrust,
    ofWallets: async (collection, wallets, stop = {}) => {
      const source = sources[collection]
      if (wallets.length === 0) return firstPage(source, stop)
      if (isFiltered(collection)) {
        const chunks = Array.from({ length: Math.ceil(wallets.length / WALLETS_MAX) }, (_, index) =>
          wallets.slice(index * WALLETS_MAX, (index + 1) * WALLETS_MAX),
        )
        const filtered = await Promise.all(chunks.map((chunk) => readFiltered(source, chunk, stop)))
        const whole = filtered.filter((pages) => pages !== null)
        const [asked = [], answer = []] = [chunks[0], whole[0]]
        if (
          whole.length === chunks.length &&
          (proven.has(source.filter) || (await answersAboutAll(source, asked, answer, stop, proven)))
        )
          return joinPages(whole.flat())
        distrust(collection)
      }
      return sift(source, new Set(wallets), stop)
    },
  }
}

type Keyed = {
  readonly marketAddress: Address
  readonly vaultAddress: Address
  readonly borrowerAddress: Address
}
const facilityKey = ({ marketAddress, vaultAddress, borrowerAddress }: Keyed): Keyed => ({
  marketAddress,
  vaultAddress,
  borrowerAddress,
})
/** Members that are texts of the service's own. */
type Texts = {
  readonly marketId: string
  readonly monitorState?: string | null | undefined
  readonly blockedReason?: string | null | undefined
}

/** The same pages, with texts that are safe to show. */
const cleaned = <Asked, Row extends Texts>(
  pages: (asked?: Asked) => AsyncGenerator<Page<Row>, void, undefined>,
) =>
  async function* (asked: Asked): AsyncGenerator<Page<Row>, void, undefined> {
    for await (const page of pages(asked)) yield { ...page, items: page.items.map(clean) }
  }

function clean<Row extends Texts>(row: Row): Row {
  const { monitorState, blockedReason } = row
  return {
    ...row,
    marketId: printable(row.marketId),
    ...(monitorState == null ? {} : { monitorState: printable(monitorState) }),
    ...(blockedReason == null ? {} : { blockedReason: printable(blockedReason) }),
  }
}

const borrowerOf = ({ borrowerAddress }: Keyed) => borrowerAddress

async function firstPage<C extends BorrowerCollection>(
  { pages }: Source<C>,
  stop: Stop,
): Promise<ListedRows<Rows[C][number]>> {
  for await (const page of pages(stop)) return { ...page, items: [] }
  throw new RolekeeperError('service.garbage', 'A collection of the service has no first page.', {
    retry: 'later',
  })
}

/** The pages of what was filtered; null where the service did not filter, or refused to. */
async function readFiltered<C extends BorrowerCollection>(
  { pages, walletOf }: Source<C>,
  wallets: readonly Address[],
  stop: Stop,
): Promise<readonly Page<Rows[C][number]>[] | null> {
  const asked = new Set(wallets)
  const whole: Page<Rows[C][number]>[] = []
  try {
    for await (const page of pages({ ...stop, wallets })) {
      if (!page.items.every((row) => asked.has(walletOf(row)))) return null
      whole.push(page)
      if (whole.length >= FILTERED_PAGES_MAX && page.hasMore) throw tooLarge(whole.length)
    }
    return whole
  } catch (error) {
    // A parameter that it does not know is a bad request to some services.
    if (error instanceof RolekeeperError && error.code === 'service.bad_request') return null
    throw error
  }
}

/**
 * Whether an answer about several wallets is not about the first or the last of them only: rows of two prove it, and
 * until then two without rows are asked for, each alone.
 */
async function answersAboutAll<C extends BorrowerCollection>(
  source: Source<C>,
  wallets: readonly Address[],
  answer: readonly Page<Rows[C][number]>[],
  stop: Stop,
  proven: Set<Source<C>['filter']>,
): Promise<boolean> {
  const found = new Set(answer.flatMap(({ items }) => items.map(source.walletOf)))
  if (found.size > 1) proven.add(source.filter)
  if (found.size > 1 || wallets.length === 1) return true
  const silent = wallets.filter((wallet) => !found.has(wallet))
  const alone = await Promise.all(
    [...new Set([...silent.slice(0, 1), ...silent.slice(-1)])].map((wallet) =>
      readFiltered(source, [wallet], stop),
    ),
  )
  return alone.flatMap((pages) => pages ?? []).every(({ items }) => items.length === 0)
}

/** Read everything, a page at a time, and keep what is of some wallets. */
async function sift<C extends BorrowerCollection>(
  { pages, walletOf }: Source<C>,
  wallets: ReadonlySet<Address>,
  stop: Stop,
): Promise<ListedRows<Rows[C][number]>> {
  let kept: ListedRows<Rows[C][number]> | undefined
  let count = 0
  for await (const page of pages(stop)) {
    const own = { ...page, items: page.items.filter((row) => wallets.has(walletOf(row))) }
    kept = kept === undefined ? own : joinPages([kept, own])
    count += 1
    const isFull = count >= SIFTED_PAGES_MAX || kept.items.length > KEPT_MAX
    if (isFull && page.hasMore) throw tooLarge(count)
  }
  return kept ?? joinPages([])
}

/** A service that gives ever new cursors would else be read for ever, and held. */
const tooLarge = (pages: number) =>
  new RolekeeperError(
    'service.too_large',
    `The service has more than ${pages} pages of what was asked of some wallets.`,
    {
      fix: 'look whether the service ends its pages, or use a deployment namespace with fewer rows.',
      facts: { pages },
    },
  )

/** Name a row within its collection, as events do. */
export const nameOf = (key: BorrowerKey[BorrowerCollection]): string => Object.values(key).join(':')

/** A row that an event named: whose it is, and the change that it is if it is gone. */
export type NamedRow = { readonly wallet: Address; readonly gone: Change }

/** The addresses of an event's subject; none where it has anything else. Pure. */
function addressesIn(subject: string): readonly Address[] {
  const parts = subject.toLowerCase().split(':')
  const addresses = parts.flatMap((part) => addr.safeParse(part).data ?? [])
  return addresses.length === parts.length ? addresses : []
}

/** What an event's subject names, as a row that is gone; null where it names none. Pure. */
export function goneOf(collection: BorrowerCollection, subject: string): NamedRow | null {
  const addresses = addressesIn(subject)
  const [marketAddress, second, third] = addresses
  if (marketAddress === undefined || second === undefined) return null
  if (collection === 'positions')
    return addresses.length === 2
      ? { wallet: second, gone: { collection, gone: { marketAddress, walletAddress: second } } }
      : null
  if (third === undefined || addresses.length !== 3) return null
  const gone = { marketAddress, vaultAddress: second, borrowerAddress: third }
  // One branch for both collections of facilities, which the union of changes keeps apart.
  return { wallet: third, gone: { collection, gone } as Change }
}

import type { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { admit, isPlain } from './admit.ts'
import { collectionEnvelope, type Freshness, PAGE_SIZE_MAX } from './contract/resources.ts'
import { type Call, firstIssuePath, garbage } from './failure.ts'
import type { Sender, ServiceRequest } from './sender.ts'

/** 10,000 rows in memory at once; a collection that grows with its users is read page by page instead. */
const PAGES_MAX = 100

/** Of all pages together, characters: 100 of the largest rows are about 200 kB, 10,000 of them never come. */
export const COLLECTION_CHARS_MAX = 16_777_216

/** Rows that could not be read: how many, and where the first one failed. They are left out, the others kept. */
type Dropped = { readonly dropped: number; readonly droppedPath?: string }

/** A whole collection. `freshness` is the worst of its pages: status, lag and block each. */
export type WholeCollection<T> = { readonly items: readonly T[]; readonly freshness: Freshness } & Dropped

/** One page of a collection. `nextCursor` is null on the last one unless the service says more. */
export type Page<T> = WholeCollection<T> & { readonly hasMore: boolean; readonly nextCursor: string | null }

/** A page, and how many characters its answer had. */
type Sized<T> = { readonly page: Page<T>; readonly chars: number }

/** Read one page after a cursor; each row is parsed alone, so that one bad row does not hide a hundred good ones. */
async function readPage<S extends z.ZodType>(
  sender: Sender,
  request: ServiceRequest,
  row: S,
  cursor: string | null,
): Promise<Sized<z.output<S>>> {
  const query = new URLSearchParams(request.query)
  const names = sender.assumed.query
  query.set(names.pageSize, String(PAGE_SIZE_MAX))
  if (cursor !== null) query.set(names.cursor, cursor)
  const { text, value } = await sender.send({ ...request, query })
  const envelope = collectionEnvelope.safeParse(value)
  if (!envelope.success)
    throw garbage(
      sender.callOf(request),
      `the page does not fit at ${firstIssuePath(envelope.error, 'page')}`,
    )
  const items: z.output<S>[] = []
  let droppedPath: string | undefined
  const plain = isPlain(text)
  for (const [index, item] of envelope.data.items.entries()) {
    const path = `items[${index}]`
    const kept = plain ? null : admit(item, path)
    if (kept !== null) {
      droppedPath ??= kept
      continue
    }
    const parsed = row.safeParse(item)
    if (parsed.success) items.push(parsed.data)
    else droppedPath ??= firstIssuePath(parsed.error, path)
  }
  const { freshness, pageInfo } = envelope.data
  const dropped = envelope.data.items.length - items.length
  const where = droppedPath === undefined ? {} : { droppedPath }
  return { page: { items, freshness, dropped, ...where, ...pageInfo }, chars: text.length }
}

/**
 * Read a collection page by page, from a cursor; null begins at its start. However many pages there are, one at a time is
 * held. Throws `service.garbage` when a cursor repeats or is missing.
 */
export async function* readPages<S extends z.ZodType>(
  sender: Sender,
  request: ServiceRequest,
  row: S,
  cursor: string | null,
): AsyncGenerator<Page<z.output<S>>, void, undefined> {
  for await (const { page } of turnPages(sender, request, row, cursor)) yield page
}

async function* turnPages<S extends z.ZodType>(
  sender: Sender,
  request: ServiceRequest,
  row: S,
  cursor: string | null,
): AsyncGenerator<Sized<z.output<S>>, void, undefined> {
  const call = sender.callOf(request)
  const used = new Set(cursor === null ? [] : [cursor])
  let next = cursor
  for (;;) {
    const read = await readPage(sender, request, row, next)
    yield read
    const { page } = read
    if (!page.hasMore) return
    next = page.nextCursor
    if (next === null) throw garbage(call, 'it says that there is more, and gives no cursor')
    if (used.has(next)) throw garbage(call, 'it gives the same cursor twice')
    used.add(next)
  }
}

/**
 * Read a whole collection. Throws what {@link readPages} throws, and `service.too_large` past {@link PAGES_MAX} pages
 * or {@link COLLECTION_CHARS_MAX} characters:
 * half a collection is never taken for the whole.
 */
export async function readCollection<S extends z.ZodType>(
  sender: Sender,
  request: ServiceRequest,
  row: S,
): Promise<WholeCollection<z.output<S>>> {
  const pages: Page<z.output<S>>[] = []
  let chars = 0
  for await (const read of turnPages(sender, request, row, null)) {
    pages.push(read.page)
    chars += read.chars
    if (chars > COLLECTION_CHARS_MAX) throw tooLarge(sender.callOf(request))
    if (read.page.hasMore && pages.length >= PAGES_MAX) throw tooLarge(sender.callOf(request))
  }
  return joinPages(pages)
}

const tooLarge = (call: Call) =>
  new RolekeeperError(
    'service.too_large',
    `The service at ${call.host} has more than ${PAGES_MAX} pages of ${call.path}, or ${COLLECTION_CHARS_MAX} characters.`,
    {
      fix: 'use a deployment namespace with fewer resources, or report this limit.',
      facts: { ...call, pagesMax: PAGES_MAX },
    },
  )

/** Join the pages of one collection, at least one. Pure. */
export function joinPages<T>(pages: readonly WholeCollection<T>[]): WholeCollection<T> {
  const droppedPath = pages.find((page) => page.droppedPath !== undefined)?.droppedPath
  return {
    items: pages.flatMap(({ items }) => items),
    freshness: pages.map(({ freshness }) => freshness).reduce(worstFreshness),
    dropped: pages.reduce((sum, { dropped }) => sum + dropped, 0),
    ...(droppedPath === undefined ? {} : { droppedPath }),
  }
}

/** From best to worst; a status that we do not know is worse than all of them. */
const STATUS_ORDER = ['current', 'healthy', 'stale', 'missing', 'blocked']
const statusRank = (status: string) => {
  const rank = STATUS_ORDER.indexOf(status)
  return rank === -1 ? STATUS_ORDER.length : rank
}

/** Join two freshness reports: the worse status, the longer lag, the lower block (none when either has none). Pure. */
export function worstFreshness(a: Freshness, b: Freshness): Freshness {
  const worse = statusRank(b.status) > statusRank(a.status) ? b : a
  const lower =
    a.blockNumber == null || b.blockNumber == null
      ? undefined
      : BigInt(a.blockNumber) < BigInt(b.blockNumber)
        ? a
        : b
  return {
    ...worse,
    lagSeconds: Math.max(a.lagSeconds, b.lagSeconds),
    blockNumber: lower?.blockNumber,
    blockTimestamp: lower?.blockTimestamp,
  }
}

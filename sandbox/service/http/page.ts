import { timingSafeEqual } from 'node:crypto'
import { QUERY } from '../../../src/service/contract/assumptions.ts'
import { type Freshness, PAGE_SIZE_MAX } from '../../../src/service/contract/resources.ts'
import type { Store } from '../store.ts'
import { ApiError } from './api-error.ts'
import type { AnyCall } from './handler.ts'

/** What says which page is asked for. */
type PageQuery = Pick<AnyCall, 'query'>

/** One page of a collection. Source: service API, "Shared envelope for collections". */
export type Page<T = unknown> = {
  readonly items: readonly T[]
  readonly pageInfo: { readonly hasMore: boolean; readonly nextCursor: string | null }
  readonly freshness: Freshness
}

/** Opaque cursors: what they hold is authenticated, and bound to one collection. */
export type Cursors = {
  readonly write: (collection: string, position: string) => string
  /** Throws ApiError 400 `invalid_cursor` for a cursor that is not ours, or is another collection's. */
  readonly read: (collection: string, cursor: string) => string
}

/** Make cursors that survive a restart. */
export function createCursors(store: Pick<Store, 'sign'>): Cursors {
  const mark = (collection: string, position: string) => store.sign(`${collection}\n${position}`)
  return {
    write: (collection, position) =>
      `${Buffer.from(position).toString('base64url')}.${mark(collection, position)}`,
    read: (collection, cursor) => {
      const [encoded = '', given = '', ...rest] = cursor.split('.')
      const position = Buffer.from(encoded, 'base64url').toString()
      const [a, b] = [Buffer.from(given), Buffer.from(mark(collection, position))]
      if (rest.length === 0 && a.length === b.length && timingSafeEqual(a, b)) return position
      throw new ApiError(400, 'invalid_cursor', 'The cursor is not one that this collection gave.')
    },
  }
}

/** Read the page size. Throws ApiError 400 unless it is 1 to 100; 100 when absent. Pure. */
export function pageSize(call: PageQuery): number {
  const text = one(call, QUERY.pageSize)
  if (text === undefined) return PAGE_SIZE_MAX
  const size = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  if (size >= 1 && size <= PAGE_SIZE_MAX) return size
  throw new ApiError(400, 'invalid_limit', `\`${QUERY.pageSize}\` must be 1 to ${PAGE_SIZE_MAX}.`)
}

/** Read a query parameter that may be given once. Throws ApiError 400 when it is repeated. Pure. */
export function one(call: PageQuery, name: string): string | undefined {
  const values = call.query[name]
  if (values !== undefined && values.length > 1) {
    throw new ApiError(400, 'invalid_request', `\`${name}\` may be given once.`)
  }
  return values?.[0]
}

/**
 * Cut one page out of `rows`. The cursor holds the last row's key, so rows that come or go between two pages are
 * neither repeated nor skipped.
 * @param keyOf unique and stable; pages go by its ascending order.
 */
export function page<T>(
  call: PageQuery,
  cursors: Cursors,
  collection: { readonly name: string; readonly rows: readonly T[]; readonly keyOf: (row: T) => string },
  freshness: Freshness,
): Page<T> {
  const size = pageSize(call)
  const cursor = one(call, QUERY.cursor)
  const after = cursor === undefined ? '' : cursors.read(collection.name, cursor)
  const keyed = collection.rows
    .map((row) => ({ key: collection.keyOf(row), row }))
    .filter(({ key }) => key > after)
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  const shown = keyed.slice(0, size)
  const last = shown.at(-1)
  const hasMore = keyed.length > shown.length
  return {
    items: shown.map(({ row }) => row),
    pageInfo: {
      hasMore,
      nextCursor: hasMore && last !== undefined ? cursors.write(collection.name, last.key) : null,
    },
    freshness,
  }
}

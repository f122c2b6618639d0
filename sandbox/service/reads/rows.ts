import type { z } from 'zod'
import { QUERY } from '../../../src/service/contract/assumptions.ts'
import type { Canonical } from '../../indexer/canonical.ts'
import { notFound } from '../http/api-error.ts'
import type { AnyCall, Caller } from '../http/handler.ts'
import { type Cursors, type Page, page } from '../http/page.ts'
import { same } from '../same.ts'
import { selectFields } from './fields.ts'

/** Where the reads read. */
export type Source = { readonly canonical: Canonical; readonly cursors: Cursors }

/**
 * Answer a collection whose rows are read anew at each request.
 * @param what names the collection: a cursor of another one is refused.
 * @param keyOf unique and stable; pages go by its ascending order.
 */
export const collection =
  <T>(
    { canonical, cursors }: Source,
    what: string,
    rows: (call: AnyCall) => readonly T[] | Promise<readonly T[]>,
    keyOf: (row: T) => string,
  ) =>
  async (call: AnyCall): Promise<Page> => {
    const name = `${what} ${Object.values(call.params).join(' ')}`.toLowerCase()
    return page(call, cursors, { name, rows: await rows(call), keyOf }, canonical.freshness())
  }

/** Answer one resource with freshness, or what `fields` keeps of it. */
export const detail =
  ({ canonical }: Source, schema: z.ZodObject, find: (call: AnyCall) => object) =>
  (call: AnyCall) =>
    selectFields({ ...find(call), freshness: canonical.freshness() }, schema, call.query[QUERY.fields] ?? [])

/** Find a row by its id in any case. Throws ApiError 400 `not_found`. Pure. */
export function byId<T extends { readonly id: string }>(
  rows: readonly T[],
  id: string | undefined,
  what: string,
): T {
  const row = rows.find((candidate) => same(candidate.id, id ?? ''))
  if (row === undefined) throw notFound(what)
  return row
}

/** The key of rows that are paged by their id. Pure. */
export const idOf = (row: { readonly id: string }) => row.id

/** Write a number of up to 16 digits so that ascending text is descending number. Pure. */
export const descending = (place: bigint) => (10n ** 16n - place).toString().padStart(17, '0')

/** Whether a caller sees a wallet's row: a session its own; only a secret key without a session sees all. Pure. */
export function mayRead(caller: Caller, wallet: string): boolean {
  if (caller.wallet !== null) return same(wallet, caller.wallet)
  return caller.key === 'secret'
}

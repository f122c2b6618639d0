import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { admit, isPlain } from './admit.ts'
import type { ServiceClient } from './client.ts'
import { COLLECTION_CHARS_MAX, joinPages, type WholeCollection } from './collection.ts'
import { freshness } from './contract/resources.ts'
import {
  type AcquisitionResource,
  type AuctionResource,
  acquisitionResource,
  auctionResource,
  type RfqResource,
  rfqResource,
} from './contract/trade-resources.ts'

/** Reads what is on offer; each throws RolekeeperError `service.*`. */
export type Trades = {
  readonly listRfqs: () => Promise<WholeCollection<RfqResource>>
  readonly listAuctions: () => Promise<WholeCollection<AuctionResource>>
  readonly listAcquisitions: () => Promise<WholeCollection<AcquisitionResource>>
}

/** More pages than this are no book of offers any more. */
const PAGES_MAX = 100
const PAGE_ROWS = 50

const pageOf = (row: z.ZodType) =>
  z.object({
    items: z.array(row),
    pageInfo: z.object({ hasMore: z.boolean(), nextCursor: z.string().nullable() }),
    freshness,
  })

/**
 * Assumed: RFQs, auctions and acquisition lots are read through `POST /graphql`, as fields of their names; no REST
 * operation of the document lists them. A row that cannot be read is dropped and counted, as in every collection.
 */
export function createTrades(client: Pick<ServiceClient, 'queryGraphql'>): Trades {
  const list = async <T>(field: string, schema: z.ZodType<T>): Promise<WholeCollection<T>> => {
    const query = `query($first: Int, $after: String) { page: ${field}(first: $first, after: $after) ${selectionOf(pageOf(schema))} }`
    const pages: WholeCollection<T>[] = []
    let after: string | null = null
    let chars = 0
    while (pages.length < PAGES_MAX && chars <= COLLECTION_CHARS_MAX) {
      const { answer, bytes } = await client.queryGraphql({
        body: { query, variables: { first: PAGE_ROWS, after } },
      })
      const read = z.object({ page: pageOf(z.unknown()) }).safeParse(answer.data)
      if (!read.success) throw unreadable(field)
      const { items: rows, freshness, pageInfo } = read.data.page
      const plain = isPlain(bytes)
      const admitted = rows.filter((row) => plain || admit(row, field) === null)
      const parsed = admitted.map((row) => schema.safeParse(row))
      const items = parsed.flatMap((row) => (row.success ? [row.data] : []))
      chars += bytes.length
      pages.push({ items, dropped: rows.length - items.length, freshness })
      if (!pageInfo.hasMore || pageInfo.nextCursor === null) return joinPages(pages)
      after = pageInfo.nextCursor
    }
    throw tooLarge(field)
  }
  return {
    listRfqs: () => list('rfqs', rfqResource),
    listAuctions: () => list('auctions', auctionResource),
    listAcquisitions: () => list('acquisitions', acquisitionResource),
  }
}

const unreadable = (field: string) =>
  new RolekeeperError(
    'service.garbage',
    `The service's answer to the query for ${field} is not a page of rows.`,
    {
      retry: 'later',
    },
  )

const tooLarge = (field: string) =>
  new RolekeeperError(
    'service.too_large',
    `The service has more than ${PAGES_MAX} pages of ${field}, or ${COLLECTION_CHARS_MAX} characters.`,
    { fix: 'use a deployment namespace with fewer resources, or report this limit.' },
  )

/** Write the selection of every member of a schema. Pure. */
function selectionOf(schema: z.ZodType): string {
  const inner = bare(schema)
  if (!(inner instanceof z.ZodObject)) return ''
  const members = Object.entries<z.ZodType>(inner.shape).map(([name, member]) =>
    `${name} ${selectionOf(member)}`.trim(),
  )
  return `{ ${members.join(' ')} }`
}

function bare(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return bare(schema.unwrap() as z.ZodType)
  return schema instanceof z.ZodArray ? bare(schema.element as z.ZodType) : schema
}

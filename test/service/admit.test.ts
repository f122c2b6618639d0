import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createDecisionRows } from '../../src/decide/decision-rows.ts'
import { admit, isPlain } from '../../src/service/admit.ts'
import { readCollection } from '../../src/service/collection.ts'
import { ASSUMPTIONS } from '../../src/service/contract/assumptions.ts'
import { rfqResource } from '../../src/service/contract/trade-resources.ts'
import { readMessage } from '../../src/service/events/stream.ts'
import type { Sender } from '../../src/service/sender.ts'
import { createTrades } from '../../src/service/trades.ts'

/** Clears the screen, writes the clipboard, and forges a line. */
const ESCAPES = '\u001b[2J\u001b]52;c;cm0gLXJm\u0007\r\n2026-11-23 approved by admin'

const senderOf = (pages: readonly unknown[]): Sender => {
  let read = 0
  const call = { host: 'service', method: 'GET', path: '/v1/rfqs' } as const
  return {
    assumed: ASSUMPTIONS,
    callOf: () => call,
    send: async () => {
      const items = pages[read]
      read += 1
      const pageInfo = { hasMore: read < pages.length, nextCursor: String(read) }
      const text = JSON.stringify({ items, pageInfo, freshness: { status: 'current', lagSeconds: 0 } })
      return { text, value: JSON.parse(text) }
    },
  }
}
const request = { operation: 'listRfqs', params: {}, query: new URLSearchParams(), headers: {} } as never
const row = z.object({ id: z.string(), name: z.string().optional() })
const read = (...pages: unknown[][]) => readCollection(senderOf(pages), request, row)

describe('what the service lists', () => {
  it('keeps a row out whose id is made of escape sequences, and the others in', async () => {
    const listed = await read([{ id: '0xd0:1' }, { id: `0xd0:2${ESCAPES}` }, { id: '0xd0:3' }])
    expect(listed).toMatchObject({ dropped: 1, droppedPath: 'items[1].id' })
    expect(listed.items).toEqual([{ id: '0xd0:1' }, { id: '0xd0:3' }])
  })

  it('keeps a row out whose id has 201 characters or 100 kB', async () => {
    const listed = await read(['x'.repeat(200), 'x'.repeat(201), 'x'.repeat(100_000)].map((id) => ({ id })))
    expect(listed).toMatchObject({ items: [{ id: 'x'.repeat(200) }], dropped: 2 })
  })

  it('makes what a row says printable, and cuts it at 2,000 characters', async () => {
    const { items } = await read([
      { id: 'a', name: `Fund ${ESCAPES}` },
      { id: 'b', name: 'é'.repeat(5_000) },
    ])
    expect(items[0]?.name).toBe('Fund  [2J ]52;c;cm0gLXJm 2026-11-23 approved by admin')
    expect(items[1]?.name).toHaveLength(2_000)
  })

  it('is refused past 16 MiB, however short its pages are', async () => {
    const page = Array.from({ length: 100 }, (_, index) => ({ id: String(index), name: 'n'.repeat(9_000) }))
    await expect(read(...Array.from({ length: 30 }, () => page))).rejects.toMatchObject({
      code: 'service.too_large',
    })
  })

  it('looks through no answer that is plain and short, and through every other', () => {
    expect(isPlain('{"id":"a","n":1}')).toBe(true)
    for (const text of ['{"id":"\\u001b"}', '{"id":"\u202e"}', `{"id":"${'x'.repeat(201)}"}`])
      expect([text, isPlain(text)]).toEqual([text, false])
  })

  it('holds names and nested ids to the same', () => {
    expect(admit({ bids: [{ bidId: 'a\nb' }] }, 'row')).toBe('row.bids[0].bidId')
    expect(admit({ data: { ['x'.repeat(201)]: 1 } }, 'row')).toContain('row.data.')
    expect(admit({ data: { ok: ['\u001b[2J'] } }, 'row')).toBeNull()
  })

  it('has RFQs by ids that are bounded even where nothing looks them through', () => {
    expect(rfqResource.shape.id.safeParse('x'.repeat(201)).success).toBe(false)
  })
})

/** Reads RFQs, auctions and acquisitions as they come, from a service that answers each page of a query with these rows. */
const tradesOf = (rowsOf: (page: number) => readonly unknown[], pages = 1) => {
  let read = 0
  return createTrades({
    queryGraphql: async () => {
      const items = rowsOf(read)
      read += 1
      const pageInfo = { hasMore: read < pages, nextCursor: String(read) }
      const page = { items, pageInfo, freshness: { status: 'current', lagSeconds: 0 } }
      const bytes = JSON.stringify({ data: { page } })
      return { answer: JSON.parse(bytes), bytes, freshness: null }
    },
  })
}
const AT = '2026-01-01T00:00:00.000Z'
const DESK = `0x${'de'.repeat(20)}`
const rfqRow = (id: string) => ({
  id,
  chainId: 1,
  sellerAddress: DESK,
  rfqAddress: DESK,
  rfqId: '1',
  holdingId: '0',
  status: 'open',
  assetAddress: DESK,
  assetAmount: '1',
  quoteAssetAddress: DESK,
  reserveAssets: '1',
  openedAt: AT,
  closesAt: AT,
  winnerAddress: null,
  proceedsAssets: null,
  bestBidAssets: null,
  winningBidId: null,
  bids: [],
})

describe('RFQs, which come by a query and not as a collection', () => {
  it('have no id of escape sequences or of 100 kB, and the others are in', async () => {
    const ids = ['desk:1', `desk:2${ESCAPES}`, 'desk:3\u202e', 'x'.repeat(100_000), 'desk:4']
    const listed = await tradesOf(() => ids.map(rfqRow)).listRfqs()
    expect(listed.items.map(({ id }) => id)).toEqual(['desk:1', 'desk:4'])
    expect(listed.dropped).toBe(3)
  })

  it('are refused past 16 MiB in all', async () => {
    const rows = Array.from({ length: 9 }, () => rfqRow('x'.repeat(100_000)))
    await expect(tradesOf(() => rows, 100).listRfqs()).rejects.toMatchObject({ code: 'service.too_large' })
  })
})

it('reads no stream message whose subject would clear the screen', () => {
  const event = {
    id: 'e1',
    type: 'rfqs.updated',
    schemaVersion: 1,
    occurredAt: '2026-01-01T00:00:00Z',
    subject: 'desk:1',
    data: {},
  }
  const message = { type: 'event', seq: 1, cursor: 'c', event }
  expect(readMessage(JSON.stringify(message))).toMatchObject({ type: 'event' })
  const hostile = { ...message, event: { ...event, subject: `desk:1${ESCAPES}` } }
  expect(readMessage(JSON.stringify(hostile))).toMatchObject({ type: 'unreadable' })
})

it('keeps of a decision so much, printable, whatever it was made of', () => {
  const rows = createDecisionRows('rfq-bidder')(
    {
      proposals: [],
      passedOver: [
        {
          subject: 'x'.repeat(100_000),
          check: 'rfq_closed',
          message: `It is ${ESCAPES.repeat(10_000)}`,
          reason: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`n${at}`, 'y'.repeat(10_000)])),
        },
      ],
    },
    1,
  )
  expect(JSON.stringify(rows).length).toBeLessThan(10_000)
  expect(JSON.stringify(rows)).not.toMatch(/\\u001b|\\n/)
})

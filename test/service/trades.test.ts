import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createServiceClient } from '../../src/service/client.ts'
import type { RfqResource } from '../../src/service/contract/trade-resources.ts'
import { SERVICE_TIMEOUTS } from '../../src/service/http.ts'
import { createTrades } from '../../src/service/trades.ts'
import { CHAIN_ID, COLLATERAL, type Fixture, LOAN, SECRET, startFixture } from '../sandbox/service/fixture.ts'

const DESK = `0x${'de'.repeat(20)}` as const
const AT = '2026-01-01T00:00:00.000Z'
const rfq = (rfqId: string): RfqResource => ({
  id: `${DESK}:${rfqId}`,
  chainId: CHAIN_ID,
  sellerAddress: DESK,
  rfqAddress: DESK,
  rfqId,
  holdingId: '0',
  status: 'open',
  assetAddress: COLLATERAL,
  assetAmount: '123456789012345678901234567890',
  quoteAssetAddress: LOAN,
  reserveAssets: '1',
  openedAt: AT,
  closesAt: AT,
  winnerAddress: null,
  proceedsAssets: null,
  bestBidAssets: '7',
  winningBidId: null,
  bids: [
    {
      id: `${DESK}:1`,
      bidId: '1',
      bidderAddress: DESK,
      assets: '7',
      placedAt: AT,
      updatedAt: AT,
      expiresAt: AT,
      status: 'live',
      refundable: false,
    },
  ],
})

let f: Fixture
beforeAll(async () => {
  f = await startFixture()
})
afterAll(() => f.stop())

it('reads everything on offer, over pages, as the service has it', async () => {
  const rows = Array.from({ length: 120 }, (_, index) => rfq(String(index + 1)))
  f.canonical.push({ rfqs: rows })
  const client = createServiceClient(
    { baseUrl: f.service.url, secretKey: SECRET, timeouts: SERVICE_TIMEOUTS },
    systemClock,
  )
  const trades = createTrades(client)
  const listed = await trades.listRfqs()
  expect(listed.items.toSorted((one, other) => Number(one.rfqId) - Number(other.rfqId))).toEqual(rows)
  expect(listed).toMatchObject({ dropped: 0, freshness: { status: 'current' } })
  expect(await trades.listAuctions()).toMatchObject({ items: [] })
  expect(await trades.listAcquisitions()).toMatchObject({ items: [] })
  await client.close()
})

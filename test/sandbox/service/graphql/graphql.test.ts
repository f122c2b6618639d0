import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from 'graphql'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serviceApiError } from '../../../../src/service/contract/resources.ts'
import type { RfqResource } from '../../../../src/service/contract/trade-resources.ts'
import { inOrder } from '../../../support/in-order.ts'
import {
  type Answer,
  BORROWER,
  CHAIN_ID,
  COLLATERAL,
  type Fixture,
  GATED_MARKET,
  LOAN,
  MARKET,
  publishableHeaders,
  secretHeaders,
  startFixture,
  VAULT,
} from '../fixture.ts'

const DESK = `0x${'de'.repeat(20)}` as const
const at = '2026-01-01T00:00:00.000Z'
const rfq = (rfqId: string, status: RfqResource['status']): RfqResource => ({
  id: `${DESK}:${rfqId}`,
  chainId: CHAIN_ID,
  sellerAddress: BORROWER,
  rfqAddress: DESK,
  rfqId,
  holdingId: '0',
  status,
  assetAddress: COLLATERAL,
  assetAmount: '123456789012345678901234567890',
  quoteAssetAddress: LOAN,
  reserveAssets: '1',
  openedAt: at,
  closesAt: at,
  winnerAddress: null,
  proceedsAssets: null,
  bestBidAssets: '7',
  winningBidId: null,
  bids: [
    {
      id: `${DESK}:1`,
      bidId: '1',
      bidderAddress: BORROWER,
      assets: '7',
      placedAt: at,
      updatedAt: at,
      expiresAt: at,
      status: 'live',
      refundable: false,
    },
  ],
})

let f: Fixture
beforeAll(async () => {
  f = await startFixture()
  f.canonical.push({ rfqs: [rfq('1', 'open'), rfq('2', 'sold')] })
})
afterAll(() => f.stop())

/** Ask without an idempotency key: a query changes nothing. */
async function ask(
  body: object,
  headers: Record<string, string> = secretHeaders,
): Promise<
  Answer & { readonly data: Record<string, never>; readonly errors: readonly Record<string, unknown>[] }
> {
  const response = await fetch(`${f.service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const json = JSON.parse(text)
  return {
    status: response.status,
    headers: response.headers,
    text,
    json,
    data: json.data,
    errors: json.errors,
  }
}
const query = (text: string, headers?: Record<string, string>) => ask({ query: text }, headers)

async function sessionOf(account = privateKeyToAccount(generatePrivateKey())) {
  const challenge = await f.post('/v1/wallet-sessions/challenges', {
    address: account.address,
    chainId: CHAIN_ID,
  })
  const signature = await account.signMessage({ message: String(challenge.json.message) })
  const { json } = await f.post('/v1/wallet-sessions/confirm', {
    challengeId: challenge.json.challengeId,
    signature,
  })
  const wallet = account.address.toLowerCase() as `0x${string}`
  return { wallet, header: { 'x-svc-wallet-session': String(json.session) } }
}

inOrder('what a service has, by GraphQL', () => {
  describe('a query', () => {
    it('answers the rows of the REST reads, with freshness', async () => {
      const { status, data } = await query(`{
      markets { items { id chainId closeFactorBps paused oracle { priceWad } allocators { vaultId } } freshness { status lagSeconds blockNumber } }
      market(id: "${MARKET}") { symbol history { interval } freshness { status } }
      vault(id: "${VAULT}") { symbol allocations { marketId } }
    }`)
      expect(status).toBe(200)
      expect(data).toEqual({
        markets: {
          items: [MARKET, GATED_MARKET].map((id) => ({
            id,
            chainId: CHAIN_ID,
            closeFactorBps: 5_000,
            paused: false,
            oracle: { priceWad: '1' },
            allocators: [{ vaultId: VAULT }],
          })),
          freshness: { status: 'current', lagSeconds: expect.any(Number), blockNumber: expect.any(String) },
        },
        market: { symbol: 'sBTC/sUSD', history: [{ interval: '1m' }], freshness: { status: 'current' } },
        vault: { symbol: 'PRIME', allocations: [{ marketId: MARKET }] },
      })
    })

    it('pages with the cursors of the REST reads', async () => {
      const first = await query('{ assets(first: 2) { items { id } pageInfo { hasMore nextCursor } } }')
      const { items, pageInfo } = first.data.assets as unknown as {
        items: object[]
        pageInfo: { nextCursor: string }
      }
      const rest = await f.get(`/v1/assets?limit=2&cursor=${pageInfo.nextCursor}`)
      const next = await ask({
        query: 'query Next($after: String) { assets(first: 2, after: $after) { items { id } } }',
        variables: { after: pageInfo.nextCursor },
      })
      const ids = (rows: unknown) => (rows as { id: string }[]).map(({ id }) => id)
      expect(ids((next.data.assets as unknown as { items: unknown }).items)).toEqual(ids(rest.json.items))
      expect(items).toHaveLength(2)
    })

    it('answers what is on offer by its status, with bids and amounts of any size', async () => {
      const { data } = await query(`{
      rfqs(status: open) { items { rfqId status assetAmount bids { bidderAddress assets status refundable } } }
      auctions(first: 1) { items { id } }
      acquisitions(status: awarded) { items { bids { fundAddress } } }
    }`)
      expect(data).toEqual({
        rfqs: {
          items: [
            {
              rfqId: '1',
              status: 'open',
              assetAmount: '123456789012345678901234567890',
              bids: [{ bidderAddress: BORROWER, assets: '7', status: 'live', refundable: false }],
            },
          ],
        },
        auctions: { items: [] },
        acquisitions: { items: [] },
      })
    })

    it('needs a key, and shows a wallet its own rows only', async () => {
      expect(await query('{ markets { items { id } } }', {})).toMatchObject({
        status: 401,
        json: { ok: false },
      })
      const { wallet, header } = await sessionOf()
      const row = { marketId: MARKET, chainId: CHAIN_ID, marketAddress: MARKET }
      f.canonical.push({ positions: [wallet, BORROWER].map((walletAddress) => ({ ...row, walletAddress })) })
      const wallets = async (headers: Record<string, string>) =>
        (await query('{ positions { items { walletAddress } } }', headers)).data.positions as unknown
      expect(await wallets({ ...publishableHeaders, ...header })).toEqual({
        items: [{ walletAddress: wallet }],
      })
      expect(await wallets(publishableHeaders)).toEqual({ items: [] })
      expect(await wallets(secretHeaders)).toMatchObject({ items: [{}, {}] })
      const eligibility = '{ eligibility { items { walletAddress } } markets { items { id } } }'
      expect((await query(eligibility, { ...secretHeaders, ...header })).errors).toBeUndefined()
      const without = await query(eligibility)
      expect(without.json).toMatchObject({ errors: [{ extensions: { code: 'authentication_required' } }] })
    })

    it('describes its types to tools', async () => {
      const { data } = await query(getIntrospectionQuery())
      const schema = buildClientSchema(data as unknown as IntrospectionQuery)
      const fields = schema.getQueryType()?.getFields() ?? {}
      expect(Object.keys(fields)).toEqual(
        expect.arrayContaining(['markets', 'market', 'rfqs', 'eligibility']),
      )
    })
  })

  describe('a query that fails', () => {
    it.each([
      ['no GraphQL', '{ markets {'],
      ['an unknown field', '{ markets { items { nothing } } }'],
      ['a mutation', 'mutation { markets { items { id } } }'],
      ['a fragment that spreads itself', '{ ...A } fragment A on Query { ...A }'],
      ['an unknown status', '{ rfqs(status: lost) { items { id } } }'],
      ['more tokens than are parsed', `{ ${'a: __typename '.repeat(700)} }`],
    ])('says so beside no data, for %s', async (_name, text) => {
      const { status, json } = await query(text)
      expect([status, json]).toEqual([
        200,
        { errors: [expect.objectContaining({ message: expect.any(String) })] },
      ])
    })

    it.each([
      ['{ market(id: "0x00") { id } }', 'not_found'],
      ['{ markets(first: 101) { items { id } } }', 'invalid_limit'],
      ['{ markets(first: 0) { items { id } } }', 'invalid_limit'],
      ['{ markets(after: "x.y") { items { id } } }', 'invalid_cursor'],
    ])('names the code of %s', async (text, code) => {
      expect((await query(text)).errors).toMatchObject([{ extensions: { code } }])
    })

    it('shows nothing of a crash', async () => {
      const before = f.crashes.length
      f.canonical.push({ markets: undefined as never })
      const { text, errors } = await query('{ markets { items { id } } }')
      f.canonical.push({ markets: [] })
      expect(errors).toMatchObject([
        { message: 'The service failed inside.', extensions: { code: 'internal' } },
      ])
      expect(text).not.toMatch(/undefined|TypeError|stack/)
      expect(f.crashes).toHaveLength(before + 1)
    })
  })

  describe('a query over the limits', () => {
    const nested = (what: string, depth: number) =>
      `{ ${`${what} { `.repeat(depth - 1)} __typename ${'} '.repeat(depth - 1)} }`
    const refusedWith = async (body: object, code: string) => {
      const { status, json } = await ask(body)
      expect([status, json.code]).toEqual([400, code])
      expect(serviceApiError.strict().safeParse(json).success).toBe(true)
    }
    it('may be eight deep in fields, and any depth in fragments', async () => {
      expect((await query(nested('a', 8))).errors).toMatchObject([
        { message: expect.stringContaining('Cannot query') },
      ])
      await refusedWith({ query: nested('a', 9) }, 'query_too_deep')
      expect((await query(nested('... on Query', 40))).errors).toBeUndefined()
    })

    it('counts aliases, rows and fragments before it runs anything', async () => {
      const fields = (count: number) => Array.from({ length: count }, (_, n) => `a${n}: id`).join(' ')
      // Each page of 100 rows: itself, its items, and the fields of each row.
      expect((await query(`{ markets { items { ${fields(300)} } } }`)).errors).toBeUndefined()
      const many = Array.from({ length: 3 }, (_, n) => `m${n}: markets { items { ${fields(200)} } }`)
      await refusedWith({ query: `{ ${many.join(' ')} }` }, 'query_too_costly')
      const cheap = many.map((page) => page.replace('markets', 'markets(first: 1)'))
      expect((await query(`{ ${cheap.join(' ')} }`)).errors).toBeUndefined()
      const doubling = Array.from(
        { length: 30 },
        (_, n) => `fragment F${n} on Query { ...F${n + 1} ...F${n + 1} }`,
      )
      const bomb = `{ ...F0 } ${doubling.join(' ')} fragment F30 on Query { __typename }`
      await refusedWith({ query: bomb }, 'query_too_costly')
    })

    it('believes no page size that is out of range', async () => {
      const page = (n: number) => `m${n}: markets(first: $first) { items { ${'x: id '.repeat(100)} } }`
      const text = `query Many($first: Int) { ${[1, 2, 3, 4, 5].map(page).join(' ')} }`
      await refusedWith({ query: text, variables: { first: 0 } }, 'query_too_costly')
      await refusedWith({ query: text, variables: { first: 1_000 } }, 'query_too_costly')
      expect((await ask({ query: text, variables: { first: 1 } })).errors).toBeUndefined()
    })

    it('is a body with a query of up to 20,000 characters, and nothing else', async () => {
      const bodies = [{}, { query: 7 }, { query: '' }, { query: '{ __typename }', extra: 1 }]
      for (const body of [...bodies, { query: 'x'.repeat(20_001) }])
        await refusedWith(body, 'invalid_request')
    })
  })
})

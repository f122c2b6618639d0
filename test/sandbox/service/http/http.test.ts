import { readFileSync } from 'node:fs'
import { request as rawRequest } from 'node:http'
import { connect } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { parseSiweMessage } from 'viem/siwe'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../../sandbox/service/store.ts'
import { serviceApiError } from '../../../../src/service/contract/resources.ts'
import { inOrder } from '../../../support/in-order.ts'
import {
  type Answer,
  BORROWER,
  CHAIN_ID,
  type Fixture,
  GATED_MARKET,
  liquidation,
  MARKET,
  newKey,
  publishableHeaders,
  SECRET,
  secretHeaders,
  startFixture,
  VAULT,
} from '../fixture.ts'

let f: Fixture
beforeAll(async () => {
  f = await startFixture()
})
afterAll(() => f.stop())

const code = (answer: Answer) => [answer.status, answer.json.code]
const items = (answer: Answer) => answer.json.items as Record<string, unknown>[]
const pageInfo = (answer: Answer) => answer.json.pageInfo as { hasMore: boolean; nextCursor: string | null }

/** A challenge for a new wallet. */
async function newChallenge() {
  const account = privateKeyToAccount(generatePrivateKey())
  const body = { address: account.address, chainId: CHAIN_ID }
  return { account, challenge: await f.post('/v1/wallet-sessions/challenges', body) }
}

/** Open a session for a new wallet. */
async function openSession() {
  const { account, challenge } = await newChallenge()
  const signature = await account.signMessage({ message: String(challenge.json.message) })
  const confirm = { challengeId: challenge.json.challengeId, signature }
  const session = await f.post('/v1/wallet-sessions/confirm', confirm)
  return {
    account,
    challenge,
    confirm,
    session,
    header: { 'x-svc-wallet-session': String(session.json.session) },
  }
}

inOrder('a service over HTTP', () => {
  describe('collections', () => {
    it('pages through every row once, at most 100 a page', async () => {
      const first = await f.get('/v1/assets')
      expect(items(first)).toHaveLength(100)
      expect(first.json.freshness).toMatchObject({ status: 'current', blockNumber: '10' })
      const second = await f.get(`/v1/assets?cursor=${pageInfo(first).nextCursor}`)
      expect(pageInfo(second)).toEqual({ hasMore: false, nextCursor: null })
      const ids = [...items(first), ...items(second)].map((row) => row.id)
      expect([ids.length, new Set(ids).size]).toEqual([150, 150])
    })

    it.each(['0', '101', '-1', '1.5', 'ten', ''])('refuses a page size of %j', async (limit) => {
      expect(code(await f.get(`/v1/assets?limit=${limit}`))).toEqual([400, 'invalid_limit'])
    })

    it.each(['1', '100'])('takes a page size of %s', async (limit) => {
      expect(items(await f.get(`/v1/assets?limit=${limit}`))).toHaveLength(Number(limit))
    })

    it('refuses a cursor that was changed, and another collection’s', async () => {
      const cursor = pageInfo(await f.get('/v1/assets?limit=1')).nextCursor ?? ''
      expect(code(await f.get(`/v1/assets?cursor=x${cursor}`))).toEqual([400, 'invalid_cursor'])
      expect(code(await f.get(`/v1/vaults?cursor=${cursor}`))).toEqual([400, 'invalid_cursor'])
      expect(code(await f.get('/v1/assets?cursor='))).toEqual([400, 'invalid_cursor'])
    })

    it('refuses a query parameter that it does not know, or that is repeated', async () => {
      expect(code(await f.get('/v1/assets?symbol=A1'))).toEqual([400, 'invalid_request'])
      expect(code(await f.get('/v1/assets?limit=1&limit=2'))).toEqual([400, 'invalid_request'])
    })

    it.each([
      '/v1/networks',
      '/v1/deployments',
      '/v1/oracles',
      '/v1/markets',
      '/v1/vaults',
      '/v1/credit-facilities',
      '/v1/liquidation-recovery',
      '/v1/activity',
      `/v1/markets/${MARKET}/activity`,
      `/v1/markets/${MARKET}/history`,
      `/v1/markets/${MARKET}/allocators`,
      `/v1/vaults/${VAULT}/allocations`,
      `/v1/vaults/${VAULT}/activity`,
    ])('answers %s to anyone, with the envelope', async (path) => {
      const answer = await f.get(path)
      expect(answer.status).toBe(200)
      expect(Object.keys(answer.json)).toEqual(['items', 'pageInfo', 'freshness'])
    })

    it('shows activity newest first', async () => {
      const row = (blockNumber: string, logIndex: number) => ({
        resourceType: 'market',
        resourceId: MARKET,
        chainId: CHAIN_ID,
        address: MARKET,
        type: 'borrow',
        txHash: '0x1',
        logIndex,
        blockNumber,
        timestampEpochMs: 1,
      })
      f.canonical.setActivity([row('9', 2), row('10', 0), row('10', 11)])
      const rows = items(await f.get('/v1/activity')).map((item) => [item.blockNumber, item.logIndex])
      expect(rows).toEqual([
        ['10', 11],
        ['10', 0],
        ['9', 2],
      ])
    })
  })

  describe('details', () => {
    it('answers the whole resource, with freshness', async () => {
      const answer = await f.get(`/v1/markets/${MARKET}`)
      expect(answer.json).toMatchObject({
        id: MARKET,
        closeFactorBps: 5_000,
        freshness: { status: 'current' },
      })
    })

    it('keeps what `fields` names, and identity, chain, address and freshness', async () => {
      const answer = await f.get(
        `/v1/markets/${MARKET}?fields=oracle.priceWad&fields=symbol,allocators.vaultId`,
      )
      expect(answer.json).toEqual({
        id: MARKET,
        chainId: CHAIN_ID,
        address: MARKET,
        freshness: expect.anything(),
        symbol: 'sBTC/sUSD',
        oracle: { priceWad: '1' },
        allocators: [{ vaultId: VAULT }],
      })
    })

    it.each([
      'nothing',
      'oracle.nothing',
      'symbol.length',
      '__proto__',
      'constructor',
      '',
      'borrowPolicy',
      'oracle..state',
    ])('refuses the field %j', async (field) => {
      expect(code(await f.get(`/v1/markets/${MARKET}?fields=${field}`))).toEqual([400, 'invalid_fields'])
    })

    it('refuses an id that names nothing', async () => {
      expect(code(await f.get('/v1/markets/0x00'))).toEqual([400, 'not_found'])
      expect(code(await f.get('/v1/vaults/0x00/activity'))).toEqual([400, 'not_found'])
    })
  })

  describe('failures', () => {
    it('answers the error object on an unknown path, method, malformed JSON, bad path and a foreign content type', async () => {
      const answers = [
        await f.get('/v1/nothing'),
        await f.get('/v1/%zz'),
        await f.post('/v1/markets', {}),
        await f.post('/v1/workflows/prepare', '{"a":'),
        await f.post('/v1/workflows/prepare', '{"__proto__":{}}'),
        await f.post('/v1/workflows/prepare', '{}', { ...secretHeaders, 'content-type': 'text/plain' }),
      ]
      for (const answer of answers) {
        expect(answer.status).toBe(400)
        expect(serviceApiError.strict().safeParse(answer.json).success).toBe(true)
        expect(answer.headers.get('x-request-id')).toBe(answer.json.requestId)
        expect(answer.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
      }
    })

    it('takes a body 64 deep and refuses one level more', async () => {
      // The request itself is one level, its input another.
      const nested = (depth: number) =>
        `{"workflowType":"deposit","chainId":${CHAIN_ID},"input":{"a":${'['.repeat(depth - 2)}${']'.repeat(depth - 2)}}}`
      expect(code(await f.post('/v1/workflows/prepare', nested(64)))).toEqual([400, 'invalid_request'])
      expect(code(await f.post('/v1/workflows/prepare', nested(65)))).toEqual([400, 'malformed_request'])
    })

    it.each([
      ['names a member twice', '{"name":"First","name":"Second"}'],
      ['names a member twice in two spellings', '{"name":"First","na\\u006de":"Second"}'],
      ['names a member twice, far inside', '{"name":"First","x":[{"a":{"b":1,"c":"}{","b" : 2}}]}'],
      ['has a prototype', '{"name":"First","__proto__":{}}'],
      ['has a prototype by another spelling', '{"name":"First","__pr\\u006fto__":{}}'],
    ])('refuses a body that %s', async (_what, body) => {
      expect(code(await f.post('/v1/organizations', body, {}))).toEqual([400, 'malformed_request'])
    })

    it('takes a name again in another object, and braces inside strings', async () => {
      const body =
        '{"query":"{ networks { name: name } }","variables":{"query":"{\\"query\\":1}","a":{"a":1}}}'
      expect((await f.post('/graphql', body)).json.errors).toMatchObject([{ message: expect.any(String) }])
    })

    it('refuses bytes that are not UTF-8, `null` for a body, and members where there is no body', async () => {
      const headers = { ...secretHeaders, 'content-type': 'application/json', 'idempotency-key': newKey() }
      const body = Buffer.from('{"name":"\xff\xfe"}', 'latin1')
      const response = await fetch(`${f.service.url}/v1/organizations`, { method: 'POST', headers, body })
      expect(await response.json()).toMatchObject({
        code: 'malformed_request',
        message: 'The body is not UTF-8.',
      })
      expect(code(await f.post('/v1/stream-token', 'null'))).toEqual([400, 'invalid_request'])
      const removal = {
        method: 'DELETE',
        headers: { ...headers, 'idempotency-key': newKey() },
        body: '{"a":1}',
      }
      const removed = await fetch(`${f.service.url}/v1/webhook-endpoints/none`, removal)
      expect(await removed.json()).toMatchObject({ code: 'invalid_request' })
    })

    it('takes a body of 256 kB and refuses one byte more', async () => {
      const padded = (bytes: number) => `${' '.repeat(bytes - 2)}{}`
      expect(code(await f.post('/v1/workflows/prepare', padded(262_144)))).toEqual([400, 'invalid_request'])
      expect(code(await f.post('/v1/workflows/prepare', padded(262_145)))).toEqual([400, 'body_too_large'])
    })

    it('answers a crash without its detail', async () => {
      f.canonical.push({ assets: undefined as never })
      const answer = await f.get('/v1/assets')
      expect(code(answer)).toEqual([500, 'internal'])
      expect(answer.json.retryable).toBe(true)
      expect(answer.text).not.toMatch(/undefined|map|TypeError/)
      expect(f.crashes).toHaveLength(1)
      f.canonical.push({ assets: [] })
    })

    it('refuses a Host that is not this machine', async () => {
      const status = await new Promise<number | undefined>((resolve, reject) => {
        rawRequest(`${f.service.url}/v1/assets`, { headers: { host: 'evil.test' } }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .on('error', reject)
          .end()
      })
      expect(status).toBe(403)
    })

    it('answers bytes that are no HTTP with the error object', async () => {
      const text = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(new URL(f.service.url).port), '127.0.0.1', () =>
          socket.write('nonsense\r\n\r\n'),
        )
        let received = ''
        socket.on('data', (chunk) => {
          received += chunk
        })
        socket.on('end', () => resolve(received))
        socket.on('error', reject)
      })
      expect(text).toMatch(/^HTTP\/1.1 400 /)
      expect(text).toContain('"code":"malformed_request"')
    })

    it('refuses to listen on an address that is not loopback', async () => {
      await expect(startFixture({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'sandbox.service_host' })
    })

    it('names a port in use and the fix', async () => {
      const port = Number(new URL(f.service.url).port)
      await expect(startFixture({ port })).rejects.toMatchObject({ code: 'sandbox.service_port' })
    })
  })

  describe('credentials', () => {
    it('refuses a secret key that is wrong, malformed or sent by a browser', async () => {
      expect(code(await f.get('/v1/assets', { authorization: 'Bearer nope' }))).toEqual([
        401,
        'invalid_secret_key',
      ])
      expect(code(await f.get('/v1/assets', { authorization: SECRET }))).toEqual([401, 'invalid_secret_key'])
      const browser = { ...secretHeaders, origin: publishableHeaders.origin }
      expect(code(await f.get('/v1/assets', browser))).toEqual([403, 'secret_key_from_browser'])
    })

    it('lets pages of a bound origin ask and read, and no other page', async () => {
      const preflight = async (origin: string) =>
        fetch(`${f.service.url}/v1/positions`, {
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': 'GET' },
        })
      const { origin } = publishableHeaders
      const bound = await preflight(origin)
      expect(bound.status).toBe(204)
      expect(bound.headers.get('access-control-allow-origin')).toBe(origin)
      expect(bound.headers.get('access-control-allow-headers')).toContain('x-svc-publishable-key')
      expect(bound.headers.get('access-control-allow-headers')).not.toContain('authorization')
      const foreign = await preflight('http://evil.test')
      expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([403, null])
      const read = await fetch(`${f.service.url}/v1/markets`, { headers: { origin } })
      expect(read.headers.get('access-control-allow-origin')).toBe(origin)
      expect(read.headers.get('access-control-expose-headers')).toContain('x-request-id')
    })

    it('takes a publishable key from its origin only', async () => {
      const { origin, ...key } = publishableHeaders
      expect((await f.get('/v1/positions', publishableHeaders)).status).toBe(200)
      expect(code(await f.get('/v1/positions', key))).toEqual([403, 'origin_required'])
      expect(code(await f.get('/v1/positions', { ...key, origin: 'http://evil.test' }))).toEqual([
        403,
        'origin_not_allowed',
      ])
      expect(code(await f.get('/v1/positions', { origin, 'x-svc-publishable-key': 'no' }))).toEqual([
        401,
        'invalid_publishable_key',
      ])
    })

    it.each(['/v1/positions', '/v1/eligibility', '/v1/events', '/v1/contracts/LendingMarket'])(
      'refuses %s without a credential',
      async (path) => {
        expect(code(await f.get(path))).toEqual([401, 'authentication_required'])
      },
    )

    it('keeps events and stream tokens from publishable keys, with and without a session', async () => {
      const { header } = await openSession()
      for (const headers of [publishableHeaders, { ...publishableHeaders, ...header }, header]) {
        expect(code(await f.get('/v1/events', headers))).toEqual([403, 'insufficient_authority'])
        expect(code(await f.post('/v1/stream-token', {}, headers))).toEqual([403, 'insufficient_authority'])
      }
    })

    it('shows the ABI and every address of a contract to a key', async () => {
      const answer = await f.get('/v1/contracts/LendingMarket', publishableHeaders)
      expect(items(answer).map((row) => row.address)).toEqual([MARKET, GATED_MARKET])
      expect(items(answer)[0]?.abi).toContainEqual(expect.objectContaining({ name: 'liquidate' }))
      expect(code(await f.get('/v1/contracts/Nothing', secretHeaders))).toEqual([400, 'not_found'])
    })
  })

  describe('wallet sessions', () => {
    it('challenge is EIP-4361 for this service, and nothing else', async () => {
      const { account, challenge } = await openSession()
      const host = new URL(f.service.url).host
      expect(parseSiweMessage(String(challenge.json.message))).toMatchObject({
        address: account.address,
        chainId: CHAIN_ID,
        domain: host,
        uri: f.service.url,
        version: '1',
        expirationTime: new Date(String(challenge.json.expiresAt)),
      })
    })

    it('show a wallet its own rows only', async () => {
      const { account, header } = await openSession()
      const wallet = account.address.toLowerCase() as `0x${string}`
      const eligible = (walletAddress: `0x${string}`) => ({
        chainId: CHAIN_ID,
        walletAddress,
        actionType: 'liquidate',
        scopeAddress: GATED_MARKET,
        authorizationStatus: 'authorized',
      })
      const position = (walletAddress: `0x${string}`) => ({
        marketId: MARKET,
        chainId: CHAIN_ID,
        marketAddress: MARKET,
        walletAddress,
      })
      f.canonical.push({
        eligibility: [eligible(wallet), eligible(BORROWER)],
        positions: [position(wallet), position(BORROWER)],
      })
      const wallets = async (path: string, headers: Record<string, string>) =>
        items(await f.get(path, headers)).map((row) => row.walletAddress)
      expect(await wallets('/v1/eligibility', { ...secretHeaders, ...header })).toEqual([wallet])
      expect(await wallets('/v1/eligibility', { ...publishableHeaders, ...header })).toEqual([wallet])
      expect(await wallets('/v1/positions', { ...publishableHeaders, ...header })).toEqual([wallet])
      expect(await wallets('/v1/positions', header)).toEqual([wallet])
      expect(await wallets('/v1/positions', publishableHeaders)).toEqual([])
      expect(await wallets('/v1/positions', secretHeaders)).toHaveLength(2)
      expect(code(await f.get('/v1/eligibility', secretHeaders))).toEqual([401, 'authentication_required'])
      expect(code(await f.get('/v1/eligibility', header))).toEqual([401, 'authentication_required'])
    })

    it('refuse another wallet’s signature, bytes that are none, and a challenge used twice', async () => {
      const { confirm, account } = await openSession()
      expect(code(await f.post('/v1/wallet-sessions/confirm', confirm))).toEqual([401, 'invalid_challenge'])
      const challenge = await f.post('/v1/wallet-sessions/challenges', {
        address: BORROWER,
        chainId: CHAIN_ID,
      })
      const signature = await account.signMessage({ message: String(challenge.json.message) })
      const { challengeId } = challenge.json
      expect(code(await f.post('/v1/wallet-sessions/confirm', { challengeId, signature }))).toEqual([
        401,
        'invalid_signature',
      ])
      expect(code(await f.post('/v1/wallet-sessions/confirm', { challengeId, signature: '0x00' }))).toEqual([
        401,
        'invalid_signature',
      ])
    })

    it('open once for a challenge that is confirmed twice at once', async () => {
      const { challenge, account } = await newChallenge()
      const signature = await account.signMessage({ message: String(challenge.json.message) })
      const confirm = { challengeId: challenge.json.challengeId, signature }
      const both = await Promise.all([1, 2].map(() => f.post('/v1/wallet-sessions/confirm', confirm)))
      expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    })

    it('need a challenge that is not two minutes old', async () => {
      for (const [ageMs, status] of [
        [119_999, 200],
        [120_000, 401],
      ] as const) {
        const { challenge, account } = await newChallenge()
        const signature = await account.signMessage({ message: String(challenge.json.message) })
        f.clock.advance(ageMs)
        const confirm = { challengeId: challenge.json.challengeId, signature }
        expect((await f.post('/v1/wallet-sessions/confirm', confirm)).status).toBe(status)
      }
    })

    it('last 15 minutes, survive a restart, and are not readable in the file', async () => {
      const { header, session } = await openSession()
      await f.restart()
      expect(readFileSync(f.dbFile).includes(header['x-svc-wallet-session'])).toBe(false)
      expect(readFileSync(`${f.dbFile}-wal`).includes(header['x-svc-wallet-session'])).toBe(false)
      const leftMs = Date.parse(String(session.json.expiresAt)) - f.clock.nowMs()
      f.clock.advance(leftMs - 1)
      expect((await f.get('/v1/positions', header)).status).toBe(200)
      f.clock.advance(1)
      expect(code(await f.get('/v1/positions', header))).toEqual([401, 'invalid_session'])
    })
  })

  describe('idempotency', () => {
    it('is asked for on every POST', async () => {
      const headers = { ...secretHeaders, 'content-type': 'application/json' }
      for (const path of ['/v1/workflows/prepare', '/v1/stream-token', '/v1/wallet-sessions/challenges']) {
        const response = await fetch(`${f.service.url}${path}`, { method: 'POST', headers, body: '{}' })
        expect([response.status, await response.json()]).toMatchObject([
          400,
          { code: 'idempotency_key_required' },
        ])
      }
      const long = await f.post(
        '/v1/stream-token',
        {},
        { ...secretHeaders, 'idempotency-key': 'k'.repeat(201) },
      )
      expect(code(long)).toEqual([400, 'idempotency_key_required'])
      const longest = await f.post(
        '/v1/stream-token',
        {},
        { ...secretHeaders, 'idempotency-key': 'k'.repeat(200) },
      )
      expect(longest.status).toBe(200)
    })

    it('gives no stranger another’s answer under a key that both might think of', async () => {
      const create = (key: string) =>
        f.post('/v1/organizations', { name: 'Same' }, { 'idempotency-key': key })
      const strangers = [await create('1'), await create('1'), await create('k'.repeat(31))]
      expect(strangers.map(code)).toEqual(strangers.map(() => [400, 'idempotency_key_too_short']))
      const keys = [newKey(), newKey(), 'k'.repeat(32)]
      const created = await Promise.all(keys.map((key) => create(key)))
      expect(created.map(({ status }) => status)).toEqual([200, 200, 200])
      expect(new Set(created.map(({ json }) => json.secretKey)).size).toBe(3)
      expect(
        (await f.post('/v1/stream-token', {}, { ...secretHeaders, 'idempotency-key': '1' })).status,
      ).toBe(200)
    })

    it('gives the same key and body the same answer byte for byte, also after a restart', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      const first = await f.post('/v1/workflows/prepare', liquidation(), headers)
      expect(first.status).toBe(200)
      f.clock.advance(5_000)
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).text).toBe(first.text)
      await f.restart()
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).text).toBe(first.text)
    })

    it('keeps a refusal as it keeps an answer', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      const first = await f.post('/v1/workflows/prepare', {}, headers)
      expect(first.status).toBe(400)
      expect((await f.post('/v1/workflows/prepare', {}, headers)).text).toBe(first.text)
    })

    it('refuses the same key with another body, or on another path', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      await f.post('/v1/workflows/prepare', liquidation(), headers)
      const other = await f.post('/v1/workflows/prepare', liquidation({ repayAssets: '1' }), headers)
      expect(code(other)).toEqual([409, 'idempotency_conflict'])
      expect(code(await f.post('/v1/stream-token', liquidation(), headers))).toEqual([
        409,
        'idempotency_conflict',
      ])
    })

    it('tells the second of two at once to try again, and performs one', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      const both = await Promise.all(
        [1, 2].map(() => f.post('/v1/workflows/prepare', liquidation(), headers)),
      )
      const [ok, waiting] = both.sort((a, b) => a.status - b.status)
      expect(ok?.status).toBe(200)
      expect(code(waiting as Answer)).toEqual([409, 'idempotency_in_progress'])
      expect([waiting?.json.retryable, waiting?.headers.get('retry-after')]).toEqual([true, '1'])
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).text).toBe(ok?.text)
    })

    it('performs once when the reply is lost', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      f.service.setFault({ dropReply: /prepare/ })
      await expect(f.post('/v1/workflows/prepare', liquidation(), headers)).rejects.toThrow()
      f.service.setFault({})
      const answer = await f.post('/v1/workflows/prepare', liquidation(), headers)
      expect((await f.get(`/v1/workflows/${answer.json.requestId}`, secretHeaders)).json.status).toBe(
        'prepared',
      )
    })

    it('lets a request that failed inside be tried again', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      const { facilities } = f.canonical.snapshot()
      f.canonical.push({ facilities: undefined as never })
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).status).toBe(500)
      f.canonical.push({ facilities })
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).status).toBe(200)
    })

    it('performs again what a process that died had begun, and not what it had finished', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      await f.post('/v1/workflows/prepare', liquidation(), headers)
      const db = new DatabaseSync(f.dbFile)
      db.prepare('UPDATE idempotency SET status = NULL, answer = NULL WHERE key = ?').run(
        headers['idempotency-key'],
      )
      db.close()
      expect(code(await f.post('/v1/workflows/prepare', liquidation(), headers))).toEqual([
        409,
        'idempotency_in_progress',
      ])
      await f.restart()
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).status).toBe(200)
    })

    it('fails on request, without an effect, and answers late on request', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      const before = f.crashes.length
      f.service.setFault({ fail: { path: /prepare/, status: 500 } })
      expect(code(await f.post('/v1/workflows/prepare', liquidation(), headers))).toEqual([
        500,
        'injected_fault',
      ])
      expect(f.crashes).toHaveLength(before)
      f.service.setFault({ latencyMs: 50 })
      const startedMs = performance.now()
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).status).toBe(200)
      expect(performance.now() - startedMs).toBeGreaterThanOrEqual(49)
      f.service.setFault({})
    })

    it('dates its answers by its own clock', async () => {
      const { headers } = await f.get('/v1/markets', secretHeaders)
      expect(headers.get('date')).toBe(new Date(f.clock.nowMs()).toUTCString())
    })

    it('forgets an answer after 24 hours, and not a moment before', async () => {
      const headers = { ...secretHeaders, 'idempotency-key': newKey() }
      const first = await f.post('/v1/workflows/prepare', liquidation(), headers)
      f.clock.advance(24 * 3_600_000)
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).text).toBe(first.text)
      f.clock.advance(1)
      expect((await f.post('/v1/workflows/prepare', liquidation(), headers)).text).not.toBe(first.text)
    })
  })

  describe('the store', () => {
    it('keeps nothing of a transaction that threw', () => {
      const store = openStore(':memory:', SECRET)
      const insert = store.db.prepare("INSERT INTO events (type, subject, envelope) VALUES ('t', 's', '{}')")
      const broken = () => {
        insert.run()
        throw new TypeError('broken')
      }
      expect(() => store.atomically(broken)).toThrow('broken')
      store.atomically(() => insert.run())
      expect(store.db.prepare('SELECT count(*) AS n FROM events').get()?.n).toBe(1)
      store.close()
    })
  })

  describe('rate limit', () => {
    it('counts down on every response, refuses one past the limit, and starts anew in the next window', async () => {
      const limited = await startFixture({ rateLimit: { requestsMax: 3, windowMs: 5_000 } })
      try {
        const left = []
        for (let i = 0; i < 3; i += 1) {
          const answer = await limited.get('/v1/networks')
          left.push([answer.status, answer.headers.get('x-ratelimit-remaining')])
        }
        expect(left).toEqual([
          [200, '2'],
          [200, '1'],
          [200, '0'],
        ])
        const refused = await limited.get('/v1/networks')
        expect(code(refused)).toEqual([429, 'rate_limited'])
        expect([refused.headers.get('retry-after'), refused.headers.get('x-ratelimit-reset')]).toEqual([
          '5',
          '5',
        ])
        expect((await limited.get('/v1/networks', secretHeaders)).status).toBe(200)
        limited.clock.advance(5_000)
        expect((await limited.get('/v1/networks')).status).toBe(200)
      } finally {
        await limited.stop()
      }
    })
  })
})

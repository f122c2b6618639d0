import { readFileSync } from 'node:fs'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PUBLISHABLE_SCOPES, SCOPES } from '../../../../src/service/contract/operations.ts'
import {
  apiKeyCreated,
  applicationBootstrap,
  applicationRow,
  auditRow,
  keyRow,
  ownerClaim,
  productionAccessRequestStatus,
  sandboxState,
  usageRow,
} from '../../../../src/service/contract/tenant-resources.ts'
import { inOrder } from '../../../support/in-order.ts'
import {
  type Answer,
  CHAIN_ID,
  type Fixture,
  liquidation,
  newKey,
  PUBLISHABLE,
  publishableHeaders,
  SECRET,
  secretHeaders,
  startFixture,
} from '../fixture.ts'

const CONTROL_TOKEN = 'ct_test'
let f: Fixture
beforeAll(async () => {
  f = await startFixture({ controlToken: CONTROL_TOKEN })
})
afterAll(() => f.stop())

const code = (answer: Answer) => [answer.status, answer.json.code]
const items = (answer: Answer) => answer.json.items as Record<string, unknown>[]
const bearer = (token: unknown) => ({ authorization: `Bearer ${token}` })

/** A tenant of its own, with the secret key of its first application. */
async function newTenant() {
  const answer = await f.post('/v1/organizations', { name: 'Neighbour' }, {})
  return { ...applicationBootstrap.parse(answer.json), headers: bearer(answer.json.secretKey) }
}

async function session(headers: Record<string, string>) {
  const account = privateKeyToAccount(generatePrivateKey())
  const body = { address: account.address, chainId: CHAIN_ID }
  const challenge = await f.post('/v1/wallet-sessions/challenges', body, headers)
  const signature = await account.signMessage({ message: String(challenge.json.message) })
  const confirm = { challengeId: challenge.json.challengeId, signature }
  const answer = await f.post('/v1/wallet-sessions/confirm', confirm, headers)
  return {
    wallet: account.address.toLowerCase(),
    header: { 'x-svc-wallet-session': String(answer.json.session) },
  }
}

const createKey = (body: object, headers = secretHeaders) => f.post('/v1/keys', body, headers)

const review = (id: string, token = CONTROL_TOKEN) =>
  fetch(`${f.service.url}/sandbox-control/production-access-requests/${id}`, {
    method: 'PUT',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    body: '{"status":"approved"}',
  })

inOrder('one service of tenants', () => {
  describe('organizations', () => {
    it('come with a test application of every scope, whose secret is shown once', async () => {
      const tenant = await newTenant()
      expect(tenant).toMatchObject({ environment: 'test', slug: 'neighbour', secretShownOnce: true })
      expect(tenant.scopes).toEqual(SCOPES)
      const [row] = items(await f.get('/v1/applications', tenant.headers))
      expect(applicationRow.strict().parse(row)).toMatchObject({ id: tenant.id, name: 'Neighbour' })
      expect(JSON.stringify(row)).not.toContain(tenant.secretKey)
    })

    it('are created 100 times an hour and not once more', async () => {
      const other = await startFixture()
      try {
        for (let i = 1; i < 100; i += 1)
          await other.post('/v1/organizations', { name: `Organization ${i}` }, {})
        // The sandbox's own is the first.
        const refused = await other.post('/v1/organizations', { name: 'One more' }, {})
        expect(code(refused)).toEqual([429, 'organization_limit'])
        expect(refused.headers.get('retry-after')).toBe('3600')
        other.clock.advance(3_600_000)
        expect((await other.post('/v1/organizations', { name: 'One more' }, {})).status).toBe(200)
      } finally {
        await other.stop()
      }
    })

    it('are claimed by one wallet, once', async () => {
      const tenant = await newTenant()
      const { wallet, header } = await session(tenant.headers)
      const headers = { ...tenant.headers, ...header }
      const claimed = await f.post('/v1/console/owner-claim', {}, headers)
      expect(ownerClaim.parse(claimed.json)).toMatchObject({ walletAddress: wallet, role: 'owner' })
      expect(code(await f.post('/v1/console/owner-claim', {}, headers))).toEqual([409, 'owner_claimed'])
      expect(code(await f.post('/v1/console/owner-claim', {}, tenant.headers))).toEqual([
        401,
        'authentication_required',
      ])
    })
  })

  describe('applications', () => {
    it('are made in the organization of the asking key, with scopes that it holds', async () => {
      const tenant = await newTenant()
      const body = { name: 'Second', environment: 'test', scopes: ['usage:read'] }
      const second = await f.post('/v1/applications', body, tenant.headers)
      expect(applicationBootstrap.parse(second.json)).toMatchObject({
        organizationId: tenant.organizationId,
        scopes: ['usage:read'],
      })
      const headers = bearer(second.json.secretKey)
      expect((await f.get('/v1/usage', headers)).status).toBe(200)
      expect(code(await f.get('/v1/keys', headers))).toEqual([403, 'insufficient_scope'])
      expect(code(await f.post('/v1/applications', body, tenant.headers))).toEqual([409, 'slug_taken'])
      const unknown = { ...body, slug: 'third', scopes: ['all:of-it'] }
      expect(code(await f.post('/v1/applications', unknown, tenant.headers))).toEqual([400, 'unknown_scope'])
    })

    it('are live only with scopes that a review approved', async () => {
      const tenant = await newTenant()
      const live = { name: 'Live', environment: 'live', scopes: ['usage:read'] }
      const refused = await f.post('/v1/applications', live, tenant.headers)
      expect(code(refused)).toEqual([403, 'production_access_required'])
      expect(refused.json.blockedReason).toBe('production_access_not_approved')

      const request = { scopes: ['usage:read'], useCase: 'To see what our keeper uses.' }
      const requested = await f.post('/v1/production-access-requests', request, tenant.headers)
      const { id, status } = productionAccessRequestStatus.parse(requested.json)
      expect(status).toBe('pending')
      expect(code(await f.post('/v1/applications', live, tenant.headers))).toEqual([
        403,
        'production_access_required',
      ])
      expect((await review(id, 'no-token')).status).toBe(401)
      expect((await review('par_unknown')).status).toBe(400)
      expect((await review(id)).status).toBe(200)
      const created = await f.post('/v1/applications', live, tenant.headers)
      expect(created.json).toMatchObject({
        environment: 'live',
        secretKey: expect.stringMatching(/^sk_live_/),
      })
      const more = { ...live, slug: 'more', scopes: ['usage:read', 'audit:read'] }
      expect(code(await f.post('/v1/applications', more, tenant.headers))).toEqual([
        403,
        'production_access_required',
      ])
      const sandbox = { ...request, scopes: ['sandbox:write'] }
      expect(code(await f.post('/v1/production-access-requests', sandbox, tenant.headers))).toEqual([
        400,
        'no_production_scope',
      ])
    })
  })

  describe('keys', () => {
    it('are listed without their tokens', async () => {
      const rows = items(await f.get('/v1/keys', secretHeaders))
      for (const row of rows) keyRow.strict().parse(row)
      expect(rows.map(({ kind, redactedToken }) => [kind, redactedToken])).toEqual([
        ['publishable', 'pk_test_…cdef'],
        ['secret', 'sk_test_…cdef'],
      ])
    })

    it('hold a part of their maker’s scopes, and a publishable one its origins', async () => {
      const secret = await createKey({ kind: 'secret', scopes: ['keys:write', 'usage:read'] })
      expect(apiKeyCreated.strict().parse(secret.json)).toMatchObject({
        kind: 'secret',
        secretShownOnce: true,
      })
      const small = bearer(secret.json.token)
      expect(code(await createKey({ kind: 'secret', scopes: ['audit:read'] }, small))).toEqual([
        403,
        'insufficient_scope',
      ])
      expect(code(await f.post('/v1/keys/key_sandbox_secret/rotate', {}, small))).toEqual([
        403,
        'insufficient_scope',
      ])
      const wanted = { kind: 'publishable', scopes: PUBLISHABLE_SCOPES, origins: ['https://console.test'] }
      const publishable = await createKey(wanted)
      const headers = {
        'x-svc-publishable-key': String(publishable.json.token),
        origin: 'https://console.test',
      }
      expect((await f.get('/v1/positions', headers)).status).toBe(200)
      expect(code(await f.get('/v1/positions', { ...headers, origin: publishableHeaders.origin }))).toEqual([
        403,
        'origin_not_allowed',
      ])
    })

    it.each([
      ['unknown_scope', { kind: 'secret', scopes: ['__proto__'] }],
      ['not_publishable', { kind: 'publishable', scopes: ['keys:write'], origins: ['https://a.test'] }],
      ['origins_required', { kind: 'publishable', scopes: [] }],
      ['invalid_origin', { kind: 'publishable', scopes: [], origins: ['https://a.test/path'] }],
      ['origins_of_secret_key', { kind: 'secret', scopes: [], origins: ['https://a.test'] }],
    ])('refuse %s', async (name, body) => {
      expect(code(await createKey(body))).toEqual([400, name])
    })

    it('are replaced in one step: the old one ends when the new one begins', async () => {
      const old = await createKey({ kind: 'secret', scopes: ['keys:write'] })
      const headers = bearer(old.json.token)
      const rotated = await f.post(`/v1/keys/${old.json.id}/rotate`, {}, headers)
      expect(rotated.json).toMatchObject({ rotatedFromKeyId: old.json.id, scopes: ['keys:write'] })
      expect(code(await f.post('/v1/keys', {}, headers))).toEqual([401, 'key_revoked'])
      expect(code(await f.post(`/v1/keys/${old.json.id}/rotate`, {}))).toEqual([409, 'key_revoked'])
      expect(code(await f.post(`/v1/keys/${rotated.json.id}/revoke`, {}))).toEqual([200, undefined])
    })

    it('bound the sessions opened beside them, which alone do no more', async () => {
      const { json } = await createKey({ kind: 'secret', scopes: ['workflows:read'] })
      const { header } = await session(bearer(json.token))
      const { principalAddress: _, ...own } = liquidation()
      const refused = await f.post('/v1/workflows/prepare', own, header)
      expect(code(refused)).toEqual([403, 'insufficient_scope'])
      const beside = await session(header)
      const inherited = await f.post('/v1/workflows/prepare', own, beside.header)
      expect(code(inherited)).toEqual([403, 'insufficient_scope'])
      const free = await session({})
      expect((await f.post('/v1/workflows/prepare', own, free.header)).status).toBe(200)
    })

    it.each(['revoke', 'rotate'])('end their sessions with them: %s', async (end) => {
      const { json } = await createKey({ kind: 'secret', scopes: SCOPES.filter((s) => !/^sandbox:/.test(s)) })
      const { header } = await session(bearer(json.token))
      expect((await f.get('/v1/positions', header)).status).toBe(200)
      await f.post(`/v1/keys/${json.id}/${end}`, {})
      expect(code(await f.get('/v1/positions', header))).toEqual([401, 'invalid_session'])
      expect(code(await f.get('/v1/positions', { ...secretHeaders, ...header }))).toEqual([
        401,
        'invalid_session',
      ])
    })

    it('rotate once when asked twice at once', async () => {
      const { json } = await createKey({ kind: 'secret', scopes: [] })
      const both = await Promise.all([1, 2].map(() => f.post(`/v1/keys/${json.id}/rotate`, {})))
      expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    })

    it('may revoke themselves, and stay revoked after a restart', async () => {
      const { json } = await createKey({ kind: 'secret', scopes: ['keys:write'] })
      const revoked = await f.post(`/v1/keys/${json.id}/revoke`, {}, bearer(json.token))
      expect(keyRow.parse(revoked.json).status).toBe('revoked')
      await f.restart()
      expect(code(await f.post('/v1/keys', {}, bearer(json.token)))).toEqual([401, 'key_revoked'])
      expect(code(await f.post(`/v1/keys/${json.id}/revoke`, {}))).toEqual([409, 'key_revoked'])
    })
  })

  describe('a tenant', () => {
    it('does not find another’s workflows, transactions, keys, applications, usage or audit', async () => {
      const neighbour = await newTenant()
      const { json } = await f.post('/v1/workflows/prepare', liquidation())
      const registration = { order: 0, chainId: CHAIN_ID, txHash: `0x${'ab'.repeat(32)}` }
      const path = `/v1/workflows/${json.requestId}`
      await f.post(`${path}/transactions`, registration)
      const { headers } = neighbour
      const foreign = [
        await f.get(path, headers),
        await f.post(`${path}/transactions`, registration, headers),
        await f.get(`/v1/transactions/${CHAIN_ID}/${registration.txHash}`, headers),
        await f.post('/v1/keys/key_sandbox_publishable/revoke', {}, headers),
        await f.post('/v1/keys/key_sandbox_publishable/rotate', {}, headers),
      ]
      expect(foreign.map(code)).toEqual(foreign.map(() => [400, 'not_found']))
      expect((await f.get(path, secretHeaders)).status).toBe(200)
      for (const list of ['applications', 'keys', 'usage', 'audit-log']) {
        const text = (await f.get(`/v1/${list}`, headers)).text
        expect(text).not.toMatch(/app_sandbox|org_sandbox|key_sandbox/)
      }
    })

    it('gets no other’s idempotent answer, and its session is no other’s', async () => {
      const neighbour = await newTenant()
      const key = { 'idempotency-key': newKey() }
      const mine = await f.post('/v1/keys', { kind: 'secret', scopes: [] }, { ...secretHeaders, ...key })
      const other = await f.post('/v1/keys', { kind: 'secret', scopes: [] }, { ...neighbour.headers, ...key })
      expect([other.status, other.json.applicationId]).toEqual([200, neighbour.id])
      expect(other.json.token).not.toBe(mine.json.token)
      const { header } = await session(neighbour.headers)
      expect(code(await f.get('/v1/positions', { ...secretHeaders, ...header }))).toEqual([
        403,
        'foreign_session',
      ])
      expect((await f.get('/v1/positions', header)).status).toBe(200)
    })

    it('is reached by a session that no application opened, for its own wallet’s workflows only', async () => {
      const { header } = await session({})
      const { principalAddress: _, ...own } = liquidation()
      const prepared = await f.post('/v1/workflows/prepare', own, header)
      const path = `/v1/workflows/${prepared.json.requestId}`
      expect((await f.get(path, header)).status).toBe(200)
      expect(code(await f.get(path, secretHeaders))).toEqual([400, 'not_found'])
      const foreign = await f.post('/v1/workflows/prepare', liquidation())
      expect(code(await f.get(`/v1/workflows/${foreign.json.requestId}`, header))).toEqual([400, 'not_found'])
    })
  })

  describe('a wallet’s workflow', () => {
    it('is kept from a publishable key alone, and from another wallet’s session beside it', async () => {
      const { json } = await f.post('/v1/workflows/prepare', liquidation())
      const path = `/v1/workflows/${json.requestId}`
      const registration = { order: 0, chainId: CHAIN_ID, txHash: `0x${'5a'.repeat(32)}` }
      await f.post(`${path}/transactions`, registration)
      const stranger = { ...publishableHeaders, ...(await session(publishableHeaders)).header }
      const transaction = `/v1/transactions/${CHAIN_ID}/${registration.txHash}`
      for (const headers of [publishableHeaders, stranger]) {
        expect(code(await f.get(path, headers))).toEqual([403, 'foreign_workflow'])
        const refused = await f.post(`${path}/transactions`, registration, headers)
        expect(code(refused)).toEqual([403, 'foreign_workflow'])
        expect(code(await f.get(transaction, headers))).toEqual([400, 'not_found'])
      }
      expect(items(await f.get(transaction, secretHeaders))).toHaveLength(1)
    })

    it('is of no wallet when a publishable key alone named it: the key reaches it', async () => {
      const { json } = await f.post('/v1/workflows/prepare', liquidation(), publishableHeaders)
      const path = `/v1/workflows/${json.requestId}`
      const registration = { order: 0, chainId: CHAIN_ID, txHash: `0x${'cd'.repeat(32)}` }
      expect((await f.post(`${path}/transactions`, registration, publishableHeaders)).status).toBe(200)
      expect((await f.get(path, publishableHeaders)).status).toBe(200)
      const transaction = `/v1/transactions/${CHAIN_ID}/${registration.txHash}`
      expect(items(await f.get(transaction, publishableHeaders))).toHaveLength(1)
    })
  })

  describe('the sandbox of an application', () => {
    it('resets workflows, webhooks and idempotent answers, tells so, and leaves keys and neighbours alone', async () => {
      const [tenant, neighbour] = [await newTenant(), await newTenant()]
      expect(sandboxState.parse((await f.get('/v1/sandbox', tenant.headers)).json).lastResetAt).toBe(null)
      const key = { 'idempotency-key': newKey() }
      const headers = { ...tenant.headers, ...key }
      const first = await f.post('/v1/workflows/prepare', liquidation(), headers)
      const kept = await f.post('/v1/workflows/prepare', liquidation(), neighbour.headers)
      expect(code(await f.post('/v1/sandbox/reset', { fixtureSet: 'other' }, tenant.headers))).toEqual([
        400,
        'unknown_fixture_set',
      ])
      const endpoint = { url: 'https://receiver.test/hook' }
      await f.post('/v1/webhook-endpoints', endpoint, tenant.headers)
      await f.post('/v1/webhook-endpoints', endpoint, neighbour.headers)
      const reset = await f.post('/v1/sandbox/reset', {}, tenant.headers)
      expect(sandboxState.parse(reset.json).lastResetAt).toBe(new Date(f.clock.nowMs()).toISOString())
      const gone = await f.get(`/v1/workflows/${first.json.requestId}`, tenant.headers)
      expect(code(gone)).toEqual([400, 'not_found'])
      const anew = await f.post('/v1/workflows/prepare', liquidation(), headers)
      expect(anew.json.requestId).not.toBe(first.json.requestId)
      expect((await f.get(`/v1/workflows/${kept.json.requestId}`, neighbour.headers)).status).toBe(200)
      expect(items(await f.get('/v1/webhook-endpoints', tenant.headers))).toEqual([])
      expect(items(await f.get('/v1/webhook-endpoints', neighbour.headers))).toHaveLength(1)
      const events = items(await f.get('/v1/events', tenant.headers)).map(
        ({ event }) => event as { type: string; subject: string },
      )
      expect(events.filter(({ subject }) => subject === tenant.id).map(({ type }) => type)).toEqual([
        'sandbox.provisioned',
        'sandbox.reset.requested',
        'sandbox.reset.completed',
      ])
    })
  })

  describe('usage and audit', () => {
    it('count each operation and day of an application, failures too, for 30 days', async () => {
      const tenant = await newTenant()
      await f.get('/v1/keys', tenant.headers)
      await f.get('/v1/keys?limit=0', tenant.headers)
      const today = new Date(f.clock.nowMs()).toISOString().slice(0, 10)
      const [row] = items(await f.get('/v1/usage', tenant.headers))
      expect(usageRow.strict().parse(row)).toEqual({
        day: today,
        operation: 'listKeys',
        requests: 2,
        failures: 1,
      })
      f.clock.advance(29 * 86_400_000)
      expect(items(await f.get('/v1/usage', tenant.headers)).map(({ day }) => day)).toContain(today)
      f.clock.advance(86_400_000)
      expect(items(await f.get('/v1/usage', tenant.headers)).map(({ day }) => day)).not.toContain(today)
    })

    it('name who changed what, newest first, by pages', async () => {
      const tenant = await newTenant()
      const key = await createKey({ kind: 'secret', scopes: [] }, tenant.headers)
      const revoked = await f.post(`/v1/keys/${key.json.id}/revoke`, {}, tenant.headers)
      await f.post('/v1/keys', { kind: 'no' }, tenant.headers)
      const first = await f.get('/v1/audit-log?limit=2', tenant.headers)
      const { nextCursor } = first.json.pageInfo as { nextCursor: string }
      const second = await f.get(`/v1/audit-log?limit=2&cursor=${nextCursor}`, tenant.headers)
      const rows = [...items(first), ...items(second)].map((row) => auditRow.strict().parse(row))
      expect(rows.map(({ action, target }) => [action, target])).toEqual([
        ['revokeKey', key.json.id],
        ['createKey', key.json.id],
        ['createOrganization', tenant.id],
      ])
      expect(rows[0]?.requestId).toBe(revoked.headers.get('x-request-id'))
      expect(rows[0]?.actor).toMatch(/^key_[0-9a-f-]+:$/)
    })
  })

  describe('secrets', () => {
    it('are nowhere in the file', async () => {
      const tenant = await newTenant()
      const { json } = await createKey({ kind: 'secret', scopes: [] })
      const { header } = await session(secretHeaders)
      const endpoint = await f.post('/v1/webhook-endpoints', { url: 'https://receiver.test/hook' })
      await f.restart()
      const file = Buffer.concat([readFileSync(f.dbFile), readFileSync(`${f.dbFile}-wal`)])
      const created = [tenant.secretKey, json.token, endpoint.json.signingSecret]
      const secrets = [SECRET, PUBLISHABLE, ...created, header['x-svc-wallet-session']]
      expect(secrets.map((secret) => typeof secret)).toEqual(secrets.map(() => 'string'))
      expect(secrets.filter((secret) => file.includes(String(secret)))).toEqual([])
    })
  })
})

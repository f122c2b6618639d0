import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createServiceClient, type ServiceClient } from '../../src/service/client.ts'
import { CHALLENGE } from '../../src/service/contract/wallet-session-assumptions.ts'
import { createEventSource } from '../../src/service/events/event-source.ts'
import { createFeed } from '../../src/service/events/feed.ts'
import type { Hint } from '../../src/service/events/hints.ts'
import { SERVICE_TIMEOUTS } from '../../src/service/http.ts'
import { createWalletSession } from '../../src/service/session.ts'
import {
  CHAIN_ID,
  type Fixture,
  GATED_MARKET,
  liquidation,
  MARKET,
  SECRET,
  startFixture,
} from '../sandbox/service/fixture.ts'
import { inbox } from './scripted-service.ts'

const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)

let f: Fixture
let client: ServiceClient
beforeAll(async () => {
  f = await startFixture()
  client = createServiceClient(
    { baseUrl: f.service.url, secretKey: SECRET, timeouts: SERVICE_TIMEOUTS },
    f.clock,
  )
})
afterAll(async () => {
  await client.close()
  await f.stop()
})

test('reads every collection of the sandbox whole, with no row dropped', async () => {
  const lists = [
    client.listMarkets,
    client.listCreditFacilities,
    client.listPositions,
    client.listLiquidationRecovery,
    client.listDeployments,
    client.listNetworks,
  ]
  for (const list of lists) {
    const { items, dropped, droppedPath } = await list()
    expect({ rows: items.length > 0, dropped, droppedPath }).toEqual({
      rows: true,
      dropped: 0,
      droppedPath: undefined,
    })
  }
  expect((await client.listAssets()).items).toHaveLength(150)
  expect((await client.listActivity()).dropped).toBe(0)
  expect(
    (await client.getMarket({ params: { resourceId: MARKET }, fields: ['paused', 'oracle.priceWad'] })).answer
      .paused,
  ).toBe(false)
})

test('gets the contract of the sandbox, which is the catalogue as OpenAPI', async () => {
  const answer = await fetch(`${f.service.url}/openapi.json`)
  expect(await answer.json()).toMatchObject({ openapi: '3.1.0', servers: [{ url: f.service.url }] })
})

test('prepares, registers and follows a workflow of the sandbox', async () => {
  const body = JSON.stringify(liquidation())
  const first = await client.prepareWorkflow({ bodyText: body, idempotencyKey: 'once' })
  const second = await client.prepareWorkflow({ bodyText: body, idempotencyKey: 'once' })
  expect(second.bytes).toBe(first.bytes)
  await expect(
    client.prepareWorkflow({ bodyText: `${body} `, idempotencyKey: 'once' }),
  ).rejects.toMatchObject({ code: 'service.conflict' })
  const txHash = `0x${'ab'.repeat(32)}` as const
  const { requestId } = first.answer
  const registered = await client.registerTransaction({
    params: { requestId },
    body: { order: 0, chainId: CHAIN_ID, txHash },
    idempotencyKey: 'reg',
  })
  expect(registered.answer.transactions).toMatchObject([{ txHash }])
  expect((await client.getWorkflow({ params: { requestId } })).answer.requestId).toBe(requestId)
  expect(
    (await client.getTransaction({ params: { chainId: String(CHAIN_ID), txHash } })).items,
  ).toMatchObject([{ txHash, requestId }])
})

test('opens a wallet session that the sandbox verifies, and reads eligibility with it', async () => {
  f.canonical.push({
    eligibility: [
      {
        chainId: CHAIN_ID,
        walletAddress: account.address,
        actionType: 'liquidate',
        scopeAddress: GATED_MARKET,
        authorizationStatus: 'authorized',
      },
    ],
  })
  const session = createWalletSession(
    { address: account.address, chainId: CHAIN_ID },
    {
      client,
      clock: f.clock,
      challenge: CHALLENGE,
      attest: (digest) => account.sign({ hash: digest }),
    },
  )
  const read = await session.use((token) => client.listEligibility({ session: token }))
  expect(read).toMatchObject({ ok: true, value: { items: [{ scopeAddress: GATED_MARKET }], dropped: 0 } })
})

test('gets a change of the indexed chain as a hint, and resumes at its cursor', async () => {
  const saved: string[] = []
  const follow = (cursor: string | null) => {
    const hints = inbox<Hint>()
    const feed = createFeed(
      { types: ['positions.updated'], sweepMs: 3_600_000 },
      {
        client: createEventSource(client, { url: f.service.streamUrl }),
        clock: f.clock,
        onRefused: (error) => expect.unreachable(error.message),
        loadCursor: () => cursor,
        saveCursor: (next) => saved.push(next),
      },
    )
    feed.onHint(hints.put)
    void feed.start()
    return { feed, hints }
  }
  const change = (subject: string) =>
    f.canonical.push({}, [{ eventType: 'positions.updated', subject, data: {} }])

  const first = follow(null)
  expect([await first.hints.next(), await first.hints.next()]).toEqual([{ type: 'sweep' }, { type: 'sweep' }])
  change('a')
  expect(await first.hints.next()).toMatchObject({ subject: 'a' })
  await first.feed.close()
  change('b')
  const second = follow(saved.at(-1) ?? null)
  expect([await second.hints.next(), await second.hints.next()]).toMatchObject([
    { type: 'sweep' },
    { subject: 'b' },
  ])
  expect(second.feed.state()).toMatchObject({ gaps: 0, unreadable: 0 })
  await second.feed.close()
})

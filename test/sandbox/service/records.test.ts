import { type Address, getAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ServiceRecord } from '../../../sandbox/service/records.ts'
import { preparerOf } from '../../../sandbox/service/workflows/registry.ts'
import { preparedWorkflow } from '../../../src/service/contract/prepared-workflow.ts'
import { SERVICE_TYPES } from '../../../src/service/contract/workflow-types.ts'
import { inOrder } from '../../support/in-order.ts'
import {
  baseSnapshot,
  CHAIN_ID,
  type Fixture,
  GATED_MARKET,
  LIQUIDATOR,
  LOAN,
  MARKET,
  newKey,
  secretHeaders,
  startFixture,
  VAULT,
} from './fixture.ts'

const TOKEN = 'ctl_test'
const ASSET: Address = `0x${'99'.repeat(20)}`
const WEBSITE = 'https://sandbox.example'
const record = (draft: Pick<ServiceRecord, 'kind' | 'key' | 'body'>): ServiceRecord => ({
  ...draft,
  status: draft.kind === 'asset_submission' ? 'approved' : 'saved',
  wallet: LIQUIDATOR,
  atMs: 0,
})
const SEEDS: readonly ServiceRecord[] = [
  record({
    kind: 'management_settings',
    key: VAULT,
    body: { managerName: 'Manager', website: WEBSITE, logoUrl: `${WEBSITE}/logo.svg` },
  }),
  record({ kind: 'owner_settings', key: VAULT, body: { shareClass: 'senior', riskScore: 20 } }),
  record({ kind: 'market_listing', key: `${VAULT}:${MARKET}`, body: { listed: false } }),
  record({ kind: 'market_listing', key: `${VAULT}:${GATED_MARKET}`, body: { listed: true } }),
  record({
    kind: 'asset_submission',
    key: LOAN,
    body: { topCategory: 'stablecoin', issuerName: 'Issuer', website: WEBSITE },
  }),
]

let f: Fixture
const { address: wallet, session } = createWallet()

beforeAll(async () => {
  f = await startFixture({ controlToken: TOKEN, records: SEEDS })
  await session.open()
})
afterAll(() => f.stop())

function createWallet() {
  const account = privateKeyToAccount(generatePrivateKey())
  let headers: Record<string, string> = {}
  return {
    address: account.address,
    session: {
      headers: () => headers,
      open: async () => {
        const asked = { address: account.address, chainId: CHAIN_ID }
        const { json } = await f.post('/v1/wallet-sessions/challenges', asked)
        const signature = await account.signMessage({ message: String(json.message) })
        const confirm = { challengeId: json.challengeId, signature }
        const opened = await f.post('/v1/wallet-sessions/confirm', confirm)
        headers = { ...secretHeaders, 'x-svc-wallet-session': String(opened.json.session) }
      },
    },
  }
}

const submission = (changes: object = {}) => ({
  workflowType: 'role.asset_issuer.assetSubmissionRequestCreate',
  chainId: CHAIN_ID,
  input: {
    assetAddress: getAddress(ASSET),
    name: 'Gold',
    symbol: 'sXAU',
    decimals: 18,
    issuerName: 'Mint',
    website: WEBSITE,
    topCategory: 'metal',
  },
  ...changes,
})
const prepare = (body: object, headers: Record<string, string>) =>
  f.post('/v1/workflows/prepare', body, headers)
const items = async (path: string) =>
  (await f.get(path, secretHeaders)).json.items as readonly Record<string, unknown>[]
const events = async () => (await items('/v1/events')).map(({ event }) => event as Record<string, unknown>)
const review = async (body: object, token = TOKEN) =>
  (
    await fetch(`${f.service.url}/sandbox-control/reviews`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  ).status

inOrder('one set of records', () => {
  it('every type of the service is prepared somewhere', () => {
    for (const type of SERVICE_TYPES) expect(preparerOf(type).type).toBe(type)
  })

  it('nothing is saved without the session of its wallet, or while the preflight blocks', async () => {
    const before = (await events()).length
    const other = createWallet().address
    expect((await prepare(submission(), secretHeaders)).json.code).toBe('wallet_session_required')
    const foreign = await prepare(submission({ principalAddress: other }), session.headers())
    expect([foreign.status, foreign.json.code]).toEqual([403, 'foreign_principal'])
    f.canonical.setFreshness('stale')
    const stale = preparedWorkflow.parse((await prepare(submission(), session.headers())).json)
    f.canonical.setFreshness('current')
    f.service.setFault({ blockPreflight: 'said_so' })
    const faulty = preparedWorkflow.parse((await prepare(submission(), session.headers())).json)
    f.service.setFault({})
    for (const { status, preflight, requestId } of [stale, faulty]) {
      expect([status, preflight.status]).toEqual(['prepared', 'blocked'])
      expect((await f.get(`/v1/workflows/${requestId}`, secretHeaders)).json.status).toBe('prepared')
    }
    expect(await events()).toHaveLength(before)
    expect(await review({ kind: 'asset_submission', key: ASSET, status: 'approved' })).toBe(400)
  })

  it('a prepare that passes saves its record once, ends its workflow, and tells so', async () => {
    const before = (await events()).length
    const headers = { ...session.headers(), 'idempotency-key': newKey() }
    const answer = await prepare(submission(), headers)
    const prepared = preparedWorkflow.parse(answer.json)
    expect(prepared).toMatchObject({
      status: 'final_success',
      executionMode: 'metadata_only',
      custodyBoundary: 'wallet_session_authenticated',
      preflight: { status: 'passed' },
      transactions: [],
      canonicalPostconditions: [{ entityType: 'asset_submission', field: 'status', expected: 'submitted' }],
    })
    expect((await prepare(submission(), headers)).text).toBe(answer.text)
    const { requestId } = prepared
    const { json } = await f.get(`/v1/workflows/${requestId}`, secretHeaders)
    const blockNumber = String(f.canonical.snapshot().block.number)
    expect(json).toMatchObject({
      status: 'final_success',
      transactions: [],
      canonicalPostconditions: [{ satisfied: true, blockNumber }],
    })
    const added = (await events()).slice(before)
    expect(added.map(({ type, subject }) => [type, subject])).toEqual([
      ['workflow.assetSubmissionRequestCreate.updated', requestId],
      ['assets.updated', ASSET],
    ])
    expect(added[0]?.data).toMatchObject({ status: 'final_success' })
    const [entry] = await items('/v1/audit-log')
    expect(entry).toMatchObject({ action: 'prepareWorkflow', target: requestId })
    expect(String(entry?.actor)).toContain(wallet.toLowerCase())
    const registered = { order: 0, chainId: CHAIN_ID, txHash: `0x${'1'.repeat(64)}` }
    expect((await f.post(`/v1/workflows/${requestId}/transactions`, registered)).json.code).toBe(
      'unknown_intent',
    )
  })

  it('a review shows what was asked for, to whoever holds the control token; a restart and a reset leave it', async () => {
    expect((await f.get(`/v1/assets/${ASSET}`, secretHeaders)).status).toBe(400)
    const approval = { kind: 'asset_submission', key: getAddress(ASSET), status: 'approved' }
    expect(await review(approval, 'ctl_wrong')).toBe(401)
    expect(await review({ ...approval, kind: 'owner_settings' })).toBe(400)
    expect(await review({ ...approval, key: VAULT })).toBe(400)
    expect(await review(approval)).toBe(200)
    expect((await events()).at(-1)).toMatchObject({ type: 'assets.updated', subject: ASSET })
    const seeded = { kind: 'asset_submission', key: LOAN }
    expect(await review({ ...seeded, status: 'rejected' })).toBe(200)
    await f.restart()
    expect((await f.get(`/v1/assets/${LOAN}`, secretHeaders)).json).not.toHaveProperty('issuer')
    expect(await review({ ...seeded, status: 'approved' })).toBe(200)
    await f.post('/v1/sandbox/reset', {})
    expect((await f.get(`/v1/assets/${ASSET}`, secretHeaders)).json).toMatchObject({
      symbol: 'sXAU',
      decimals: 18,
      topCategory: 'metal',
      issuer: { configured: true, name: 'Mint', website: WEBSITE },
    })
    expect(await review({ ...approval, status: 'rejected' })).toBe(200)
    expect((await f.get(`/v1/assets/${ASSET}`, secretHeaders)).status).toBe(400)
  })

  it('records name and class what the chain has, and hide markets, but show none that it does not list', async () => {
    const vaults = baseSnapshot.vaults.map((row) => ({
      ...row,
      assetManager: { id: LIQUIDATOR, address: LIQUIDATOR },
      listedMarketAddresses: [MARKET],
      allocations: row.allocations?.map((one) => ({ ...one, listed: true })),
    }))
    const markets = baseSnapshot.markets.map((row) => ({
      ...row,
      loanAsset: { id: LOAN },
      allocators: row.allocators?.map((one) => ({ ...one, listed: row.address === MARKET })),
    }))
    f.canonical.push({ vaults, markets })
    expect((await f.get(`/v1/vaults/${VAULT}`, secretHeaders)).json).toMatchObject({
      assetManager: { id: LIQUIDATOR, address: LIQUIDATOR, name: 'Manager', website: WEBSITE },
      shareClass: 'senior',
      riskScore: 20,
      listedMarketAddresses: [],
      allocations: [{ marketAddress: MARKET, listed: false }],
    })
    const rows = await items('/v1/markets')
    for (const row of rows) {
      expect(row).toMatchObject({
        allocators: [{ listed: false }],
        loanAsset: { topCategory: 'stablecoin', issuer: { name: 'Issuer' } },
      })
    }
    expect(rows).toHaveLength(2)
    // So is what the story has saved, and it is announced.
    const [before, key] = [(await events()).length, `${VAULT}:${MARKET}`]
    f.service.save(record({ kind: 'market_listing', key, body: { listed: true } }))
    expect((await f.get(`/v1/vaults/${VAULT}`, secretHeaders)).json.listedMarketAddresses).toEqual([MARKET])
    expect((await events()).slice(before).map(({ type, subject }) => [type, subject])).toEqual([
      ['vaults.updated', VAULT],
      ['tranches.updated', VAULT],
      ['markets.updated', MARKET],
    ])
  })
})

import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMessages } from '../../../../sandbox/service/reads/messages.ts'
import { openStore } from '../../../../sandbox/service/store.ts'
import type { FundResource, NavReportResource } from '../../../../src/service/contract/fund-resources.ts'
import {
  type Answer,
  BORROWER,
  baseSnapshot,
  CHAIN_ID,
  type Fixture,
  LIQUIDATOR,
  LOAN,
  publishableHeaders,
  SECRET,
  secretHeaders,
  startFixture,
  VAULT,
} from '../fixture.ts'

const FUND = `0x${'f0'.repeat(20)}` as const
const NAV_ORACLE = `0x${'f9'.repeat(20)}` as const
const epoch = (n: number) => ({ id: `${FUND}:${n}`, fundAddress: FUND, epochId: String(n), status: 'closed' })
const fund: FundResource = {
  id: FUND,
  chainId: CHAIN_ID,
  address: FUND,
  name: 'Recovery',
  status: 'active',
  navAssets: '12',
  epochs: [epoch(1), epoch(2)],
  holdings: [
    { id: `${FUND}:1`, positionId: '0x1', fundAddress: FUND, assetLane: 'liquid', holdingStatus: 'held' },
  ],
}
const report = (submittedAtEpochMs: number, value: string): NavReportResource => ({
  id: `${NAV_ORACLE}:${submittedAtEpochMs}`,
  asset: FUND,
  oracleAddress: NAV_ORACLE,
  submittedAtEpochMs,
  reportType: 'nav',
  value,
  decimals: 6,
})
const SILENT_ORACLE = `0x${'f8'.repeat(20)}` as const
const ofVault = { vaultId: VAULT, vaultAddress: VAULT }

let f: Fixture
beforeAll(async () => {
  f = await startFixture()
  f.canonical.push({
    funds: [fund],
    navReports: [report(2_000, '1600000'), report(1_000, '1500000')],
    navOracles: new Map([
      [NAV_ORACLE, FUND],
      [SILENT_ORACLE, VAULT],
    ]),
    vaults: baseSnapshot.vaults.map((vault) => ({
      ...vault,
      portfolioLiquidity: { ...ofVault, idleAssets: '7' },
      shareMobility: { ...ofVault, transferProfile: 'open' },
    })),
  })
})
afterAll(() => f.stop())

const code = (answer: Answer) => [answer.status, answer.json.code]
const items = (answer: Answer) => answer.json.items as Record<string, unknown>[]

/** Sign a new wallet in. */
async function openSession() {
  const account = privateKeyToAccount(generatePrivateKey())
  const asked = { address: account.address, chainId: CHAIN_ID }
  const challenge = await f.post('/v1/wallet-sessions/challenges', asked)
  const signature = await account.signMessage({ message: String(challenge.json.message) })
  const confirm = { challengeId: challenge.json.challengeId, signature }
  const { json } = await f.post('/v1/wallet-sessions/confirm', confirm)
  return { wallet: account.address, header: { 'x-svc-wallet-session': String(json.session) } }
}

describe('recovery funds', () => {
  it('are read by a key, whole or by fields, and never by anyone', async () => {
    expect(items(await f.get('/v1/funds', publishableHeaders))).toEqual([fund])
    const part = await f.get(
      `/v1/funds/${FUND.toUpperCase().replace('X', 'x')}?fields=navAssets`,
      secretHeaders,
    )
    expect(part.json).toEqual({
      id: FUND,
      chainId: CHAIN_ID,
      address: FUND,
      navAssets: '12',
      freshness: expect.anything(),
    })
    expect(code(await f.get(`/v1/funds/${FUND}?fields=nothing`, secretHeaders))).toEqual([
      400,
      'invalid_fields',
    ])
    for (const path of ['', `/${FUND}`, `/${FUND}/epochs`, `/${FUND}/holdings`]) {
      expect(code(await f.get(`/v1/funds${path}`))).toEqual([401, 'authentication_required'])
    }
  })

  it('show their epochs and holdings page by page', async () => {
    const first = await f.get(`/v1/funds/${FUND}/epochs?limit=1`, secretHeaders)
    const cursor = (first.json.pageInfo as { nextCursor: string }).nextCursor
    const second = await f.get(`/v1/funds/${FUND}/epochs?limit=1&cursor=${cursor}`, secretHeaders)
    expect([...items(first), ...items(second)]).toEqual(fund.epochs)
    expect(items(await f.get(`/v1/funds/${FUND}/holdings`, secretHeaders))).toEqual(fund.holdings)
    expect(code(await f.get('/v1/funds/0x00/epochs', secretHeaders))).toEqual([400, 'not_found'])
  })

  it('report their NAV, newest first, and their oracle shows the newest as a wad', async () => {
    expect(items(await f.get('/v1/nav-reports')).map((row) => row.value)).toEqual(['1600000', '1500000'])
    const rows = items(await f.get('/v1/oracles'))
    expect(rows.find((row) => row.address === NAV_ORACLE)).toMatchObject({
      priceWad: '1600000000000000000',
      lastUpdated: '1970-01-01T00:00:02.000Z',
    })
    expect(rows.find((row) => row.address === SILENT_ORACLE)).toMatchObject({
      state: 'missing',
      priceWad: null,
    })
  })
})

describe('rows of borrowers', () => {
  const walletsIn = async (path: string) =>
    items(await f.get(path, secretHeaders)).map((row) => row.walletAddress ?? row.borrowerAddress)

  it('are those of the wallets that the query names, in any case', async () => {
    const of = (...wallets: readonly string[]) =>
      walletsIn(`/v1/positions?${wallets.map((wallet) => `walletAddress=${wallet}`).join('&')}`)
    expect(await walletsIn('/v1/positions')).toHaveLength(2)
    expect(await of(BORROWER.toUpperCase().replace('0X', '0x'))).toEqual([BORROWER])
    expect((await of(BORROWER, LIQUIDATOR)).toSorted()).toEqual([BORROWER, LIQUIDATOR].toSorted())
    expect(await of(VAULT)).toEqual([])
  })

  it.each(['credit-facilities', 'liquidation-recovery'])('of %s name them as borrowers', async (name) => {
    expect(await walletsIn(`/v1/${name}?borrowerAddress=${BORROWER}`)).toEqual([BORROWER])
    expect(await walletsIn(`/v1/${name}?borrowerAddress=${LIQUIDATOR}`)).toEqual([])
    expect(code(await f.get(`/v1/${name}?walletAddress=${BORROWER}`))).toEqual([400, 'invalid_request'])
  })
})

describe('focused reads of a vault', () => {
  it('answer its liquidity and its share mobility', async () => {
    const read = async (name: string) => items(await f.get(`/v1/vaults/${VAULT}/${name}`))
    expect(await read('liquidity')).toEqual([{ ...ofVault, idleAssets: '7' }])
    expect(await read('share-mobility')).toEqual([{ ...ofVault, transferProfile: 'open' }])
    expect(await read('history')).toEqual([])
    expect(code(await f.get('/v1/vaults/0x00/liquidity'))).toEqual([400, 'not_found'])
  })
})

describe('the directory', () => {
  it.each(['fees', 'wrappers', 'partner-programs'])('says freshly that there are no %s', async (name) => {
    const { json } = await f.get(`/v1/${name}`)
    expect(json).toMatchObject({ items: [], pageInfo: { hasMore: false }, freshness: { status: 'current' } })
  })

  it('names who takes part, by address', async () => {
    expect(items(await f.get('/v1/entities'))).toMatchObject([{ id: 'operator', walletAddress: LOAN }])
  })
})

describe('allocation intelligence', () => {
  it('takes a key and a wallet session together, and shows a stranger nothing', async () => {
    const { header } = await openSession()
    const path = '/v1/allocation-intelligence'
    expect(items(await f.get(path, { ...secretHeaders, ...header }))).toEqual([])
    expect(items(await f.get(path, { ...publishableHeaders, ...header }))).toEqual([])
    for (const headers of [{}, secretHeaders, header]) {
      expect(code(await f.get(path, headers))).toEqual([401, 'authentication_required'])
    }
  })
})

describe('messages', () => {
  it("reach their wallet's session and the application's secret key, newest first, and nobody else", async () => {
    const [mine, foreign] = [await openSession(), await openSession()]
    const store = openStore(f.dbFile, SECRET)
    const messages = createMessages(store, f.clock)
    for (const subject of ['first', 'second']) {
      messages.post({ applicationId: null, walletAddress: mine.wallet, subject, body: 'Hello.' })
      f.clock.advance(1)
    }
    messages.post({
      applicationId: 'app_foreign',
      walletAddress: mine.wallet,
      subject: 'theirs',
      body: 'No.',
    })
    store.close()
    const subjects = async (headers: Record<string, string>) =>
      items(await f.get('/v1/messaging', headers)).map((row) => row.subject)
    expect(await subjects({ ...secretHeaders, ...mine.header })).toEqual(['second', 'first'])
    expect(await subjects({ ...publishableHeaders, ...mine.header })).toEqual(['second', 'first'])
    expect(await subjects(secretHeaders)).toEqual(['second', 'first'])
    expect(await subjects({ ...secretHeaders, ...foreign.header })).toEqual([])
    expect(await subjects(publishableHeaders)).toEqual([])
    expect(code(await f.get('/v1/messaging'))).toEqual([401, 'authentication_required'])
  })
})

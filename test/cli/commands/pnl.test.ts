import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pnl } from '../../../src/cli/commands/pnl.ts'
import { reportTable } from '../../../src/cli/output/pnl-tables.ts'
import { tableText } from '../../../src/cli/output/table.ts'
import { type Line, openAccounts, type Page } from '../../../src/journal/sqlite/accounts.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { endedMoney } from '../../../src/keeper/money/run-money.ts'
import { capture } from '../../support/commands.ts'
import { newDirectory } from '../../support/directory.ts'
import { MARKET, proposalOf, SIGNER, TOKEN, workflowOf } from '../../support/workflows.ts'

const COIN = `0x${'c0'.repeat(20)}` as const
const FUND = `0x${'f0'.repeat(20)}` as const
const HOUR_MS = 3_600_000
const ID = 'a'.repeat(32)
const hashOf = (number: number) => `0x${String(number).padStart(64, '0')}` as const
const point = (number: number) => ({ number: BigInt(number), hash: hashOf(number), atMs: number * HOUR_MS })
const line = (changes: Partial<Line>): Line => ({
  kind: 'moved',
  token: TOKEN,
  assets: 0n,
  blockNumber: 2n,
  hash: hashOf(700),
  counterparty: MARKET,
  workflowId: ID,
  ...changes,
})
const page = (
  number: number,
  closing: bigint,
  lines: readonly Line[],
  changes: Partial<Page> = {},
): Page => ({
  chainId: 1,
  signer: SIGNER,
  role: 'liquidator',
  count: 0,
  lines,
  positions: [],
  from: number === 1 ? null : point(number - 1),
  to: point(number),
  tokens: [
    { token: TOKEN, symbol: 'sUSD', decimals: 6 },
    { token: COIN, symbol: 'sBTC', decimals: 0, isCollateral: true },
  ],
  closing: [{ token: TOKEN, assets: closing }],
  prices: [
    { token: TOKEN, usdMicros: 1_000_000n },
    { token: COIN, usdMicros: BigInt(110 - number) * 1_000_000n },
  ],
  ...changes,
})

let directory = ''
beforeAll(async () => {
  directory = newDirectory()
  const journal = openSqliteJournal(directory)
  await journal.open(
    workflowOf('succeeded', { id: ID, proposal: proposalOf({ gainUsdMicros: 40_000_000n }) }),
  )
  await journal.barrier()
  await journal.close()
  const accounts = openAccounts(directory)
  const bought = [line({ assets: -200_000_000n }), line({ token: COIN, assets: 2n })]
  const fund = { signer: FUND, owner: 'fund', role: 'asset-manager' } as const
  const flow = line({ kind: 'flow', assets: 7_000_000n, workflowId: null, counterparty: COIN })
  const pages = [
    ...[page(1, 500_000_000n, []), page(2, 300_000_000n, bought), page(3, 300_000_000n, [])],
    ...[page(1, 0n, [], fund), page(2, 7_000_000n, [flow], fund)],
  ]
  for (const each of pages) expect(await accounts.add(each)).toBe(true)
  await accounts.close()
})
afterAll(() => rmSync(directory, { recursive: true }))

const run = async (...args: string[]) =>
  (await capture((io) => pnl(['--directory', directory, ...args], io))).out
const json = async (...args: string[]) =>
  (await run(...args, '--json'))
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text))

it('prints what is the signers’, and apart from it what is a vault’s or a fund’s', async () => {
  const [own, others] = (await run()).split('\n\n')
  expect(own).toContain('liquidator   +$40.00')
  expect(own).not.toContain('asset-manager')
  expect(others).toContain('none of it is the signers’ money')
  expect(others).toMatch(/^fund 0x(f0){20}\s+asset-manager\s+\+\$7\.00\s+\+\$0\.00/m)
  expect(await json('--by', 'account')).toMatchObject([
    { account: FUND, owner: 'fund', role: 'asset-manager', flows: '7000000', earned: '0', total: '7000000' },
  ])
  expect(await json()).toHaveLength(1)
  expect(await json('--by', 'balance', '--role', 'asset-manager')).toMatchObject([
    {
      role: 'asset-manager',
      owner: 'fund',
      account: FUND,
      opening: '0',
      received: '7000000',
      closing: '7000000',
      decimals: '6',
    },
  ])
  expect(await json('--by', 'line', '--role', 'asset-manager')).toMatchObject([
    { owner: 'fund', account: FUND, kind: 'flow', assets: '7000000', decimals: '6', usd: '7000000' },
  ])
})

it('says of each opportunity what was expected, what came, and by the prices of which block', async () => {
  expect(await json('--by', 'opportunity')).toMatchObject([
    {
      role: 'liquidator',
      owner: 'signer',
      account: SIGNER,
      workflows: [ID],
      said: '40000000',
      atEnd: '16000000',
      atEndBlock: '2',
      atEndTime: '1970-01-01T02:00:00.000Z',
      hourLater: '14000000',
      hourLaterBlock: '3',
      sold: null,
      soldBlock: null,
      hashes: [hashOf(700)],
    },
  ])
  expect(await run('--by', 'opportunity', '--csv')).toBe(
    [
      'role,workflow,received,expected,gas,at end,end block,hour later,hour block,sold,sold block',
      `liquidator,${ID},yes,40.00,0.00,16.00,2,14.00,3,,`,
      '',
    ].join('\n'),
  )
})

it('names what the journal does not have, as where it was restored from before it', async () => {
  const missing = line({ assets: 3_000_000n, workflowId: 'b'.repeat(32), counterparty: COIN })
  const place = newDirectory()
  const [journal, accounts] = [openSqliteJournal(place), openAccounts(place)]
  await journal.close()
  for (const each of [page(1, 0n, []), page(2, 3_000_000n, [missing])]) await accounts.add(each)
  await accounts.close()
  const { err, out } = await capture((io) => pnl(['--directory', place, '--json'], io))
  expect(err).toContain('The journal lacks 1 workflow of these accounts')
  expect(JSON.parse(out)).toMatchObject({ moved: '3000000', unknown: ['b'.repeat(32)] })
  rmSync(place, { recursive: true })
})

it('looks back as far as days and as long as years', async () => {
  expect(await run('--since', '36500d')).toContain('liquidator')
  await expect(run('--since', '30 days')).rejects.toMatchObject({ code: 'usage' })
})

it('compares nothing but balances with the chain', async () => {
  await expect(run('--check', '--by', 'day')).rejects.toMatchObject({ code: 'usage' })
})

it('does not say that all is well where it compared nothing', async () => {
  await expect(run('--check', '--role', 'liquidater')).rejects.toMatchObject({
    message: expect.stringContaining('--role is "liquidater".'),
    fix: expect.stringContaining('liquidator, allocator'),
  })
  await expect(run('--check', '--role', 'rfq-bidder')).rejects.toMatchObject({
    code: 'accounts.nothing_entered',
  })
  await expect(run('--check', '--since', '1s')).rejects.toMatchObject({ code: 'accounts.nothing_entered' })
})

it('prints of a run what its summary says', async () => {
  const config = {
    chain: { id: 1 },
    agents: [{ signer: { address: SIGNER } }],
    directory,
    deployment: { funds: [{ address: FUND }] },
  }
  const [row] = await json()
  const came = {
    realizedUsdMicros: String(BigInt(row.moved) + BigInt(row.gas) + BigInt(row.positions)),
    markedUsdMicros: row.marked,
    gasUsdMicros: row.gas,
  }
  expect(await endedMoney(config as never, new Map())).toEqual({
    liquidator: { saidUsdMicros: row.said, ...came },
  })
  expect(row.said).toBe('40000000')
  // What one account had before the run is no part of it, whatever block others ended at.
  const of = (block: bigint) => endedMoney(config as never, new Map([[SIGNER, block]]))
  expect(await of(1_000n)).toEqual({})
  expect(await of(0n)).toEqual({ liquidator: { saidUsdMicros: row.said, ...came } })
  // The seats of a fleet are with others once it ends.
  expect(await endedMoney({ ...config, fleet: {} } as never, new Map())).toEqual({ liquidator: came })
})

it('prints what a share was worth, and not its base units', () => {
  const report = {
    id: ID,
    role: 'nav-reporter',
    subject: 'a:b:nav',
    valuedAtS: 1_700_000_000n,
    hashes: [],
    decimals: 18,
    value: 999_600_000_000_000_000n,
    nextValue: 10n ** 18n,
    nextBps: 4n,
  }
  const [, row] = tableText(reportTable([report]), {}).split('\n')
  expect(row).toMatch(/^a:b:nav +2023-11-14T22:13:20\.000Z +0\.9996 +1 +4 /)
  expect(JSON.parse(tableText(reportTable([report]), { json: true }))).toMatchObject({
    value: '999600000000000000',
    decimals: '18',
  })
})

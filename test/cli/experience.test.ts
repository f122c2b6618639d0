import { rmSync } from 'node:fs'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recordCases } from '../../src/accounts/record-cases.ts'
import { type Line, openAccounts, type Page } from '../../src/journal/sqlite/accounts.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { runCommand } from '../support/commands.ts'
import { newDirectory } from '../support/directory.ts'
import { inOrder } from '../support/in-order.ts'
import { proposalOf, SIGNER, TOKEN, workflowOf } from '../support/workflows.ts'

const LOT: Address = `0x${'b7'.repeat(20)}`
const DESK: Address = `0x${'de'.repeat(20)}`
const HOUR_MS = 3_600_000
const point = (hour: number) => ({
  number: BigInt(hour),
  hash: `0x${String(hour).padStart(64, '0')}` as const,
  atMs: hour * HOUR_MS,
})
const line = (changes: Partial<Line>): Line => ({
  kind: 'moved',
  token: TOKEN,
  assets: 0n,
  blockNumber: 2n,
  hash: point(99).hash,
  counterparty: DESK,
  workflowId: null,
  ...changes,
})
const page = (hour: number, lines: readonly Line[]): Page => ({
  chainId: 1,
  signer: SIGNER,
  role: 'rfq-bidder',
  count: 0,
  lines,
  positions: [],
  from: hour === 0 ? null : point(hour - 1),
  to: point(hour),
  tokens: [
    { token: TOKEN, symbol: 'sUSD', decimals: 6 },
    { token: LOT, symbol: 'sBTC', decimals: 8 },
  ],
  closing: [{ token: TOKEN, assets: hour === 0 ? 2_000_000_000n : 1_100_000_000n }],
  prices: [
    { token: TOKEN, usdMicros: 1_000_000n },
    { token: LOT, usdMicros: 97_000_000_000n },
  ],
})

/** $900 for a hundredth of a bitcoin, said to be worth $950 at a mark of $1,000; $970 an hour later. */
const bid = workflowOf('succeeded', {
  id: 'ab'.repeat(16),
  role: 'rfq-bidder',
  proposal: proposalOf({
    kind: 'bid',
    lot: 'lot 1',
    gainUsdMicros: 50_000_000n,
    said: {
      of: ['bid'],
      worthUsdMicros: 950_000_000n,
      markUsdMicros: 1_000_000_000n,
      brings: { token: LOT, assets: 1_000_000n },
    },
  }),
})

let directory = ''
beforeAll(async () => {
  directory = newDirectory()
  const journal = openSqliteJournal(directory)
  await journal.open(bid)
  const accounts = openAccounts(directory)
  const won = [line({ assets: -900_000_000n, workflowId: bid.id }), line({ token: LOT, assets: 1_000_000n })]
  for (const each of [page(0, []), page(1, won), page(2, [])]) expect(await accounts.add(each)).toBe(true)
  await recordCases({ chainId: 1, signer: SIGNER, role: 'rfq-bidder' }, [], { accounts, journal })
  await accounts.close()
  await journal.close()
})
afterAll(() => rmSync(directory, { recursive: true }))

const run = (...args: readonly string[]) => runCommand([...args, '--directory', directory])

inOrder('rolekeeper experience, in one directory', () => {
  it('says what came of what was expected, and what is paid for it', async () => {
    const { out } = await run('pnl')
    expect(out.split('\n').map((row) => row.split(/ {2,}/))).toEqual([
      ['role', 'expected', 'moved', 'gas', 'positions', 'marked', 'total', 'workflows'],
      ['rfq-bidder', '+$50.00', '+$70.00', '+$0.00', '+$0.00', '+$0.00', '+$70.00', '1'],
      [''],
    ])
    const { out: csv } = await run('pnl', '--by', 'line', '--csv')
    expect(csv.split('\n')[1]).toBe(
      `1970-01-01T01:00:00.000Z,2,rfq-bidder,moved,-900,sUSD,-900,${DESK},${point(99).hash},${bid.id}`,
    )
    const { out: json } = await run('pnl', '--by', 'workflow', '--json', '--role', 'rfq-bidder')
    expect(JSON.parse(json.split('\n')[0] ?? '')).toMatchObject({
      workflow: bid.id,
      moved: '70000000',
      said: '50000000',
    })
    expect((await run('pnl', '--role', 'liquidator')).out).toBe('Nothing is entered yet.\n')
    expect((await run('pnl', '--since', '24h')).out).toBe('Nothing is entered of the last 24h.\n')
  })

  it('refuses what it does not know, and names what it does', async () => {
    expect(await run('pnl', '--by', 'moon')).toMatchObject({ code: 2 })
    expect((await run('pnl', '--by', 'moon')).err).toContain('give one of role, day')
    expect((await run('pnl', '--json', '--csv')).err).toContain('give one')
    expect((await run('experience', 'forget', 'baker')).err).toContain('give one of: rfq-bidder')
    expect((await run('experience')).err).toContain('write `show` or `forget ROLE`')
    expect((await run('experience', 'reset')).err).toContain('"reset" is not a command of experience.')
    expect((await run('experience', 'show', 'rfq-bidder')).err).toContain(
      'There is no place for "rfq-bidder"',
    )
    expect((await run('experience', 'forget')).err).toContain('Say which role forgets.')
    expect((await run('experience', 'show', '--role', 'rfq-bider')).err).toContain('perhaps `rfq-bidder`')
    expect((await run('experience', 'show', '--role', 'rfq-bidder')).out).toContain('bid ')
    // One of which nothing is decided is a role all the same.
    expect(await run('experience', 'show', '--role', 'liquidator')).toMatchObject({
      code: 0,
      out: 'Nothing is decided yet.\n',
    })
  })

  it('shows what a role learned, and lets it forget that while the accounts stay', async () => {
    expect((await run('experience', 'show')).out).toBe(
      `role        of   decided  won  against expected  brought      net\nrfq-bidder  bid        1    1            2.00 %   7.00 %  +$70.00\nA race that was lost is counted at once, and what was won an hour after it came, or a day after a move.\n`,
    )
    expect(await run('experience', 'forget', 'rfq-bidder')).toMatchObject({ code: 0 })
    expect((await run('experience', 'show')).out).toBe('Nothing is decided yet.\n')
    expect((await run('pnl')).out).toContain('+$70.00')
  })
})

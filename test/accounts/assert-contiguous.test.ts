import { rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { assertContiguous } from '../../src/accounts/assert-contiguous.ts'
import { pnl } from '../../src/cli/commands/pnl.ts'
import { type Line, openAccounts, type Page } from '../../src/journal/sqlite/accounts.ts'
import { newDirectory } from '../support/directory.ts'
import { SIGNER, TOKEN } from '../support/workflows.ts'

const hashOf = (number: number) => `0x${String(number).padStart(64, '0')}` as const
const point = (number: number) => ({ number: BigInt(number), hash: hashOf(number), atMs: number * 1_000 })
const line: Line = {
  kind: 'moved',
  token: TOKEN,
  assets: -1n,
  blockNumber: 2n,
  hash: hashOf(700),
  counterparty: null,
  workflowId: null,
}

/** The pages 1, 2, 3 … of a signer that gives one base unit on each but the first. */
const page = (number: number, changes: Partial<Page> = {}): Page => ({
  chainId: 1,
  signer: SIGNER,
  role: 'rfq-bidder',
  count: 0,
  positions: [],
  prices: [],
  from: number === 1 ? null : point(number - 1),
  to: point(number),
  lines: number === 1 ? [] : [line],
  tokens: [{ token: TOKEN, symbol: 'sUSD', decimals: 6 }],
  closing: [{ token: TOKEN, assets: 10n - BigInt(number) }],
  ...changes,
})

const refusal = (pages: readonly Page[], chainId?: number): unknown => {
  try {
    assertContiguous(pages, chainId)
    return null
  } catch (error) {
    return error
  }
}

it('takes pages that go on and sum, of a signer and of others beside it', () => {
  const other = { signer: TOKEN, closing: [] }
  expect(refusal([page(1), page(1, other), page(2), page(2, other), page(3)], 1)).toBeNull()
  expect(refusal([])).toBeNull()
})

it.each([
  ['one in the middle is missing', [page(1), page(3)]],
  ['the first is missing', [page(2), page(3)]],
  ['one begins anew', [page(1), page(2, { from: null, lines: [] })]],
])('names a gap: %s', (_, pages) => {
  expect(refusal(pages)).toMatchObject({ code: 'accounts.gap' })
})

it('says between which blocks a gap is', () => {
  expect(refusal([page(1), page(3)])).toMatchObject({
    message: expect.stringContaining(
      'the page that ends at block 3 begins at block 2, and the one before it ends at block 1',
    ),
  })
})

it('refuses pages of another chain, and of two', () => {
  expect(refusal([page(1)], 2)).toMatchObject({ code: 'accounts.other_chain' })
  expect(refusal([page(1), page(1, { chainId: 2 })])).toMatchObject({ code: 'accounts.other_chain' })
})

it('refuses a page whose lines do not make its closing balance', () => {
  expect(refusal([page(1), page(2, { lines: [{ ...line, assets: -2n }] })])).toMatchObject({
    code: 'accounts.not_summing',
    message: expect.stringContaining('make 7, and it closes at 8'),
  })
})

let directory = ''
beforeEach(() => {
  directory = newDirectory()
})
afterEach(() => rmSync(directory, { recursive: true }))

const run = () =>
  pnl(['--directory', directory], {
    outIsTty: false,
    errIsTty: false,
    env: {},
    out: () => {},
    err: () => {},
  })
async function written(pages: readonly Page[]): Promise<string> {
  const accounts = openAccounts(directory)
  for (const each of pages) expect(await accounts.add(each)).toBe(true)
  await accounts.close()
  return join(directory, 'accounts.sqlite')
}

it('names a file that was cut off, and one that is empty, instead of reading what is left of it', async () => {
  const many = Array.from({ length: 40 }, (_, index) =>
    page(index + 1, { closing: [{ token: TOKEN, assets: 39n - BigInt(index) }] }),
  )
  const file = await written(many)
  expect(await run()).toBe(0)
  for (const part of [0.5, 0.05, 0]) {
    truncateSync(file, Math.floor(statSync(file).size * part))
    await expect(run()).rejects.toMatchObject({ code: 'journal.corrupt' })
  }
})

it('prints nothing of accounts with a gap', async () => {
  const file = await written([page(1), page(2), page(3)])
  const db = new DatabaseSync(file)
  db.exec('DELETE FROM pages WHERE to_block = 2')
  db.close()
  await expect(run()).rejects.toMatchObject({ code: 'accounts.gap' })
})

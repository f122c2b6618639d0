import { expect, it } from 'vitest'
import { markUnread } from '../../src/accounts/mark-unread.ts'
import { resultsOf } from '../../src/accounts/results.ts'
import type { Line, Page } from '../../src/journal/sqlite/accounts.ts'
import { hourPage } from '../support/hourly-pages.ts'
import { TOKEN } from '../support/workflows.ts'

const DESK = `0x${'de'.repeat(20)}` as const
const NOTHING = { markets: [], vaults: [], contracts: [] }

/** What a signer is worth more once so much came from a desk that was taken off with 900 of its money. */
const next = (last: Page, came: bigint, changes: Partial<Line> = {}) => {
  const { lines, ...read } = hourPage(1, [{ token: TOKEN, assets: came, workflowId: null }])
  const moved = lines.map((line) => ({ ...line, ...changes }))
  const page = { ...markUnread(read, moved, last, NOTHING), lines: moved }
  const [result] = resultsOf([{ before: last, page }], 'role', new Map())
  return { page, total: (result?.moved ?? 0n) + (result?.positions ?? 0n) }
}

it('counts what comes back from a contract that was taken off once: it is there no more', () => {
  const last = { ...hourPage(0, []), positions: [{ at: DESK, token: TOKEN, assets: 900n }] }
  const { page, total } = next(last, 300n)
  expect([page.positions, total]).toEqual([[{ at: DESK, token: TOKEN, assets: 600n }], 0n])
  const all = next(page, 610n)
  expect([all.page.positions, all.total]).toEqual([[], 10n])
  expect(next(last, 300n, { counterparty: TOKEN }).total).toBe(300n)
  expect(next(last, -300n).page.positions).toEqual(last.positions)
})

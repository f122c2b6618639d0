import { rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { recordCases } from '../../src/accounts/record-cases.ts'
import { type Accounts, openAccounts } from '../../src/journal/sqlite/accounts.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { newDirectory } from '../support/directory.ts'
import { HOUR_MS, hourPage, LOT, OF } from '../support/hourly-pages.ts'
import { proposalOf, TOKEN, workflowOf } from '../support/workflows.ts'

let directory: string
let journal: ReturnType<typeof openSqliteJournal>
let accounts: Accounts
let atHour: number
beforeEach(() => {
  directory = newDirectory()
  journal = openSqliteJournal(directory)
  accounts = openAccounts(directory)
  atHour = 0
})
afterEach(async () => {
  await accounts.close()
  await journal.close()
  rmSync(directory, { recursive: true })
})

/** Close the next hour; a bitcoin is at $100,000. */
async function close(...lines: Parameters<typeof hourPage>[1]) {
  await accounts.add(hourPage(atHour, lines))
  atHour += 1
}

/** Bid $900 for a hundredth of a bitcoin, which was said to be worth $950 at a mark of $1,000. */
async function bid(id: string, lot: string) {
  const said = {
    of: ['bid'],
    worthUsdMicros: 950_000_000n,
    markUsdMicros: 1_000_000_000n,
    brings: { token: LOT, assets: 1_000_000n },
  }
  const proposal = proposalOf({ kind: 'bid', lot, said })
  await journal.open(workflowOf('succeeded', { id, opportunity: id, role: 'rfq-bidder', proposal }))
  await close({ token: TOKEN, assets: -900_000_000n, workflowId: id })
}
const brought = { token: LOT, assets: 1_000_000n, workflowId: null }
const back = { token: TOKEN, assets: 900_000_000n, workflowId: null }

const read = () => recordCases(OF, [], { accounts, journal })
const recorded = async () =>
  (await accounts.cases(OF)).map(({ came, atMs }) => [came?.error ?? null, atMs / HOUR_MS])

it('records each case once, whether pages are read one by one, together, or by a keeper that starts', async () => {
  await close()
  await bid('a', 'lot 1')
  await read()
  await close(brought)
  await read()
  expect(await recorded()).toEqual([])
  await close()
  await read()
  expect(await recorded()).toEqual([[0.05, 3]])
  await accounts.close()
  accounts = openAccounts(directory)
  await read()
  await bid('b', 'lot 2')
  await close(brought)
  await close()
  await read()
  expect(await recorded()).toEqual([
    [0.05, 3],
    [0.05, 6],
  ])
})

it('records all of a commit or nothing, and the next time what was not', async () => {
  await close()
  await bid('a', 'lot 1')
  await close(brought)
  await close()
  const ended = recordCases(OF, [], {
    journal,
    accounts: { ...accounts, decide: () => Promise.reject(new Error('the process ended here')) },
  })
  await expect(ended).rejects.toThrow('ended here')
  expect(await recorded()).toEqual([])
  await read()
  await read()
  expect(await recorded()).toEqual([[0.05, 3]])
})

it('records each case once where a role is opened anew and what it was before still reads', async () => {
  await close()
  await bid('a', 'lot 1')
  await close(brought)
  await close()
  const both = await Promise.allSettled([read(), read()])
  expect(both).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'accounts.decided' } }])
  expect(await recorded()).toEqual([[0.05, 3]])
  expect((await read()).cases).toEqual([])
})

it('counts a lot that was lost, and won at a later try, as both', async () => {
  await close()
  await bid('a', 'lot 1')
  await close(back)
  await close()
  await read()
  await bid('b', 'lot 1')
  await close(brought)
  await close()
  await read()
  expect(await recorded()).toEqual([
    [null, 2],
    [0.05, 6],
  ])
})

it('waits for what comes after more pages than are read at once', async () => {
  await close()
  await bid('a', 'lot 1')
  await close(brought)
  await close()
  await bid('b', 'lot 2')
  for (let page = 0; page < 120; page += 1) await close()
  await read()
  await close(brought)
  await close()
  await read()
  expect(await recorded()).toEqual([
    [0.05, 3],
    [0.05, 126],
  ])
})

it('records what was bought for others once it was sold again, by what was expected of its lot', async () => {
  const said = { of: ['lane:liquid'], worthUsdMicros: 100n, markUsdMicros: 100n }
  const proposal = proposalOf({ kind: 'bid', lot: 'lot 1', said })
  await journal.open(workflowOf('succeeded', { id: 'a', opportunity: 'a', role: 'rfq-bidder', proposal }))
  await close()
  await close({ token: TOKEN, assets: -1n, workflowId: 'a' })
  await read()
  const sold = [{ lot: 'lot 1', paidUsdMicros: 90n, cameUsdMicros: 95n, atMs: HOUR_MS }]
  for (const _ of [1, 2]) await recordCases(OF, sold, { accounts, journal })
  expect(await recorded()).toEqual([[-0.05, 1]])
})

it('records what was sold again once, whatever of its lot goes on', async () => {
  const said = { of: ['lane:liquid'], worthUsdMicros: 100n, markUsdMicros: 100n }
  const proposal = proposalOf({ kind: 'bid', lot: 'lot 1', said })
  await journal.open(workflowOf('succeeded', { id: 'a', opportunity: 'a', role: 'rfq-bidder', proposal }))
  const more = proposalOf({ kind: 'bid', lot: 'lot 1' })
  const going = { id: 'b', opportunity: 'b', role: 'rfq-bidder', proposal: more } as const
  await journal.open(workflowOf('in_flight', going))
  await close()
  await close({ token: TOKEN, assets: -1n, workflowId: 'a' }, { token: TOKEN, assets: -1n, workflowId: 'b' })
  const sold = [{ lot: 'lot 1', paidUsdMicros: 90n, cameUsdMicros: 95n, atMs: HOUR_MS }]
  for (const _ of [1, 2, 3]) {
    await recordCases(OF, sold, { accounts, journal })
    await close()
  }
  expect(await recorded()).toEqual([[-0.05, 1]])
})

it('records what was expected of a lot where the journal has it only after the pages were read', async () => {
  await close()
  await close({ token: TOKEN, assets: -1n, workflowId: 'a' })
  await read()
  const said = { of: ['lane:liquid'], worthUsdMicros: 100n, markUsdMicros: 100n }
  const proposal = proposalOf({ kind: 'bid', lot: 'lot 1', said })
  await journal.open(workflowOf('succeeded', { id: 'a', opportunity: 'a', role: 'rfq-bidder', proposal }))
  const sold = [{ lot: 'lot 1', paidUsdMicros: 90n, cameUsdMicros: 95n, atMs: HOUR_MS }]
  for (const _ of [1, 2]) {
    await close()
    await recordCases(OF, sold, { accounts, journal })
  }
  expect(await recorded()).toEqual([[-0.05, 1]])
})

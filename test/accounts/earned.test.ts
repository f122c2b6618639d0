import { rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { recordCases } from '../../src/accounts/record-cases.ts'
import { type Accounts, openAccounts, type Page } from '../../src/journal/sqlite/accounts.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { newDirectory } from '../support/directory.ts'
import { HOUR_MS, hourPage, OF as SIGNERS } from '../support/hourly-pages.ts'
import { proposalOf, TOKEN, workflowOf } from '../support/workflows.ts'

const VAULT = `0x${'7a'.repeat(20)}` as const
const [SOURCE, TARGET] = [`0x${'a1'.repeat(20)}`, `0x${'a2'.repeat(20)}`] as const
const OF = { ...SIGNERS, role: 'allocator' } as const
const usd = (whole: number) => BigInt(Math.round(whole * 1e6))

let directory: string
let journal: ReturnType<typeof openSqliteJournal>
let accounts: Accounts
let atHour: number
let last: Page['from']
beforeEach(() => {
  directory = newDirectory()
  journal = openSqliteJournal(directory)
  accounts = openAccounts(directory)
  atHour = 0
  last = null
})
afterEach(async () => {
  await accounts.close()
  await journal.close()
  rmSync(directory, { recursive: true })
})

/** Close the next hour of the signer and of its vault, which has lent so much in two markets. */
async function close(
  lent: readonly [source: number, target: number],
  own: Parameters<typeof hourPage>[1] = [],
  moved: readonly Pick<Page['lines'][number], 'assets' | 'counterparty'>[] = [],
) {
  const page = { ...hourPage(atHour, own), role: OF.role, from: last }
  const lines = moved.map(({ assets, counterparty }) => {
    const [line] = hourPage(atHour, [{ token: TOKEN, assets, workflowId: null }]).lines
    return { ...line, counterparty } as Page['lines'][number]
  })
  const [source, target] = lent
  await accounts.add(page)
  await accounts.add({
    ...page,
    signer: VAULT,
    owner: 'vault',
    lines,
    lent: [
      { market: SOURCE, assets: usd(source), ratePerSecondWad: 0n },
      { market: TARGET, assets: usd(target), ratePerSecondWad: 0n },
    ],
  })
  last = page.to
  atHour += 1
}

/** Move $500 to where they were said to earn $2 more in two hours, of $4 there. */
async function move(id: string) {
  const said = {
    of: ['move', `market:${TARGET}`],
    worthUsdMicros: usd(2),
    markUsdMicros: usd(4),
    earns: { vault: VAULT, forS: 7_200 },
  }
  const proposal = proposalOf({ kind: 'yield', occurrence: id, said })
  await journal.open(workflowOf('succeeded', { id, opportunity: id, role: 'allocator', proposal }))
  return { token: null, assets: -1n, workflowId: id, kind: 'gas' } as const
}
const taken = [
  { assets: usd(500), counterparty: SOURCE },
  { assets: -usd(500), counterparty: TARGET },
]
const read = () => recordCases(OF, [], { accounts, journal })

it('records what a move of a vault earned more than standing still, once so long passed as it was said for', async () => {
  await close([1_000, 0])
  await close([500, 500], [await move('a')], taken)
  await close([500.5, 500.5])
  expect((await read()).cases).toEqual([])
  // $500 earned $3 where they went, and would have earned $1 where they were.
  await close([501, 503])
  expect((await read()).cases).toMatchObject([{ of: ['move', `market:${TARGET}`], atMs: 3 * HOUR_MS }])
  const [{ came, netUsd } = { came: null, netUsd: 0 }] = await accounts.cases(OF)
  expect(came?.error).toBeCloseTo(0, 3)
  expect(came?.gain).toBeCloseTo(0.5, 3)
  expect(netUsd).toBeCloseTo(2, 2)
  await close([501, 503])
  expect((await read()).cases).toEqual([])
})

it('holds what was expected against as long as was measured, and no move against more than all that it was to earn', async () => {
  await close([1_000, 0])
  await close([500, 500], [await move('a')], taken)
  atHour += 2
  // In three hours nothing where they went, and $60 where they were.
  await close([560, 500])
  const [{ came } = { came: null }] = (await read()).cases
  expect(came).toMatchObject({ error: -1 })
  expect(came?.gain).toBeCloseTo(-10, 1)
})

it('records nothing of a move that moved nothing, and waits for it no longer', async () => {
  await close([1_000, 0])
  await close([1_000, 0], [await move('a')])
  for (const _ of [1, 2, 3]) await close([1_000, 0])
  const { cases, undecided } = await read()
  expect([cases, undecided.pages]).toEqual([[], []])
})

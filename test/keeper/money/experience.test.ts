import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { RolekeeperError } from '../../../src/errors.ts'
import { type Accounts, openAccounts } from '../../../src/journal/sqlite/accounts.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { createExperience } from '../../../src/keeper/money/experience.ts'
import { createLog } from '../../../src/ops/log.ts'
import { newDirectory } from '../../support/directory.ts'
import { HOUR_MS, hourPage, LOT } from '../../support/hourly-pages.ts'
import { inOrder } from '../../support/in-order.ts'
import { proposalOf, SIGNER, TOKEN, workflowOf } from '../../support/workflows.ts'

const log = createLog({ level: 'silent', secrets: [] })

const directory = newDirectory()
const journal = openSqliteJournal(directory)
let accounts: Accounts
let alarms: RolekeeperError[]
let atHour = 0
beforeAll(() => {
  accounts = openAccounts(directory)
})
beforeEach(() => {
  alarms = []
})
afterAll(async () => {
  await accounts.close()
  await journal.close()
  rmSync(directory, { recursive: true })
})

/** Close the next hour; a bitcoin is at $100,000. */
async function close(...lines: Parameters<typeof hourPage>[1]) {
  expect(await accounts.add(hourPage(atHour, lines))).toBe(true)
  atHour += 1
}

/** Win a hundredth of a bitcoin for $900, which was said to be worth so much, millionths of a dollar. */
async function win(worthUsdMicros: bigint) {
  const id = String(atHour).padStart(32, '0')
  const said = {
    of: ['bid'],
    worthUsdMicros,
    markUsdMicros: 1_000_000_000n,
    brings: { token: LOT, assets: 1_000_000n },
  }
  const proposal = proposalOf({ kind: 'bid', lot: id, said })
  await journal.open(workflowOf('succeeded', { id, opportunity: id, role: 'rfq-bidder', proposal }))
  await close(
    { token: TOKEN, assets: -900_000_000n, workflowId: id },
    { token: LOT, assets: 1_000_000n, workflowId: id },
  )
}

/** What is known by now to a keeper that starts. */
async function known(worksFor?: 'vaults') {
  const own = createExperience(
    { role: 'rfq-bidder', chainId: 1, signer: SIGNER },
    {
      accounts,
      journal,
      clock: systemClock,
      log,
      alarm: (error: RolekeeperError) => alarms.push(error),
      ...(worksFor === undefined ? {} : { worksFor }),
    },
  )
  expect([own.now([]), own.unread()]).toMatchObject([[], { check: 'experience_not_read' }])
  own.begin()
  await expect.poll(own.unread).toBeNull()
  return own.now([]).map(({ of, won }) => [of, Math.round(won)])
}

inOrder('what one journal has learned', () => {
  it('raises an alarm once ten that were won came to less than was said, by more than the band and not by chance', async () => {
    await close()
    for (let lot = 0; lot < 9; lot += 1) await win(lot % 2 === 0 ? 1_030_000_000n : 1_050_000_000n)
    await close()
    expect(await known()).toEqual([['bid', 9]])
    expect(alarms).toEqual([])
    await win(1_050_000_000n)
    await close()
    expect(await known()).toEqual([['bid', 10]])
    expect(alarms.map(({ code }) => code)).toEqual(['money.short'])
    expect(alarms[0]?.message).toMatch(/came 4\.0\d % of the price less than was said/)
    // Interest of a day is less even than a price.
    await known('vaults')
    expect(alarms.length).toBe(1)
  })

  it('counts what a fund bought and sold again, by what was expected of the lot', async () => {
    const id = 'f'.repeat(32)
    const said = { of: ['lane:liquid'], worthUsdMicros: 100n, markUsdMicros: 100n }
    const proposal = proposalOf({ kind: 'bid', lot: id, said })
    await journal.open(workflowOf('succeeded', { id, opportunity: id, role: 'rfq-bidder', proposal }))
    await close({ token: TOKEN, assets: -1n, workflowId: id })
    const own = createExperience(
      { role: 'rfq-bidder', chainId: 1, signer: SIGNER },
      { accounts, journal, clock: systemClock, log, alarm: (error) => alarms.push(error) },
    )
    const recovered = [id, 'another lot'].map((lot) => ({
      lot,
      paidUsdMicros: 90n,
      cameUsdMicros: 95n,
      atMs: atHour * HOUR_MS,
    }))
    own.now(recovered)
    own.begin()
    const ofLane = (each: typeof recovered) => own.now(each).find(({ of }) => of === 'lane:liquid')
    const once = { won: 1, errors: -0.05, gains: 0.05 }
    await expect.poll(() => ofLane([])).toMatchObject(once)
    expect(ofLane(recovered)).toMatchObject(once)
  })

  it('says nothing of what stays in the band', async () => {
    for (let lot = 0; lot < 60; lot += 1) await win(1_000_000_000n)
    await close()
    expect((await known())[0]?.[1]).toBeGreaterThan(60)
    expect(alarms).toEqual([])
  })
})

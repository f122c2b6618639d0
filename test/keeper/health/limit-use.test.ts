import { afterEach, beforeEach, expect, it } from 'vitest'
import { limitsPolicy } from '../../../src/guard/policy/policy.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import type { Journal, Reservation } from '../../../src/journal/journal.ts'
import { openSqliteJournal } from '../../../src/journal/sqlite/sqlite.ts'
import { readUsed } from '../../../src/keeper/health/limit-use.ts'
import { deployment, MARKET, NOW_MS, OTHER_MARKET, SELF, STRANGER, sections } from '../../guard/fixtures.ts'
import { newDirectory } from '../../support/directory.ts'

const HOUR_MS = 3_600_000
const usd = (dollars: number) => BigInt(dollars) * 1_000_000n
const ether = (milli: number) => BigInt(milli) * 10n ** 15n

let journal: Journal
beforeEach(() => {
  journal = openSqliteJournal(newDirectory())
})
afterEach(() => journal.close())

const windowOf = (moved: string, gas: string) => ({ movedMax: moved, gasMax: gas, revertsMax: '4' })
const limits = limitsPolicy.parse({
  perWorkflow: { movedMax: '1,000 USD', gasMax: '0.1 ETH' },
  perHour: windowOf('1,000 USD', '0.1 ETH'),
  perDay: windowOf('10,000 USD', '1 ETH'),
  prices: {},
  allowances: [
    { of: 'market', most: '2,000 USD', refill: '100 USD', per: '1 h' },
    { of: 'market', named: OTHER_MARKET, most: '2,000 USD', refill: '100 USD', per: '1 h' },
    { of: 'function', named: 'liquidate', calls: '8', per: '1 h' },
  ],
})
const ruleset = compileRuleset({ ...sections, limits }, deployment)
const vitals = {
  limits: ruleset.limits,
  allowances: ruleset.allowances,
  counts: ({ shadow }: Pick<Reservation, 'shadow'>) => shadow !== true,
  lossUsed: () => ({ loss_per_hour: 0.3 }),
  arming: () => ({ armed: 0, unarmed: 0 }),
  key: () => null,
  askKey: async () => undefined,
  headAgeMsMax: 30_000,
}
const cap = {
  perHour: { usdMicrosMax: usd(4_000), gasWeiMax: ether(1_000) },
  perDay: { usdMicrosMax: usd(8_000), gasWeiMax: ether(1_000) },
}

let count = 0
const reserved = (dollars: number, agoMs: number, changes: Partial<Reservation> = {}): Reservation => ({
  workflowId: `w${count++}`,
  role: 'liquidator',
  signer: SELF,
  atMs: NOW_MS - agoMs,
  usdMicros: usd(dollars),
  gasWei: ether(10),
  reverted: false,
  uses: [`market ${MARKET}`, `counterparty ${MARKET}`, 'function liquidate'],
  ...changes,
})
const read = async (of: Pick<Journal, 'spending'> = journal) => {
  const { ofRole, ofCap } = await readUsed(of, cap, NOW_MS)
  return { ...ofRole('liquidator', [{ vitals }]), ofCap }
}

it('says what part of each limit, allowance and of the cap is used, and nothing of what is in shadow', async () => {
  await journal.settle(reserved(500, 60_000))
  await journal.settle(reserved(500, 5 * HOUR_MS, { reverted: true }))
  await journal.settle(reserved(900, 60_000, { shadow: true }))
  await journal.settle(reserved(1_000, 60_000, { role: 'allocator', signer: STRANGER }))
  const { budgets, allowances, ofCap } = await read()
  expect(budgets).toEqual({
    usd_per_hour: 0.5,
    gas_per_hour: 0.1,
    reverts_per_hour: 0,
    loss_per_hour: 0.3,
    usd_per_day: 0.1,
    gas_per_day: 0.02,
    reverts_per_day: 0.25,
  })
  // Empty a day ago, as the guard counts: 1,900 USD in 19 hours, less 500, 500 back in five hours, and again less 500.
  expect(allowances['limits.allowances[0]']).toBeCloseTo(0.3, 2)
  expect(allowances['limits.allowances[1]']).toBe(0)
  expect(allowances['limits.allowances[2]']).toBe(0.125)
  expect(ofCap).toEqual({
    usd_per_hour: 0.375,
    gas_per_hour: 0.02,
    usd_per_day: 0.25,
    gas_per_day: 0.03,
  })
})

it('counts what is about a market that is not known against each of them', async () => {
  await journal.settle(reserved(1_000, 60_000, { uses: ['market'] }))
  const { allowances } = await read()
  expect(allowances['limits.allowances[0]']).toBeCloseTo(0.5, 2)
  expect(allowances['limits.allowances[1]']).toBeCloseTo(0.5, 2)
  expect(allowances['limits.allowances[2]']).toBe(0)
})

it('counts what is about nothing that is known against every allowance', async () => {
  const { uses: _uses, ...unknown } = reserved(1_000, 60_000)
  await journal.settle(unknown)
  const { allowances } = await read()
  expect(allowances['limits.allowances[1]']).toBeCloseTo(0.5, 2)
  expect(allowances['limits.allowances[2]']).toBe(0.125)
})

it('says nothing of limits, and of no other figure, where the journal does not answer', async () => {
  const spending = async () => Promise.reject(new Error('Redis is away'))
  expect(await read({ spending })).toEqual({ budgets: {}, allowances: {}, ofCap: {} })
})

import { describe, expect, it } from 'vitest'
import type { DecisionRow } from '../../../src/journal/journal.ts'
import { findWhy } from '../../../src/keeper/console/why.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { attemptOf, MARKET, proposalOf, slotOf, workflowOf } from '../../support/workflows.ts'

const BORROWER = `0x${'b0'.repeat(20)}`
const OTHER = `0x${'b0'.repeat(19)}cc`
const HOUSE = `0x${'d7'.repeat(20)}`
const SUBJECT = `${MARKET}:0xv:${BORROWER}`
const HASH = `0x${'fe'.repeat(32)}` as const
const workflow = workflowOf('in_flight', {
  id: '3f2a0000000000000000000000000000',
  proposal: proposalOf({ subject: SUBJECT }),
  slots: [slotOf({ attempts: [attemptOf({ state: 'sent', hash: HASH })] })],
})
const decision = (subject: string, atMs: number): DecisionRow => ({
  atMs,
  role: 'liquidator',
  subject,
  check: 'healthy',
  message: 'Above 1.',
  reason: {},
})
const DEPLOYMENT = {
  assets: [
    { address: '0x01', symbol: 'sBTC', decimals: 8 },
    { address: '0x02', symbol: 'sUSD', decimals: 6 },
  ],
  markets: [{ address: MARKET, collateralAsset: '0x01', loanAsset: '0x02' }],
  vaults: [],
  funds: [],
  contracts: [{ address: HOUSE, name: 'auction' }],
} as never

const LOTS = [`${HOUSE}:77`, `${HOUSE}:771`, `${HOUSE}:77:bid:4`, `${HOUSE}:4:bid:77`]
const asked: string[] = []
/** A journal of one workflow, and of decisions about two borrowers. */
const journal = {
  get: async (id: string) => (id === workflow.id ? workflow : null),
  live: async (): Promise<readonly Workflow[]> => [],
  list: async (): Promise<readonly Workflow[]> => [workflow],
  decisions: async (text: string) => {
    asked.push(text)
    return [decision(SUBJECT, 3), decision(`${MARKET}:0xv:${OTHER}`, 2), decision('allocator', 1)]
  },
  transitions: async () => [{ state: 'discovered', atMs: 1 }] as never,
}
const why = async (about: string) => {
  const { workflows, decisions } = await findWhy(about, journal, DEPLOYMENT)
  return [workflows.map(({ id }) => id), decisions.map(({ atMs }) => atMs)]
}

describe('why', () => {
  it.each([
    ['an id', workflow.id, [[workflow.id], []]],
    ['how an id begins', '3f2a', [[workflow.id], []]],
    ['a transaction, by its ends', `${HASH.slice(0, 6)}…${HASH.slice(-4)}`, [[workflow.id], []]],
    ['a borrower', BORROWER, [[workflow.id], [3]]],
    ['a borrower in capitals', BORROWER.toUpperCase().replace('0X', '0x'), [[workflow.id], [3]]],
    ['a borrower by its ends', `${BORROWER.slice(0, 6)}…${BORROWER.slice(-4)}`, [[workflow.id], [3]]],
    ['a market by its assets, and a borrower', `sBTC/sUSD ${OTHER}`, [[], [2]]],
    ['a role, of which only decisions are', 'allocator', [[], [1]]],
    ['what nobody knows', 'nothing-here', [[], []]],
  ])('finds %s', async (_, about, found) => {
    expect(await why(about)).toEqual(found)
  })

  it.each([
    ['as the screen shows it', 'auction 77', [0]],
    ['as the records have it', `${HOUSE}:77`, [0]],
    ['by the ends of its house', `${HOUSE.slice(0, 6)}…${HOUSE.slice(-4)}:77`, [0]],
    ['a bid of it', 'auction 77 bid 4', [2]],
    ['another one’s bid', 'auction 4 bid 77', [3]],
    ['the house alone, newest first', 'auction', [3, 2, 1, 0]],
  ])('finds a lot and no other: %s', async (_, about, found) => {
    const lots = { ...journal, decisions: async () => LOTS.map(decision) }
    const { decisions } = await findWhy(about, lots, DEPLOYMENT)
    expect(decisions.map(({ atMs }) => atMs)).toEqual(found)
    expect(decisions[0]?.name).toBe(
      about === 'auction' ? 'auction 4 bid 77' : about.replace(/^0x[^:]+:/, 'auction '),
    )
  })

  it('finds what waits for a person, however many are newer', async () => {
    const waiting = { ...journal, list: async () => [], live: async () => [workflow] }
    const { workflows } = await findWhy('3f2a', waiting, DEPLOYMENT)
    expect(workflows.map(({ id }) => id)).toEqual([workflow.id])
  })

  it.each([
    ['a pinned name in another case', 'AUCTION 77', [`${HOUSE}:77`]],
    ['a subject that is written with a pinned name', 'mobility auction', ['mobility:auction']],
    ['all about what is pinned, by its name', 'auction', [`${HOUSE}:77`, 'mobility:auction']],
    [
      'a name and its address beside it',
      `auction (${HOUSE.slice(0, 6)}…${HOUSE.slice(-4)})`,
      [`${HOUSE}:77`],
    ],
    ['nothing by blanks and ellipses', ' …  …… ', []],
  ])('finds %s', async (_, about, found) => {
    const all = [`${HOUSE}:77`, 'mobility:auction']
    const decisions = async (text: string) =>
      all.filter((subject) => subject.includes(text)).map((subject) => decision(subject, 1))
    const why = await findWhy(about, { ...journal, decisions, list: async () => [] }, DEPLOYMENT)
    expect(why.decisions.map(({ subject }) => subject)).toEqual(found)
  })

  it('says what a workflow went through, and its transactions', async () => {
    const { workflows } = await findWhy(workflow.id, journal, DEPLOYMENT)
    expect(workflows).toMatchObject([
      {
        states: [{ state: 'discovered', atMs: 1 }],
        transactions: [{ nonce: 7, hash: HASH }],
        figures: [['repay', expect.any(String)]],
      },
    ])
  })

  it('shows the newest five workflows and twenty decisions of a subject, however many there are', async () => {
    const busy = {
      ...journal,
      list: async () => Array.from({ length: 200 }, (_, index) => ({ ...workflow, id: `${index}` })),
      decisions: async () => Array.from({ length: 100 }, (_, index) => decision(SUBJECT, 100 - index)),
    }
    const { workflows, decisions } = await findWhy(BORROWER, busy, DEPLOYMENT)
    expect(workflows.map(({ id }) => id)).toEqual(['0', '1', '2', '3', '4'])
    expect([decisions.length, decisions[0]?.atMs]).toEqual([20, 100])
  })

  it('asks which one is meant, where the ends that are shown are those of several', async () => {
    const twin = {
      ...journal,
      decisions: async () => [decision(`m:${BORROWER}`, 1), decision(`m:0xb0aab0b0`, 2)],
    }
    await expect(findWhy('0xb0…b0b0', twin, DEPLOYMENT)).rejects.toMatchObject({
      code: 'usage',
      shortMessage: expect.stringContaining('Several begin and end so'),
    })
  })
})

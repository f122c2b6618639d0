import { expect, it } from 'vitest'
import { type Decision, passOver } from '../../../agents/agent.ts'
import type { Due } from '../../../agents/protocol/due.ts'
import { createDutyBook } from '../../../src/keeper/role/duty-ledger.ts'
import { observation } from '../../agents/liquidator/fixtures.ts'
import { proposalOf, slotOf, workflowOf } from '../../support/workflows.ts'

const NOTHING: Decision = { proposals: [], passedOver: [] }
const debt = (subject: string, changes: Partial<Due> = {}): Due => ({
  what: 'liquidatable debt',
  subject,
  sinceMs: null,
  graceMs: 1_000,
  check: 'out_of_funds',
  message: 'spent',
  ...changes,
})

/** A role's book from a journal with one workflow of old, and what the test lets it owe. */
function bookOf() {
  const world = { nowMs: 50_000, dues: [] as readonly Due[] }
  const old = workflowOf('succeeded', { slots: [slotOf()], createdAtMs: 2_000, updatedAtMs: 3_000 })
  const book = createDutyBook({
    role: 'liquidator',
    nowMs: () => world.nowMs,
    newest: [old],
    due: () => world.dues,
    budgets: () => [],
  })
  return { world, book }
}

it('counts from when it was first seen what nothing else dates, and says it one millisecond past its grace', () => {
  const { world, book } = bookOf()
  world.dues = [debt('a')]
  book.decided(NOTHING, observation())
  world.nowMs += 600
  book.decided(NOTHING, observation())
  world.nowMs += 400
  expect(book.state()).toMatchObject({ late: [], lateCount: 0, lateMs: 0 })
  world.nowMs += 1
  expect(book.state()).toMatchObject({
    late: [{ subject: 'a', sinceMs: 50_000 }],
    lateCount: 1,
    lateMs: 1_001,
  })
  world.dues = []
  book.decided(NOTHING, observation())
  world.dues = [debt('a')]
  world.nowMs += 5_000
  book.decided(NOTHING, observation())
  expect(book.state().late, 'it was gone meanwhile').toEqual([])
})

it.each(['under_way', null])('gives what is proposed or under way a minute at least: %s', (check) => {
  const { world, book } = bookOf()
  const { check: _, ...proposed } = debt('a')
  world.dues = [check === null ? proposed : debt('a', { check })]
  book.decided(NOTHING, observation())
  world.nowMs += 60_000
  expect(book.state().late).toEqual([])
  world.nowMs += 1
  expect(book.state().late).toHaveLength(1)
})

it('says the worst first, five of them, and never dust or what the policy wants left alone', () => {
  const { world, book } = bookOf()
  world.dues = [
    debt('chosen', { sinceMs: 0, chosen: true }),
    debt('dust', { sinceMs: 0, usdMicros: 999_999n }),
    ...[1n, 3n, 2n].map((usd) => debt(`worth ${usd}`, { sinceMs: 40_000, usdMicros: usd * 1_000_000n })),
    ...[30_000, 20_000, 10_000].map((sinceMs) => debt(`since ${sinceMs}`, { sinceMs })),
    debt('to come', { sinceMs: 60_000, lastAtMs: 30_000 }),
    debt('to come later', { sinceMs: 70_000, lastAtMs: 20_000 }),
  ]
  book.decided(NOTHING, observation())
  const state = book.state()
  expect(state.late.map(({ subject }) => subject)).toEqual([
    ...['worth 3', 'worth 2', 'worth 1', 'since 10000', 'since 20000'],
  ])
  expect(state).toMatchObject({ lateCount: 6, lateMs: 40_000, nextDueAtMs: 60_000, lastMadeAtMs: 20_000 })
})

it('says first what keeps late things, then refusals of the last minutes, then what the most are left alone by', () => {
  const { world, book } = bookOf()
  world.dues = [debt('a', { sinceMs: 0, check: 'hour_limit_reached', message: 'spent' })]
  const refused = workflowOf('refused', {
    note: { check: 'limit_hour_gas', message: 'dear' },
    updatedAtMs: 50_000,
  })
  book.moved(workflowOf('requested'), refused)
  const healthy = (subject: string, near: number) =>
    passOver(subject, { check: 'health_above_one', message: `at ${near}`, near })
  const passedOver = [
    passOver('a', { check: 'hour_limit_reached', message: 'spent' }),
    passOver('b', { check: 'recovery_not_listed', message: 'not yet' }),
    ...[healthy('c', 0.5), healthy('d', 0.9)],
  ]
  book.decided({ proposals: [], passedOver }, observation())
  expect(book.state().nothingBecause).toEqual([
    { check: 'hour_limit_reached', message: 'spent', count: 2 },
    { check: 'limit_hour_gas', message: 'dear', count: 1, refusedAtMs: 50_000 },
    { check: 'health_above_one', message: 'at 0.9', count: 2 },
    { check: 'recovery_not_listed', message: 'not yet', count: 1 },
  ])
  // What refused one leaves others alone: two counts, and only the first has a time.
  book.decided(
    { proposals: [], passedOver: [passOver('e', { check: 'limit_hour_gas', message: 'dear, too' })] },
    observation(),
  )
  expect(book.state().nothingBecause.filter(({ check }) => check === 'limit_hour_gas')).toEqual([
    { check: 'limit_hour_gas', message: 'dear', count: 1, refusedAtMs: 50_000 },
    { check: 'limit_hour_gas', message: 'dear, too', count: 1 },
  ])
  book.decided({ proposals: [], passedOver: [] }, observation())
  world.nowMs += 300_001
  expect(book.state().nothingBecause.map(({ check }) => check)).not.toContain('limit_hour_gas')
})

it('knows its last act and proposal from the journal, and counts what it did since the start', () => {
  const { world, book } = bookOf()
  const before = { lastActAtMs: 3_000, lastProposalAtMs: 2_000, actsSinceStart: 0, lookedAt: null }
  expect(book.state()).toMatchObject(before)
  const opened = workflowOf('discovered', { createdAtMs: 51_000, updatedAtMs: 51_000 })
  const claimed = workflowOf('in_flight', { slots: [slotOf()], createdAtMs: 51_000, updatedAtMs: 52_000 })
  book.moved(null, opened)
  expect(book.state()).toMatchObject({ lastActAtMs: 3_000, lastProposalAtMs: 51_000, actsSinceStart: 0 })
  book.moved(opened, claimed)
  book.moved(claimed, workflowOf('succeeded', { slots: [slotOf()], updatedAtMs: 53_000 }))
  expect(book.state()).toMatchObject({ lastActAtMs: 52_000, actsSinceStart: 1 })
  book.decided({ proposals: [proposalOf()], passedOver: [] }, observation())
  expect([book.state().lookedAt, world.nowMs]).toEqual([1, 50_000])
})

it('counts what was refused in the last minutes until it acts', () => {
  const { world, book } = bookOf()
  const refuse = (updatedAtMs: number) =>
    book.moved(
      workflowOf('prepared'),
      workflowOf('refused', { note: { check: 'target_allowed', message: 'no target' }, updatedAtMs }),
    )
  const count = () => book.state().refusedSinceAct.length
  for (const atMs of [50_000, 50_001, 50_002]) refuse(atMs)
  expect(count()).toBe(3)
  book.moved(workflowOf('cleared'), workflowOf('in_flight', { slots: [slotOf()], updatedAtMs: 50_003 }))
  expect(count()).toBe(0)
  refuse(50_004)
  expect(count()).toBe(1)
  world.nowMs = 50_004 + 300_001
  expect(count()).toBe(0)
})

it('owes fresh reads whatever else it owes, and is late with them half a minute on', () => {
  const { world, book } = bookOf()
  const stale = { ok: false, ageMs: 60_000, message: 'The markets are 60 s old; the policy allows 30 s.' }
  book.decided(NOTHING, observation({ freshness: stale }))
  world.nowMs += 30_001
  expect(book.state().late).toMatchObject([
    { what: 'fresh reads', subject: 'liquidator', check: 'observation_not_fresh', message: stale.message },
  ])
})

it('has half of its time where it became due shortly before it is lost', () => {
  const { world, book } = bookOf()
  world.dues = [debt('a', { untilMs: 50_800 })]
  book.decided(NOTHING, observation())
  world.nowMs += 400
  expect(book.state().lateCount).toBe(0)
  world.nowMs += 1
  expect(book.state().lateCount).toBe(1)
})

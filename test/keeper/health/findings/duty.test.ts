import { expect, it } from 'vitest'
import type { BudgetState } from '../../../../src/guard/limits/budget.ts'
import { budgetFinding, dueFinding } from '../../../../src/keeper/health/findings/duty.ts'
import type { DutyState } from '../../../../src/keeper/role/duty-ledger.ts'

const owed = (of: DutyState) => dueFinding(of, (subject) => subject.replace('0xm', 'sBTC/sUSD'))
const AT = Date.parse('2026-01-01T12:00:00Z')
const state = (changes: Partial<DutyState> = {}): DutyState => ({
  role: 'liquidator',
  late: [],
  lateCount: 0,
  lateMs: 0,
  nothingBecause: [],
  lastActAtMs: null,
  lastProposalAtMs: null,
  nextDueAtMs: null,
  lastMadeAtMs: null,
  actsSinceStart: 0,
  startedAtMs: AT,
  lookedAt: 0,
  refusedSinceAct: [],
  checks: new Set(),
  budgets: [],
  leftUsdMicros: {},
  ...changes,
})
const budget = (changes: Partial<BudgetState> = {}): BudgetState => ({
  name: 'reverts_per_hour',
  check: 'limit_hour_reverts',
  part: 0.5,
  freesAtMs: AT,
  left: '10 reverts',
  used: '10 reverts',
  limit: '20 reverts',
  setting: 'limits.perHour.revertsMax',
  ...changes,
})
const said = (finding: ReturnType<typeof dueFinding>) =>
  finding.state === 'ok' ? finding.message : finding.error.shortMessage

it('is never simply well: who did nothing since the start says since when, what is next, and why', () => {
  expect(said(owed(state()))).toBe(
    'nothing done since the start at 2026-01-01T12:00:00.000Z; it never acted. There is nothing to look at.',
  )
  const nothingBecause = [{ check: 'health_above_one', message: 'Health 1.2 is not below 1.', count: 7 }]
  expect(said(owed(state({ nothingBecause, lastActAtMs: AT - 1_000, nextDueAtMs: AT + 1_000 })))).toBe(
    'nothing done since the start at 2026-01-01T12:00:00.000Z; it acted last at 2026-01-01T11:59:59.000Z; next due at 2026-01-01T12:00:01.000Z. 7 × health_above_one: Health 1.2 is not below 1.',
  )
  expect(said(owed(state({ actsSinceStart: 1, lastActAtMs: AT })))).not.toContain('nothing done')
})

it('names what is late, since when, the rule and the way to its figures', () => {
  const late = {
    what: 'liquidatable debt',
    subject: '0xm:0xv:0xb',
    sinceMs: AT,
    lateMs: 61_000,
    graceMs: 60_000,
    amount: '41,000.00 sUSD',
    check: 'out_of_funds',
    message: 'It needs 5 sUSD; 0 sUSD are left.',
  }
  const finding = owed(state({ late: [late], lateCount: 3 }))
  expect(said(finding)).toBe(
    'The liquidator is late with liquidatable debt of 41,000.00 sUSD (sBTC/sUSD:0xv:0xb), due since 2026-01-01T12:00:00.000Z, and 2 more. out_of_funds: It needs 5 sUSD; 0 sUSD are left.',
  )
  expect(finding).toMatchObject({ facet: 'duty', about: 'liquidator', state: 'failing' })
  expect(finding).toHaveProperty('error.code', 'duty.late')
  expect(finding).toHaveProperty('error.fix', expect.stringContaining('rolekeeper explain sBTC/sUSD:0xv:0xb'))
})

it('warns once five in a row were refused, and names the check of the newest', () => {
  const refused = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      check: 'target_allowed',
      message: `0xbad${index} is no target of this policy.`,
      atMs: AT + index,
    }))
  expect(owed(state({ refusedSinceAct: refused(4) })).state).toBe('ok')
  const finding = owed(state({ refusedSinceAct: refused(5) }))
  expect(finding).toMatchObject({ facet: 'duty', state: 'warning', error: { code: 'duty.refused' } })
  expect(said(finding)).toBe(
    'The last 5 workflows of the liquidator were refused, and none got as far as a nonce. The newest: target_allowed: 0xbad4 is no target of this policy.',
  )
})

it('only warns of what may wait', () => {
  const sale = { what: 'sale', subject: 'exit:0xm', sinceMs: AT, lateMs: 3_600_001, message: 'thin' }
  expect(owed(state({ late: [{ ...sale, graceMs: 600_001 }], lateCount: 1 })).state).toBe('warning')
  expect(owed(state({ late: [{ ...sale, graceMs: 600_000 }], lateCount: 1 })).state).toBe('failing')
})

it.each([
  ['well below four fifths', budget({ part: 0.79 }), [], 'ok', undefined],
  ['a warning from four fifths on', budget({ part: 0.8 }), [], 'warning', 'budget.nearly_spent'],
  ['spent where nothing is left', budget({ part: 1 }), [], 'failing', 'budget.spent'],
  ['spent where something did not fit', budget(), ['limit_hour_reverts'], 'failing', 'budget.spent'],
  ['well where another rule refused', budget(), ['limit_hour_gas'], 'ok', undefined],
])('is %s', (_, one, checks, how, code) => {
  const finding = budgetFinding('liquidator', [budget({ part: 0.1 }), one], new Set(checks))
  expect(finding).toMatchObject({ facet: 'budget', about: 'liquidator', state: how })
  if (code !== undefined) expect(finding).toHaveProperty('error.code', code)
})

it('says which budget, how much of it, until when, and what to raise', () => {
  const spent = budget({ part: 1, used: '20 reverts', left: '0 reverts', freesAtMs: AT })
  const finding = budgetFinding('liquidator', [spent], new Set())
  expect(said(finding)).toBe(
    'The liquidator has used 20 reverts of 20 reverts (reverts_per_hour); 0 reverts are left, and some of it is free again at 2026-01-01T12:00:00.000Z.',
  )
  expect(finding).toHaveProperty('error.fix', expect.stringContaining('raise limits.perHour.revertsMax'))
})

import { expect, it } from 'vitest'
import { approvalPolicy, compileApproval, rulesOf } from '../../src/guard/approval.ts'
import type { Reservation } from '../../src/journal/journal.ts'
import { RecentReservations } from '../../src/journal/recent-reservations.ts'
import { checkAsked, endOutdated } from '../../src/keeper/asking.ts'
import { reservationOf } from '../../src/pipeline/transactions/reservation.ts'
import { proposalOf, TOKEN, workflowOf } from '../support/workflows.ts'

const NOW_MS = 200_000_000
const asset = { address: TOKEN, codeHash: `0x${'c0'.repeat(32)}`, symbol: 'sUSD', decimals: 6 } as const
const section = { always: [], aboveAssets: { sUSD: '100 sUSD' }, expiresAfter: '15 min' }
const approval = compileApproval(approvalPolicy([asset]).parse(section), { assets: [asset] })

/** A claim of a tenth of what is asked about, a second after the one before it. */
const claimOf = (index: number, approved = false): Reservation => {
  const exposure = { token: TOKEN, assets: 10_000_000n, usdMicros: 10_000_000n }
  const workflow = workflowOf('in_flight', { id: `w${index}`, proposal: proposalOf({ exposure }) })
  const reserved = reservationOf(workflow, NOW_MS - 600_000 + index * 1_000)
  return approved ? { ...reserved, approved: true } : reserved
}
const check = (claims: readonly Reservation[], ask: Reservation) => {
  const sums = new RecentReservations(claims).sums(ask.role, [NOW_MS - 86_400_000], ask.workflowId)
  return checkAsked(ask, sums ?? [], approval, NOW_MS)
}

it('refuses the eleventh claim of a tenth, that passed its hold before the others were claimed', () => {
  const claims = Array.from({ length: 10 }, (_, index) => claimOf(index))
  expect(check(claims.slice(1), claimOf(10))).toEqual({ ok: true })
  expect(check(claims, claimOf(10))).toMatchObject({ ok: false, check: 'approval_adds_up_assets' })
  // What is claimed already is asked about again as its fees are raised: it does not count twice.
  expect(check(claims, claimOf(9))).toEqual({ ok: true })
})

it('ends what was approved under other rules before a key is asked, and nothing else', () => {
  const ruleset = { hash: 'a1' } as const
  const deps = { ruleset, approval, nowMs: () => NOW_MS }
  const shown = { calls: [], effects: [], changes: [], day: '', askedBy: '', quorum: 1, approvers: null }
  const hold = { check: '', message: '', hash: '', shown, untilMs: 1, approvals: [], approvedAtMs: 1 }
  const heldUnder = (rules: string) => workflowOf('prepared', { hold: { ...hold, rules } })
  expect(endOutdated(workflowOf('prepared'), deps)).toBeNull()
  expect(endOutdated(heldUnder(rulesOf(ruleset, approval)), deps)).toBeNull()
  const others = [rulesOf({ hash: 'b2' }, approval), rulesOf(ruleset, { hash: 'b2' })]
  for (const rules of others) {
    expect(endOutdated(heldUnder(rules), deps)).toMatchObject({
      workflow: { state: 'refused', note: { check: 'approval_outdated' } },
    })
  }
})

it('lets pass what a person approved, and counts it not, though they are of one minute', () => {
  const claims = Array.from({ length: 10 }, (_, index) => claimOf(index))
  expect(check(claims, claimOf(10, true))).toEqual({ ok: true })
  const mixed = claims.map((_, index) => claimOf(index, index < 5))
  expect(check(mixed, claimOf(10))).toEqual({ ok: true })
})

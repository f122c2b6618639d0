import { describe, expect, it } from 'vitest'
import { approvalHash, approvalPolicy, compileApproval } from '../../../src/guard/approval/approval.ts'
import { answerText, createPersonKey, signText } from '../../../src/guard/approval/person-key.ts'
import type { Reservation } from '../../../src/journal/journal.ts'
import { RecentReservations } from '../../../src/journal/sqlite/recent-reservations.ts'
import { checkAsked, createHold, endUnapproved } from '../../../src/keeper/stages/approval-hold.ts'
import { reservationOf } from '../../../src/pipeline/transactions/reservation.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { SELF } from '../../guard/fixtures.ts'
import { answersOf, FEES } from '../../guard/owner-chain.ts'
import { PREPARED } from '../../guard/shipped.ts'
import { proposalOf, TOKEN, workflowOf } from '../../support/workflows.ts'

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

describe('what people must approve', () => {
  const [, kind, ruleset] = PREPARED.find(([, { name }]) => name === 'liquidate') ?? []
  if (kind === undefined || ruleset === undefined) throw new TypeError('no shipped kind is called liquidate')
  const anna = createPersonKey()
  const asked = {
    always: ['role.liquidator.liquidate'],
    aboveAssets: {},
    expiresAfter: '15 min',
    approvers: { anna: { key: anna.publicKey } },
    quorum: '1',
  }
  const always = compileApproval(approvalPolicy([asset]).parse(asked), { assets: [asset] })
  const open = workflowOf('discovered', { role: ruleset.role, signer: SELF, proposal: kind.proposal })
  const deps = { ruleset, approval: always, apart: [], nowMs: () => NOW_MS }
  /** Hold it, with the answers that anna signs for what she is shown. */
  const holding = createHold({
    ...deps,
    journal: { spending: async () => ({ rows: [], revision: '' }) },
    nodes: { calls: async () => [] },
    mail: {
      everyMs: 250,
      answers: async (id, hash) => {
        const signature = signText(answerText('approve', id, hash), anna.privatePem)
        return [{ verdict: 'approve', hash, by: { user: 'x@y', name: 'anna', signature } }]
      },
    },
  })
  const step = async (workflow: Workflow) => {
    const found = await holding(workflow)
    if (found === null || found.type === 'wait') throw new TypeError('did not move')
    return found.workflow
  }
  const prepared = async () => ({ ...(await step(await step(open))), state: 'prepared' as const })
  const outcome = (workflow: Workflow, with_ = deps) => {
    const found = endUnapproved(workflow, with_)
    return found === null ? 'goes on' : found.type === 'moved' ? found.workflow.note?.check : found.type
  }

  it('goes on once they have, by the answers that its record keeps', async () => {
    const approved = await prepared()
    expect(approved.hold).toMatchObject({ approvedAtMs: NOW_MS, approvals: [{ by: 'anna' }] })
    expect(outcome(approved)).toBe('goes on')
    expect(await holding({ ...approved, state: 'discovered' })).toBeNull()
  })

  it('ends before a key is asked where they were asked by other rules', async () => {
    const approved = await prepared()
    expect(outcome(approved, { ...deps, ruleset: { ...ruleset, hash: 'b2' } })).toBe('approval_outdated')
    expect(outcome(approved, { ...deps, approval: { ...always, hash: 'b2' } })).toBe('approval_outdated')
  })

  // Who can write to Redis, or to the journal's file, is no approver.
  it('ends where a record says that they have, and keeps no answer of theirs', async () => {
    const { hold, ...approved } = await prepared()
    if (hold === undefined) throw new TypeError('not held')
    const [answer] = hold.approvals
    if (answer === undefined) throw new TypeError('not approved')
    expect(outcome({ ...approved, hold: { ...hold, approvals: [] } })).toBe('approval_missing')
    const believed = { ...answer, identity: { user: 'x@y', name: 'anna' } }
    expect(outcome({ ...approved, hold: { ...hold, approvals: [believed] } })).toBe('approval_missing')
    const elsewhere = { ...approved, id: 'other', hold }
    expect(outcome(elsewhere)).toBe('approval_missing')
    expect(outcome(approved)).toBe('approval_missing')
    const forged = await step({ ...approved, state: 'discovered', hold: { ...hold, approvals: [] } })
    expect(forged).toMatchObject({ state: 'refused', note: { check: 'approval_missing' } })
  })

  it('is shown by our own rules: an approval of anything else that a record shows is none', async () => {
    const held = await step(open)
    if (held.hold === undefined) throw new TypeError('not held')
    const shown = { ...held.hold.shown, effects: ['leaves us: nothing'] }
    const hash = approvalHash(held, { ...held.hold, shown })
    const painted = { ...held, hold: { ...held.hold, shown, hash } }
    // It is asked about anew, as it is.
    expect((await step(painted)).hold).toEqual(held.hold)
    const signature = signText(answerText('approve', held.id, hash), anna.privatePem)
    const approvals = [{ by: 'anna', atMs: 1, identity: { user: 'x@y', name: 'anna', signature } }]
    const approved = { ...painted, state: 'prepared' as const }
    expect(outcome({ ...approved, hold: { ...painted.hold, approvals, approvedAtMs: 1 } })).toBe(
      'approval_outdated',
    )
  })

  it('needs nobody where the policy asks nobody', () => {
    expect(outcome(open, { ...deps, approval })).toBe('goes on')
  })
})

describe('what an order would change', () => {
  const [, kind, ruleset] = PREPARED.find(([, { name }]) => name === 'fees') ?? []
  if (kind === undefined || ruleset === undefined) throw new TypeError('no shipped kind is called fees')
  const proposal = { ...kind.proposal, kind: 'order', askedBy: 'x@y', reason: { managementFeeBpsFrom: '50' } }
  const open = workflowOf('discovered', { role: ruleset.role, signer: SELF, proposal })
  const deps = { ruleset, approval, apart: [], nowMs: () => NOW_MS }
  /** Take a step with what the chain says; whoever reads what is held approves it. */
  const step = async (workflow: Workflow, said: object = {}) => {
    const holding = createHold({
      ...deps,
      journal: { spending: async () => ({ rows: [], revision: '' }) },
      nodes: { calls: async (calls) => answersOf(calls, said) },
      mail: {
        everyMs: 250,
        answers: async (_id, hash) => [{ verdict: 'approve', hash, by: { user: 'b@y' } }],
      },
    })
    const found = await holding(workflow)
    if (found === null || found.type === 'wait') throw new TypeError('did not move')
    return found.workflow
  }
  const managementFee = { field: 'managementFeeBps', from: '0.2 %', to: '0.5 %' }

  it('is read of the chain, whatever who submitted it says', async () => {
    const held = await step(open)
    expect(held.hold?.shown.changes[0]).toEqual(managementFee)
    const approved = await step(held)
    expect(approved.hold).toMatchObject({ approvedAtMs: NOW_MS, hash: held.hold?.hash })
    expect(endUnapproved({ ...approved, state: 'prepared' }, deps)).toBeNull()
  })

  it('is asked about anew where it is otherwise by the time that it is approved', async () => {
    const feeConfig = { ...FEES, managementFeeBps: 40 }
    const [held, again] = [await step(open), await step(await step(open), { feeConfig })]
    expect(again.hold).not.toHaveProperty('approvedAtMs')
    expect(again.hold?.shown.changes[0]).toEqual({ ...managementFee, from: '0.4 %' })
    expect(again.hold?.hash).not.toBe(held.hold?.hash)
    expect((await step(again, { feeConfig })).hold).toMatchObject({ approvedAtMs: NOW_MS })
  })

  it('is asked about anew where a record shows something else of the chain', async () => {
    const held = await step(open)
    if (held.hold === undefined) throw new TypeError('not held')
    const shown = { ...held.hold.shown, changes: [{ ...managementFee, from: '0.5 %' }] }
    const hash = approvalHash(held, { ...held.hold, shown })
    const painted = { ...held, hold: { ...held.hold, shown, hash } }
    const message = `b@y approved it; what is there has changed since, so it is asked anew. ${held.hold.message}`
    expect((await step(painted)).hold).toEqual({ ...held.hold, message })
  })
})

it('lets pass what a person approved, and counts it not, though they are of one minute', () => {
  const claims = Array.from({ length: 10 }, (_, index) => claimOf(index))
  expect(check(claims, claimOf(10, true))).toEqual({ ok: true })
  const mixed = claims.map((_, index) => claimOf(index, index < 5))
  expect(check(mixed, claimOf(10))).toEqual({ ok: true })
})

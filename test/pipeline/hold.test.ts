import { describe, expect, it } from 'vitest'
import { inFlight } from '../../src/decide/around.ts'
import { type HoldDeps, hold } from '../../src/pipeline/hold.ts'
import { briefOf } from '../../src/workflow/brief.ts'
import type { Step } from '../../src/workflow/step.ts'
import { isHeld, type Workflow } from '../../src/workflow/workflow.ts'
import { workflowOf } from '../support/workflows.ts'

const HASH = 'a1'.repeat(32)
const why = { check: 'approval_always', message: 'always' }
const deps: HoldDeps = {
  nowMs: () => 2_000,
  whyAsk: () => why,
  hashOf: () => HASH,
  expiresAfterMs: 10_000,
  answer: () => null,
}
const after = (step: Step | null): Workflow => {
  if (step === null || step.type === 'wait') throw new TypeError('did not move')
  return step.workflow
}
const held = after(hold(workflowOf('discovered'), deps))

describe('a hold', () => {
  it('stands in the way of nothing that nobody is asked about', () => {
    expect(hold(workflowOf('discovered'), { ...deps, whyAsk: () => null })).toBeNull()
  })

  it('keeps why, what and until when, in the state that it was in', () => {
    expect(held).toMatchObject({ state: 'discovered', hold: { ...why, hash: HASH, untilMs: 12_000 } })
    expect(isHeld(held)).toBe(true)
    expect(hold(held, deps)).toEqual({ type: 'wait', ms: 250 })
  })

  it('lets go what is approved, once and for all', () => {
    const approved = after(hold(held, { ...deps, answer: () => ({ verdict: 'approve', hash: HASH }) }))
    expect(approved).toMatchObject({ state: 'discovered', hold: { approvedAtMs: 2_000 } })
    // Decisions know which of the two it is.
    expect([held, approved].map((one) => inFlight(briefOf(one)).held)).toEqual([true, undefined])
    expect(isHeld(approved)).toBe(false)
    expect(hold(approved, { ...deps, nowMs: () => 99_000 })).toBeNull()
  })

  it('cancels what is rejected', () => {
    const rejected = after(hold(held, { ...deps, answer: () => ({ verdict: 'reject', hash: HASH }) }))
    expect(rejected).toMatchObject({ state: 'cancelled', note: { check: 'approval_rejected' } })
  })

  it('takes no answer for another hash', () => {
    const answer = () => ({ verdict: 'approve' as const, hash: 'b2'.repeat(32) })
    expect(hold(held, { ...deps, answer })).toEqual({ type: 'wait', ms: 250 })
  })

  it('asks anew where what would be approved has changed, also after an approval', () => {
    const approved = after(hold(held, { ...deps, answer: () => ({ verdict: 'approve', hash: HASH }) }))
    const changed = { ...deps, nowMs: () => 5_000, hashOf: () => 'b2'.repeat(32) }
    for (const known of [held, approved]) {
      const again = after(hold(known, changed))
      expect(again.hold).toEqual({ ...why, hash: 'b2'.repeat(32), untilMs: 15_000 })
    }
  })

  it('expires when its time is over, and not a millisecond before, whatever the answer', () => {
    const answer = () => ({ verdict: 'approve' as const, hash: HASH })
    expect(hold(held, { ...deps, nowMs: () => 11_999 })).toEqual({ type: 'wait', ms: 1 })
    expect(after(hold(held, { ...deps, nowMs: () => 12_000, answer }))).toMatchObject({
      state: 'expired',
      note: { check: 'approval_expired', message: 'Nobody approved it within 10 s.' },
    })
  })
})

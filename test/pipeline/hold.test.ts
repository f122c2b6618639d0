import { describe, expect, it } from 'vitest'
import { inFlight } from '../../src/decide/around.ts'
import { type HoldDeps, hold } from '../../src/pipeline/hold.ts'
import { briefOf } from '../../src/workflow/brief.ts'
import type { Step } from '../../src/workflow/step.ts'
import { isHeld, type Workflow } from '../../src/workflow/workflow.ts'
import { workflowOf } from '../support/workflows.ts'

const HASH = 'a1'.repeat(32)
const SHOWN = { calls: [], effects: ['leaves us: at most 3 sUSD'], changes: [] }
const why = { check: 'approval_always', message: 'always' }
const deps: HoldDeps = {
  nowMs: () => 2_000,
  whyAsk: () => why,
  rules: 'rules',
  show: () => SHOWN,
  hashOf: () => HASH,
  expiresAfterMs: 10_000,
  answer: async () => null,
  lookMs: 250,
}
const after = async (given: Promise<Step | null>): Promise<Workflow> => {
  const step = await given
  if (step === null || step.type === 'wait') throw new TypeError('did not move')
  return step.workflow
}
const held = await after(hold(workflowOf('discovered'), deps))

describe('a hold', () => {
  it('stands in the way of nothing that nobody is asked about', async () => {
    expect(await hold(workflowOf('discovered'), { ...deps, whyAsk: () => null })).toBeNull()
  })

  it('keeps why, what and until when, in the state that it was in', async () => {
    expect(held).toMatchObject({
      state: 'discovered',
      hold: { ...why, rules: 'rules', shown: SHOWN, hash: HASH, untilMs: 12_000 },
    })
    expect(isHeld(held)).toBe(true)
    expect(await hold(held, deps)).toEqual({ type: 'wait', ms: 250 })
  })

  it('lets go what is approved, once and for all', async () => {
    const approved = await after(hold(held, { ...deps, answer: async () => 'approve' }))
    expect(approved).toMatchObject({ state: 'discovered', hold: { approvedAtMs: 2_000 } })
    // Decisions know which of the two it is.
    expect([held, approved].map((one) => inFlight(briefOf(one)).held)).toEqual([true, undefined])
    expect(isHeld(approved)).toBe(false)
    expect(await hold(approved, { ...deps, nowMs: () => 99_000 })).toBeNull()
  })

  it('cancels what is rejected', async () => {
    const rejected = await after(hold(held, { ...deps, answer: async () => 'reject' }))
    expect(rejected).toMatchObject({ state: 'cancelled', note: { check: 'approval_rejected' } })
  })

  it('takes an answer for its very hash alone', async () => {
    const asked: string[] = []
    const answer = async (_id: string, hash: string) => {
      asked.push(hash)
      return null
    }
    expect(await hold(held, { ...deps, answer })).toEqual({ type: 'wait', ms: 250 })
    expect(asked).toEqual([HASH])
  })

  it('asks anew where what would be approved has changed, also after an approval', async () => {
    const approved = await after(hold(held, { ...deps, answer: async () => 'approve' }))
    const others = [{ hashOf: () => 'b2'.repeat(32) }, { rules: 'other', hashOf: () => 'b2'.repeat(32) }]
    for (const other of others) {
      for (const known of [held, approved]) {
        const again = await after(hold(known, { ...deps, nowMs: () => 5_000, ...other }))
        expect(again.hold).toMatchObject({ ...why, shown: SHOWN, hash: 'b2'.repeat(32), untilMs: 15_000 })
        expect(again.hold?.approvedAtMs).toBeUndefined()
      }
    }
  })

  it('expires when its time is over, and not a millisecond before, whatever the answer', async () => {
    const answer = async () => 'approve' as const
    expect(await hold(held, { ...deps, nowMs: () => 11_999 })).toEqual({ type: 'wait', ms: 1 })
    expect(await after(hold(held, { ...deps, nowMs: () => 12_000, answer }))).toMatchObject({
      state: 'expired',
      note: { check: 'approval_expired', message: 'Nobody approved it within 10 s.' },
    })
  })
})

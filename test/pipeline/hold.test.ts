import { describe, expect, it } from 'vitest'
import { inFlight } from '../../src/decide/recent-workflows.ts'
import { type HoldDeps, hold } from '../../src/pipeline/hold.ts'
import { briefOf } from '../../src/workflow/brief.ts'
import type { Step } from '../../src/workflow/step.ts'
import { isHeld, type Workflow } from '../../src/workflow/workflow.ts'
import { workflowOf } from '../support/workflows.ts'

const HASH = 'a1'.repeat(32)
const SHOWN = {
  calls: [],
  effects: ['leaves us: at most 3 sUSD'],
  changes: [],
  day: '',
  askedBy: '',
  quorum: 1,
  approvers: null,
}
const proven = (name: string) => ({ by: name, identity: { user: `${name}@here` } })
const by = (...names: string[]) => ({
  answers: async () => ({ approved: names.map(proven), rejected: null }),
})
const rejection = { answers: async () => ({ approved: [proven('ben')], rejected: 'anna' }) }
const why = { check: 'approval_always', message: 'always' }
const deps: HoldDeps = {
  nowMs: () => 2_000,
  whyAsk: async () => why,
  rules: 'rules',
  show: async () => SHOWN,
  isAsShown: async () => true,
  hashOf: () => HASH,
  expiresAfterMs: 10_000,
  answers: async () => ({ approved: [], rejected: null }),
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
    expect(await hold(workflowOf('discovered'), { ...deps, whyAsk: async () => null })).toBeNull()
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
    const approved = await after(hold(held, { ...deps, ...by('anna') }))
    expect(approved).toMatchObject({
      state: 'discovered',
      hold: { approvedAtMs: 2_000, approvals: [{ ...proven('anna'), atMs: 2_000 }] },
    })
    // Decisions know which of the two it is.
    expect([held, approved].map((one) => inFlight(briefOf(one)).held)).toEqual([true, undefined])
    expect(isHeld(approved)).toBe(false)
    expect(await hold(approved, { ...deps, nowMs: () => 11_999 })).toBeNull()
    expect(await after(hold(approved, { ...deps, nowMs: () => 12_000 }))).toMatchObject({
      state: 'expired',
      note: { check: 'approval_expired', message: expect.stringContaining('could not begin within') },
    })
  })

  it('asks anew for what would change something else by now than what was shown', async () => {
    const changes = [{ field: 'managementFeeBps', from: '1 %', to: '2 %' }]
    const isAsShown = async () => false
    const now = {
      ...deps,
      show: async () => ({ ...SHOWN, changes }),
      hashOf: () => 'b2'.repeat(32),
      isAsShown,
    }
    if (held.hold === undefined) throw new TypeError('not held')
    const known = { ...held, hold: { ...held.hold, hash: 'b2'.repeat(32) } }
    const again = await after(hold(known, { ...now, ...by('anna') }))
    expect(again.hold).toMatchObject({ shown: { changes }, approvals: [] })
    expect(again.hold).not.toHaveProperty('approvedAtMs')
    // Looked at only once nobody is waited for any more.
    expect(await hold(known, now)).toEqual({ type: 'wait', ms: 250 })
  })

  it('waits until as many have approved as the policy asks, and keeps who did, also where an answer is lost', async () => {
    const two = { ...deps, show: async () => ({ ...SHOWN, quorum: 2 }) }
    const asked = await after(hold(workflowOf('discovered'), two))
    const once = await after(hold(asked, { ...two, ...by('anna') }))
    expect(once.hold?.approvals).toEqual([{ ...proven('anna'), atMs: 2_000 }])
    expect(isHeld(once)).toBe(true)
    // The same person again is one person.
    expect(await hold(once, { ...two, ...by('anna') })).toEqual({ type: 'wait', ms: 250 })
    const twice = await after(hold(once, { ...two, ...by('ben') }))
    expect(twice.hold).toMatchObject({ approvals: [{ by: 'anna' }, { by: 'ben' }], approvedAtMs: 2_000 })
    expect((await after(hold(once, { ...two, ...rejection }))).state).toBe('cancelled')
  })

  it('cancels what is rejected', async () => {
    const rejected = await after(hold(held, { ...deps, ...rejection }))
    expect(rejected).toMatchObject({
      state: 'cancelled',
      note: { check: 'approval_rejected', message: 'anna rejected it.' },
    })
  })

  it('takes an answer for its very hash alone', async () => {
    const asked: string[] = []
    const answers = async (_held: Workflow, hash: string) => {
      asked.push(hash)
      return { approved: [], rejected: null }
    }
    expect(await hold(held, { ...deps, answers })).toEqual({ type: 'wait', ms: 250 })
    expect(asked).toEqual([HASH])
  })

  it('asks anew where what would be approved has changed, also after an approval', async () => {
    const approved = await after(hold(held, { ...deps, ...by('anna') }))
    const others = [{ hashOf: () => 'b2'.repeat(32) }, { rules: 'other', hashOf: () => 'b2'.repeat(32) }]
    for (const other of others) {
      for (const known of [held, approved]) {
        const again = await after(hold(known, { ...deps, nowMs: () => 5_000, ...other }))
        expect(again.hold).toMatchObject({ ...why, shown: SHOWN, hash: 'b2'.repeat(32), untilMs: 15_000 })
        expect(again.hold?.approvedAtMs).toBeUndefined()
      }
    }
  })

  it('asks nobody where too few are left to approve it, and says who they are', async () => {
    const ofTwo = (...names: string[]) => ({
      ...deps,
      show: async () => ({ ...SHOWN, quorum: 2, approvers: names.map((name) => ({ name })) }),
    })
    expect(await after(hold(workflowOf('discovered'), ofTwo('ben')))).toMatchObject({
      state: 'refused',
      note: {
        check: 'approval_impossible',
        message: expect.stringMatching(
          /^always 2 have to approve it, and who submits does not: that leaves ben\. Fix: /,
        ),
      },
    })
    const asked = await after(hold(workflowOf('discovered'), ofTwo('ben', 'cleo')))
    expect(isHeld(asked)).toBe(true)
    const once = await after(hold(asked, { ...ofTwo('ben', 'cleo'), ...by('ben') }))
    expect(await after(hold(once, { ...deps, nowMs: () => 12_000 }))).toMatchObject({
      note: { message: '1 of 2 approved it within 10 s.' },
    })
  })

  it('expires when its time is over, and not a millisecond before, whatever the answer', async () => {
    expect(await hold(held, { ...deps, nowMs: () => 11_999 })).toEqual({ type: 'wait', ms: 1 })
    expect(await after(hold(held, { ...deps, nowMs: () => 12_000, ...by('anna') }))).toMatchObject({
      state: 'expired',
      note: { check: 'approval_expired', message: 'Nobody approved it within 10 s.' },
    })
  })
})

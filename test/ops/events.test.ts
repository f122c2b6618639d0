import { describe, expect, it } from 'vitest'
import { slotEvents, workflowEvent } from '../../src/ops/events.ts'
import { createTally } from '../../src/ops/tally.ts'
import type { Inclusion, Slot } from '../../src/workflow/slot.ts'
import type { Workflow } from '../../src/workflow/workflow.ts'
import { attemptOf, slotOf, workflowOf } from '../support/workflows.ts'

describe('a workflow’s event', () => {
  it('has its summary when it begins, and how long the state before took from then on', () => {
    const first = workflowEvent(workflowOf('discovered'), null)
    expect(first).toMatchObject({ state: 'discovered', durationMs: 0, summary: 'repay 1000' })
    const next = workflowEvent(workflowOf('requested', { updatedAtMs: 1_250 }), workflowOf('discovered'))
    expect(next).toMatchObject({ state: 'requested', durationMs: 250, at: '1970-01-01T00:00:01.250Z' })
    expect(next).not.toHaveProperty('summary')
  })

  it('says why only at the end', () => {
    const note = { check: 'preflight_blocked', message: 'blocked' }
    expect(workflowEvent(workflowOf('refused', { note }), workflowOf('prepared'))).toMatchObject(note)
    expect(workflowEvent(workflowOf('in_flight', { note }), workflowOf('cleared'))).not.toHaveProperty(
      'check',
    )
  })
})

describe('slot events', () => {
  const inclusion: Inclusion = {
    hash: '0x02',
    purpose: 'payload',
    blockNumber: 9n,
    blockHash: '0x03',
    status: 'success',
    gasUsed: 1n,
    effectiveGasPriceWei: 1n,
  }
  const signed = attemptOf({ state: 'signed', raw: '0x01', hash: '0x02' })
  const sent = { ...signed, state: 'sent' as const }
  const flight = (slot: Slot): Workflow => workflowOf('in_flight', { slots: [slot] })
  const states = (after: Slot, before: Slot) =>
    slotEvents(flight(after), flight(before)).map(({ state }) => state)

  it('tell each thing that a slot reaches, once', () => {
    const ordered = slotOf()
    const line = [
      ordered,
      slotOf({ attempts: [signed] }),
      slotOf({ attempts: [sent] }),
      slotOf({ attempts: [sent], state: 'mined', inclusion }),
      slotOf({ attempts: [sent], state: 'final', inclusion }),
    ]
    expect(line.slice(1).flatMap((after, index) => states(after, line[index] ?? ordered))).toEqual([
      'signed',
      'sent',
      'mined',
      'final',
    ])
    expect(states(slotOf({ closing: 'x' }), ordered)).toEqual([])
    expect(states(ordered, ordered)).toEqual([])
  })

  it('tell a bump as signed and sent again, and a reorg as reopened', () => {
    const public_ = slotOf({ attempts: [sent] })
    expect(states(slotOf({ attempts: [sent, signed] }), public_)).toEqual(['signed'])
    expect(states(public_, slotOf({ attempts: [sent], state: 'mined', inclusion }))).toEqual(['reopened'])
  })

  it('name the form that was mined, not the last one', () => {
    const bump = { ...sent, hash: '0x04' as const, purpose: 'noop' as const }
    const after = slotOf({ attempts: [sent, bump], state: 'mined', inclusion })
    expect(slotEvents(flight(after), flight(slotOf({ attempts: [sent, bump] })))).toMatchObject([
      { purpose: 'payload', hash: '0x02', blockNumber: '9' },
    ])
  })
})

describe('the tally', () => {
  it('counts how workflows ended, and what is parked', () => {
    const tally = createTally(1_000)
    for (const state of ['succeeded', 'succeeded', 'reverted'] as const) tally.ended(workflowOf(state))
    expect(tally.summary(['liquidator'], [workflowOf('in_flight')], {}, 3_000)).toEqual({
      type: 'summary',
      at: '1970-01-01T00:00:03.000Z',
      durationMs: 2_000,
      workflows: {
        liquidator: {
          succeeded: 2,
          refused: 0,
          expired: 0,
          reverted: 1,
          superseded: 0,
          partial: 0,
          cancelled: 0,
          unconfirmed: 0,
          quarantined: 0,
          shadowed: 0,
          parked: 1,
        },
      },
      money: {},
    })
  })
})

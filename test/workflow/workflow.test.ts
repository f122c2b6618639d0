import { describe, expect, it } from 'vitest'
import { BrokenInvariant } from '../../src/errors.ts'
import { idempotencyKey, opportunityKey } from '../../src/workflow/keys.ts'
import { type Attempt, withLastAttempt, withNewAttempt } from '../../src/workflow/slot.ts'
import {
  mayMove,
  move,
  PROGRESS_STATES,
  TERMINAL_STATES,
  type WorkflowState,
} from '../../src/workflow/workflow.ts'
import { attemptOf, slotOf, workflowOf } from '../support/workflows.ts'

const LEGAL: Readonly<Record<string, readonly WorkflowState[]>> = {
  discovered: ['requested', 'prepared', 'refused', 'cancelled', 'expired', 'quarantined'],
  requested: ['prepared', 'refused', 'cancelled', 'expired', 'quarantined'],
  prepared: ['attested', 'confirmed', 'refused', 'cancelled', 'expired', 'quarantined', 'shadowed'],
  attested: ['cleared', 'refused', 'cancelled', 'expired', 'quarantined'],
  cleared: ['in_flight', 'attested', 'refused', 'cancelled', 'expired', 'quarantined', 'shadowed'],
  in_flight: ['confirmed', 'reverted', 'superseded', 'partial', 'cancelled', 'expired', 'quarantined'],
  confirmed: ['in_flight', 'succeeded', 'unconfirmed', 'quarantined'],
}
const STATES: readonly WorkflowState[] = [...PROGRESS_STATES, ...TERMINAL_STATES]

describe('a workflow’s states', () => {
  it('allow exactly the moves of the table', () => {
    for (const from of STATES) {
      for (const to of STATES)
        expect([from, to, mayMove(from, to)]).toEqual([from, to, LEGAL[from]?.includes(to) ?? false])
    }
  })

  it('never end while a claimed nonce has no end', () => {
    const workflow = { ...workflowOf('in_flight'), slots: [slotOf({ state: 'mined' })] }
    expect(() => move(workflow, 'reverted', 1)).toThrow(BrokenInvariant)
    expect(move({ ...workflow, slots: [slotOf({ state: 'final' })] }, 'reverted', 1).state).toBe('reverted')
  })
})

it('forgets in a success why a workflow was once thought to fail', () => {
  const note = { check: 'position_healthy', message: 'The position is sound.' }
  const confirmed = { ...workflowOf('confirmed'), note }
  expect(move(confirmed, 'succeeded', 1).note).toBeUndefined()
  expect(move(confirmed, 'unconfirmed', 1).note).toEqual(note)
})

describe('an attempt', () => {
  const ordered = attemptOf({ state: 'ordered' })
  const sent: Attempt = { ...ordered, state: 'sent', raw: '0x02', hash: '0x03' }

  it('never goes back', () => {
    expect(() => withLastAttempt(slotOf({ attempts: [sent] }), { ...sent, state: 'signed' })).toThrow(
      BrokenInvariant,
    )
  })

  it('keeps its digest and its raw bytes for life', () => {
    const slot = slotOf({ attempts: [sent] })
    expect(() => withLastAttempt(slot, { ...sent, digest: `0x${'99'.repeat(32)}` })).toThrow(BrokenInvariant)
    expect(() => withLastAttempt(slot, { ...sent, raw: '0x04' })).toThrow(BrokenInvariant)
  })

  it('of a payload never follows a no-op on the same nonce', () => {
    const closed = slotOf({ attempts: [sent, { ...sent, purpose: 'noop' }] })
    expect(() => withNewAttempt(closed, ordered)).toThrow(BrokenInvariant)
    expect(withNewAttempt(closed, { ...ordered, purpose: 'noop' }).attempts).toHaveLength(3)
  })

  it('is not added to a slot that is mined', () => {
    expect(() => withNewAttempt(slotOf({ state: 'mined', attempts: [sent] }), ordered)).toThrow(
      BrokenInvariant,
    )
  })
})

describe('keys', () => {
  const parts = {
    chainId: 1,
    role: 'liquidator' as const,
    workflowType: 'role.liquidator.liquidate',
    kind: 'liquidate',
    subject: 'm:v:b',
    occurrence: '1:2',
    shadow: false,
  }

  it('differ when any part differs, also where parts meet', () => {
    const keys = [
      parts,
      { ...parts, chainId: 2 },
      { ...parts, subject: 'm:v:b1' },
      { ...parts, occurrence: '1:3' },
      { ...parts, shadow: true },
      { ...parts, subject: 'm:v:', occurrence: 'b1:2' },
    ].map(opportunityKey)
    expect(new Set(keys).size).toBe(keys.length)
    expect(opportunityKey({ ...parts })).toBe(keys[0])
  })

  it('give each round of an opportunity its own idempotency key', () => {
    const key = opportunityKey(parts)
    expect(idempotencyKey(key, 0)).not.toBe(idempotencyKey(key, 1))
    expect(idempotencyKey(key, 0)).toMatch(/^[0-9a-f]{32}$/)
  })
})

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openProposal } from '../../src/decide/open.ts'
import type { RolekeeperError } from '../../src/errors.ts'
import type { Journal } from '../../src/journal/journal.ts'
import { openSqliteJournal } from '../../src/journal/sqlite/sqlite.ts'
import { TERMINAL_STATES, type TerminalState } from '../../src/workflow/workflow.ts'
import { newDirectory } from '../support/directory.ts'
import { proposalOf, SIGNER, slotOf } from '../support/workflows.ts'

let journal: Journal
let nowMs: number
let alarms: string[]
const alarm = (error: RolekeeperError) => alarms.push(error.code)
beforeEach(() => {
  alarms = []
  journal = openSqliteJournal(newDirectory())
  nowMs = 10_000
})
afterEach(() => journal.close())

const OPENER = { role: 'liquidator', chainId: 31_337, signer: SIGNER, shadow: false } as const
const open = (changes: Parameters<typeof proposalOf>[0] = {}) =>
  openProposal(proposalOf(changes), OPENER, { nowMs: () => nowMs, journal, alarm })
const opened = async () => {
  const result = await open()
  if (!result.ok) throw new TypeError(result.message)
  return result.workflow
}
const check = async () => {
  const result = await open()
  return result.ok ? `round ${result.workflow.round}` : result.check
}
const end = async (state: TerminalState) => {
  await journal.write({ ...(await opened()), state, updatedAtMs: nowMs })
}

describe('opening a proposal', () => {
  it('lets one role alone bid on a lot, until its workflow has ended', async () => {
    const bid = { lot: '0xlot' }
    const another = { role: 'rfq-bidder', chainId: 31_337, signer: SIGNER, shadow: false } as const
    const openBid = () =>
      openProposal(proposalOf({ ...bid, subject: 'rfq' }), another, { nowMs: () => nowMs, journal, alarm })
    const first = await open(bid)
    expect(await openBid()).toMatchObject({ ok: false, check: 'lot_taken' })
    if (first.ok) await journal.write({ ...first.workflow, state: 'refused' })
    expect(await openBid()).toMatchObject({ ok: true })
  })

  it('begins it discovered at round 0, whose id is its idempotency key', async () => {
    const workflow = await opened()
    expect(workflow).toMatchObject({
      state: 'discovered',
      round: 0,
      version: 0,
      slots: [],
      createdAtMs: 10_000,
    })
    expect(await journal.get(workflow.id)).toEqual(workflow)
  })

  it('opens one opportunity once, also when asked twice in one turn, and another beside it', async () => {
    const both = await Promise.all([open(), open()])
    expect(both.map(({ ok }) => ok)).toEqual([true, false])
    expect(await check()).toBe('already_in_flight')
    expect((await open({ occurrence: '100:201' })).ok).toBe(true)
  })

  it('takes another input of the same occurrence for the same opportunity', async () => {
    await opened()
    expect(await open({ input: { repayAssets: '2' } })).toMatchObject({ check: 'already_in_flight' })
  })

  it('reopens only after ends without the payload’s effect', async () => {
    const found: Record<string, string> = {}
    for (const state of TERMINAL_STATES) {
      await journal.close()
      journal = openSqliteJournal(newDirectory())
      await end(state)
      nowMs += 2_000
      found[state] = await check()
    }
    expect(found).toEqual({
      succeeded: 'already_done',
      refused: 'round 1',
      expired: 'round 1',
      reverted: 'round 1',
      superseded: 'round 1',
      partial: 'partially_done',
      cancelled: 'round 1',
      unconfirmed: 'already_done',
      quarantined: 'already_done',
      shadowed: 'already_done',
    })
  })

  it('does again a day later, to the millisecond, what another may undo, and nothing that is for a person', async () => {
    const found: Record<string, string> = {}
    const again = async () => {
      const result = await open({ comesBack: true })
      return result.ok ? `round ${result.workflow.round}` : result.check
    }
    for (const state of ['succeeded', 'unconfirmed', 'partial', 'shadowed', 'quarantined'] as const) {
      await journal.close()
      journal = openSqliteJournal(newDirectory())
      await end(state)
      nowMs += 86_399_999
      const young = await again()
      nowMs += 1
      // What nobody undoes stays done for good.
      found[state] = [young, await check(), await again(), await again()].join(', ')
    }
    expect(found).toEqual({
      succeeded: 'already_done, already_done, round 1, already_in_flight',
      unconfirmed: 'already_done, already_done, round 1, already_in_flight',
      partial: 'partially_done, partially_done, round 1, already_in_flight',
      shadowed: 'already_done, already_done, round 1, already_in_flight',
      quarantined: 'already_done, already_done, already_done, already_done',
    })
  })

  it('backs off two seconds, then four, up to two minutes, to the millisecond', async () => {
    for (const waitMs of [2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 120_000, 120_000]) {
      await end('refused')
      nowMs += waitMs - 1
      expect(await check()).toBe('backing_off')
      nowMs += 1
    }
    // Each round begins as soon as it may, or it could not end.
    await end('refused')
  })

  it('does not wait for a clock that was put back', async () => {
    nowMs = 86_400_000
    await end('refused')
    nowMs -= 3_600_000
    expect(await check()).toBe('round 1')
  })

  it('gives an opportunity sixty-four tries that took a nonce, and not one more', async () => {
    for (let round = 0; round < 64; round += 1) {
      await journal.write({ ...(await opened()), state: 'reverted', slots: [slotOf()], updatedAtMs: nowMs })
      nowMs += 120_000
    }
    expect(await check()).toBe('rounds_exhausted')
  })

  it('never gives up what was refused for two hours before a nonce was taken, and raises an alarm', async () => {
    // A constant of the protocol: a refund has one occurrence for ever.
    const refund = () => open({ kind: 'refund', occurrence: 'refund' })
    let rounds = 0
    for (const startedMs = nowMs; nowMs < startedMs + 4 * 3_600_000; nowMs += 60_000) {
      const result = await refund()
      if (!result.ok) continue
      rounds += 1
      const note = { check: 'limit_day_gas', message: 'the budget is spent' }
      await journal.write({ ...result.workflow, state: 'refused', note, updatedAtMs: nowMs })
    }
    expect(rounds).toBeGreaterThan(64)
    expect(new Set(alarms)).toEqual(new Set(['duty.overdue']))
    nowMs += 120_000
    expect(await refund()).toMatchObject({ ok: true, workflow: { claimedRounds: 0 } })
  })

  it('calls a duty overdue one millisecond past a quarter of an hour, and not where nobody proposed it', async () => {
    await end('refused')
    nowMs += 900_000
    await end('refused')
    expect(alarms).toEqual([])
    nowMs += 4_001
    await end('refused')
    expect(alarms).toEqual(['duty.overdue'])
    nowMs += 900_001
    await end('refused')
    expect(alarms).toEqual(['duty.overdue'])
  })
})

import { parseTransaction } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  hasFailed,
  isPublic,
  orderReplacements,
  type ReplaceTerms,
  type ReplaceView,
} from '../../../src/pipeline/transactions/replace.ts'
import { nativeAtMostWei, reservationOf } from '../../../src/pipeline/transactions/reservation.ts'
import type { Inclusion, Slot } from '../../../src/workflow/slot.ts'
import type { Workflow } from '../../../src/workflow/workflow.ts'
import { answerOf, attemptOf, FEE_POLICY, MARKET, slotOf, workflowOf } from '../../support/workflows.ts'

const TERMS: ReplaceTerms = {
  fees: FEE_POLICY,
  rulesetHash: 'rules',
  gasWeiMax: 10n ** 18n,
  tipWei: null,
  noopGas: 21_000n,
  urgent: [],
}
const view = (changes: Partial<ReplaceView> = {}): ReplaceView => ({
  nowMs: 2_000,
  headNumber: 10n,
  headTimestampS: 2,
  baseFeePerGasWei: 500_000_000n,
  chainNonce: 7,
  ...changes,
})
const sentAttempt = attemptOf({ state: 'sent', raw: '0x01', hash: '0x02', sentAtBlock: 10n })
const sent = (changes: Partial<Slot> = {}) => slotOf({ attempts: [sentAttempt], ...changes })
const inFlight = (...slots: readonly Slot[]) => workflowOf('in_flight', { slots })
const inclusion = (changes: Partial<Inclusion>): Inclusion => ({
  hash: '0x02',
  purpose: 'payload',
  blockNumber: 9n,
  blockHash: '0x03',
  status: 'success',
  gasUsed: 1n,
  effectiveGasPriceWei: 1n,
  ...changes,
})
const order = (workflow: Workflow, changes: Partial<ReplaceView> = {}, terms: Partial<ReplaceTerms> = {}) =>
  orderReplacements(workflow, view(changes), { ...TERMS, ...terms })
const shape = ({ slots }: Workflow) =>
  slots.map(({ closing, attempts }) => [closing, ...attempts.map(({ purpose }) => purpose)])

describe('a slot', () => {
  it('has failed by its receipt where there is one, else by what was wanted', () => {
    expect(hasFailed(slotOf())).toBe(false)
    expect(hasFailed(slotOf({ closing: 'expired' }))).toBe(true)
    expect(hasFailed(slotOf({ consumedByOther: true }))).toBe(true)
    expect(hasFailed(slotOf({ inclusion: inclusion({ status: 'reverted' }) }))).toBe(true)
    expect(hasFailed(slotOf({ inclusion: inclusion({ purpose: 'noop' }) }))).toBe(true)
    expect(hasFailed(slotOf({ closing: 'expired', inclusion: inclusion({}) }))).toBe(false)
  })

  it('is public once any form of it was sent', () => {
    expect(isPublic(slotOf())).toBe(false)
    expect(isPublic(slotOf({ attempts: [attemptOf({ state: 'signed' })] }))).toBe(false)
    expect(isPublic(sent({ attempts: [sentAttempt, attemptOf()] }))).toBe(true)
  })
})

describe('replacements', () => {
  it('are none where nothing is due: the very same record', () => {
    const workflow = inFlight(slotOf(), sent({ index: 1, nonce: 8 }))
    expect(order(workflow)).toBe(workflow)
  })

  it('close at the clearance’s end what no node has, by our clock', () => {
    const workflow = inFlight(slotOf())
    expect(order(workflow, { nowMs: 29_999 })).toBe(workflow)
    expect(shape(order(workflow, { nowMs: 30_000 }))).toEqual([['expired', 'payload', 'noop']])
  })

  it('close at the clearance’s end what is public, by the chain’s clock alone', () => {
    const workflow = inFlight(sent())
    expect(order(workflow, { nowMs: 999_999, headTimestampS: 29 })).toBe(workflow)
    expect(shape(order(workflow, { headTimestampS: 30 }))).toEqual([['expired', 'payload', 'noop']])
  })

  it('close six hours later what the service said would hold until 2099, and raise it no more', () => {
    const answer = answerOf({ expiresAt: '2099-01-01T00:00:00.000Z' })
    const prepared = { bytesSha256: '', answer, receivedAtMs: 1_000 }
    const workflow = workflowOf('in_flight', { prepared, slots: [sent()] })
    const later = order(workflow, { headTimestampS: 6 * 3_600, headNumber: 1_810n })
    expect(shape(later)).toEqual([['expired', 'payload', 'noop']])
  })

  it('close under changed rules what no node has, and leave what is public', () => {
    expect(shape(order(inFlight(slotOf()), {}, { rulesetHash: 'other' }))).toEqual([
      ['ruleset_changed', 'payload', 'noop'],
    ])
    const workflow = inFlight(sent())
    expect(order(workflow, {}, { rulesetHash: 'other' })).toBe(workflow)
  })

  it('close what comes after a slot that failed, not what comes before it', () => {
    const reverted = sent({
      index: 1,
      nonce: 8,
      state: 'mined',
      inclusion: inclusion({ status: 'reverted' }),
    })
    const last = sent({ index: 2, nonce: 9 })
    expect(shape(order(inFlight(sent(), reverted, last)))).toEqual([
      [undefined, 'payload'],
      [undefined, 'payload'],
      ['earlier_slot_failed', 'payload', 'noop'],
    ])
  })

  it('leave what comes after a payload that landed although it was to be closed', () => {
    const landed = sent({ closing: 'expired', state: 'mined', inclusion: inclusion({}) })
    const workflow = inFlight(landed, sent({ index: 1, nonce: 8 }))
    expect(order(workflow)).toBe(workflow)
  })

  it('never close a revocation', () => {
    const failed = sent({ state: 'final', inclusion: inclusion({ status: 'reverted' }) })
    const workflow = inFlight(failed, slotOf({ index: 1, nonce: 8, kind: 'revoke' }))
    expect(order(workflow, { nowMs: 999_999, headTimestampS: 999 }, { rulesetHash: 'other' })).toBe(workflow)
  })

  it('raise the fees at the third block and not at the second, and only of the nonce whose turn it is', () => {
    const workflow = inFlight(sent())
    expect(order(workflow, { headNumber: 12n })).toBe(workflow)
    expect(order(workflow, { headNumber: 13n, chainNonce: 6 })).toBe(workflow)
    expect(order(workflow, { headNumber: 13n, chainNonce: 8 })).toBe(workflow)
    const [slot] = order(workflow, { headNumber: 13n }).slots
    expect(slot?.attempts[1]).toMatchObject({ purpose: 'payload', maxFeePerGasWei: 2_250_000_000n })
  })

  it('raise a no-op too, as a no-op', () => {
    const closed = sent({ closing: 'x', attempts: [sentAttempt, { ...sentAttempt, purpose: 'noop' }] })
    expect(shape(order(inFlight(closed), { headNumber: 13n }))).toEqual([['x', 'payload', 'noop', 'noop']])
  })

  it('leave a public payload where its no-op would not fit any more, and close it at the cap itself', () => {
    // The most that 12.5 % can still be added to.
    const capped = { ...sentAttempt, maxFeePerGasWei: 44_444_444_444n }
    const workflow = inFlight(sent({ attempts: [capped] }))
    expect(order(workflow, { headNumber: 99n, baseFeePerGasWei: 40_000_000_000n })).toBe(workflow)
    const dear = { headTimestampS: 30, baseFeePerGasWei: 49_000_000_000n }
    const closed = order(workflow, dear)
    expect(shape(closed)).toEqual([['expired', 'payload', 'noop']])
    expect(closed.slots[0]?.attempts[1]?.maxFeePerGasWei).toBe(FEE_POLICY.maxFeePerGasWei)
  })

  it('close what an earlier release offered at the cap itself: the no-op is taken as new', () => {
    const capped = { ...sentAttempt, maxFeePerGasWei: FEE_POLICY.maxFeePerGasWei }
    const closed = order(inFlight(sent({ attempts: [capped] })), { headTimestampS: 30 })
    expect(shape(closed)).toEqual([['expired', 'payload', 'noop']])
  })

  it('count the native coin that they send in the cap of a workflow and in its budgets, at whatever base fee', () => {
    const payload = { to: MARKET, data: '0x', valueWei: 15n * 10n ** 15n, gasLimit: 510_000n } as const
    const gasWeiMax = 20n * 10n ** 15n
    let workflow = inFlight(sent({ payload }))
    for (let block = 13n; block < 400n; block += 3n) {
      const baseFeePerGasWei = (block * 10n ** 9n) / 8n
      workflow = order(workflow, { headNumber: block, baseFeePerGasWei }, { gasWeiMax })
      const [slot] = workflow.slots
      if (slot === undefined) throw new TypeError('it has a slot')
      const attempts = slot.attempts.map((attempt) => ({
        ...attempt,
        state: 'sent' as const,
        raw: '0x01' as const,
        sentAtBlock: block,
      }))
      workflow = { ...workflow, slots: [{ ...slot, attempts }] }
    }
    const most = nativeAtMostWei(workflow.slots)
    expect(most).toBeGreaterThan(payload.valueWei)
    expect(most).toBeLessThanOrEqual(gasWeiMax)
    expect(reservationOf(workflow, 0).gasWei).toBe(most)
    // Nothing but gas is left for it: 0.005 ETH for 510,000 gas are 9.8 gwei.
    expect(workflow.slots[0]?.attempts.at(-1)?.maxFeePerGasWei).toBeLessThan(9_804_000_000n)
  })

  it('never offer 0.0287 ETH where the policy allows 0.02 a workflow, at whatever base fee', () => {
    const payload = { to: '0x', data: '0x', valueWei: 0n, gasLimit: 510_000n } as const
    const of = (index: number) => sent({ index, nonce: 7 + index, payload: { ...payload, to: MARKET } })
    const gasWeiMax = 20_000_000_000_000_000n
    let workflow = inFlight(of(0), of(1))
    for (let block = 13n; block < 400n; block += 3n) {
      const baseFeePerGasWei = (block * 10n ** 9n) / 8n
      workflow = order(workflow, { headNumber: block, baseFeePerGasWei }, { gasWeiMax })
      const slots = workflow.slots.map((slot) => ({
        ...slot,
        attempts: slot.attempts.map((attempt) => ({
          ...attempt,
          state: 'sent' as const,
          raw: '0x01' as const,
          sentAtBlock: block,
        })),
      }))
      workflow = { ...workflow, slots }
    }
    expect(workflow.slots[0]?.attempts.length).toBeGreaterThan(2)
    expect(nativeAtMostWei(workflow.slots)).toBeLessThanOrEqual(gasWeiMax)
  })

  it('offer no more than the share of what the workflow brings that the guard lets gas cost', () => {
    const { clearance, ...rest } = inFlight(sent())
    if (clearance === undefined) throw new TypeError('it is cleared')
    const offered = (gasWeiMax: bigint) =>
      order(
        { ...rest, clearance: { ...clearance, gasWeiMax } },
        { headNumber: 13n, baseFeePerGasWei: 9_000_000_000n },
      ).slots[0]?.attempts.at(-1)?.maxFeePerGasWei
    // Of its limit of 100,000 gas 80,000 are used.
    const gas = 80_000n
    expect(offered(4_000_000_000n * gas)).toBe(4_000_000_000n)
    expect(offered(5_000_000_000n * gas)).toBe(5_000_000_000n)
  })

  it('give a no-op the gas that this chain asks for it', () => {
    const closed = order(inFlight(sent()), { headTimestampS: 30 }, { noopGas: 90_000n })
    const noop = closed.slots[0]?.attempts[1]
    expect(noop?.noopGas).toBe(90_000n)
    expect(parseTransaction(noop?.unsigned ?? '0x').gas).toBe(90_000n)
  })

  describe('of what an urgent payload waits behind', () => {
    const urgent = [
      { nonce: 9, fees: { maxFeePerGasWei: 9_000_000_000n, maxPriorityFeePerGasWei: 2_000_000_000n } },
    ]
    // A block would take all of its tip from the one, and half as much from the other.
    const dear = { baseFeePerGasWei: 1_000_000_000n }

    it('come at once, in the middle of the queue too, and offer what the urgent one offers', () => {
      const behind = sent({ nonce: 8 })
      const [slot] = order(inFlight(behind), dear, { urgent }).slots
      expect(slot?.attempts.at(-1)).toMatchObject({ purpose: 'payload', ...urgent[0]?.fees })
      // Once: what offers as much is in nobody's way.
      const raised = { ...slot?.attempts.at(-1), ...sentAttempt, ...urgent[0]?.fees }
      const after = inFlight(sent({ nonce: 8, attempts: [sentAttempt, raised] }))
      expect(order(after, dear, { urgent })).toBe(after)
    })

    it('stay within their own cap, and are none where that is no better', () => {
      const gasWeiMax = 3_500_000_000n * 100_000n
      const capped = order(inFlight(sent()), dear, { urgent, gasWeiMax })
      expect(capped.slots[0]?.attempts.at(-1)?.maxFeePerGasWei).toBe(3_500_000_000n)
      const poor = inFlight(sent())
      expect(order(poor, dear, { urgent, gasWeiMax: 2_000_000_000n * 100_000n })).toBe(poor)
    })

    it('are none for what comes after it, for what landed, and for what is not public', () => {
      for (const workflow of [inFlight(sent({ nonce: 10 })), inFlight(slotOf({ nonce: 8 }))])
        expect(order(workflow, dear, { urgent })).toBe(workflow)
      const landed = inFlight(sent({ nonce: 8 }))
      expect(order(landed, { ...dear, chainNonce: 9 }, { urgent })).toBe(landed)
    })
  })
})

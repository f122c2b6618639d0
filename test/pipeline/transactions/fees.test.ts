import { describe, expect, it } from 'vitest'
import { bumpFees, feePolicy, quoteFees } from '../../../src/pipeline/transactions/fees.ts'

const text = {
  maxFeePerGasWei: '1000',
  priorityFeePerGasWei: '10',
  baseFeeBps: '20000',
  bumpBps: '1000',
  bumpAfterBlocks: '3',
}
const policy = feePolicy.parse(text)
const fees = (maxFeePerGasWei: bigint, maxPriorityFeePerGasWei: bigint) => ({
  maxFeePerGasWei,
  maxPriorityFeePerGasWei,
})

describe('a fee policy', () => {
  it('takes each limit and refuses one past it', () => {
    const at = { ...text, priorityFeePerGasWei: '1000', bumpBps: '1000', baseFeeBps: '10000' }
    expect(feePolicy.safeParse(at).success).toBe(true)
    for (const past of [{ priorityFeePerGasWei: '1001' }, { bumpBps: '999' }, { baseFeeBps: '9999' }])
      expect([past, feePolicy.safeParse({ ...at, ...past }).success]).toEqual([past, false])
  })

  it('takes digits alone, and knows every member', () => {
    for (const wrong of ['0x10', '1e3', '-1', '1.5', '', 1000, `1${'0'.repeat(30)}`])
      expect(feePolicy.safeParse({ ...text, maxFeePerGasWei: wrong }).success).toBe(false)
    expect(feePolicy.safeParse({ ...text, tipWei: '1' }).success).toBe(false)
  })
})

describe('the first offer', () => {
  it('covers twice the base fee and the tip', () => {
    expect(quoteFees(100n, policy)).toEqual({ ok: true, fees: fees(210n, 10n) })
  })

  it('is capped, at the base fee itself too, and refused one wei above', () => {
    expect(quoteFees(495n, policy)).toEqual({ ok: true, fees: fees(1_000n, 10n) })
    expect(quoteFees(496n, policy)).toEqual({ ok: true, fees: fees(1_000n, 10n) })
    expect(quoteFees(1_000n, policy)).toEqual({ ok: true, fees: fees(1_000n, 10n) })
    expect(quoteFees(1_001n, policy)).toMatchObject({ ok: false, check: 'fee_cap_below_base_fee' })
  })
})

describe('a replacement', () => {
  it('raises both fees by the policy’s step, rounded up', () => {
    expect(bumpFees(fees(210n, 10n), 0n, policy)).toEqual(fees(231n, 11n))
    expect(bumpFees(fees(211n, 11n), 0n, policy)).toEqual(fees(233n, 13n))
  })

  it('follows a base fee that rose further than the step', () => {
    expect(bumpFees(fees(210n, 10n), 200n, policy)).toEqual(fees(410n, 11n))
  })

  it('takes the last room below the cap, and none where the step does not fit', () => {
    expect(bumpFees(fees(909n, 10n), 900n, policy)).toEqual(fees(1_000n, 11n))
    expect(bumpFees(fees(910n, 10n), 900n, policy)).toBeNull()
  })

  it('never tips more than the whole fee', () => {
    expect(bumpFees(fees(10n, 10n), 0n, policy)).toEqual(fees(11n, 11n))
    const tight = { ...policy, maxFeePerGasWei: 11n }
    expect(bumpFees(fees(10n, 11n), 0n, tight)).toBeNull()
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bumpFees,
  feePolicy,
  firstOffer,
  payloadCapWei,
  quoteFees,
} from '../../../src/pipeline/transactions/fees.ts'
import { proposalOf } from '../../support/workflows.ts'

const text = {
  maxFeePerGas: '1,000 wei',
  priorityFeePerGas: '10 wei',
  priorityFeePerGasMax: '30 wei',
  gainShare: '50 %',
  nativePrice: '2,000 USD',
  baseFee: '200 %',
  bump: '10 %',
  bumpAfter: '3 blocks',
}
const policy = feePolicy.parse(text)
const fees = (maxFeePerGasWei: bigint, maxPriorityFeePerGasWei: bigint) => ({
  maxFeePerGasWei,
  maxPriorityFeePerGasWei,
})

describe('a fee policy', () => {
  it('takes each limit and refuses one past it', () => {
    const at = {
      ...text,
      priorityFeePerGas: '1,000 wei',
      priorityFeePerGasMax: '1,000 wei',
      bump: '10 %',
      baseFee: '100 %',
      gainShare: '100 %',
    }
    expect(feePolicy.safeParse(at).success).toBe(true)
    for (const past of [
      { priorityFeePerGas: '1,001 wei' },
      { priorityFeePerGasMax: '1,001 wei' },
      { bump: '9.99 %' },
      { baseFee: '99.99 %' },
      { gainShare: '100.01 %' },
      { nativePrice: '0 USD' },
    ])
      expect([past, feePolicy.safeParse({ ...at, ...past }).success]).toEqual([past, false])
  })

  it('takes amounts with their unit alone, and knows every member', () => {
    for (const wrong of [
      '0x10 wei',
      '1e3 wei',
      '-1 wei',
      '1.5 wei',
      '',
      '1000',
      1000,
      `1${'0'.repeat(30)} wei`,
    ])
      expect(feePolicy.safeParse({ ...text, maxFeePerGas: wrong }).success).toBe(false)
    expect(feePolicy.safeParse({ ...text, tip: '1 wei' }).success).toBe(false)
  })
})

describe('the first offer', () => {
  it('covers twice the base fee and the tip', () => {
    expect(quoteFees(100n, policy)).toEqual({ ok: true, fees: fees(210n, 10n) })
  })

  it('tips what others tip, within the policy’s least and most', () => {
    const tipOf = (tipWei: bigint | null) => quoteFees(100n, policy, { tipWei })
    expect(tipOf(null)).toEqual({ ok: true, fees: fees(210n, 10n) })
    expect(tipOf(9n)).toEqual({ ok: true, fees: fees(210n, 10n) })
    expect(tipOf(20n)).toEqual({ ok: true, fees: fees(220n, 20n) })
    expect(tipOf(31n)).toEqual({ ok: true, fees: fees(230n, 30n) })
  })

  it('tips what the workflow gives to be first, as far as the cap goes', () => {
    const tipOf = (ownTipWei: bigint, capWei?: bigint) =>
      quoteFees(100n, policy, { tipWei: 20n, ownTipWei, ...(capWei === undefined ? {} : { capWei }) })
    expect(tipOf(19n)).toEqual({ ok: true, fees: fees(220n, 20n) })
    expect(tipOf(500n)).toEqual({ ok: true, fees: fees(700n, 500n) })
    expect(tipOf(500n, 300n)).toEqual({ ok: true, fees: fees(300n, 300n) })
    expect(bumpFees(fees(100n, 10n), 100n, policy, { ownTipWei: 500n })).toEqual(fees(700n, 500n))
  })

  it('stays so far below the cap that a no-op can replace it, and is refused one wei above', () => {
    expect(quoteFees(450n, policy)).toEqual({ ok: true, fees: fees(909n, 10n) })
    expect(quoteFees(909n, policy)).toEqual({ ok: true, fees: fees(909n, 10n) })
    expect(quoteFees(910n, policy)).toMatchObject({ ok: false, check: 'fee_cap_below_base_fee' })
    const last = fees(909n, 10n)
    expect(bumpFees(last, 909n, policy)).toBeNull()
    expect(bumpFees(last, 909n, policy, { capWei: policy.maxFeePerGasWei })).toEqual(fees(1_000n, 11n))
  })

  it('leaves room for its no-op whatever the cap and the step', () => {
    const wei = fc.bigInt({ min: 1_000n, max: 10n ** 15n })
    fc.assert(
      fc.property(wei, wei, fc.bigInt({ min: 1_000n, max: 90_000n }), (maxFeePerGasWei, base, bumpBps) => {
        const drawn = { ...policy, maxFeePerGasWei, bumpBps }
        const quoted = quoteFees(base, drawn)
        if (!quoted.ok) return
        expect(bumpFees(quoted.fees, base, drawn, { capWei: maxFeePerGasWei })).not.toBeNull()
      }),
    )
  })
})

describe('the cap of a payload', () => {
  const gwei = 10n ** 9n
  const dear = { ...policy, maxFeePerGasWei: 337_500_000_000n, bumpBps: 1_250n, gainShareBps: 9_000n }
  const gas = { used: 500_000n, limit: 1_000_000n, weiMax: 10n ** 18n }

  it('is the policy’s less the room of a no-op, where nothing is gained', () => {
    expect(payloadCapWei(dear, {}, gas)).toBe(300n * gwei)
    expect(payloadCapWei(dear, {}, { used: 0n, limit: 0n, weiMax: 0n })).toBe(300n * gwei)
  })

  it('does not stop a liquidation of $6,500 at 31 gwei, nor settle a claim of $3 for $13.86', () => {
    expect(payloadCapWei(dear, { worthUsdMicros: 6_500_000_000n }, gas)).toBe(300n * gwei)
    const settlement = { used: 120_000n, limit: 154_000n, weiMax: 10n ** 18n }
    const capWei = payloadCapWei(dear, { worthUsdMicros: 3_000_000n }, settlement)
    const costUsdMicros = (capWei * settlement.used * dear.nativePriceUsdMicros) / 10n ** 18n
    expect(costUsdMicros).toBeLessThanOrEqual(2_700_000n)
    expect(costUsdMicros).toBeGreaterThan(2_690_000n)
    expect(payloadCapWei(dear, { worthUsdMicros: -1n }, gas)).toBe(0n)
  })

  it('keeps what the gas may cost within the guard’s sum of what it brings, whatever its agent says', () => {
    const most = { ...gas, shareWeiMax: 10_000_000n * gwei + 499_999n }
    expect(payloadCapWei(dear, { worthUsdMicros: 10n ** 15n }, most)).toBe(20n * gwei)
  })

  it('is less by what the bytes cost beside gas, of which twice the price is within the limit', () => {
    const dataFeeWei = 1_000_000n * gwei
    const within = { ...gas, weiMax: 22_000_000n * gwei }
    expect(payloadCapWei(dear, {}, { ...within, dataFeeWei })).toBe(20n * gwei)
    const shared = { ...gas, shareWeiMax: 11_000_000n * gwei }
    expect(payloadCapWei(dear, {}, { ...shared, dataFeeWei })).toBe(20n * gwei)
    // Of $10 nine may be gas, at the policy's price of the coin.
    const worth = { worthUsdMicros: 10_000_000n }
    const spent = (bytesWei: bigint) =>
      payloadCapWei(dear, worth, { ...gas, dataFeeWei: bytesWei }) * gas.used
    expect(spent(0n) - spent(dataFeeWei)).toBe(dataFeeWei)
    expect(spent(10n ** 18n)).toBe(0n)
  })

  it('says so where the bytes leave nothing for gas', () => {
    const offer = (dataFeeWei: bigint) =>
      firstOffer({ proposal: proposalOf() }, 1n, dear, { ...gas, dataFeeWei }, null)
    expect(offer(0n)).toMatchObject({ ok: true })
    expect(offer(10n ** 18n)).toMatchObject({
      check: 'fee_cap_below_base_fee',
      message: expect.stringMatching(/ Its bytes cost 1 ETH beside gas, which is taken off first\.$/),
    })
  })

  it('keeps what the gas may cost within the limit of a workflow, to the wei', () => {
    expect(payloadCapWei(dear, {}, { ...gas, weiMax: 20_000_000n * gwei + 999_999n })).toBe(20n * gwei)
  })
})

describe('a replacement', () => {
  it('raises both fees by the policy’s step, rounded up', () => {
    expect(bumpFees(fees(210n, 10n), 0n, policy)).toEqual(fees(231n, 11n))
    expect(bumpFees(fees(211n, 11n), 0n, policy)).toEqual(fees(233n, 13n))
  })

  it('follows a base fee and tips that rose further than the step', () => {
    expect(bumpFees(fees(210n, 10n), 200n, policy)).toEqual(fees(410n, 11n))
    expect(bumpFees(fees(210n, 10n), 200n, policy, { tipWei: 25n })).toEqual(fees(425n, 25n))
  })

  it('takes the last room below the cap, and none where the step does not fit', () => {
    expect(bumpFees(fees(826n, 10n), 900n, policy)).toEqual(fees(909n, 11n))
    expect(bumpFees(fees(827n, 10n), 900n, policy)).toBeNull()
  })

  it('never tips more than the whole fee', () => {
    expect(bumpFees(fees(10n, 10n), 0n, policy)).toEqual(fees(11n, 11n))
    expect(bumpFees(fees(10n, 11n), 0n, policy, { capWei: 11n })).toBeNull()
  })
})

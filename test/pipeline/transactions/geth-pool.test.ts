import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  bumpFees,
  type FeePolicy,
  type Fees,
  feePolicy,
  quoteFees,
} from '../../../src/pipeline/transactions/fees.ts'

/** A tip of 0 is none. Source: go-ethereum, --txpool.pricelimit. */
const TIP_MIN = 1n

/** Whether a pool takes what is offered for a nonce, where another offer for it is there. Source: go-ethereum, core/txpool. */
function takes(offer: Fees, there: Fees | null): boolean {
  const { maxFeePerGasWei: fee, maxPriorityFeePerGasWei: tip } = offer
  if (tip < TIP_MIN || tip > fee) return false
  if (there === null) return true
  const raised = (wei: bigint) => (wei * 110n) / 100n
  return (
    fee > there.maxFeePerGasWei &&
    tip > there.maxPriorityFeePerGasWei &&
    fee >= raised(there.maxFeePerGasWei) &&
    tip >= raised(there.maxPriorityFeePerGasWei)
  )
}

/** From nothing to the largest that a policy may state, small ones as often as large ones. */
const wei = (least: bigint) =>
  fc
    .integer({ min: 0, max: 29 })
    .chain((digits) => fc.bigInt({ min: least, max: least + 10n ** BigInt(digits) }))

const TEXT = {
  maxFeePerGas: '1,000 wei',
  priorityFeePerGas: '1 wei',
  priorityFeePerGasMax: '1 wei',
  gainShare: '100 %',
  nativePrice: '2,000 USD',
  baseFee: '100 %',
  bump: '10 %',
  bumpAfter: '1 blocks',
}
const percent = (bps: number) => `${Math.floor(bps / 100)}.${String(bps % 100).padStart(2, '0')} %`
const grouped = (value: bigint) => `${value.toLocaleString('en-US')} wei`

/** Any policy that loads. */
const policies = fc
  .record({
    maxFee: wei(0n),
    tip: wei(0n),
    tipMax: wei(0n),
    bump: fc.oneof(fc.integer({ min: 1_000, max: 1_010 }), fc.integer({ min: 1_000, max: 999_999 })),
    base: fc.integer({ min: 10_000, max: 999_999 }),
  })
  .map(({ maxFee, tip, tipMax, bump, base }) =>
    feePolicy.safeParse({
      ...TEXT,
      maxFeePerGas: grouped(maxFee),
      priorityFeePerGas: grouped(tip),
      priorityFeePerGasMax: grouped(tipMax),
      bump: percent(bump),
      baseFee: percent(base),
    }),
  )
  .filter(({ success }) => success)
  .map(({ data }) => data as FeePolicy)

/** What a block asks for, what others tip in it, and what the workflow itself gives. */
const blocks = fc.array(
  fc.record({
    baseFeeWei: wei(0n),
    tipWei: fc.option(wei(0n)),
    ownTipWei: fc.option(wei(0n), { nil: undefined }),
    capWei: fc.option(wei(0n), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 12 },
)

it('offers nothing that a pool would refuse, from the first offer to the no-op, whatever the policy and the blocks', () => {
  let closed = 0
  fc.assert(
    fc.property(policies, blocks, (policy, [first, ...rest]) => {
      if (first === undefined) return
      const room = quoteFees(0n, policy)
      /** A workflow's own cap is never above the policy's. */
      const capped = ({ capWei, ...terms }: typeof first) => ({
        ...terms,
        ...(capWei === undefined || !room.ok
          ? {}
          : { capWei: capWei < payloadRoom(policy) ? capWei : payloadRoom(policy) }),
      })
      const quoted = quoteFees(first.baseFeeWei, policy, capped(first))
      if (!quoted.ok) return
      let there: Fees = quoted.fees
      expect(takes(there, null)).toBe(true)
      for (const block of rest) {
        const raised = bumpFees(there, block.baseFeeWei, policy, capped(block))
        if (raised === null) continue
        expect(takes(raised, there)).toBe(true)
        there = raised
      }
      // The nonce is closed by an offer that may take all of the policy.
      const noop = bumpFees(there, first.baseFeeWei, policy, { capWei: policy.maxFeePerGasWei })
      expect(noop !== null && takes(noop, there)).toBe(true)
      closed += 1
    }),
    { numRuns: 1_000 },
  )
  expect(closed).toBeGreaterThan(300)
})

const payloadRoom = ({ maxFeePerGasWei, bumpBps }: FeePolicy) =>
  (maxFeePerGasWei * 10_000n) / (10_000n + bumpBps)

it.each([
  ['no tip', { priorityFeePerGas: '0 wei' }],
  ['a cap below which no no-op fits', { maxFeePerGas: '1 wei' }],
])('refuses to load a policy with %s', (_, changes) => {
  expect(feePolicy.safeParse(TEXT).success).toBe(true)
  expect(feePolicy.safeParse({ ...TEXT, ...changes }).success).toBe(false)
})

it('offers nothing where the cap is nothing, also on a chain without a base fee', () => {
  const policy = feePolicy.parse(TEXT)
  expect(quoteFees(0n, policy, { capWei: 0n })).toMatchObject({ ok: false, check: 'fee_cap_below_base_fee' })
  expect(quoteFees(0n, policy, { capWei: 1n })).toEqual({
    ok: true,
    fees: { maxFeePerGasWei: 1n, maxPriorityFeePerGasWei: 1n },
  })
})

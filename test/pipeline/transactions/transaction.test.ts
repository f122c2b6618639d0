import { keccak256, parseTransaction } from 'viem'
import { privateKeyToAccount, sign } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { BrokenInvariant } from '../../../src/errors.ts'
import { NOOP_GAS, nativeAtMostWei, payloadOf } from '../../../src/pipeline/transactions/reservation.ts'
import {
  assembleRaw,
  orderAttempt,
  proveOrdered,
  revocationPayload,
} from '../../../src/pipeline/transactions/transaction.ts'
import type { Attempt, Payload } from '../../../src/workflow/slot.ts'
import { slotOf } from '../../support/workflows.ts'

const KEY = `0x${'42'.repeat(32)}` as const
const account = privateKeyToAccount(KEY)
const FEES = { maxFeePerGasWei: 20n, maxPriorityFeePerGasWei: 10n }
const slot = slotOf({
  signer: account.address,
  payload: { to: `0x${'a1'.repeat(20)}`, data: '0x1234', valueWei: 3n, gasLimit: 100_000n },
})
const signed = async ({ digest }: Attempt, privateKey: `0x${string}` = KEY) => {
  const { r, s, yParity } = await sign({ hash: digest, privateKey })
  return { r, s, yParity: yParity === 1 ? 1 : 0 } as const
}

describe('the native coin at risk', () => {
  it('is the gas of the dearest attempt, with what it sends', () => {
    const attempts = [orderAttempt(slot, 'payload', FEES, 5), orderAttempt(slot, 'noop', FEES, 5)]
    expect(nativeAtMostWei([{ ...slot, attempts }])).toBe(100_000n * 20n + 3n)
    expect(nativeAtMostWei([{ ...slot, attempts: attempts.slice(1) }])).toBe(NOOP_GAS * 20n)
    // And twice what its bytes cost when it was judged.
    const predicted = { ...slot.predicted, dataFeeWei: 7n }
    expect(nativeAtMostWei([{ ...slot, predicted, attempts }])).toBe(100_000n * 20n + 3n + 14n)
  })
})

describe('an order', () => {
  it('is the digest of its own unsigned bytes, and the same each time', () => {
    const attempt = orderAttempt(slot, 'payload', FEES, 5)
    expect(attempt).toMatchObject({ ...FEES, state: 'ordered', purpose: 'payload', orderedAtMs: 5 })
    expect(attempt.digest).toBe(keccak256(attempt.unsigned))
    expect(orderAttempt(slot, 'payload', FEES, 6).digest).toBe(attempt.digest)
  })

  it('differs in every field that is signed', () => {
    const digests = [
      orderAttempt(slot, 'payload', FEES, 5),
      orderAttempt(slot, 'noop', FEES, 5),
      orderAttempt({ ...slot, nonce: 8 }, 'payload', FEES, 5),
      orderAttempt({ ...slot, chainId: 1 }, 'payload', FEES, 5),
      orderAttempt(slot, 'payload', { ...FEES, maxFeePerGasWei: 21n }, 5),
      orderAttempt({ ...slot, payload: { ...slot.payload, data: '0x1235' } }, 'payload', FEES, 5),
    ].map(({ digest }) => digest)
    expect(new Set(digests).size).toBe(digests.length)
  })

  it('of a revocation takes an approval back, and does and burns nothing more', () => {
    const takesBack = revocationPayload({
      token: `0x${'a2'.repeat(20)}`,
      spender: account.address,
      assets: 1n,
    })
    const prove = (changes: Partial<Payload>) => {
      const revoking = { ...slot, kind: 'revoke', payload: { ...takesBack, ...changes } } as const
      proveOrdered(revoking, orderAttempt(revoking, 'payload', FEES, 5))
    }
    prove({})
    const { data, gasLimit } = takesBack
    const forged = [{ valueWei: 1n }, { gasLimit: gasLimit + 1n }, { data: `${data.slice(0, -1)}1` as const }]
    for (const changes of forged) expect(() => prove(changes as Partial<Payload>)).toThrow(BrokenInvariant)
  })

  it('of a no-op is an empty transfer to ourselves', () => {
    expect(payloadOf(slot, { purpose: 'noop' })).toEqual({
      to: account.address,
      data: '0x',
      valueWei: 0n,
      gasLimit: NOOP_GAS,
    })
    expect(payloadOf(slot, { purpose: 'payload' })).toBe(slot.payload)
  })
})

describe('the raw bytes', () => {
  it('are what was ordered, signed, for payload and no-op', async () => {
    for (const purpose of ['payload', 'noop'] as const) {
      const attempt = orderAttempt(slot, purpose, FEES, 5)
      const { raw, hash } = await assembleRaw(slot, attempt, await signed(attempt))
      expect(hash).toBe(keccak256(raw))
      expect(parseTransaction(raw)).toMatchObject({
        type: 'eip1559',
        chainId: 31_337,
        nonce: 7,
        to: payloadOf(slot, { purpose }).to?.toLowerCase(),
        gas: payloadOf(slot, { purpose }).gasLimit,
        maxFeePerGas: 20n,
        maxPriorityFeePerGas: 10n,
      })
    }
  })

  it('of a creation have no recipient, and its no-op has', async () => {
    const creation = { ...slot, payload: { ...slot.payload, to: null } }
    const recipients = await Promise.all(
      (['payload', 'noop'] as const).map(async (purpose) => {
        const attempt = orderAttempt(creation, purpose, FEES, 5)
        return parseTransaction((await assembleRaw(creation, attempt, await signed(attempt))).raw).to
      }),
    )
    expect(recipients).toEqual([undefined, account.address.toLowerCase()])
  })

  it('are refused when the signature is another key’s, or of another digest', async () => {
    const attempt = orderAttempt(slot, 'payload', FEES, 5)
    const foreign = await signed(attempt, `0x${'43'.repeat(32)}`)
    await expect(assembleRaw(slot, attempt, foreign)).rejects.toThrow(BrokenInvariant)
    const other = await signed(orderAttempt(slot, 'noop', FEES, 5))
    await expect(assembleRaw(slot, attempt, other)).rejects.toThrow(/not the signer's/)
  })

  it('are refused when the slot or the attempt is not what was ordered', async () => {
    const attempt = orderAttempt(slot, 'payload', FEES, 5)
    const signature = await signed(attempt)
    const changed = { ...slot, payload: { ...slot.payload, valueWei: 4n } }
    await expect(assembleRaw(changed, attempt, signature)).rejects.toThrow(/not what was ordered/)
    await expect(assembleRaw(slot, { ...attempt, maxFeePerGasWei: 21n }, signature)).rejects.toThrow(
      /not what was ordered/,
    )
  })
})

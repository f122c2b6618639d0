import { Worker } from 'node:worker_threads'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToHex, type Hex, hexToBigInt, hexToBytes, keccak256, numberToHex, recoverAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount, publicKeyToAddress } from 'viem/accounts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { signAsKms } from '../../sandbox/kms/keys.ts'
import { parseSignature } from '../../src/sign/der.ts'
import { recoverAddress as addressOf, isSignedBy, recoverable } from '../../src/sign/signature.ts'

const N = secp256k1.Point.CURVE().n
const HALF = N / 2n
const privateKey = `0x${'17'.repeat(32)}` as const
const { address } = privateKeyToAccount(privateKey)

function sign(digest: Hex, key: Hex = privateKey): { r: bigint; s: bigint } {
  const options = { prehash: false, lowS: false, format: 'compact' } as const
  const bytes = secp256k1.sign(hexToBytes(digest), hexToBytes(key), options)
  return secp256k1.Signature.fromBytes(bytes, 'compact')
}

const rs = (digest: Hex): [bigint, bigint] => {
  const { r, s } = sign(digest)
  return [r, s]
}

/** The first digest of a fixed sequence whose signature is as asked. */
function findDigest(accept: (signature: { r: bigint; s: bigint }) => boolean): Hex {
  for (let seed = 0; ; seed += 1) {
    const digest = keccak256(numberToHex(seed, { size: 32 }))
    if (accept(sign(digest))) return digest
  }
}

describe('a signature', () => {
  it('becomes low-s from either half, and stays the same signature', async () => {
    const digest = keccak256('0x01')
    const { r, s } = sign(digest)
    const low = await recoverable(digest, r, s, address)
    expect(await recoverable(digest, r, N - s, address)).toEqual(low)
    expect(hexToBigInt(low.s)).toBeLessThanOrEqual(HALF)
    expect(await recoverAddress({ hash: digest, signature: low })).toBe(address)
  })

  it('keeps s at half the order and flips it one past', async () => {
    // With s fixed, the key that signed is the one that the digest recovers to.
    const digest = keccak256('0x02')
    const { r } = sign(digest)
    const key = new secp256k1.Signature(r, HALF, 0).recoverPublicKey(hexToBytes(digest))
    const signer = publicKeyToAddress(bytesToHex(key.toBytes(false)))
    expect(await recoverable(digest, r, HALF, signer)).toMatchObject({ s: numberToHex(HALF), yParity: 0 })
    expect(await recoverable(digest, r, HALF + 1n, signer)).toMatchObject({
      s: numberToHex(HALF),
      yParity: 0,
    })
  })

  it.each([
    ['r', ({ r }: { r: bigint }) => r < 1n << 248n],
    ['s', ({ s }: { s: bigint }) => s < 1n << 248n],
  ] as const)('keeps 32 bytes where %s begins with a zero byte', async (name, accept) => {
    const digest = findDigest(accept)
    const { r, s } = sign(digest)
    const signature = await recoverable(digest, r, s, address)
    expect(signature[name]).toMatch(/^0x00[0-9a-f]{62}$/)
    expect(await recoverAddress({ hash: digest, signature })).toBe(address)
  })

  it('of the KMS is low-s with 32 bytes each after 1,600 digests, half of them forced high', async () => {
    for (let index = 0; index < 1_600; index += 1) {
      const digest = keccak256(numberToHex(index))
      const der = signAsKms(
        hexToBytes(digest),
        hexToBytes(privateKey),
        index % 2 === 0 ? 'high' : 'as-it-falls',
      )
      const { r, s } = parseSignature(der)
      const signature = await recoverable(digest, r, s, address)
      expect(hexToBigInt(signature.s)).toBeLessThanOrEqual(HALF)
      expect([signature.r.length, signature.s.length]).toEqual([66, 66])
    }
  })

  it('of another digest is refused', async () => {
    const { r, s } = sign(keccak256('0x03'))
    await expect(recoverable(keccak256('0x04'), r, s, address)).rejects.toThrow(
      expect.objectContaining({ code: 'kms.wrong_key', retry: 'never' }),
    )
  })

  it('whose r is no point of the curve is refused', async () => {
    const { s } = sign(keccak256('0x05'))
    // 5^3 + 7 = 132 has no square root modulo p.
    await expect(recoverable(keccak256('0x05'), 5n, s, address)).rejects.toThrow(
      expect.objectContaining({ code: 'kms.wrong_key' }),
    )
  })

  it('names who signed, where anyone can have', () => {
    const digest = keccak256('0x05')
    const { r, s } = sign(digest)
    const signers = [0, 1].map((yParity) => addressOf(hexToBytes(digest), r, s, yParity))
    expect(signers).toContain(address)
    expect(new Set(signers).size).toBe(2)
    expect(addressOf(hexToBytes(digest), 5n, s, 0)).toBeUndefined()
  })

  it('of anything but 32 bytes is a broken invariant', async () => {
    await expect(recoverable('0x00', 1n, 1n, address)).rejects.toThrow('a digest is 32 bytes, not 1')
  })

  it('is proven for its own digest, parity and address alone, by a key that was seen before or not', async () => {
    const other = privateKeyToAccount(`0x${'18'.repeat(32)}`).address
    for (let index = 0; index < 8; index += 1) {
      const digest = keccak256(numberToHex(9_000 + index))
      const signature = await recoverable(digest, ...rs(digest), address)
      const [r, s] = [hexToBigInt(signature.r), hexToBigInt(signature.s)]
      const { yParity } = signature
      const bytes = hexToBytes(digest)
      expect(isSignedBy(bytes, r, s, yParity, address)).toBe(true)
      expect(isSignedBy(bytes, r, N - s, 1 - yParity, address)).toBe(true)
      for (const forged of [
        isSignedBy(bytes, r, s, 1 - yParity, address),
        isSignedBy(bytes, r, s, yParity, other),
        isSignedBy(hexToBytes(keccak256(digest)), r, s, yParity, address),
        isSignedBy(bytes, r + 1n, s, yParity, address),
        isSignedBy(bytes, r, s - 1n, yParity, address),
        isSignedBy(bytes, 0n, s, yParity, address),
        isSignedBy(bytes, r, 0n, yParity, address),
        isSignedBy(bytes, r, N, yParity, address),
      ]) {
        expect(forged).toBe(false)
      }
    }
  })
})

describe('what a signature costs', () => {
  afterEach(() => void vi.restoreAllMocks())
  /** What signs another digest with a key each time. */
  const sequenceOf = (key: Hex) => {
    const { address: own } = privateKeyToAccount(key)
    return async () => {
      const digest = keccak256(generatePrivateKey())
      const { r, s } = sign(digest, key)
      const signed = await recoverable(digest, r, s, own)
      return {
        digest: hexToBytes(digest),
        r,
        s: hexToBigInt(signed.s),
        yParity: signed.yParity,
        address: own,
      }
    }
  }

  it('is a check here for the first five of a key, and one in the thread from then on', async () => {
    const asked = vi.spyOn(Worker.prototype, 'postMessage')
    const signNext = sequenceOf(generatePrivateKey())
    const threadHas: number[] = []
    for (let count = 1; count <= 7; count += 1) {
      const { digest, r, s, yParity, address: of } = await signNext()
      // What was proven a moment ago is not checked again, and so does not count.
      const capitals = `0x${of.slice(2).toUpperCase()}` as const
      for (const at of [of, capitals]) expect(isSignedBy(digest, r, s, yParity, at)).toBe(true)
      threadHas.push(asked.mock.calls.length)
    }
    expect(threadHas).toEqual([0, 0, 0, 0, 0, 1, 2])
  })

  /** Sign until what is remembered was forgotten. @returns how often that took; 200 where it never is. */
  const countUntil = async (
    forgotten: { readonly mock: { readonly calls: unknown[] } },
    signNext: () => unknown,
  ) => {
    const before = forgotten.mock.calls.length
    let count = 0
    for (; forgotten.mock.calls.length === before && count < 200; count += 1) await signNext()
    return count
  }

  it('is remembered of the last 64 signatures', async () => {
    const signatures = vi.spyOn(Set.prototype, 'clear')
    const signNext = sequenceOf(generatePrivateKey())
    await countUntil(signatures, signNext)
    expect(await countUntil(signatures, signNext)).toBe(64)
  })

  it('is remembered of the last 64 keys', async () => {
    const keys = vi.spyOn(Map.prototype, 'clear')
    const { r } = sign(keccak256('0x06'))
    const signByNext = async () => {
      // With r and s fixed, each digest is another key's.
      const digest = keccak256(generatePrivateKey())
      const signer = addressOf(hexToBytes(digest), r, HALF, 0)
      if (signer === undefined) throw new TypeError('somebody signed it')
      await recoverable(digest, r, HALF, signer)
    }
    await countUntil(keys, signByNext)
    expect(await countUntil(keys, signByNext)).toBe(64)
  })
})

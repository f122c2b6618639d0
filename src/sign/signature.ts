import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Address, bytesToHex, type Hex, hexToBytes, numberToHex } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { invariant, RolekeeperError } from '../errors.ts'
import { type Key, parityBy } from './parity.ts'
import { createParityThread } from './parity-thread.ts'
import type { Signature } from './signer.ts'

const ORDER = secp256k1.Point.CURVE().n

/** Turn a digest into its 32 bytes. Pure. Throws BrokenInvariant on any other length: only digests are signed. */
export function digestBytes(digest: Hex): Uint8Array {
  const bytes = hexToBytes(digest)
  invariant(bytes.length === 32, `a digest is 32 bytes, not ${bytes.length}`)
  return bytes
}

/** Recover whose key signed a digest of 32 bytes; undefined where no key can have. Pure. Source: SEC 1 section 4.1.6. */
export function recoverAddress(
  digest: Uint8Array,
  r: bigint,
  s: bigint,
  yParity: number,
): Address | undefined {
  const key = recoverKey(digest, r, s, yParity)
  return key === undefined ? undefined : addressOf(key)
}

function recoverKey(digest: Uint8Array, r: bigint, s: bigint, yParity: number): Key | undefined {
  try {
    const point = new secp256k1.Signature(r, s, yParity).recoverPublicKey(digest)
    return { point, hex: point.toHex(false) }
  } catch {
    // No point of the curve has this r, or the key would be infinity: no one signed this.
    return undefined
  }
}

const addressOf = ({ hex }: Key): Address => publicKeyToAddress(`0x${hex}`)

/** Addresses whose public keys are kept; a keeper signs with far fewer. */
const KEYS_MAX = 64
/** Signatures of a key that signed so often are checked by a thread, which keeps tables of it. */
const THREAD_AFTER = 4
/** Signatures remembered as proven: each is looked at again as soon as it is in its transaction. */
const PROVEN_MAX = 64

/** By address, in lower case: the key that one of its signatures recovered to, and how many more were checked here. */
const keys = new Map<string, Key & { checked: number }>()
const proven = new Set<string>()
const thread = createParityThread()

/** Prove that a digest of 32 bytes was signed by an address: that it recovers to exactly that. */
export function isSignedBy(
  digest: Uint8Array,
  r: bigint,
  s: bigint,
  yParity: number,
  address: Address,
): boolean {
  if (proven.has(nameOf(digest, r, s, yParity, address))) return true
  return parityOf(digest, r, s, address) === yParity
}

const nameOf = (digest: Uint8Array, r: bigint, s: bigint, yParity: number, address: Address) =>
  [bytesToHex(digest), r, s, yParity, address.toLowerCase()].join()

function remember(digest: Uint8Array, r: bigint, s: bigint, yParity: number, address: Address): void {
  if (proven.size >= PROVEN_MAX) proven.clear()
  proven.add(nameOf(digest, r, s, yParity, address))
}

/** Find the parity with which a digest recovers to an address; undefined where its key did not sign. */
function parityOf(digest: Uint8Array, r: bigint, s: bigint, address: Address): 0 | 1 | undefined {
  const name = address.toLowerCase()
  const key = keys.get(name)
  if (key === undefined) return firstParityOf(digest, r, s, name)
  key.checked += 1
  return parityBy(digest, r, s, key.point)
}

/** Find it as {@link parityOf} does; of a key that signs often, beside the event loop. */
async function parityBeside(
  digest: Uint8Array,
  r: bigint,
  s: bigint,
  address: Address,
): Promise<0 | 1 | undefined> {
  const key = keys.get(address.toLowerCase())
  if (key === undefined || key.checked < THREAD_AFTER) return parityOf(digest, r, s, address)
  return thread(digest, r, s, key)
}

function firstParityOf(digest: Uint8Array, r: bigint, s: bigint, name: string): 0 | 1 | undefined {
  for (const yParity of [0, 1] as const) {
    const key = recoverKey(digest, r, s, yParity)
    if (key === undefined || addressOf(key).toLowerCase() !== name) continue
    if (keys.size >= KEYS_MAX) keys.clear()
    keys.set(name, { ...key, checked: 0 })
    return yParity
  }
  return undefined
}

/**
 * Bring (r, s) into the form that the chain accepts and prove whose it is. `r` and `s` are in 1 to n - 1; `s`
 * may be high. Throws `kms.wrong_key` unless the digest recovers to exactly `address`. Source: EIP-2, SEC 1 section
 * 4.1.6; recovery ids 2 and 3 have no place in a transaction and are refused.
 */
export async function recoverable(digest: Hex, r: bigint, s: bigint, address: Address): Promise<Signature> {
  const lowS = s > ORDER / 2n ? ORDER - s : s
  const bytes = digestBytes(digest)
  const yParity = await parityBeside(bytes, r, lowS, address)
  if (yParity !== undefined) {
    remember(bytes, r, lowS, yParity, address)
    return { r: numberToHex(r, { size: 32 }), s: numberToHex(lowS, { size: 32 }), yParity }
  }
  throw new RolekeeperError('kms.wrong_key', `The signature is not by the pinned address ${address}.`, {
    fix: 'stop this signer and check which key answers; nothing was sent with this signature.',
    facts: { address, digest },
  })
}

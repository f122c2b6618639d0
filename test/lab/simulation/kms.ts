import { secp256k1 } from '@noble/curves/secp256k1.js'
import {
  type Address,
  bytesToHex,
  type Hex,
  hexToBigInt,
  hexToBytes,
  keccak256,
  numberToHex,
  serializeTransaction,
} from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { RolekeeperError } from '../../../src/errors.ts'
import type { Signature, Signer } from '../../../src/sign/signer.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'

export const KMS_FAULTS = ['stalls', 'throttles', 'denies', 'loses_replies', 'slow'] as const
type KmsFault = (typeof KMS_FAULTS)[number]
export type KmsWindow = {
  readonly fault: KmsFault
  readonly fromMs: number
  readonly lengthMs: number
  readonly chance: number
}

const KEY = hexToBytes(`0x${'42'.repeat(32)}`)
const SELF = publicKeyToAddress(bytesToHex(secp256k1.getPublicKey(KEY, false)))
/** Who signs in the model, lower case. */
export const SIGNER: Address = `0x${SELF.slice(2).toLowerCase()}`

const TIMEOUT_MS = 2_000

const failed = (code: string, retry: 'later' | 'never') =>
  new RolekeeperError(`kms.${code}`, `The KMS: ${code}.`, { retry })

const ORDER = secp256k1.Point.CURVE().n
const SECRET = hexToBigInt(bytesToHex(KEY))

/** What a signature is made of, but for its digest. To make one from these costs no multiplication of a point. */
type Once = { readonly inverse: bigint; readonly x: bigint; readonly isOdd: boolean }
const onceOf = (each: bigint): Once => {
  const { x, y } = secp256k1.Point.BASE.multiply(each).toAffine()
  return { inverse: secp256k1.Point.Fn.inv(each), x, isOdd: y % 2n === 1n }
}
const ONCES: readonly [Once, ...Once[]] = [onceOf(0x17n), onceOf(0x18n), onceOf(0x19n)]

/** Sign a digest with the model's key. Pure. Source: SEC 1 section 4.1.3, with the low s of EIP-2. */
function signDigest(digest: Hex, { inverse, x, isOdd }: Once): Signature {
  const s = (inverse * (hexToBigInt(digest) + x * SECRET)) % ORDER
  const isHigh = s > ORDER / 2n
  return {
    r: numberToHex(x, { size: 32 }),
    s: numberToHex(isHigh ? ORDER - s : s, { size: 32 }),
    yParity: isOdd !== isHigh ? 1 : 0,
  }
}

/** Whether the model's key gave this signature: to recover whose it is costs a millisecond. Pure. */
export function isSigned(digest: Hex, { r, s }: Pick<Signature, 'r' | 's'>): boolean {
  const once = ONCES.find(({ x }) => x === BigInt(r))
  return once !== undefined && BigInt(signDigest(digest, once).s) === BigInt(s)
}

/** An empty transfer that somebody else with our key signed, dear enough to be mined. Pure. */
export function strangerRaw(chainId: number, nonce: number): Hex {
  const transaction = {
    type: 'eip1559' as const,
    chainId,
    nonce,
    to: SIGNER,
    value: 1n,
    gas: 21_000n,
    maxFeePerGas: 10n ** 12n,
    maxPriorityFeePerGas: 10n ** 9n,
  }
  return serializeTransaction(transaction, signDigest(keccak256(serializeTransaction(transaction)), ONCES[0]))
}

/** One signature that the key gave. */
export type SignatureGiven = { readonly digest: Hex; readonly atMs: number }

/** The KMS of the model, with its own log of what it signed. */
export class ModelKms {
  readonly log: SignatureGiven[] = []
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #startMs: number
  readonly #faults: readonly KmsWindow[]
  readonly #onSign: (digest: Hex, directory: string) => void

  constructor(options: {
    readonly scheduler: Scheduler
    readonly random: Random
    readonly startMs: number
    readonly faults: readonly KmsWindow[]
    /** Called as a digest is signed, with the directory of the process that asked. */
    readonly onSign: (digest: Hex, directory: string) => void
  }) {
    this.#scheduler = options.scheduler
    this.#random = options.random
    this.#startMs = options.startMs
    this.#faults = options.faults
    this.#onSign = options.onSign
  }

  /** Another signature each time, as a KMS gives: what was mined may be of a signature that nobody remembers. */
  #sign(digest: Hex): Signature {
    return signDigest(digest, this.#random.pick(ONCES))
  }

  /** The key as one process asks it. */
  signer(isAlive: Owner, directory: string): Signer {
    return {
      address: SIGNER,
      keyId: 'model',
      signDigest: (digest, signal) =>
        new Promise((resolve, reject) => {
          const later = (ms: number, work: () => void) =>
            this.#scheduler.after(ms, () => (isAlive() ? work() : undefined))
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
          const atMs = this.#scheduler.nowMs() - this.#startMs
          const hit = this.#faults.find(({ fromMs, lengthMs }) => atMs >= fromMs && atMs < fromMs + lengthMs)
          const fault = hit !== undefined && this.#random.chance(hit.chance) ? hit.fault : null
          if (fault === 'stalls') {
            later(TIMEOUT_MS, () => reject(failed('timeout', 'later')))
            return
          }
          if (fault === 'throttles') {
            later(20, () => reject(failed('throttled', 'later')))
            return
          }
          if (fault === 'denies') {
            later(20, () => reject(failed('denied', 'never')))
            return
          }
          this.#scheduler.after(this.#random.int(1, 30), () => {
            this.#onSign(digest, directory)
            this.log.push({ digest, atMs: this.#scheduler.nowMs() })
            if (fault === 'loses_replies') {
              later(TIMEOUT_MS, () => reject(failed('timeout', 'later')))
              return
            }
            const backMs = fault === 'slow' ? this.#random.int(500, 4_000) : this.#random.int(1, 30)
            later(backMs, () => resolve(this.#sign(digest)))
          })
        }),
    }
  }
}

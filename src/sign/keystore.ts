import { createDecipheriv, scrypt, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Address, bytesToHex, isAddressEqual, keccak256 } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { digestBytes, recoverable } from './signature.ts'
import type { Signer } from './signer.ts'
import { isWellKnown } from './well-known.ts'

/** Where a keystore is, its password, and what is pinned of its key. */
type KeystoreSettings = {
  readonly path: string
  readonly password: string
  readonly address: Address
  /** The run configuration's environment: only `sandbox` may keep a key in a file. */
  readonly environment: string
}

const hexOf = (bytes: number) =>
  z
    .string()
    .regex(new RegExp(`^(0x)?[0-9a-fA-F]{${bytes * 2}}$`))
    .transform(toBytes)

const Keystore = z.object({
  version: z.literal(3),
  crypto: z.object({
    cipher: z.literal('aes-128-ctr'),
    ciphertext: hexOf(32),
    cipherparams: z.object({ iv: hexOf(16) }),
    kdf: z.literal('scrypt'),
    kdfparams: z
      .object({
        dklen: z.literal(32),
        n: z.int().min(2),
        r: z.int().min(1).max(16),
        p: z.int().min(1).max(16),
        salt: hexOf(32),
      })
      .refine(({ n, r }) => Number.isInteger(Math.log2(n)) && n < 2 ** (16 * r), 'n is not as RFC 7914 asks')
      // Wallets ask for 256 MiB (n = 2^18, r = 8); a file that asks for more was made to exhaust us.
      .refine(({ n, r }) => 128 * n * r <= 2 ** 28, 'scrypt would need more than 256 MiB'),
    mac: hexOf(32),
  }),
})

const FILE_BYTES_MAX = 16_384
const deriveKey = promisify<string, Uint8Array, number, object, Buffer>(scrypt)

function toBytes(hex: string): Uint8Array {
  return Buffer.from(hex.replace(/^0x/, ''), 'hex')
}

function fail(code: string, path: string, says: string, fix: string): RolekeeperError {
  return new RolekeeperError(`keystore.${code}`, `The keystore ${path} ${says}.`, { fix, facts: { path } })
}

async function readKeystore(path: string): Promise<z.infer<typeof Keystore>['crypto']> {
  const text = await readFile(path, 'utf8').catch(() => {
    throw fail(
      'unreadable',
      path,
      'cannot be read',
      'check that the file exists and that this user may read it.',
    )
  })
  const fix = 'write a Web3 Secret Storage version 3 file (scrypt, aes-128-ctr), as geth and cast do.'
  if (text.length > FILE_BYTES_MAX) throw fail('malformed', path, `is over ${FILE_BYTES_MAX} bytes`, fix)
  const json = z.string().transform((value, context): unknown => {
    try {
      return JSON.parse(value)
    } catch {
      context.addIssue('not JSON')
      return z.NEVER
    }
  })
  const parsed = json.pipe(Keystore).safeParse(text)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw fail(
      'malformed',
      path,
      `is not valid at ${issue?.path.join('.') || 'its root'}: ${issue?.message}`,
      fix,
    )
  }
  return parsed.data.crypto
}

/**
 * Decrypt the private key of a Web3 Secret Storage file. Takes as long as its scrypt costs, a second or so.
 * Throws `keystore.unreadable`, `keystore.malformed` or `keystore.wrong_password`.
 * Source: https://ethereum.org/en/developers/docs/data-structures-and-encoding/web3-secret-storage
 */
async function decrypt(path: string, password: string): Promise<Uint8Array> {
  const { kdfparams, ciphertext, cipherparams, mac } = await readKeystore(path)
  const { n, r, p, salt, dklen } = kdfparams
  // Node caps scrypt at 32 MiB unless asked for more; the schema has bounded what the file may ask for.
  const derived = await deriveKey(password, salt, dklen, { N: n, r, p, maxmem: 2 ** 29 })
  const expected = keccak256(Buffer.concat([derived.subarray(16), ciphertext]), 'bytes')
  if (!timingSafeEqual(expected, mac)) {
    throw fail('wrong_password', path, 'does not open with this password', 'check the password and the file.')
  }
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, 16), cipherparams.iv)
  return Buffer.concat([decipher.update(ciphertext), decipher.final()])
}

/**
 * Open a signer on an encrypted keystore, for the sandbox environment only. Throws `keystore.not_sandbox` before it
 * reads the file, `keystore.well_known` for a development chain's default account, `keystore.wrong_address` when the
 * key is not of the pinned address, and what {@link decrypt} throws. The key stays in memory for the process's life.
 */
export async function createKeystoreSigner(settings: KeystoreSettings): Promise<Signer> {
  const { path, password, address, environment } = settings
  if (environment !== 'sandbox') {
    const says = `may not be used in the environment ${environment}`
    throw fail(
      'not_sandbox',
      path,
      says,
      'sign with a KMS key; a keystore is for `environment: sandbox` only.',
    )
  }
  const key = await decrypt(path, password)
  if (!secp256k1.utils.isValidSecretKey(key)) {
    throw fail('malformed', path, 'holds no secp256k1 key', 'write the keystore again from a fresh key.')
  }
  const found = publicKeyToAddress(bytesToHex(secp256k1.getPublicKey(key, false)))
  if (isWellKnown(found)) {
    throw fail('well_known', path, `holds the public development key of ${found}`, 'create a random key.')
  }
  if (!isAddressEqual(found, address)) {
    throw fail(
      'wrong_address',
      path,
      `has the address ${found}; the settings pin ${address}`,
      'pin the right pair.',
    )
  }
  return {
    address,
    keyId: path,
    signDigest: async (digest, signal) => {
      signal?.throwIfAborted()
      const signed = secp256k1.sign(digestBytes(digest), key, { prehash: false, format: 'compact' })
      const { r, s } = secp256k1.Signature.fromBytes(signed, 'compact')
      return recoverable(digest, r, s, address)
    },
  }
}

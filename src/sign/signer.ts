import type { Address, Hex } from 'viem'

/** A recoverable secp256k1 signature: `r` and `s` are 32 bytes, `s` is in the lower half of the order (EIP-2). */
export type Signature = { readonly r: Hex; readonly s: Hex; readonly yParity: 0 | 1 }

/** The port to a key that signs: a KMS key, or in the sandbox an encrypted keystore. */
export type Signer = {
  readonly address: Address
  /** The key's ARN, or the keystore's path. Safe to log. */
  readonly keyId: string
  /**
   * Sign a 32-byte digest. Asks the key each time: a signature is not deterministic, so one that was not persisted
   * is dead. An abort rejects with the signal's reason and stops retries that have not left yet.
   */
  readonly signDigest: (digest: Hex, signal?: AbortSignal) => Promise<Signature>
}

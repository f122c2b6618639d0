import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'

/** Who says something: the user of a machine, which nobody proves, and where they have a key, their name and signature. */
export type Identity = {
  /** `user@host`. */
  readonly user: string
  readonly name?: string | undefined
  /** 64 bytes of Ed25519, base64. */
  readonly signature?: string | undefined
}

const PUBLIC_KEY = /^ed25519:[A-Za-z0-9+/]{43}=$/
/** Before the 32 bytes of a key. Source: RFC 8410, section 4. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** Whether a text is a person's public key, `ed25519:` and 32 bytes as base64: one key has one text. Pure. */
export const isPublicKey = (text: string): boolean =>
  PUBLIC_KEY.test(text) && `ed25519:${rawKeyOf(text).toString('base64')}` === text

const rawKeyOf = (publicKey: string): Buffer =>
  Buffer.from(publicKey.slice(publicKey.indexOf(':') + 1), 'base64')

/** Make a person's key pair: the public half as a policy names it, the private as PKCS #8 in PEM. */
export function createPersonKey(): { readonly publicKey: string; readonly privatePem: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    publicKey: encode(publicKey),
    privatePem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  }
}

const encode = (key: KeyObject): string => {
  const bytes = key.export({ format: 'der', type: 'spki' }).subarray(SPKI.length)
  return `ed25519:${bytes.toString('base64')}`
}

/** Sign a text with a person's private key, 64 bytes as base64. Throws what node:crypto throws for no such key. */
export const signText = (text: string, privatePem: string): string =>
  sign(null, Buffer.from(text), createPrivateKey(privatePem)).toString('base64')

/** Whether a text was signed by the holder of a public key. Pure. */
export function isSigned(text: string, signature: string, publicKey: string): boolean {
  if (!isPublicKey(publicKey)) return false
  const der = Buffer.concat([SPKI, rawKeyOf(publicKey)])
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'))
}

/** What a person may say of a workflow that waits, and afterwards of their no. */
export type Verdict = 'approve' | 'reject' | 'take_back'

/** The text that an approver signs: for one workflow, one verdict, and exactly what a hash names. Pure. */
export const answerText = (verdict: Verdict, workflowId: string, hash: string): string =>
  ['rolekeeper answer', verdict, workflowId, hash].join('\n')

/** The text that who submits signs: one order, once, by the hash of its content. Pure. */
export const submissionText = (orderId: string, contentHash: string): string =>
  ['rolekeeper submission', orderId, contentHash].join('\n')

/** The text that who approves a looser policy signs: exactly one change, by the hash of both policies. Pure. */
export const looseningText = (hash: string): string => ['rolekeeper loosening', hash].join('\n')

/** The text that who releases a signer signs: for these reasons as they stand, by their hash, and no later ones. Pure. */
export const releaseText = (chainId: number, signer: string, hash: string): string =>
  ['rolekeeper release', chainId, signer.toLowerCase(), hash].join('\n')

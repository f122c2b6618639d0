import { createHash } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { z } from 'zod'
import { type HeldKey, signAsKms } from './keys.ts'
import type { KmsFault } from './sigv4.ts'

/** What can be wrong with the KMS, settable at any time. All off at the start. */
export type KmsFaults = {
  /** Wait before each reply, milliseconds. */
  readonly latencyMs: number
  /** Share of calls, 0 to 1, that are throttled; spread evenly, so 0.5 is every second call. */
  readonly throttleRate: number
  /** Share of calls, 0 to 1, that are done and logged, and then lose their connection instead of being answered. */
  readonly dropRate: number
  /** The identity may do nothing. */
  readonly deny: boolean
  /** Take a call and never answer it. */
  readonly hang: boolean
  readonly keyState: 'Enabled' | 'Disabled' | 'PendingDeletion'
  /** Every `s` is high, not only every second one. */
  readonly highS: boolean
  /** Sign with a key of nobody, under the name of the right one. */
  readonly wrongKey: boolean
  /** Append a byte to every signature. */
  readonly malformedDer: boolean
  /** Answer as the key of this id, whichever is asked for: what a moved alias looks like. */
  readonly resolveTo: string | undefined
}

/** The state before anything is set. */
export const NO_FAULTS: KmsFaults = {
  latencyMs: 0,
  throttleRate: 0,
  dropRate: 0,
  deny: false,
  hang: false,
  keyState: 'Enabled',
  highS: false,
  wrongKey: false,
  malformedDer: false,
  resolveTo: undefined,
}

/** A call's outcome and what its log line names. `digest` is hex without a prefix. */
export type Outcome = { readonly keyId?: string; readonly digest?: string } & (
  | { readonly ok: true; readonly reply: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly fault: KmsFault }
)

const MESSAGE_BYTES_MAX = 4_096
const NOBODY = secp256k1.utils.randomSecretKey()
const SIGNING = { KeyUsage: 'SIGN_VERIFY', SigningAlgorithms: ['ECDSA_SHA_256'] }
const SPEC = { KeySpec: 'ECC_SECG_P256K1', CustomerMasterKeySpec: 'ECC_SECG_P256K1' }

const KeyRequest = z.object({ KeyId: z.string().min(1).max(2048) })
const SignRequest = KeyRequest.extend({
  Message: z
    .base64()
    .transform((base64) => Buffer.from(base64, 'base64'))
    .refine(({ length }) => length >= 1 && length <= MESSAGE_BYTES_MAX),
  MessageType: z.enum(['RAW', 'DIGEST']).default('RAW'),
  SigningAlgorithm: z.string(),
  DryRun: z.boolean().optional(),
})

const refuse = (type: string, message: string): Outcome => ({ ok: false, fault: { type, message } })

function stateFault(key: HeldKey, state: KmsFaults['keyState']): KmsFault | undefined {
  if (state === 'Disabled') return { type: 'DisabledException', message: `${key.arn} is disabled.` }
  if (state === 'Enabled') return undefined
  return { type: 'KMSInvalidStateException', message: `${key.arn} is pending deletion.` }
}

function sign(key: HeldKey, request: z.infer<typeof SignRequest>, faults: KmsFaults): Outcome {
  if (request.SigningAlgorithm !== 'ECDSA_SHA_256') {
    const message = `Algorithm ${request.SigningAlgorithm} is incompatible with key spec ECC_SECG_P256K1.`
    return refuse('InvalidKeyUsageException', message)
  }
  const { Message: message, MessageType } = request
  const digest = MessageType === 'DIGEST' ? message : createHash('sha256').update(message).digest()
  if (digest.length !== 32) {
    return refuse('ValidationException', 'Digest is invalid length for algorithm ECDSA_SHA_256.')
  }
  if (request.DryRun === true) {
    return refuse(
      'DryRunOperationException',
      'The request would have succeeded, but the DryRun option is set.',
    )
  }
  const privateKey = faults.wrongKey ? NOBODY : key.privateKey
  const der = signAsKms(digest, privateKey, faults.highS ? 'high' : 'as-it-falls')
  const signature = faults.malformedDer ? Buffer.concat([der, Uint8Array.of(0)]) : Buffer.from(der)
  const reply = {
    KeyId: key.arn,
    Signature: signature.toString('base64'),
    SigningAlgorithm: 'ECDSA_SHA_256',
  }
  return { ok: true, digest: digest.toString('hex'), reply }
}

function getPublicKey(key: HeldKey): Outcome {
  const PublicKey = Buffer.from(key.spki).toString('base64')
  return { ok: true, reply: { KeyId: key.arn, PublicKey, ...SPEC, ...SIGNING } }
}

function describeKey(key: HeldKey, state: KmsFaults['keyState'], createdAtMs: number): Outcome {
  const KeyMetadata = {
    AWSAccountId: '000000000000',
    Arn: key.arn,
    CreationDate: createdAtMs / 1000,
    Description: '',
    Enabled: state === 'Enabled',
    KeyId: key.id,
    KeyManager: 'CUSTOMER',
    KeyState: state,
    MultiRegion: false,
    Origin: 'AWS_KMS',
    ...SPEC,
    ...SIGNING,
  }
  return { ok: true, reply: { KeyMetadata } }
}

/** What the operations read beside the request. */
type KmsState = {
  readonly keys: readonly HeldKey[]
  readonly faults: KmsFaults
  readonly createdAtMs: number
}

/**
 * Perform one authenticated operation. A failure is an AWS error as a value; never throws on bad input.
 * Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_Operations.html and, for what a key's state
 * allows, https://docs.aws.amazon.com/kms/latest/developerguide/key-state.html
 */
export function performOperation(operation: string, body: unknown, state: KmsState): Outcome {
  const { keys, faults, createdAtMs } = state
  if (operation !== 'Sign' && operation !== 'GetPublicKey' && operation !== 'DescribeKey') {
    return refuse('UnknownOperationException', `Unknown operation ${operation}.`)
  }
  if (faults.deny) {
    return refuse('AccessDeniedException', `The identity is not authorized to perform kms:${operation}.`)
  }
  const named = KeyRequest.safeParse(body)
  if (!named.success) return refuse('ValidationException', "1 validation error detected: 'keyId' is invalid.")
  const asked = named.data.KeyId
  const names = (key: HeldKey) => [key.id, key.arn, key.alias, key.aliasArn]
  const key = keys.find((held) => names(held).includes(faults.resolveTo ?? asked))
  if (key === undefined) return refuse('NotFoundException', `Key '${asked}' does not exist.`)
  const keyId = key.arn
  if (operation === 'DescribeKey') return { keyId, ...describeKey(key, faults.keyState, createdAtMs) }
  const fault = stateFault(key, faults.keyState)
  if (fault !== undefined) return { ok: false, keyId, fault }
  if (operation === 'GetPublicKey') return { keyId, ...getPublicKey(key) }
  const request = SignRequest.safeParse(body)
  if (!request.success) {
    const field = request.error.issues[0]?.path.join('.')
    return { keyId, ...refuse('ValidationException', `1 validation error detected: '${field}' is invalid.`) }
  }
  return { keyId, ...sign(key, request.data, faults) }
}

import { addAbortListener } from 'node:events'
import {
  DescribeKeyCommand,
  type DescribeKeyCommandOutput,
  GetPublicKeyCommand,
  type GetPublicKeyCommandOutput,
  KMSClient,
  SignCommand,
} from '@aws-sdk/client-kms'
import { type Address, isAddressEqual } from 'viem'
import { RolekeeperError } from '../errors.ts'
import { addressFromSpki, parseSignature } from './der.ts'
import { fromKmsError } from './kms-errors.ts'
import { digestBytes, recoverable } from './signature.ts'
import type { Signer } from './signer.ts'

/** Credentials of AWS. */
type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string }

/** Where a key is and what is pinned of it. Without credentials, the AWS SDK's default chain finds them. */
export type KmsSettings = {
  /** The key's ARN. An alias can be moved to another key, so it pins nothing and is refused. */
  readonly keyId: string
  readonly address: Address
  readonly region: string
  readonly endpoint?: string
  /** Those of now: asked for each request. */
  readonly credentials?: () => Credentials
  /** Of one attempt, from the request to the first byte of the reply. Default 2,000. */
  readonly requestTimeoutMs?: number
  /** Of one attempt's connection. Default 1,000. */
  readonly connectionTimeoutMs?: number
}

const KEY_ARN = /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[0-9a-z-]{1,128}$/
const ATTEMPTS_MAX = 3
/** The SDK's two back-offs between three attempts, at most 1 s and 2 s, on top of the attempts' own timeouts. */
const BACKOFF_MS_MAX = 3_000

function wrongKey(says: string, facts: Record<string, string>): RolekeeperError {
  return new RolekeeperError('kms.wrong_key', says, {
    fix: "write the ARN and the address of the same ECC_SECG_P256K1 signing key into the signer's settings.",
    facts,
  })
}

/**
 * Run one call within the caller's signal and a deadline. The SDK's own timeouts end with the first byte of a reply
 * and do not cover the loading of credentials, so either could hang for ever without the deadline.
 */
async function bounded<T>(
  deadlineMs: number,
  signal: AbortSignal | undefined,
  run: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = AbortSignal.timeout(deadlineMs)
  const stop = signal === undefined ? deadline : AbortSignal.any([signal, deadline])
  const stopped = Promise.withResolvers<never>()
  using _listener = addAbortListener(stop, () => stopped.reject(stop.reason))
  return await Promise.race([run(stop), stopped.promise])
}

/** Throw `kms.wrong_key` or `kms.disabled` unless these replies describe the pinned key, able to sign. */
function assertPinned(
  settings: KmsSettings,
  key: GetPublicKeyCommandOutput,
  description: DescribeKeyCommandOutput,
): void {
  const { keyId, address } = settings
  const about = description.KeyMetadata
  if (key.KeyId !== keyId || about?.Arn !== keyId) {
    throw wrongKey(`The KMS answered for another key than the pinned ${keyId}.`, { keyId })
  }
  if (about.KeyState !== 'Enabled' || about.Enabled !== true) {
    throw new RolekeeperError('kms.disabled', `The key ${keyId} is not enabled.`, {
      fix: 'enable the key, or pin another one and its address.',
      facts: { keyId },
    })
  }
  if (key.KeySpec !== 'ECC_SECG_P256K1' || key.KeyUsage !== 'SIGN_VERIFY') {
    throw wrongKey(`The key ${keyId} is not an ECC_SECG_P256K1 key for SIGN_VERIFY.`, { keyId })
  }
  const found = addressFromSpki(key.PublicKey ?? new Uint8Array())
  if (!isAddressEqual(found, address)) {
    throw wrongKey(`The key ${keyId} has the address ${found}; the settings pin ${address}.`, {
      keyId,
      found,
      address,
    })
  }
}

/** A signer whose key is elsewhere. */
export type KmsSigner = Signer & {
  /** Prove the key again: that it is there, enabled, and the pinned one. Throws as opening it does. */
  readonly prove: () => Promise<void>
}

/** Reach the KMS of a key: its client, and how one call of it ends in time and throws our errors alone. */
function connect({ address: _, ...settings }: Omit<KmsSettings, 'address'> & { readonly address?: Address }) {
  const { keyId, requestTimeoutMs = 2_000, connectionTimeoutMs = 1_000, ...where } = settings
  const { credentials, ...service } = where
  const client = new KMSClient({
    ...service,
    // What has no end is asked for once; what has ended is asked for again at each request.
    ...(credentials === undefined
      ? {}
      : { credentials: async () => ({ ...credentials(), expiration: new Date(0) }) }),
    maxAttempts: ATTEMPTS_MAX,
    retryMode: 'standard',
    // The SDK's default for each is to wait for ever; and without the flag a timed-out request is only warned about.
    requestHandler: {
      requestTimeout: requestTimeoutMs,
      connectionTimeout: connectionTimeoutMs,
      throwOnRequestTimeout: true,
    },
  })
  const deadlineMs = ATTEMPTS_MAX * (requestTimeoutMs + connectionTimeoutMs) + BACKOFF_MS_MAX
  const ask = async <T>(
    operation: string,
    run: (stop: AbortSignal) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> => {
    try {
      return await bounded(deadlineMs, signal, run)
    } catch (error) {
      signal?.throwIfAborted()
      throw fromKmsError(error, operation, keyId)
    }
  }
  return { client, ask }
}

/** Of nothing: it is asked whether it might be signed, and never is. */
const NOTHING = new Uint8Array(32)

/**
 * Ask the KMS whether we may sign with a key, without a signature: a dry run. Throws what {@link createKmsSigner} throws.
 * @returns by how much the KMS's time is ahead of ours, milliseconds; null where it does not say.
 * Source: https://docs.aws.amazon.com/kms/latest/developerguide/testing-permissions.html
 */
export async function proveMaySign(
  settings: KmsSettings,
  nowMs: () => number,
  stop: AbortSignal,
): Promise<number | null> {
  const { client, ask } = connect(settings)
  let aheadMs: number | null = null
  client.middlewareStack.add(
    (next) => async (given) => {
      const before = nowMs()
      const result = await next(given)
      const serverMs = Date.parse(
        String(Reflect.get(Object(Reflect.get(Object(result.response), 'headers')), 'date')),
      )
      if (!Number.isNaN(serverMs)) aheadMs = serverMs - (before + nowMs()) / 2
      return result
    },
    { step: 'deserialize', priority: 'low' },
  )
  const command = new SignCommand({
    KeyId: settings.keyId,
    Message: NOTHING,
    MessageType: 'DIGEST',
    SigningAlgorithm: 'ECDSA_SHA_256',
    DryRun: true,
  })
  try {
    await ask(
      'Sign',
      (abortSignal) =>
        client.send(command, { abortSignal }).catch((error: unknown) => {
          if (error instanceof Error && error.name === 'DryRunOperationException') return
          throw error
        }),
      stop,
    )
  } finally {
    client.destroy()
  }
  return aheadMs
}

/**
 * Open a signer on one AWS KMS key, after proving that it is the pinned key, enabled, and of the pinned address.
 * Rejects with a RolekeeperError: `kms.denied`, `kms.disabled`, `kms.not_found`, `kms.wrong_key`, `kms.bad_signature`,
 * `kms.throttled`, `kms.timeout`, `kms.unreachable` or `kms.rejected`; `signDigest` rejects with the same.
 * An abort of `stop` gives the opening up and rejects with its reason.
 * A lost reply is retried with the same digest; no signature of an unread reply exists outside the KMS.
 * Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html, API_GetPublicKey, API_DescribeKey.
 */
export async function createKmsSigner(settings: KmsSettings, stop?: AbortSignal): Promise<KmsSigner> {
  const { keyId, address } = settings
  if (!KEY_ARN.test(keyId)) {
    throw wrongKey(`The key id ${keyId} is not a key ARN, so it pins no key.`, { keyId })
  }
  const { client, ask } = connect(settings)

  const which = { KeyId: keyId }
  const prove = async (signal?: AbortSignal) => {
    const [key, description] = await Promise.all([
      ask(
        'GetPublicKey',
        (stop) => client.send(new GetPublicKeyCommand(which), { abortSignal: stop }),
        signal,
      ),
      ask('DescribeKey', (stop) => client.send(new DescribeKeyCommand(which), { abortSignal: stop }), signal),
    ])
    assertPinned(settings, key, description)
  }
  await prove(stop)

  return {
    address,
    keyId,
    prove: () => prove(),
    signDigest: async (digest, signal) => {
      const command = new SignCommand({
        KeyId: keyId,
        Message: digestBytes(digest),
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      })
      const reply = await ask('Sign', (stop) => client.send(command, { abortSignal: stop }), signal)
      if (reply.KeyId !== keyId) {
        throw wrongKey(`The KMS signed with another key than the pinned ${keyId}.`, { keyId })
      }
      const { r, s } = parseSignature(reply.Signature ?? new Uint8Array())
      return recoverable(digest, r, s, address)
    },
  }
}

/** Read the address of a key's public key. Throws what {@link createKmsSigner} throws. */
export async function readKmsAddress(settings: Omit<KmsSettings, 'address'>): Promise<Address> {
  const { client, ask } = connect(settings)
  try {
    const which = new GetPublicKeyCommand({ KeyId: settings.keyId })
    const { PublicKey } = await ask('GetPublicKey', (stop) => client.send(which, { abortSignal: stop }))
    return addressFromSpki(PublicKey ?? new Uint8Array())
  } finally {
    client.destroy()
  }
}

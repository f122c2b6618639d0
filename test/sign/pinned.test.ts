import { createServer } from 'node:http'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToHex, hexToBytes, numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { createKmsSigner } from '../../src/sign/kms.ts'
import { fromKmsError } from '../../src/sign/kms-errors.ts'
import { recoverable } from '../../src/sign/signature.ts'
import { untilClosed } from '../../src/sign/until-closed.ts'
import { listenOnLoopback } from '../support/loopback.ts'

const ARN = 'arn:aws:kms:eu-central-1:000000000000:key/11111111-2222-4333-8444-555555555555'
const OTHER_ARN = ARN.replace('1111-2222', '1111-3333')
const secret = `0x${'17'.repeat(32)}` as const
const { address } = privateKeyToAccount(secret)
/** A subject public key info of secp256k1. Source: RFC 5480. */
const SPKI = Buffer.concat([
  hexToBytes('0x3056301006072a8648ce3d020106052b8104000a034200'),
  secp256k1.getPublicKey(hexToBytes(secret), false),
])

const HONEST = {
  GetPublicKey: {
    ...{ KeyId: ARN, KeySpec: 'ECC_SECG_P256K1', KeyUsage: 'SIGN_VERIFY' },
    PublicKey: SPKI.toString('base64'),
  },
  DescribeKey: { KeyMetadata: { Arn: ARN, KeyId: 'id', KeyState: 'Enabled', Enabled: true } },
}
type Replies = typeof HONEST

let stop = async () => {}
afterEach(async () => stop())

/** Open a signer on a KMS that replies so: the code it is refused with, or `open`. */
async function opened(key: Partial<Replies['GetPublicKey']>, about: object = {}): Promise<string> {
  const { GetPublicKey, DescribeKey } = HONEST
  const server = createServer((request, response) => {
    request.resume()
    const isKey = String(request.headers['x-amz-target']).endsWith('GetPublicKey')
    const reply = isKey
      ? { ...GetPublicKey, ...key }
      : { KeyMetadata: { ...DescribeKey.KeyMetadata, ...about } }
    response.setHeader('content-type', 'application/x-amz-json-1.1').end(JSON.stringify(reply))
  })
  const port = await listenOnLoopback(server)
  stop = async () => {
    server.closeAllConnections()
    server.close()
  }
  const credentials = { accessKeyId: 'AKIDSANDBOX', secretAccessKey: 'canary-5e1c' }
  const endpoint = `http://127.0.0.1:${port}`
  return createKmsSigner({ keyId: ARN, address, region: 'eu-central-1', endpoint, credentials }).then(
    () => 'open',
    (error: { code?: string }) => error.code ?? String(error),
  )
}

describe('a key of the KMS', () => {
  it.each<[string, string, Partial<Replies['GetPublicKey']>, object]>([
    ['the pinned one', 'open', {}, {}],
    ['another, by its public key', 'kms.wrong_key', { KeyId: OTHER_ARN }, {}],
    ['another, by its description', 'kms.wrong_key', {}, { Arn: OTHER_ARN }],
    ['about to be deleted', 'kms.disabled', {}, { KeyState: 'PendingDeletion' }],
    ['not enabled', 'kms.disabled', {}, { Enabled: false }],
    ['of another curve', 'kms.wrong_key', { KeySpec: 'ECC_NIST_P256' }, {}],
    ['for another use', 'kms.wrong_key', { KeyUsage: 'KEY_AGREEMENT' }, {}],
    ['without a public key', 'kms.wrong_key', { PublicKey: '' }, {}],
  ])('is %s: %s', async (_which, code, key, about) => {
    expect(await opened(key, about)).toBe(code)
  })
})

describe('what the KMS throws', () => {
  const codeOf = (error: unknown) => {
    const { code, retry, facts } = fromKmsError(error, 'Sign', ARN)
    return [code, retry, facts.error, facts.httpStatus]
  }

  it('is said by the socket’s code, else by its name, and never by its text', () => {
    const socket = Object.assign(new Error('canary'), { name: 'TimeoutError', code: 'ECONNRESET' })
    expect(codeOf(socket)).toEqual(['kms.unreachable', 'later', 'ECONNRESET', null])
    expect(codeOf(Object.assign(new Error('canary'), { name: 'TimeoutError' }))[0]).toBe('kms.timeout')
    const numbered = Object.assign(new Error('canary'), { name: 'ThrottlingException', code: 42 })
    expect(codeOf(numbered)).toEqual(['kms.throttled', 'later', 'ThrottlingException', null])
    expect(codeOf('canary')).toEqual(['kms.unreachable', 'later', 'unknown', null])
    expect(codeOf(Object.assign(new Error('canary'), { name: 'a name of ours' }))[2]).toBe('unknown')
  })
})

describe('a signature of a key that was never seen', () => {
  it('is proven, and one by many keys after each other is too', async () => {
    for (let index = 1; index <= 6; index += 1) {
      const key = numberToHex(index, { size: 32 })
      const digest = numberToHex(index * 7, { size: 32 })
      const bytes = secp256k1.sign(hexToBytes(digest), hexToBytes(key), { prehash: false, format: 'compact' })
      const { r, s } = secp256k1.Signature.fromBytes(bytes, 'compact')
      const signed = await recoverable(digest, r, s, privateKeyToAccount(key).address)
      expect(signed.r).toBe(bytesToHex(bytes.slice(0, 32)))
    }
  })
})

describe('work that asks a key', () => {
  it('is stopped once the gate closes, and left alone where it stays open', async () => {
    let closed = false
    const stopped = untilClosed(
      () => closed,
      (signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    closed = true
    await expect(stopped).rejects.toThrow(expect.objectContaining({ code: 'sign.stopped' }))
    const { promise, resolve } = Promise.withResolvers<AbortSignal>()
    const left = untilClosed(
      () => false,
      async (signal) => {
        setTimeout(() => resolve(signal), 250)
        return promise
      },
    )
    expect((await left).aborted).toBe(false)
  })
})

import { createServer } from 'node:http'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hexToBytes } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { createKmsSigner } from '../../src/sign/kms.ts'
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
    KeyId: ARN,
    KeySpec: 'ECC_SECG_P256K1',
    KeyUsage: 'SIGN_VERIFY',
    PublicKey: SPKI.toString('base64'),
  },
  DescribeKey: { KeyMetadata: { Arn: ARN, KeyId: 'id', KeyState: 'Enabled', Enabled: true } },
}
type Replies = typeof HONEST

let stop = async () => {}
afterEach(async () => stop())

/** Open a signer on a KMS that replies so, and fails one operation: what it is refused with, or `open`. */
async function opened(key: Partial<Replies['GetPublicKey']>, about: object = {}, failing = 'none') {
  const { GetPublicKey, DescribeKey } = HONEST
  const server = createServer((request, response) => {
    request.resume()
    const isKey = String(request.headers['x-amz-target']).endsWith('GetPublicKey')
    const reply = isKey
      ? { ...GetPublicKey, ...key }
      : { KeyMetadata: { ...DescribeKey.KeyMetadata, ...about } }
    response.setHeader('content-type', 'application/x-amz-json-1.1')
    response.statusCode = String(request.headers['x-amz-target']).endsWith(failing) ? 400 : 200
    response.end(JSON.stringify(reply))
  })
  const port = await listenOnLoopback(server)
  stop = async () => {
    server.closeAllConnections()
    server.close()
  }
  const credentials = { accessKeyId: 'AKIDSANDBOX', secretAccessKey: 'canary-5e1c' }
  const endpoint = `http://127.0.0.1:${port}`
  return createKmsSigner({
    keyId: ARN,
    address,
    region: 'eu-central-1',
    endpoint,
    credentials: () => credentials,
  }).then(
    () => ({ code: 'open' }),
    (error: object) => error,
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
    expect(await opened(key, about)).toMatchObject({ code })
  })

  it.each(['GetPublicKey', 'DescribeKey'])('says that it was %s that failed', async (operation) => {
    expect(await opened({}, {}, operation)).toMatchObject({ code: 'kms.rejected', facts: { operation } })
  })
})

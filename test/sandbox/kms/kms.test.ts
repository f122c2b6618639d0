import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { GetPublicKeyCommand, KMSClient, SignCommand, type SignCommandInput } from '@aws-sdk/client-kms'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import type { Hex } from 'viem'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { signAsKms } from '../../../sandbox/kms/keys.ts'
import { type Kms, type KmsServerSettings, startKms } from '../../../sandbox/kms/server.ts'
import { systemClock } from '../../../src/clock.ts'

const REGION = 'eu-central-1'
const CREDENTIALS = { accessKeyId: 'AKIDSANDBOX', secretAccessKey: 'canary-5e1c' }
const PRIVATE_KEY = `0x${'17'.repeat(32)}` as Hex
const KEY = { id: '11111111-2222-4333-8444-555555555555', privateKey: PRIVATE_KEY, alias: 'alias/liquidator' }
const ARN = `arn:aws:kms:${REGION}:000000000000:key/${KEY.id}`
const SIGN: SignCommandInput = {
  KeyId: ARN,
  Message: new Uint8Array(32).fill(7),
  MessageType: 'DIGEST',
  SigningAlgorithm: 'ECDSA_SHA_256',
}
const SKEW_MS = 300_000

let started: Kms[] = []
afterEach(async () => {
  await Promise.all(started.map((kms) => kms.stop()))
  started = []
})

async function start(change: Partial<KmsServerSettings> = {}): Promise<Kms> {
  const settings = { clock: systemClock, region: REGION, credentials: CREDENTIALS, keys: [KEY] }
  const kms = await startKms({ ...settings, ...change })
  started.push(kms)
  return kms
}

const clientOf = (kms: Kms) =>
  new KMSClient({ region: REGION, endpoint: kms.url, credentials: CREDENTIALS, maxAttempts: 1 })

const SignedRequest = z.object({
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.instanceof(Uint8Array).transform((bytes) => new TextDecoder().decode(bytes)),
})
type SignedRequest = z.infer<typeof SignedRequest>

/** A request as the real SDK signs it, to be sent again with one thing changed. */
async function signedRequest(kms: Kms): Promise<SignedRequest & { atMs: number }> {
  const client = clientOf(kms)
  let seen: unknown
  client.middlewareStack.add(
    (next) => (args) => {
      seen = args.request
      return next(args)
    },
    { step: 'deserialize' },
  )
  await client.send(new SignCommand(SIGN)).catch(() => undefined)
  const signed = SignedRequest.parse(seen)
  const stamp = signed.headers['x-amz-date'] ?? ''
  const iso = stamp.replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z')
  return { ...signed, atMs: Date.parse(iso) }
}

async function send(kms: Kms, { method, path, headers, body }: SignedRequest) {
  const sent = request(`${kms.url}${path}`, { method, headers }).end(body)
  const [response] = await once(sent, 'response')
  const parsed = z.object({ __type: z.string().optional() }).parse(JSON.parse(await text(response)))
  return { status: response.statusCode, type: parsed.__type, headers: response.headers }
}

const withHeader = (signed: SignedRequest, name: string, value: string): SignedRequest => ({
  ...signed,
  headers: { ...signed.headers, [name]: value },
})

const withAuthorization = (signed: SignedRequest, change: (value: string) => string): SignedRequest =>
  withHeader(signed, 'authorization', change(signed.headers.authorization ?? ''))

describe('SigV4', () => {
  it('accepts what the SDK signed, sent byte for byte', async () => {
    const kms = await start()
    expect(await send(kms, await signedRequest(kms))).toMatchObject({ status: 200, type: undefined })
  })

  const invalid: [string, (signed: SignedRequest) => SignedRequest][] = [
    ['another body', (signed) => ({ ...signed, body: signed.body.replace('Bwc', 'Bwd') })],
    ['another operation', (signed) => withHeader(signed, 'x-amz-target', 'TrentService.DescribeKey')],
    ['a header of Amazon that is not signed', (signed) => withHeader(signed, 'x-amz-more', '1')],
    ['another signed header', (signed) => withHeader(signed, 'x-amz-user-agent', 'other')],
    ['the hash of another body', (signed) => withHeader(signed, 'x-amz-content-sha256', 'ab'.repeat(32))],
    [
      'one changed digit',
      (signed) => withAuthorization(signed, (value) => value.replace(/.$/, (d) => (d === '0' ? '1' : '0'))),
    ],
    ['another region', (signed) => withAuthorization(signed, (value) => value.replace(REGION, 'us-east-1'))],
    ['another service', (signed) => withAuthorization(signed, (value) => value.replace('/kms/', '/s3/'))],
    [
      'another day',
      (signed) => withAuthorization(signed, (value) => value.replace(/\/\d{8}\//, '/20200101/')),
    ],
    ['host not signed', (signed) => withAuthorization(signed, (value) => value.replace('host;', ''))],
    [
      'headers out of order',
      (signed) =>
        withAuthorization(signed, (value) => value.replace('content-type;host', 'host;content-type')),
    ],
  ]
  it.each(invalid)('refuses %s', async (_, change) => {
    const kms = await start()
    const answer = await send(kms, change(await signedRequest(kms)))
    expect(answer).toMatchObject({ status: 400, type: 'InvalidSignatureException' })
  })

  const incomplete: [string, (signed: SignedRequest) => SignedRequest][] = [
    ['no signature', (signed) => withAuthorization(signed, (value) => value.replace(/, Signature=.*/, ''))],
    ['a signature with a tail', (signed) => withAuthorization(signed, (value) => `${value}zz`)],
    ['another algorithm', (signed) => withAuthorization(signed, (value) => value.replace('HMAC', 'ECDSA'))],
    ['a date that is none', (signed) => withHeader(signed, 'x-amz-date', 'yesterday')],
  ]
  it.each(incomplete)('refuses %s', async (_, change) => {
    const kms = await start()
    const answer = await send(kms, change(await signedRequest(kms)))
    expect(['IncompleteSignatureException', 'InvalidSignatureException']).toContain(answer.type)
    expect(answer.status).toBe(400)
  })

  it('refuses a request without a signature', async () => {
    const kms = await start()
    const { headers, ...signed } = await signedRequest(kms)
    const { authorization: _, ...rest } = headers
    expect(await send(kms, { ...signed, headers: rest })).toMatchObject({
      type: 'MissingAuthenticationTokenException',
    })
  })

  it('refuses an unknown access key', async () => {
    const kms = await start()
    const unknown = withAuthorization(await signedRequest(kms), (value) =>
      value.replace('AKIDSANDBOX', 'AKIDOTHER'),
    )
    expect(await send(kms, unknown)).toMatchObject({ type: 'UnrecognizedClientException' })
  })

  it.each([
    ['5 minutes old', SKEW_MS, 200],
    ['5 minutes and a millisecond old', SKEW_MS + 1, 400],
    ['5 minutes ahead', -SKEW_MS, 200],
    ['5 minutes and a millisecond ahead', -SKEW_MS - 1, 400],
  ])('of a date %s is answered by the clock', async (_, offsetMs, status) => {
    let nowMs = Date.now()
    const kms = await start({ clock: { ...systemClock, nowMs: () => nowMs } })
    const { atMs, ...signed } = await signedRequest(kms)
    nowMs = atMs + offsetMs
    expect((await send(kms, signed)).status).toBe(status)
  })
})

describe('the KMS', () => {
  it('answers a request of a page or for another host with no more than a refusal', async () => {
    const kms = await start()
    const signed = await signedRequest(kms)
    expect(await send(kms, withHeader(signed, 'origin', 'http://evil.test'))).toMatchObject({ status: 400 })
    expect(await send(kms, withHeader(signed, 'host', 'evil.test'))).toMatchObject({ status: 400 })
  })

  it('gives every answer an id', async () => {
    const kms = await start()
    expect((await send(kms, await signedRequest(kms))).headers['x-amzn-requestid']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it.each([
    ['31 bytes', { Message: new Uint8Array(31) }, 'ValidationException'],
    ['33 bytes', { Message: new Uint8Array(33) }, 'ValidationException'],
    [
      'a message over 4,096 bytes',
      { MessageType: 'RAW', Message: new Uint8Array(4_097) },
      'ValidationException',
    ],
    ['another algorithm', { SigningAlgorithm: 'RSASSA_PSS_SHA_256' }, 'InvalidKeyUsageException'],
    ['a key it does not have', { KeyId: ARN.replace('1111', '2222') }, 'NotFoundException'],
    ['an alias it does not have', { KeyId: 'alias/none' }, 'NotFoundException'],
  ] as const)('refuses %s', async (_, change, name) => {
    const kms = await start()
    const command = new SignCommand({ ...SIGN, ...change })
    await expect(clientOf(kms).send(command)).rejects.toMatchObject({ name })
  })

  it('refuses an operation it does not have', async () => {
    const kms = await start()
    const { CreateKeyCommand } = await import('@aws-sdk/client-kms')
    await expect(clientOf(kms).send(new CreateKeyCommand({}))).rejects.toMatchObject({
      name: 'UnknownOperationException',
    })
  })

  it.each([KEY.id, ARN, KEY.alias, `arn:aws:kms:${REGION}:000000000000:${KEY.alias}`])(
    'finds a key as %s and answers with its ARN',
    async (KeyId) => {
      const kms = await start()
      const reply = await clientOf(kms).send(new GetPublicKeyCommand({ KeyId }))
      expect(reply).toMatchObject({ KeyId: ARN, KeySpec: 'ECC_SECG_P256K1', KeyUsage: 'SIGN_VERIFY' })
    },
  )

  it('hashes a raw message of 4,096 bytes, the largest', async () => {
    const kms = await start()
    const Message = new Uint8Array(4_096).fill(1)
    await clientOf(kms).send(new SignCommand({ ...SIGN, MessageType: 'RAW', Message }))
    expect(kms.calls().at(-1)?.digest).toBe(createHash('sha256').update(Message).digest('hex'))
  })

  it('lets s fall high about half of the time, and always when told', () => {
    const digest = new Uint8Array(32).fill(9)
    const key = Buffer.from(PRIVATE_KEY.slice(2), 'hex')
    const highs = (s: 'as-it-falls' | 'high') =>
      Array.from({ length: 200 }, () => signAsKms(digest, key, s)).filter((der) =>
        secp256k1.Signature.fromBytes(der, 'der').hasHighS(),
      ).length
    // Six standard deviations around 100.
    expect(Math.abs(highs('as-it-falls') - 100)).toBeLessThan(43)
    expect(highs('high')).toBe(200)
  })

  it('waits as long as it is told before it answers', async () => {
    const waits: number[] = []
    const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) }
    const kms = await start({ clock, faults: { latencyMs: 60 } })
    await clientOf(kms).send(new SignCommand(SIGN))
    expect(waits).toEqual([60])
  })

  it('stops while a call hangs, and once more', async () => {
    const kms = await start({ faults: { hang: true } })
    const hanging = clientOf(kms).send(new SignCommand(SIGN))
    const ended = expect(hanging).rejects.toThrow()
    while (kms.calls().length === 0) await new Promise((resolve) => setImmediate(resolve))
    await kms.stop()
    await ended
    await kms.stop()
  })

  it('names the port that it cannot have', async () => {
    const kms = await start()
    const port = Number(new URL(kms.url).port)
    await expect(start({ port })).rejects.toMatchObject({ code: 'sandbox.port', facts: { port } })
  })
})

describe('the call log', () => {
  let directory = ''
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kms-'))
  })
  afterAll(() => rm(directory, { recursive: true }))

  it('has every call in memory and in the file, refused and unanswered ones too, and no secret', async () => {
    const logFile = join(directory, 'calls.jsonl')
    const kms = await start({ logFile })
    const client = clientOf(kms)
    await client.send(new SignCommand(SIGN))
    kms.setFault({ deny: true })
    await expect(client.send(new SignCommand(SIGN))).rejects.toThrow()
    kms.setFault({ deny: false, dropRate: 1 })
    await expect(client.send(new SignCommand(SIGN))).rejects.toThrow()

    const content = await readFile(logFile, 'utf8')
    const lines: unknown[] = content
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const signed = { operation: 'Sign', keyId: ARN, digest: '07'.repeat(32), outcome: 'ok' }
    expect(lines).toEqual(kms.calls())
    expect(lines).toEqual([
      expect.objectContaining(signed),
      expect.objectContaining({ operation: 'Sign', outcome: 'AccessDeniedException' }),
      expect.objectContaining(signed),
    ])
    expect(content).not.toMatch(/canary|1717/)
  })
})

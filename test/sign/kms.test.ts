import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTcpServer, type Server } from 'node:net'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Hex, hexToBigInt, keccak256, numberToHex, recoverAddress } from 'viem'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Kms, type KmsServerSettings, startKms } from '../../sandbox/kms/server.ts'
import { systemClock } from '../../src/clock.ts'
import { createKmsSigner, type KmsSettings } from '../../src/sign/kms.ts'

const REGION = 'eu-central-1'
const CREDENTIALS = { accessKeyId: 'AKIDSANDBOX', secretAccessKey: 'canary-5e1c' }
const KEY = {
  id: '11111111-2222-4333-8444-555555555555',
  privateKey: `0x${'17'.repeat(32)}` as Hex,
  alias: 'alias/liquidator',
}
const OTHER = { id: '66666666-7777-4888-8999-000000000000', privateKey: `0x${'18'.repeat(32)}` as Hex }
const DIGEST = keccak256('0x01')
const N = secp256k1.Point.CURVE().n

async function portOf(server: Server): Promise<number> {
  if (!server.listening) await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not a TCP port')
  return address.port
}

let started: Kms[] = []
afterEach(async () => {
  await Promise.all(started.map((kms) => kms.stop()))
  started = []
})

async function setUp(server: Partial<KmsServerSettings> = {}) {
  const kms = await startKms({
    clock: systemClock,
    region: REGION,
    credentials: CREDENTIALS,
    keys: [KEY, OTHER],
    ...server,
  })
  started.push(kms)
  const [key, other] = kms.keys
  if (key === undefined || other === undefined) throw new Error('two keys were given')
  const open = (change: Partial<KmsSettings> = {}) =>
    createKmsSigner({
      keyId: key.arn,
      address: key.address,
      region: REGION,
      endpoint: kms.url,
      credentials: () => CREDENTIALS,
      ...change,
    })
  const signs = () => kms.calls().filter((call) => call.operation === 'Sign')
  return { kms, key, other, open, signs }
}

const failure = (code: string, retry: 'never' | 'later') => expect.objectContaining({ code, retry })

describe('a KMS signer', () => {
  it('turns 400 signatures, half of them forced high, into low-s that recovers', async () => {
    const { kms, key, open } = await setUp()
    const signer = await open()
    const check = async (index: number) => {
      const digest = keccak256(numberToHex(index))
      const signature = await signer.signDigest(digest)
      expect(hexToBigInt(signature.s)).toBeLessThanOrEqual(N / 2n)
      expect(await recoverAddress({ hash: digest, signature })).toBe(key.address)
    }
    for (const highS of [false, true]) {
      kms.setFault({ highS })
      for (let index = 0; index < 200; index += 10) {
        await Promise.all(Array.from({ length: 10 }, (_, offset) => check(index + offset)))
      }
    }
  })

  it('signs the same digest another way each time', async () => {
    const { open } = await setUp()
    const signer = await open()
    expect((await signer.signDigest(DIGEST)).r).not.toBe((await signer.signDigest(DIGEST)).r)
  })

  it('proves key and address before it exists, in two calls', async () => {
    const { kms, key, open } = await setUp()
    expect(await open()).toMatchObject({ keyId: key.arn, address: key.address })
    expect(
      kms
        .calls()
        .map((call) => call.operation)
        .sort(),
    ).toEqual(['DescribeKey', 'GetPublicKey'])
  })

  it('asks for nothing but a digest of 32 bytes', async () => {
    const { open, signs } = await setUp()
    const signer = await open()
    await expect(signer.signDigest('0x1234')).rejects.toThrow('a digest is 32 bytes, not 2')
    expect(signs()).toEqual([])
  })
})

describe('a key that is not the pinned one', () => {
  it.each([
    ['an alias', KEY.alias],
    ['the ARN of an alias', `arn:aws:kms:${REGION}:000000000000:${KEY.alias}`],
    ['a bare id', KEY.id],
  ])('cannot be pinned by %s, which is refused before any call', async (_, keyId) => {
    const { kms, open } = await setUp()
    await expect(open({ keyId })).rejects.toThrow(failure('kms.wrong_key', 'never'))
    expect(kms.calls()).toEqual([])
  })

  it('is refused when the name was moved to it before the start', async () => {
    const { open } = await setUp({ faults: { resolveTo: OTHER.id } })
    await expect(open()).rejects.toThrow(/^The KMS answered for another key than the pinned/)
  })

  it('is refused when the name was moved to it since', async () => {
    const { kms, open } = await setUp()
    const signer = await open()
    kms.setFault({ resolveTo: OTHER.id })
    await expect(signer.signDigest(DIGEST)).rejects.toThrow(
      /^The KMS signed with another key than the pinned/,
    )
  })

  it('is refused when it has another address than the pinned one', async () => {
    const { other, open } = await setUp()
    await expect(open({ address: other.address })).rejects.toThrow(
      expect.objectContaining({
        code: 'kms.wrong_key',
        facts: expect.objectContaining({ address: other.address }),
      }),
    )
  })

  it('is refused when it signs under the name of the right one', async () => {
    const { kms, open } = await setUp()
    const signer = await open()
    kms.setFault({ wrongKey: true })
    await expect(signer.signDigest(DIGEST)).rejects.toThrow(failure('kms.wrong_key', 'never'))
  })

  it('is refused when it does not exist', async () => {
    const { key, open } = await setUp()
    await expect(open({ keyId: key.arn.replace('1111-2222', '1111-3333') })).rejects.toThrow(
      failure('kms.not_found', 'never'),
    )
  })
})

describe('a KMS that fails', () => {
  it.each([
    ['denies', { deny: true }, 'kms.denied', 1],
    ['has disabled the key', { keyState: 'Disabled' }, 'kms.disabled', 1],
    ['is deleting the key', { keyState: 'PendingDeletion' }, 'kms.disabled', 1],
    ['returns malformed DER', { malformedDer: true }, 'kms.bad_signature', 1],
    ['throttles every attempt', { throttleRate: 1 }, 'kms.throttled', 3],
    ['drops every reply', { dropRate: 1 }, 'kms.unreachable', 3],
  ] as const)('and %s ends after its attempts with its own code', async (_, faults, code, attempts) => {
    const { kms, open, signs } = await setUp()
    const signer = await open()
    kms.setFault(faults)
    await expect(signer.signDigest(DIGEST)).rejects.toThrow(expect.objectContaining({ code }))
    expect(signs()).toHaveLength(attempts)
  })

  it.each([
    ['denies', { deny: true }, failure('kms.denied', 'never')],
    ['has disabled the key', { keyState: 'Disabled' }, failure('kms.disabled', 'never')],
    ['is deleting the key', { keyState: 'PendingDeletion' }, failure('kms.disabled', 'never')],
  ] as const)('and %s gives no signer', async (_, faults, expected) => {
    const { open } = await setUp({ faults })
    await expect(open()).rejects.toThrow(expected)
  })

  it('by hanging is given up after its attempts', async () => {
    const { kms, open, signs } = await setUp()
    const signer = await open({ requestTimeoutMs: 100 })
    kms.setFault({ hang: true })
    await expect(signer.signDigest(DIGEST)).rejects.toMatchObject({
      code: 'kms.timeout',
      retry: 'later',
      facts: { operation: 'Sign' },
    })
    expect(signs()).toHaveLength(3)
  })

  it('by hanging is left at once when the caller aborts', async () => {
    const { kms, open, signs } = await setUp()
    const signer = await open({ requestTimeoutMs: 100 })
    kms.setFault({ hang: true })
    const caller = new AbortController()
    const signing = signer.signDigest(DIGEST, caller.signal)
    caller.abort('killed')
    await expect(signing).rejects.toBe('killed')
    expect(signs().length).toBeLessThan(2)
  })

  it('is not asked at all when the caller has aborted already', async () => {
    const { open, signs } = await setUp()
    const signer = await open()
    await expect(signer.signDigest(DIGEST, AbortSignal.abort('killed'))).rejects.toBe('killed')
    expect(signs()).toEqual([])
  })

  it('by throttling every second call is survived within the attempts', async () => {
    const { kms, key, open, signs } = await setUp()
    const signer = await open()
    kms.setFault({ throttleRate: 0.5 })
    for (const digest of [keccak256('0x01'), keccak256('0x02')]) {
      expect(await recoverAddress({ hash: digest, signature: await signer.signDigest(digest) })).toBe(
        key.address,
      )
    }
    expect(signs().map((call) => call.outcome)).toEqual(['ok', 'ThrottlingException', 'ok'])
  })

  it('by losing a reply is asked for the same digest again', async () => {
    const { kms, key, open, signs } = await setUp()
    const signer = await open()
    kms.setFault({ dropRate: 0.5 })
    await signer.signDigest(keccak256('0x00'))
    expect(await recoverAddress({ hash: DIGEST, signature: await signer.signDigest(DIGEST) })).toBe(
      key.address,
    )
    expect(signs().map((call) => call.digest)).toEqual(
      [keccak256('0x00'), DIGEST, DIGEST].map((digest) => digest.slice(2)),
    )
  })

  it('by stopping in the middle of a reply is given up by the deadline', async () => {
    const { open } = await setUp()
    const stalling = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1', 'content-length': '500' })
      response.write('{')
    }).listen(0, '127.0.0.1')
    const port = await portOf(stalling)
    const settings = { endpoint: `http://127.0.0.1:${port}`, requestTimeoutMs: 50, connectionTimeoutMs: 50 }
    await expect(open(settings)).rejects.toThrow(failure('kms.timeout', 'later'))
    stalling.closeAllConnections()
    stalling.close()
  })

  it('by not listening is unreachable', async () => {
    const closed = createTcpServer().listen(0, '127.0.0.1')
    const port = await portOf(closed)
    closed.close()
    const { open } = await setUp()
    await expect(open({ endpoint: `http://127.0.0.1:${port}` })).rejects.toThrow(
      failure('kms.unreachable', 'later'),
    )
  })

  it('by answering garbage with a 200 is a failure, not a signer', async () => {
    const garbage = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1')
    const port = await portOf(garbage)
    const { open } = await setUp()
    await expect(open({ endpoint: `http://127.0.0.1:${port}` })).rejects.toThrow(
      failure('kms.unreachable', 'later'),
    )
    garbage.close()
  })
})

describe('credentials', () => {
  it.each([
    ['a wrong secret', { accessKeyId: CREDENTIALS.accessKeyId, secretAccessKey: 'canary-0000' }],
    ['an unknown access key', { accessKeyId: 'AKIDOTHER', secretAccessKey: CREDENTIALS.secretAccessKey }],
  ])('with %s are refused', async (_, credentials) => {
    const { open } = await setUp()
    await expect(open({ credentials: () => credentials })).rejects.toThrow(failure('kms.denied', 'never'))
  })

  it('that have to be asked for are, but no longer than the caller waits', async () => {
    const asked = Promise.withResolvers<string | undefined>()
    const silent = createServer(({ url }) => asked.resolve(url)).listen(0, '127.0.0.1')
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) vi.stubEnv(name, '')
    for (const name of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE']) vi.stubEnv(name, '/dev/null')
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', `http://127.0.0.1:${await portOf(silent)}/role`)
    const { kms, key } = await setUp()
    const caller = new AbortController()
    const settings = { keyId: key.arn, address: key.address, region: REGION, endpoint: kms.url }
    const opening = createKmsSigner(settings, caller.signal)
    expect(await asked.promise).toBe('/role')
    caller.abort('killed')
    await expect(opening).rejects.toBe('killed')
    vi.unstubAllEnvs()
    silent.closeAllConnections()
    silent.close()
  })

  it('that are replaced are used by the next signature', async () => {
    const { open } = await setUp()
    let now = CREDENTIALS
    const signer = await open({ credentials: () => now })
    now = { ...CREDENTIALS, secretAccessKey: 'canary-0000' }
    await expect(signer.signDigest(DIGEST)).rejects.toThrow(failure('kms.denied', 'never'))
    now = CREDENTIALS
    await expect(signer.signDigest(DIGEST)).resolves.toBeDefined()
  })

  it('for another region are refused', async () => {
    const { open } = await setUp()
    await expect(open({ region: 'us-east-1' })).rejects.toThrow(failure('kms.denied', 'never'))
  })

  it('and what the vendor says never show in an error', async () => {
    const { open } = await setUp()
    const error: unknown = await open({
      credentials: () => ({ ...CREDENTIALS, secretAccessKey: 'canary-0000' }),
    }).catch((caught) => caught)
    expect(error).toHaveProperty('cause', undefined)
    expect(`${error}${JSON.stringify(error)}`).not.toMatch(/canary|we calculated/)
  })

  it('work where the machine and the KMS are an hour apart, for the SDK follows the KMS', async () => {
    const { key, open } = await setUp({ clock: { ...systemClock, nowMs: () => Date.now() + 3_600_000 } })
    const signer = await open()
    expect(signer.address).toBe(key.address)
  })
})

import { readFileSync } from 'node:fs'
import { keccak256 } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startKms } from '../../sandbox/kms/server.ts'
import { systemClock } from '../../src/clock.ts'
import { createKmsSigner, proveMaySign, readKmsAddress } from '../../src/sign/kms.ts'
import { startTap } from '../support/tap.ts'
import { WAIT_MS_MAX } from '../support/until.ts'

type Statement = {
  readonly Effect: string
  readonly Action: string | readonly string[]
  readonly Resource: readonly string[]
  readonly Condition?: { readonly StringEquals: Readonly<Record<string, string>> }
}
const { Statement: statements } = JSON.parse(readFileSync('config/aws/keeper-policy.json', 'utf8')) as {
  readonly Statement: readonly Statement[]
}

const credentials = { accessKeyId: 'AKIDSANDBOX', secretAccessKey: 'canary-5e1c' }
const region = 'eu-central-1'
const bodies: Record<string, unknown>[] = []
let kms: Awaited<ReturnType<typeof startKms>>
let tap: Awaited<ReturnType<typeof startTap>>
beforeAll(async () => {
  kms = await startKms({
    clock: systemClock,
    region,
    credentials,
    keys: [{ id: '11111111-2222-4333-8444-555555555555', privateKey: `0x${'17'.repeat(32)}` }],
  })
  tap = await startTap(kms.url)
  tap.setRule(({ body }) => {
    bodies.push(JSON.parse(body))
    return null
  })
})
afterAll(async () => {
  await tap.stop()
  await kms.stop()
})

it('allows what the keeper asks of its KMS, and nothing else', async () => {
  const [key] = kms.keys
  if (key === undefined) return expect.fail('one key was given')
  const settings = {
    keyId: key.arn,
    address: key.address,
    region,
    endpoint: tap.url,
    credentials: () => credentials,
  }
  await readKmsAddress(settings)
  await proveMaySign(settings, () => 0, AbortSignal.timeout(WAIT_MS_MAX))
  const signer = await createKmsSigner(settings)
  await signer.prove()
  await signer.signDigest(keccak256('0x01'))

  const asked = new Set(kms.calls().map(({ operation }) => `kms:${operation}`))
  expect(statements.flatMap(({ Action }) => Action).toSorted()).toEqual([...asked].toSorted())
  expect(statements.every(({ Effect }) => Effect === 'Allow')).toBe(true)
  // Each on keys by their ARN: no alias, which can be moved, and no pattern.
  for (const { Resource } of statements)
    expect(String(Resource)).toMatch(/^arn:aws:kms:[\w-]+:\d{12}:key\/[0-9a-f-]{36}$/)

  const conditions = statements.find(({ Action }) => Action === 'kms:Sign')?.Condition?.StringEquals
  const signed = bodies.filter(({ Message }) => Message !== undefined)
  expect(signed).toHaveLength(2)
  for (const { SigningAlgorithm, MessageType } of signed)
    expect(conditions).toEqual({ 'kms:SigningAlgorithm': SigningAlgorithm, 'kms:MessageType': MessageType })
})

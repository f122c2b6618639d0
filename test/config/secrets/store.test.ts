import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Managers } from '../../../src/config/secrets/managers.ts'
import { referenceOf } from '../../../src/config/secrets/reference.ts'
import { Secret } from '../../../src/config/secrets/secret.ts'
import { openSecrets } from '../../../src/config/secrets/store.ts'
import type { RolekeeperError } from '../../../src/errors.ts'
import { newDirectory } from '../../support/directory.ts'
import { type SecretManagers, startSecretManagers } from '../../support/secret-managers.ts'

let there: SecretManagers
let managers: Managers
const folder = newDirectory()

beforeAll(async () => {
  there = await startSecretManagers('canary-token')
})
afterAll(async () => {
  await there.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  there.fault = 'none'
  there.token = 'canary-token'
  there.aws.set('prod/keeper', JSON.stringify({ service: 'canary-service', redis: 'canary-redis' }))
  there.aws.set('prod/node', 'https://node.example/canary-node')
  there.vault.set('kv/keeper/kms', { key: 'canary-kms', 'with.dot': 'canary-dot' })
  writeFileSync(join(folder, 'password'), 'canary-file\n')
  managers = {
    aws: {
      region: 'eu-central-1',
      endpoint: there.url,
      accessKeyId: 'AKID',
      secretAccessKey: new Secret('canary-aws'),
    },
    vault: { url: there.url, token: new Secret('canary-token'), namespace: 'team' },
  }
})

const ALL = [
  'file:password',
  'aws:prod/keeper#service',
  'aws:prod/keeper#redis',
  'aws:prod/node',
  'vault:kv/keeper/kms#key',
]

describe('references', () => {
  it.each([
    ['env:NAME', { kind: 'env', name: 'NAME' }],
    ['file:/run/secrets/a b', { kind: 'file', path: '/run/secrets/a b' }],
    ['aws:prod/keeper', { kind: 'aws', id: 'prod/keeper' }],
    [
      'aws:arn:aws:secretsmanager:eu-central-1:1:secret:a-b#c',
      { kind: 'aws', id: 'arn:aws:secretsmanager:eu-central-1:1:secret:a-b', field: 'c' },
    ],
    ['vault:kv/a/b#c', { kind: 'vault', mount: 'kv', path: 'a/b', field: 'c' }],
  ])('%s is read', (text, reference) => {
    expect(referenceOf(text)).toEqual(reference)
  })
  it.each([
    'canary',
    'env:',
    'env:a-b',
    'file:',
    'aws:',
    'aws:a#',
    'vault:kv#a',
    'vault:kv/a',
    'vault:kv/../sys#a',
    'vault:kv/./a#b',
    'vault:kv/a?b#c',
  ])('%s is none', (text) => {
    expect(referenceOf(text)).toBeNull()
  })
})

describe('at the start', () => {
  it('reads each place once, whatever number of fields', async () => {
    const before = there.asked
    const store = await openSecrets(ALL, folder, managers)
    expect(ALL.map((text) => store.get(text)?.reveal())).toEqual([
      'canary-file',
      'canary-service',
      'canary-redis',
      'https://node.example/canary-node',
      'canary-kms',
    ])
    expect(there.asked - before).toBe(3)
    store.close()
  })

  it.each([
    ['hang', 'aws:prod/keeper#service', 'secrets.unavailable'],
    ['drop', 'aws:prod/keeper#service', 'secrets.unavailable'],
    ['refuse', 'aws:prod/keeper#service', 'secrets.refused'],
    ['none', 'aws:prod/nothing', 'secrets.not_found'],
    ['none', 'aws:prod/keeper#nothing', 'secrets.not_found'],
    ['none', 'aws:prod/node#field', 'secrets.not_found'],
    ['drop', 'vault:kv/keeper/kms#key', 'secrets.unavailable'],
    ['hang', 'vault:kv/keeper/kms#key', 'secrets.unavailable'],
    ['refuse', 'vault:kv/keeper/kms#key', 'secrets.refused'],
    ['none', 'vault:kv/nothing#key', 'secrets.not_found'],
    ['none', 'vault:kv/keeper/kms#nothing', 'secrets.not_found'],
    ['none', 'file:nothing', 'secrets.unreadable'],
    ['none', 'file:.', 'secrets.not_found'],
  ] as const)(
    'with the fault %s, refuses %s as %s: it names which, and no secret',
    async (fault, text, code) => {
      there.fault = fault
      const error = await openSecrets([text], folder, managers).catch((thrown: RolekeeperError) => thrown)
      expect(error).toMatchObject({ code, fix: expect.stringMatching(/./) })
      const shown = `${JSON.stringify(error)} ${(error as Error).stack} ${String((error as Error).cause)}`
      expect(shown).not.toContain('canary')
      expect(shown).toContain(
        text.split('#')[0]?.replace('file:.', 'file:').replace('file:nothing', 'nothing'),
      )
    },
  )

  it.each([
    ['file:password', 'begins with U+FEFF', () => writeFileSync(join(folder, 'password'), '\ufeffcanary')],
    ['file:password', 'ends with U+0020', () => writeFileSync(join(folder, 'password'), 'canary \n')],
    ['aws:prod/node', 'ends with U+000A', () => there.aws.set('prod/node', 'https://node.example/canary\n')],
    [
      'vault:kv/keeper/kms#key',
      'ends with U+00A0',
      () => there.vault.set('kv/keeper/kms', { key: 'canary\u00a0' }),
    ],
  ] as const)('names what nobody sees at an edge of %s: it %s', async (text, edge, put) => {
    put()
    const error = await openSecrets([text], folder, managers).catch((thrown: RolekeeperError) => thrown)
    expect(error).toMatchObject({ code: 'secrets.unfit' })
    expect((error as Error).message).toBe(
      `What ${text} holds ${edge}, which nobody sees. Fix: take that away there.`,
    )
  })

  it('reads a token of Vault with more line ends behind it, and names what else nobody sees in it', async () => {
    const file = join(folder, 'token')
    const open = () =>
      openSecrets(['vault:kv/keeper/kms#key'], folder, { vault: { url: there.url, token: { file } } })
    writeFileSync(file, 'canary-token\r\n\n')
    expect((await open()).get('vault:kv/keeper/kms#key')?.reveal()).toBe('canary-kms')
    writeFileSync(file, '\ufeffcanary-token\n')
    await expect(open()).rejects.toMatchObject({
      code: 'secrets.unfit',
      shortMessage: `What file:${file} holds begins with U+FEFF, which nobody sees.`,
    })
  })

  it.each(['aws:a', 'vault:kv/a#b'])('says which manager %s needs', async (text) => {
    await expect(openSecrets([text], folder, {})).rejects.toMatchObject({ code: 'secrets.no_manager' })
  })
})

describe('later', () => {
  it('gives the next reveal the new value, also by a token that an agent wrote anew', async () => {
    writeFileSync(join(folder, 'token'), 'canary-token\n')
    const vault = { url: there.url, token: { file: join(folder, 'token') } }
    const store = await openSecrets(ALL, folder, { ...managers, vault })
    const held = ALL.map((text) => store.get(text))
    there.aws.set('prod/keeper', JSON.stringify({ service: 'canary-service-2', redis: 'canary-redis' }))
    there.vault.set('kv/keeper/kms', { key: 'canary-kms-2' })
    there.token = 'canary-token-2'
    writeFileSync(join(folder, 'token'), 'canary-token-2')
    writeFileSync(join(folder, 'password'), 'canary-file-2\r\n')
    expect(await store.refresh()).toBeNull()
    expect(held.map((each) => each?.reveal())).toEqual([
      'canary-file-2',
      'canary-service-2',
      'canary-redis',
      'https://node.example/canary-node',
      'canary-kms-2',
    ])
    // The one before is scrubbed on: what is in flight may carry it.
    expect(held[1]?.known()).toEqual(['canary-service-2', 'canary-service'])
    store.close()
  })

  it.each(['drop', 'refuse'] as const)(
    'goes on with the last known value where they %s, and says so',
    async (fault) => {
      const store = await openSecrets(ALL, folder, managers)
      there.fault = fault
      const problem = await store.refresh()
      expect(problem?.message).toMatch(/aws:prod\/keeper.*last known value/s)
      expect(problem?.message).not.toContain('canary')
      expect(store.get('aws:prod/keeper#service')?.reveal()).toBe('canary-service')
      there.fault = 'none'
      expect(await store.refresh()).toBeNull()
      store.close()
    },
  )

  it('remembers the three values before the present one, and no more', () => {
    const secret = new Secret('canary-1')
    for (const value of ['canary-2', 'canary-2', 'canary-3', 'canary-4', 'canary-5']) secret.replace(value)
    expect(secret.known()).toEqual(['canary-5', 'canary-4', 'canary-3', 'canary-2'])
  })

  it('leaves a value that is not what is demanded', async () => {
    const store = await openSecrets(['aws:prod/node'], folder, managers)
    const node = store.get('aws:prod/node')?.demand((url) => new URL(url).host === 'node.example')
    there.aws.set('prod/node', 'https://other.example/canary')
    expect(await store.refresh()).toMatchObject({ code: 'secrets.unfit' })
    expect(node?.reveal()).toBe('https://node.example/canary-node')
    store.close()
  })

  it('reads anew from time to time, and at once when somebody refused one, but not again and again', async () => {
    const store = await openSecrets(['aws:prod/keeper#service'], folder, managers)
    const sleeps: number[] = []
    let nowMs = 0
    const heard: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const end = store.watch({
      clock: {
        monotonicMs: () => nowMs,
        sleep: async (ms, signal) => {
          sleeps.push(ms)
          if (ms === 60_000) await systemClock.sleep(100_000, signal).catch(() => undefined)
          else nowMs += ms
        },
      },
      everyMs: 60_000,
      onRead: () => (heard.length === 0 ? undefined : resolve()),
      onReplaced: (references) => heard.push(...references),
      onRefused: (reference) => heard.push(`${reference} refused`),
    })
    there.aws.set('prod/keeper', JSON.stringify({ service: 'canary-service-2' }))
    store.stale()
    await promise
    expect(heard).toEqual(['aws:prod/keeper#service'])
    expect(sleeps.slice(0, 2)).toEqual([60_000, 5_000])
    store.stale(store.get('aws:prod/keeper#service'))
    expect(heard.at(-1)).toBe('aws:prod/keeper#service refused')
    end()
    store.close()
  })
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { checkRunConfig, type RunConfig, secretsOf } from '../../src/config/config.ts'
import { agentsOf, seatsOf, storeConfigOf } from '../../src/config/fleet.ts'
import { parseYaml } from '../../src/config/yaml.ts'
import { RolekeeperError } from '../../src/errors.ts'
import { keysOf } from '../../src/journal/redis/link/keys.ts'
import { newDirectory } from '../support/directory.ts'

const text = readFileSync('config/example.yaml', 'utf8')
/** The example with what it has of a fleet uncommented. */
const shared = text.replace(/^# journal:\n(#.*\n)+/m, (section) => section.replaceAll(/^# /gm, ''))
const folder = newDirectory()
const CA = join(folder, 'ca.pem')
/** Of no server; it ends in 2126. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBfTCCASOgAwIBAgIUcwlU0+nWp5VpQbfVNma66jMVxP0wCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIcmVkaXMgY2EwIBcNMjYxMTIyMjEyNTQwWhgPMjEyNjEwMjky
MTI1NDBaMBMxETAPBgNVBAMMCHJlZGlzIGNhMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEIH5e8VW9GxR5AEOpRnzX5Nh8FI7vpmRPn1rY6uhUlVP3QKSG4QFg5E+N
za2hzeodgnumg0XlPZWsOBppuSrE2aNTMFEwHQYDVR0OBBYEFLyqQ3d9A9uvukwQ
7KpeFoFnGfT6MB8GA1UdIwQYMBaAFLyqQ3d9A9uvukwQ7KpeFoFnGfT6MA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgPliky9Ujmf/GQUYlZTeD4ryP
B8lhz6SNh0oeJ44wpmYCIQCx20nnkL3ZeWb6yj8FgAU10PHopBWmVRH4C5g6qVtW
4g==
-----END CERTIFICATE-----
`
const PASSWORD = 'canary-redis'
const env = {
  ROLEKEEPER_NODE_A: 'https://a.example',
  ROLEKEEPER_NODE_B: 'https://b.example',
  ROLEKEEPER_NODE_SEND: 'https://send.example',
  ROLEKEEPER_SECRET_KEY: 'canary-secret-key',
  ROLEKEEPER_INSTANCE: 'b',
  ROLEKEEPER_REDIS_PASSWORD: PASSWORD,
}

const check = (yaml: string, more: Record<string, string> = {}): RunConfig =>
  checkRunConfig(parseYaml('run.yaml', yaml), folder, {
    env: { ...env, ...more },
    isWellKnown: () => false,
  })

/** The example of a fleet with one change, checked: the one line of the error. */
function refusal(from: string | RegExp, to: string, more: Record<string, string> = {}): string {
  const changed = shared.replace(from, to)
  if (changed === shared) throw new TypeError(`the example does not hold ${from}`)
  try {
    check(changed, more)
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    expect(`${error.message} ${inspect(error, { depth: 9 })}`).not.toContain('canary')
    expect(error.message).not.toContain('\n')
    return error.message
  }
  return 'accepted'
}

describe('the configuration of a fleet', () => {
  it('is that of SQLite where nothing is said', () => {
    expect(check(text)).toMatchObject({ journal: {}, queue: 'timers' })
    expect(check(text).fleet).toBeUndefined()
  })

  it('is accepted as the example has it', () => {
    const config = check(shared)
    expect(config).toMatchObject({ queue: 'bullmq', journal: { redis: { replicas: 0 } } })
    expect(config.fleet).toEqual({ name: 'main', instance: 'b', roster: ['a', 'b'], leaseMs: 8000, lagMs: 0 })
    expect(storeConfigOf(config)).toEqual({
      endpoint: {
        host: 'redis.example',
        port: 6379,
        db: 0,
        username: 'rolekeeper',
        password: expect.any(Function),
      },
      fleet: 'main',
      replicas: 0,
      instance: 'b',
    })
  })

  it('counts the password of Redis among the secrets, and never prints it', () => {
    const config = check(shared)
    expect(secretsOf(config)).toContain(PASSWORD)
    const bigints = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
    expect(inspect(config, { depth: 9 }) + JSON.stringify(config, bigints)).not.toContain('canary')
  })

  it('takes the text of a CA, from a file beside its own', () => {
    writeFileSync(CA, CERTIFICATE)
    const tls = shared.replace('redis://redis', 'rediss://redis').replace('# ca: redis-ca.pem', 'ca: ca.pem')
    expect(storeConfigOf(check(tls)).endpoint.ca).toBe(CERTIFICATE)
    expect(() => check(tls.replace('ca.pem', 'run.yaml'))).toThrow(/holds no certificate that can be read/)
    writeFileSync(join(folder, 'key.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    expect(() => check(tls.replace('ca.pem', 'key.pem'))).toThrow(/holds no certificate that can be read/)
  })

  const URL_OF = 'redis://redis.example:6379/0'
  it.each([
    ['a password in the URL', URL_OF, 'redis://:canary@redis.example:6379/0'],
    ['a user in the URL', URL_OF, 'redis://rolekeeper@redis.example:6379/0'],
    ['a password that breaks the URL', URL_OF, 'redis://me:canary#1@redis.example:6379/0'],
    ['a password in what follows the host', URL_OF, '"redis://redis.example:6379/0?password=canary"'],
    ['a fragment', URL_OF, '"redis://redis.example:6379/0#canary"'],
    ['a user and a password without a protocol', URL_OF, 'me:canary@redis.example'],
    ['TLS without a CA', URL_OF, 'rediss://redis.example:6379/0'],
    ['another protocol', URL_OF, 'https://redis.example/0'],
    ['a database that is no number', URL_OF, 'redis://redis.example:6379/main'],
    ['a password in the file', 'env:ROLEKEEPER_REDIS_PASSWORD', 'canary'],
    ['a user name without a password', '    password: env:ROLEKEEPER_REDIS_PASSWORD\n', ''],
    ['one replica too many', 'replicas: "0"', 'replicas: "6"'],
    ['no number of replicas', 'replicas: "0"', 'replicas: all'],
    ['a journal on Redis without a fleet', /^fleet:\n( .*\n)+/m, ''],
    ['a fleet without a journal on Redis', /^journal:\n( .*\n)+queue: bullmq\n/m, ''],
    [
      'BullMQ without a journal on Redis',
      /^journal:\n( .*\n)+queue: bullmq\nfleet:\n( .*\n)+/m,
      'queue: bullmq\n',
    ],
    ['an unknown queue', 'queue: bullmq', 'queue: kafka'],
    ['a watermark beside Redis', '# watermark:', 'watermark:'],
    ['an instance that the roster has not', 'roster: [a, b]', 'roster: [a, c]'],
    ['an instance twice', 'roster: [a, b]', 'roster: [b, a, b]'],
    ['an empty roster', 'roster: [a, b]', 'roster: []'],
    ['a lease one too short', 'leaseMs: "8000"', 'leaseMs: "499"'],
    ['a lease one too long', 'leaseMs: "8000"', 'leaseMs: "60001"'],
    ['a lease with a unit', 'leaseMs: "8000"', 'leaseMs: 8s'],
    ['a lag one too long', 'lagMs: "0"', 'lagMs: "600001"'],
    ['a fleet’s name that ends its keys', 'name: main', 'name: "main}:x"'],
    ['a name of an instance with a space', 'roster: [a, b]', 'roster: [a, "b c"]'],
    ['a mistyped key', 'leaseMs:', 'leaseMS:'],
  ])('refuses %s', (_, from, to) => {
    expect(refusal(from, to)).toMatchSnapshot()
  })

  it('refuses a password in a URL that is a reference', () => {
    const more = { REDIS_URL: 'redis://:canary@redis.example' }
    expect(refusal(URL_OF, 'env:REDIS_URL', more)).toMatch(/url is "env:REDIS_URL"; .*holds a user name or a/)
  })

  it.each(['leaseMs: "500"', 'leaseMs: "60000"'])('takes %s', (lease) => {
    expect(refusal('leaseMs: "8000"', lease)).toBe('accepted')
  })

  it('refuses a zone of an agent where there is no fleet', () => {
    expect(() => check(text.replace('# zone: eu-1', 'zone: eu-1'))).toThrow(
      /agents\[0\]\.zone is "eu-1"; zones are those of a fleet\. Fix: remove `zone`/,
    )
  })

  it('lets several on one machine share a file: each has its directory and its port by reference', () => {
    const own = shared.replace('../.rolekeeper', 'env:OWN').replace('"9464"', 'env:PORT')
    expect(check(own, { OWN: 'b', PORT: '9465' })).toMatchObject({
      directory: join(folder, 'b'),
      ops: { port: 9465 },
    })
    expect(() => check(own, { OWN: 'b', PORT: '65536' })).toThrow(
      'ops.port is "env:PORT"; allowed: 0 to 65535',
    )
  })

  it('names its parts as the keys of Redis take them', () => {
    for (const name of ['main', '0', 'a-b_C', 'a'.repeat(40)]) {
      expect(check(shared.replace('name: main', `name: ${name}`)).fleet?.name).toBe(name)
      expect(keysOf(name).meta).toBe(`{rk:${name}}:meta`)
    }
  })
})

describe('the seats of a configuration', () => {
  const agent = (role: string, signer: string, more: { mode?: 'shadow'; zone?: string } = {}) =>
    ({ role, mode: 'live', signer: { address: `0x${signer}` }, ...more }) as const

  const config = {
    agents: [
      agent('liquidator', 'AB'),
      agent('allocator', 'ab', { zone: 'eu' }),
      agent('liquidator', 'cd'),
      agent('liquidator', 'AB', { mode: 'shadow', zone: 'us' }),
      agent('allocator', 'ab', { mode: 'shadow' }),
    ],
  }

  it('are its signers, and each shadow role’s own', () => {
    expect(seatsOf(config)).toEqual([
      { name: '0xab', zone: 'eu' },
      { name: '0xcd' },
      { name: 'shadow:liquidator:0xab', zone: 'us' },
      { name: 'shadow:allocator:0xab' },
    ])
  })

  it('have every agent once', () => {
    const [first, ...others] = seatsOf(config).map(({ name }) => agentsOf(name, config))
    expect(first).toEqual(config.agents.slice(0, 2))
    expect(others.flat()).toEqual(config.agents.slice(2))
  })

  it('prefer one zone each', () => {
    const agents = shared.slice(
      shared.indexOf('  - role: liquidator'),
      shared.indexOf('  # The same role once'),
    )
    const two = (zone: string) =>
      shared.replace('# zone: eu-1', 'zone: eu-1') +
      agents.replace('liquidator\n', 'allocator\n').replace('# zone: eu-1', zone)
    expect(seatsOf(check(two('# none')))).toHaveLength(1)
    expect(() => check(two('zone: us-1'))).toThrow(
      /agents\[1\]\.zone is "us-1"; agents\[0\] signs with the same key and prefers eu-1\. Fix: give both/,
    )
  })
})

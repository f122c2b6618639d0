import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { foundFleet } from '../../src/journal/redis/generation.ts'
import { type RedisSettings, startRedis } from '../support/redis.ts'
import { openStore, storeAt } from '../support/redis-fleet.ts'

const { services } = z
  .object({
    services: z.record(
      z.string(),
      z.looseObject({
        command: z.array(z.string()),
        environment: z.record(z.string(), z.string().nullable()).default({}),
        volumes: z.array(z.string()),
        healthcheck: z.object({ test: z.array(z.string()).min(2) }),
      }),
    ),
  })
  .parse(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }))

const serviceOf = (name: string) => services[name] ?? expect.fail(`no service ${name}`)

/** The settings that redis-server is started with, by their names in redis.conf. */
const settings: RedisSettings = Object.fromEntries(
  serviceOf('redis')
    .command.slice(1)
    .map((argument) => {
      const [, name = '', value = ''] = /^--(\S+) (.*)$/.exec(argument) ?? expect.fail(argument)
      return [name, value === '""' ? '' : value]
    }),
)

it('has a Redis that a keeper starts on, by settings and not by what Redis does of itself', async () => {
  expect(settings).toMatchObject({
    appendonly: 'yes',
    appendfsync: 'always',
    'no-appendfsync-on-rewrite': 'no',
    'maxmemory-policy': 'noeviction',
  })
  const redis = await startRedis(settings)
  try {
    const config = storeAt(redis.port)
    await foundFleet(config)
    await openStore(config).connect()
  } finally {
    await redis.stop()
  }
})

it('has two keepers that differ in their names and folders alone, and a sandbox that is asked for', () => {
  const of = (name: string) => {
    const { volumes, environment, ...rest } = serviceOf(name)
    const [code, folder] = volumes
    const { ROLEKEEPER_INSTANCE, ROLEKEEPER_OPS_PORT, ...others } = environment
    return { own: { folder, ROLEKEEPER_INSTANCE, ROLEKEEPER_OPS_PORT }, all: { ...rest, code, others } }
  }
  for (const [one, other] of [
    ['keeper-a', 'keeper-b'],
    ['sandbox-a', 'sandbox-b'],
  ] as const) {
    expect(of(one).all).toEqual(of(other).all)
    expect(of(one).own.ROLEKEEPER_INSTANCE).not.toBe(of(other).own.ROLEKEEPER_INSTANCE)
  }
  expect(of('keeper-a').own.folder).not.toBe(of('keeper-b').own.folder)
  // These two share a loopback, and have a folder each inside that of the sandbox.
  expect(of('sandbox-a').own.ROLEKEEPER_OPS_PORT).not.toBe(of('sandbox-b').own.ROLEKEEPER_OPS_PORT)
  const asked = Object.entries(services).filter(([, { profiles }]) => profiles !== undefined)
  expect(asked.map(([name]) => name)).toEqual(['sandbox', 'sandbox-a', 'sandbox-b'])
})

import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it, onTestFailed } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { foundFleet } from '../../src/journal/redis/link/generation.ts'
import { SHIPPED_ROLES } from '../../src/service/contract/roles.ts'
import { QUIET_SEED } from '../lab/conformance/quiet-story.ts'
import { newDirectory } from '../support/directory.ts'
import { type RedisSettings, startRedis } from '../support/redis.ts'
import { openStore, storeAt } from '../support/redis-fleet.ts'
import { removeDirectory } from '../support/sandbox.ts'
import { until } from '../support/until.ts'

const { services } = z
  .object({
    services: z.record(
      z.string(),
      z.looseObject({
        entrypoint: z.array(z.string()).default([]),
        command: z.array(z.string()).default([]),
        environment: z.record(z.string(), z.string().nullable()).default({}),
        volumes: z.array(z.string()),
        hostname: z.string().optional(),
        healthcheck: z.object({ test: z.array(z.string()).min(2) }).optional(),
      }),
    ),
  })
  .parse(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }))
const image = readFileSync('config/Dockerfile', 'utf8')
const [, imageCheck = ''] = /^HEALTHCHECK .* CMD (.*)$/m.exec(image) ?? expect.fail('no health check')

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
    const { volumes, environment, hostname, ...rest } = serviceOf(name)
    const [folder, ...shared] = volumes.toReversed()
    const { ROLEKEEPER_INSTANCE, ROLEKEEPER_OPS_PORT, ...others } = environment
    return { own: { folder, ROLEKEEPER_INSTANCE, ROLEKEEPER_OPS_PORT }, all: { ...rest, shared, others } }
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

it('mounts what is there, and lets Prometheus ask each keeper by the name that it answers to', () => {
  const sources = Object.values(services).flatMap(({ volumes }) =>
    volumes.map((each) => each.split(':')[0] ?? ''),
  )
  const ofReader = (source: string) => !source.startsWith('.//') || source.startsWith('./.rolekeeper/')
  expect(sources.filter((source) => !ofReader(source) && !existsSync(source))).toEqual([])
  const { scrape_configs } = parse(readFileSync('config/prometheus.yaml', 'utf8'))
  const names = Object.values(services).flatMap(({ hostname }) => hostname ?? [])
  expect(scrape_configs[0].static_configs[0].targets).toEqual(names.map((name) => `${name}:9464`))
})

const app = newDirectory()
const ends: (() => unknown)[] = [() => removeDirectory(app)]
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
})

/** What each process has of this machine: where its programs are, and what was compiled of ours before. */
const OURS = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }

/** Start a service of the composition as a process of this machine, in the folder that stands for `/app`. */
function startService(name: string, changes: Record<string, string> = {}, options: readonly string[] = []) {
  const { entrypoint, command, environment } = serviceOf(name)
  // That of the image, where it says nothing else.
  const [program = '', ...args] = [
    ...(entrypoint.length > 0 ? entrypoint : ['node', 'src/cli/main.ts']),
    ...command,
    ...options,
  ]
  const child = spawn(program === 'node' ? process.execPath : program, args, {
    cwd: app,
    env: { ...OURS, ...environment, ...changes },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exited
  }
  ends.push(() => end('SIGKILL'))
  onTestFailed(() => void process.stderr.write(`${name} showed:\n${out.slice(-4_000)}\n`))
  const until = (shown: RegExp, from = 0) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = shown.exec(out.slice(from))
        if (found !== null) resolve(found[1] ?? '')
      }
      child.stdout.on('data', look)
      void exited.then(() => reject(new Error(`${name} ended before it showed ${shown}: ${out}`)))
      look()
    })
  return { until, end, shown: () => out.length }
}

/** Run a service's health check beside it. Throws where it finds it ill. */
const checkHealth = async (name: string, env: Record<string, string> = {}): Promise<void> => {
  const [program, ...args]: string[] = serviceOf(name).healthcheck?.test.slice(1) ?? JSON.parse(imageCheck)
  expect(program).toBe('node')
  await promisify(execFile)(process.execPath, args, { cwd: app, env: { ...OURS, ...env } })
}

/** Wait until a keeper finds itself ready, and holds so many of the seats. */
const untilHeld = (url: string, isEnough: (held: number) => boolean): Promise<void> =>
  until(async () => {
    const response = await fetch(`${url}/readyz`)
    const said = await response.text()
    const { facets } = z
      .object({ facets: z.object({ seats: z.object({ message: z.string() }) }) })
      .parse(JSON.parse(said))
    const held = Number(facets.seats.message.split(` of ${SHIPPED_ROLES.length} held`)[0])
    expect(response.ok && isEnough(held), said).toBe(true)
  }, 100)

it('works as plain processes: two keepers share the duty beside a sandbox, and one goes on without the other', async () => {
  for (const part of ['agents', 'src', 'sandbox', 'package.json', 'node_modules', 'policies'])
    symlinkSync(join(process.cwd(), part), join(app, part))
  mkdirSync(join(app, '.rolekeeper/sandbox'), { recursive: true })
  const redis = await startRedis(settings)
  ends.push(redis.stop)
  const sandbox = startService('sandbox', {}, ['--seed', String(QUIET_SEED)])
  await sandbox.until(/is ready/)
  const file = join(app, '.rolekeeper/sandbox/fleet.yaml')
  const changed = readFileSync(file, 'utf8')
    // A quarter of the lease that is the default, for a test that waits for one to pass.
    .replace('"roster"', '"leaseMs": "2000", "roster"')
    .replace(/("url": "env:ROLEKEEPER_REDIS")/, '$1, "username": "rolekeeper", "password": "env:PASSWORD"')
  writeFileSync(file, changed)
  await foundFleet(storeAt(redis.port, 'sandbox'))
  const [, user = '', rules = ''] =
    /^user (\w+) (on .*)$/m.exec(readFileSync('docs/fleet.md', 'utf8')) ?? expect.fail('no user in docs')
  const client = redis.client()
  await client.acl('SETUSER', user, ...rules.replace('{rk:main}', '{rk:sandbox}').split(' '))

  const [a, b] = await Promise.all(
    ['sandbox-a', 'sandbox-b'].map(async (name) => {
      const given = serviceOf(name).environment.ROLEKEEPER_REDIS ?? ''
      const ROLEKEEPER_REDIS = given.replace('//redis:6379', `//127.0.0.1:${redis.port}`)
      const keeper = startService(name, { ROLEKEEPER_REDIS, ROLEKEEPER_OPS_PORT: '0', PASSWORD: 'PASSWORD' })
      return { ...keeper, url: await keeper.until(/ready .*(http:\S+)/) }
    }),
  )
  if (a === undefined || b === undefined) return expect.fail('two keepers were started')
  await untilHeld(a.url, (held) => held >= 2)
  await untilHeld(b.url, (held) => held >= 2)
  // As Docker does, which asks again before it calls a service ill.
  await until(() => checkHealth('sandbox'), 100)
  await until(() => checkHealth('sandbox-b', { ROLEKEEPER_OPS_PORT: new URL(b.url).port }), 100)
  await a.end('SIGKILL')
  await expect(checkHealth('sandbox-a', { ROLEKEEPER_OPS_PORT: new URL(a.url).port })).rejects.toThrow()
  await untilHeld(b.url, (held) => held === SHIPPED_ROLES.length)
  await b.until(/succeeded/, b.shown())
  // The user that the page gives Redis may do all that this took.
  expect(await client.acl('LOG')).toEqual([])
})

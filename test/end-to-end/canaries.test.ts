import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rolekeeper } from '../../src/cli/dispatch.ts'
import { openRunConfig } from '../../src/config/config.ts'
import { storeConfigOf } from '../../src/config/fleet.ts'
import { foundFleet } from '../../src/journal/redis/link/generation.ts'
import { linkOf, readPlace } from '../../src/ops/console/access.ts'
import { type Collector, startCollector } from '../support/collector.ts'
import { newDirectory } from '../support/directory.ts'
import {
  createKeeperScene,
  ENVIRONMENT,
  type KeeperScene,
  reached,
  startTestKeeper,
  type TestKeeper,
} from '../support/keeper-scene.ts'
import { freePort } from '../support/loopback.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { DURABLE } from '../support/redis-fleet.ts'
import { type SecretManagers, startSecretManagers } from '../support/secret-managers.ts'

let world: KeeperScene
let node: Awaited<ReturnType<typeof startNode>>
let target: Server
let targetPort: number
let collector: Collector
let managers: SecretManagers
let redis: TestRedis
let held: string

/** Each is as odd as where it stands lets it be, so that a form of it differs from it. */
const CANARY = {
  node: 'cnryNode7f3a91c2%2Fkey',
  redis: 'cnryRedis55"%/x',
  webhook: 'cnryWebhook93"%/y',
  alarmUrl: 'cnryAlarmUrl11b7',
  alarmKey: 'cnryAlarmKey42"%/z',
  traces: 'cnryTraces87d1"%',
  source: 'cnrySource64f0"%',
  vaultToken: 'cnryVaultToken31c8',
  awsKey: 'cnryAwsKey77a2',
  ...ENVIRONMENT,
}

/** A node whose address holds a key, and which tells it to whoever listens when it fails. */
async function startNode(to: string) {
  const state = { fault: 'none' as 'none' | 401 | 500 | 'rpc' }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const says = `no such key: http://node.example${request.url}`
    if (state.fault === 'rpc') {
      const error = { jsonrpc: '2.0', id: 0, error: { code: -32_000, message: says, data: says } }
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(error))
    }
    if (state.fault !== 'none') return void response.writeHead(state.fault).end(says)
    const answer = await fetch(to, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat(chunks),
    }).catch(() => null)
    if (answer === null) return void response.writeHead(502).end()
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    state,
    server,
    url: `http://cnryUser:cnryPass88@127.0.0.1:${portOf(server)}/v2/${CANARY.node}?k=${CANARY.node}`,
  }
}

function portOf(server: Server): number {
  const address = server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}

beforeEach(async () => {
  world = await createKeeperScene()
  node = await startNode(world.config().chain.nodes.read[0]?.reveal() ?? '')
  target = createServer((request, response) => response.writeHead(500).end(`failed: ${request.url}`)).listen(
    0,
    '127.0.0.1',
  )
  await once(target, 'listening')
  targetPort = portOf(target)
  collector = await startCollector()
  managers = await startSecretManagers(CANARY.vaultToken)
  redis = await startRedis(DURABLE)
  managers.vault.set('kv/keeper', { node: node.url, webhook: CANARY.webhook })
  managers.aws.set('keeper', JSON.stringify({ alarm: CANARY.alarmKey, service: ENVIRONMENT.TEST_SECRET_KEY }))
  held = newDirectory()
  writeFileSync(join(held, 'redis'), CANARY.redis)
})
afterEach(async () => {
  await world.stop()
  for (const server of [node.server, target]) {
    server.closeAllConnections()
    server.close()
  }
  await Promise.all([collector.close(), managers.close(), redis.stop()])
  rmSync(held, { recursive: true, force: true })
})

const env = {
  ...ENVIRONMENT,
  ALARM_URL: '',
  TRACES: CANARY.traces,
  SOURCE: CANARY.source,
  VAULT_TOKEN: CANARY.vaultToken,
  AWS_KEY: CANARY.awsKey,
}

/** A run configuration with a canary in each place of a secret. */
async function configWith(changes: Readonly<Record<string, unknown>>) {
  env.ALARM_URL = `http://127.0.0.1:${targetPort}/${CANARY.alarmUrl}?k=${CANARY.alarmUrl}`
  const { id, finality } = world.config().chain
  const nodes = { read: ['vault:kv/keeper#node'], send: ['vault:kv/keeper#node'] }
  const webhook = {
    host: '127.0.0.1',
    port: String(await freePort()),
    path: '/w',
    secrets: ['vault:kv/keeper#webhook'],
  }
  const file = world.configFile({
    chain: { id: String(id), finality, nodes },
    service: { url: world.service.url, secretKey: 'aws:keeper#service', webhook },
    alarms: [{ name: 'one', kind: 'webhook', url: 'env:ALARM_URL', key: 'aws:keeper#alarm' }],
    traces: { url: collector.url, headers: { authorization: 'env:TRACES' } },
    console: { host: '127.0.0.1', port: '0' },
    sources: [{ name: 'admin', url: 'env:ALARM_URL', headers: { authorization: 'env:SOURCE' } }],
    secrets: {
      everyMs: '1000',
      aws: { region: 'eu-1', endpoint: managers.url, accessKeyId: 'AK', secretAccessKey: 'env:AWS_KEY' },
      vault: { url: managers.url, token: 'env:VAULT_TOKEN' },
    },
    ...changes,
  })
  return { file, config: await openRunConfig(file, { env, isWellKnown: () => false }), webhook }
}

/** What a text holds of the canaries, in whatever form. */
function leaks(where: string, text: string): readonly string[] {
  return [...Object.entries(CANARY), ['user', 'cnryPass88'] as const].flatMap(([name, value]) =>
    formsOf(value).flatMap((form) => (text.includes(form) ? [`${where}: ${name} as ${form}`] : [])),
  )
}

/** As it is, as JSON, URLs and hex write it, and as base64 does wherever in a longer text it stands. */
function formsOf(value: string): readonly string[] {
  const inBase64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.from('x'.repeat(before) + value)
      .toString('base64')
      .replace(/=+$/, '')
    const whole = text.slice(before === 0 ? 0 : 4, -2)
    return [whole, whole.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const hex = Buffer.from(value).toString('hex')
  return [
    ...new Set([
      value,
      JSON.stringify(value).slice(1, -1),
      encodeURIComponent(value),
      decodeURIComponent(value.replace(/%(?!2F)/g, '%25')),
    ]),
    ...inBase64,
    ...[hex, hex.toUpperCase()],
  ]
}

const FORMS = [
  CANARY.redis,
  JSON.stringify({ at: CANARY.redis }),
  `?k=${encodeURIComponent(CANARY.redis)}`,
  Buffer.from(`user:${CANARY.redis}`).toString('base64'),
  Buffer.from(CANARY.redis).toString('hex'),
]

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    const found = statSync(path, { throwIfNoEntry: false })
    return found === undefined ? [] : found.isDirectory() ? filesIn(path) : found.isFile() ? [path] : []
  })

/** Let everything fail that holds a secret, one after the other, and a liquidation succeed between. */
async function letItFail(keeper: TestKeeper, port: string, directory: string): Promise<string[]> {
  const pages: string[] = []
  const look = async () => {
    pages.push(await consoleOf(directory))
    for (const path of ['/metrics', '/readyz', '/healthz', '/status']) pages.push(await keeper.page(path))
  }
  // An instance of a fleet takes its seat later.
  const isReady = async () => JSON.parse(await keeper.page('/readyz')).ready
  await expect.poll(isReady).toBe(true)
  // A key that is denied before its role is up keeps it down.
  await keeper.until((event) => event.type === 'decision')
  await fetch(`http://127.0.0.1:${port}/w`, { method: 'POST', body: CANARY.webhook.slice(0, 4) })
  world.kms.setFault({ deny: true })
  await world.openUnderWater()
  const alarmed = (code: string) => keeper.until((event) => event.type === 'alarm' && event.code === code)
  await keeper.until(reached('in_flight'))
  await look()
  world.kms.setFault({ deny: false })
  await keeper.until(reached('succeeded'))
  managers.fault = 'drop'
  await alarmed('secrets.unavailable')
  managers.fault = 'none'
  for (const fault of [401, 500, 'rpc'] as const) {
    node.state.fault = fault
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    await look()
  }
  node.state.fault = 'none'
  for (const status of [401, 500] as const) {
    world.service.setFault({ fail: { path: /./, status } })
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    await look()
  }
  world.service.setFault({})
  return pages
}

/** What the console says to who is signed in: its session, one reading of every part, and why. */
async function consoleOf(directory: string): Promise<string> {
  const place = readPlace(directory)
  if (place === null) throw new TypeError('no console was opened')
  const { url } = place
  const key = decodeURIComponent(new URL(linkOf(place, 'ann@desk', Date.now())).hash.slice(1))
  const session = await fetch(`${url}/session`, {
    method: 'POST',
    body: JSON.stringify({ key }),
    headers: { 'content-type': 'application/json', origin: url },
  })
  const headers = { cookie: session.headers.getSetCookie().join('; ') }
  const why = await fetch(`${url}/why?about=liquidator`, { headers })
  const { body } = await fetch(`${url}/events`, { headers })
  let text = `${await session.text()}${await why.text()}`
  for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    // It comes last of one reading.
    if (text.includes('event: nodes')) break
  }
  for (const part of ['keeper', 'facets', 'alarms', 'nodes']) expect(text).toContain(`event: ${part}`)
  return text
}

async function commandsAt(file: string): Promise<string> {
  const said: string[] = []
  const io = {
    out: (text: string) => void said.push(text),
    err: (text: string) => void said.push(text),
    outIsTty: false,
    errIsTty: false,
    env,
  }
  for (const line of [
    'workflows list --json',
    'audit export --json',
    'explain liquidator',
    'status --json',
    'doctor --json',
  ]) {
    await rolekeeper([...line.split(' '), '--config', file], io)
  }
  return said.join('')
}

/** What is found of any canary in all that a keeper wrote and said. */
async function found(changes: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const { file, config, webhook } = await configWith(changes)
  if (config.fleet !== undefined) await foundFleet(storeConfigOf(config))
  // Its log has no scrubber: what only that would take out is found too.
  const keeper = await startTestKeeper(config)
  let pages: readonly string[]
  try {
    pages = await letItFail(keeper, webhook.port, config.directory)
  } finally {
    await keeper.keeper.stop({ drainMs: 0 })
  }
  const said = await commandsAt(file)
  return [
    ...leaks('log', keeper.log.join('')),
    ...leaks('events', JSON.stringify(keeper.events)),
    ...leaks('summary', JSON.stringify(keeper.keeper.summary())),
    ...leaks('pages', pages.join('')),
    ...leaks('commands', said),
    ...leaks('traces', collector.bodies.join('')),
    ...leaks(
      'configuration',
      `${JSON.stringify(config, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`,
    ),
    ...filesIn(config.directory).flatMap((path) => leaks(path, readFileSync(path, 'latin1'))),
  ]
}

describe('a canary in every place of a secret', () => {
  it('is in nothing that a keeper alone wrote or said, whatever failed', async () => {
    // Whatever form it has, it is found.
    for (const form of FORMS) expect(leaks('here', `before ${form} after`)).not.toEqual([])
    expect(await found({})).toEqual([])
    expect(collector.spans.length).toBeGreaterThan(10)
  })

  it('is in nothing of an instance of a fleet, and not in Redis', async () => {
    const open = redis.client()
    await open.config('SET', 'requirepass', CANARY.redis)
    const { arn: keyId, address } = world.kms.keys[1] ?? {}
    const journal = {
      redis: { url: `redis://127.0.0.1:${redis.port}/0`, password: `file:${join(held, 'redis')}` },
    }
    expect(
      await found({
        agents: [world.liquidator({ signer: { kms: { keyId, address } } })],
        directory: join(world.directory, 'a'),
        journal,
        queue: 'bullmq',
        fleet: { name: 'main', instance: 'a', roster: ['a'], leaseMs: '4000' },
      }),
    ).toEqual([])
    const keys = await open.keys('*')
    const values = await Promise.all(keys.map((key) => contentOf(key, open)))
    expect(keys.length).toBeGreaterThan(5)
    expect(leaks('redis', `${keys.join('\n')}${JSON.stringify(values)}`)).toEqual([])
  })
})

async function contentOf(key: string, client: ReturnType<TestRedis['client']>): Promise<unknown> {
  const type = await client.type(key)
  if (type === 'hash') return client.hgetall(key)
  if (type === 'zset') return client.zrange(key, '0', '-1')
  if (type === 'list') return client.lrange(key, 0, -1)
  if (type === 'set') return client.smembers(key)
  if (type === 'stream') return client.xrange(key, '-', '+')
  return client.get(key)
}

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { KeeperEvent } from '../../src/ops/events.ts'
import {
  createKeeperScene,
  ENVIRONMENT,
  type KeeperScene,
  liquidationOf,
  type TestKeeper,
} from '../support/keeper-scene.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { startNodeProxy } from '../support/node-proxy.ts'
import { until } from '../support/until.ts'

let world: KeeperScene
let front: Server | undefined

beforeAll(async () => {
  world = await createKeeperScene()
})
afterEach(async () => {
  world.kms.setFault({ deny: false, hang: false })
  await world.rest()
  front?.close().closeAllConnections()
  front = undefined
  await world.mineEvery(1)
})
afterAll(() => world.stop())

const ALLOCATOR = fileURLToPath(new URL('../../policies/allocator.yaml', import.meta.url))
const NOBODY: Address = `0x${'33'.repeat(20)}`
const UNKNOWN_KEY = 'arn:aws:kms:us-east-1:000000000000:key/99999999-2222-4333-8444-555555555555'

const allocator = (changes: Readonly<Record<string, unknown>> = {}) => ({
  role: 'allocator',
  mode: 'shadow',
  policy: ALLOCATOR,
  signer: { kms: { keyId: UNKNOWN_KEY, address: NOBODY } },
  ...changes,
})

const isRole = (role: string, state: 'up' | 'down') => (event: KeeperEvent) =>
  event.type === 'role' && event.role === role && event.state === state
const alarms = ({ events }: TestKeeper, code: string) =>
  events.filter((event) => event.type === 'alarm' && event.code === code)

/** Leave one liquidation in flight: its transactions are with the node, and no block takes them. */
async function leaveInFlight() {
  const isMine = liquidationOf(await world.openUnderWater())
  const keeper = await world.start()
  await keeper.until(isMine('cleared'))
  await world.mineEvery(0)
  await keeper.untilSlot(isMine('cleared'), 'sent')
  await world.rest()
  return isMine
}
const signs = () => world.kms.calls().filter(({ operation }) => operation === 'Sign').length

it.each([
  ['a KMS key that is refused', { mode: 'live' }, 'kms.not_found'],
  ['a service key that is refused', { secretKey: 'env:TEST_KMS_SECRET' }, 'service.unauthorized'],
  ['a policy that is not there', { policy: 'nowhere.yaml' }, 'config.unreadable'],
])('is not stopped by %s: that role is down and says why, the other works', async (_, changes, check) => {
  const keeper = await world.start({ agents: [allocator(changes), world.liquidator()] })
  await keeper.until((event) => event.type === 'decision' && event.role === 'liquidator')
  expect(await keeper.until(isRole('allocator', 'down'))).toMatchObject({ check })
  expect(alarms(keeper, 'role.down')).toHaveLength(1)
  expect(JSON.parse(await keeper.page('/readyz')).facets).toMatchObject({
    'role/allocator': { state: 'failing', code: check },
    'role/liquidator': { state: 'ok' },
  })
  const metrics = await keeper.page('/metrics')
  expect(metrics).toContain('rolekeeper_role_up{role="allocator"} 0')
  expect(metrics).toContain('rolekeeper_role_up{role="liquidator"} 1')
})

it('follows to its end what is public while its key is denied at the start, and signs again once it is not', async () => {
  const isMine = await leaveInFlight()
  world.kms.setFault({ deny: true })
  const past = signs()
  const keeper = await world.start({ agents: [world.liquidator()] })
  expect(await keeper.until(isRole('liquidator', 'down'))).toMatchObject({ check: 'kms.denied' })
  await world.mineEvery(1)
  await keeper.until(isMine('succeeded'))
  expect(signs()).toBe(past)
  world.kms.setFault({ deny: false })
  await keeper.until(isRole('liquidator', 'up'))
  await keeper.until((event) => event.type === 'decision')
})

it('follows to its end what a removed role left, with one alarm and without a step that fails', async () => {
  const isMine = await leaveInFlight()
  const keeper = await world.start({ agents: [allocator()] })
  await world.mineEvery(1)
  await keeper.until(isMine('succeeded'))
  expect(alarms(keeper, 'role.absent')).toHaveLength(1)
  expect(keeper.log.filter((line) => line.includes('a step failed'))).toEqual([])
})

it('follows to its end what is public while one of three nodes is on another chain, and says so', async () => {
  const isMine = await leaveInFlight()
  const proxies = await Promise.all([1, 2, 3].map(() => startNodeProxy(world.scene.chain.rpcUrl)))
  proxies[0]?.setFaults({ methods: ['eth_chainId'], deed: { kind: 'result', result: '0x1' } })
  const read = proxies.map(({ url }) => url)
  const chain = { id: String(world.config().chain.id), finality: 'finalized' }
  try {
    const keeper = await world.start({ chain: { ...chain, nodes: { read, send: read.slice(1) } } })
    await world.mineEvery(1)
    await keeper.until(isMine('succeeded'))
    expect(await keeper.page('/metrics')).toContain('rolekeeper_node_state{node="read-1",state="down"} 1')
    expect(alarms(keeper, 'node.wrong_chain')).toHaveLength(1)
    await world.rest()
  } finally {
    for (const { stop } of proxies) await stop()
  }
})

/** A node and a service in front of the scene's, which, once told, take every request, send headers, and then nothing. */
async function startStalling() {
  const node = await startNodeProxy(world.scene.chain.rpcUrl)
  const stalled = Promise.withResolvers<void>()
  let stalls = false
  front = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (stalls) {
      response.writeHead(200).flushHeaders()
      return stalled.resolve()
    }
    const { method = 'GET', url = '/', headers } = request
    const sent = ['authorization', 'content-type', 'idempotency-key', 'x-wallet-session'].flatMap((name) =>
      typeof headers[name] === 'string' ? [[name, headers[name]] as [string, string]] : [],
    )
    const body = method === 'POST' ? await text(request) : null
    const answer = await fetch(new URL(url, world.service.url), { method, headers: sent, body })
    response.writeHead(answer.status).end(await answer.text())
  })
  const port = await listenOnLoopback(front)
  return {
    changes: {
      directory: join(world.directory, randomUUID()),
      agents: [world.liquidator()],
      chain: {
        id: String(world.config().chain.id),
        finality: 'finalized',
        nodes: { read: [node.url], send: [node.url] },
      },
      service: { url: `http://127.0.0.1:${port}`, secretKey: 'env:TEST_SECRET_KEY' },
    },
    stall: () => {
      stalls = true
      node.setFaults({ deed: { kind: 'headers_only' } })
      world.kms.setFault({ hang: true })
    },
    stalled: stalled.promise,
    /** The node was asked something. */
    asked: () => until(() => expect(node.requests()).toBeGreaterThan(0)),
    stop: node.stop,
  }
}

it('stops while node, service and KMS send headers and then nothing', async () => {
  const outside = await startStalling()
  const keeper = await world.start(outside.changes)
  await keeper.until((event) => event.type === 'decision')
  outside.stall()
  await outside.stalled
  await keeper.keeper.stop({ drainMs: 0 })
  await outside.stop()
})

it.each([
  ['before it is ready', false],
  ['while it works', true],
])('ends by a SIGTERM %s, with all of them stalling', async (_, works) => {
  const outside = await startStalling()
  const file = world.configFile(outside.changes)
  if (!works) outside.stall()
  const child = spawn(process.execPath, [resolve('src/cli/main.ts'), 'run', '--config', file, '--json'], {
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(child, 'exit')
  try {
    if (works) {
      for await (const line of createInterface({ input: child.stdout })) {
        if (JSON.parse(line).type === 'decision') break
      }
      outside.stall()
    }
    await (works ? outside.stalled : outside.asked())
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
    await outside.stop()
  }
})

it('starts although the first answer of the service is garbage', async () => {
  let garbage = 1
  front = createServer(async (request, response) => {
    if (garbage > 0 && request.url?.startsWith('/v1/deployments')) {
      garbage -= 1
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[')
      return
    }
    const headers = { authorization: request.headers.authorization ?? '' }
    const answer = await fetch(new URL(request.url ?? '/', world.service.url), { headers })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  const port = await listenOnLoopback(front)
  const keeper = await world.start({
    agents: [world.liquidator()],
    service: { url: `http://127.0.0.1:${port}`, secretKey: 'env:TEST_SECRET_KEY' },
  })
  expect(await keeper.until(isRole('liquidator', 'down'))).toMatchObject({ check: 'service.garbage' })
  await keeper.until(isRole('liquidator', 'up'))
})

import { rmSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEventLog, type EventLog } from '../../../../sandbox/service/events/events.ts'
import { openStore, type Store } from '../../../../sandbox/service/store.ts'
import { createDeliveryRows, type DeliveryRows } from '../../../../sandbox/service/webhooks/delivery-rows.ts'
import { type Dispatcher, startDispatcher } from '../../../../sandbox/service/webhooks/dispatcher.ts'
import {
  createEndpointRows,
  type EndpointRows,
  newEndpoint,
} from '../../../../sandbox/service/webhooks/endpoint-rows.ts'
import {
  type Resolve,
  readReceiverUrl,
  receiverAddresses,
} from '../../../../sandbox/service/webhooks/receiver-address.ts'
import type { Clock } from '../../../../src/clock.ts'
import { createWebhookInbox } from '../../../../src/service/events/webhook.ts'
import { leapingClock } from '../../../service/clocks.ts'
import { newDirectory } from '../../../support/directory.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'
import { attempts } from '../../../support/webhook-witness/corpus.ts'
import { createReceiver, type Delivery } from '../../../support/webhook-witness/receiver.ts'

const APPLICATION = 'app_1'

type Arrived = Delivery & { readonly path: string; readonly subject: string }
type World = {
  store: Store
  log: EventLog
  endpoints: EndpointRows
  deliveries: DeliveryRows
  dispatcher: Dispatcher
}

let directory: string
let world: World
let clock: Clock
let resolve: Resolve
/** Runs before a delivery's row is written. */
let settling: () => void
const crashes: unknown[] = []
let server: Server
let receiverUrl: string
let arrived: Arrived[]
/** How the receiver answers; 204 unless a test says otherwise. */
let answer: (delivery: Arrived, response: ServerResponse) => void

function open(allowLoopback = true): void {
  const store = openStore(join(directory, 'service.sqlite'), 'secret')
  const log = createEventLog(store, clock)
  const [endpoints, deliveries] = [createEndpointRows(store), createDeliveryRows(store)]
  const onCrash = (error: unknown) => crashes.push(error)
  const dispatcher = startDispatcher({
    store,
    log,
    endpoints,
    clock,
    allowLoopback,
    onCrash,
    deliveries: {
      ...deliveries,
      settle: (delivery) => {
        settling()
        deliveries.settle(delivery)
      },
    },
    resolve: (hostname) => resolve(hostname),
  })
  world = { store, log, endpoints, deliveries, dispatcher }
}
async function close(): Promise<void> {
  await world.dispatcher.stop()
  world.store.close()
}

function endpoint(path = '', eventTypes: readonly string[] = [], applicationId = APPLICATION) {
  const url = path.includes('://') ? path : `${receiverUrl}${path}`
  const made = newEndpoint(applicationId, { url, eventTypes, status: 'enabled' }, world.log.head(), 0)
  world.endpoints.insert(made)
  return made
}
const emit = (...subjects: string[]) =>
  world.log.append(
    subjects.map((subject) => ({ type: 'markets.updated', subject, data: { pad: 'ü "1.5"' } })),
  )
const rows = (applicationId = APPLICATION) => world.deliveries.ofApplication(applicationId)
const statuses = () => rows().map(({ status }) => status)
const subjects = () => arrived.map(({ subject }) => subject)

describe('webhook deliveries', () => {
  beforeEach(async () => {
    directory = newDirectory()
    clock = leapingClock()
    resolve = async () => []
    settling = () => {}
    arrived = []
    answer = (_delivery, response) => response.writeHead(204).end()
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const body = Buffer.concat(chunks)
      const { subject } = JSON.parse(body.toString())
      const headers = Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)]))
      const delivery = { headers, body, path: request.url ?? '', subject }
      arrived.push(delivery)
      answer(delivery, response)
    })
    receiverUrl = `http://127.0.0.1:${await listenOnLoopback(server)}/`
    open()
  })
  afterEach(async () => {
    server.closeAllConnections()
    await world.dispatcher.stop()
    world.store.close()
    server.close()
    rmSync(directory, { recursive: true })
    expect(crashes.splice(0)).toEqual([])
  })

  it('are taken by a receiver written from the document and by ours, and none of 10,000 forged ones is', async () => {
    const { secret } = endpoint()
    for (let sent = 0; sent < 1_000; sent += 100) {
      emit(...Array.from({ length: 100 }, (_, index) => `subject ${(sent + index) % 250}`))
      await world.dispatcher.idle()
    }
    const nowMs = clock.nowMs()
    const at = { nowMs }
    const witness = createReceiver(secret)
    const inbox = createWebhookInbox(
      () => [secret],
      { nowMs: () => at.nowMs },
      () => true,
    )
    const ours = ({ headers, body }: Delivery) => {
      const received = inbox.receive({
        signature: headers['svc-signature'],
        deliveryId: headers['svc-delivery-id'],
        body,
      })
      return received.ok && received.outcome === 'taken'
    }
    expect(arrived).toHaveLength(1_000)
    expect(arrived.filter((delivery) => witness(delivery, nowMs) !== 'accepted')).toEqual([])
    expect(arrived.filter((delivery) => !ours(delivery))).toEqual([])
    const passed: string[] = []
    for (const attempt of attempts(arrived, 10_000, 7)) {
      at.nowMs = attempt.nowMs
      if (witness(attempt.delivery, attempt.nowMs) === 'accepted') passed.push(`witness: ${attempt.kind}`)
      if (ours(attempt.delivery)) passed.push(`ours: ${attempt.kind}`)
    }
    expect(passed).toEqual([])
    expect(statuses().filter((status) => status !== 'delivered')).toEqual([])
  })

  it('keep their order for one subject through failures, and let other subjects pass', async () => {
    endpoint()
    const failed = new Set<string>()
    const taken: string[] = []
    answer = ({ headers, subject, body }, response) => {
      const id = headers['svc-delivery-id'] ?? ''
      const fails = subject === 'slow' && !failed.has(id)
      failed.add(id)
      if (!fails) taken.push(`${subject} ${JSON.parse(body.toString()).data.n}`)
      response.writeHead(fails ? 500 : 200).end()
    }
    const change = (subject: string, n: number) => ({ type: 'markets.updated', subject, data: { n } })
    world.log.append([1, 2, 3].flatMap((n) => [change('slow', n), change('quick', n)]))
    await world.dispatcher.idle()
    expect(taken.filter((text) => text.startsWith('slow'))).toEqual(['slow 1', 'slow 2', 'slow 3'])
    expect(taken.filter((text) => text.startsWith('quick'))).toEqual(['quick 1', 'quick 2', 'quick 3'])
    expect(taken.indexOf('quick 1')).toBeLessThan(taken.indexOf('slow 1'))
  })

  it('are brought again, in order, when their row could not be written', async () => {
    endpoint()
    const disk = new RangeError('the disk is full')
    settling = () => {
      settling = () => {}
      throw disk
    }
    const change = (n: number) => ({ type: 'markets.updated', subject: 'x', data: { n } })
    world.log.append([1, 2, 3].map(change))
    await world.dispatcher.idle()
    world.log.append([change(4)])
    await world.dispatcher.idle()
    expect(arrived.map(({ body }) => JSON.parse(body.toString()).data.n)).toEqual([1, 1, 2, 3, 4])
    expect(rows().map(({ status, attempts }) => [status, attempts])).toEqual(Array(4).fill(['delivered', 1]))
    expect(crashes.splice(0)).toEqual([disk])
  })

  it('are brought whenever they are made while the one before them ends', async () => {
    endpoint()
    for (let turns = 1; turns <= 10; turns += 1) {
      settling = () => {
        settling = () => {}
        void (async () => {
          for (let turn = 0; turn < turns; turn += 1) await Promise.resolve()
          emit('x')
        })()
      }
      emit('x')
      await world.dispatcher.idle()
    }
    await world.dispatcher.idle()
    expect(statuses()).toEqual(Array(20).fill('delivered'))
  })

  it('are tried eight times with a doubling wait, go to the dead letters, and hold up nothing after', async () => {
    const leaping = leapingClock()
    clock = leaping
    await close()
    open()
    endpoint()
    const ids = new Set<string>()
    answer = ({ headers }, response) => {
      ids.add(headers['svc-delivery-id'] ?? '')
      response.writeHead(ids.size > 1 ? 200 : 503).end()
    }
    emit('x', 'x')
    await world.dispatcher.idle()
    expect(rows()).toMatchObject([
      { status: 'dead_letter', attempts: 8, responseStatus: 503, nextAttemptMs: null },
      { status: 'delivered', attempts: 1, responseStatus: 200 },
    ])
    const full = [1, 2, 4, 8, 16, 32, 60].map((seconds) => seconds * 1_000)
    expect(leaping.sleptMs).toHaveLength(full.length)
    for (const [index, ms] of leaping.sleptMs.entries()) {
      expect(ms).toBeGreaterThanOrEqual((full[index] ?? 0) / 2)
      expect(ms).toBeLessThanOrEqual(full[index] ?? 0)
    }
    const signedAt = arrived.map(({ headers }) =>
      Number(/^t=(\d+)/.exec(headers['svc-signature'] ?? '')?.[1]),
    )
    expect((signedAt[7] ?? 0) - (signedAt[0] ?? 0)).toBeGreaterThanOrEqual(60)
  })

  it('go on after a restart: what was left, and what happened meanwhile', async () => {
    // What failed is not tried again before the restart.
    const { nowMs } = leapingClock()
    const sleep: Clock['sleep'] = (_ms, signal) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    clock = { nowMs, monotonicMs: nowMs, sleep }
    await close()
    open()
    endpoint()
    answer = (_delivery, response) => response.writeHead(500).end()
    emit('left')
    await expect.poll(() => statuses()).toEqual(['retrying'])
    await world.dispatcher.stop()
    emit('meanwhile')
    world.store.close()
    answer = (_delivery, response) => response.writeHead(204).end()
    clock = leapingClock()
    open()
    await world.dispatcher.idle()
    expect(statuses()).toEqual(['delivered', 'delivered'])
    expect(rows().map(({ subject, attempts }) => [subject, attempts])).toEqual([
      ['left', 2],
      ['meanwhile', 1],
    ])
    const left = arrived.filter(({ subject }) => subject === 'left')
    expect(new Set(left.map(({ headers }) => headers['svc-delivery-id'])).size).toBe(1)
  })

  it('hold only what was asked for, and only what the application may hear', async () => {
    endpoint('all')
    endpoint('oracles', ['oracles.updated', 'workflow.liquidate.updated'])
    endpoint('other', [], 'app_2')
    const change = (type: string, subject: string) => ({ type, subject, data: {} })
    world.log.append([
      change('markets.updated', 'm'),
      change('oracles.updated', 'o'),
      { ...change('workflow.liquidate.updated', 'w'), applicationId: APPLICATION },
      { ...change('workflow.liquidate.updated', 'v'), applicationId: 'app_2' },
    ])
    await world.dispatcher.idle()
    const at = (path: string) =>
      arrived.filter((one) => one.path === `/${path}`).map(({ subject }) => subject)
    expect(at('all').toSorted()).toEqual(['m', 'o', 'w'])
    expect(at('oracles').toSorted()).toEqual(['o', 'w'])
    expect(at('other').toSorted()).toEqual(['m', 'o', 'v'])
  })

  it('stop when their receiver is disabled', async () => {
    const { id, url } = endpoint()
    answer = (_delivery, response) => {
      world.endpoints.update(id, { url, eventTypes: [], status: 'disabled', place: 0 }, 0)
      response.writeHead(500).end()
    }
    emit('x')
    await world.dispatcher.idle()
    emit('y')
    await world.dispatcher.idle()
    expect(rows()).toMatchObject([{ status: 'dead_letter', attempts: 1, responseStatus: 500 }])
  })

  it('wait in the log beyond a thousand, and hold up no other receiver', async () => {
    const held: ServerResponse[] = []
    endpoint('hangs')
    answer = ({ path }, response) => {
      if (path === '/hangs') held.push(response)
      else response.writeHead(204).end()
    }
    emit(...Array.from({ length: 1_200 }, (_, index) => `s${index}`))
    await expect.poll(() => held.length).toBe(8)
    expect(rows()).toHaveLength(1_000)
    endpoint('quick')
    emit('now')
    await expect.poll(() => arrived.at(-1)?.path).toBe('/quick')
    answer = (_delivery, response) => response.writeHead(204).end()
    for (const response of held) response.writeHead(204).end()
    await world.dispatcher.idle()
    expect(new Set(arrived.filter(({ path }) => path === '/hangs').map(({ subject }) => subject)).size).toBe(
      1_201,
    )
    expect(statuses().filter((status) => status !== 'delivered')).toEqual([])
  })

  it('follow no redirect', async () => {
    endpoint('from')
    answer = (_delivery, response) => response.writeHead(307, { location: `${receiverUrl}to` }).end()
    emit('x')
    await world.dispatcher.idle()
    expect(new Set(arrived.map(({ path }) => path))).toEqual(new Set(['/from']))
    expect(rows()).toMatchObject([{ status: 'dead_letter', responseStatus: 307 }])
  })

  it('connect to the address that was checked, by a name that only we know', async () => {
    resolve = async (hostname) => (hostname === 'receiver.test' ? ['127.0.0.1'] : [])
    endpoint(receiverUrl.replace('127.0.0.1', 'receiver.test'))
    emit('x')
    await world.dispatcher.idle()
    expect(arrived.map(({ headers }) => headers.host)).toEqual([`receiver.test:${new URL(receiverUrl).port}`])
  })

  it('look the name up at each attempt, and never reach a receiver whose name moved to this machine', async () => {
    let asked = 0
    resolve = async () => {
      asked += 1
      return ['127.0.0.1']
    }
    await close()
    open(false)
    endpoint(`https://moved.test:${new URL(receiverUrl).port}/`)
    emit('x')
    await world.dispatcher.idle()
    expect([asked, subjects()]).toEqual([8, []])
    expect(rows()).toMatchObject([{ status: 'dead_letter', responseStatus: null }])
  })
})

describe('a receiver URL', () => {
  it.each([
    ['https://hooks.example/x', true, true],
    ['https://hooks.example:8443/x?y=1', true, true],
    ['https://8.8.8.8/', true, true],
    ['https://[2606:4700::1111]/', true, true],
    ['http://hooks.example/', false, true],
    ['http://127.0.0.1:9/', false, true],
    ['https://127.0.0.1/', false, true],
    ['https://0x7f.1/', false, true],
    ['https://localhost/', false, true],
    ['https://a.localhost./', false, true],
    ['https://[::1]/', false, true],
    ['https://[::ffff:127.0.0.1]/', false, true],
    ['https://10.0.0.1/', false, false],
    ['https://172.16.0.1/', false, false],
    ['https://192.168.1.1/', false, false],
    ['https://169.254.169.254/latest', false, false],
    ['https://100.64.0.1/', false, false],
    ['https://0.0.0.0/', false, false],
    ['https://198.18.0.1/', false, false],
    ['https://224.0.0.1/', false, false],
    ['https://255.255.255.255/', false, false],
    ['https://[fe80::1]/', false, false],
    ['https://[fd00::1]/', false, false],
    ['https://[::ffff:10.0.0.1]/', false, false],
    ['https://[64:ff9b::7f00:1]/', false, false],
    ['https://[2002:7f00:1::]/', false, false],
    ['https://[::7f00:1]/', false, false],
    ['http://8.8.8.8/', false, false],
    ['https://me:secret@hooks.example/', false, false],
    ['https://hooks.example/#x', false, false],
    ['ftp://hooks.example/', false, false],
    ['hooks.example', false, false],
  ])('%s is taken: %s; beside loopback receivers: %s', (url, usual, beside) => {
    expect([readReceiverUrl(url, false) !== null, readReceiverUrl(url, true) !== null]).toEqual([
      usual,
      beside,
    ])
  })

  it.each([
    [['93.184.216.34', '2606:2800:220::1'], 2],
    [['93.184.216.34', '10.0.0.1'], 0],
    [['93.184.216.34', '127.0.0.1'], 0],
    [['not an address'], 0],
    [[], 0],
  ])('with addresses %j has %i to connect to', async (addresses, count) => {
    const found = await receiverAddresses(new URL('https://hooks.example'), true, async () => addresses)
    expect(found).toHaveLength(count)
  })

  it('of plain HTTP leads to this machine only', async () => {
    const url = new URL('http://hooks.example')
    expect(await receiverAddresses(url, true, async () => ['93.184.216.34'])).toEqual([])
    expect(await receiverAddresses(url, true, async () => ['127.0.0.1'])).toHaveLength(1)
    expect(await receiverAddresses(url, true, () => Promise.reject(new RangeError('no such name')))).toEqual(
      [],
    )
  })
})

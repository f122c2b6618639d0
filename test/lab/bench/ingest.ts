import { createHmac } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { systemClock } from '../../../src/clock.ts'
import { createFeed } from '../../../src/service/events/feed.ts'
import type { Hint } from '../../../src/service/events/hints.ts'
import { readMessage } from '../../../src/service/events/stream.ts'
import { createWebhookInbox, type RawDelivery } from '../../../src/service/events/webhook.ts'

/** What one way of taking events reached, in CPU seconds of this process: neighbours on the machine do not count. */
type IngestRate = { readonly events: number; readonly perSecond: number }

/** Whole megabytes after a collection. */
type Memory = { readonly heapMb: number; readonly rssMb: number }

/** The figures of one run. */
export type IngestFigures = {
  /** Webhook deliveries: HMAC over the raw bytes, JSON, envelope, dedupe, the feed's state, a hint. */
  readonly webhook: IngestRate
  /** Stream messages: JSON and envelope, as the feed takes them. */
  readonly stream: IngestRate
  /** `JSON.parse` of the webhook's bytes, and nothing else. */
  readonly parsing: IngestRate
  /** Of the webhook's rate to mere parsing. */
  readonly ratio: number
  /** How many events became hints; the rest are deliveries that came again. */
  readonly hints: number
  readonly bodyBytes: number
  readonly memoryBefore: Memory
  readonly memoryAfter: Memory
}

const EVENTS = 1_000_000
/** Made anew for each round: a million of them at once would be the memory that is measured. */
const BATCH = 10_000
/** Rounds before measuring, so that the code is compiled and the memory of ids is full. */
const WARM_UP_ROUNDS = 25
/** One of so many deliveries comes again. */
const AGAIN_EVERY = 20
const SECRET = 'whsec_benchmark'
const TYPE = 'positions.updated'

type Batch = { readonly deliveries: readonly RawDelivery[]; readonly messages: readonly string[] }

/**
 * Measure how fast events are taken: rounds of fresh deliveries, each verified and then merely parsed, so that both
 * see the same bytes and the same machine.
 */
export function measureIngest(onProgress: (text: string) => void): IngestFigures {
  setFlagsFromString('--expose_gc')
  const collect: () => void = runInNewContext('gc')
  let hints = 0
  const feed = createFeed({ types: [TYPE], sweepMs: 1_000 }, unusedDeps)
  feed.onHint((hint: Hint) => {
    if (hint.type !== 'sweep') hints += 1
  })
  const inbox = createWebhookInbox(() => [SECRET], systemClock, feed.hear.bind(feed))
  const tookMs = { webhook: 0, stream: 0, parsing: 0 }
  const rounds = EVENTS / BATCH
  let memoryBefore = memoryNow(collect)
  let taken = 0
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    const { deliveries, messages } = makeBatch(round + WARM_UP_ROUNDS)
    if (round === 0) {
      memoryBefore = memoryNow(collect)
      hints = 0
      taken = 0
      tookMs.webhook = tookMs.stream = tookMs.parsing = 0
    }
    tookMs.webhook += timed(() => {
      for (const delivery of deliveries) if (inbox.receive(delivery).ok) taken += 1
    })
    tookMs.parsing += timed(() => {
      for (const { body } of deliveries) JSON.parse(Buffer.from(body).toString('utf8'))
    })
    tookMs.stream += timed(() => {
      for (const message of messages) if (readMessage(message).type !== 'event') throw new TypeError('unread')
    })
    if (round >= 0 && (round + 1) % 25 === 0) {
      const { heapMb, rssMb } = memoryNow(collect)
      onProgress(`${((round + 1) * BATCH) / 1_000} thousand events, heap ${heapMb} MB, RSS ${rssMb} MB`)
    }
  }
  const memoryAfter = memoryNow(collect)
  if (taken !== EVENTS) throw new TypeError(`${EVENTS - taken} deliveries were refused`)
  const rate = (ms: number) => ({ events: EVENTS, perSecond: Math.round((EVENTS / ms) * 1_000) })
  return {
    webhook: rate(tookMs.webhook),
    stream: rate(tookMs.stream),
    parsing: rate(tookMs.parsing),
    ratio: tookMs.parsing / tookMs.webhook,
    hints,
    bodyBytes: makeBatch(0).deliveries[0]?.body.length ?? 0,
    memoryBefore,
    memoryAfter,
  }
}

/** The feed is not started: what webhooks bring needs no service. */
const unusedDeps: Parameters<typeof createFeed>[1] = {
  client: { pollEvents: () => Promise.reject(), openStream: () => Promise.reject() },
  clock: systemClock,
  onRefused: () => undefined,
  loadCursor: () => null,
  saveCursor: () => undefined,
}

/** Make a round of deliveries as the sandbox signs them, and the same events as stream messages. */
function makeBatch(round: number): Batch {
  const t = Math.floor(Date.now() / 1_000)
  const deliveries: RawDelivery[] = []
  const messages: string[] = []
  for (let index = 0; index < BATCH; index += 1) {
    const again = deliveries[index - 1]
    if (index % AGAIN_EVERY === AGAIN_EVERY - 1 && again !== undefined) {
      deliveries.push(again)
    } else {
      const number = round * BATCH + index
      const text = envelope(number)
      const deliveryId = `dlv_${uuid(number)}`
      const v1 = createHmac('sha256', SECRET).update(`${t}.${deliveryId}.${text}`).digest('hex')
      deliveries.push({ signature: `t=${t},v1=${v1}`, deliveryId, body: Buffer.from(text) })
    }
    messages.push(
      `{"type":"event","seq":${index},"cursor":"MTIz.abcdefghijklmnopqrstuv","event":${envelope(index)}}`,
    )
  }
  return { deliveries, messages }
}

const uuid = (number: number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`

/** A facility's event, as long as the sandbox's. */
function envelope(number: number): string {
  const [market, vault, borrower] = [0xa, 0xb, number % 5_000].map(
    (value) => `0x${value.toString(16).padStart(40, '0')}`,
  )
  return JSON.stringify({
    id: `evt_${uuid(number)}`,
    type: TYPE,
    schemaVersion: 1,
    occurredAt: '2026-01-01T00:00:00.000Z',
    subject: `${market}:${vault}:${borrower}`,
    data: { marketId: market, vaultId: vault, walletAddress: borrower, blockNumber: String(number) },
  })
}

/** Milliseconds of CPU, the collector's threads included. */
function timed(work: () => void): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}

function memoryNow(collect: () => void): Memory {
  collect()
  const { heapUsed, rss } = process.memoryUsage()
  return { heapMb: Math.round(heapUsed / 1e6), rssMb: Math.round(rss / 1e6) }
}

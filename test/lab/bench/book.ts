import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Moment } from '../../../agents/agent.ts'
import { liquidator } from '../../../agents/liquidator/agent.ts'
import type { LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import { systemClock } from '../../../src/clock.ts'
import type { Collections } from '../../../src/observe/collections.ts'
import { createObserver } from '../../../src/observe/observer.ts'
import { createServiceClient } from '../../../src/service/client.ts'
import { SERVICE_TIMEOUTS } from '../../../src/service/http.ts'
import { policy } from '../../agents/liquidator/fixtures.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import {
  deployment,
  MARKET,
  nodes,
  SIGNER,
  startManyBorrowers,
  WATERLINE,
} from '../../support/many-borrowers.ts'

/** What one size of the world costs. */
type SizeFigures = {
  readonly positions: number
  /** From the service's event to the decision, milliseconds: rows read again over HTTP, parsed, folded, seen, decided. */
  readonly eventP50Ms: number
  readonly eventP95Ms: number
  /** Requests to the service in that time. */
  readonly requests: number
  /** What the same took by sweeping, and in how many pages. */
  readonly sweepMs: number
  readonly sweepPages: number
  /** Heap and array buffers that hold the book, after a collection; null where the process's own noise is more. */
  readonly bytesAPosition: number | null
}

/** What `npm run bench book --json` prints. */
export type BookFigures = {
  readonly sizes: readonly SizeFigures[]
  /** An event's cost at the largest size for that at the smallest. */
  readonly eventRatio: number
  readonly eventRatioMax: number
  readonly bytesMax: number
  readonly ok: boolean
}

const SIZES = [1_000, 100_000, 1_000_000] as const
const EVENT_RATIO_MAX = 4
const BYTES_MAX = 200
const WEIGHED_FROM = 100_000
const ROUNDS = 41
/** Events of each size before any counts: compiled code is compared with compiled code. */
const WARM_UPS = 20

/**
 * Measure what an event costs at three sizes of the world, through the real client, its schemas, the book, and the
 * liquidator; the service is an HTTP server in this process, and nodes answer at once. `say` says how it goes.
 */
export async function measureBook(say: (text: string) => void): Promise<BookFigures> {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const sizes: SizeFigures[] = []
  for (const positions of SIZES) {
    say(`${positions.toLocaleString('en')} positions`)
    sizes.push(await measureSize(positions, collectGarbage))
  }
  const eventRatio = round((sizes.at(-1)?.eventP50Ms ?? 0) / (sizes[0]?.eventP50Ms ?? 1))
  const ok =
    eventRatio <= EVENT_RATIO_MAX && sizes.every(({ bytesAPosition }) => (bytesAPosition ?? 0) <= BYTES_MAX)
  return { sizes, eventRatio, eventRatioMax: EVENT_RATIO_MAX, bytesMax: BYTES_MAX, ok }
}

async function measureSize(positions: number, collectGarbage: () => void): Promise<SizeFigures> {
  const service = await startManyBorrowers(positions)
  const client = createServiceClient(
    { baseUrl: service.url, secretKey: 'bench-secret-key-0123456789', timeouts: SERVICE_TIMEOUTS },
    systemClock,
  )
  const strategy = policy()
  const fail = (error: unknown) => {
    throw error
  }
  // A look asks for nothing else, and fails here if it does.
  const listing: Partial<Collections> = { markets: client.listMarkets }
  const observer = createObserver(
    // Proving units is measured nowhere: it runs beside looks, every few minutes.
    { ...liquidator, arming: { collections: [], sample: () => [], prove: () => ({ seen: ARMED }) } },
    strategy,
    {
      client,
      nodes,
      clock: systemClock,
      collections: listing as Collections,
      outside: async () => ({ ok: false, check: 'source_unknown', message: 'None.' }),
      dataFeeWei: () => 0n,
      onArmed: () => {},
      onSwept: () => {},
      onFirstSweepSlow: () => {},
      onSweepFailed: fail,
      onProofFailed: fail,
      onUnfiltered: (collection) => {
        throw new TypeError(`${collection} was not filtered`)
      },
    },
    {
      deployment,
      signer: SIGNER,
      ours: [SIGNER],
      priorityFeePerGasWei: 0n,
      limits: { ageMsMax: 20_000, blockLagMax: 3n, headAgeMsMax: 30_000 },
    },
  )
  const look = async () => {
    const seen = await observer.observe(NOTHING_AROUND)
    return liquidator.decide(seen as Moment & LiquidatorSeen, strategy)
  }
  try {
    const bytesBefore = bytesHeld(collectGarbage)
    const sweptAtMs = performance.now()
    await look()
    const sweepMs = performance.now() - sweptAtMs
    const sweepPages = service.arrived.filter(
      ({ path, wallets }) => path === '/v1/positions' && wallets === 0,
    ).length
    const bytesAPosition = (bytesHeld(collectGarbage) - bytesBefore) / positions
    const events = await measureEvents(positions, service, observer.note, look)
    return {
      positions,
      ...events,
      sweepMs: round(sweepMs),
      sweepPages,
      bytesAPosition: positions < WEIGHED_FROM ? null : round(bytesAPosition),
    }
  } finally {
    observer.close()
    await client.close()
    await service.close()
  }
}

const ARMED = new Map([[MARKET, { ok: true } as const]])

/** Let one borrower after another borrow or repay, and wait for the decision about it. */
async function measureEvents(
  positions: number,
  service: Awaited<ReturnType<typeof startManyBorrowers>>,
  note: (hint: { readonly type: string; readonly subject: string }) => void,
  look: () => Promise<ReturnType<typeof liquidator.decide>>,
) {
  const times: number[] = []
  let requests = 0
  for (let number = 0; number < WARM_UPS + ROUNDS; number += 1) {
    // Twenty are under water at a time: the twentieth before it is so no more.
    const index = (number * 7_919) % positions
    if (number >= 20) note({ type: EVENT, subject: service.owe(((number - 20) * 7_919) % positions, 1e10) })
    const subject = service.owe(index, WATERLINE + 1_000 * (number + 1))
    service.arrived.length = 0
    const startedAtMs = performance.now()
    note({ type: EVENT, subject })
    const { proposals, passedOver } = await look()
    if (number >= WARM_UPS) times.push(performance.now() - startedAtMs)
    requests = service.arrived.length
    const wallet = service.walletOf(index)
    const isJudged = [...proposals, ...passedOver].some((one) => one.subject.includes(wallet))
    if (!isJudged) throw new TypeError('The decision says nothing of the borrower whom the event named.')
  }
  const sorted = times.toSorted((one, other) => one - other)
  return {
    eventP50Ms: round(sorted[sorted.length >> 1] ?? 0),
    eventP95Ms: round(sorted[Math.floor(sorted.length * 0.95)] ?? 0),
    requests,
  }
}

const EVENT = 'positions.updated'

function bytesHeld(collectGarbage: () => void): number {
  collectGarbage()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const round = (value: number) => Math.round(value * 100) / 100

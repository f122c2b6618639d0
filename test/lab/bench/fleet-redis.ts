import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Redis } from 'ioredis'
import { systemClock } from '../../../src/clock.ts'
import { openWitness } from '../../../src/fleet/witness.ts'
import { createWaker } from '../../../src/queue/waker.ts'
import { newDirectory } from '../../support/directory.ts'
import type { TestRedis } from '../../support/redis.ts'
import { journalOf, newStore, takeSeat } from '../../support/redis-fleet.ts'
import { answerOf, attemptOf, slotOf, workflowOf } from '../../support/workflows.ts'
import { quantile } from './waves.ts'

/** How long one of many took, milliseconds, and how many there were a second. */
export type Pace = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number }

/** What Redis answers to one of our writes, beside the least that it can be asked. */
export type RedisPaces = {
  /** Singly, and with 64 in flight. */
  readonly claim: readonly [Pace, Pace]
  /** A script of one `HSET` of as many bytes, and one `INCR`: each with its fsync. */
  readonly bareScript: readonly [Pace, Pace]
  readonly incr: readonly [Pace, Pace]
}

/** What a barrier takes, singly, with all that comes before its effect. */
export type FencePaces = { readonly alone: Pace; readonly withReplica: Pace; readonly withWitness: Pace }

const CHAIN = 31_337
const LANES = 64
const SINGLY = 1_500
const IN_FLIGHT = 6_400
/** Of a workflow of 7 KB, as a liquidation's is: most of it is what the service answered, written before. */
const PREPARED = {
  bytesSha256: 'cd'.repeat(32),
  answer: answerOf({ requestId: 'x'.repeat(5_000) }),
  receivedAtMs: 1_000,
}
const BARE = `redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) return 'OK'`

/** Do something so often in so many lanes, and say how fast that went. @param work is given the lane and the turn. */
async function pace(
  count: number,
  lanes: number,
  work: (lane: number, turn: number) => Promise<unknown>,
): Promise<Pace> {
  const took: number[] = []
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let turn = 0; turn < count / lanes; turn += 1) {
        const beganMs = performance.now()
        await work(lane, turn)
        took.push(performance.now() - beganMs)
      }
    }),
  )
  const perSecond = (1_000 * took.length) / (performance.now() - startedMs)
  return { perSecond, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99) }
}

const both = async (work: (lanes: number, count: number) => Promise<Pace>) =>
  [await work(1, SINGLY), await work(LANES, IN_FLIGHT)] as const

/** Measure claims, and the floor under them. */
export async function measureRedis(redis: TestRedis): Promise<RedisPaces> {
  const client = redis.client()
  const sha = String(await client.script('LOAD', BARE))
  const padding = 'x'.repeat(7_000)
  await claims(redis.port, 1, 300)
  return {
    claim: await both((lanes, count) => claims(redis.port, lanes, count)),
    bareScript: await both((lanes, count) =>
      pace(count, lanes, (lane, turn) => client.evalsha(sha, 1, 'bare', `${lane}:${turn}`, padding)),
    ),
    incr: await both((lanes, count) => pace(count, lanes, () => client.incr('bare:number'))),
  }
}

/** One signer a lane: nonces of one are claimed one after another. */
async function claims(port: number, lanes: number, count: number): Promise<Pace> {
  const { store } = await newStore(port)
  const signerOf = (lane: number) => `0x${String(lane).padStart(40, '0')}` as const
  const workflowAt = (state: 'cleared' | 'in_flight', lane: number, turn: number) => {
    const [id, signer] = [`${lane}-${turn}`, signerOf(lane)]
    const digest = `0x${String(1e9 * (lane + 1) + turn).padStart(64, '0')}` as const
    const slots = [slotOf({ nonce: turn, signer, attempts: [attemptOf({ digest })] })]
    const changes = { id, opportunity: id, signer, prepared: PREPARED }
    return workflowOf(state, { ...changes, slots: state === 'in_flight' ? slots : [] })
  }
  const journals = await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const journal = await journalOf(await takeSeat(store, signerOf(lane)), store)
      await journal.adoptNonce(CHAIN, signerOf(lane), 0)
      return journal
    }),
  )
  await pace(count, lanes, async (lane, turn) => journals[lane]?.open(workflowAt('cleared', lane, turn)))
  const paced = await pace(count, lanes, async (lane, turn) => {
    const workflow = workflowAt('in_flight', lane, turn)
    const claimed = await journals[lane]?.claim(workflow, {
      workflowId: workflow.id,
      role: workflow.role,
      atMs: Date.now(),
      usdMicros: 5n,
      gasWei: 7n,
      reverted: false,
    })
    if (typeof claimed !== 'object') throw new TypeError(`${workflow.id} was not claimed`)
  })
  store.close()
  return paced
}

/** Measure a barrier without a replica, with one that acknowledges, and with the witness on this machine's disk besides. */
export async function measureFence(
  redis: TestRedis,
  startReplica: () => Promise<TestRedis>,
): Promise<FencePaces> {
  const alone = await barriers(redis.port, 0)
  const replica = await startReplica()
  await follows(redis.client())
  const withReplica = await barriers(redis.port, 1)
  const withWitness = await barriers(redis.port, 1, newDirectory())
  await replica.stop()
  return { alone, withReplica, withWitness }
}

async function follows(client: Redis): Promise<void> {
  do await client.incr('bare:number')
  while ((await client.wait(1, 1_000)) < 1)
}

async function barriers(port: number, replicas: number, folder?: string): Promise<Pace> {
  const { store } = await newStore(port, replicas)
  const journal = await journalOf(await takeSeat(store), store)
  const witness = folder === undefined ? null : await openWitness(folder)
  const paced = await pace(SINGLY, 1, async () => {
    await journal.barrier()
    await witness?.record(store.known())
  })
  await witness?.close()
  store.close()
  return paced
}

const WAKES = 500

/** Measure from a wake-up in this process until the holder of the seat, another process, looks at the workflow. */
export async function measureWakes(redis: TestRedis): Promise<Pace> {
  const carrier = { host: redis.host, port: redis.port, db: 0, fleet: 'wakes' }
  const holder = fork(fileURLToPath(new URL('fleet-waked.ts', import.meta.url)))
  holder.send(carrier)
  const waker = createWaker(carrier, systemClock, () => undefined)
  await wakeOf('begin', waker.wake, holder)
  const took: number[] = []
  const startedMs = performance.now()
  for (let turn = 0; turn < WAKES; turn += 1) {
    took.push(await wakeOf(`w${turn}`, waker.wake, holder))
    await sleep(3)
  }
  const perSecond = (1_000 * WAKES) / (performance.now() - startedMs)
  await waker.close()
  holder.disconnect()
  await once(holder, 'exit')
  return { perSecond, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99) }
}

async function wakeOf(
  id: string,
  wake: (seat: string, id: string) => Promise<boolean>,
  holder: ChildProcess,
): Promise<number> {
  const heard = once(holder, 'message')
  const atMs = Number(process.hrtime.bigint()) / 1e6
  void wake('0xa', id)
  const [seenAtMs] = await heard
  return Number(seenAtMs) - atMs
}

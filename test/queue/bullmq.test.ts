import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Queue as Sender, Worker } from 'bullmq'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { RolekeeperError } from '../../src/errors.ts'
import { createBullmqQueue } from '../../src/queue/bullmq.ts'
import { type Carrier, openLine, prefixOf, queueOf } from '../../src/queue/hints.ts'
import { createWaker, type Waker } from '../../src/queue/waker.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { queueContract } from './contract.ts'

let redis: TestRedis
let waker: Waker
let carrier: Carrier
let closing: (() => Promise<void>)[]
let seats = 0
beforeAll(async () => {
  redis = await startRedis()
  carrier = { host: redis.host, port: redis.port, db: 0, fleet: 'test' }
  waker = createWaker(carrier, systemClock, () => undefined)
})
afterAll(async () => {
  await waker.close()
  await redis.stop()
})
beforeEach(() => {
  seats += 1
  closing = []
})
afterEach(() => Promise.all(closing.map((close) => close())))
const seat = () => `shadow:liquidator:0x${seats}`

queueContract('BullMQ', (deps) => ({
  queue: createBullmqQueue({ ...deps, carrier, seat: seat(), waker, onHealth: () => undefined }),
  wakeFromElsewhere: (id) => void waker.wake(seat(), id),
}))

/** A clock that goes a hundred times as fast: a probe is sent after 0.2 s and late after 0.3 s. */
const fastClock = {
  nowMs: () => Date.now() * 100,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal),
}

/** Hold the seat, and list what was run and each change of health. */
const hold = (own: { clock?: Clock; carrier?: Carrier; waker?: Waker } = {}) => {
  const runs: string[] = []
  const health: (string | null)[] = []
  const queue = createBullmqQueue({
    clock: systemClock,
    run: async (id) => {
      runs.push(id)
      return null
    },
    onError: (_id, error) => {
      throw error
    },
    carrier,
    seat: seat(),
    waker,
    ...own,
    onHealth: (problem) => health.push(problem?.code ?? null),
  })
  closing.push(queue.close)
  return { queue, runs, health }
}
const wake = (id: string) => waker.wake(seat(), id)
const soon = <T>(read: () => T) => expect.poll(read, { interval: 5, timeout: 5_000 })

describe('a queue on BullMQ', () => {
  it('keeps what comes while nobody holds the seat for whoever holds it next', async () => {
    const before = hold()
    await wake('a')
    await soon(() => before.runs).toEqual(['a'])
    await before.queue.close()
    await Promise.all([wake('b'), wake('b'), wake('b')])
    const key = `${prefixOf(carrier)}:${queueOf(seat())}`
    const [job, ...others] = await redis.client().lrange(`${key}:wait`, 0, -1)
    expect(others).toEqual([])
    expect(await redis.client().hmget(`${key}:${job}`, 'name', 'data')).toEqual(['wake', '"b"'])
    const after = hold()
    await soon(() => after.runs).toEqual(['b'])
    expect(before.runs).toEqual(['a'])
  })

  it('keeps a wake-up that comes while the job of the one before it is under way', async () => {
    const connection = openLine(carrier, { maxRetriesPerRequest: null }, () => undefined)
    const slow = new Worker(queueOf(seat()), null, { connection, prefix: prefixOf(carrier) })
    await wake('a')
    const job = await slow.getNextJob('token')
    await wake('a')
    const { runs } = hold()
    await wake('b')
    await soon(() => runs).toEqual(['b'])
    await job?.moveToCompleted(null, 'token', false)
    await soon(() => runs).toEqual(['b', 'a'])
    await slow.close()
    connection.disconnect()
  })

  it('is woken by another process within 100 ms', async () => {
    const { runs } = hold()
    const other = spawn(process.execPath, [`${import.meta.dirname}/waking-process.ts`], {
      env: { CARRIER: JSON.stringify(carrier), SEAT: seat() },
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    closing.push(async () => {
      other.stdin.end()
      await once(other, 'exit')
    })
    // The first one is late by the time that the process takes to start.
    other.stdin.write('0\n')
    await expect.poll(() => runs, { timeout: 30_000 }).toEqual(['0'])
    const tookMs: number[] = []
    for (let id = 1; id <= 15; id += 1) {
      const sentAt = performance.now()
      other.stdin.write(`${id}\n`)
      while (runs.length <= id) await sleep(1)
      tookMs.push(performance.now() - sentAt)
    }
    const median = tookMs.sort((one, two) => one - two)[7]
    expect(median).toBeLessThan(100)
  })

  it('costs latency only to lose all keys every 100 ms', async () => {
    const { queue, runs, health } = hold()
    const client = redis.client()
    const deleteAll = async () => {
      const keys = await client.keys(`${prefixOf(carrier)}:*`)
      return keys.length === 0 ? 0 : client.del(keys)
    }
    const due = new Set<string>()
    // What the holder's rescan does: look at what is due and was not looked at.
    const rescan = () => {
      for (const id of due) if (!runs.includes(id)) queue.wake(id, 0)
    }
    let deleted = 0
    for (let round = 1; round <= 150; round += 1) {
      due.add(`${round}`)
      await wake(`${round}`)
      if (round % 10 === 0) deleted += await deleteAll()
      if (round % 50 === 0) rescan()
      await sleep(10)
    }
    rescan()
    await soon(() => new Set(runs)).toEqual(due)
    expect(deleted).toBeGreaterThan(50)
    await deleteAll()
    await wake('later')
    await soon(() => runs.at(-1)).toBe('later')
    expect(health).toEqual([null])
  })

  it('lets a lost job stand for later wake-ups for a minute at most', async () => {
    let nowMs = 0
    const slow = createWaker(carrier, { nowMs: () => nowMs }, () => undefined)
    closing.push(slow.close)
    await slow.wake(seat(), 'a')
    await redis.client().del(`${prefixOf(carrier)}:${queueOf(seat())}:wait`)
    const { runs } = hold()
    await slow.wake(seat(), 'a')
    await slow.wake(seat(), 'b')
    await soon(() => runs).toEqual(['b'])
    nowMs += 60_000
    await slow.wake(seat(), 'a')
    await soon(() => runs).toEqual(['b', 'a'])
  })

  it('leaves no job behind, and few events', async () => {
    const { runs } = hold()
    const client = redis.client()
    await Promise.all(Array.from({ length: 300 }, (_, index) => wake(`lot-${index}`)))
    await soon(() => runs.length).toBe(300)
    const key = `${prefixOf(carrier)}:${queueOf(seat())}`
    await soon(() => client.keys(`${key}:*`)).toSatisfy((keys: string[]) =>
      keys.every((one) => /:(events|id|marker|meta|stalled-check)$/.test(one)),
    )
    expect(await client.xlen(`${key}:events`)).toBeLessThan(400)
  })

  it('listens anew when a probe is late, and says so once', async () => {
    const { runs, health } = hold({ clock: fastClock })
    await soon(() => health).toEqual([null])
    const other = new Sender(queueOf(seat()), {
      connection: redis.client(),
      prefix: prefixOf(carrier),
    })
    await other.pause()
    const lines = () => redis.client().client('LIST')
    await soon(() => health).toEqual([null, 'queue.deaf'])
    await sleep(500)
    expect(health).toEqual([null, 'queue.deaf'])
    await other.resume()
    await soon(() => health).toEqual([null, 'queue.deaf', null])
    await wake('a')
    await soon(() => runs).toEqual(['a'])
    expect(await lines()).toMatch(/bzpopmin/)
    await other.close()
  })
})

describe('a line between a queue and Redis', () => {
  it('that carries nothing any more is noticed without a word, and made anew', async () => {
    const proxy = await startTcpProxy(redis)
    closing.push(proxy.stop)
    const { runs, health } = hold({ carrier: { ...carrier, port: proxy.port } })
    await soon(() => health).toEqual([null])
    proxy.loseLines()
    await wake('a')
    await expect.poll(() => health, { timeout: 10_000 }).toEqual([null, 'queue.unreachable', null])
    await wake('b')
    await soon(() => runs).toContain('b')
  })
})

describe('a Redis of which wake-ups make no use', () => {
  let other: TestRedis
  let otherWaker: Waker
  let problems: (string | null)[]
  const holdOther = async () => {
    const held = hold({ carrier: { ...carrier, port: other.port }, waker: otherWaker })
    await soon(() => held.health).toEqual([null])
    return held
  }
  beforeEach(async () => {
    problems = []
    other = await startRedis()
    otherWaker = createWaker({ ...carrier, port: other.port }, systemClock, (problem) =>
      problems.push(problem?.code ?? null),
    )
    closing.push(async () => {
      await otherWaker.close()
      await other.stop()
    })
  })

  it('is gone: a wake-up is given up at once, one line says so, and all goes on when it is back', async () => {
    const { queue, runs, health } = await holdOther()
    await other.kill()
    const startedAt = performance.now()
    expect(await otherWaker.wake(seat(), 'a')).toBe(false)
    expect(performance.now() - startedAt).toBeLessThan(1_000)
    queue.wake('b', 0)
    expect(runs).toEqual(['b'])
    await sleep(1_500)
    await other.restart()
    await soon(() => health).toEqual([null, 'queue.unreachable', null])
    await soon(() => problems).toEqual([null, 'queue.unreachable', null])
    expect(await otherWaker.wake(seat(), 'c')).toBe(true)
    await soon(() => runs).toEqual(['b', 'c'])
  })

  it('is not there yet: what is asked for is given up, and nothing rejects', async () => {
    await other.kill()
    const early = createWaker({ ...carrier, port: other.port }, systemClock, () => undefined)
    expect(await early.wake(seat(), 'a')).toBe(false)
    await early.close()
    expect(await early.wake(seat(), 'a')).toBe(false)
  })

  it('hangs: a wake-up is given up after a second, the next at once, and closing takes no longer than two', async () => {
    const { queue } = await holdOther()
    other.pause()
    const startedAt = performance.now()
    expect(await otherWaker.wake(seat(), 'a')).toBe(false)
    expect(performance.now() - startedAt).toBeLessThan(2_000)
    await soon(() => problems).toEqual([null, 'queue.unreachable'])
    const againAt = performance.now()
    expect(await otherWaker.wake(seat(), 'a')).toBe(false)
    expect(performance.now() - againAt).toBeLessThan(500)
    await Promise.all([queue.close(), otherWaker.close()])
    expect(performance.now() - startedAt).toBeLessThan(4_000)
    other.resume()
  })

  it('is full: it is asked every second, not as fast as it answers', async () => {
    const { runs, health } = await holdOther()
    const client = other.client()
    const commands = async () =>
      Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1])
    await client.config('SET', 'maxmemory', '1')
    expect(await otherWaker.wake(seat(), 'a')).toBe(false)
    await soon(() => health).toEqual([null, 'queue.refused'])
    const before = await commands()
    await sleep(2_000)
    expect((await commands()) - before).toBeLessThan(100)
    await client.config('SET', 'maxmemory', '0')
    await soon(() => health).toEqual([null, 'queue.refused', null])
    expect(await otherWaker.wake(seat(), 'b')).toBe(true)
    await soon(() => runs).toEqual(['b'])
    expect(problems).toEqual([null, 'queue.refused', null])
  })
  it('wants a password: that is said, not that it cannot be reached, and never the password', async () => {
    await other.client().config('SET', 'requirepass', 'right')
    const heard: (RolekeeperError | null)[] = []
    const secret = 'wrong-hunter2'
    const strange = createWaker(
      { ...carrier, port: other.port, password: () => secret },
      systemClock,
      (problem) => heard.push(problem),
    )
    closing.push(strange.close)
    expect(await strange.wake(seat(), 'a')).toBe(false)
    const { health } = hold({
      carrier: { ...carrier, port: other.port, password: () => secret },
      waker: strange,
    })
    await sleep(2_000)
    expect(health).toEqual(['queue.refused'])
    expect(heard.map((problem) => problem?.facts)).toEqual([{ reply: 'WRONGPASS' }])
    expect(inspect(heard, { depth: 10 })).not.toContain(secret)
  })
})

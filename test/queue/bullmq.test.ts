import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { inspect } from 'node:util'
import { Queue as Sender, Worker } from 'bullmq'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { RolekeeperError } from '../../src/errors.ts'
import { createBullmqQueue } from '../../src/queue/bullmq.ts'
import { type Carrier, openLine, prefixOf, queueOf } from '../../src/queue/hints.ts'
import { createWaker, type Waker } from '../../src/queue/waker.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { createStillClock } from '../support/still-clock.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
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

/** Hold the seat, and list what was run, each change of health, and how often it was begun to listen or to probe. */
const hold = (own: { clock?: Clock; carrier?: Carrier; waker?: Waker } = {}) => {
  const runs: string[] = []
  const health: (string | null)[] = []
  const by = own.waker ?? waker
  let probes = 0
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
    ...own,
    waker: {
      probe: (to) => {
        probes += 1
        return by.probe(to)
      },
    },
    onHealth: (problem) => health.push(problem?.code ?? null),
  })
  closing.push(queue.close)
  return { queue, runs, health, probes: () => probes }
}
const wake = (id: string) => waker.wake(seat(), id)
const soon = <T>(read: () => T) => expect.poll(read, { interval: 5 })

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

  it('is woken by another process, though its own clock stands still', async () => {
    const { runs } = hold({ clock: createStillClock().clock })
    const other = spawn(process.execPath, [`${import.meta.dirname}/waking-process.ts`], {
      env: { CARRIER: JSON.stringify(carrier), SEAT: seat() },
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    closing.push(async () => {
      other.stdin.end()
      await once(other, 'exit')
    })
    const woken: string[] = []
    for (const id of ['a', 'b', 'c']) {
      other.stdin.write(`${id}\n`)
      woken.push(id)
      await soon(() => runs).toEqual(woken)
    }
  })

  it('costs latency only to lose all keys again and again', async () => {
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
    const deleted: number[] = []
    for (let round = 1; round <= 150; round += 1) {
      due.add(`${round}`)
      await wake(`${round}`)
      if (round % 10 === 0) deleted.push(await deleteAll())
      if (round % 50 === 0) rescan()
    }
    rescan()
    await soon(() => new Set(runs)).toEqual(due)
    expect(Math.min(...deleted)).toBeGreaterThan(0)
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
    const { clock, go } = createStillClock()
    const { runs, health, probes } = hold({ clock })
    await soon(() => health).toEqual([null])
    const other = new Sender(queueOf(seat()), {
      connection: redis.client(),
      prefix: prefixOf(carrier),
    })
    await other.pause()
    const pass = (isSo: () => void) =>
      until(async () => {
        await go(1_000)
        isSo()
      })
    await pass(() => expect(health).toEqual([null, 'queue.deaf']))
    // Each time that it listens it probes: by the second, the probe of the first was late as well.
    const before = probes()
    await pass(() => expect(probes()).toBeGreaterThanOrEqual(before + 2))
    expect(health).toEqual([null, 'queue.deaf'])
    await other.resume()
    await soon(() => health).toEqual([null, 'queue.deaf', null])
    await wake('a')
    await soon(() => runs).toEqual(['a'])
    const client = redis.client()
    await soon(() => client.client('LIST')).toMatch(/bzpopmin/)
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
    await soon(() => health).toEqual([null, 'queue.unreachable', null])
    await wake('b')
    await soon(() => runs).toContain('b')
  })
})

describe('a Redis of which wake-ups make no use', () => {
  let other: TestRedis
  let otherWaker: Waker
  let problems: (string | null)[]
  const holdOther = async (clock: Clock = systemClock) => {
    const held = hold({ clock, carrier: { ...carrier, port: other.port }, waker: otherWaker })
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

  it('is gone: a wake-up is given up, one line says so, and all goes on when it is back', async () => {
    const { queue, runs, health, probes } = await holdOther()
    await other.kill()
    expect(await otherWaker.wake(seat(), 'a')).toBe(false)
    queue.wake('b', 0)
    expect(runs).toEqual(['b'])
    // It has tried again by then, and found it gone again.
    const before = probes()
    await soon(probes).toBeGreaterThan(before + 2)
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

  it('hangs: a wake-up is given up, so is the next, and closing waits for no answer', async () => {
    const { queue } = await holdOther()
    other.pause()
    expect(await otherWaker.wake(seat(), 'a')).toBe(false)
    await soon(() => problems).toEqual([null, 'queue.unreachable'])
    expect(await otherWaker.wake(seat(), 'a')).toBe(false)
    await Promise.all([queue.close(), otherWaker.close()])
    other.resume()
  })

  it('is full: it is asked again after a pause, not as fast as it answers', async () => {
    const paused = Promise.withResolvers<void>()
    const clock: Clock = {
      nowMs: Date.now,
      monotonicMs: Date.now,
      // The pauses are of a second; longer is only the wait for a probe.
      sleep: async (ms, signal) => {
        signal?.throwIfAborted()
        const ended = new Promise<never>((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
        })
        await (ms > 1_000 ? ended : Promise.race([ended, paused.promise]))
      },
    }
    const { runs, health } = await holdOther(clock)
    const client = other.client()
    const lines = async () => Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))?.[1])
    await client.config('SET', 'maxmemory', '1')
    expect(await otherWaker.wake(seat(), 'a')).toBe(false)
    await soon(() => health).toEqual([null, 'queue.refused'])
    const before = await lines()
    for (let count = 0; count < 1_000; count += 1) await client.ping()
    expect(await lines()).toBe(before)
    paused.resolve()
    await soon(lines).toBeGreaterThan(before)
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
    const { health, probes } = hold({
      carrier: { ...carrier, port: other.port, password: () => secret },
      waker: strange,
    })
    // It has tried again by then.
    await soon(probes).toBeGreaterThan(2)
    expect(health).toEqual(['queue.refused'])
    expect(heard.map((problem) => problem?.facts)).toEqual([{ reply: 'WRONGPASS' }])
    expect(inspect(heard, { depth: 10 })).not.toContain(secret)
  })
})

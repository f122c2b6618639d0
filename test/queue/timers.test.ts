import { beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import { createTimers, type TimersDeps } from '../../src/queue/timers.ts'

/** A clock that stands still until it is told to go on. */
const createClock = () => {
  let nowMs = 0
  const sleeps = new Set<{ readonly dueMs: number; readonly wake: () => void }>()
  const clock: Clock = {
    nowMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleep = { dueMs: nowMs + ms, wake: resolve }
        sleeps.add(sleep)
        signal?.addEventListener('abort', () => {
          sleeps.delete(sleep)
          reject(signal.reason)
        })
      }),
  }
  const go = async (ms: number) => {
    nowMs += ms
    for (const sleep of [...sleeps].filter(({ dueMs }) => dueMs <= nowMs)) {
      sleeps.delete(sleep)
      sleep.wake()
    }
    await settled()
  }
  return { clock, go, asleep: () => sleeps.size }
}
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

let runs: string[]
let errors: string[]
let clock: ReturnType<typeof createClock>
const timers = (run: TimersDeps['run']) =>
  createTimers({
    clock: clock.clock,
    run: (id) => {
      runs.push(id)
      return run(id)
    },
    onError: (id) => errors.push(id),
  })

beforeEach(() => {
  runs = []
  errors = []
  clock = createClock()
})

describe('timers', () => {
  it('run at once what is woken at once, and again after what the run asks for', async () => {
    const queue = timers(async () => 100)
    queue.wake('a', 0)
    await settled()
    await clock.go(99)
    expect(runs).toEqual(['a'])
    await clock.go(1)
    expect(runs).toEqual(['a', 'a'])
    await queue.close()
  })

  it('forget what is terminal', async () => {
    const queue = timers(async () => null)
    queue.wake('a', 0)
    await settled()
    expect(clock.asleep()).toBe(0)
    await clock.go(10_000)
    expect(runs).toEqual(['a'])
    await queue.close()
  })

  it('let an earlier wake-up win, and only that', async () => {
    const queue = timers(async () => null)
    queue.wake('a', 100)
    queue.wake('a', 50)
    queue.wake('a', 70)
    await clock.go(50)
    expect(runs).toEqual(['a'])
    await clock.go(100)
    expect(runs).toEqual(['a'])
    await queue.close()
  })

  it('never run one workflow twice at a time, and look once more for a wake-up during a run', async () => {
    const gate = Promise.withResolvers<null>()
    const queue = timers(() => (runs.length === 1 ? gate.promise : Promise.resolve(null)))
    queue.wake('a', 0)
    queue.wake('a', 0)
    queue.wake('a', 0)
    await settled()
    expect(runs).toEqual(['a'])
    gate.resolve(null)
    await settled()
    expect(runs).toEqual(['a', 'a'])
    await queue.close()
  })

  it('run other workflows beside one that hangs', async () => {
    const gate = Promise.withResolvers<null>()
    const queue = timers((id) => (id === 'a' ? gate.promise : Promise.resolve(null)))
    queue.wake('a', 0)
    queue.wake('b', 0)
    await settled()
    expect(runs).toEqual(['a', 'b'])
    gate.resolve(null)
    await queue.close()
  })

  it('look again at a workflow whose run failed, though nothing else wakes it', async () => {
    const queue = timers(async () => {
      if (runs.length === 1) throw new TypeError('boom')
      return null
    })
    queue.wake('a', 0)
    await settled()
    expect(errors).toEqual(['a'])
    await clock.go(999)
    expect(runs).toEqual(['a'])
    await clock.go(1)
    expect(runs).toEqual(['a', 'a'])
    await queue.close()
  })

  it('drop a timer whose end crosses a wake-up', async () => {
    const queue = timers(async () => (runs.length === 1 ? 100 : null))
    queue.wake('a', 50)
    const ending = clock.go(50)
    queue.wake('a', 0)
    await ending
    expect(runs).toEqual(['a'])
    await clock.go(100)
    expect(runs).toEqual(['a', 'a'])
    await queue.close()
  })

  it('close when the run under way has ended, and start nothing from then on', async () => {
    const gate = Promise.withResolvers<number>()
    const queue = timers(() => gate.promise)
    queue.wake('a', 0)
    queue.wake('b', 500)
    let closed = false
    const closing = queue.close().then(() => {
      closed = true
    })
    queue.wake('c', 0)
    queue.wake('a', 0)
    await settled()
    expect(closed).toBe(false)
    gate.resolve(0)
    await closing
    await clock.go(1_000)
    expect(runs).toEqual(['a'])
    expect(clock.asleep()).toBe(0)
  })
})

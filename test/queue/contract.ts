import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Queue } from '../../src/queue/queue.ts'
import type { TimersDeps } from '../../src/queue/timers.ts'
import { createStillClock, settled } from '../support/still-clock.ts'

/** A queue, and how whoever else there is wakes its workflows at once. */
export type QueueUnderTest = { readonly queue: Queue; readonly wakeFromElsewhere: (id: string) => void }

/** What every queue does, whatever carries its wake-ups. */
export function queueContract(
  name: string,
  make: (deps: TimersDeps) => QueueUnderTest | Promise<QueueUnderTest>,
): void {
  describe(`the contract of a queue: ${name}`, () => {
    let runs: string[]
    let errors: string[]
    let clock: ReturnType<typeof createStillClock>
    let queue: Queue
    let wakeFromElsewhere: QueueUnderTest['wakeFromElsewhere']
    const start = async (run: TimersDeps['run']) => {
      const made = await make({
        clock: clock.clock,
        run: (id) => {
          runs.push(id)
          return run(id)
        },
        onError: (id) => errors.push(id),
      })
      queue = made.queue
      wakeFromElsewhere = made.wakeFromElsewhere
    }
    const haveRun = (...ids: readonly string[]) => expect.poll(() => runs, { interval: 5 }).toEqual(ids)

    beforeEach(() => {
      runs = []
      errors = []
      clock = createStillClock()
    })
    afterEach(() => queue.close())

    it('runs at once what is woken at once, and again after what the run asks for', async () => {
      await start(async () => 100)
      queue.wake('a', 0)
      await settled()
      await clock.go(99)
      expect(runs).toEqual(['a'])
      await clock.go(1)
      expect(runs).toEqual(['a', 'a'])
    })

    it('forgets what asks for nothing more', async () => {
      await start(async () => null)
      queue.wake('a', 0)
      await settled()
      await clock.go(10_000)
      expect(runs).toEqual(['a'])
    })

    it('lets an earlier wake-up win, and only that', async () => {
      await start(async () => null)
      queue.wake('a', 100)
      queue.wake('a', 50)
      queue.wake('a', 70)
      await clock.go(50)
      expect(runs).toEqual(['a'])
      await clock.go(100)
      expect(runs).toEqual(['a'])
    })

    it('never runs one workflow twice at a time, and looks once more for a wake-up during a run', async () => {
      const gate = Promise.withResolvers<null>()
      await start(() => (runs.length === 1 ? gate.promise : Promise.resolve(null)))
      queue.wake('a', 0)
      queue.wake('a', 0)
      queue.wake('a', 0)
      await settled()
      expect(runs).toEqual(['a'])
      gate.resolve(null)
      await settled()
      expect(runs).toEqual(['a', 'a'])
    })

    it('runs other workflows beside one that hangs', async () => {
      const gate = Promise.withResolvers<null>()
      await start((id) => (id === 'a' ? gate.promise : Promise.resolve(null)))
      queue.wake('a', 0)
      queue.wake('b', 0)
      await settled()
      expect(runs).toEqual(['a', 'b'])
      gate.resolve(null)
    })

    it('looks again at a workflow whose run failed, though nothing else wakes it', async () => {
      await start(async () => {
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
    })

    it('runs what others wake, and before a wake-up that was set for later', async () => {
      await start(async () => null)
      queue.wake('a', 1_000)
      wakeFromElsewhere('a')
      wakeFromElsewhere('b')
      await haveRun('a', 'b')
      await clock.go(1_000)
      expect(runs).toEqual(['a', 'b'])
    })

    it('looks once more for each wake-up by others that comes during a run', async () => {
      const first = Promise.withResolvers<null>()
      await start(() => (runs.length === 1 ? first.promise : Promise.resolve(null)))
      wakeFromElsewhere('a')
      await haveRun('a')
      wakeFromElsewhere('a')
      // What comes later than the second wake-up proves that it came.
      wakeFromElsewhere('b')
      await haveRun('a', 'b')
      first.resolve(null)
      await haveRun('a', 'b', 'a')
    })

    it('closes when the run under way has ended, and starts nothing from then on', async () => {
      const gate = Promise.withResolvers<number>()
      await start(() => gate.promise)
      queue.wake('a', 0)
      queue.wake('b', 500)
      let isClosed = false
      const closing = queue.close().then(() => {
        isClosed = true
      })
      queue.wake('c', 0)
      queue.wake('a', 0)
      wakeFromElsewhere('d')
      await settled()
      expect(isClosed).toBe(false)
      gate.resolve(0)
      await closing
      wakeFromElsewhere('e')
      await clock.go(1_000)
      expect(runs).toEqual(['a'])
    })
  })
}

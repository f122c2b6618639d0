import { expect, it } from 'vitest'
import { createTimers } from '../../src/queue/timers.ts'
import { createStillClock, settled } from '../support/still-clock.ts'
import { queueContract } from './contract.ts'

queueContract('timers', (deps) => {
  const queue = createTimers(deps)
  return { queue, wakeFromElsewhere: (id) => queue.wake(id, 0) }
})

const start = (run: (ran: number) => number | null) => {
  const clock = createStillClock()
  let ran = 0
  const queue = createTimers({
    clock: clock.clock,
    run: async () => {
      ran += 1
      return run(ran)
    },
    onError: () => undefined,
  })
  return { clock, queue, ran: () => ran }
}

it('holds no timer for what asks for nothing more', async () => {
  const { clock, queue } = start(() => null)
  queue.wake('a', 0)
  await settled()
  expect(clock.asleep()).toBe(0)
  await queue.close()
})

it('drops a timer whose end crosses a wake-up', async () => {
  const { clock, queue, ran } = start((run) => (run === 1 ? 100 : null))
  queue.wake('a', 50)
  const ending = clock.go(50)
  queue.wake('a', 0)
  await ending
  expect(ran()).toBe(1)
  await clock.go(100)
  expect(ran()).toBe(2)
  await queue.close()
})

it('holds no timer once it is closed', async () => {
  const { clock, queue } = start(() => 100)
  queue.wake('a', 0)
  queue.wake('b', 500)
  await queue.close()
  expect(clock.asleep()).toBe(0)
})

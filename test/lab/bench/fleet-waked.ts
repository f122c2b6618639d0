/** The holder of a seat, in a process of its own: it says when a wake-up reached it, by the machine's monotonic clock. */
import { systemClock } from '../../../src/clock.ts'
import { createBullmqQueue } from '../../../src/queue/bullmq.ts'
import type { Carrier } from '../../../src/queue/hints.ts'
import { createWaker } from '../../../src/queue/waker.ts'

process.on('disconnect', () => process.exit())
process.once('message', (carrier: Carrier) => {
  const onHealth = () => undefined
  createBullmqQueue({
    carrier,
    clock: systemClock,
    seat: '0xa',
    onHealth,
    waker: createWaker(carrier, systemClock, onHealth),
    run: async () => {
      process.send?.(Number(process.hrtime.bigint()) / 1e6)
      return null
    },
    onError: (_id, error) => process.stderr.write(`waked: ${error}\n`),
  })
})

import { createInterface } from 'node:readline'
import { systemClock } from '../../src/clock.ts'
import { createWaker } from '../../src/queue/waker.ts'

const { CARRIER = '', SEAT = '' } = process.env
const waker = createWaker(JSON.parse(CARRIER), systemClock, () => undefined)
for await (const id of createInterface(process.stdin)) await waker.wake(SEAT, id)
await waker.close()

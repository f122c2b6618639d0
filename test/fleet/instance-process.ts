import { createInterface } from 'node:readline'
import { startInstance } from '../support/fleet-instance.ts'

/** An instance in a process of its own, that can be stopped: says what it sees, one JSON line each, and ends with its input. */
const { CONFIG = '', NAME = '', LEASE_MS = '', SEATS = '' } = process.env
const { seats, store, events } = startInstance(JSON.parse(CONFIG), {
  ...{ instance: NAME, leaseMs: Number(LEASE_MS), seats: JSON.parse(SEATS) },
})
let shown = 0
setInterval(() => {
  for (const { what } of events.slice(shown)) process.stdout.write(`${what}\n`)
  shown = events.length
}, 5)
for await (const seat of createInterface(process.stdin))
  process.stdout.write(`over ${seat} ${seats.isOver(seat)}\n`)
await seats.stop()
store.close()
process.exit()

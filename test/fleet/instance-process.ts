import { createInterface } from 'node:readline'
import { RolekeeperError } from '../../src/errors.ts'
import { fence, type SeatToken } from '../../src/journal/redis/seats/seat.ts'
import { startInstance } from '../support/fleet-instance.ts'

/** An instance in a process of its own, that can be stopped: says what it sees, one JSON line each, and ends with its input. */
const { CONFIG = '', NAME = '', LEASE_MS = '', SEATS = '' } = process.env
const { seats, store, events } = startInstance(JSON.parse(CONFIG), {
  instance: NAME,
  leaseMs: Number(LEASE_MS),
  seats: JSON.parse(SEATS),
})
const say = (text: string) => process.stdout.write(`${text}\n`)
let shown = 0
let last: SeatToken | undefined
setInterval(() => {
  for (const { what } of events.slice(shown)) say(what)
  shown = events.length
  last = seats.held()[0] ?? last
}, 5)
for await (const seat of createInterface(process.stdin)) {
  say(`over ${seat} ${seats.isOver(seat)}`)
  if (last === undefined) throw new TypeError('it never held a seat')
  const fencing = fence({ ...last, writer: 'w', answered: 0 }, [], store)
  await fencing.then(
    () => say('fence passed'),
    (error: unknown) => say(`fence ${error instanceof RolekeeperError ? error.code : error}`),
  )
}
await seats.stop()
store.close()
process.exit()

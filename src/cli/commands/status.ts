import { printable, RolekeeperError } from '../../errors.ts'
import { askStatus } from '../../ops/status.ts'
import { statusScreen } from '../output/status-screen.ts'
import { command, type Io } from '../parse/command.ts'
import { createInterrupts } from '../session.ts'
import { keeperThere } from '../target/keeper-there.ts'
import { type GivenPlace, PLACE, placeOf, placeText } from '../target/place.ts'

const WATCH_MS = 1_000
/** Home, and everything below it cleared: the screen does not flicker. */
const CLEAR = '\u001b[H\u001b[J'

/** `rolekeeper status`: how the keeper of a directory stands. */
export const status = command({
  name: 'status',
  usage: '[--watch] [--json] [--config FILE | --directory DIR]',
  help: `How the keeper stands: what is not well and its fix, each role with what it is late with and why it does no more, what is
left of its budgets, what it made today, the nodes, and what waits for a person. It asks the keeper that runs there; where
none runs it fails.

  rolekeeper status --watch`,
  options: {
    ...PLACE,
    watch: { help: 'again every second, until Ctrl-C' },
    json: { help: 'print it as JSON; with --watch one object a line' },
  },
  argumentsMax: 0,
  run: async ({ watch, json, ...given }, _args, io) => {
    const show = async () => {
      const now = await askStatus(await urlOf(given, io))
      if (json === true) return io.out(`${JSON.stringify(now)}\n`)
      io.out(`${watch === true && io.outIsTty ? CLEAR : ''}${statusScreen(now)}`)
    }
    await show()
    if (watch !== true) return 0
    const { first: interrupted, release } = createInterrupts(() => {})
    try {
      while (!(await isOver(interrupted, WATCH_MS))) await show()
    } finally {
      release()
    }
    return 0
  },
})

/** Wait for so long. @returns whether somebody ended it meanwhile. */
async function isOver(interrupted: Promise<void>, ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), ms)
  interrupted.then(() => resolve(true))
  return promise.finally(() => clearTimeout(timer))
}

/** Find where the keeper of a place is asked. Throws RolekeeperError `keeper.none` and `order.no_keeper`. */
async function urlOf(given: GivenPlace, io: Io): Promise<string> {
  const { directory } = await placeOf(given, io)
  const there = keeperThere(directory)
  if (there.state === 'running' && there.now !== null) return there.now.opsUrl
  const last = there.state === 'ended' ? there.last : null
  const began = last === null ? '' : ` The last one started at ${new Date(last.startedAtMs).toISOString()}.`
  const isStarting = there.state === 'running'
  throw new RolekeeperError('order.no_keeper', `No keeper answers in ${printable(directory)}.${began}`, {
    fix: isStarting
      ? 'wait until its ops port is open'
      : `start it; what it did is in: rolekeeper workflows list${placeText(given)}`,
  })
}

#!/usr/bin/env -S node --max-semi-space-size=2 --heap-growing-percent=50
// The flags keep garbage from filling memory: at their defaults, a few busy minutes of it hold 300 MB.
import { createInterface } from 'node:readline'
import { systemClock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import { createOutlet, problemOf } from '../ops/outlet.ts'
import { report, rolekeeper } from './dispatch.ts'
import type { Io } from './parse/command.ts'

// The journal says what we signed and decided: what this process writes is for its owner alone.
process.umask(0o077)

/** For the last bytes of a pipe. */
const LINGER_MS = 250

/** What a command has to say is its work, so that it fails where that is lost. */
const outputLost = (cause: unknown) =>
  new RolekeeperError('output.lost', `Standard output does not take what is written: ${problemOf(cause)}.`, {
    fix: 'make room there, or write it elsewhere; what was asked for may be done.',
    cause,
  })

const io: Io = {
  out: (text) => {
    try {
      process.stdout.write(text)
    } catch (cause) {
      throw outputLost(cause)
    }
  },
  err: (text) => {
    try {
      process.stderr.write(text)
    } catch {
      // It says why something failed, or how far it is: nothing ends by that, nor by another code.
    }
  },
  outlets: () => ({
    screen: createOutlet('screen', process.stdout.fd, systemClock.monotonicMs),
    log: createOutlet('log', process.stderr.fd, systemClock.monotonicMs),
  }),
  outIsTty: process.stdout.isTTY === true,
  errIsTty: process.stderr.isTTY === true,
  lines: () => createInterface({ input: process.stdin })[Symbol.asyncIterator](),
  env: process.env,
}

// Who listens may leave, as `| head` does; that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : report(outputLost(error), io))
})
process.stderr.on('error', () => undefined)
process.on('uncaughtException', (error) => process.exit(report(error, io)))

const code = await rolekeeper(process.argv.slice(2), io)
process.exitCode = code
// Nothing forgotten keeps a terminal waiting: it ends by itself when nothing is open, else soon.
setTimeout(() => process.exit(code), LINGER_MS).unref()

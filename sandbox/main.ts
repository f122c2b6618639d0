/**
 * The sandbox's own process. Options: `--directory DIR`, `--seed N`, `--scenario NAME`, `--fault JSON`,
 * `--allow-loopback-webhooks`, and `--waits`: the story goes on from its first tick when the parent sends `begin`. It reports to a parent
 * over IPC how it goes ({@link Message}), without one on standard error. It ends when its parent does, by whatever
 * cause, and on SIGTERM and SIGINT.
 */
import { parseArgs } from 'node:util'
import { systemClock } from '../src/clock.ts'
import { RolekeeperError } from '../src/errors.ts'
import { untaken } from './files.ts'
import { type Sandbox, startSandbox } from './sandbox.ts'
import { readFault } from './service/faults/faults.ts'
import { scenarioOf } from './story/scenarios.ts'

/** What a parent is sent. */
type Message =
  | { readonly type: 'progress'; readonly text: string }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly fix: string }

// Whatever this process and its children write is for the owner alone.
process.umask(0o077)
const { values } = parseArgs({
  options: {
    directory: { type: 'string', default: '.rolekeeper' },
    seed: { type: 'string' },
    scenario: { type: 'string' },
    fault: { type: 'string' },
    'allow-loopback-webhooks': { type: 'boolean' },
    waits: { type: 'boolean' },
  },
})

let asked = false
const starting = start()
// A parent that is gone cannot be sent anything, and its end is what we wait for.
process.on('disconnect', end)
process.on('message', (message) => {
  if (message === 'begin')
    starting.then(
      ({ weather }) => weather.begin(),
      () => {},
    )
})
process.on('SIGTERM', end)
process.on('SIGINT', end)
starting.then((sandbox) => {
  send({ type: 'ready' })
  // Without its chain it would only serve what grows stale.
  void sandbox.chain.died.then(fail).then(end)
}, fail)

async function start(): Promise<Sandbox> {
  return startSandbox({
    directory: values.directory,
    seed: values.seed === undefined ? undefined : Number(values.seed),
    scenario: scenarioOf(values.scenario),
    clock: systemClock,
    weather: values.waits === true ? 'first-tick' : 'at-once',
    onProgress: (text) => send({ type: 'progress', text }),
    onTrouble: (cause) => console.error(new Date().toISOString(), cause),
    fault: values.fault === undefined ? undefined : readFault(values.fault),
    allowLoopbackWebhooks: values['allow-loopback-webhooks'],
  })
}

function send(message: Message): void {
  if (process.connected) process.send?.(message)
  else
    console.error(
      'text' in message
        ? message.text
        : 'message' in message
          ? `${message.message} Fix: ${message.fix}`
          : 'ready',
    )
}

/** What an error says, in one line. */
const firstLine = (error: unknown) => String(error).split('\n')[0] ?? ''

function fail(error: unknown): void {
  console.error(error)
  const known = error instanceof RolekeeperError ? error : untaken(values.directory, error)
  send({
    type: 'failed',
    code: known?.code ?? 'sandbox.failed',
    message: known?.shortMessage ?? `The sandbox could not start: ${firstLine(error)}`,
    fix:
      known?.fix ??
      'see sandbox.log in its directory; --fresh starts over, as is needed where another release made it.',
  })
  process.exitCode = 1
  // The message leaves first: a channel closes when what was written to it is through.
  if (process.connected) process.disconnect()
}

function end(): void {
  if (asked) return
  asked = true
  starting
    .then((sandbox: Sandbox) => sandbox.stop())
    .catch(() => undefined)
    .finally(() => process.exit())
}

/**
 * The process between us and anvil, in a session of its own, so that a Ctrl-C meant for us does not reach the chain.
 * It holds our end of a pipe: when that closes, however we died, it asks anvil to save its state and end.
 *
 * Arguments: anvil's binary, the state file, the chain id, the port (0 for any), the network, the blocks that keep their
 * transactions, and those that keep their state. Standard output gets one line of
 * JSON, {@link ChainStarted}, once anvil listens; standard error gets anvil's own complaint if it exits before.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** What the watchdog says once the chain listens. */
export type ChainStarted = { readonly port: number; readonly pid: number }

/** From asking anvil to end until it is killed. Saving takes about 50 ms for a thousand blocks. */
const graceMs = 1_500
const [binary = '', stateFile = '', chainId = '', port = '', network = '', blocks = '', states = ''] =
  process.argv.slice(2)
/** How anvil's dumps end; it keeps no states of older blocks in them. */
const LAST_MEMBER = Buffer.from('"historical_states":null}')
const dumpFile = `${stateFile}.part`
/** Anvil writes all of its state so often, and as it ends; it answers nobody while it does. */
const SAVED_EACH_S = '30'
const pidFile = `${stateFile}.pid`

await endLeftover()
promoteDump()

const anvil = spawn(
  binary,
  [
    ...['--host', '127.0.0.1', '--port', port, '--chain-id', chainId, '--network', network],
    // A page in a browser must not be able to drive the chain.
    '--no-cors',
    // `finalized` is two epochs behind; with one slot each that is two blocks.
    ...['--slots-in-an-epoch', '1'],
    // No account that anvil would fund by a well-known key.
    ...['--accounts', '0'],
    ...['--gas-limit', '60000000'],
    // For pinned reads they stay in memory, each a copy of the whole. Without a bound anvil writes older ones to the user's home directory and leaves them there.
    ...['--prune-history', states],
    ...['--transaction-block-keeper', blocks],
    ...(existsSync(stateFile) ? ['--load-state', stateFile] : []),
    ...['--dump-state', dumpFile, '--state-interval', SAVED_EACH_S],
  ],
  { stdio: ['ignore', 'pipe', 'pipe'] },
)
if (anvil.pid !== undefined) writeFileSync(pidFile, String(anvil.pid))

let output = ''
let complaint = ''
let stopping = false
anvil.stdout.setEncoding('utf8').on('data', listen)
anvil.stderr.setEncoding('utf8').on('data', (text: string) => {
  complaint = `${complaint}${text}`.slice(-2_000)
})
anvil.on('error', (error) => {
  complaint = error.message
})
anvil.on('close', (code) => {
  promoteDump()
  process.stderr.write(complaint, () => process.exit(code ?? 1))
})

// The parent may be gone, and its end of the pipes with it.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
process.on('SIGTERM', stop)
process.stdin.on('close', stop).resume()
setInterval(promoteDump, 1_000).unref()

function listen(text: string) {
  output += text
  const match = /Listening on 127\.0\.0\.1:(\d+)/.exec(output)
  if (match === null || anvil.pid === undefined) return
  anvil.stdout.off('data', listen).resume()
  const started: ChainStarted = { port: Number(match[1]), pid: anvil.pid }
  process.stdout.write(`${JSON.stringify(started)}\n`)
}

function stop() {
  if (stopping) return
  stopping = true
  anvil.kill('SIGTERM')
  setTimeout(() => anvil.kill('SIGKILL'), graceMs).unref()
}

/**
 * Make anvil's latest dump the state to start from. Anvil writes in place, so a kill can leave half a file, which it
 * would then refuse to load: only a whole dump replaces the one before.
 */
function promoteDump() {
  try {
    if (isWhole(dumpFile)) renameSync(dumpFile, stateFile)
  } catch {
    // There is none, or a watchdog that is ending took it: the state before it stays.
  }
}

/** A dump is tens of megabytes of JSON an hour: what ends with its last member is whole, without parsing all of it. */
function isWhole(file: string): boolean {
  const end = Buffer.alloc(LAST_MEMBER.length)
  const dump = openSync(file, 'r')
  try {
    const { size } = fstatSync(dump)
    return (
      size > end.length &&
      readSync(dump, end, 0, end.length, size - end.length) > 0 &&
      end.equals(LAST_MEMBER)
    )
  } finally {
    closeSync(dump)
  }
}

/** End an anvil whose watchdog was killed: it would go on writing this state. */
async function endLeftover() {
  if (!existsSync(pidFile)) return
  const pid = Number(readFileSync(pidFile, 'utf8'))
  for (let waitedMs = 0; isOurs(pid); waitedMs += 20) {
    if (waitedMs === 0) signal(pid, 'SIGTERM')
    if (waitedMs === graceMs) signal(pid, 'SIGKILL')
    await sleep(20)
  }
  rmSync(pidFile)
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL') {
  try {
    process.kill(pid, name)
  } catch {
    // It ended since we looked.
  }
}

/** A pid is reused in time, so the process must also be running on this state. */
function isOurs(pid: number): boolean {
  try {
    const command =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        : execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return command.includes(binary) && command.includes(dumpFile)
  } catch {
    return false
  }
}

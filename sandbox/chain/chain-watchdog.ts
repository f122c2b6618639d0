/**
 * The process between us and anvil, in a session of its own, so that a Ctrl-C meant for us does not reach the chain.
 * It holds our end of a pipe: when that closes, however we died, it asks anvil to save its state and end.
 *
 * Arguments: anvil's binary, the state file, the chain id, the port (0 for any), the network, the blocks that keep their
 * transactions, and those that keep their state. Standard output gets one line of
 * JSON, {@link ChainStarted}, once anvil listens; standard error gets anvil's own complaint if it exits before.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** What the watchdog says once the chain listens. */
export type ChainStarted = { readonly port: number; readonly pid: number }

/** From asking anvil to end until it is killed. Saving takes about 50 ms for a thousand blocks. */
const graceMs = 1_500
const [binary = '', stateFile = '', chainId = '', port = '', network = '', blocks = '', states = ''] =
  process.argv.slice(2)
/** How anvil's dumps end; it keeps no states of older blocks in them. */
const LAST_MEMBER = Buffer.from('"historical_states":null}')
/** Anvil writes all of its state so often, and as it ends. */
const SAVED_EACH_S = '30'
const pipe = `${stateFile}.pipe`
const pidFile = `${stateFile}.pid`

await endLeftover()
const dumps = openDumps()

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
    ...['--dump-state', pipe, '--state-interval', SAVED_EACH_S],
  ],
  { stdio: ['ignore', 'pipe', 'pipe'] },
)
if (anvil.pid !== undefined) writeFileSync(pidFile, `${anvil.pid} ${process.pid}`)

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
anvil.on('close', async (code) => {
  await dumps.close()
  process.stderr.write(complaint, () => process.exit(code ?? 1))
})

// The parent may be gone, and its end of the pipes with it.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})
process.on('SIGINT', () => {})
process.on('SIGHUP', () => {})
process.on('SIGTERM', stop)
process.stdin.on('close', stop).resume()

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
 * Take what anvil dumps, and make each that is whole the state to start from. Anvil answers nobody while it writes, so it writes
 * into memory, through a pipe: a disk that stalls for a minute would stop the chain for as long.
 */
function openDumps(): { readonly close: () => Promise<void> } {
  rmSync(pipe, { force: true })
  execFileSync('mkfifo', ['-m', '600', pipe])
  const reader = new Socket({
    fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK),
    writable: false,
  })
  // Without a writer of ours the pipe would end with the first dump.
  const writer = openSync(pipe, constants.O_WRONLY)
  let newest: Buffer | null = null
  let saved: Promise<void> = Promise.resolve()
  const save = async () => {
    if (newest === null) return
    const [part, dump] = [`${stateFile}.part`, newest]
    newest = null
    try {
      await writeFile(part, dump)
      await rename(part, stateFile)
    } catch (error) {
      complaint = String(error)
    }
  }
  let parts: Buffer[] = []
  // The last member may lie across chunks: what of it was read so far.
  let tail = Buffer.alloc(0)
  const take = (chunk: Buffer) => {
    const seen = Buffer.concat([tail, chunk])
    const at = seen.indexOf(LAST_MEMBER)
    if (at < 0) {
      parts.push(chunk)
      tail = seen.subarray(1 - LAST_MEMBER.length)
      return
    }
    const end = at + LAST_MEMBER.length - tail.length
    newest = Buffer.concat([...parts, chunk.subarray(0, end)])
    parts = []
    tail = Buffer.alloc(0)
    saved = saved.then(save)
    if (end < chunk.length) take(chunk.subarray(end))
  }
  reader.on('data', take)
  return {
    close: async () => {
      const ended = once(reader, 'close')
      closeSync(writer)
      await ended
      await saved
      rmSync(pipe, { force: true })
    },
  }
}

/** Let a watchdog that is ending save its state, and end an anvil whose watchdog was killed: it would go on by itself. */
async function endLeftover() {
  if (!existsSync(pidFile)) return
  const [pid = 0, watchdog = 0] = readFileSync(pidFile, 'utf8').split(' ').map(Number)
  while (isOurs(watchdog)) await sleep(20)
  if (isOurs(pid)) {
    const dumps = openDumps()
    for (let waitedMs = 0; isOurs(pid); waitedMs += 20) {
      if (waitedMs === 0) signal(pid, 'SIGTERM')
      if (waitedMs === graceMs) signal(pid, 'SIGKILL')
      await sleep(20)
    }
    await dumps.close()
  }
  rmSync(pidFile, { force: true })
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL') {
  try {
    process.kill(pid, name)
  } catch {
    // It ended since we looked.
  }
}

/** A pid is reused in time, so the process must also be running on this state: a watchdog, or its anvil. */
function isOurs(pid: number): boolean {
  try {
    const command =
      process.platform === 'linux'
        ? readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        : execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return command.includes(binary) && command.includes(stateFile)
  } catch {
    return false
  }
}

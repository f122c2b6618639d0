import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { versionOf } from './installed.ts'

/** Settings by their names in redis.conf; several words are several arguments, as in `replicaof: '127.0.0.1 7000'`. */
export type RedisSettings = Readonly<Record<string, string>>

/** A real redis-server, alone on its port, with a directory of its own. */
export type TestRedis = {
  readonly host: '127.0.0.1'
  readonly port: number
  /** Where its files are: a copy made while it is down, and put back later, is a restored backup. */
  readonly directory: string
  readonly pid: () => number
  /** A new line to it, which reconnects by itself and is closed by `stop`. */
  readonly client: () => Redis
  /** End it by SIGKILL; resolves when it is gone. */
  readonly kill: () => Promise<void>
  /** SIGSTOP: lines stay open and nothing answers. */
  readonly pause: () => void
  /** SIGCONT. */
  readonly resume: () => void
  /** Kill it if it runs, and start it at the same port on the same files, with these settings over the first ones. */
  readonly restart: (settings?: RedisSettings) => Promise<void>
  /** Close the lines of `client`, end it, and remove its directory. */
  readonly stop: () => Promise<void>
}

/** No snapshots unless a test asks for them; a master does not wait 5 s for more replicas before it copies itself. */
const SETTINGS: RedisSettings = { bind: '127.0.0.1', save: '', 'repl-diskless-sync-delay': '0' }

/**
 * Start redis-server 7 or newer on a free port of loopback. It ends with this process, by whatever cause.
 * Throws with one line where there is none that can be used, or where it does not accept a setting.
 */
export async function startRedis(settings: RedisSettings = {}): Promise<TestRedis> {
  const binary = await redisServer()
  const directory = await mkdtemp(join(tmpdir(), 'rolekeeper-redis-'))
  const launch = (port: number, more: RedisSettings) =>
    launchRedis(binary, port, directory, { ...SETTINGS, ...settings, ...more })
  let server = await onFreePort((port) => launch(port, {}))
  const { port } = server
  const clients = new Set<Redis>()
  return {
    host: '127.0.0.1',
    port,
    directory,
    pid: () => server.pid,
    client: () => {
      const client = new Redis(port, '127.0.0.1')
      // A test that kills the server sees it by what its commands answer.
      client.on('error', () => undefined)
      clients.add(client)
      return client
    },
    kill: () => server.kill(),
    pause: () => process.kill(server.pid, 'SIGSTOP'),
    resume: () => process.kill(server.pid, 'SIGCONT'),
    restart: async (more = {}) => {
      await server.kill()
      server = await launch(port, more)
    },
    stop: async () => {
      for (const client of clients) client.disconnect()
      await server.kill()
      await rm(directory, { recursive: true })
    },
  }
}

type Server = { readonly pid: number; readonly port: number; readonly kill: () => Promise<void> }

class PortInUse extends Error {}

/**
 * Try ports below the ones that outgoing connections get: a server that is down keeps its port, and a client that
 * tries to reach it cannot connect to itself.
 */
async function onFreePort(launch: (port: number) => Promise<Server>): Promise<Server> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await launch(10_000 + Math.floor(Math.random() * 22_000))
    } catch (error) {
      if (!(error instanceof PortInUse) || tries === 20) throw error
    }
  }
}

/** Start it and wait until it has loaded its files and accepts connections. */
async function launchRedis(
  binary: string,
  port: number,
  directory: string,
  settings: RedisSettings,
): Promise<Server> {
  const own = ['--port', String(port), '--dir', directory]
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')])
  const child = spawn(binary, [...own, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  await once(child, 'spawn')
  const { pid } = child
  if (pid === undefined) throw new TypeError('redis-server has no process id')
  const watchdog = watch(pid, directory)
  const ended = once(child, 'close').then(() => {
    watchdog.kill('SIGKILL')
  })
  let said = ''
  const isReady = new Promise<true>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-4_000)
        if (said.includes('Ready to accept connections')) resolve(true)
      })
    }
  })
  if (!(await Promise.race([isReady, ended]))) {
    if (/address already in use/i.test(said)) throw new PortInUse(`Port ${port} is in use.`)
    throw new TypeError(`redis-server ended at start: ${said.trim().split('\n').slice(-3).join(' ')}`)
  }
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  return { pid, port, kill }
}

/** End the server when this process does, and remove its files: even a killed process ends what it wrote to. */
function watch(pid: number, directory: string): ChildProcess {
  const script = 'cat > /dev/null; kill -9 "$0"; rm -rf "$1"'
  const watchdog = spawn('sh', ['-c', script, String(pid), directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.unref()
  return watchdog
}

const INSTALL =
  'install redis-server 7 or newer (Debian: `apt-get install redis-server`; macOS: `brew install redis`)'

/** Find redis-server on the path; on Debian, root installs it first. Throws with one line that says what to install. */
export async function redisServer(): Promise<string> {
  const found = await versionOf({ program: 'redis-server', debian: 'redis-server' }, /v=(\d+)\./)
  if (found === null) throw new TypeError(`The tests found no redis-server on the path: ${INSTALL}.`)
  if (found < 7) throw new TypeError(`The redis-server on the path is version ${found}: ${INSTALL}.`)
  return 'redis-server'
}

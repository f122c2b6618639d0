import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ENVIRONMENT } from '../../support/keeper-scene.ts'

const HOOK = new URL('./crash-hook.ts', import.meta.url).href
/** The command. */
export const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

/** The commit at which a keeper ends itself; `crash-hook.ts` does it. */
type CrashAt = { readonly state: string; readonly when: 'before' | 'after'; readonly live: number }

/** One keeper after another, all of one configuration. */
export type KeeperProcess = {
  /** Start one; the one before it has ended. */
  readonly start: (crash?: CrashAt) => void
  /** How it ended, or null while it runs. */
  readonly ended: () => string | null
  readonly signal: (name: NodeJS.Signals) => void
  /** The next one that is started can make no file larger than this: a full disk that only it has. */
  readonly limitNext: (fileKbMax: number) => void
  /** Let nothing start until the work has ended. */
  readonly hold: (work: () => Promise<unknown>) => Promise<void>
  /** SIGKILL, and wait for its end. */
  readonly kill: () => Promise<void>
  /** SIGTERM, and wait for its end. @returns milliseconds that it took. */
  readonly stop: () => Promise<number>
  readonly starts: () => number
  /** Whether the newest one has said that it is ready. */
  readonly isReady: () => boolean
}

/** Create the keeper of a configuration; its events and its log go to a file. */
export function createKeeperProcess(configFile: string, logFile: string): KeeperProcess {
  let child: ChildProcess | undefined
  let starts = 0
  let fileKbMax: number | undefined
  let held = false
  let isReady = false
  const log = createWriteStream(logFile, { flags: 'a' })
  const exit = async (name: NodeJS.Signals): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(name)
    await gone
  }
  return {
    start: (crash) => {
      if (held) return
      starts += 1
      isReady = false
      const hook = crash === undefined ? [] : ['--import', HOOK]
      const args = [...hook, MAIN, 'run', '--config', configFile, '--json']
      const limit = fileKbMax === undefined ? 'unlimited' : String(fileKbMax)
      fileKbMax = undefined
      child = spawn('bash', ['-c', `ulimit -f ${limit}; exec "$0" "$@"`, process.execPath, ...args], {
        env: { ...process.env, ...ENVIRONMENT, CHAOS_CRASH: JSON.stringify(crash ?? null) },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        isReady ||= text.includes('"type":"ready"')
      })
      child.stdout?.pipe(log, { end: false })
      child.stderr?.pipe(log, { end: false })
    },
    ended: () => {
      if (child === undefined) return 'not started'
      if (child.exitCode === null && child.signalCode === null) return null
      return child.signalCode ?? `exit ${child.exitCode}`
    },
    signal: (name) => void child?.kill(name),
    limitNext: (next) => {
      fileKbMax = next
    },
    hold: async (work) => {
      held = true
      try {
        await exit('SIGKILL')
        await work()
      } finally {
        held = false
      }
    },
    kill: () => exit('SIGKILL'),
    stop: async () => {
      const startedAtMs = performance.now()
      await exit('SIGTERM')
      return performance.now() - startedAtMs
    },
    starts: () => starts,
    isReady: () => isReady,
  }
}

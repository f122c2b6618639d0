import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { lockSandbox } from '../../../sandbox/files.ts'
import { faultSchema } from '../../../sandbox/service/faults/faults.ts'
import { SCENARIOS } from '../../../sandbox/story/scenarios.ts'
import { problemIn } from '../../config/check.ts'
import { printable, RolekeeperError } from '../../errors.ts'
import { lockDirectory } from '../../journal/directory/lock.ts'
import { usageError } from '../parse/command.ts'
import { perhaps } from '../parse/nearest.ts'
import { atMost } from '../session.ts'

/** anvil, the contracts and the service are ready in a few seconds; a slow machine gets time. */
const READY_MS = 60_000

/** The sandbox saves its chain and ends in under this time; Ctrl-C has 2 s altogether. */
const STOP_MS = 1_000

/** The messages of the sandbox to its parent. */
const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('progress'), text: z.string() }),
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('failed'), code: z.string(), message: z.string(), fix: z.string() }),
])

/** What we send the sandbox, when its story waits. */
const BEGIN = 'begin'

/** The sandbox of this release. */
export const SANDBOX_PROGRAM = new URL('../../../sandbox/main.ts', import.meta.url)

/** How the sandbox is started. */
export type SandboxOptions = {
  /** The program to run, which speaks {@link message}. */
  readonly program: URL
  readonly directory: string
  /** Of the weather: the same seed gives the same story. */
  readonly seed: number | undefined
  /** By its name; absent, the ordinary one. */
  readonly scenario?: string | undefined
  /** What the service does wrong from the start, as JSON. */
  readonly fault?: string | undefined
  /** Whether webhooks may be delivered to this machine. */
  readonly allowLoopbackWebhooks?: boolean
  /** Whether the story waits for `begin`; it begins with the sandbox where absent. */
  readonly waits?: boolean
  readonly onProgress: (text: string) => void
}

/** A sandbox that runs as our child, in a session of its own: Ctrl-C in our terminal does not reach it. */
export type SandboxProcess = {
  /** Resolves when it serves; rejects with its own code and fix, `sandbox.ended` or `sandbox.slow`. */
  readonly ready: Promise<void>
  /** Rejects when it ends without being asked: with the reason that it said, or `sandbox.ended`. */
  readonly ended: Promise<never>
  /** Let a story that waits begin; once more does nothing. */
  readonly begin: () => void
  readonly stop: () => Promise<void>
  /** End it at once, without saving. */
  readonly kill: () => void
}

/** The sandbox's own log, inside the directory. */
const sandboxLog = (directory: string) => join(directory, 'sandbox.log')

/**
 * Make the directory, for its owner alone. Starting over takes out everything but the locks' own files, and waits for
 * a sandbox that is still ending.
 * @throws RolekeeperError `journal.locked` or `sandbox.locked` while another process works in it.
 */
export function prepareDirectory(directory: string, fresh: boolean): void {
  const keeper = lockDirectory(directory)
  try {
    if (fresh) forget(directory)
  } finally {
    keeper.release()
  }
}

function forget(directory: string): void {
  const sandbox = lockSandbox(directory)
  try {
    for (const name of readdirSync(directory)) {
      if (!name.startsWith('lock.')) rmSync(join(directory, name), { recursive: true, force: true })
    }
  } finally {
    sandbox.release()
  }
}

/**
 * Check how a story is to go, before anything is forgotten or started for it.
 * @throws RolekeeperError `usage` for a scenario or a fault that there is not, with the nearest.
 */
export function checkStory({ scenario, fault }: Pick<SandboxOptions, 'scenario' | 'fault'>): void {
  const names = Object.keys(SCENARIOS)
  if (scenario !== undefined && !names.includes(scenario))
    throw usageError(
      `There is no scenario "${printable(scenario)}".`,
      `${perhaps(scenario, names)}give one of ${names.join(', ')}`,
    )
  if (fault === undefined) return
  const value = objectIn(fault)
  if (value === null)
    throw usageError(
      `--fault is ${printable(fault)}, which is no JSON object.`,
      'quote it for the shell, for example: --fault \'{"latencyMs":200}\'',
    )
  const problem = problemIn(value, faultSchema)
  if (problem !== null)
    throw usageError(
      `The faults are not understood: ${printable(problem.text, 400)}.`,
      `${problem.fix}; "Faults" in docs/scenarios-and-faults.md has their values`,
    )
}

/** What a text is as JSON; null where it is no object. Pure. */
function objectIn(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}

/**
 * Start the sandbox. Its pipe to us is its life line: when we end, even by SIGKILL, it ends itself and what it
 * started.
 */
export function startSandboxProcess(options: SandboxOptions): SandboxProcess {
  const { directory, onProgress } = options
  const child = spawnSandbox(options)
  const exited = endOf(child)
  let asked = false
  let failure: RolekeeperError | undefined
  child.on('message', (raw) => {
    failure ??= failureIn(raw)
  })
  const ended = exited.then((): Promise<never> => {
    if (asked) return new Promise<never>(() => {})
    throw failure ?? endedError(directory, child)
  })
  // It is awaited only while a session runs; before and after, its rejection says nothing new.
  ended.catch(() => {})
  return {
    ready: becomeReady(child, exited, directory, onProgress),
    ended,
    begin: () => {
      // One that is ending cannot be sent anything, and `ended` says so.
      if (child.connected) child.send(BEGIN, () => {})
    },
    stop: async () => {
      asked = true
      if (child.connected) child.disconnect()
      await atMost(STOP_MS, exited)
      child.kill('SIGKILL')
    },
    kill: () => {
      asked = true
      child.kill('SIGKILL')
    },
  }
}

/**
 * Of what the sandbox reads a second, nearly all is garbage a second later, which V8 would let pile up to 200 MB; 50 MB
 * live on. With these bounds the process stays under 300 MB.
 */
const MEMORY = ['--max-semi-space-size=4', '--max-old-space-size=256']

function spawnSandbox({
  program,
  directory,
  seed,
  scenario,
  fault,
  ...options
}: SandboxOptions): ChildProcess {
  const log = openSync(sandboxLog(directory), 'a', 0o600)
  try {
    const args = [
      ...MEMORY,
      fileURLToPath(program),
      '--directory',
      directory,
      ...(seed === undefined ? [] : ['--seed', String(seed)]),
      ...(scenario === undefined ? [] : ['--scenario', scenario]),
      ...(fault === undefined ? [] : ['--fault', fault]),
      ...(options.allowLoopbackWebhooks === true ? ['--allow-loopback-webhooks'] : []),
      ...(options.waits === true ? ['--waits'] : []),
    ]
    return spawn(process.execPath, args, { detached: true, stdio: ['ignore', log, log, 'ipc'] })
  } finally {
    closeSync(log)
  }
}

/** Resolves when a child has ended and all that it said was heard: of its exit we may learn before its last message. */
function endOf(child: ChildProcess): Promise<void> {
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const silent = new Promise<void>((resolve) => child.once('disconnect', () => resolve()))
  return Promise.all([exited, silent]).then(() => {})
}

function becomeReady(
  child: ChildProcess,
  exited: Promise<void>,
  directory: string,
  onProgress: (text: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const slow = new RolekeeperError(
      'sandbox.slow',
      `The sandbox was not ready within ${READY_MS / 1_000} s.`,
      {
        fix: `see ${sandboxLog(directory)}`,
      },
    )
    const timeout = setTimeout(() => reject(slow), READY_MS)
    const settle = (work: () => void) => {
      clearTimeout(timeout)
      work()
    }
    child.once('error', () => settle(() => reject(endedError(directory, child))))
    void exited.then(() => settle(() => reject(endedError(directory, child))))
    child.on('message', (text) => {
      const parsed = message.safeParse(text)
      if (!parsed.success) return
      if (parsed.data.type === 'progress') onProgress(printable(parsed.data.text))
      else if (parsed.data.type === 'ready') settle(resolve)
      else settle(() => reject(failureIn(text)))
    })
  })
}

/** Read why the program fails, before it is ready or later; undefined for any other message. */
function failureIn(text: unknown): RolekeeperError | undefined {
  const parsed = message.safeParse(text)
  if (!parsed.success || parsed.data.type !== 'failed') return undefined
  const { code, message: sentence, fix } = parsed.data
  return new RolekeeperError(printable(code), printable(sentence, 500), { fix: printable(fix, 500) })
}

const endedError = (directory: string, child: ChildProcess) =>
  new RolekeeperError(
    'sandbox.ended',
    `The sandbox ended (${child.signalCode ?? `code ${child.exitCode}`}).`,
    {
      fix: `see ${sandboxLog(directory)}; --fresh starts over`,
    },
  )

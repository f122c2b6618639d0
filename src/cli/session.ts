import type { Keeper } from '../keeper/keeper.ts'
import type { KeeperEvent } from '../ops/events.ts'
import type { Outlet } from '../ops/outlet.ts'
import type { Deployment } from '../service/contract/deployment.ts'
import type { Io, Outlets } from './parse/command.ts'
import { type GivenPlace, placeText } from './target/place.ts'

/** What ends a session early. */
type Interrupts = {
  /** Resolves at the first SIGINT, SIGTERM or SIGHUP. */
  readonly first: Promise<void>
  /** Stop listening for them. */
  readonly release: () => void
}

/** With the sandbox there is something to show until the end of `--for`; what then takes longer is parked. */
const DRAIN_MS = 30_000
/** What is in flight is on disk, so that a session may end at any moment; with the sandbox's own end, 2 s is all. */
const INTERRUPTED_MS = 900
/** Seats of a fleet that are left are taken at once, those of a process that is gone after a lease: a supervisor waits 10 s. */
const LEAVE_MS = 9_000

/** Listen for the signals that end a session; a second one calls `atOnce` and ends the process. */
export function createInterrupts(atOnce: () => void): Interrupts {
  const { promise, resolve } = Promise.withResolvers<void>()
  let asked = false
  const onSignal = () => {
    if (asked) {
      atOnce()
      process.exit(130)
    }
    asked = true
    resolve()
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, onSignal)
  return {
    first: promise,
    release: () => {
      for (const signal of signals) process.off(signal, onSignal)
    },
  }
}

/** How a session goes. */
type SessionOptions = {
  readonly show: Show
  readonly interrupted: Promise<void>
  /** Stop deciding after this many milliseconds; until interrupted where absent. */
  readonly forMs: number | undefined
  /** Whether it leaves seats to other instances. */
  readonly isInFleet?: boolean
  /** Rejects when something that the keeper cannot do without has ended. */
  readonly broken?: Promise<never>
}

/**
 * Run a keeper until its time is over or someone interrupts, then show the summary.
 * @returns the exit code: 1 when a workflow was quarantined.
 */
export async function runSession(keeper: Keeper, options: SessionOptions): Promise<number> {
  const { show, interrupted, forMs, isInFleet = false, broken = new Promise<never>(() => {}) } = options
  keeper.onEvent(show.event)
  const time = timer(forMs)
  try {
    const started = keeper.start().then(() => 'started' as const)
    const first = await Promise.race([started, interrupted, broken])
    if (first === 'started') {
      time.begin()
      const over = await Promise.race([time.over, interrupted, broken])
      if (over === 'over') await Promise.race([keeper.stop({ drainMs: DRAIN_MS }), interrupted, broken])
    }
  } finally {
    time.cancel()
    await atMost(isInFleet ? LEAVE_MS : INTERRUPTED_MS, keeper.stop({ drainMs: 0 }))
  }
  const summary = keeper.summary()
  show.event(summary)
  show.end()
  return Object.values(summary.workflows).some(({ quarantined }) => quarantined > 0) ? 1 : 0
}

function timer(ms: number | undefined) {
  const { promise, resolve } = Promise.withResolvers<'over'>()
  let timeout: NodeJS.Timeout | undefined
  return {
    over: promise,
    begin: () => {
      if (ms !== undefined) timeout = setTimeout(() => resolve('over'), ms)
    },
    cancel: () => clearTimeout(timeout),
  }
}

/** Wait for work that should be quick, but no longer than `ms`. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timeout = setTimeout(resolve, ms)
  try {
    await Promise.race([work, promise])
  } finally {
    clearTimeout(timeout)
  }
}

/** Where a session says what it does. */
export function outletsOf(io: Io): Outlets {
  const certain = (name: Outlet['name'], write: Outlet['write']): Outlet => ({
    name,
    write,
    lost: () => null,
  })
  return io.outlets?.() ?? { screen: certain('screen', io.out), log: certain('log', io.err) }
}

/** Shows a keeper's events on standard output. */
export type Show = {
  readonly event: (event: KeeperEvent) => void
  /** Show what is still held back. */
  readonly end: () => void
}

/**
 * Show events as the options ask: one JSON object a line, or the timeline, turn by turn, whose commands lead to the place
 * that was given.
 */
export async function createShow(
  io: Io,
  given: GivenPlace & { readonly json: boolean; readonly linkTo?: string; readonly known: Deployment },
): Promise<Show> {
  if (given.json) return { event: (event) => io.out(`${JSON.stringify(event)}\n`), end: () => {} }
  const { createTimeline } = await import('./output/timeline.ts')
  const link = given.linkTo === undefined ? undefined : await linkMaker(given.linkTo)
  const draw = createTimeline({
    colour: io.outIsTty && io.env.NO_COLOR === undefined,
    at: placeText(given),
    link,
    known: given.known,
  })
  let turn: KeeperEvent[] = []
  const end = () => {
    const lines = draw(turn)
    turn = []
    if (lines.length > 0) io.out(`${lines.join('\n')}\n`)
  }
  return {
    event: (event) => {
      if (turn.push(event) === 1) setImmediate(end)
    },
    end,
  }
}

/** Make what a person opens the console of a directory with, as `rolekeeper console` prints it. */
async function linkMaker(directory: string): Promise<() => string | null> {
  const { linkOf, readPlace } = await import('../ops/console/access.ts')
  const { author } = await import('./target/author.ts')
  return () => {
    const place = readPlace(directory)
    const { by, atMs } = author()
    return place === null ? null : linkOf(place, by, atMs)
  }
}

/** Something that takes longer than a second, as it is shown meanwhile. */
type Progress = { readonly say: (text: string) => void; readonly end: () => void }

/** Show progress on standard error: a spinner on a terminal, else one line at the start. */
export async function createProgress(text: string, io: Io): Promise<Progress> {
  if (!io.errIsTty) {
    io.err(`${text} …\n`)
    return { say: () => {}, end: () => {} }
  }
  const { default: createSpinner } = await import('yocto-spinner')
  // Signals are the session's: the spinner would end the process before anything is parked.
  const spinner = createSpinner({ text, stream: process.stderr, handleSignals: false }).start()
  return {
    say: (next) => {
      spinner.text = `${text}: ${next}`
    },
    end: () => {
      spinner.stop()
    },
  }
}

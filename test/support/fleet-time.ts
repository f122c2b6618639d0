import { setTimeout as inReality } from 'node:timers/promises'
import type { Clock } from '../../src/clock.ts'

/** What an instance of a fleet reads and waits by. */
type FleetClock = { readonly clock: Clock; readonly monotonicMs: () => number }

/**
 * Time that a fleet's instances share, and that stands still while one of them is at work: leases end by what was done and left
 * undone, however slow the machine is. The wall clock is the machine's, as Redis has the same.
 */
export type FleetTime = {
  readonly nowMs: () => number
  /** The clock of one instance, which is at work from now on. */
  readonly clockOf: (name: string) => FleetClock
  /** Wait for an instance no more, as its work leads nowhere: cut off, or with its Redis away. */
  readonly leaveOut: (name: string) => void
  /** Wait for it again. */
  readonly takeIn: (name: string) => void
  /** Resolve once so much has passed. */
  readonly pass: (ms: number) => Promise<void>
  /** Whether an instance is at work: nothing that it asked for is under way else. */
  readonly isAtWork: (name: string) => boolean
  /** Let none pass until what is given back is called. */
  readonly hold: () => () => void
  /** Call something after each step. */
  readonly onStep: (look: () => void) => void
  readonly stop: () => void
}

type Sleeper = { readonly atMs: number; readonly wake: () => void }

/** Begin the time of a fleet whose leases last so long. */
export function startFleetTime(leaseMs: number): FleetTime {
  /** Several to each wait of an instance. */
  const stepMs = leaseMs / 32
  /** What its looks wait for each other; beats wait longer. */
  const lookMs = leaseMs / 8
  let nowMs = 1_000_000
  let isStopped = false
  const sleepers = new Set<Sleeper>()
  /** The loops of an instance that are at work, each known by the signal that ends it; its first look by its name. */
  const atWork = new Map<string, Set<unknown>>()
  let holds = 0
  const leftOut = new Set<string>()
  const looks: (() => void)[] = []

  const sleep = (ms: number, signal: AbortSignal | undefined, onWake: () => void) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = () => {
        sleepers.delete(sleeper)
        onWake()
        reject(signal?.reason)
      }
      const wake = () => {
        sleepers.delete(sleeper)
        signal?.removeEventListener('abort', onAbort)
        onWake()
        resolve()
      }
      const sleeper = { atMs: nowMs + ms, wake }
      sleepers.add(sleeper)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  const isAtWork = (name: string) => (atWork.get(name)?.size ?? 0) > 0
  const isStill = () => holds > 0 || [...atWork.keys()].some((name) => isAtWork(name) && !leftOut.has(name))
  const step = () => {
    const nextMs = Math.min(...[...sleepers].map(({ atMs }) => atMs))
    nowMs = Math.max(nowMs, Math.min(nowMs + stepMs, nextMs))
    for (const { atMs, wake } of [...sleepers].toSorted((one, other) => one.atMs - other.atMs))
      if (atMs <= nowMs) wake()
    for (const look of looks) look()
  }
  const run = async () => {
    while (!isStopped) {
      await inReality(1)
      if (!isStill()) step()
    }
    for (const { wake } of [...sleepers]) wake()
  }
  run()

  return {
    nowMs: () => nowMs,
    clockOf: (name) => {
      const loops = new Set<unknown>([name])
      atWork.set(name, loops)
      return {
        monotonicMs: () => nowMs,
        clock: {
          nowMs: Date.now,
          monotonicMs: () => nowMs,
          sleep: (ms, signal) => {
            loops.delete(signal)
            if (ms <= lookMs) loops.delete(name)
            return sleep(ms, signal, () => {
              // Who ends is at work no more.
              if (signal?.aborted !== true) loops.add(signal)
            })
          },
        },
      }
    },
    leaveOut: (name) => void leftOut.add(name),
    takeIn: (name) => void leftOut.delete(name),
    isAtWork,
    hold: () => {
      holds += 1
      return () => {
        holds -= 1
      }
    },
    pass: (ms) => sleep(ms, undefined, () => undefined),
    onStep: (look) => void looks.push(look),
    stop: () => {
      isStopped = true
    },
  }
}

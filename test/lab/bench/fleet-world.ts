import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { foundFleet } from '../../../src/journal/redis/link/generation.ts'
import { newDirectory } from '../../support/directory.ts'
import { storeAt } from '../../support/redis-fleet.ts'
import type { Ask, FleetSettings, Said } from './fleet-instance.ts'
import type { ThroughputSettings } from './throughput-world.ts'

/** A claim of a key's, by which instance and when, milliseconds of the machine's monotonic clock. */
export type Claimed = { readonly instance: string; readonly key: number; readonly atMs: number }

/** An instance that runs. */
type Instance = {
  readonly name: string
  readonly child: ChildProcess
  keys: readonly number[]
  /** Ask it for something, and resolve with its answer. */
  readonly ask: <T extends Said['type']>(ask: Ask, answer: T) => Promise<Extract<Said, { type: T }>>
}

/** Processes that share the seats of one fleet. */
export type Fleet = {
  readonly instances: () => readonly Instance[]
  readonly claims: readonly Claimed[]
  /** Start instances, and resolve when they share all seats with those that run. */
  readonly start: (names: readonly string[]) => Promise<void>
  /** Have each carry so much of each of its seats at once, until it ends. */
  readonly load: (atOnce: number) => void
  /** End an instance at once. @returns the keys whose seats it held. */
  readonly kill: (name: string) => Promise<readonly number[]>
  /** Have one leave its seats and end. */
  readonly leave: (name: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/** What a fleet is started with. */
type FleetOptions = Pick<FleetSettings, 'redisPort' | 'fleet' | 'roster' | 'leaseMs'>

/** Begin a fleet without instances, on keys that no other has. */
export async function startFleet(world: ThroughputSettings, options: FleetOptions): Promise<Fleet> {
  await foundFleet(storeAt(options.redisPort, options.fleet))
  const directories = newDirectory()
  const running = new Map<string, Instance>()
  const claims: Claimed[] = []
  let atOnce = 0
  let onChange = () => {}
  const startOne = (name: string) => {
    const child = fork(fileURLToPath(new URL('fleet-instance.ts', import.meta.url)))
    const settings: FleetSettings = {
      ...world,
      ...options,
      instance: name,
      replicas: 0,
      directory: join(directories, name),
    }
    child.send(settings)
    const instance = instanceOf(name, child)
    child.on('message', (said: Said) => {
      if (said.type === 'claimed') claims.push({ instance: name, key: said.key, atMs: said.atMs })
      if (said.type !== 'held') return
      instance.keys = said.keys
      onChange()
    })
    running.set(name, instance)
    child.once('exit', () => {
      if (running.get(name) === instance) throw new TypeError(`${name} ended early`)
    })
    if (atOnce > 0) child.send({ type: 'load', atOnce } satisfies Ask)
  }
  const isShared = () => {
    const all = [...running.values()].map(({ keys }) => keys)
    const most = Math.ceil(world.keys.length / running.size)
    return all.flat().length === world.keys.length && all.every((keys) => keys.length <= most)
  }
  const ended = async (name: string) => {
    const instance = running.get(name)
    if (instance === undefined) throw new TypeError(`${name} does not run`)
    running.delete(name)
    await once(instance.child, 'exit')
    return instance.keys
  }
  const leave = async (name: string) => {
    running.get(name)?.child.send({ type: 'leave' } satisfies Ask)
    await ended(name)
  }
  return {
    claims,
    instances: () => [...running.values()],
    start: async (names) => {
      for (const name of names) startOne(name)
      while (!isShared()) {
        await new Promise<void>((resolve) => {
          onChange = resolve
        })
      }
    },
    load: (lanes) => {
      atOnce = lanes
      for (const { child } of running.values()) child.send({ type: 'load', atOnce } satisfies Ask)
    },
    kill: async (name) => {
      running.get(name)?.child.kill('SIGKILL')
      return ended(name)
    },
    leave,
    stop: async () => {
      await Promise.all([...running.keys()].map(leave))
    },
  }
}

function instanceOf(name: string, child: ChildProcess): Instance {
  return {
    name,
    child,
    keys: [],
    ask: (ask, answer) =>
      new Promise((resolve) => {
        const onSaid = (said: Said) => {
          if (said.type !== answer) return
          child.off('message', onSaid)
          resolve(said as Extract<Said, { type: typeof answer }>)
        }
        child.on('message', onSaid)
        child.send(ask)
      }),
  }
}

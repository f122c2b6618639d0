import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetWorld, Member } from './fleet-world.ts'

/** What a fault of a fleet is done to, and how long it may last. */
export type FleetMeans = {
  readonly world: FleetWorld
  /** Whose turn it is. */
  readonly member: Member
  /** Numbers of this fault alone, from 0 to 1. */
  readonly roll: () => number
  readonly leaseMs: number
  /** Note that an instance is killed or stopped, and what it held. @returns how to note that it goes on. */
  readonly gone: (member: Member, how: 'killed' | 'stopped') => () => void
}

/** Does one fault from its beginning to its end. */
type FleetFault = (means: FleetMeans) => Promise<void>

/** A rolling restart waits so long for one instance before it goes to the next. */
const READY_MS_MAX = 8_000
/** Longer than every lease: by then another holds what it held. */
const BEYOND = 2.5

const between = (roll: () => number, from: number, to: number) => sleep(from + roll() * (to - from))

/** Wrong with the Redis that all share. One at a time. */
export const REDIS_FAULTS: Readonly<Record<string, FleetFault>> = {
  'redis.killed': async ({ world, roll }) => {
    await world.redis.master().kill()
    await between(roll, 50, 2_000)
    await world.redis.restart()
  },
  'redis.stopped': async ({ world, roll, leaseMs }) => {
    const redis = world.redis.master()
    redis.pause()
    await between(roll, 200, 2 * leaseMs)
    redis.resume()
  },
  'redis.slow': async ({ world, roll }) => {
    for (const { redis } of world.members) redis.setRule('toClient', { kind: 'delay', ms: 30 + roll() * 200 })
    await between(roll, 500, 2_500)
    for (const { redis } of world.members) redis.setRule('toClient', null)
  },
}

/** What becomes of an instance's process. One at a time: one that is stopped hears no SIGTERM. */
export const PROCESS_FAULTS: Readonly<Record<string, FleetFault>> = {
  'instance.killed': async ({ member, roll, leaseMs, gone }) => {
    await member.keeper.hold(async () => {
      const back = gone(member, 'killed')
      await between(roll, 0, 2 * BEYOND * leaseMs)
      back()
    })
  },
  'instance.stopped': async ({ member, roll, leaseMs, gone }) => {
    const back = gone(member, 'stopped')
    member.keeper.signal('SIGSTOP')
    await between(roll, BEYOND * leaseMs, (BEYOND + 1) * leaseMs)
    back()
    member.keeper.signal('SIGCONT')
  },
  'instance.paused': async ({ member, roll, leaseMs }) => {
    member.keeper.signal('SIGSTOP')
    await between(roll, 100, leaseMs)
    member.keeper.signal('SIGCONT')
  },
  'instances.rolled': async ({ world }) => {
    for (const { keeper } of world.members) {
      await keeper.stop()
      const starts = keeper.starts()
      const untilMs = performance.now() + READY_MS_MAX
      while (performance.now() < untilMs && (keeper.starts() === starts || !keeper.isReady())) await sleep(50)
    }
  },
}

/** Wrong with the way from one instance to one part or all. One at a time. */
export const WAY_FAULTS: Readonly<Record<string, FleetFault>> = {
  'redis.held_from_one': async ({ member: { redis }, roll, leaseMs }) => {
    for (const way of ['toServer', 'toClient'] as const) redis.setRule(way, { kind: 'hold' })
    await between(roll, 300, BEYOND * leaseMs)
    for (const way of ['toServer', 'toClient'] as const) redis.setRule(way, null)
  },
  'redis.lost_to_one': async ({ member: { redis }, roll, leaseMs }) => {
    redis.loseLines()
    for (const way of ['toServer', 'toClient'] as const) redis.setRule(way, { kind: 'drop' })
    await between(roll, 300, BEYOND * leaseMs)
    for (const way of ['toServer', 'toClient'] as const) redis.setRule(way, null)
  },
  'redis.replies_lost': async ({ member: { redis }, roll, leaseMs }) => {
    redis.setRule('toClient', () => (roll() < 0.15 ? { kind: 'cut', afterBytes: 0 } : null))
    await between(roll, leaseMs, BEYOND * leaseMs)
    redis.setRule('toClient', null)
  },
  'redis.requests_cut': async ({ member: { redis }, roll, leaseMs }) => {
    redis.setRule('toServer', () => (roll() < 0.15 ? { kind: 'cut', afterBytes: 10 } : null))
    await between(roll, leaseMs, BEYOND * leaseMs)
    redis.setRule('toServer', null)
  },
  'instance.alone': async ({ member: { world, redis }, roll, leaseMs }) => {
    const parts = [...world.nodes, world.service, world.kms, redis]
    for (const part of parts) await part.down()
    await between(roll, 300, BEYOND * leaseMs)
    for (const part of parts) await part.up()
  },
  'instance.without_nodes': async ({ member: { world }, roll }) => {
    for (const node of world.nodes) await node.down()
    await between(roll, 300, 3_000)
    for (const node of world.nodes) await node.up()
  },
  'instance.without_kms': async ({ member: { world }, roll }) => {
    await world.kms.down()
    await between(roll, 300, 3_000)
    await world.kms.up()
  },
  'instance.without_service': async ({ member: { world }, roll }) => {
    await world.service.down()
    await between(roll, 300, 3_000)
    await world.service.up()
  },
}

/** Where there is a replica. It has heard nothing of late when it becomes the master; the old one begins anew. */
export const FAILOVER: FleetFault = async ({ world, roll }) => {
  const { replication, promote, follow } = world.redis
  replication?.setRule('toClient', { kind: 'drop' })
  await between(roll, 100, 1_000)
  await promote()
  await follow()
}

/** Delete every key of BullMQ, as often as asked. @returns how many keys went. */
export async function flushQueue({ redis, keys }: FleetWorld): Promise<number> {
  const line = redis.line()
  const found = await line.keys(`${keys.meta.replace(/meta$/, 'queue')}*`)
  return found.length === 0 ? 0 : line.del(...found)
}

import type { Clock } from '../clock.ts'
import type { RedisStore } from '../journal/redis/link/store.ts'
import { type InstanceRecord, type Introduction, present } from '../journal/redis/seats/instances.ts'
import type { Controls, SeatRecord } from '../journal/redis/seats/seat.ts'
import { createWatch, type Watch } from './watch.ts'

/** What one instance sees of its fleet. */
export type View = {
  /** By seat; null where nobody ever held it. */
  readonly records: ReadonlyMap<string, SeatRecord | null>
  /** Seat → instance; absent where it was left, or its beat unchanged for too long. */
  readonly holders: ReadonlyMap<string, string>
  /** How long each of the other seats was watched without a holder, ms. */
  readonly freeMs: ReadonlyMap<string, number>
  /** Instances that may live: of some, nothing is known yet but that they are in the roll. */
  readonly living: readonly InstanceRecord[]
  /** Those of them that were just seen to live. */
  readonly lively: readonly InstanceRecord[]
  /** Those of them that Redis heard of lately by its own clock: for a watch that begins anew, everybody may live. */
  readonly recent: readonly InstanceRecord[]
  readonly controls: Controls
  /** How far this machine's clock is from Redis's at least, ms. */
  readonly clockOffMs: number
}

/** What looking at a fleet needs. */
type LookDeps = {
  readonly store: RedisStore
  readonly instance: string
  readonly incarnation: string
  readonly seats: readonly string[]
  readonly leaseMs: number
  readonly clock: Pick<Clock, 'nowMs'>
  readonly monotonicMs: () => number
}

/** Create what shows that an instance lives, and sees at the same time who else does and who holds what. */
export function createLook(deps: LookDeps): (introduction: Introduction) => Promise<View> {
  const { store, instance, incarnation, seats, leaseMs, clock, monotonicMs } = deps
  // A term ends after a lease; a quarter more is for clocks that differ, and another for what is under way.
  const overMs = 1.5 * leaseMs
  const watches = new Map<string, Watch>()
  const watchOf = (name: string) => {
    const watch = watches.get(name) ?? createWatch(leaseMs / 2)
    watches.set(name, watch)
    return watch
  }
  let arrived = 0
  let count = 0
  return async (introduction) => {
    count += 1
    const showing = { ...introduction, name: instance, incarnation, arrived, beat: String(count) }
    const asked = { wallMs: clock.nowMs(), monotonicMs: monotonicMs() }
    const roll = await present(showing, seats, store)
    const clockOffMs = Math.max(asked.wallMs - roll.redisMs, roll.redisMs - clock.nowMs(), 0)
    arrived = roll.arrived
    const seenAtMs = monotonicMs()
    const unchangedMs = (name: string, shown: string) => {
      const watch = watchOf(name)
      watch.see(shown, asked.monotonicMs, seenAtMs)
      return watch.unchangedMs()
    }
    const living = roll.instances.filter(
      (each) => unchangedMs(`instance ${each.name}`, `${each.incarnation} ${each.beat}`) <= overMs,
    )
    const holders = new Map<string, string>()
    const freeMs = new Map<string, number>()
    for (const [seat, record] of roll.records) {
      const [token, beat] = [record?.token ?? '', record?.beat ?? '']
      const goneMs = unchangedMs(seat, `${token} ${beat}`) - (token === '' ? 0 : overMs)
      if (record !== null && token !== '' && goneMs <= 0) holders.set(seat, record.holder)
      else freeMs.set(seat, goneMs)
    }
    return {
      living,
      clockOffMs,
      controls: roll.controls,
      records: roll.records,
      holders,
      freeMs,
      lively: living.filter(
        ({ name }) => name === instance || watchOf(`instance ${name}`).changedWithin(leaseMs / 2),
      ),
      // It shows whole seconds.
      recent: living.filter(({ seenS }) => roll.redisMs - 1_000 * (seenS + 1) <= overMs),
    }
  }
}

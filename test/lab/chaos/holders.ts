import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Keys } from '../../../src/journal/redis/link/keys.ts'

/** A term began or ended: who holds the seat now (empty: nobody). It was not so at `notBeforeMs`, and was seen at `seenAtMs`. */
type Change = {
  readonly seat: string
  readonly holder: string
  readonly notBeforeMs: number
  readonly seenAtMs: number
}

/** Who held which seat when, by the fleet's record alone, read past every proxy. */
export type Holders = {
  readonly changes: () => readonly Change[]
  /** Whether somebody else was seen to hold a seat before a time, and the instance itself not since, nor so much later. */
  readonly isAnothers: (seat: string, name: string, atMs: number, laterMs: number) => boolean
  /** The seats that an instance holds by the last look. */
  readonly of: (name: string) => readonly string[]
  readonly stop: () => Promise<void>
}

const EVERY_MS = 25
/** A look without an answer by then is given up: its server is stopped, or is the one of before. */
const LOOK_MS_MAX = 500

/** Watch the records of some seats. `redis` is a line to the server that counts now. */
export function watchHolders(redis: () => Redis, keys: Keys, seats: readonly string[]): Holders {
  const changes: Change[] = []
  const last = new Map<string, { readonly token: string; readonly name: string }>()
  let isStopped = false
  let lookedAtMs = Date.now()

  const look = async () => {
    const pipeline = redis().pipeline()
    for (const seat of seats) pipeline.hmget(keys.seat(seat), 'token', 'holder')
    const sentAtMs = Date.now()
    const replies = await Promise.race([pipeline.exec().catch(() => null), sleep(LOOK_MS_MAX, null)])
    if (replies === null) return
    for (const [index, seat] of seats.entries()) {
      const [error, found] = replies[index] ?? [new Error('no answer'), null]
      if (error !== null || !Array.isArray(found)) continue
      const [token, holder] = found.map((each) => (each === null ? '' : String(each)))
      const name = token === '' ? '' : String(holder)
      if (last.get(seat)?.token === token) continue
      last.set(seat, { token: String(token), name })
      changes.push({ seat, holder: name, notBeforeMs: lookedAtMs, seenAtMs: Date.now() })
    }
    lookedAtMs = sentAtMs
  }
  const done = (async () => {
    while (!isStopped) {
      await look()
      await sleep(EVERY_MS)
    }
  })()
  return {
    changes: () => changes,
    isAnothers: (seat, name, atMs, laterMs) => {
      const own = changes.filter((each) => each.seat === seat)
      const before = own.findLast(({ seenAtMs }) => seenAtMs <= atMs)
      if (before === undefined || before.holder === name) return false
      return !own.some(
        ({ holder, notBeforeMs, seenAtMs }) =>
          holder === name && seenAtMs > atMs && notBeforeMs <= atMs + laterMs,
      )
    },
    of: (name) => seats.filter((seat) => last.get(seat)?.name === name),
    stop: async () => {
      isStopped = true
      await done
    },
  }
}

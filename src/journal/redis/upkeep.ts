import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import type { RedisStore } from './link/store.ts'
import type { Archiving } from './records/archiving.ts'

/** Bodies are what fills a Redis; budgets, approvals and what agents remember reach back for less. */
const ARCHIVE_AFTER_MS = 48 * 3_600_000
/** Until then a transaction of its nonce may be asked for by that nonce or by its digest. */
const FORGET_AFTER_MS = 7 * 86_400_000
/** Between two looks for what may leave; the first comes sooner, as a term may not last that long. */
const TIDY_EVERY_MS = 3_600_000
const TIDY_SOON_MS = 60_000

/** Between two looks at a server: settings may be changed while it runs. */
const CHECK_EVERY_MS = 30_000
/** The same where the last look found something wrong, or found no server. */
const CHECK_AGAIN_MS = 5_000

/** After it refused something for want of memory, a server counts as full for so long: what would begin is tried again. */
const FULL_MS = 10_000

/** Of these nothing follows about what a server keeps: until it answers, no barrier passes either. */
const UNHEARD = new Set(['journal.unreachable', 'journal.unknown', 'journal.loading'])

/** What keeping the records of a seat small needs. */
type SeatUpkeepDeps = {
  readonly journal: Pick<Archiving, 'archiveSlice' | 'forgetSlice'>
  readonly clock: Clock
  /** Called with what kept something from leaving; it is tried again. */
  readonly onFailed: (error: RolekeeperError) => void
}

/**
 * Move what ended long ago from Redis to this instance's archive, and forget its nonces and digests later, a few at a time
 * beside the duty, until the seat is lost. @returns how to stop; it resolves when nothing goes on.
 */
export function startSeatUpkeep({ journal, clock, onFailed }: SeatUpkeepDeps): () => Promise<void> {
  const stopped = new AbortController()
  const tidy = async () => {
    let offset: number | null = 0
    while (offset !== null && !stopped.signal.aborted) {
      offset = await journal.archiveSlice(clock.nowMs() - ARCHIVE_AFTER_MS, offset)
    }
    let isMore = true
    while (isMore && !stopped.signal.aborted) {
      isMore = await journal.forgetSlice(clock.nowMs() - FORGET_AFTER_MS)
    }
  }
  const ended = repeat(stopped.signal, clock, TIDY_SOON_MS, async () => {
    try {
      await tidy()
      return TIDY_EVERY_MS
    } catch (error) {
      if (!(error instanceof RolekeeperError)) throw error
      if (error.code === 'seat.lost') return null
      onFailed(error)
      return TIDY_SOON_MS
    }
  })
  return async () => {
    stopped.abort('stopped')
    await ended
  }
}

/** What looking at a fleet's server again and again needs. */
type StoreUpkeepDeps = {
  readonly store: Pick<RedisStore, 'check'>
  readonly clock: Clock
  /** Called where it changes what is wrong with the server, null: nothing is any more; and with each refusal of one that is full. */
  readonly onState: (why: RolekeeperError | null) => void
}

/** How a fleet's server keeps what it acknowledges. */
export type StoreUpkeep = {
  /** Why nothing may be signed or sent on its word, with the line to write; null where all is right. Synchronous. */
  readonly failing: () => RolekeeperError | null
  /** Note what a use of the server threw. */
  readonly heard: (error: RolekeeperError) => void
  /** Why nothing new begins on it for now, while what is under way goes on; null where it takes what it is given. */
  readonly full: () => RolekeeperError | null
  readonly stop: () => Promise<void>
}

/** Look at a fleet's server as each new line does, again and again. */
export function startStoreUpkeep({ store, clock, onState }: StoreUpkeepDeps): StoreUpkeep {
  const stopped = new AbortController()
  let failing: RolekeeperError | null = null
  let refused: { readonly error: RolekeeperError; readonly atMs: number } | null = null
  const found = (next: RolekeeperError | null) => {
    const isNews = next?.message !== failing?.message
    failing = next
    if (isNews) onState(next)
  }
  const ended = repeat(stopped.signal, clock, CHECK_EVERY_MS, async () => {
    try {
      await store.check()
      found(null)
      return CHECK_EVERY_MS
    } catch (error) {
      if (!(error instanceof RolekeeperError)) throw error
      if (!UNHEARD.has(error.code)) found(error)
      return CHECK_AGAIN_MS
    }
  })
  return {
    failing: () => failing,
    heard: (error) => {
      if (error.code !== 'journal.full') return
      refused = { error, atMs: clock.monotonicMs() }
      onState(error)
    },
    full: () => (refused !== null && clock.monotonicMs() - refused.atMs < FULL_MS ? refused.error : null),
    stop: async () => {
      stopped.abort('stopped')
      await ended
    },
  }
}

/** Work again and again, after `firstMs` and then after as long as the work says, until the signal aborts or it says null. */
async function repeat(
  stopped: AbortSignal,
  clock: Clock,
  firstMs: number,
  work: () => Promise<number | null>,
): Promise<void> {
  let afterMs: number | null = firstMs
  while (afterMs !== null) {
    const isOver = await clock.sleep(afterMs, stopped).then(
      () => false,
      () => true,
    )
    if (isOver || stopped.aborted) return
    afterMs = await work()
  }
}

import type { Clock } from '../clock.ts'
import { RolekeeperError } from '../errors.ts'
import type { RedisStore } from '../journal/redis/link/store.ts'
import { beat, type Controls, type SeatToken } from '../journal/redis/seats/seat.ts'
import type { Attestation } from './attest.ts'

/** How a term is brought to where another can go on: writes and effects end. Called once, also where the seat was lost. */
export type Park = () => Promise<void>

/** What a holding needs. */
type HoldingDeps = {
  readonly store: RedisStore
  readonly leaseMs: number
  readonly clock: Clock
  /** A clock that nobody sets. */
  readonly monotonicMs: () => number
  /** Begin what is done with a seat; its signal aborts when the seat is lost. */
  readonly onHeld: (held: SeatToken, lost: AbortSignal) => Park
  readonly attestation: Pick<Attestation, 'relied'>
  readonly onControls: (controls: Controls) => void
}

/** A moment, by both clocks. */
type Moment = { readonly wallMs: number; readonly monotonicMs: number }

/** A seat that this instance holds. */
export type HeldTerm = {
  readonly held: SeatToken
  /** Whether more than a lease has passed since the last confirmed beat was sent: another may take it. Synchronous. */
  readonly isOver: () => boolean
  /** End the term at once: another holds the seat, or what was written to it last is gone. */
  readonly lose: () => void
  readonly isLost: () => boolean
  /** Resolves when nothing goes on in it any more; beats go on until {@link end}. */
  readonly park: Park
  /** Beat no more, and let nothing be signed or sent. */
  readonly end: () => void
}

/** Hold a seat that was taken by a command sent at `takenAt`, and beat. */
export function holdSeat(held: SeatToken, takenAt: Moment, deps: HoldingDeps): HeldTerm {
  const { store, leaseMs, clock, monotonicMs, attestation, onControls } = deps
  const lost = new AbortController()
  const ended = new AbortController()
  let confirmedAt = takenAt
  let parked: Promise<void> | undefined

  const lose = () => {
    lost.abort('the seat is lost')
    ended.abort('the seat is lost')
  }
  const beatOnce = async (count: number) => {
    const sentAt = { wallMs: clock.nowMs(), monotonicMs: monotonicMs() }
    try {
      onControls(await beat(held, { beat: String(count), server: attestation.relied() }, store))
      confirmedAt = sentAt
    } catch (error) {
      // Whatever else it is, the term ends by itself.
      if (error instanceof RolekeeperError && error.code === 'seat.lost') lose()
    }
  }
  const beats = async () => {
    for (let count = 1; ; count += 1) {
      await clock.sleep(leaseMs / 4, ended.signal)
      await beatOnce(count)
    }
  }
  beats().catch(() => undefined)
  const park = deps.onHeld(held, lost.signal)
  return {
    held,
    // A machine that slept knows it by one of the two; a clock that was set closes it until the next beat.
    isOver: () => {
      const goneMs = [monotonicMs() - confirmedAt.monotonicMs, clock.nowMs() - confirmedAt.wallMs]
      return ended.signal.aborted || Math.max(...goneMs) >= leaseMs
    },
    lose,
    isLost: () => lost.signal.aborted,
    park: () => {
      parked ??= park()
      return parked
    },
    end: () => ended.abort('the term ends'),
  }
}

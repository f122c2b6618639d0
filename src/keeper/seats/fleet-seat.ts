import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import type { Park } from '../../fleet/held-seat.ts'
import { fleetMail } from '../../fleet/mail.ts'
import { withWitness } from '../../fleet/witnessed-journal.ts'
import type { RedisStore } from '../../journal/redis/link/store.ts'
import { openRedisJournal } from '../../journal/redis/redis.ts'
import type { Controls, SeatToken } from '../../journal/redis/seats/seat.ts'
import { startSeatUpkeep } from '../../journal/redis/upkeep.ts'
import type { Archive } from '../../journal/sqlite/archive.ts'
import type { AuditLog } from '../../ops/audit/log.ts'
import { createSigners } from '../../pipeline/transactions/safe.ts'
import { withAudit } from '../records/audited-journal.ts'
import { signersOf } from '../records/records.ts'
import type { HeldSeat, Tenure } from './seating.ts'

/** What a seat of a fleet is opened with. */
type SeatDeps = Omit<HeldSeat, 'records' | 'mail'> & {
  readonly store: RedisStore
  readonly audit: AuditLog
  /** Of this instance. */
  readonly archive: Archive
  readonly clock: Clock
  readonly alarm: (error: RolekeeperError) => void
  /** What is set for the fleet, as each barrier finds it. */
  readonly onControls: (controls: Controls) => void
  /** Keep on this machine's disk what is acknowledged by now, and the highest nonce that a key is asked to sign next. */
  readonly acknowledged: (top: number | undefined) => Promise<void>
  /** Called with what any use of the journal throws. */
  readonly onError: (error: RolekeeperError) => void
}

/** Open the records of a seat that was just taken. Throws what Redis answers, `seat.lost` included. */
export async function openFleetSeat(held: SeatToken, deps: SeatDeps): Promise<HeldSeat> {
  const { config, candidates, gate, createQueue, store, clock, alarm } = deps
  const inRedis = await openRedisJournal(held, deps)
  const witnessed = withWitness(inRedis, deps)
  // Nothing follows from the seat before it is as durable as what will.
  await witnessed.barrier()
  const resumed = await witnessed.live()
  const journal = withAudit(witnessed, deps.audit, resumed)
  const addresses = signersOf(config, resumed)
  const signers = await createSigners(addresses, {
    nowMs: clock.nowMs,
    alarm,
    chainId: config.chain.id,
    journal,
  })
  const close = startSeatUpkeep({ journal: inRedis, clock, onFailed: alarm })
  // Each seat has seen the chain become final by itself, and doubts by itself what a fork took back.
  const records = { journal, signers, addresses, scope: `@${held.seat}`, resumed, close }
  return { config, candidates, records, gate, createQueue, mail: fleetMail(held, { store, journal }) }
}

/** What follows from how a tenure goes. */
type TenureDeps = {
  readonly hold: (seat: HeldSeat) => Tenure
  readonly onBegun: () => void
  /** It could not begin, and the seat is still held. */
  readonly onFailed: (error: unknown) => void
  readonly onEnded: () => void
}

/** Begin a tenure once its records are open. @returns how to park it, at whatever point it is. */
export function beginTenure(opening: Promise<HeldSeat>, lost: AbortSignal, deps: TenureDeps): Park {
  let isParked = false
  const held = opening.then((seat) => ({ seat, tenure: deps.hold(seat) }))
  const begin = async () => {
    const { tenure } = await held
    deps.onBegun()
    if (!isParked) await tenure.begin()
  }
  begin().catch((error: unknown) => {
    if (!isParked && !lost.aborted) deps.onFailed(error)
  })
  return async () => {
    isParked = true
    const opened = await held.catch(() => undefined)
    if (opened === undefined) return
    await opened.tenure.end()
    await opened.seat.records.close()
    deps.onEnded()
  }
}

/** Whether a start says that only a person mends it: in a Redis without the fleet, nothing was forgotten yet. */
export const isMistake = (error: unknown): boolean => {
  if (!(error instanceof RolekeeperError)) return false
  const { code, retry, facts } = error
  if (code === 'journal.amnesia') return facts.isEmpty === true
  return retry === 'never' || code === 'journal.refused'
}

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RolekeeperError } from '../errors.ts'
import { attest, foundedOn } from '../journal/redis/attested.ts'
import { serverText } from '../journal/redis/check.ts'
import type { Known } from '../journal/redis/generation.ts'
import type { SeatRecord } from '../journal/redis/seat.ts'
import type { RedisStore } from '../journal/redis/store.ts'
import type { Testimony } from '../journal/redis/testimony.ts'
import { openWitness, readWitness, type Witness } from './witness.ts'

/** Where an instance keeps what it knows of a seat. Pure. */
export const seatFolder = (directory: string, seat: string): string => join(directory, 'seats', seat)

/** The witnesses of an instance, one a seat. */
export type Witnesses = {
  /** The newest of what they show, which the fleet's Redis may never be behind; null where there is nothing. */
  readonly known: Known | null
  /** Keep what a barrier of a seat passed by, and a nonce that its key is asked to sign: resolves when it is on disk. */
  readonly record: (seat: string, known: Known, top?: number) => Promise<void>
  /** The highest nonce that a key was asked to sign, by seat. */
  readonly tops: () => Readonly<Record<string, number>>
  /** Begin one where there is none, so that it is missed where it goes. */
  readonly begin: (gen: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** Open the witnesses of some seats in an instance's directory. Throws RolekeeperError `fleet.witness`. */
export async function openWitnesses(directory: string, seats: readonly string[]): Promise<Witnesses> {
  const opened = new Map<string, Witness>()
  const open = async (seat: string) => {
    const witness = await openWitness(seatFolder(directory, seat))
    // Of those who opened it side by side, one writes.
    const first = opened.get(seat)
    if (first !== undefined) await witness.close()
    else opened.set(seat, witness)
    return first ?? witness
  }
  for (const seat of seats) await open(seat)
  const found = [...opened.values()].flatMap(({ known }) => (known === null ? [] : [known]))
  const known = newestOf(found)
  return {
    known,
    record: async (seat, next, top) => {
      const witness = opened.get(seat) ?? (await open(seat))
      await witness.record(top === undefined ? next : { ...next, top })
    },
    tops: () => topsOf([...opened].map(([seat, witness]) => [seat, witness.top()] as const)),
    begin: async (gen) => {
      const first = [...opened.values()][0]
      if (known === null) await first?.record({ gen, seq: 0 })
    },
    close: async () => {
      for (const witness of opened.values()) await witness.close()
    },
  }
}

/** Pure. */
const topsOf = (all: readonly (readonly [string, number | undefined])[]): Readonly<Record<string, number>> =>
  Object.fromEntries(all.flatMap(([seat, top]) => (top === undefined ? [] : [[seat, top]])))

/** Read what an instance's directory shows of its fleet's Redis, beside the instance or without it; null where nothing. */
export async function readWitnessed(directory: string): Promise<(Known & Pick<Testimony, 'tops'>) | null> {
  let seats: readonly string[]
  try {
    const found = readdirSync(join(directory, 'seats'), { withFileTypes: true })
    seats = found.filter((each) => each.isDirectory()).map(({ name }) => name)
  } catch {
    return null
  }
  const found = await Promise.all(seats.map((seat) => readWitness(seatFolder(directory, seat))))
  const known = newestOf(found.filter((each) => each !== null))
  return known && { ...known, tops: topsOf(seats.map((seat, index) => [seat, found[index]?.top] as const)) }
}

/** Refuse to begin a fleet anew where this machine knows of one before. Pure. */
export const wasWitnessed = (fleet: string, { gen, seq }: Known) =>
  new RolekeeperError(
    'fleet.witnessed',
    `This machine's instance saw the fleet ${fleet} acknowledge sequence ${seq} in generation ${gen}: it is not new.`,
    {
      fix: 'bring back the Redis that has it; or prove with `rolekeeper safe` what may go on without it.',
      facts: { fleet, gen, seq },
    },
  )

/** A later generation goes on with the sequence of the one before it. Pure. */
const newestOf = (found: readonly Known[]): Known | null =>
  found.toSorted((one, other) => other.seq - one.seq)[0] ?? null

/** Whether what a server holds can be relied on by who has not written it. */
export type Attestation = {
  /** The server of now, as records name it. */
  readonly server: () => string
  /**
   * Say, once on each server, that it has all that this instance saw acknowledged: its line would not be there else. Barriers
   * pass on it once all who lived on the server before have said so too, or a lease has passed.
   * @param living the names of those who live as this server shows it, this instance included.
   */
  readonly say: (living: readonly string[]) => Promise<void>
  /** Take note of how seats stand on the server of now. */
  readonly saw: (records: ReadonlyMap<string, SeatRecord | null>) => void
  /**
   * Whether a seat may be taken: the server is the one that its record was last written on, or a replica of it that every
   * barrier waited for, as this process saw it before, or every instance of the roster has held it against its witness. So
   * also one that stands under this instance's own name: in an older file it does, though another held it since.
   */
  readonly mayTake: (seat: string, record: SeatRecord | null) => Promise<boolean>
}

/** What attesting needs. */
type AttestDeps = {
  readonly store: RedisStore
  readonly instance: string
  readonly witnesses: Pick<Witnesses, 'known' | 'begin'>
  /** The names of all that ever held a seat, this one included. */
  readonly roster: readonly string[]
  /** How many replicas every barrier waits for: all that may be promoted. */
  readonly replicas: number
  readonly leaseMs: number
  readonly monotonicMs: () => number
  /** Called when it changes which instances have to be heard before a seat is taken. */
  readonly onWaiting: (why: RolekeeperError) => void
}

/** Create the attestation of an instance. */
export function createAttestation(deps: AttestDeps): Attestation {
  const { store, instance, witnesses, roster, replicas, leaseMs, monotonicMs, onWaiting } = deps
  let [reliedOn, saidOn, saidAtMs] = ['', '', 0]
  /** Who lived when the server that was relied on was last seen. */
  let lived: readonly string[] = []
  let hasWitness = witnesses.known !== null
  const waiting = new Map<string, string>()
  /** Seats as they stood when they were last seen on the server that they were held on. */
  const seen = new Map<string, SeatRecord>()
  const server = () => {
    const found = store.server()
    return found === undefined ? '' : serverText(found)
  }
  const attestOnce = async (): Promise<ReadonlySet<string>> => {
    const { names, isWitnessLost } = await attest(instance, hasWitness, store)
    if (hasWitness || isWitnessLost) return names
    // On disk before Redis has its name: who crashes in between, or hears no answer, has lost none.
    await witnesses.begin(store.known().gen)
    hasWitness = true
    return (await attest(instance, hasWitness, store)).names
  }
  const mayTake = async (seat: string, record: SeatRecord | null): Promise<boolean> => {
    const wasOn = record?.server ?? (await foundedOn(store))
    if (wasOn === server()) return true
    const history = wasOn.split('/')[1] ?? ''
    const isOfHistory = replicas > 0 && history !== '' && store.server()?.replicationId2 === history
    // One that has loaded an older snapshot names the same history.
    if (isOfHistory && record !== null && isSoonAfter(seen.get(seat), record)) return true
    const heard = await attestOnce()
    const names = roster.filter((name) => !heard.has(name)).join(', ')
    if (names !== '' && waiting.get(seat) !== names) onWaiting(unattested(seat, names))
    waiting.set(seat, names)
    return names === ''
  }
  return {
    server,
    say: async (living) => {
      const [runId, on] = [store.runId(), `${store.runId()} ${store.known().gen}`]
      if (reliedOn !== on) {
        const heard = await attestOnce()
        if (saidOn !== on) [saidOn, saidAtMs] = [on, monotonicMs()]
        if (lived.some((name) => !heard.has(name)) && monotonicMs() - saidAtMs < leaseMs) return
        reliedOn = on
        store.rely(runId)
      }
      lived = living
    },
    saw: (records) => {
      for (const [seat, record] of records) if (record?.server === server()) seen.set(seat, record)
    },
    mayTake,
  }
}

/** Beats of a lease: as many may have been lost with a master, as no barrier waits for them. */
const BEATS_LOST_MAX = 4

/** Whether a record is what it was when it was last seen, but for the last that was written before. Pure. */
const isSoonAfter = (seen: SeatRecord | undefined, { server, epoch, beat }: SeatRecord): boolean =>
  seen?.server === server && seen.epoch === epoch && Number(beat) >= Number(seen.beat) - BEATS_LOST_MAX

const unattested = (seat: string, names: string) =>
  new RolekeeperError(
    'fleet.unattested',
    `Redis is another server than ${seat} was last held on, and ${names} may know of more than it has.`,
    {
      fix: 'start them, so that each holds it against its witness; for one whose disk is lost, see `rolekeeper safe`.',
      facts: { seat, missing: names },
      retry: 'later',
    },
  )

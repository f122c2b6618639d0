import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { RolekeeperError } from '../errors.ts'
import { attest, foundedOn } from '../journal/redis/attested.ts'
import { serverText } from '../journal/redis/check.ts'
import type { Known } from '../journal/redis/generation.ts'
import type { SeatRecord } from '../journal/redis/seat.ts'
import type { RedisStore } from '../journal/redis/store.ts'
import type { Testimony } from '../journal/redis/testimony.ts'
import type { View } from './view.ts'
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
  /** The one that barriers pass on: who finds it in a seat's record takes that without asking anybody. */
  readonly relied: () => string
  /**
   * Take note of what the server of now shows, and say, once on each, that it has all that this instance saw acknowledged: its
   * line would not be there else. Barriers pass on it where it is a replica of the one before that every barrier waited for,
   * and else once all who lived there have said so too: only they can know of more.
   */
  readonly say: (seen: Pick<View, 'heard' | 'living' | 'records'>) => Promise<void>
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
  const { store, roster, replicas, leaseMs, monotonicMs, onWaiting } = deps
  /** The server process that barriers pass on, the same as records name it, and the generation there. */
  let relied = { runId: '', gen: '', server: '' }
  /** Who lived when it was last seen. */
  let lived: readonly string[] = []
  /** Since when barriers wait for who lived; undefined where they do not. */
  let waitingSinceMs: number | undefined
  const waiting = new Map<string, string>()
  /** Seats as they stood when they were last seen on the server that they were held on. */
  const seen = new Map<string, SeatRecord>()
  const server = () => {
    const found = store.server()
    return found === undefined ? '' : serverText(found)
  }
  const attestOnce = attesting(deps)
  const wait = (what: string, who: readonly string[]) => {
    const names = who.join(', ')
    if (names !== '' && waiting.get(what) !== names) onWaiting(unattested(what, names))
    waiting.set(what, names)
    return names !== ''
  }
  /** Whether the server is of a history that every barrier waited for; one that has loaded an older snapshot names it too. */
  const isPromoted = (from: string) => replicas > 0 && from !== '' && store.server()?.replicationId2 === from
  const mayTake = async (seat: string, record: SeatRecord | null): Promise<boolean> => {
    const wasOn = record?.server ?? (await foundedOn(store))
    if (wasOn === server()) return true
    if (isPromoted(historyOf(wasOn)) && record !== null && isSoonAfter(seen.get(seat), record)) return true
    const heard = await attestOnce()
    return !wait(
      seat,
      roster.filter((name) => !heard.has(name)),
    )
  }
  const rely = async (gen: string, { records }: Pick<View, 'records'>): Promise<boolean> => {
    const heard = await attestOnce()
    // Nothing went before it; or a person has proven what goes on.
    if (relied.gen !== gen) return true
    if (isPromoted(historyOf(relied.server)) && areSoonAfter(seen, records, server())) return true
    const missing = lived.filter((name) => !heard.has(name))
    if (missing.length === 0) return true
    waitingSinceMs ??= monotonicMs()
    // Who runs says so at its next look: a restart of Redis is nothing to wake a person for.
    if (monotonicMs() - waitingSinceMs >= leaseMs) wait(OF_HELD, missing)
    return false
  }
  return {
    server,
    relied: () => relied.server,
    say: async (view) => {
      const [runId, { gen }, on] = [store.runId(), store.known(), server()]
      if (relied.runId !== runId || relied.gen !== gen) {
        if (!(await rely(gen, view))) return
        relied = { runId, gen, server: on }
        waitingSinceMs = undefined
        waiting.delete(OF_HELD)
        store.rely(runId)
      }
      const heard = new Set([...lived, ...view.heard.map(({ name }) => name)])
      lived = view.living.flatMap(({ name }) => (heard.has(name) ? [name] : []))
      for (const [seat, record] of view.records) if (record?.server === on) seen.set(seat, record)
    },
    mayTake,
  }
}

/** What says that this instance holds the server of now against its witness. @returns who does so by now. */
function attesting({ store, instance, witnesses }: AttestDeps): () => Promise<ReadonlySet<string>> {
  let hasWitness = witnesses.known !== null
  return async () => {
    const { names, isWitnessLost } = await attest(instance, hasWitness, store)
    if (hasWitness || isWitnessLost) return names
    // On disk before Redis has its name: who crashes in between, or hears no answer, has lost none.
    await witnesses.begin(store.known().gen)
    hasWitness = true
    return (await attest(instance, hasWitness, store)).names
  }
}

/** The history of replication that a server named. Pure. */
const historyOf = (server: string): string => server.split('/')[1] ?? ''

/** What waits where barriers do. */
const OF_HELD = 'a seat of this instance'

/** Beats of a lease: as many may have been lost with a master, as no barrier waits for them. */
const BEATS_LOST_MAX = 4

/** Whether a record is what it was when it was last seen, but for the last that was written before. Pure. */
const isSoonAfter = (seen: SeatRecord | undefined, { server, epoch, beat }: SeatRecord): boolean =>
  seen?.server === server && seen.epoch === epoch && Number(beat) >= Number(seen.beat) - BEATS_LOST_MAX

/** Whether all records are so. By a beat on the server of now, its own holder has written that there. Pure. */
const areSoonAfter = (seen: ReadonlyMap<string, SeatRecord>, records: View['records'], server: string) =>
  [...seen].every(([seat, before]) => {
    const record = records.get(seat) ?? null
    if (record === null) return false
    return isSoonAfter(before, record.server === server ? { ...record, server: before.server } : record)
  })

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

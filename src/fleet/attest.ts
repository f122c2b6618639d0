import { RolekeeperError } from '../errors.ts'
import { attest, foundedOn } from '../journal/redis/link/attested.ts'
import { serverText } from '../journal/redis/link/check.ts'
import type { RedisStore } from '../journal/redis/link/store.ts'
import type { SeatRecord } from '../journal/redis/seats/seat.ts'
import type { View } from './view.ts'
import type { Witnesses } from './witnesses.ts'

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
  readonly say: (seen: Pick<View, 'recent' | 'living' | 'records'>) => Promise<void>
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
  /** Who may have lived when a server was last seen, and when that was. */
  let lived: readonly string[] = []
  let seenMs = monotonicMs()
  /** Since when barriers wait for who lived; undefined where they do not. */
  let waitingSinceMs: number | undefined
  /** Who is waited for by a seat, and by barriers (null). */
  const waiting = new Map<string | null, string>()
  /** Seats as they stood when they were last seen on the server that they were held on. */
  const seen = new Map<string, SeatRecord>()
  const server = () => {
    const found = store.server()
    return found === undefined ? '' : serverText(found)
  }
  const attestOnce = attesting(deps)
  const wait = (seat: string | null, who: readonly string[]) => {
    const names = who.join(', ')
    if (names !== '' && waiting.get(seat) !== names) onWaiting(unattested(seat, names))
    waiting.set(seat, names)
    return names !== ''
  }
  /** Whether the server is of a history that every barrier waited for; one that has loaded an older snapshot names it too. */
  const isPromoted = (from: string) => replicas > 0 && from !== '' && store.server()?.replicationId2 === from
  const mayTake = async (seat: string, record: SeatRecord | null): Promise<boolean> => {
    const wasOn = record?.server ?? (await foundedOn(store))
    if (wasOn === server()) return true
    if (isPromoted(historyOf(wasOn)) && record !== null && isSoonAfter(seen.get(seat), record)) return true
    const heard = await attestOnce()
    const missing = roster.filter((name) => !heard.has(name))
    return !wait(seat, missing)
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
    if (monotonicMs() - waitingSinceMs >= leaseMs) wait(null, missing)
    return false
  }
  return {
    server,
    relied: () => relied.server,
    say: async (view) => {
      const [runId, { gen }, on] = [store.runId(), store.known(), server()]
      // Somebody may have come, been acknowledged something, and died meanwhile.
      if (monotonicMs() - seenMs > leaseMs) lived = roster
      seenMs = monotonicMs()
      const known = new Set([...lived, ...view.recent.map(({ name }) => name)])
      if (relied.runId !== runId || relied.gen !== gen) {
        lived = [...known]
        if (!(await rely(gen, view))) return
        relied = { runId, gen, server: on }
        waitingSinceMs = undefined
        waiting.delete(null)
        store.rely(runId)
      }
      lived = view.living.flatMap(({ name }) => (known.has(name) ? [name] : []))
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

const unattested = (seat: string | null, names: string) =>
  new RolekeeperError(
    'fleet.unattested',
    seat === null
      ? `Redis is another server process than before, and ${names} may know of more than it has: nothing is signed or sent.`
      : `Redis is another server than ${seat} was last held on, and ${names} may know of more than it has.`,
    {
      fix: 'start them, so that each holds it against its witness; for one whose disk is lost, see `rolekeeper safe`.',
      facts: { ...(seat === null ? {} : { seat }), missing: names },
      retry: 'later',
    },
  )

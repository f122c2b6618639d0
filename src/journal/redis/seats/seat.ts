import { hashOf } from '../link/answer.ts'
import { seatLost, tailLost } from '../link/faults.ts'
import type { RedisStore } from '../link/store.ts'

/** What a person has set for the fleet (killed, paused, `safe:<signer>`), and the sequence of Redis by which it was so. */
export type Controls = ReadonlyMap<string, string> & { readonly seq: number }

/** Read what is set for the fleet from an answer. Pure. */
export const controlsOf = (seq: unknown, reply: unknown): Controls =>
  Object.assign(new Map(hashOf(reply)), { seq: Number(seq) })

/** A seat's record. */
export type SeatRecord = {
  /** Empty where nobody holds it. */
  readonly token: string
  readonly holder: string
  readonly beat: string
  readonly epoch: number
  /** The server that the last beat was on, as {@link serverText} names it. */
  readonly server: string
  /** Seconds since 1970 by Redis's clock. */
  readonly sinceS: number
}

/** Read who holds a seat; null where nobody ever did. */
export async function readSeat(
  seat: string,
  store: Pick<RedisStore, 'keys' | 'read'>,
): Promise<SeatRecord | null> {
  const names = ['token', 'holder', 'beat', 'epoch', 'server', 'since'] as const
  return seatOf(await store.read('HMGET', store.keys.seat(seat), ...names))
}

/** Read a seat's record from its fields, as {@link readSeat} asks for them; null where nobody ever held it. Pure. */
export function seatOf(reply: unknown): SeatRecord | null {
  const [token, holder, beat, epoch, server, since] = Array.isArray(reply) ? reply : []
  if (typeof token !== 'string') return null
  return {
    token,
    holder: String(holder),
    beat: String(beat),
    epoch: Number(epoch),
    server: String(server),
    sinceS: Number(since),
  }
}

/** Read the seats that have something live. */
export async function readSeatsAtWork(store: Pick<RedisStore, 'keys' | 'read'>): Promise<readonly string[]> {
  const reply = await store.read('SMEMBERS', store.keys.seats)
  const names = Array.isArray(reply) ? reply.map(String) : []
  const counts = await Promise.all(names.map((name) => store.read('ZCARD', store.keys.live(name))))
  return names.filter((_, index) => Number(counts[index]) > 0)
}

/** What is taken, and from whom. */
type Taking = {
  readonly seat: string
  /** As it was watched; null where nobody ever held it. */
  readonly from: Pick<SeatRecord, 'token' | 'beat'> | null
  readonly token: string
  readonly holder: string
  /** The one that was found fit for it, as {@link serverText} names it: on no other it is taken. */
  readonly server: string
}

/** Take a seat, if its record is still what was watched. @returns its new epoch, or null where it is another's. */
export async function acquire(
  { seat, from, token, holder, server }: Taking,
  store: RedisStore,
): Promise<number | null> {
  const { keys } = store
  const expected = [from?.token ?? '', from?.beat ?? '']
  const taking = [...expected, token, holder, server, seat]
  const [runId] = server.split('/')
  const { code, values } = await store.run('acquire', [keys.seat(seat), keys.seats], taking, runId)
  return code === 'OK' ? Number(values[1]) : null
}

/** Who holds a seat. */
export type SeatToken = { readonly seat: string; readonly token: string }

/**
 * Show that the holder of a seat lives. @param beat another at each time. @returns what is set for the fleet. Throws
 * RolekeeperError `seat.lost`.
 */
export async function beat(
  { seat, token }: SeatToken,
  { beat, server }: Pick<SeatRecord, 'beat' | 'server'>,
  store: RedisStore,
): Promise<Controls> {
  const { keys } = store
  const { code, values } = await store.run('beat', [keys.seat(seat), keys.control], [token, beat, server])
  if (code !== 'OK') throw seatLost(seat)
  return controlsOf(values[0], values[1])
}

/** Leave a seat, so that another takes it at once; nothing where it is another's already. */
export async function release({ seat, token }: SeatToken, store: RedisStore): Promise<void> {
  await store.run('release', [store.keys.seat(seat)], [token])
}

/** What a barrier covers: every change of a writer that it was answered for. */
export type Mark = SeatToken & { readonly writer: string; readonly answered: number }

/** What a barrier passed by. */
export type BarrierPassed = {
  readonly controls: Controls
  /** What the ledger has in the fields that were asked about, in their order; empty where it has nothing. */
  readonly entries: readonly string[]
}

/**
 * Resolve when all that a writer of a seat was answered for is acknowledged, while the seat was its own. Throws
 * RolekeeperError `seat.lost`, and what {@link RedisStore.fence} throws.
 */
export async function fence(
  { seat, token, writer, answered }: Mark,
  fields: readonly string[],
  store: RedisStore,
): Promise<BarrierPassed> {
  const { keys } = store
  const args = [token, writer, answered, ...fields]
  const { code, values } = await store.fence([keys.seat(seat), keys.control, keys.digests], args)
  if (code === 'TAIL') throw tailLost(seat)
  if (code !== 'OK') throw seatLost(seat)
  const [seq, controls, entries] = values
  return { controls: controlsOf(seq, controls), entries: Array.isArray(entries) ? entries.map(String) : [] }
}

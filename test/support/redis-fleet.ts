import { randomUUID } from 'node:crypto'
import { endpointOf } from '../../src/config/redis.ts'
import type { Witnesses } from '../../src/fleet/witnesses.ts'
import { foundFleet, type LastKnown, type StoreConfig } from '../../src/journal/redis/link/generation.ts'
import { RedisStore } from '../../src/journal/redis/link/store.ts'
import { openRedisJournal } from '../../src/journal/redis/redis.ts'
import { acquire, type Controls, readSeat, type SeatToken } from '../../src/journal/redis/seats/seat.ts'
import { Archive } from '../../src/journal/sqlite/archive.ts'
import { archiveFile, openArchiveDatabase } from '../../src/journal/sqlite/database.ts'
import { Records } from '../../src/journal/sqlite/records.ts'
import { newDirectory } from './directory.ts'
import { until } from './until.ts'
import { SIGNER } from './workflows.ts'

/** What redis.conf must say. */
export const DURABLE = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' } as const

/** A store's configuration, for a fleet of its own unless it is named. */
export const storeAt = (
  port: number,
  fleet = `t-${randomUUID().slice(0, 8)}`,
  replicas = 0,
): StoreConfig => ({
  endpoint: endpointOf(`redis://127.0.0.1:${port}/0`),
  fleet,
  replicas,
  instance: 'one',
})

/** A store that looks at its servers by nothing but what is known. */
export const openStore = (
  config: StoreConfig,
  known: LastKnown | null = null,
  tops: Witnesses['tops'] = () => ({}),
): RedisStore => new RedisStore(config, { known, onCall: () => undefined, tops })

/** Begin a fleet, and open a store of it. */
export async function newStore(
  port: number,
  replicas = 0,
): Promise<{ store: RedisStore; config: StoreConfig }> {
  const config = storeAt(port, undefined, replicas)
  await foundFleet(config)
  return { store: openStore(config), config }
}

/** Read a seat, again where a busy machine takes longer than a store waits. */
export const seatOf = (seat: string, store: RedisStore) => until(() => readSeat(seat, store))

/** Take a seat from whoever has it: that of the workflows' signer, unless it is named. */
export async function takeSeat(store: RedisStore, seat: string = SIGNER): Promise<SeatToken> {
  const token = randomUUID()
  const from = await seatOf(seat, store)
  const epoch = await acquire({ seat, from, token, holder: 'one', server: store.runId() }, store)
  if (epoch === null) throw new TypeError('somebody else took it')
  return { seat, token }
}

/** An archive in a directory of its own. */
function newArchive(): Archive {
  const directory = newDirectory()
  const onFailed = (failure: Error) => {
    throw failure
  }
  return new Archive(new Records(openArchiveDatabase(directory), archiveFile(directory), onFailed))
}

/** The journal of a seat that was just taken. */
export const journalOf = (held: SeatToken, store: RedisStore, onControls = (_controls: Controls) => {}) =>
  openRedisJournal(held, { store, archive: newArchive(), onControls })

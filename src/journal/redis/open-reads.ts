import { RolekeeperError } from '../../errors.ts'
import type { JournalReads } from '../journal.ts'
import type { Archive } from '../sqlite/archive.ts'
import { decodeRecord } from '../sqlite/records.ts'
import { type FleetPlace, openCommandLine } from './link/command-line.ts'
import { withArchive } from './records/archive-reads.ts'
import type { ArchivedStub } from './records/archiving.ts'
import { createRedisReads } from './records/reads.ts'

/**
 * Read a fleet's journal from any process, beside its instances, and the archive of this machine's where it has one. It loads
 * no scripts, which a server would keep, and looks at no settings: what is wrong with them is for people to see, too. Each
 * read throws RolekeeperError `journal.not_founded`, `journal.version`, and what a line throws; one of a workflow whose record
 * only another machine has, `journal.archived`.
 */
export function readRedisJournal(place: FleetPlace, archive: Archive | null = null): JournalReads {
  const line = openCommandLine(place)
  const inRedis = createRedisReads(line)
  const get: JournalReads['get'] = async (id) => {
    const found = (await inRedis.get(id)) ?? archive?.get(id) ?? null
    if (found !== null) return found
    const stub = await inRedis.text('HGET', line.keys.workflow(id), 'rest')
    if (stub !== null) throw archived(id, decodeRecord<ArchivedStub>(stub).instance)
    return null
  }
  const reads =
    archive === null ? { get, byNonce: inRedis.byNonceWith(get) } : withArchive(inRedis, archive, get)
  return {
    ...inRedis,
    ...reads,
    close: async () => {
      await archive?.close()
      await inRedis.close()
    },
  }
}

const archived = (id: string, instance: string) =>
  new RolekeeperError(
    'journal.archived',
    `Workflow ${id} ended long ago, and its record is in the archive of the instance ${instance}.`,
    { fix: `give the same command on the machine of ${instance}.`, facts: { id, instance } },
  )

import { RolekeeperError } from '../errors.ts'
import { lockDirectory } from '../journal/directory/lock.ts'
import { hashOf } from '../journal/redis/link/answer.ts'
import { checkServer, serverText } from '../journal/redis/link/check.ts'
import type { CommandLine } from '../journal/redis/link/command-line.ts'
import { nameOf } from '../journal/redis/link/connect.ts'
import { type InstanceHistory, readHistories } from '../journal/redis/link/fleet-history.ts'
import { type LastKnown, meet, parentsOf, type StoreConfig } from '../journal/redis/link/generation.ts'
import { readWitnessed } from './witnesses.ts'

/** Whose evidence a person goes by: the fleet's Redis, and the directory of one of its instances, where there is one. */
export type EvidencePlace = {
  readonly store: Omit<StoreConfig, 'instance'>
  readonly directory: string
  /** The instance that works in it. */
  readonly instance: string | undefined
}

/** What shows whether a fleet's Redis has forgotten, and what those know who saw more. */
export type Evidence = {
  /** The generation that is there; empty where there is none. */
  readonly gen: string
  readonly parents: readonly string[]
  readonly seq: number
  /** The server and its process, as records name it. */
  readonly server: string
  readonly runId: string
  /** Why it is known to have forgotten; null where nobody says so. */
  readonly forgotten: string | null
  /** What each instance knew that found it forgotten, this machine's included. */
  readonly testimonies: readonly InstanceHistory[]
  /** Who holds the server of now against what it witnessed, and finds nothing missing. */
  readonly attested: ReadonlySet<string>
  readonly controls: ReadonlyMap<string, string>
}

/** Read it. Throws RolekeeperError for a server that no instance would start on, and `journal.not_founded` for a fleet that never was. */
export async function readEvidence(
  { store, directory, instance }: EvidencePlace,
  line: CommandLine,
): Promise<Evidence> {
  const own = await readWitnessed(directory)
  const { keys } = line
  const { endpoint, fleet, replicas } = store
  const server = await line.use((on) =>
    checkServer(on, { db: endpoint.db, replicas, server: nameOf(endpoint) }),
  )
  const heard = await readHistories(line)
  // One that runs says it itself, on the Redis that it is led to.
  const speaksForItself = own === null || instance === undefined || isRunning(directory)
  const ours = speaksForItself ? [] : [{ ...own, instance }]
  const problem = await problemOf(fleet, own, line)
  if (problem?.code === 'journal.not_founded' && heard.length === 0) throw problem
  const isSeenHere = problem?.code === 'journal.amnesia'
  const found = await line.read('HMGET', keys.meta, 'gen', 'parent', 'seq')
  const [gen, parent, seq] = Array.isArray(found) ? found : []
  const attested = await line.read('SMEMBERS', keys.attested(server.runId))
  return {
    gen: String(gen ?? ''),
    parents: parentsOf(parent),
    seq: Number(seq ?? 0),
    server: serverText(server),
    runId: server.runId,
    forgotten: isSeenHere
      ? problem.shortMessage
      : heard.length > 0
        ? `Redis has forgotten what ${heard.map((each) => each.instance).join(', ')} saw acknowledged.`
        : null,
    testimonies: [
      ...heard,
      ...(isSeenHere ? ours : []).filter((each) => heard.every((other) => other.instance !== each.instance)),
    ],
    attested: new Set(Array.isArray(attested) ? attested.map(String) : []),
    controls: hashOf(await line.read('HGETALL', keys.control)),
  }
}

/** Whether the instance of a directory works: it holds the lock. */
function isRunning(directory: string): boolean {
  try {
    lockDirectory(directory).release()
    return false
  } catch (error) {
    if (error instanceof RolekeeperError && error.code === 'journal.locked') return true
    throw error
  }
}

async function problemOf(
  fleet: string,
  known: LastKnown | null,
  line: CommandLine,
): Promise<RolekeeperError | null> {
  try {
    await line.use((on) => meet(on, fleet, known, ''))
    return null
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    if (!['journal.amnesia', 'journal.not_founded'].includes(error.code)) throw error
    return error
  }
}

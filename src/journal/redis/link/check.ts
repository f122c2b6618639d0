import { RolekeeperError } from '../../../errors.ts'
import type { Line } from './connect.ts'
import { faultError, LineFault } from './faults.ts'

/** What a server must be for the keeper that uses it. */
export type Expected = {
  readonly db: number
  /** Replicas that acknowledge what a barrier passes. */
  readonly replicas: number
  /** The server as messages name it. */
  readonly server: string
}

/** Which server a line leads to, as it names itself. */
export type Server = {
  readonly runId: string
  /** The history of writes that it has, and the one before it was promoted. */
  readonly replicationId: string
  readonly replicationId2: string
  readonly version: string
}

/** Name a server in a record: its process, and the history of writes that it has. Pure. */
export const serverText = ({ runId, replicationId }: Pick<Server, 'runId' | 'replicationId'>): string =>
  `${runId}/${replicationId}`

const SETTINGS = ['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'maxmemory-policy'] as const

/**
 * Look whether a server holds what it acknowledges, and is the one that is meant. Throws RolekeeperError
 * `journal.redis_settings` and others, each with the setting, its value and the line to write; LineFault where it does not
 * answer. Source: redis.io/docs/latest/operate/oss_and_stack/management/persistence.
 */
export async function checkServer(line: Line, expected: Expected): Promise<Server> {
  const info = await readInfo(line)
  const value = (name: string) => info.get(name) ?? ''
  const version = value('redis_version')
  // The first of all: one that loads, or is too old, answers the rest in its own way.
  if (value('loading') === '1') throw faultError(new LineFault('LOADING', false), expected.server)
  if (Number(version.split('.')[0]) < 7) throw tooOld(version)
  if (value('redis_mode') === 'cluster' || value('cluster_enabled') === '1') throw cluster()
  if (value('role') !== 'master') throw replica(expected.server)
  const settings = await readSettings(line)
  for (const [name, found, wanted] of wrongSettings(settings, expected.replicas))
    throw wrong(name, found, wanted)
  if (value('aof_last_write_status') !== 'ok' || value('aof_last_bgrewrite_status') !== 'ok') {
    throw diskFails(value('aof_last_write_status'), value('aof_last_bgrewrite_status'))
  }
  const online = replicasOnline(info)
  if (online < expected.replicas) throw tooFewReplicas(online, expected.replicas)
  const db = /(?:^| )db=(\d+)/.exec(String(await line.call('CLIENT', 'INFO')))?.[1]
  if (db !== String(expected.db)) throw otherDatabase(db ?? 'none', expected.db)
  return {
    runId: value('run_id'),
    version,
    replicationId: value('master_replid'),
    replicationId2: value('master_replid2'),
  }
}

/** Count the replicas that follow a server, by what it says of itself. Pure. */
export const replicasOnline = (info: ReadonlyMap<string, string>): number =>
  [...info].filter(([name, text]) => /^slave\d+$/.test(name) && text.includes('state=online')).length

/** Read what a server says of itself: name → value. */
export const readInfo = async (line: Line): Promise<ReadonlyMap<string, string>> =>
  parse(String(await line.call('INFO', 'default')))

/** Read `name:value` lines. Pure. */
const parse = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split('\r\n').flatMap((row) => {
      const cut = row.indexOf(':')
      return cut < 0 ? [] : [[row.slice(0, cut), row.slice(cut + 1)] as const]
    }),
  )

/** Read the settings that durability rests on: name → value. Throws where this user may not. */
export async function readSettings(line: Line): Promise<ReadonlyMap<string, string>> {
  try {
    const found = await line.call('CONFIG', 'GET', ...SETTINGS)
    const flat = Array.isArray(found) ? found.map(String) : []
    return new Map(
      flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as const] : [])),
    )
  } catch (error) {
    if (error instanceof LineFault && ['NOPERM', 'ERR'].includes(error.word)) throw unreadable()
    throw error
  }
}

type Wrong = readonly [name: string, found: string, wanted: string]

/** Name what does not hold what was acknowledged. Pure. */
function wrongSettings(settings: ReadonlyMap<string, string>, replicas: number): readonly Wrong[] {
  const wanted: readonly (readonly [string, string])[] = [
    ['appendonly', 'yes'],
    // The memory of a replica stands for the disk.
    ...(replicas > 0 ? [] : [['appendfsync', 'always'] as const]),
    // It ends every fsync while the file is rewritten, and says nothing.
    ['no-appendfsync-on-rewrite', 'no'],
    ['maxmemory-policy', 'noeviction'],
  ]
  return wanted.flatMap(([name, value]) => {
    const found = settings.get(name) ?? 'nothing'
    return found === value ? [] : [[name, found, value] as const]
  })
}

const unusable = (code: string, message: string, fix: string, facts: Record<string, string | number> = {}) =>
  new RolekeeperError(code, message, { fix, facts })

const wrong = (name: string, found: string, wanted: string) =>
  unusable(
    'journal.redis_settings',
    `Redis has \`${name} ${found}\`, which does not keep what it acknowledges.`,
    `write \`${name} ${wanted}\` in redis.conf, or \`CONFIG SET ${name} ${wanted}\` and \`CONFIG REWRITE\`.`,
    { setting: name, found, wanted },
  )

const unreadable = () =>
  unusable(
    'journal.redis_settings',
    'Redis does not let this user read its settings, so nothing shows that it keeps what it acknowledges.',
    'allow it: `ACL SETUSER <user> +config|get`; a service that forbids CONFIG cannot be used.',
    { setting: 'CONFIG' },
  )

const tooOld = (version: string) =>
  unusable(
    'journal.redis_version',
    `Redis is version ${version || 'unknown'}; 7.0 or newer is needed.`,
    'install redis-server 7.0 or newer.',
    { version },
  )

const cluster = () =>
  unusable(
    'journal.redis_cluster',
    'Redis runs in cluster mode, where a barrier does not cover what was written to other nodes.',
    'write `cluster-enabled no`; a fleet is on one master and its replicas.',
    { setting: 'cluster-enabled', found: 'yes' },
  )

const replica = (server: string) =>
  unusable('journal.replica', `Redis at ${server} is a replica.`, 'name the master in `journal.redis`.', {
    server,
  })

const diskFails = (write: string, rewrite: string) =>
  unusable(
    'journal.failed',
    `Redis could not write its append-only file: aof_last_write_status ${write}, aof_last_bgrewrite_status ${rewrite}.`,
    'make room on its disk, look at its log, then `BGREWRITEAOF`.',
    { write, rewrite },
  )

const tooFewReplicas = (found: number, wanted: number) =>
  unusable(
    'journal.not_replicated',
    `Redis has ${found} replicas online; the configuration waits for ${wanted}.`,
    'start them, or correct `replicas`, which counts all that may be promoted.',
    { found, wanted },
  )

const otherDatabase = (found: string, wanted: number) =>
  unusable(
    'journal.redis_database',
    `Redis is at database ${found}, not ${wanted}.`,
    'end the URL with a database that the server has (`databases` in redis.conf) and this user may use.',
    { found, wanted },
  )

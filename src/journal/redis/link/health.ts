import { RolekeeperError } from '../../../errors.ts'
import { checkServer, readInfo, readSettings, replicasOnline } from './check.ts'
import type { CommandLine } from './command-line.ts'
import { type Line, nameOf } from './connect.ts'
import { parentsOf, type StoreConfig } from './generation.ts'

/** How a fleet's Redis is. */
export type RedisHealth = {
  /** `host:port/database`. */
  readonly server: string
  readonly version: string
  readonly role: string
  readonly runId: string
  readonly upSeconds: number
  readonly memory: { readonly usedBytes: number; readonly maxBytes: number | null; readonly policy: string }
  /** What durability rests on; null where this user may not read it. */
  readonly settings: Readonly<Record<string, string>> | null
  readonly aof: { readonly lastWrite: string; readonly lastRewrite: string; readonly isRewriting: boolean }
  readonly replicas: { readonly online: number; readonly wanted: number }
  readonly generation: string
  /** The generations that this one followed, newest first. */
  readonly parents: readonly string[]
  readonly sequence: number
  /** Why an instance would not start on it; null where it would. */
  readonly problem: { readonly code: string; readonly message: string } | null
}

/** Read how a fleet's Redis is: what keeps an instance from it is shown, and stops nothing. */
export function readHealth(line: CommandLine, store: Omit<StoreConfig, 'instance'>): Promise<RedisHealth> {
  const server = nameOf(store.endpoint)
  return line.use(async (on) => {
    const info = await readInfo(on)
    const value = (name: string) => info.get(name) ?? ''
    const found = await on.call('HMGET', line.keys.meta, 'gen', 'parent', 'seq')
    const [gen, parent, seq] = Array.isArray(found) ? found.map((each) => String(each ?? '')) : []
    const problem = await problemOf(() =>
      checkServer(on, { db: store.endpoint.db, replicas: store.replicas, server }),
    )
    const maxBytes = Number(value('maxmemory'))
    return {
      server,
      version: value('redis_version'),
      role: value('role'),
      runId: value('run_id'),
      upSeconds: Number(value('uptime_in_seconds')),
      memory: {
        usedBytes: Number(value('used_memory')),
        maxBytes: maxBytes === 0 ? null : maxBytes,
        policy: value('maxmemory_policy'),
      },
      settings: await settingsOf(on),
      aof: {
        lastWrite: value('aof_last_write_status'),
        lastRewrite: value('aof_last_bgrewrite_status'),
        isRewriting: value('aof_rewrite_in_progress') === '1',
      },
      replicas: { online: replicasOnline(info), wanted: store.replicas },
      generation: gen ?? '',
      parents: parentsOf(parent),
      sequence: Number(seq),
      problem,
    }
  })
}

async function problemOf(check: () => Promise<unknown>): Promise<RedisHealth['problem']> {
  try {
    await check()
    return null
  } catch (error) {
    if (!(error instanceof RolekeeperError)) throw error
    return { code: error.code, message: error.message }
  }
}

async function settingsOf(line: Line): Promise<RedisHealth['settings']> {
  try {
    return Object.fromEntries(await readSettings(line))
  } catch (error) {
    if (error instanceof RolekeeperError) return null
    throw error
  }
}

import type { Address } from 'viem'
import { RolekeeperError } from '../../errors.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { Archive } from '../archive.ts'
import type { JournalReads, Transition } from '../journal.ts'
import { decodeRecord } from '../records.ts'
import type { Rest } from './archived-records.ts'
import { nameOf, openLine } from './connect.ts'
import { COMMAND_MS, meet, type StoreConfig } from './generation.ts'
import { keysOf } from './keys.ts'
import { createLink } from './link.ts'
import { RedisReads } from './reads.ts'

/** Which fleet is read, and on which Redis. */
export type FleetPlace = Omit<StoreConfig, 'replicas' | 'instance'>

/**
 * Read a fleet's journal from any process, beside its instances, and the archive of this machine's where it has one. It loads
 * no scripts, which a server would keep, and looks at no settings: what is wrong with them is for people to see, too. Each
 * read throws RolekeeperError `journal.not_founded`, `journal.version`, and what a line throws; one of a workflow whose record
 * only another machine has, `journal.archived`.
 */
export function readRedisJournal(place: FleetPlace, archive: Archive | null = null): JournalReads {
  return new FleetReads(openReads(place), archive)
}

/** Open a line to a fleet's Redis that commands only read by. */
function openReads({ endpoint, fleet }: FleetPlace) {
  const link = createLink({
    open: (number) =>
      openLine(endpoint, { number, timeoutMs: COMMAND_MS, name: `rolekeeper:${fleet}:reads` }),
    verify: async (line) => {
      await meet(line, fleet, null, '')
    },
    server: nameOf(endpoint),
  })
  return {
    keys: keysOf(fleet),
    read: (command: string, ...args: readonly (string | number)[]) =>
      link.use((line) => line.call(command, ...args)),
    close: link.close,
  }
}

/** What a fleet's records say, and the archive of one machine. */
class FleetReads extends RedisReads {
  readonly #archive: Archive | null

  constructor(store: ReturnType<typeof openReads>, archive: Archive | null) {
    super(store)
    this.#archive = archive
  }

  override async get(id: string): Promise<Workflow | null> {
    const found = (await super.get(id)) ?? this.#archive?.get(id) ?? null
    if (found !== null) return found
    const rest = await this.text('HGET', this.store.keys.workflow(id), 'rest')
    if (rest !== null) throw archived(id, decodeRecord<Rest>(rest).instance)
    return null
  }

  override async transitions(id: string): Promise<readonly Transition[]> {
    const kept = await super.transitions(id)
    return kept.length > 0 ? kept : (this.#archive?.transitions(id) ?? [])
  }

  override async byNonce(chainId: number, signer: Address, nonce: number): Promise<Workflow | null> {
    return (
      (await super.byNonce(chainId, signer, nonce)) ?? this.#archive?.byNonce(chainId, signer, nonce) ?? null
    )
  }

  override async list(limit: number): Promise<readonly Workflow[]> {
    const kept = await super.list(limit)
    return this.#archive?.complete(null, kept, limit) ?? kept
  }

  override async newestOf(role: Role, limit: number): Promise<readonly Workflow[]> {
    const kept = await super.newestOf(role, limit)
    return this.#archive?.complete(role, kept, limit) ?? kept
  }

  override async shadowed(): Promise<readonly Workflow[]> {
    const kept = await super.shadowed()
    const ids = new Set(kept.map(({ id }) => id))
    return [...(this.#archive?.shadowed() ?? []).filter(({ id }) => !ids.has(id)), ...kept]
  }

  override async close(): Promise<void> {
    await this.#archive?.close()
    await super.close()
  }
}

const archived = (id: string, instance: string) =>
  new RolekeeperError(
    'journal.archived',
    `Workflow ${id} ended long ago, and its record is in the archive of the instance ${instance}.`,
    { fix: `give the same command on the machine of ${instance}.`, facts: { id, instance } },
  )

import type { Address } from 'viem'
import { RolekeeperError } from '../../errors.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import type { JournalReads, Transition } from '../journal.ts'
import type { Archive } from '../sqlite/archive.ts'
import { decodeRecord } from '../sqlite/records.ts'
import type { ArchivedStub } from './archived-records.ts'
import { type CommandLine, type FleetPlace, openCommandLine } from './link/command-line.ts'
import { RedisReads } from './reads.ts'

/**
 * Read a fleet's journal from any process, beside its instances, and the archive of this machine's where it has one. It loads
 * no scripts, which a server would keep, and looks at no settings: what is wrong with them is for people to see, too. Each
 * read throws RolekeeperError `journal.not_founded`, `journal.version`, and what a line throws; one of a workflow whose record
 * only another machine has, `journal.archived`.
 */
export function readRedisJournal(place: FleetPlace, archive: Archive | null = null): JournalReads {
  return new FleetReads(openCommandLine(place), archive)
}

/** What a fleet's records say, and the archive of one machine. */
class FleetReads extends RedisReads {
  readonly #archive: Archive | null

  constructor(store: CommandLine, archive: Archive | null) {
    super(store)
    this.#archive = archive
  }

  override async get(id: string): Promise<Workflow | null> {
    const found = (await super.get(id)) ?? this.#archive?.get(id) ?? null
    if (found !== null) return found
    const rest = await this.text('HGET', this.store.keys.workflow(id), 'rest')
    if (rest !== null) throw archived(id, decodeRecord<ArchivedStub>(rest).instance)
    return null
  }

  override async transitions(id: string): Promise<readonly Transition[]> {
    const kept = await super.transitions(id)
    return kept.length > 0 ? kept : (this.#archive?.transitions(id) ?? [])
  }

  override async byNonce(chainId: number, signer: Address, nonce: number) {
    const found = await super.byNonce(chainId, signer, nonce)
    return typeof found === 'object' && found !== null
      ? found
      : (this.#archive?.byNonce(chainId, signer, nonce) ?? found)
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

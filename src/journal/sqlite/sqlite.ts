import type { Address } from 'viem'
import { invariant, type RolekeeperError } from '../../errors.ts'
import type { Role } from '../../service/contract/roles.ts'
import { type Brief, briefOf } from '../../workflow/brief.ts'
import { isTerminal, type Workflow } from '../../workflow/workflow.ts'
import { proveEntered, requestKey } from '../entered.ts'
import { endProcess } from '../faults.ts'
import type {
  DecisionRow,
  Journal,
  JournalReads,
  LedgerEntry,
  OutboxRow,
  Reservation,
  Spending,
} from '../journal.ts'
import { Archive, archiveSlice, openArchive } from './archive.ts'
import {
  archiveFile,
  hasArchive,
  journalFile,
  openDatabase,
  readArchiveDatabase,
  readDatabase,
} from './database.ts'
import { addDecisions } from './decisions.ts'
import { isTakenBy, LiveIndex } from './live-index.ts'
import { post, posted, postpone } from './outbox.ts'
import { RecordReader } from './reader.ts'
import { RecentReservations, readRecent } from './recent-reservations.ts'
import { encodeRecord, Records } from './records.ts'
import { addDigest, addTransition, replaceWorkflow, setReservation } from './workflow-rows.ts'

/**
 * Open the journal for reading beside the process that writes it. Throws `journal.absent` when there is none, and
 * `journal.version` for one that another release wrote.
 */
export function readSqliteJournal(directory: string): JournalReads {
  const records = new Records(readDatabase(directory), journalFile(directory), leaveToCaller)
  return new RecordReader(records, readArchive(directory))
}

/** Open the archive of a directory for reading; null where nothing was archived yet. */
export function readArchive(directory: string): Archive | null {
  const database = readArchiveDatabase(directory)
  return database && new Archive(new Records(database, archiveFile(directory), leaveToCaller))
}

/** A reader gets the failure itself. */
const leaveToCaller = () => {}

/**
 * Open (or create) the journal of a directory that this process has locked. A barrier returns after fsync; when the disk
 * fails the process ends. Throws what {@link openDatabase} throws.
 */
export function openSqliteJournal(directory: string, onFailed = endProcess): SqliteJournal {
  const open = () => openArchive(directory, onFailed)
  return new SqliteJournal(
    new Records(openDatabase(directory), journalFile(directory), onFailed),
    hasArchive(directory) ? open() : null,
    open,
  )
}

/** The one writer of a journal: what is live it holds decoded, so that asking for it costs no read. */
export class SqliteJournal extends RecordReader implements Journal {
  readonly #live: LiveIndex
  readonly #reservations: RecentReservations
  readonly #openArchive: () => Archive

  constructor(records: Records, archive: Archive | null, openArchive: () => Archive) {
    super(records, archive)
    this.#openArchive = openArchive
    this.#live = new LiveIndex(this.readLive())
    this.#reservations = new RecentReservations(readRecent(records))
  }

  protected override read(id: string): Workflow | null {
    return this.#live.get(id) ?? super.read(id)
  }

  override async reservations(role: Role, sinceMs: number): Promise<readonly Reservation[]> {
    return this.#reservations.since(role, sinceMs) ?? super.reservations(role, sinceMs)
  }

  async spending(role: Role | null, sinceMs: readonly number[], workflowId: string): Promise<Spending> {
    // Both in one turn: the rows are of the revision.
    const revision = this.#reservations.revisionOf(role)
    const held = this.#reservations.sums(role, sinceMs, workflowId)
    return { rows: held ?? this.readReservations(role, Math.min(...sinceMs)), revision }
  }

  async ofRole(role: Role): Promise<readonly Brief[]> {
    return this.#live.ofRole(role).map(briefOf)
  }

  async onLots(): Promise<readonly Brief[]> {
    return this.#live.onLots().map(briefOf)
  }

  async ofSigner(signer: Address): Promise<readonly Workflow[]> {
    return this.#live.ofSigner(signer)
  }

  override async live(): Promise<readonly Workflow[]> {
    return this.#live.all()
  }

  /** What ended while many were read is given as it ended. */
  override async newestOf(role: Role, limit: number): Promise<readonly Workflow[]> {
    const newest = await super.newestOf(role, limit)
    return newest.map((one) => (isTerminal(one.state) ? one : (this.read(one.id) ?? one)))
  }

  /** Take note of a change that the records hold; the last thing in it, as what failed was none. */
  #note(workflow: Workflow, reservation: Reservation | null): Workflow {
    if (reservation !== null) this.#reservations.set(reservation)
    this.#live.note(workflow)
    return workflow
  }

  barrier(): Promise<void> {
    return this.records.barrier()
  }

  async open(workflow: Workflow): Promise<'opened' | 'exists' | Brief> {
    const { id, opportunity, round, role, state, version, createdAtMs, proposal } = workflow
    const archived = 'SELECT 1 FROM archived WHERE opportunity = ? AND round >= ?'
    return this.records.change(() => {
      if (this.records.rows(archived, opportunity, round).length > 0) return 'exists'
      const onLot = proposal.lot === undefined ? [] : this.#live.onLot(proposal.lot)
      const taken = onLot.find((other) => isTakenBy(workflow, other))
      if (taken !== undefined) return briefOf(taken)
      const added = this.records.run(
        'INSERT INTO workflows (id, opportunity, round, role, state, live, version, created_at_ms, body) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO NOTHING',
        ...[id, opportunity, round, role, state, version, createdAtMs, encodeRecord(workflow)],
      )
      if (added === 0) return 'exists'
      addTransition(workflow, this.records)
      this.#note(workflow, null)
      return 'opened'
    })
  }

  async write(workflow: Workflow, reservation: Reservation | null = null): Promise<Workflow> {
    return this.records.change(() => {
      const written = replaceWorkflow(workflow, this.read(workflow.id), reservation, this.records)
      return this.#note(written, reservation)
    })
  }

  async writeWithin(workflow: Workflow, reservation: Reservation, revision: string) {
    return this.records.change(() => {
      if (!this.#reservations.isNewest(reservation.role, revision)) return 'outdated'
      return this.#note(
        replaceWorkflow(workflow, this.read(workflow.id), reservation, this.records),
        reservation,
      )
    })
  }

  async writeBound(workflow: Workflow, requestId: string): Promise<Workflow | 'taken'> {
    const take =
      'INSERT INTO values_by_key (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value WHERE value = excluded.value'
    return this.records.change(() =>
      this.records.run(take, requestKey(requestId), workflow.id) === 0
        ? 'taken'
        : this.#note(replaceWorkflow(workflow, this.read(workflow.id), null, this.records), null),
    )
  }

  async ordered(entries: readonly LedgerEntry[]): Promise<void> {
    await this.barrier()
    for (const entry of entries) proveEntered(entry, await this.ledgerEntry(entry.digest, entry.signer))
  }

  async claim(workflow: Workflow, reservation: Reservation | null): Promise<Workflow | 'lost'> {
    return this.records.change(() => this.#claim(workflow, reservation))
  }

  async claimWithin(workflow: Workflow, reservation: Reservation, revision: string) {
    return this.records.change(() =>
      this.#reservations.isNewest(reservation.role, revision)
        ? this.#claim(workflow, reservation)
        : 'outdated',
    )
  }

  #claim(workflow: Workflow, reservation: Reservation | null): Workflow | 'lost' {
    const before = this.read(workflow.id)
    const held = new Set(before?.slots.map(({ nonce }) => nonce))
    const fresh = workflow.slots.filter(({ nonce }) => !held.has(nonce))
    const [first] = fresh
    invariant(first !== undefined, `workflow ${workflow.id} claims without a slot`)
    const { chainId } = first
    const signer = first.signer.toLowerCase()
    const next = this.readNextNonce(chainId, signer)
    if (next === null) return 'lost'
    const fills = fresh.length === 1 && first.closing !== undefined && first.nonce < next
    if (!fills && fresh.some(({ nonce }, index) => nonce !== next + index)) return 'lost'
    // What ended holds its nonce no longer where it is to be closed: the chain has lost what was final there.
    const sql =
      'INSERT INTO nonces (chain_id, signer, nonce, workflow_id) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET workflow_id = excluded.workflow_id WHERE (SELECT live FROM workflows WHERE id = nonces.workflow_id) = 0'
    for (const { nonce } of fresh) {
      if (this.records.run(sql, chainId, signer, nonce, workflow.id) === 0) return 'lost'
    }
    const advance = 'UPDATE signers SET next_nonce = ? WHERE chain_id = ? AND signer = ?'
    this.records.run(advance, fills ? next : next + fresh.length, chainId, signer)
    return this.#note(replaceWorkflow(workflow, before, reservation, this.records), reservation)
  }

  async adoptNonce(chainId: number, signer: string, nonce: number): Promise<void> {
    await this.records.change(() =>
      this.records.run(
        'INSERT INTO signers (chain_id, signer, next_nonce) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET next_nonce = max(excluded.next_nonce, (SELECT coalesce(max(nonce) + 1, 0) FROM nonces WHERE chain_id = excluded.chain_id AND signer = excluded.signer))',
        chainId,
        signer.toLowerCase(),
        nonce,
      ),
    )
  }

  async enterDigest(entry: LedgerEntry): Promise<void> {
    await this.records.change(() => addDigest(entry, this.records))
  }

  async settle(reservation: Reservation): Promise<void> {
    await this.records.change(() => {
      setReservation(reservation, this.records)
      this.#reservations.set(reservation)
    })
  }

  async addDecisions(rows: readonly DecisionRow[]): Promise<void> {
    await addDecisions(rows, this.records)
  }

  post(rows: readonly Omit<OutboxRow, 'tries'>[]): Promise<void> {
    return post(rows, this.records)
  }

  posted(hash: string): Promise<void> {
    return posted(hash, this.records)
  }

  postpone(hash: string, dueAtMs: number): Promise<void> {
    return postpone(hash, dueAtMs, this.records)
  }

  async setValue(key: string, value: string | null): Promise<void> {
    await this.records.change(() =>
      value === null
        ? this.records.run('DELETE FROM values_by_key WHERE key = ?', key)
        : this.records.run(
            'INSERT INTO values_by_key (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
            key,
            value,
          ),
    )
  }

  /** Take nothing any more: something outside the database says that its disk fails. */
  fail(failure: RolekeeperError): void {
    this.records.fail(failure)
  }

  /**
   * Move a few workflows that ended, and were opened and last written before `beforeMs`, to the archive. `after` is 0, or
   * what the slice before returned. @returns null when none is left.
   */
  archiveSlice(beforeMs: number, after: number): Promise<number | null> {
    const archive = () => {
      this.archive ??= this.#openArchive()
      return this.archive
    }
    return archiveSlice(this.records, archive, beforeMs, after)
  }
}

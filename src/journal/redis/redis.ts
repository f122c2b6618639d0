import { invariant, RolekeeperError } from '../../errors.ts'
import { proveEntered } from '../entered.ts'
import type { Journal } from '../journal.ts'
import type { Archive } from '../sqlite/archive.ts'
import type { RedisStore } from './link/store.ts'
import { withArchive } from './records/archive-reads.ts'
import { Archiving } from './records/archiving.ts'
import { Briefs } from './records/briefs.ts'
import { Budgets } from './records/budgets.ts'
import { entryAmong, fieldsOf } from './records/entries.ts'
import { NonceClaims } from './records/nonce-claims.ts'
import { createRedisReads } from './records/reads.ts'
import { createSeatRecords } from './records/seat-records.ts'
import { SeatWriter } from './records/seat-writer.ts'
import { WorkflowRecords } from './records/workflow-records.ts'
import { createFences } from './seats/fences.ts'
import type { Controls, SeatToken } from './seats/seat.ts'

/** What a journal of a term needs. */
type TermDeps = {
  readonly store: RedisStore
  /** This instance's own: of what others archived, it knows nothing. */
  readonly archive: Archive
  /** What is set for the fleet, as each barrier finds it. */
  readonly onControls: (controls: Controls) => void
}

/** The journal of a term, with what keeps it small. */
type RedisJournal = Journal & Pick<Archiving, 'archiveSlice' | 'forgetSlice'>

/**
 * Open the journal of a seat that this instance has just taken: what is live of it is read once. Every write throws
 * RolekeeperError `seat.lost` once another holds it, and `journal.unknown` where it is not known whether it was made: then the
 * record is read again when it is next asked for.
 */
export async function openRedisJournal(
  held: SeatToken,
  { store, archive, onControls }: TermDeps,
): Promise<RedisJournal> {
  const writer = new SeatWriter(held, store)
  const reads = createRedisReads(store)
  const workflows = new WorkflowRecords(writer, reads, archive)
  const nonces = new NonceClaims(writer, reads, workflows)
  const briefs = new Briefs(store)
  const budgets = new Budgets(store, reads.reservations)
  const archiving = new Archiving(writer, reads, archive)
  const pass = createBarrier(writer, onControls)
  await workflows.load()
  return {
    ...reads,
    ...withArchive(reads, archive, (id) => workflows.get(id)),
    ...createSeatRecords(writer, reads),
    live: () => workflows.live(),
    ofRole: (role) => briefs.ofRole(role),
    onLots: () => briefs.onLots(),
    ofSigner: async (signer) => workflows.ofSigner(signer),
    spending: (role, sinceMs, workflowId) =>
      role === null ? budgets.ofAll(sinceMs, workflowId) : budgets.spending(role, sinceMs, workflowId),
    open: (workflow) => workflows.open(workflow),
    write: (workflow, reservation) => workflows.write(workflow, reservation),
    writeWithin: (workflow, reservation, revision) => workflows.writeWithin(workflow, reservation, revision),
    writeBound: (workflow, requestId) => workflows.writeBound(workflow, requestId),
    nextNonce: (chainId, signer) => nonces.next(chainId, signer),
    adoptNonce: (chainId, signer, nonce) => nonces.adopt(chainId, signer, nonce),
    claim: async (workflow, reservation) => {
      const claimed = await nonces.claim(workflow, reservation)
      invariant(claimed !== 'outdated', `a claim of ${workflow.id} was judged by no budget`)
      return claimed
    },
    claimWithin: (workflow, reservation, revision) => nonces.claim(workflow, reservation, revision),
    barrier: async () => {
      await pass([])
    },
    ordered: async (entries) => {
      const found = await pass(entries.flatMap(fieldsOf))
      for (const entry of entries) {
        const texts = fieldsOf(entry).map((field) => found.get(field) ?? '')
        proveEntered(entry, entryAmong(entry, texts))
      }
    },
    archiveSlice: (beforeMs, offset) => archiving.archiveSlice(beforeMs, offset),
    forgetSlice: (beforeMs) => archiving.forgetSlice(beforeMs),
    // The lines are the instance's.
    close: async () => undefined,
  }
}

/** Pass barriers of a seat, unless it is lost; each says what the ledger has in some fields. */
function createBarrier(writer: SeatWriter, onControls: (controls: Controls) => void) {
  const fences = createFences(() => writer.mark(), writer.store, onControls)
  return async (fields: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    writer.proveHeld()
    try {
      return await fences.pass(fields)
    } catch (error) {
      throw error instanceof RolekeeperError && error.code === 'seat.lost' ? writer.lose(error) : error
    }
  }
}

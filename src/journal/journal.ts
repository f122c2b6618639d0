import type { Address, Hex } from 'viem'
import type { Role } from '../service/contract/roles.ts'
import type { WorkflowType } from '../service/contract/workflow-types.ts'
import type { Brief } from '../workflow/brief.ts'
import type { Reason } from '../workflow/proposal.ts'
import type { LastRound } from '../workflow/round.ts'
import type { Uses, UseTotals } from '../workflow/uses.ts'
import type { Note, Workflow, WorkflowState } from '../workflow/workflow.ts'

/** A state as it was reached. */
export type Transition = { readonly state: WorkflowState; readonly atMs: number; readonly note?: Note }

/** What a claim reserves against the role's rolling budgets, and what it really cost once it is known. */
export type Reservation = {
  readonly workflowId: string
  readonly role: Role
  /** Absent in a journal of an earlier release. */
  readonly signer?: Address
  readonly atMs: number
  readonly usdMicros: bigint
  readonly gasWei: bigint
  readonly reverted: boolean
  /** Absent in a journal of an earlier release. */
  readonly workflowType?: WorkflowType
  /** Absent, it is not known. */
  readonly uses?: Uses
  /** What may leave the signer of it, base units. */
  readonly out?: { readonly token: Address; readonly assets: bigint }
  /** Of a workflow that a person approved. */
  readonly approved?: true
  /** Of a workflow in shadow: it counts against what is in shadow alone. */
  readonly shadow?: true
}

/** A decision about one subject, kept when its reason changes. `check` is `proposed` for a proposal. */
export type DecisionRow = {
  readonly role: Role
  readonly subject: string
  readonly atMs: number
  readonly check: string
  readonly message: string
  readonly reason: Reason
}

/** A transaction that the service does not know of yet. */
export type OutboxRow = {
  readonly workflowId: string
  readonly requestId: string
  readonly order: number
  readonly chainId: number
  readonly hash: Hex
  readonly tries: number
  readonly dueAtMs: number
}

/** Which digest a key may sign, and for what: the ledger's row. */
export type LedgerEntry = {
  readonly digest: Hex
  readonly kind: 'transaction' | 'challenge' | 'typed_data'
  readonly signer: Address
  readonly workflowId: string | null
  readonly nonce: number | null
  readonly atMs: number
}

/** A reservation, or those of a minute as one: then `used` says of all of them what `uses` says of each. */
export type Spent = Reservation & { readonly used?: ReadonlyMap<string, UseTotals> }

/** What counts against budgets, and the revision that these rows are of. */
export type Spending = { readonly rows: readonly Spent[]; readonly revision: string }

/** What a journal says, to the process that writes it and to any other. */
export type JournalReads = {
  readonly get: (id: string) => Promise<Workflow | null>
  /** The newest round of an opportunity: also of one that ended so long ago that another machine has its record. */
  readonly byOpportunity: (opportunity: string) => Promise<LastRound | null>
  /** Workflows that are not terminal, oldest first: for a start and for people, not for what is done again and again. */
  readonly live: () => Promise<readonly Workflow[]>
  /** Newest first; at most `limit`. */
  readonly list: (limit: number) => Promise<readonly Workflow[]>
  /** Workflows that ended in shadow, oldest first. */
  readonly shadowed: () => Promise<readonly Workflow[]>
  /** Of one role, those that ended in shadow and are to be marked yet. */
  readonly unmarked: (role: Role) => Promise<readonly Workflow[]>
  /** Of one role, newest first; at most `limit`. */
  readonly newestOf: (role: Role, limit: number) => Promise<readonly Workflow[]>
  readonly transitions: (id: string) => Promise<readonly Transition[]>
  /** The first nonce that no slot holds; null before `adoptNonce`. */
  readonly nextNonce: (chainId: number, signer: Address) => Promise<number | null>
  /**
   * The workflow whose slot holds a nonce; `archived` where one held it that ended so long ago that its record is another
   * machine's. Null: nobody ever did.
   */
  readonly byNonce: (chainId: number, signer: Address, nonce: number) => Promise<Workflow | 'archived' | null>
  /** What a key may sign a digest for: two may have one digest, as no unsigned transaction names its sender. */
  readonly ledgerEntry: (digest: Hex, signer: Address) => Promise<LedgerEntry | null>
  readonly reservations: (role: Role, sinceMs: number) => Promise<readonly Reservation[]>
  /** Newest first. */
  readonly decisions: (subjectPart: string, limit: number) => Promise<readonly DecisionRow[]>
  /** Those that were due first, at most `limit`. */
  readonly due: (nowMs: number, limit: number) => Promise<readonly OutboxRow[]>
  readonly getValue: (key: string) => Promise<string | null>
  /** The names of instances that have what ended long ago in archives of their own; empty on one machine. */
  readonly archivedBy: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

/**
 * The durable record of what we did. A write is visible to later reads at once and durable after the next
 * `barrier`; a barrier is awaited before each irreversible effect.
 */
export type Journal = JournalReads & {
  /**
   * Insert a new workflow, unless its (opportunity, round) is there already, or another role's live one is about its lot:
   * then that one is the answer. What is in shadow holds no lot against what is live.
   */
  readonly open: (workflow: Workflow) => Promise<'opened' | 'exists' | Brief>
  /** What is live of a role, whoever carries it, oldest first. */
  readonly ofRole: (role: Role) => Promise<readonly Brief[]>
  /** What is live and about a lot, of all roles. */
  readonly onLots: () => Promise<readonly Brief[]>
  /** What is live of a signer that this journal's owner carries, oldest first. */
  readonly ofSigner: (signer: Address) => Promise<readonly Workflow[]>
  /**
   * Replace a workflow, if `workflow.version` is the stored one; returns it with the next version. The digests of
   * its attempts enter the ledger, and a reservation replaces the workflow's in the same step. Throws RolekeeperError
   * `journal.conflict` to this caller alone when it is not.
   */
  readonly write: (workflow: Workflow, reservation?: Reservation | null) => Promise<Workflow>
  /**
   * Like `write`, and take the nonces of its new slots: they must begin at the signer's next nonce, or be one below it
   * that nobody holds, or that only an ended workflow does, and that is only closed; else nothing is written and the answer
   * is `lost`. Reserves in the same step.
   */
  readonly claim: (workflow: Workflow, reservation: Reservation | null) => Promise<Workflow | 'lost'>
  /**
   * Like `claim` and `write`, for a reservation that budgets had room for as of a revision (`spending`): where something
   * else was reserved since of what was asked for there, nothing is written, and the answer is `outdated`.
   */
  readonly claimWithin: (
    workflow: Workflow,
    reservation: Reservation,
    revision: string,
  ) => Promise<Workflow | 'lost' | 'outdated'>
  readonly writeWithin: (
    workflow: Workflow,
    reservation: Reservation,
    revision: string,
  ) => Promise<Workflow | 'outdated'>
  /**
   * Like `write`, for what the service prepared under a request: the first workflow that asks has the request for good. To
   * another the answer is `taken`, and nothing is written.
   */
  readonly writeBound: (workflow: Workflow, requestId: string) => Promise<Workflow | 'taken'>
  /** Resolve when everything written so far is on disk. */
  readonly barrier: () => Promise<void>
  /**
   * Resolve when these entries, which were entered before, are on disk as the ledger has them; before a key is asked for
   * them. Throws BrokenInvariant where it has something else for one of the digests and its key.
   */
  readonly ordered: (entries: readonly LedgerEntry[]) => Promise<void>
  /** Set the next nonce to what the chain has counted, or to the first above all that are held. */
  readonly adoptNonce: (chainId: number, signer: Address, nonce: number) => Promise<void>
  readonly enterDigest: (entry: LedgerEntry) => Promise<void>
  /**
   * The reservations of a role, or of all (null), since the first of some times, those of a minute as one where the minute
   * is on one side of each time. What reverted, what is in shadow and what the workflow reserved stay rows of their own.
   */
  readonly spending: (role: Role | null, sinceMs: readonly number[], workflowId: string) => Promise<Spending>
  /** Replace a reservation by what was really spent. */
  readonly settle: (reservation: Reservation) => Promise<void>
  readonly addDecisions: (rows: readonly DecisionRow[]) => Promise<void>
  /** Put transactions in the outbox; one that is there already stays as it is. */
  readonly post: (rows: readonly Omit<OutboxRow, 'tries'>[]) => Promise<void>
  readonly posted: (hash: Hex) => Promise<void>
  readonly postpone: (hash: Hex, dueAtMs: number) => Promise<void>
  readonly setValue: (key: string, value: string | null) => Promise<void>
}

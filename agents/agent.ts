import type { Abi, Address, Hex } from 'viem'
import type { z } from 'zod'
import type { PinnedDeployment } from '../src/service/contract/deployment.ts'
import type { Role } from '../src/service/contract/roles.ts'
import type { WorkflowType } from '../src/service/contract/workflow-types.ts'
import type { Denomination } from '../src/units.ts'
import type { Proposal, ProposalInput, Reason } from '../src/workflow/proposal.ts'
import type { Board, PriceSeen } from './board.ts'
import type { Due, OwnBudget } from './protocol/due.ts'
import type { Experience, Recovered } from './protocol/experience.ts'
import type { Rival } from './protocol/rival.ts'
import type { Joined, Upstreams } from './protocol/upstreams.ts'
import type { BorrowerCollection, Fold, Rows, WatchedCollection } from './rows.ts'

/** What the keeper does already. */
export type Around = Pick<Moment, 'inFlight' | 'recent' | 'colleagues' | 'experience' | 'rivals'>

/** What an agent reads, and which events are hints to look again; it looks every few seconds whatever they say. */
type Watch = {
  /** Listed whole at each look: small collections only. */
  readonly collections: readonly WatchedCollection[]
  /** Listed too; it can do without: one that cannot be read is not there, and makes nothing stale. */
  readonly optional?: readonly WatchedCollection[]
  /** What only waves ask for, and the agent's key has to open. */
  readonly asked?: readonly WatchedCollection[]
  /** Event types that are hints to look again. */
  readonly eventTypes: readonly string[]
}

/** One subject that was looked at and left alone, and why. `near` is how close it came, 1 being the threshold. */
export type PassedOver = {
  readonly subject: string
  /** A stable name of the rule that stopped it, for example `health_above_one`. */
  readonly check: string
  readonly message: string
  readonly reason: Reason
  readonly near?: number
  /** A person should look now: an alarm, with this fix; `as` names it where many checks are one alarm. */
  readonly alarm?: { readonly fix: string; readonly as?: string }
}

/** Why something is left alone, before it is said of which subject. */
export type Stop = Omit<PassedOver, 'subject' | 'reason'> & Partial<Pick<PassedOver, 'reason'>>

/** Pass a subject over. Pure. */
export const passOver = (subject: string, stop: Stop): PassedOver => ({ subject, reason: {}, ...stop })

/** What an agent wants, and what it left alone. Both are kept, and `explain` prints them. */
export type Decision = {
  readonly proposals: readonly Proposal[]
  readonly passedOver: readonly PassedOver[]
  /** When to look again at the latest, Unix milliseconds; absent, at the next hint or sweep. */
  readonly lookAgainAtMs?: number
}

/** A workflow of ours that is not terminal yet, as far as a decision needs it. */
export type InFlight = {
  readonly workflowId: string
  readonly workflowType: WorkflowType
  readonly kind: string
  readonly subject: string
  readonly occurrence: string
  readonly input: ProposalInput
  readonly exposure: Proposal['exposure']
  /** What it gave to be first. */
  readonly offer?: Proposal['offer']
  /** A person is asked about it and has not answered: nothing of it is prepared yet. */
  readonly held?: true
}

/** A workflow of this role that ended in the last day, newest first. */
export type Ended = Omit<InFlight, 'held'> & {
  readonly state:
    | 'succeeded'
    | 'refused'
    | 'expired'
    | 'reverted'
    | 'superseded'
    | 'partial'
    | 'cancelled'
    | 'unconfirmed'
    | 'quarantined'
    | 'shadowed'
  readonly begunAtMs: number
  readonly endedAtMs: number
  /** Why it ended so; null for a success. */
  readonly check: string | null
  /** The same in words, with a fix where there is one; absent for a success. */
  readonly message?: string
}

/** What another role of this keeper is about now. */
export type Colleague = {
  readonly role: Role
  readonly workflowType: WorkflowType
  readonly subject: string
  readonly lot: string | null
}

/** What every agent knows, whatever its role. */
export type Moment = {
  readonly nowMs: number
  readonly signer: Address
  readonly chainId: number
  /** Our node's head. */
  readonly chain: {
    readonly blockNumber: bigint
    readonly timestampS: number
    readonly baseFeePerGasWei: bigint
    /** What our fee policy adds for the builder of the block; and what a transaction pays for its bytes beside gas. */
    readonly priorityFeePerGasWei: bigint
    readonly dataFeeWei?: bigint
  }
  /** The oldest lag of what was read, milliseconds, and whether all was fresh; `isOurs`: but for our own node or clock. */
  readonly freshness: Readonly<{ ok: boolean; ageMs: number; message: string; isOurs?: true }>
  readonly nativeBalanceWei: bigint
  /** Our balance of each token of the deployment, base units, by lower-case address. */
  readonly balances: Readonly<Record<Address, bigint>>
  readonly deployment: PinnedDeployment
  /** Every signer of this keeper, lower case: none of them is a rival. */
  readonly ours: readonly Address[]
  readonly inFlight: readonly InFlight[]
  readonly recent: readonly Ended[]
  readonly colleagues: readonly Colleague[]
  /** What became of what this role said before, by its ledger. */
  readonly experience: readonly Experience[]
  /** What rivals who were first gave of late; empty for a role that races nobody. */
  readonly rivals: readonly Rival[]
}

/** Everything an agent may know when it decides: no more, and nothing that is not here. */
export type Observation<Seen> = Moment & Seen

/** One thing an agent asks for: a call at the observation's block, or a URL or file that the run configuration names. */
export type Question =
  | { readonly kind: 'call'; readonly to: Address; readonly data: Hex }
  | { readonly kind: 'source'; readonly name: string; readonly timeoutMs: number }

/** What came back: a call's bytes or a source's text, when, and by which signature; or why nothing did, by a stable name. */
export type Answer =
  | { readonly ok: true; readonly text: string; readonly atMs: number; readonly signature?: string }
  | { readonly ok: false; readonly check: string; readonly message: string }

type AskedSource = Readonly<{
  name: string
  votesWith: readonly string[]
  states: (answer: Answer) => string | Stop
}>

/** Rows that a wave asks for: those of some wallets, or a whole small collection that it can do without. */
export type RowsQuestion =
  | { readonly collection: BorrowerCollection; readonly wallets: readonly Address[] }
  | { readonly collection: WatchedCollection; readonly optional: true }

/** Rows that came back. */
export type FoundCollection<C extends WatchedCollection> = {
  readonly items: Rows[C]
  /** Seconds of chain time from what they describe to our head. */
  readonly elapsedS: number
  /** Why they are too old to act on, or null. Rows of wallets count in the moment's freshness, optional ones here only. */
  readonly stale: string | null
}

/** Rows by collection. One that was not asked for, and an optional one that could not be read, is absent. */
export type FoundRows = { readonly [C in WatchedCollection]?: FoundCollection<C> }

/** What is asked side by side: at most one question for the rows of each collection. */
export type Wave = { readonly ask: readonly Question[]; readonly rows?: readonly RowsQuestion[] }

/** A wave with what its answers lead to, in their order, or what was seen in the end; `unread` is needed and was not read. */
export type Look<Seen> =
  | (Wave & { readonly next: (answers: readonly Answer[], found: FoundRows) => Look<Seen> })
  | { readonly seen: Seen; readonly unread?: string }

/** What is known before anything is read. */
export type BeforeReading = Pick<Moment, 'signer' | 'chainId' | 'deployment'>

/** Whether our arithmetic agreed with the service and the chain about something, or why not. */
export type Armed = { readonly ok: true } | { readonly ok: false; readonly message: string }

/** What there is beside the listed collections when an agent sees. */
export type Beside<Book = unknown> = {
  /** With every change that is known by now. */
  readonly book: Book
  /** To the first wave. */
  readonly answers: readonly Answer[]
  readonly found: FoundRows
  /** What the last proof of units said, by lower-case address; empty before the first. */
  readonly armed: ReadonlyMap<Address, Armed>
}

/**
 * How an agent proves that it reads units right, before it decides anything and every few minutes: what the service
 * reports is computed again for a sample, and compared at the very block that the service describes.
 */
export type Arming<Book> = {
  /** Listed whole. */
  readonly collections: readonly WatchedCollection[]
  /** Rows to recompute. */
  sample(known: BeforeReading, book: Book): readonly RowsQuestion[]
  /** Say what is armed, by lower-case address. `isOneBlock` is false where the rows are not all of one known block. */
  prove(rows: Partial<Rows>, known: BeforeReading, isOneBlock: boolean): Look<ReadonlyMap<Address, Armed>>
}

/** What would change of one declared thing; `from` is null where there is nothing yet. */
export type Change = { readonly field: string; readonly from: string | null; readonly to: string }

/** What the run configuration has to name first, in a list of `deployment`: a contract that is there, and what a vault lends. */
export type Pin = Readonly<{ list: string; name: string; address: Address; asset?: Address }>

/** What stands between one declared thing and what is there. */
export type Difference = {
  readonly subject: string
  /** Whether it brings something new, makes what is there stricter or looser, or is as declared. */
  readonly direction: 'new' | 'stricter' | 'looser' | 'none'
  readonly changes: readonly Change[]
  /** The token of amounts that no request says a token of. */
  readonly asset?: Address
  /** What is pinned before anything is done about it. */
  readonly pin?: Pin
  /** What is done about it, or why nothing is. */
  readonly outcome: Proposal | PassedOver
}

/** Files of text by their names, which are of letters, digits, dots and dashes. */
export type Evidence = Readonly<Record<string, string>>

/** A workflow that succeeded, with what it really moved: base units by token (negative left us), and gas in wei. */
export type Done = {
  readonly proposal: Proposal
  readonly realized: {
    readonly tokens: readonly { readonly token: Address; readonly assets: bigint }[]
    readonly gasWei: bigint
  }
}

/** What was really gained, in texts for people; `marked` says that nothing was sold and an exit haircut was taken. */
export type Gain = Readonly<Record<'paid' | 'received' | 'gas' | 'profit', string>> & {
  readonly profitUsdMicros: bigint
  readonly marked: boolean
}

/** A role: data and pure functions, without I/O, clock or chance: the same observation and policy give the same decision. */
export type Agent<Policy = unknown, Seen = unknown, Book = unknown> = {
  readonly role: Role
  readonly watches: Watch
  /** The only workflow types it may propose; of one that is worked by hand, those that people submit under it. */
  readonly workflowTypes: readonly WorkflowType[]
  /** A person works it: it decides nothing, so nobody waits for its decisions. */
  readonly byHand?: true
  /** It races others to liquidate: what they gave to be first is part of what it knows. */
  readonly races?: true
  /** What it has lost already decides whether it goes on: it begins nothing before that is known. */
  readonly explores?: true
  /** What its section `strategy` may say, against the tokens of the deployment, whose amounts are in it. */
  readonly policy: (assets: readonly Denomination[]) => z.ZodType<Policy>
  readonly book?: Fold<Book>
  readonly arming?: Arming<Book>
  /** The views that it calls; `guard.views` of its policy has to name each with the same types. */
  readonly views?: Abi
  /** What it asks beside the listed collections, at the newest block. `changed`: wallets that events named since the last look. */
  first?(
    known: BeforeReading,
    policy: Policy,
    previous: Seen | null,
    book: Book,
    changed: readonly Address[],
  ): Wave
  /**
   * Turn the watched rows into what `decide` needs, asking for what they do not say: at most 4 waves. Rows of optional
   * collections may be absent. `previous` is what was seen the time before.
   */
  see(
    rows: Partial<Rows>,
    moment: Moment,
    policy: Policy,
    previous: Seen | null,
    beside: Beside<Book>,
  ): Look<Seen>
  decide(seen: Moment & Seen, policy: Policy): Decision
  /** What it owes, now and next, by what it saw, and by the decision as it stood once proposals were opened or refused. */
  due?(seen: Moment & Seen, decision: Decision, policy: Policy): readonly Due[]
  /** How the rolling budgets of its strategy stand, beside those of `limits`. */
  budgets?(seen: Moment & Seen, policy: Policy): readonly OwnBudget[]
  /** What several workflows brought together, once the last of them is done; null where there is nothing to say. */
  assess?(done: readonly Done[], seen: Moment & Seen, policy: Policy): Gain | null
  /** The contracts, and the markets, that its policy names, as the deployment has to, by their places under `strategy`. */
  contracts?(policy: Policy): readonly (readonly [place: string, name: string])[]
  markets?(policy: Policy): readonly (readonly [place: string, name: string])[]
  /** The sources that its policy asks, by their names in the run configuration; with what each has one vote; and what it states. */
  sources?(policy: Policy): readonly AskedSource[]
  /** Its policy, with sources that share an upstream counted together. */
  joinSources?(policy: Policy, upstreams: Upstreams): Joined<Policy>
  /** What differs from what its policy declares, in the order in which it is applied. Absent, the role declares nothing. */
  plan?(seen: Moment & Seen, policy: Policy): readonly Difference[]
  /** What a proposal rests on, as files of text by their names: kept beside the journal before it is opened. */
  evidence?(proposal: Proposal, seen: Moment & Seen, policy: Policy): Evidence | null
  /** Compute again what such files say, from them alone: a line each, and whether it holds. */
  verify?(files: Evidence): readonly { readonly ok: boolean; readonly text: string }[]
  /** Whose money its workflows move beside the signer's: the accounts of those that the deployment pins are kept as well. */
  readonly worksFor?: 'vaults' | 'funds'
  /** What became of what it bid for others' money: the signer's own accounts do not see it. */
  recovered?(seen: Moment & Seen, policy: Policy): readonly Recovered[]
  /** What people are shown of what it sees, beside what it last decided. */
  board?(seen: Moment & Seen, decided: Decision, policy: Policy): Board
  prices?(seen: Moment & Seen): readonly PriceSeen[]
}

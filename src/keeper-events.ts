import type { Role } from './agent.ts'
import type { TerminalState, WorkflowState } from './workflow/workflow.ts'

/** A workflow reached a state. `durationMs` is the time since it reached the one before; 0 for the first. */
export type WorkflowEvent = {
  readonly type: 'workflow'
  readonly id: string
  readonly role: Role
  readonly workflowType: string
  readonly state: WorkflowState
  /** ISO 8601. */
  readonly at: string
  readonly durationMs: number
  /** For a liquidation `market:vault:borrower`, lower case. */
  readonly subject: string
  /** The decision in one sentence with its numbers; on `discovered`. */
  readonly summary?: string
  /** Why it is where it is: a stable name and a sentence; on a terminal other than `succeeded`. */
  readonly check?: string
  readonly message?: string
}

/** A workflow waits for a person: nothing is prepared until `rolekeeper approve` names it. */
export type HeldEvent = {
  readonly type: 'held'
  readonly id: string
  readonly role: Role
  readonly at: string
  /** What exactly is approved; 64 hex digits. */
  readonly hash: string
  /** Why a person is asked. */
  readonly check: string
  readonly message: string
  /** ISO 8601; then it has expired. */
  readonly expiresAt: string
}

/** A slot of a workflow in flight moved: what happens between `cleared` and `confirmed`. */
export type SlotEvent = {
  readonly type: 'slot'
  readonly id: string
  readonly role: Role
  readonly at: string
  readonly nonce: number
  readonly purpose: 'payload' | 'noop'
  /** `signed` by the KMS, `sent` to the nodes, `mined`, `reopened` by a reorg, `final`. */
  readonly state: 'signed' | 'sent' | 'mined' | 'reopened' | 'final'
  /** Milliseconds since the slot's state before; 0 where it is not known. */
  readonly durationMs: number
  /** The transaction's hash. */
  readonly hash?: string
  /** Decimal. */
  readonly blockNumber?: string
}

/** An agent decided; counts only, the journal holds the rest. */
type DecisionEvent = {
  readonly type: 'decision'
  readonly role: Role
  readonly at: string
  readonly proposals: number
  readonly passedOver: number
}

/** A market's price as the keeper read it: whole loan tokens for one whole collateral token, times 10^18. */
export type PriceEvent = {
  readonly type: 'price'
  readonly at: string
  /** The market's id, as `subject` of the other events begins. */
  readonly marketId: string
  /** For people, for example `sBTC/sUSD`. */
  readonly symbol: string
  readonly priceWad: string
}

/** A position's health factor as the keeper computed it, times 10^18. */
export type HealthEvent = {
  readonly type: 'health'
  readonly at: string
  readonly subject: string
  readonly healthFactorWad: string
}

/**
 * What a succeeded workflow really moved, from final receipts. The texts are for people and carry their unit;
 * `marked` says that the profit is priced with the exit haircut and nothing was sold.
 */
type GainEvent = {
  readonly type: 'gain'
  readonly id: string
  readonly role: Role
  readonly at: string
  readonly paid: string
  readonly received: string
  readonly gas: string
  readonly profit: string
  /** US dollars times 10^6, signed decimal. */
  readonly profitUsdMicros: string
  readonly marked: boolean
}

/** Something that a person should look at now. */
type AlarmEvent = {
  readonly type: 'alarm'
  readonly at: string
  readonly code: string
  readonly message: string
  readonly fix: string
}

/** The keeper watches and decides from here on. */
type ReadyEvent = {
  readonly type: 'ready'
  readonly at: string
  readonly environment: string
  readonly chainId: number
  readonly directory: string
  /** Base URL of `/metrics`, `/healthz` and `/readyz`. */
  readonly opsUrl: string
  readonly signers: Readonly<Record<Role, string>>
  /** Workflows taken up from the journal. */
  readonly resumed: number
}

/** How many workflows of a role ended so in this run; `parked` are still in flight and resume with the next. */
export type WorkflowCounts = Readonly<Record<TerminalState | 'parked', number>>

/** The run's end. */
export type SummaryEvent = {
  readonly type: 'summary'
  readonly at: string
  readonly durationMs: number
  readonly workflows: Readonly<Record<Role, WorkflowCounts>>
  /** Sum of the gains of this run: US dollars times 10^6, signed decimal, marked. */
  readonly profitUsdMicros: string
}

/**
 * What the keeper tells whoever runs it: the timeline draws it, `--json` prints it one a line. Plain JSON; times are
 * ISO 8601, amounts decimal strings.
 */
export type KeeperEvent =
  | WorkflowEvent
  | HeldEvent
  | SlotEvent
  | DecisionEvent
  | PriceEvent
  | HealthEvent
  | GainEvent
  | AlarmEvent
  | ReadyEvent
  | SummaryEvent

import type { RolekeeperError } from '../errors.ts'
import type { Role } from '../service/contract/roles.ts'
import type { Slot } from '../workflow/slot.ts'
import { isTerminal, type TerminalState, type Workflow, type WorkflowState } from '../workflow/workflow.ts'
import type { ControlEvent } from './control-event.ts'
import type { Facet } from './facet.ts'
import type { MonitorEvent } from './monitor-event.ts'
import type { SeatEvent } from './seat-event.ts'

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
  /** The facet that is failing, where one is: its own event came before. */
  readonly facet?: string
}

/** A facet of the keeper's health is otherwise than it was, and has been for two seconds. */
export type FacetEvent = Omit<Facet, 'sinceMs'> & { readonly type: 'facet'; readonly at: string }

/** The keeper watches and decides from here on. */
type ReadyEvent = {
  readonly type: 'ready'
  readonly at: string
  readonly environment: string
  readonly chainId: number
  readonly directory: string
  /** Base URL of `/metrics`, `/healthz` and `/readyz`. */
  readonly opsUrl: string
  /** Of the console, where there is one; it takes a link to be signed in. */
  readonly consoleUrl?: string
  readonly signers: readonly { readonly role: Role; readonly address: string }[]
  /** Workflows taken up from the journal. */
  readonly resumed: number
}

/** A role went down, for a reason, or came up after the keeper was ready. */
type RoleEvent = {
  readonly type: 'role'
  readonly at: string
  readonly role: Role
  readonly signer: string
  readonly state: 'up' | 'down'
  /** Of a role that is down: a stable name, a sentence, and what to do. */
  readonly check?: string
  readonly message?: string
  readonly fix?: string
}

/** How many workflows of a role ended so in this run; `parked` are still in flight and resume with the next. */
export type WorkflowCounts = Readonly<Record<TerminalState | 'parked', number>>

/** The run's end. */
export type SummaryEvent = {
  readonly type: 'summary'
  readonly at: string
  readonly durationMs: number
  readonly workflows: Readonly<Record<Role, WorkflowCounts>>
  /**
   * What each role's accounts say of this run, as far as it is final: US dollars times 10^6, signed decimals. Null where they could
   * not be added up before the end.
   */
  readonly money: Readonly<Record<Role, RoleMoney>> | null
}

/**
 * As `pnl` counts it. Said: what was expected of what succeeded; where the journal is with others it is not there. Realised:
 * what moved, at contracts too, less gas. Marked: what prices did to what was held.
 */
type RoleMoney = {
  readonly saidUsdMicros?: string
  readonly realizedUsdMicros: string
  readonly markedUsdMicros: string
  /** In what is realised already. */
  readonly gasUsdMicros: string
}

/** A role works by a narrower policy, which was saved while it worked. */
type PolicyEvent = {
  readonly type: 'policy'
  readonly at: string
  readonly role: Role
  /** Names its rules; 64 hex digits. */
  readonly ruleset: string
}

/**
 * What the keeper reports: the timeline draws it, `--json` prints it one a line. Plain JSON; times are
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
  | FacetEvent
  | ReadyEvent
  | RoleEvent
  | SeatEvent
  | ControlEvent
  | MonitorEvent
  | PolicyEvent
  | SummaryEvent

const iso = (ms: number) => new Date(ms).toISOString()

/** A refusal is kept as it was made: an event has only its name and sentence. */
const whyOf = ({ note }: Workflow) => (note === undefined ? {} : { check: note.check, message: note.message })

/** Say that a workflow reached a state. Pure. */
export const workflowEvent = (after: Workflow, before: Workflow | null): KeeperEvent => ({
  type: 'workflow',
  id: after.id,
  role: after.role,
  workflowType: after.proposal.workflowType,
  state: after.state,
  at: iso(after.updatedAtMs),
  durationMs: before === null ? 0 : after.updatedAtMs - before.updatedAtMs,
  subject: after.proposal.subject,
  ...(before === null ? { summary: after.proposal.summary } : {}),
  ...(isTerminal(after.state) ? whyOf(after) : {}),
})

/** Say that a workflow began to wait for a person; null when it did not. Pure. */
export function heldEvent(after: Workflow, before: Workflow | null, nowMs: number): HeldEvent | null {
  const { hold } = after
  if (hold === undefined || hold.hash === before?.hold?.hash) return null
  const { check, message, hash, untilMs } = hold
  const expiresAt = iso(untilMs)
  return { type: 'held', id: after.id, role: after.role, at: iso(nowMs), hash, check, message, expiresAt }
}

/** Say that a role went down, or with a null `reason` that it came up. Pure. */
export function roleEvent(
  role: Role,
  signer: string,
  reason: RolekeeperError | null,
  nowMs: number,
): KeeperEvent {
  const event = { type: 'role' as const, at: iso(nowMs), role, signer }
  if (reason === null) return { ...event, state: 'up' }
  const { code: check, shortMessage: message, fix } = reason
  return { ...event, state: 'down', check, message, ...(fix === undefined ? {} : { fix }) }
}

const slotState = (slot: Slot): SlotEvent['state'] | null => {
  if (slot.state !== 'open') return slot.state
  const last = slot.attempts.at(-1)
  return last === undefined || last.state === 'ordered' ? null : last.state
}

/** Say what moved among the slots of a workflow in flight. Pure. */
export function slotEvents(after: Workflow, before: Workflow): readonly SlotEvent[] {
  return after.slots.flatMap((slot): SlotEvent[] => {
    const known = before.slots.find((each) => each.index === slot.index)
    if (known === slot) return []
    const wasMined = known !== undefined && known.state !== 'open' && slot.state === 'open'
    const state = wasMined ? 'reopened' : slotState(slot)
    const attempt = slot.attempts.find((each) => each.hash === slot.inclusion?.hash) ?? slot.attempts.at(-1)
    const sameAsBefore =
      known !== undefined && slotState(known) === state && known.attempts.length === slot.attempts.length
    if (state === null || attempt === undefined || sameAsBefore) return []
    return [
      {
        type: 'slot',
        id: after.id,
        role: after.role,
        at: iso(after.updatedAtMs),
        nonce: slot.nonce,
        purpose: attempt.purpose,
        state,
        durationMs: after.updatedAtMs - before.updatedAtMs,
        ...(attempt.hash === undefined ? {} : { hash: attempt.hash }),
        ...(slot.inclusion === undefined ? {} : { blockNumber: String(slot.inclusion.blockNumber) }),
      },
    ]
  })
}

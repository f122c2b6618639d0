import type { Hex } from 'viem'
import { invariant } from '../errors.ts'
import type { CanonicalPostcondition, PreparedWorkflow } from '../service/contract/prepared-workflow.ts'
import type { Role } from '../service/contract/roles.ts'
import type { ApprovalView } from './approval-view.ts'
import type { Holding } from './holding.ts'
import type { Proposal } from './proposal.ts'
import type { Slot, TokenChange } from './slot.ts'
import type { Uses } from './uses.ts'

/** The states a workflow passes, in order. */
export const PROGRESS_STATES = [
  'discovered',
  'requested',
  'prepared',
  'attested',
  'cleared',
  'in_flight',
  'confirmed',
] as const

/** The states a workflow ends in. */
export const TERMINAL_STATES = [
  'succeeded',
  'refused',
  'expired',
  'reverted',
  'superseded',
  'partial',
  'cancelled',
  'unconfirmed',
  'quarantined',
  'shadowed',
] as const
type ProgressState = (typeof PROGRESS_STATES)[number]
export type TerminalState = (typeof TERMINAL_STATES)[number]
export type WorkflowState = ProgressState | TerminalState

const terminal: ReadonlySet<string> = new Set(TERMINAL_STATES)

/** Whether nothing more happens to a workflow. Pure. */
export const isTerminal = (state: WorkflowState): state is TerminalState => terminal.has(state)

/**
 * The request as it goes out: key and exact body bytes, recorded before the POST. Where preparing is the effect, `sentAtMs` is
 * recorded before it too: without it nothing was saved, with it something may have been.
 */
type PrepareRequest = {
  readonly idempotencyKey: string
  readonly body: string
  readonly sentAtMs?: number
}

/** The service's answer, frozen as it came, with the hash that binds it. */
export type FrozenAnswer = {
  readonly bytesSha256: string
  readonly answer: PreparedWorkflow
  readonly receivedAtMs: number
}

/**
 * The EIP-712 digest that a call of the answer carries a signature over, recorded before the key is asked: a workflow
 * signs no other. `signature` is 65 bytes, r then s then v.
 */
export type Attestation = { readonly digest: Hex; readonly signature?: Hex }

/** What the guard cleared: it holds until `block` is too old. */
export type Clearance = {
  readonly rulesetHash: string
  readonly blockNumber: bigint
  readonly blockHash: Hex
  /** The height that was final then: nothing that is ordered under this clearance can be mined at or below it. */
  readonly finalizedNumber?: bigint
  readonly atMs: number
  /** Unix milliseconds after which the payloads must not be sent for the first time. */
  readonly notAfterMs: number
  readonly payloads: readonly Pick<Slot, 'payload' | 'predicted'>[]
  /** What all payloads together do to the signer, by simulation. */
  readonly predictedTokens: readonly TokenChange[]
  readonly allowances: readonly StandingAllowance[]
  /** Absent in a journal of an earlier release. */
  readonly uses?: Uses
  /** What its gas may cost at most, wei, by the guard's own sum of what it brings; absent where it makes none. */
  readonly gasWeiMax?: bigint
  /** Absent where nothing of it counts over several keys. */
  readonly holdings?: readonly Holding[]
}

/** An allowance that stands if the first payload lands and a later one does not. */
export type StandingAllowance = { readonly token: Hex; readonly spender: Hex; readonly assets: bigint }

/** Why a workflow is where it is, for people. */
export type Note = { readonly check: string; readonly message: string }

/** A person is asked first: nothing is prepared until what `hash` names is approved, at the latest at `untilMs`. */
export type Hold = Note & {
  /** Of role, chain, signer, proposal, rules and what was shown: nothing else is approved by it. */
  readonly hash: string
  /** Names the rules by which it is judged, and those by which a person is asked. */
  readonly rules: string
  readonly shown: ApprovalView
  readonly untilMs: number
  /** Who has approved it so far, and what proves it. */
  readonly approvals: readonly {
    readonly by: string
    readonly identity: {
      readonly user: string
      readonly name?: string | undefined
      readonly signature?: string | undefined
    }
    readonly atMs: number
  }[]
  /** When the last of those who were needed did. */
  readonly approvedAtMs?: number
}

/**
 * How what stopped short of the signature compares with what then happened. `won`: one block later it would still have gone through, so nobody was in its way. `contested`: it went in just that
 * block, to somebody as fast as we. `missed`: it was looked at later, and gone. `unscored`: nobody competes for it.
 */
export type ShadowVerdict = 'won' | 'contested' | 'missed' | 'unscored'

/** What a workflow in shadow came to. */
type Shadowed = {
  /** Each call as the guard read it, for people. */
  readonly calls: readonly string[]
  /** Why a person would have been asked first; null where none would. */
  readonly ask: Note | null
  readonly outcome?: {
    readonly verdict: ShadowVerdict
    /** The block that the verdict is about. */
    readonly blockNumber: bigint
    /** What the gas would have cost in the block that it was scored on. */
    readonly gasWei: bigint
    /** Of a bid: whether it would have won its lot, once that is decided. */
    readonly lot?: 'undecided' | 'won' | 'lost'
    /** What would have come and gone by the chain, and when; absent where that is not known, or not decided. */
    readonly came?: {
      readonly assets: readonly TokenFlow[]
      /** What vaults that the role works for would have lent, or taken back, and what each market then pays. */
      readonly lent?: readonly LentMore[]
      readonly atMs: number
    }
    /** What that is worth an hour later, less gas; absent before. */
    readonly mark?: Mark
  }
}

/** What comes of a token, or in wei where it is null; negative goes. */
export type TokenFlow = { readonly token: Hex | null; readonly assets: bigint }

/** What is lent to a market more than before, negative taken back, and the market's rate, a wad a second. */
export type LentMore = TokenFlow & { readonly market: Hex; readonly ratePerSecondWad: bigint }

/** What something was worth by the prices of a final block: millionths of a US dollar, those for a whole token or coin. */
export type Mark = {
  readonly usdMicros: bigint
  readonly blockNumber: bigint
  readonly atMs: number
  readonly prices: readonly { readonly token: Hex | null; readonly usdMicros: bigint }[]
}

/** Whether what ended in shadow is to be marked yet: its lot is open, or the hour is not over. Pure. */
export function isUnmarked({ shadowed }: Pick<Workflow, 'shadowed'>): boolean {
  const { lot, came, mark } = shadowed?.outcome ?? {}
  return lot === 'undecided' || (came !== undefined && mark === undefined)
}

/** The check that a rejected hold ends with: such an opportunity is not opened again. */
export const REJECTED = 'approval_rejected'

/** One opportunity, carried to its end. The journal's record; every field is what we did or read. */
export type Workflow = {
  readonly id: string
  readonly role: Role
  readonly chainId: number
  readonly signer: Hex
  readonly opportunity: string
  readonly round: number
  /** Rounds before this one that claimed a nonce; absent: none did. */
  readonly claimedRounds?: number
  /** When the first of the rounds in a row that ended without a nonce began; absent: none went before. */
  readonly refusedSinceMs?: number
  readonly proposal: Proposal
  readonly state: WorkflowState
  /** Compare-and-set counter; one more with each write. */
  readonly version: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Steps that threw an unexpected error in a row; the third quarantines. */
  readonly strikes: number
  /** Set at the third strike in a row while it holds nonces: its payloads are closed, and it ends `quarantined`. */
  readonly quarantined?: { readonly atMs: number; readonly note: Note }
  readonly hold?: Hold
  /** It stops short of the signature; no stage that it passes knows a signer. */
  readonly shadow?: true
  readonly shadowed?: Shadowed
  readonly request?: PrepareRequest
  readonly prepared?: FrozenAnswer
  readonly attestation?: Attestation
  readonly clearance?: Clearance
  readonly slots: readonly Slot[]
  /** What really happened to the signer's tokens, from the final receipts. */
  readonly realized?: {
    readonly tokens: readonly TokenChange[]
    readonly gasWei: bigint
    readonly atMs: number
    /** The claim that a liquidation opened: its settlement finds the liquidation by it. */
    readonly claimId?: bigint
  }
  /** Postconditions to see at an indexed block at or after this one. */
  readonly awaiting?: {
    readonly blockNumber: bigint
    readonly postconditions: readonly CanonicalPostcondition[]
    readonly sinceMs: number
  }
  readonly note?: Note
}

const NEXT: Readonly<Record<ProgressState, readonly WorkflowState[]>> = {
  // What is our own is prepared by nobody.
  discovered: ['requested', 'prepared', 'refused', 'cancelled', 'expired', 'quarantined'],
  requested: ['prepared', 'refused', 'cancelled', 'expired', 'quarantined'],
  // A typed-data report is shadowed before its signature, everything else before its nonces. What is done by preparing it has
  // nothing to sign: the service is asked to show it.
  prepared: ['attested', 'confirmed', 'refused', 'cancelled', 'expired', 'quarantined', 'shadowed'],
  attested: ['cleared', 'refused', 'cancelled', 'expired', 'quarantined'],
  // A claim that lost its race goes back to be cleared again on fresh reads: nothing was claimed.
  cleared: ['in_flight', 'attested', 'refused', 'cancelled', 'expired', 'quarantined', 'shadowed'],
  in_flight: ['confirmed', 'reverted', 'superseded', 'partial', 'cancelled', 'expired', 'quarantined'],
  confirmed: ['in_flight', 'succeeded', 'unconfirmed', 'quarantined'],
}

/** Whether a workflow waits for a person. Pure. */
export const isHeld = ({ state, hold }: Pick<Workflow, 'state' | 'hold'>): boolean =>
  state === 'discovered' && hold !== undefined && hold.approvedAtMs === undefined

/** Whether a workflow may move so. Pure; the full table is held by a test. */
export const mayMove = (from: WorkflowState, to: WorkflowState): boolean =>
  !isTerminal(from) && NEXT[from].includes(to)

/** Move a workflow to its next state with what was learned. Throws BrokenInvariant on an illegal move. Pure. */
export function move(
  workflow: Workflow,
  state: WorkflowState,
  nowMs: number,
  learned: Partial<Omit<Workflow, 'id' | 'state' | 'version'>> = {},
): Workflow {
  invariant(
    mayMove(workflow.state, state),
    `workflow ${workflow.id}: ${workflow.state} → ${state} is not a move`,
  )
  invariant(
    !isTerminal(state) || workflow.slots.every((slot) => slot.state === 'final'),
    `workflow ${workflow.id}: ${state} would leave a claimed nonce without an end`,
  )
  const { note, ...rest } = workflow
  // Why it was once thought to fail is no part of a success.
  const known = note === undefined || state === 'succeeded' ? rest : { ...rest, note }
  return { ...known, ...learned, state, updatedAtMs: nowMs, strikes: 0 }
}

import type { Address } from 'viem'
import type { WorkflowType } from '../service/contract/workflow-types.ts'

/** A value of a workflow's input, as JSON has it. */
export type InputValue =
  | string
  | number
  | boolean
  | readonly InputValue[]
  | { readonly [name: string]: InputValue }

/** A workflow's input, as the service takes it; amounts are decimal strings. */
export type ProposalInput = Readonly<Record<string, InputValue>>

/** Numbers and words that explain a decision; amounts in base units as decimal strings. */
export type Reason = Readonly<Record<string, string | number | boolean>>

/** What is said to come, before experience changes anything of it, and what the error is a part of. */
export type ExpectedGain = {
  /** Names that tell such things apart, the broadest first: `bid`, `asset:sBTC`, `seller:0x…`. */
  readonly of: readonly string[]
  readonly worthUsdMicros: bigint
  readonly markUsdMicros: bigint
  /** What comes where it is won; without it, or what is earned, only what a fund sells again is learned of. */
  readonly brings?: { readonly token: Address; readonly assets: bigint }
  /** Or what a vault earns by it in so long, more than standing still: its own accounts say that. */
  readonly earns?: { readonly vault: Address; readonly forS: number }
}

/** One thing an agent wants done. Pure data; amounts are base units. */
export type Proposal = {
  readonly workflowType: WorkflowType
  /** The part of the role's strategy that asks, for example `liquidate` or `settle`. */
  readonly kind: string
  /** What it is about: for a liquidation `market:vault:borrower`, lower case. */
  readonly subject: string
  /** The state by value that makes this opportunity, never a clock, block number or transaction hash. */
  readonly occurrence: string
  readonly input: ProposalInput
  /** What it may cost at most: what leaves us, and its worth for the budgets. */
  readonly exposure: { readonly token: Address | null; readonly assets: bigint; readonly usdMicros: bigint }
  /** What it is expected to bring, less all costs; absent for a duty that brings nothing itself. */
  readonly gainUsdMicros?: bigint
  /** What it brings, or saves, before its gas: of that its gas may cost a share. Absent for a duty that brings nothing. */
  readonly worthUsdMicros?: bigint
  /** What its ledger compares with what comes of it; absent where nothing is learned from it. */
  readonly said?: ExpectedGain
  /** How far it lies from what was done last, for `approval.beyond`; absent where nothing is compared. */
  readonly deviationBps?: number
  /** It takes a protection away: a person is asked first, whatever `approval` says. */
  readonly loosens?: true
  /** Another may undo it, after which it is due again in the very same figures: a day after its end it may be done anew. */
  readonly comesBack?: true
  /** Others are as fast: it goes before what waits for the signer, and what is in its way is bumped. */
  readonly urgent?: true
  /** What it gives to be first, beside what others tip: wei for one unit of gas, and the part of what it brings that is. */
  readonly offer?: { readonly tipWei: bigint; readonly shareBps: number }
  /** The position that it bids for, lower case: no two roles of one keeper bid on the same. */
  readonly lot?: string
  /** The person who submitted it; absent where the role's agent proposes it. */
  readonly askedBy?: string
  /** One sentence with the numbers, for the timeline. */
  readonly summary: string
  readonly reason: Reason
}

/** A member of an input that is text; undefined when it is not there or something else. Pure. */
export const inputText = (input: ProposalInput, name: string): string | undefined => {
  const value = input[name]
  return typeof value === 'string' ? value : undefined
}

import { type AbiFunction, type Address, zeroAddress } from 'viem'
import type { z } from 'zod'
import { invariant, type Refusal, refuse } from '../../errors.ts'
import type { Revalidation } from '../../service/contract/assumptions.ts'
import type { PinnedMarket } from '../../service/contract/deployment.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import type { Denomination } from '../../units.ts'
import type { Holding } from '../../workflow/holding.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import type { TokenChange } from '../../workflow/slot.ts'
import type { ClearedCall } from '../calls/call.ts'
import type { Subject } from '../policy/references.ts'
import type { SentAtOnce } from '../policy/sent-at-once.ts'
import { asAddress, asUint } from '../policy/values.ts'
import type { Reads } from '../reads/views.ts'

/** What a judgement is about, and where it asks the chain. */
export type JudgedCase = {
  readonly subject: Subject
  readonly proposal: Proposal
  /** The calls that are judged, decoded: what they say counts, and what the request says stands beside it. */
  readonly calls: readonly ClearedCall[]
  /** Reads of the state that the bundle meets. */
  readonly before: Reads
  /** Reads of the state that the simulated bundle leaves; they are filled for `checkOutcome` alone. */
  readonly after: Reads
}

/** What follows from the reads that a judgement asked for, once they are filled. */
export type Judgement = {
  /** Refuse unless the world is as the proposal needs it, at a block's time in Unix seconds. */
  readonly checkState: (timestampS: number) => Refusal | null
  /** Refuse unless what the simulation showed is worth it. */
  readonly checkOutcome: (shown: {
    /** Of the block simulated, Unix seconds. */
    readonly timestampS: number
    /** What the gas used would cost at the fee offered. */
    readonly gasWei: bigint
    /** What the bundle does to the signer's balance of a token, base units. */
    readonly changeOf: (token: Address) => bigint
  }) => Refusal | null
  /** What its gas may cost at most, wei, by what it brings at a block's time; absent where that is not judged. */
  readonly gasWeiMax?: (timestampS: number) => bigint
  /** The sums that `checkOutcome` passed and that other keys share; absent: none. */
  readonly holdings?: () => readonly Holding[]
}

/** What an act sets of what is there: `was` is null where nothing is yet. Figures are base units, basis points and seconds. */
export type Compared = {
  readonly fields: readonly { readonly name: string; readonly was: string | null; readonly wanted: string }[]
  /** What amounts of it are of. */
  readonly asset?: Address
}

/** Our own judgement of a workflow type. Every contract that it reads must be pinned in the deployment. */
export type SanityCheck = {
  /** The reads it makes: `guard.views` of the policy must list them with these types. */
  readonly views: readonly AbiFunction[]
  /** Members of the input that it reads, by path: the rules must make a call carry each, `relies` in policy/relied.ts. */
  readonly relies: readonly string[]
  /** The member of the input that names the contract which it reads: the last call goes there, and nowhere else. */
  readonly callee?: string
  /** The revalidations that `checkState` covers, beside time and expiry. */
  readonly revalidations: readonly Revalidation[]
  /** What it may lose at most, where what leaves is paid for in the same call: so much counts. Absent: all that leaves. */
  readonly loses?: (subject: Omit<Subject, 'deadlineS'>) => TokenChange
  /** What leaves counts as, where it is shares, of which the policy states no price; the judgement holds it to the chain's. */
  readonly counts?: (subject: Omit<Subject, 'deadlineS'>) => {
    readonly token: Address | null
    readonly assets: bigint
  }
  /** Ask for what is to be read. */
  readonly judge: (about: JudgedCase) => Judgement
  /** Ask for what it would change, for a person to see; null where a read has no answer. Absent: it sets nothing. */
  readonly compare?: (about: JudgedCase) => () => Compared | null
}

/**
 * A setting of the strategy that a limit bounds, both by their names in the file: one that is past it asks for what is
 * always refused. `leaves`: what it takes of the whole leaves at least that; `same`: it has to be said there, and no otherwise.
 */
export type StrategyBound = {
  readonly of: string
  readonly is: 'atMost' | 'atLeast' | 'leaves' | 'same'
  /** From the top of the policy: `guard.sanity.priceAgeMax`; `guard.sanity.inventoryMax.*` has one of each token. */
  readonly to: string
  /** What counts where the file does not say one of them; absent where both have to be said. */
  readonly otherwise?: { readonly of: string; readonly to: string }
  /** Whether the limit is there for more than that: gas beside the tip, a sale, what people submit by hand. */
  readonly coversMore?: true
}

/** A role's own judgements, and the schema of the limits that they keep: `guard.sanity` of its policy. */
export type RoleSanity<Limits = unknown> = {
  /** Amounts of these tokens are understood in it. */
  limits(assets: readonly Denomination[]): z.ZodType<Limits>
  /** The judgements under these limits, by workflow type. Pure. */
  checks(limits: Limits): readonly (readonly [WorkflowType, SanityCheck])[]
  /** The contracts that these limits name, as the deployment has to pin them, by their places under `guard.sanity`. */
  contracts?(limits: Limits): readonly (readonly [place: string, name: string])[]
  /** The most that one workflow sends to whom these limits name, where a lie keeps it. */
  sends?(limits: Limits): readonly SentAtOnce[]
  /** How the strategy and these limits, or those of what is moved, go together. */
  readonly strategy?: readonly StrategyBound[]
}

/** The judgement of a type without one of its own: rules, effects and simulation decide alone. */
export const PLAIN: SanityCheck = {
  views: [],
  relies: [],
  revalidations: ['intent_not_expired'],
  judge: () => ({ checkState: () => null, checkOutcome: () => null }),
}

/** The market that a request of a liquidator names: it was checked before that it is pinned. Pure. */
export function marketOf({ market }: Pick<Subject, 'market'>): PinnedMarket {
  invariant(market !== null, 'what is judged here names its market')
  return market
}

/** The vault of a request: it was checked before that it is pinned. Pure. */
export function vaultOf({ subject: { vault } }: JudgedCase): Address {
  invariant(vault !== null, 'what is judged here names its vault')
  return vault.address
}

/** A figure of the request; 0 where it names none. Pure. */
export const figure = ({ subject }: JudgedCase, member: string): bigint => asUint(subject.input[member]) ?? 0n

/** An address of the request; the zero address where it names none. Pure. */
export const account = ({ subject }: JudgedCase, member: string): Address =>
  asAddress(subject.input[member]) ?? zeroAddress

/** The keys whose holdings count in the policy's limits, the signer's own first. Pure. */
export const keysOf = ({ self, sharing = [] }: Subject): readonly Address[] => [
  ...new Set([self, ...sharing]),
]

/** Whether somebody is one of us: our signers and our funds neither sell to each other nor outbid each other. Pure. */
export const isOurs = (who: Address, { self, ours = [], deployment }: Subject): boolean =>
  [self, ...ours, ...deployment.funds.map(({ address }) => address)].includes(who)

/** Refuse because a read has no answer. Pure. */
export const unread = (what: string): Refusal =>
  refuse('read_failed', `The chain did not answer for ${what}, so nothing is signed.`)

import type { Address } from 'viem'
import type { z } from 'zod'
import type { WorkflowType } from './service/workflow-types.ts'

/** The one spelling of each role: in folders, YAML, metric labels and queue names. */
export const ROLES = ['liquidator', 'allocator', 'nav-reporter', 'asset-manager', 'rfq-bidder'] as const
export type Role = (typeof ROLES)[number]

/** A collection of the service that an agent reads. */
export type WatchedCollection =
  | 'markets'
  | 'credit-facilities'
  | 'positions'
  | 'liquidation-recovery'
  | 'eligibility'
  | 'assets'

/** What wakes an agent: events that name a collection's rows, and a full sweep at least this often. */
export type Watch = {
  readonly collections: readonly WatchedCollection[]
  /** Event types that are hints to look again. */
  readonly eventTypes: readonly string[]
}

/** Numbers and words that explain a decision; amounts in base units as decimal strings. */
export type Reason = Readonly<Record<string, string | number | boolean>>

/** One thing an agent wants done. Pure data; amounts are base units. */
export type Proposal = {
  readonly workflowType: WorkflowType
  /** The part of the role's strategy that asks, for example `liquidate` or `settle`. */
  readonly kind: string
  /** What it is about: for a liquidation `market:vault:borrower`, lower case. */
  readonly subject: string
  /** The state by value that makes this opportunity, never a clock, block number or transaction hash. */
  readonly occurrence: string
  /** The workflow's input, as the service takes it. */
  readonly input: Readonly<Record<string, string>>
  /** What it may cost at most: what leaves us, and its worth for the budgets. */
  readonly exposure: { readonly token: Address | null; readonly assets: bigint; readonly usdMicros: bigint }
  /** One sentence with the numbers, for the timeline. */
  readonly summary: string
  readonly reason: Reason
}

/** One subject that was looked at and left alone, and why. `near` is how close it came, 1 being the threshold. */
export type PassedOver = {
  readonly subject: string
  /** A stable name of the rule that stopped it, for example `health_above_one`. */
  readonly check: string
  readonly message: string
  readonly reason: Reason
  readonly near?: number
}

/** What an agent wants, and what it left alone. Both are kept, and `explain` prints them. */
export type Decision = { readonly proposals: readonly Proposal[]; readonly passedOver: readonly PassedOver[] }

/** A workflow of ours that is not terminal yet, as far as a decision needs it. */
export type InFlight = {
  readonly workflowId: string
  readonly workflowType: WorkflowType
  readonly subject: string
  readonly input: Readonly<Record<string, string>>
  readonly exposure: Proposal['exposure']
}

/** A market as the service shows it, beside our own reading of its oracle. Null means the service did not say. */
export type MarketSeen = {
  readonly id: string
  readonly address: Address
  readonly symbol: string | null
  readonly loanAsset: Address | null
  readonly loanDecimals: number | null
  readonly loanSymbol: string | null
  /** US dollars for one whole loan token, times 10^6. */
  readonly loanPriceUsdMicros: bigint | null
  readonly collateralAsset: Address | null
  readonly collateralDecimals: number | null
  readonly collateralSymbol: string | null
  readonly oracleState: string | null
  readonly marketRegimeState: string | null
  readonly marketLive: boolean | null
  readonly paused: boolean | null
  readonly collateralGateEnabled: boolean | null
  readonly liquidationThresholdBps: number | null
  readonly closeFactorBps: number | null
  readonly liquidationBonusBps: number | null
  /** The service's price: whole loan tokens for one whole collateral token, times 10^18. */
  readonly priceWad: bigint | null
  /** Our own reading of the market's oracle at `chain.blockNumber`; null when the read failed. */
  readonly oracle: { readonly priceWad: bigint; readonly sourceAsOfS: number; readonly state: number } | null
  /** Whether our arithmetic agreed with the service and the chain on a sample of this market. */
  readonly armed: { readonly ok: true } | { readonly ok: false; readonly message: string }
  /** Whether our signer is authorised here; null when no gate applies or it is not known. */
  readonly eligible: boolean | null
  /** Why the list behind `eligible` is too old to act on; null when it is fresh, or was not read. */
  readonly eligibilityStale: string | null
}

/** A borrower's debt to one vault in one market. */
export type FacilitySeen = {
  readonly marketId: string
  readonly marketAddress: Address
  readonly vaultAddress: Address
  readonly borrower: Address
  /** Debt to this vault now, base units of the loan asset. */
  readonly debtAssets: bigint | null
  /** Debt to all vaults of the market: health is judged on it. */
  readonly positionDebtAssets: bigint | null
  /** Collateral of the borrower in the market, shared by its debts to all vaults. */
  readonly collateralAssets: bigint | null
  readonly debtShares: bigint | null
  readonly serviceHealthFactorWad: bigint | null
  readonly monitorState: string | null
  /** The service's opinion; null when it lists no recovery item. */
  readonly recovery: {
    readonly liquidatable: boolean | null
    readonly executable: boolean | null
    readonly blockedReason: string | null
  } | null
}

/** A liquidation claim of ours that is not settled. `settleableAtS` is chain time in seconds. */
export type ClaimSeen = {
  readonly marketAddress: Address
  readonly claimId: bigint
  readonly collateralAsset: Address | null
  readonly collateralAssets: bigint
  readonly settleableAtS: number
}

/** Everything an agent may know when it decides: no more, and nothing that is not here. */
export type Observation<Book = undefined> = {
  readonly nowMs: number
  readonly signer: Address
  readonly chainId: number
  /** Our node's head. */
  readonly chain: {
    readonly blockNumber: bigint
    readonly timestampS: number
    readonly baseFeePerGasWei: bigint
    /** What our fee policy adds for whoever builds the block. */
    readonly priorityFeePerGasWei: bigint
  }
  /** The oldest of the freshness lags of what was read, milliseconds, and whether every read was fresh. */
  readonly freshness: { readonly ok: boolean; readonly ageMs: number; readonly message: string }
  readonly nativeBalanceWei: bigint
  /** Our balance of each token of the deployment, base units, by lower-case address. */
  readonly balances: Readonly<Record<Address, bigint>>
  readonly markets: readonly MarketSeen[]
  readonly facilities: readonly FacilitySeen[]
  readonly claims: readonly ClaimSeen[]
  readonly inFlight: readonly InFlight[]
  readonly book: Book
}

/** A workflow that succeeded, with what it really moved: base units by token (negative left us), and gas in wei. */
export type Done = {
  readonly proposal: Proposal
  readonly realized: {
    readonly tokens: readonly { readonly token: Address; readonly assets: bigint }[]
    readonly gasWei: bigint
  }
}

/** What was really gained, in texts for people; `marked` says that nothing was sold and an exit haircut was taken. */
export type Gain = {
  readonly paid: string
  readonly received: string
  readonly gas: string
  readonly profit: string
  readonly profitUsdMicros: bigint
  readonly marked: boolean
}

/**
 * A role: data and pure functions. It does no I/O, reads no clock and draws no random number; the same observation
 * and policy give the same decision.
 */
export type Agent<Policy, Book = undefined> = {
  readonly role: Role
  readonly watches: Watch
  /** The only workflow types it may propose. */
  readonly workflowTypes: readonly WorkflowType[]
  readonly policy: z.ZodType<Policy>
  readonly decide: (seen: Observation<Book>, policy: Policy) => Decision
  /** What several workflows brought together, once the last of them is done; null where there is nothing to say. */
  readonly assess: (done: readonly Done[], seen: Observation<Book>, policy: Policy) => Gain | null
}

import type { Address, Hex } from 'viem'
import type { z } from 'zod'
import type { RfqTerms } from '../src/service/contract/assumptions.ts'
import type { AllocationIntelligenceResource } from '../src/service/contract/directory-resources.ts'
import type { FundResource, NavReportResource } from '../src/service/contract/fund-resources.ts'
import type {
  AssetResource,
  CreditFacilityResource,
  EligibilityResource,
  LiquidationRecoveryResource,
  MarketResource,
  PositionResource,
} from '../src/service/contract/resources.ts'
import type { Role } from '../src/service/contract/roles.ts'
import type {
  AcquisitionResource,
  AuctionResource,
  RfqResource,
} from '../src/service/contract/trade-resources.ts'
import type { VaultResource } from '../src/service/contract/vault-resources.ts'
import type { WorkflowType } from '../src/service/contract/workflow-types.ts'
import type { Proposal, ProposalInput, Reason } from '../src/workflow/proposal.ts'

/** What the keeper does already, as a look is told. */
export type Around = Pick<Moment, 'inFlight' | 'recent' | 'colleagues'>

/** The rows of each collection that an agent can watch. */
export type Rows = {
  readonly markets: readonly MarketResource[]
  readonly 'credit-facilities': readonly CreditFacilityResource[]
  readonly positions: readonly PositionResource[]
  readonly 'liquidation-recovery': readonly LiquidationRecoveryResource[]
  /** Takes a wallet session. */
  readonly eligibility: readonly EligibilityResource[]
  readonly assets: readonly AssetResource[]
  readonly vaults: readonly VaultResource[]
  /** Takes a wallet session. */
  readonly 'allocation-intelligence': readonly AllocationIntelligenceResource[]
  readonly funds: readonly FundResource[]
  readonly 'nav-reports': readonly NavReportResource[]
  /** Each with how it is traded, by the run configuration's word: the service does not say. */
  readonly rfqs: readonly (RfqResource & { readonly terms: RfqTerms })[]
  readonly auctions: readonly AuctionResource[]
  readonly acquisitions: readonly AcquisitionResource[]
}

/** A collection of the service that an agent reads. */
export type WatchedCollection = keyof Rows

/** What wakes an agent: events that name a collection's rows, and a full sweep at least this often. */
export type Watch<C extends WatchedCollection = WatchedCollection> = {
  readonly collections: readonly C[]
  /** Collections that it can do without: one that cannot be read is not there, and makes nothing stale. */
  readonly optional?: readonly WatchedCollection[]
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
  /** A person should look now: it is told as an alarm, with this fix. */
  readonly alarm?: { readonly fix: string }
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
    | 'cancelled'
    | 'unconfirmed'
    | 'quarantined'
    | 'shadowed'
  readonly endedAtMs: number
  /** Why it ended so; null for a success. */
  readonly check: string | null
}

/** What another role of this keeper is about now. */
export type Colleague = {
  readonly role: Role
  readonly workflowType: WorkflowType
  readonly subject: string
  readonly lot: string | null
}

/** What an oracle said: whole loan tokens for one whole collateral token × 10^18, the source's own time, its state. */
type OracleReading = { readonly priceWad: bigint; readonly sourceAsOfS: number; readonly state: number }

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
  readonly oracle: OracleReading | null
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

/** A contract that the run configuration pins; addresses are lower case. */
type Pinned = { readonly address: Address }

/** The pinned deployment, as agents know it. */
export type PinnedDeployment = {
  readonly assets: readonly (Pinned & { readonly symbol: string; readonly decimals: number })[]
  readonly markets: readonly (Pinned & {
    readonly loanAsset: Address
    readonly collateralAsset: Address
    readonly oracle: Address
  })[]
  readonly vaults: readonly Pinned[]
  readonly funds: readonly (Pinned & { readonly quoteAsset: Address })[]
  /** Other contracts by their names, for example `rfqDesk`. */
  readonly contracts: readonly (Pinned & { readonly name: string })[]
}

/** What every agent is told, whatever its role. */
export type Moment = {
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
  readonly deployment: PinnedDeployment
  /** Every signer of this keeper, lower case: none of them is a rival. */
  readonly ours: readonly Address[]
  readonly inFlight: readonly InFlight[]
  readonly recent: readonly Ended[]
  readonly colleagues: readonly Colleague[]
}

/** Everything an agent may know when it decides: no more, and nothing that is not here. */
export type Observation<Seen> = Moment & Seen

/** What the liquidator sees. */
export type LiquidatorSeen = {
  readonly markets: readonly MarketSeen[]
  /** Those at risk at our reading of the price, listed for recovery or not fully known, and the nearest of the others. */
  readonly facilities: readonly FacilitySeen[]
  readonly claims: readonly ClaimSeen[]
  /** Second prices, by the name of the contract that was asked; null when the read failed. */
  readonly references: Readonly<Record<string, OracleReading | null>>
}

/**
 * One thing an agent asks for before it decides. A call runs at the observation's block; a source is a URL or a file that
 * the run configuration names.
 */
export type Question =
  | { readonly kind: 'call'; readonly to: Address; readonly data: Hex }
  | { readonly kind: 'source'; readonly name: string; readonly timeoutMs: number }

/** What came back: a call's bytes or a source's text, and when; or why nothing did, by a stable name. */
export type Answer =
  | { readonly ok: true; readonly text: string; readonly atMs: number }
  | { readonly ok: false; readonly check: string; readonly message: string }

/** A wave of questions with what their answers lead to, or what was seen in the end. Answers are in order. */
export type Look<Seen> =
  | { readonly ask: readonly Question[]; readonly next: (answers: readonly Answer[]) => Look<Seen> }
  | { readonly seen: Seen }

/** A price that whoever watches is told when it changes. */
export type PriceSeen = { readonly id: string; readonly symbol: string; readonly priceWad: bigint }

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
export type Agent<Policy = unknown, Seen = unknown> = {
  readonly role: Role
  readonly watches: Watch
  /** The only workflow types it may propose. */
  readonly workflowTypes: readonly WorkflowType[]
  readonly policy: z.ZodType<Policy>
  /**
   * Turn the watched rows into what `decide` needs, asking for what they do not say: at most 4 waves. Rows of optional
   * collections may be absent. `previous` is what was seen the time before. Absent, the keeper has a sight of its own
   * for the role.
   */
  see?(rows: Partial<Rows>, moment: Moment, policy: Policy, previous: Seen | null): Look<Seen>
  decide(seen: Moment & Seen, policy: Policy): Decision
  /** What several workflows brought together, once the last of them is done; null where there is nothing to say. */
  assess?(done: readonly Done[], seen: Moment & Seen, policy: Policy): Gain | null
  /** The pinned contracts, by name, that its policy takes second prices from: they have an oracle's `read()`. */
  secondPrices?(policy: Policy): readonly string[]
  /** The sources, by the names that the run configuration has to give them, that its policy asks. */
  sources?(policy: Policy): readonly string[]
  /** Prices to tell whoever watches. */
  prices?(seen: Moment & Seen): readonly PriceSeen[]
}

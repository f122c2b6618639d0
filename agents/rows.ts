import type { RfqTerms } from '../src/service/contract/assumptions.ts'
import type {
  AllocationIntelligenceResource,
  WrapperResource,
} from '../src/service/contract/directory-resources.ts'
import type { FundResource, NavReportResource } from '../src/service/contract/fund-resources.ts'
import type {
  AssetResource,
  CreditFacilityResource,
  EligibilityResource,
  LiquidationRecoveryResource,
  MarketResource,
  PositionResource,
} from '../src/service/contract/resources.ts'
import type {
  AcquisitionResource,
  AuctionResource,
  RfqResource,
} from '../src/service/contract/trade-resources.ts'
import type { VaultResource } from '../src/service/contract/vault-resources.ts'

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
  /** Partners' channels into vaults. */
  readonly wrappers: readonly WrapperResource[]
}

/** A collection of the service that an agent reads. */
export type WatchedCollection = keyof Rows

/** Collections with rows of each borrower, as many as there are positions: read by wallet, and folded into books. */
export type BorrowerCollection = 'positions' | 'credit-facilities' | 'liquidation-recovery'

/** What names a row of a borrower. */
export type BorrowerKey = {
  readonly positions: Pick<PositionResource, 'marketAddress' | 'walletAddress'>
  readonly 'credit-facilities': FacilityKey
  readonly 'liquidation-recovery': FacilityKey
}
type FacilityKey = Pick<CreditFacilityResource, 'marketAddress' | 'vaultAddress' | 'borrowerAddress'>

/** A borrower's row as it is now, or what names one that is gone. */
export type Change = {
  [C in BorrowerCollection]:
    | { readonly collection: C; readonly row: Rows[C][number] }
    | { readonly collection: C; readonly gone: BorrowerKey[C] }
}[BorrowerCollection]

/**
 * An index over every row of some collections, kept from look to look: a deterministic fold, so that one folded from
 * changes equals one folded from a sweep. `apply` may change the book in place; a sweep begins with another empty one.
 */
export type Fold<Book> = {
  readonly collections: readonly BorrowerCollection[]
  empty(): Book
  apply(book: Book, change: Change): Book
}

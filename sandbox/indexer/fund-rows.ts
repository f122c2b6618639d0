import { type Address, formatUnits } from 'viem'
import {
  channelPolicyEntityId,
  FUND_STATUS,
  INVESTOR_ELIGIBILITY,
  navReportEntityId,
  SUBSCRIPTION_STATUS,
} from '../../src/service/contract/fund-assumptions.ts'
import type {
  FundEpochResource,
  FundHoldingResource,
  FundResource,
  NavReportResource,
} from '../../src/service/contract/fund-resources.ts'
import type { FundState } from './chain-reader.ts'
import type { ChannelPolicyEntry, EpochEntry, FundEntry, HoldingEntry } from './fund-book.ts'
import { lower } from './logs.ts'
import type { NavBook, NavReportEntry } from './nav-book.ts'
import { isoOrNull, type RowContext } from './rows.ts'

/** A fund at one block, with what its logs say. */
export type FundRead = {
  readonly address: Address
  readonly state: FundState
  readonly entry: FundEntry
  /** What the lens appraised, by holding; null where it could not. */
  readonly appraisals: ReadonlyMap<string, bigint | null>
}

/** Everything that the service says of funds and NAV, and what postconditions speak about. */
export type FundRows = {
  readonly funds: readonly FundResource[]
  /** Newest first. */
  readonly navReports: readonly NavReportResource[]
  /** Values by entity id of the reports that are kept. */
  readonly navValues: ReadonlyMap<string, string>
  /** The asset of each oracle that may be reported to, by the oracle's address. */
  readonly navOracles: ReadonlyMap<Address, Address>
  /** By entity id. */
  readonly channelPolicies: ReadonlyMap<string, ChannelPolicyEntry>
  /** Which factory launched each fund, and for whom. */
  readonly fundLaunches: readonly { readonly factoryAddress: Address; readonly managerAddress: Address }[]
}

/** Describe the funds and the NAV reports as of a block. Pure. */
export function fundRows(
  funds: readonly FundRead[],
  nav: NavBook,
  nameOf: (asset: Address) => string | null,
  context: RowContext & { readonly nowS: number },
): FundRows {
  const fundNames = new Map(funds.map(({ address, state }) => [address, state.terms.name]))
  const assetName = (asset: Address) => fundNames.get(asset) ?? nameOf(asset)
  const policies = funds.flatMap(({ address, entry }) =>
    [...entry.policies.values()].map(
      (policy) => [channelPolicyEntityId(address, policy.channel), policy] as const,
    ),
  )
  return {
    funds: funds.map((fund) => fundRow(fund, context)),
    navReports: nav.reports.map((report) => navReportRow(report, assetName(report.assetAddress))).reverse(),
    navValues: new Map(nav.reports.map((report) => [navReportEntityId(report), String(report.value)])),
    navOracles: nav.assets,
    channelPolicies: new Map(policies),
    fundLaunches: funds.map(({ entry }) => ({
      factoryAddress: entry.factoryAddress,
      managerAddress: entry.launcherAddress,
    })),
  }
}

function navReportRow(report: NavReportEntry, assetName: string | null): NavReportResource {
  return {
    id: `${report.txHash}:${report.logIndex}`,
    asset: report.assetAddress,
    assetName,
    oracleAddress: report.oracleAddress,
    submittedAtEpochMs: report.submittedAtS * 1_000,
    reportType: report.reportType,
    value: String(report.value),
    decimals: report.decimals,
    revisionLabel: report.revisionLabel === '' ? null : report.revisionLabel,
    txHash: report.txHash,
    signerAddress: report.reporter,
  }
}

/** Without a NAV report there is no net asset value to show. Source: service API, "Recovery fund (FundResource)". */
function fundRow(fund: FundRead, context: RowContext & { readonly nowS: number }): FundResource {
  const { address, state, entry } = fund
  const { terms, nav } = state
  const reported = nav.submittedAt !== 0n
  const epochs = [...entry.epochs.values()].map((epoch) => epochRow(fund, epoch, context))
  const holdings = [...entry.holdings.values()]
  const alive = holdings.filter(({ status }) => status !== 'disposed')
  return {
    id: address,
    chainId: context.chainId,
    address,
    name: terms.name,
    ...statusesOf(fund, context.nowS),
    navAssets: reported ? String(state.netAssets) : null,
    navAsOf: isoOrNull(nav.valuationTime),
    quoteAssetAddress: lower(terms.quoteAsset),
    quoteAssetDecimals: state.quoteDecimals,
    managerAddress: lower(state.manager),
    managerName: null,
    assetManagerEntityId: null,
    minSubscriptionAssets: String(terms.minSubscriptionAssets),
    maxSubscriptionAssets: String(terms.maxSubscriptionAssets),
    shareTokenAddress: address,
    sharePrice: reported ? formatUnits(nav.value, state.navDecimals) : null,
    totalSupply: String(state.totalSupply),
    totalHoldings: alive.length,
    liquidHoldings: alive.filter(({ lane }) => lane === 'liquid').length,
    restrictedHoldings: alive.filter(({ lane }) => lane === 'restricted').length,
    carryRateBps: terms.carryRateBps,
    performanceFeeBps: terms.performanceFeeBps,
    preferredReturnBps: terms.preferredReturnBps,
    effectiveEpochId: state.epochId === 0n ? null : String(state.epochId),
    epochDurationSeconds: String(terms.epochDurationSeconds),
    currentEpoch: epochs.find(({ epochId }) => epochId === String(state.epochId)) ?? null,
    epochs: epochs.reverse(),
    holdings: holdings.map((holding) => holdingRow(fund, holding)).reverse(),
  }
}

const IMPAIRMENT = ['none', 'watch', 'impaired'] as const

function statusesOf({ state, entry }: FundRead, nowS: number) {
  const impairmentStatus = IMPAIRMENT[state.impairment] ?? 'impaired'
  const approved = state.fundReadinessApproved && state.quoteAssetProfileApproved
  const working = approved && impairmentStatus !== 'impaired'
  const epoch = entry.epochs.get(String(state.epochId))
  const taking = epoch !== undefined && epoch.closed === null && nowS < epoch.scheduledCloseAtS
  const subscription = !working ? 'paused' : taking ? 'open' : 'closed'
  const eligibility = state.investorGate ? 'authorization_required' : 'open'
  return {
    status: !approved ? FUND_STATUS.pending : working ? FUND_STATUS.active : FUND_STATUS.impaired,
    fundReadinessApproved: state.fundReadinessApproved,
    quoteAssetProfileApproved: state.quoteAssetProfileApproved,
    impairmentStatus,
    purchasesEnabled: state.purchasesEnabled,
    // Shares exist from the first close on.
    shareTokenActive: state.totalSupply > 0n,
    subscriptionStatus: subscription,
    subscriptionStatusCode: SUBSCRIPTION_STATUS[subscription],
    investorEligibilityStatus: eligibility,
    defaultEligibilityStatusCode: INVESTOR_ELIGIBILITY[eligibility],
  } satisfies Partial<FundResource>
}

function epochRow(
  { address, state }: FundRead,
  epoch: EpochEntry,
  { nowS, blockNumber }: RowContext & { readonly nowS: number },
): FundEpochResource {
  const { closed } = epoch
  return {
    id: `${address}:${epoch.epochId}`,
    fundAddress: address,
    epochId: epoch.epochId,
    status: epochStatus(epoch, nowS),
    quoteAssetAddress: lower(state.terms.quoteAsset),
    quoteAssetDecimals: state.quoteDecimals,
    openedAt: String(epoch.openedAtS),
    scheduledCloseAt: String(epoch.scheduledCloseAtS),
    closedAt: closed === null ? null : String(closed.atS),
    postCloseFundingDeadline: closed === null ? null : String(closed.postCloseFundingDeadlineS),
    depositedQuoteAmount: String(epoch.depositedAssets),
    withdrawnQuoteAmount: String(epoch.withdrawnAssets),
    activeScaleRay: closed === null ? null : String(closed.scaleRay),
    activeReservationId: epoch.activeReservations.at(-1) ?? null,
    fundedSidePocketCount: epoch.fundedHoldings,
    blockNumber,
  }
}

/** An epoch that is over its time takes nothing, closed or not; its money is spent until the funding deadline. */
function epochStatus({ closed, scheduledCloseAtS }: EpochEntry, nowS: number): string {
  if (closed === null) return nowS < scheduledCloseAtS ? 'open' : 'due'
  return nowS <= closed.postCloseFundingDeadlineS ? 'funding' : 'closed'
}

function holdingRow({ address, appraisals }: FundRead, holding: HoldingEntry): FundHoldingResource {
  const { disposed, amount } = holding
  const appraised = appraisals.get(holding.holdingId) ?? null
  const recovery = disposed === null ? appraised : disposed.proceedsAssets
  return {
    id: `${address}:${holding.holdingId}`,
    positionId: holding.positionId,
    fundAddress: address,
    assetLane: holding.lane,
    holdingStatus: holding.status,
    transferPriceAssets: String(holding.transferPriceAssets),
    acquiredAt: isoOrNull(holding.acquiredAtS),
    disposedAt: disposed === null ? null : isoOrNull(disposed.atS),
    marketAddress: holding.marketAddress,
    borrowerAddress: holding.borrowerAddress,
    claimableAssets: disposed === null ? String(amount) : '0',
    recoveryValueAssets: recovery === null ? null : String(recovery),
  }
}

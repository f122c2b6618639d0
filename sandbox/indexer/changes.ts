import { facilityEntityId } from '../../src/service/contract/assumptions.ts'
import type { FundResource, NavReportResource } from '../../src/service/contract/fund-resources.ts'
import type {
  EligibilityResource,
  LiquidationRecoveryResource,
  MarketResource,
  PositionResource,
} from '../../src/service/contract/resources.ts'
import type { ActivityEntry } from './activity-entry.ts'
import { eligibilityId } from './book.ts'
import type { CanonicalChange, CanonicalFacility, Snapshot } from './canonical.ts'
import { type ChangeRow, print } from './change-row.ts'
import { participantsOf } from './participants.ts'
import type { CanonicalOracle } from './rows.ts'
import { feeChange, participantChange, programChange, vaultChanges } from './vault-changes.ts'

/**
 * Compare two snapshots and say which rows changed, appeared or went. Interest moves every debt by the second and a
 * price moves every health factor: neither changes a row that it only passes through, so prices are announced for
 * their oracle and market alone. A reorg is compared like any other pair. Pure.
 */
export function changesBetween(
  before: Snapshot,
  after: Snapshot,
  newActivity: readonly ActivityEntry[],
): readonly CanonicalChange[] {
  const blockNumber = String(after.block.number)
  const old = new Map(rowsOf(before).map((row) => [keyOf(row), row]))
  const rows = rowsOf(after)
  const changed = rows.filter((row) => old.get(keyOf(row))?.print !== row.print)
  for (const row of rows) old.delete(keyOf(row))
  const announced = [...changed, ...old.values(), ...activityRows(newActivity)]
  return announced.map(({ eventType, subject, data }) => ({
    eventType,
    subject,
    data: { ...data, blockNumber },
  }))
}

const keyOf = (row: ChangeRow): string => `${row.eventType} ${row.subject}`

/** What a liquidator waits for comes first: the order is the order of the events. */
function rowsOf(snapshot: Snapshot): readonly ChangeRow[] {
  return [
    ...snapshot.oracles.map(oracleChange),
    ...snapshot.recoveries.map((row) => recoveryChange(row, snapshot)),
    ...snapshot.facilities.map(facilityChange),
    ...snapshot.positions.map(positionChange),
    ...snapshot.markets.map(marketChange),
    ...snapshot.vaultReads.flatMap((vault) => vaultChanges(vault, snapshot)),
    ...snapshot.fees.map((fees) => feeChange(fees, snapshot)),
    ...snapshot.channels.filter(({ entry }) => entry.isEntitled).map(programChange),
    ...participantsOf(snapshot).map(participantChange),
    ...snapshot.funds.map((fund) => fundChange(fund, snapshot)),
    ...navChanges(snapshot.navReports),
    ...snapshot.eligibility.map(eligibilityChange),
  ]
}

const oracleChange = (oracle: CanonicalOracle): ChangeRow => ({
  eventType: 'oracles.updated',
  subject: oracle.address,
  data: { oracleAddress: oracle.address, marketAddress: oracle.marketAddress },
  print: print(oracle.priceWad, oracle.state),
})

type FacilityKey = Pick<LiquidationRecoveryResource, 'marketAddress' | 'vaultAddress' | 'borrowerAddress'>

const idOf = (row: FacilityKey): string =>
  facilityEntityId(row.marketAddress, row.vaultAddress, row.borrowerAddress)

const facilityData = ({ marketAddress, vaultAddress, borrowerAddress }: FacilityKey) => ({
  marketAddress,
  vaultAddress,
  borrowerAddress,
})

function recoveryChange(row: LiquidationRecoveryResource, snapshot: Snapshot): ChangeRow {
  const facility = snapshot.facilities.find((one) => idOf(one.resource) === idOf(row))
  return {
    eventType: 'liquidation.recovery.updated',
    subject: idOf(row),
    data: facilityData(row),
    print: print(
      row.liquidatable,
      row.executable,
      row.blockedReason,
      facility?.debtShares,
      facility?.collateralAssets,
    ),
  }
}

const facilityChange = ({ resource, debtShares, collateralAssets }: CanonicalFacility): ChangeRow => ({
  eventType: 'credit.facilities.updated',
  subject: idOf(resource),
  data: facilityData(resource),
  print: print(debtShares, collateralAssets, resource.principalAssets, resource.monitorState),
})

const positionChange = (row: PositionResource): ChangeRow => ({
  eventType: 'positions.updated',
  subject: `${row.marketAddress}:${row.walletAddress}`,
  data: { marketAddress: row.marketAddress, borrowerAddress: row.walletAddress },
  print: print(row.debtShares, row.collateralAssets, row.monitorState, row.liquidatable),
})

const marketChange = (market: MarketResource): ChangeRow => ({
  eventType: 'markets.updated',
  subject: market.id,
  data: { marketAddress: market.address },
  print: print(
    // A write-off moves the bad debt, and every other change of the debt moves the cash.
    market.availableLiquidity,
    market.totalBadDebt,
    market.paused,
    market.collateralGateEnabled,
    market.oracleState,
    market.oracle?.priceWad,
    ...(market.allocators ?? []).flatMap((one) => [
      one.vaultAddress,
      one.approved,
      one.allocationEnabled,
      one.absoluteCapAssets,
      one.relativeCapBps,
      one.availableLiquidity,
    ]),
  ),
})

/** What a holding is worth follows its market's price, which has an event of its own. */
function fundChange(fund: FundResource, { channelPolicies }: Snapshot): ChangeRow {
  const epochs = (fund.epochs ?? []).map(({ blockNumber: _, ...epoch }) => epoch)
  const holdings = (fund.holdings ?? []).map(({ id, holdingStatus }) => [id, holdingStatus])
  const { status, impairmentStatus, investorEligibilityStatus, purchasesEnabled, managerAddress } = fund
  const flags = [status, impairmentStatus, investorEligibilityStatus, purchasesEnabled, managerAddress]
  const policies = [...channelPolicies].filter(([id]) => id.startsWith(fund.id))
  return {
    eventType: 'funds.updated',
    subject: fund.id,
    data: { fundAddress: fund.address },
    print: print(
      ...[fund.totalSupply, fund.navAsOf, fund.sharePrice, ...flags],
      JSON.stringify([epochs, holdings]),
      ...policies.flatMap(([id, policy]) => [id, ...Object.values(policy)]),
    ),
  }
}

/** One row an oracle: its newest report. */
function navChanges(newestFirst: readonly NavReportResource[]): readonly ChangeRow[] {
  const newest = new Map(newestFirst.toReversed().map((report) => [report.oracleAddress, report]))
  return [...newest.values()].map(({ id, oracleAddress, asset, reportType }) => ({
    eventType: 'nav.reports.updated',
    subject: oracleAddress,
    data: { oracleAddress, assetAddress: asset, reportType },
    print: id,
  }))
}

const eligibilityChange = (row: EligibilityResource): ChangeRow => ({
  eventType: 'eligibility.updated',
  subject: eligibilityId(row),
  data: { walletAddress: row.walletAddress, actionType: row.actionType, scopeAddress: row.scopeAddress },
  print: row.authorizationStatus,
})

/** One event for each thing that something happened to, however much; a price has the event of its oracle. */
function activityRows(entries: readonly ActivityEntry[]): readonly ChangeRow[] {
  const announced = entries.filter((entry) => entry.resource.type !== 'oracle_price')
  const bySubject = new Map(announced.map((entry) => [entry.resource.resourceId, entry]))
  return [...bySubject].map(([subject, { marketAddress, vaultAddress }]) => ({
    eventType: 'activity.updated',
    subject,
    data: { marketAddress, vaultAddress },
    print: '',
  }))
}

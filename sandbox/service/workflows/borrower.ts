import { type Address, encodeFunctionData } from 'viem'
import { invariant } from '../../../src/errors.ts'
import {
  entityIdOf,
  facilityEntityId,
  HEALTHY_ORACLE_STATE,
  PRICE_SCALE,
} from '../../../src/service/contract/assumptions.ts'
import type { MarketResource, PositionResource } from '../../../src/service/contract/resources.ts'
import { addr } from '../../../src/service/contract/scalars.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { lendingMarketAbi } from '../../contracts/abis.ts'
import type { CanonicalFacility, Snapshot } from '../../indexer/canonical.ts'
import type { CanonicalOracle } from '../../indexer/rows.ts'
import { same } from '../same.ts'
import { approval, type IntentDraft, intents } from './intents.ts'
import {
  blocked,
  type Expectation,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'

const BPS = 10_000n

/** What borrowers do in a market, as anyone and as the borrower's role. */
export const borrower: Family = {
  preparers: [
    preparer('borrow', borrow),
    preparer('role.borrower.borrowerBorrow', borrow),
    preparer('repay', repay),
    preparer('role.borrower.borrowerRepay', repay),
    preparer('depositCollateral', depositCollateral),
    preparer('role.borrower.borrowerDepositCollateral', depositCollateral),
    preparer('withdrawCollateral', withdrawCollateral),
    preparer('role.borrower.borrowerWithdrawCollateral', withdrawCollateral),
  ],
  fields: {
    // Someone who has neither debt nor collateral has no position: no collateral is what it has.
    position: ({ positions }, entityId, field) =>
      field === 'collateralAssets'
        ? (positions.find((row) => entityIdOf(row.marketAddress, row.walletAddress) === entityId)
            ?.collateralAssets ?? '0')
        : undefined,
  },
}

type Rows = {
  readonly market: MarketResource | undefined
  readonly oracle: CanonicalOracle | undefined
  readonly position: PositionResource | undefined
}

function rowsOf(snapshot: Snapshot, marketAddress: Address, wallet: Address | null): Rows {
  return {
    market: snapshot.markets.find((row) => same(row.address, marketAddress)),
    oracle: snapshot.oracles.find((row) => same(row.marketAddress, marketAddress)),
    position: snapshot.positions.find(
      (row) => wallet !== null && same(row.marketAddress, marketAddress) && same(row.walletAddress, wallet),
    ),
  }
}

const facilityOf = (
  { facilities }: Snapshot,
  input: { marketAddress: string; vaultAddress: string },
  wallet: string | null,
): CanonicalFacility | undefined =>
  facilities.find(
    ({ resource }) =>
      wallet !== null &&
      same(resource.marketAddress, input.marketAddress) &&
      same(resource.vaultAddress, input.vaultAddress) &&
      same(resource.borrowerAddress, wallet),
  )

/** What every one of them asks. */
function judgeCommon({ freshness, principal }: Moment, assets: bigint): string[] {
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (assets === 0n) reasons.push('amount_is_zero')
  return reasons
}

function borrow(input: WorkflowInput<'borrow'>, moment: Moment, { chainId }: Reads): Judgement {
  const { snapshot, principal } = moment
  const assets = BigInt(input.assets)
  const rows = rowsOf(snapshot, input.marketAddress, principal)
  const { market, position } = rows
  const reasons = [...judgeCommon(moment, assets), ...judgeRisk(rows)]
  const partition = market?.allocators?.find((row) => same(row.vaultAddress, input.vaultAddress))
  if (market !== undefined && partition === undefined) reasons.push('vault_not_found')
  if (partition !== undefined && assets > BigInt(partition.availableLiquidity ?? 0)) {
    reasons.push('insufficient_market_liquidity')
  }
  if (assets > BigInt(position?.maxBorrowableAssets ?? 0)) reasons.push('above_lltv')
  if (reasons.length > 0) return blocked(rows, reasons)
  invariant(principal !== null, 'a loan that may pass has its borrower')
  const calldata = encodeFunctionData({
    abi: lendingMarketAbi,
    functionName: 'borrow',
    args: [input.vaultAddress, assets],
  })
  const before = BigInt(facilityOf(snapshot, input, principal)?.resource.principalAssets ?? 0)
  return passed(
    rows,
    intents(chainId, [{ target: input.marketAddress, calldata, label: `Borrow ${assets} base units` }]),
    [
      {
        entityType: 'credit_facility',
        entityId: facilityEntityId(input.marketAddress, input.vaultAddress, principal),
        field: 'principalAssets',
        expected: { op: 'gte', value: String(before + assets) },
      },
    ],
  )
}

/** The contract asks the oracle for a price, and the market's leave, of whatever takes value out. */
function judgeRisk({ market, oracle }: Rows): readonly string[] {
  if (market === undefined) return ['market_not_found']
  const reasons: string[] = []
  if (market.paused !== false) reasons.push('market_paused')
  if (oracle?.state !== HEALTHY_ORACLE_STATE) reasons.push('oracle_not_healthy')
  return reasons
}

/**
 * A borrower who repays all names more than is owed. What the debt gains until the intents expire is far below one basis point,
 * so no more than that is allowed on top, and taken back at the end.
 */
async function repay(input: WorkflowInput<'repay'>, moment: Moment, reads: Reads): Promise<Judgement> {
  const { snapshot, principal } = moment
  const { market } = rowsOf(snapshot, input.marketAddress, principal)
  const facility = facilityOf(snapshot, input, input.borrowerAddress)
  const asked = BigInt(input.assets)
  const debt = facility?.debtAssets ?? 0n
  const most = debt + debt / BPS + 1n
  const assets = asked < most ? asked : most
  const reasons = judgeCommon(moment, asked)
  if (market === undefined) reasons.push('market_not_found')
  else if (facility === undefined) reasons.push('debt_not_found')
  const loanAsset = addr.safeParse(market?.loanAssetAddress).data
  if (
    principal !== null &&
    loanAsset !== undefined &&
    (await reads.balanceOf(loanAsset, principal)) < assets
  ) {
    reasons.push('principal_balance_too_small')
  }
  // Less than one debt share is worth would burn none.
  if (facility !== undefined && asked > 0n && assets * facility.debtShares < debt) {
    reasons.push('rounds_to_zero_shares')
  }
  if (reasons.length > 0) return blocked(facility ?? null, reasons)
  invariant(facility !== undefined && loanAsset !== undefined, 'a repayment that may pass has its rows')
  const calldata = encodeFunctionData({
    abi: lendingMarketAbi,
    functionName: 'repay',
    args: [input.vaultAddress, input.borrowerAddress, assets],
  })
  const drafts: IntentDraft[] = [
    approval(loanAsset, input.marketAddress, assets),
    { target: input.marketAddress, calldata, label: `Repay up to ${assets} base units` },
  ]
  if (assets > debt) drafts.push(approval(loanAsset, input.marketAddress, 0n))
  return passed(facility, intents(reads.chainId, drafts), [repaid(input, facility, assets)])
}

function repaid(
  input: WorkflowInput<'repay'>,
  { debtShares, debtAssets }: CanonicalFacility,
  assets: bigint,
): Expectation {
  // Interest until the intent expires makes a share dearer, so that fewer are burnt than now.
  const least = (((assets * debtShares) / debtAssets) * 9_999n) / BPS
  const left = assets > debtAssets ? 0n : debtShares - (least > 0n ? least : 1n)
  return {
    entityType: 'credit_facility',
    entityId: facilityEntityId(input.marketAddress, input.vaultAddress, input.borrowerAddress),
    field: 'debtShares',
    expected: { op: 'lte', value: String(left) },
  }
}

async function depositCollateral(
  input: WorkflowInput<'depositCollateral'>,
  moment: Moment,
  reads: Reads,
): Promise<Judgement> {
  const { snapshot, principal } = moment
  const rows = rowsOf(snapshot, input.marketAddress, principal)
  const assets = BigInt(input.assets)
  const reasons = judgeCommon(moment, assets)
  const asset = addr.safeParse(rows.market?.collateralAssetAddress).data
  if (asset === undefined) reasons.push('market_not_found')
  else if (principal !== null && (await reads.balanceOf(asset, principal)) < assets) {
    reasons.push('principal_balance_too_small')
  }
  if (reasons.length > 0) return blocked(rows, reasons)
  invariant(asset !== undefined && principal !== null, 'a deposit that may pass has its asset')
  const call = { abi: lendingMarketAbi, functionName: 'depositCollateral', args: [assets] } as const
  const drafts: readonly IntentDraft[] = [
    approval(asset, input.marketAddress, assets),
    {
      target: input.marketAddress,
      calldata: encodeFunctionData(call),
      label: `Deposit ${assets} base units of collateral`,
    },
  ]
  const held = BigInt(rows.position?.collateralAssets ?? 0)
  return passed(rows, intents(reads.chainId, drafts), [
    collateral(input.marketAddress, principal, 'gte', held + assets),
  ])
}

function withdrawCollateral(
  input: WorkflowInput<'withdrawCollateral'>,
  moment: Moment,
  { chainId }: Reads,
): Judgement {
  const { snapshot, principal } = moment
  const rows = rowsOf(snapshot, input.marketAddress, principal)
  const assets = BigInt(input.assets)
  const held = BigInt(rows.position?.collateralAssets ?? 0)
  const reasons = [...judgeCommon(moment, assets), ...judgeRisk(rows)]
  if (assets > held) reasons.push('insufficient_collateral')
  else if (BigInt(rows.position?.debtAssets ?? 0) > borrowLimit(rows, held - assets)) {
    reasons.push('above_lltv')
  }
  if (reasons.length > 0) return blocked(rows, reasons)
  invariant(principal !== null, 'a withdrawal that may pass has its principal')
  const call = { abi: lendingMarketAbi, functionName: 'withdrawCollateral', args: [assets] } as const
  const draft: IntentDraft = {
    target: input.marketAddress,
    calldata: encodeFunctionData(call),
    label: `Withdraw ${assets} base units of collateral`,
  }
  return passed(rows, intents(chainId, [draft]), [
    collateral(input.marketAddress, principal, 'lte', held - assets),
  ])
}

/** What so much collateral lets its owner owe, as the contract counts. */
function borrowLimit({ market, oracle }: Rows, collateralAssets: bigint): bigint {
  if (market === undefined || oracle === undefined) return 0n
  const loanUnit = 10n ** BigInt(market.loanDecimals ?? 0)
  const collateralUnit = 10n ** BigInt(market.collateralDecimals ?? 0)
  const value = (collateralAssets * oracle.priceWad * loanUnit) / (collateralUnit * PRICE_SCALE)
  return (value * BigInt(market.lltvBps ?? 0)) / BPS
}

const collateral = (market: string, wallet: string, op: 'gte' | 'lte', assets: bigint): Expectation => ({
  entityType: 'position',
  entityId: entityIdOf(market, wallet),
  field: 'collateralAssets',
  expected: { op, value: String(assets) },
})

import { type Address, encodeFunctionData } from 'viem'
import { invariant } from '../../../src/errors.ts'
import {
  claimEntityId,
  facilityEntityId,
  type Revalidation,
} from '../../../src/service/contract/assumptions.ts'
import { addr } from '../../../src/service/contract/scalars.ts'
import type {
  LiquidateInput,
  SettleLiquidationClaimInput,
} from '../../../src/service/contract/workflow-inputs.ts'
import { lendingMarketAbi } from '../../contracts/abis.ts'
import type { CanonicalClaim, CanonicalFacility } from '../../indexer/canonical.ts'
import { approval, intents } from './intents.ts'
import { claimOf, judgeLiquidation, judgeSettlement, liquidationRows } from './liquidation-judge.ts'
import {
  blocked,
  type Expectation,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
} from './preparer.ts'

/** Liquidations and the settlement of their claims, as anyone's and as the liquidator's. */
export const liquidation: Family = {
  preparers: [
    preparer('liquidate', liquidate),
    preparer('role.liquidator.liquidate', liquidate),
    preparer('settleLiquidationClaim', settle),
    preparer('role.liquidator.settleLiquidationClaim', settle),
  ],
  fields: {
    // A facility that is gone has neither debt shares nor principal.
    credit_facility: ({ facilities }, entityId, field) => {
      const facility = facilities.find((row) => facilityIdOf(row) === entityId)
      if (field === 'debtShares') return (facility?.debtShares ?? 0n).toString()
      return field === 'principalAssets' ? (facility?.resource.principalAssets ?? '0') : undefined
    },
    liquidation_claim: ({ claims }, entityId, field) =>
      field === 'settled'
        ? claims.find((claim) => claimEntityId(claim.marketAddress, claim.claimId) === entityId)?.settled
        : undefined,
  },
}

const facilityIdOf = ({ resource }: CanonicalFacility) =>
  facilityEntityId(resource.marketAddress, resource.vaultAddress, resource.borrowerAddress)

async function liquidate(input: LiquidateInput, moment: Moment, reads: Reads): Promise<Judgement> {
  const { snapshot, freshness, principal, deadlineS } = moment
  const rows = liquidationRows(snapshot, input, principal)
  const loanAsset = addr.safeParse(rows.market?.loanAssetAddress).data
  const balance =
    principal === null || loanAsset === undefined ? null : await reads.balanceOf(loanAsset, principal)
  const reasons = judgeLiquidation(input, rows, freshness, balance)
  const revalidate: Revalidation[] = [
    'position_liquidatable',
    'market_not_paused',
    'oracle_healthy',
    'repay_within_close_factor',
    'liquidator_balance',
    'intent_not_expired',
  ]
  if (reasons.length > 0) return blocked(rows, reasons, revalidate)
  invariant(
    rows.facility !== undefined && loanAsset !== undefined,
    'a liquidation that may pass has its rows',
  )
  const transactions = liquidationIntents(reads.chainId, loanAsset, input, deadlineS)
  return passed(rows, transactions, liquidationPostconditions(input, rows.facility), revalidate)
}

function settle(
  input: SettleLiquidationClaimInput,
  { snapshot, freshness, principal }: Moment,
  { chainId }: Reads,
): Judgement {
  const claim = claimOf(snapshot, input)
  const reasons = judgeSettlement(claim, principal, snapshot.block.timestampS, freshness)
  const revalidate: Revalidation[] = ['claim_settleable', 'intent_not_expired']
  if (reasons.length > 0) return blocked(claim ?? null, reasons, revalidate)
  invariant(claim !== undefined, 'a settlement that may pass has its claim')
  return passed(claim, settlementIntents(chainId, claim), settlementPostconditions(claim), revalidate)
}

/** An exact approval of the loan asset, then the call that pulls it. */
function liquidationIntents(chainId: number, loanAsset: Address, input: LiquidateInput, deadlineS: bigint) {
  const repay = BigInt(input.repayAssets)
  const liquidate = encodeFunctionData({
    abi: lendingMarketAbi,
    functionName: 'liquidate',
    args: [
      input.vaultAddress,
      input.borrowerAddress,
      repay,
      BigInt(input.minCollateralAssets),
      input.recipientAddress,
      deadlineS,
    ],
  })
  return intents(chainId, [
    approval(loanAsset, input.marketAddress, repay),
    { target: input.marketAddress, calldata: liquidate, label: 'Liquidate the position' },
  ])
}

function settlementIntents(chainId: number, { claimId, marketAddress }: CanonicalClaim) {
  const calldata = encodeFunctionData({
    abi: lendingMarketAbi,
    functionName: 'settleLiquidationClaim',
    args: [BigInt(claimId)],
  })
  return intents(chainId, [{ target: marketAddress, calldata, label: `Settle claim ${claimId}` }])
}

/**
 * What a liquidation leaves behind: at most so many debt shares. Interest until the intent expires makes a share
 * dearer, so that fewer are burnt than now; one basis point is far more than 30 s can add at any rate of the sandbox.
 */
function liquidationPostconditions(
  input: LiquidateInput,
  facility: CanonicalFacility,
): readonly Expectation[] {
  const atThisIndex = (BigInt(input.repayAssets) * facility.debtShares) / facility.debtAssets
  const least = (atThisIndex * 9_999n) / 10_000n
  // A liquidation that burns no share reverts.
  const burnt = least > 0n ? least : 1n
  return [
    {
      entityType: 'credit_facility',
      entityId: facilityEntityId(input.marketAddress, input.vaultAddress, input.borrowerAddress),
      field: 'debtShares',
      expected: { op: 'lte', value: (facility.debtShares - burnt).toString() },
    },
  ]
}

const settlementPostconditions = (claim: CanonicalClaim): readonly Expectation[] => [
  {
    entityType: 'liquidation_claim',
    entityId: claimEntityId(claim.marketAddress, claim.claimId),
    field: 'settled',
    expected: true,
  },
]

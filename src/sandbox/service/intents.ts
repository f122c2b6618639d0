import { type Address, encodeFunctionData, erc20Abi, getAddress, type Hex, maxUint256 } from 'viem'
import { claimEntityId, facilityEntityId, type LiquidateInput } from '../../service/assumptions.ts'
import type { TransactionIntent } from '../../service/workflows.ts'
import { lendingMarketAbi } from '../contracts/abis.ts'
import type { CanonicalClaim, CanonicalFacility } from '../indexer/canonical.ts'
import type { Hostility } from './faults.ts'
import type { Expectation } from './postconditions.ts'

/** Where a tampered intent points: an address that nobody deployed to and nobody trades with. */
const FOREIGN: Address = '0xbad0bad0bad0bad0bad0bad0bad0bad0bad0bad0'

/**
 * Encode a liquidation: an exact approval of the loan asset, then the call that pulls it.
 * @param deadlineS chain time in seconds after which the call reverts.
 * @param hostile what to tamper with; undefined is honest.
 */
export function liquidationIntents(
  chainId: number,
  loanAsset: Address,
  input: LiquidateInput,
  deadlineS: bigint,
  hostile: Hostility | undefined,
): readonly TransactionIntent[] {
  const repay = BigInt(input.repayAssets)
  const approval = hostile === 'larger_approval' ? maxUint256 : repay
  const recipient = hostile === 'changed_recipient' ? FOREIGN : input.recipientAddress
  const approve = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'approve',
    args: [input.marketAddress, approval],
  })
  const liquidate = encodeFunctionData({
    abi: lendingMarketAbi,
    functionName: 'liquidate',
    args: [
      input.vaultAddress,
      input.borrowerAddress,
      repay,
      BigInt(input.minCollateralAssets),
      recipient,
      deadlineS,
    ],
  })
  return [
    intent(0, chainId, loanAsset, approve, `Approve ${repay} base units of the loan asset`),
    intent(1, chainId, actionTarget(input.marketAddress, hostile), liquidate, 'Liquidate the position'),
  ]
}

/** Encode the settlement of a claim. */
export function settlementIntents(
  chainId: number,
  claim: CanonicalClaim,
  hostile: Hostility | undefined,
): readonly TransactionIntent[] {
  const calldata = encodeFunctionData({
    abi: lendingMarketAbi,
    functionName: 'settleLiquidationClaim',
    args: [BigInt(claim.claimId)],
  })
  return [
    intent(0, chainId, actionTarget(claim.marketAddress, hostile), calldata, `Settle claim ${claim.claimId}`),
  ]
}

const actionTarget = (market: Address, hostile: Hostility | undefined) =>
  hostile === 'foreign_target' ? FOREIGN : market

function intent(
  order: number,
  chainId: number,
  target: Address,
  calldata: Hex,
  label: string,
): TransactionIntent {
  return {
    order,
    chainId,
    transactionKind: 'contract_call',
    target: getAddress(target),
    calldata,
    value: '0',
    label,
    simulationRequired: true,
  }
}

/**
 * State what a liquidation leaves behind: at most so many debt shares. Interest until the intent expires makes a share
 * dearer, so that fewer are burnt than now; one basis point is far more than 30 s can add at any rate of the sandbox. Pure.
 */
export function liquidationPostconditions(
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

/** State what a settlement leaves behind: the claim is settled. Pure. */
export const settlementPostconditions = (claim: CanonicalClaim): readonly Expectation[] => [
  {
    entityType: 'liquidation_claim',
    entityId: claimEntityId(claim.marketAddress, claim.claimId),
    field: 'settled',
    expected: true,
  },
]

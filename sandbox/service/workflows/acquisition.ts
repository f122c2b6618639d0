import { type Address, BaseError, ContractFunctionRevertedError, encodeFunctionData } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import { tradeEntityId } from '../../../src/service/contract/trade-resources.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { acquisitionHouseAbi, recoveryFundAbi } from '../../contracts/abis.ts'
import { same } from '../same.ts'
import { intents } from './intents.ts'
import {
  blocked,
  type Family,
  type Judgement,
  type Moment,
  passed,
  preparer,
  type Reads,
  staleness,
} from './preparer.ts'

const TYPE = 'role.asset_manager.distressedRecoveryAcquisitionV3Bid'

/** Bids of recovery funds for distressed positions. */
export const acquisition: Family = {
  preparers: [preparer(TYPE, bid)],
  fields: {
    // By `contract:lot:fund`: the fund's highest bid.
    acquisition_bid: ({ acquisitions }, entityId, field) => {
      const lot = acquisitions.find(({ id }) => entityId.startsWith(`${id}:`))
      if (lot === undefined || field !== 'assets') return undefined
      return lot.bids.findLast(({ fundAddress }) => same(`${lot.id}:${fundAddress}`, entityId))?.assets
    },
  },
}

type Input = WorkflowInput<typeof TYPE>

/** A house's errors pass through the fund. */
const abi = [...recoveryFundAbi, ...acquisitionHouseAbi] as const

async function bid(input: Input, moment: Moment, reads: Reads): Promise<Judgement> {
  const { snapshot, principal } = moment
  const id = tradeEntityId(input.acquisitionAddress, input.lotId)
  const lot = snapshot.acquisitions.find((row) => row.id === id)
  const reasons = judgeRows(input, moment)
  // What the rows cannot say, such as the fund's policy and budget, the fund says itself.
  if (reasons.length === 0 && principal !== null) reasons.push(...(await refusalOf(input, principal, reads)))
  if (reasons.length > 0) return blocked(lot ?? null, reasons)
  invariant(lot !== undefined, 'a bid that may pass has its lot')
  const label = `Let the fund bid ${input.bidAssets} base units for lot ${lot.lotId}`
  const calldata = encodeFunctionData({
    abi: recoveryFundAbi,
    functionName: 'bidAcquisition',
    args: argsOf(input),
  })
  return passed(lot, intents(reads.chainId, [{ target: input.fundAddress, calldata, label }]), [
    {
      entityType: 'acquisition_bid',
      entityId: entityIdOf(lot.id, input.fundAddress),
      field: 'assets',
      expected: { op: 'gte', value: input.bidAssets },
    },
  ])
}

const argsOf = ({ acquisitionAddress, lotId, bidAssets }: Input) =>
  [acquisitionAddress, BigInt(lotId), BigInt(bidAssets)] as const

function judgeRows(input: Input, { snapshot, freshness, principal }: Moment): string[] {
  const id = tradeEntityId(input.acquisitionAddress, input.lotId)
  const lot = snapshot.acquisitions.find((row) => row.id === id)
  const fund = snapshot.funds.find(({ address }) => same(address, input.fundAddress))
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (fund === undefined) reasons.push('fund_not_found')
  else if (principal !== null && !same(fund.managerAddress ?? '', principal)) {
    reasons.push('principal_not_manager')
  }
  if (lot === undefined) return [...reasons, 'acquisition_lot_not_found']
  if (lot.status !== 'open') reasons.push('acquisition_lot_closed')
  const assets = BigInt(input.bidAssets)
  if (assets < BigInt(lot.reserveAssets)) reasons.push('below_reserve')
  else if (assets <= BigInt(lot.bestBidAssets ?? 0)) reasons.push('not_above_best_bid')
  if (fund !== undefined && !same(fund.quoteAssetAddress ?? '', lot.quoteAssetAddress)) {
    reasons.push('quote_asset_mismatch')
  }
  return reasons
}

/** The name of the error that the bid would revert with now, as a reason; none when it would pass. */
async function refusalOf(input: Input, account: Address, reads: Reads): Promise<readonly string[]> {
  const call = { address: input.fundAddress, abi, functionName: 'bidAcquisition', account } as const
  try {
    await reads.node.simulateContract({ ...call, args: argsOf(input) })
    return []
  } catch (error) {
    const revert =
      error instanceof BaseError
        ? error.walk((cause) => cause instanceof ContractFunctionRevertedError)
        : null
    if (!(revert instanceof ContractFunctionRevertedError)) throw error
    return [snakeCase(revert.data?.errorName ?? 'BidWouldRevert')]
  }
}

const snakeCase = (name: string) => name.replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()

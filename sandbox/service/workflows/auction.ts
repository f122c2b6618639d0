import { type Address, encodeFunctionData } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import { type AuctionResource, tradeEntityId } from '../../../src/service/contract/trade-resources.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { recoveryAuctionAbi } from '../../contracts/abis.ts'
import { same } from '../same.ts'
import { approval, intents } from './intents.ts'
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

const TYPE = 'role.lender.distressedRecoveryFundV3AuctionBid'

/** Bids in open ascending auctions. */
export const auction: Family = {
  preparers: [preparer(TYPE, bid)],
  fields: {
    // By `contract:lot:bidder`: the bidder's highest bid.
    auction_bid: ({ auctions }, entityId, field) => {
      const lot = auctions.find(({ id }) => entityId.startsWith(`${id}:`))
      if (lot === undefined || field !== 'assets') return undefined
      return lot.bids.findLast(({ bidderAddress }) => same(`${lot.id}:${bidderAddress}`, entityId))?.assets
    },
  },
}

async function bid(input: WorkflowInput<typeof TYPE>, moment: Moment, reads: Reads): Promise<Judgement> {
  const { snapshot, principal } = moment
  const id = tradeEntityId(input.auctionAddress, input.lotId)
  const lot = snapshot.auctions.find((row) => row.id === id)
  const assets = BigInt(input.bidAssets)
  // The leading bidder pays only what it adds.
  const leads = lot !== undefined && principal !== null && same(lot.bestBidderAddress ?? '', principal)
  const costAssets = assets - (leads ? BigInt(lot.bestBidAssets ?? 0) : 0n)
  const reasons = [
    ...judgeLot(lot, assets, moment),
    ...(await judgeBalance(lot, principal, costAssets, reads)),
  ]
  if (reasons.length > 0) return blocked(lot ?? null, reasons)
  invariant(lot !== undefined && principal !== null, 'a bid that may pass has its lot and its bidder')
  const calldata = encodeFunctionData({
    abi: recoveryAuctionAbi,
    functionName: 'bid',
    args: [BigInt(lot.lotId), assets],
  })
  const transactions = intents(reads.chainId, [
    approval(lot.quoteAssetAddress, lot.auctionAddress, costAssets),
    { target: lot.auctionAddress, calldata, label: `Bid ${assets} base units for lot ${lot.lotId}` },
  ])
  return passed(lot, transactions, [
    {
      entityType: 'auction_bid',
      entityId: entityIdOf(lot.id, principal),
      field: 'assets',
      expected: { op: 'gte', value: String(assets) },
    },
  ])
}

function judgeLot(
  lot: AuctionResource | undefined,
  assets: bigint,
  { freshness, principal }: Moment,
): readonly string[] {
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (lot === undefined) return [...reasons, 'auction_lot_not_found']
  if (lot.status !== 'open') reasons.push('auction_lot_closed')
  if (assets < BigInt(lot.reserveAssets)) reasons.push('below_reserve')
  else if (assets < BigInt(lot.nextBidAssets)) reasons.push('below_increment')
  return reasons
}

async function judgeBalance(
  lot: AuctionResource | undefined,
  principal: Address | null,
  costAssets: bigint,
  reads: Reads,
): Promise<readonly string[]> {
  if (lot === undefined || principal === null) return []
  const balance = await reads.balanceOf(lot.quoteAssetAddress, principal)
  return balance < costAssets ? ['principal_balance_too_small'] : []
}

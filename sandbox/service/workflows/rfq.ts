import { type Address, encodeFunctionData } from 'viem'
import { invariant } from '../../../src/errors.ts'
import { entityIdOf } from '../../../src/service/contract/assumptions.ts'
import {
  type RfqBidResource,
  type RfqResource,
  tradeEntityId,
} from '../../../src/service/contract/trade-resources.ts'
import type { WorkflowInput } from '../../../src/service/contract/workflow-types.ts'
import { rfqDeskAbi } from '../../contracts/abis.ts'
import type { Snapshot } from '../../indexer/canonical.ts'
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

const PREFIX = 'role.lender.distressedRecoveryFundV3'

/** The five steps of answering an RFQ. */
export const rfq: Family = {
  preparers: [
    preparer(`${PREFIX}RfqPlaceBid`, placeBid),
    preparer(`${PREFIX}RfqReplaceBid`, replaceBid),
    preparer(`${PREFIX}RfqCancelBid`, cancelBid),
    preparer(`${PREFIX}RfqFinalize`, finalize),
    preparer(`${PREFIX}RfqClaimRefund`, claimRefund),
  ],
  fields: {
    rfq: ({ rfqs }, entityId, field) => {
      const row = rfqs.find(({ id }) => id === entityId)
      return row === undefined || field !== 'finalized' ? undefined : isFinalized(row)
    },
    rfq_bid: ({ rfqs }, entityId, field) => {
      const bid = rfqs.flatMap(({ bids }) => bids).find(({ id }) => id === entityId)
      return field === 'status' || field === 'assets' || field === 'expiresAt' ? bid?.[field] : undefined
    },
    // The number of a bid that is yet to be placed is not known: its bidder's bids are counted instead.
    rfq_bidder: ({ rfqs }, entityId, field) => {
      const row = rfqs.find(({ id }) => entityId.startsWith(`${id}:`))
      if (row === undefined || field !== 'bidCount') return undefined
      return String(bidsOf(row, entityId.slice(row.id.length + 1)).length)
    },
  },
}

/** Places in the book of an RFQ; a full one takes only a bid that is better than its worst. */
const BOOK_PLACES = 16
/** The longest that a bid may bind. */
const BINDING_SECONDS_MAX = 30n * 86_400n
const abi = rfqDeskAbi

const isFinalized = ({ status }: RfqResource) => status === 'sold' || status === 'unsold'
const isBooked = ({ status }: RfqBidResource) => status === 'live' || status === 'expired'
const bidsOf = ({ bids }: RfqResource, bidder: string) =>
  bids.filter(({ bidderAddress }) => same(bidderAddress, bidder))

type NamedRfq = { readonly rfqAddress: Address; readonly rfqId: string }

const rfqOf = ({ rfqs }: Snapshot, { rfqAddress, rfqId }: NamedRfq): RfqResource | undefined =>
  rfqs.find(({ id }) => id === tradeEntityId(rfqAddress, rfqId))

async function placeBid(
  input: WorkflowInput<`${typeof PREFIX}RfqPlaceBid`>,
  moment: Moment,
  reads: Reads,
): Promise<Judgement> {
  const { snapshot, principal } = moment
  const row = rfqOf(snapshot, input)
  const reasons = [...judgeBidder(row, moment), ...judgeTerms(input, row, moment)]
  if (row !== undefined && isBookFull(row, BigInt(input.bidAssets))) reasons.push('rfq_book_full')
  const costAssets = BigInt(input.bidAssets)
  reasons.push(...(await judgeBalance(row, principal, costAssets, reads)))
  if (reasons.length > 0) return blocked(row ?? null, reasons)
  invariant(row !== undefined && principal !== null, 'a bid that may pass has its RFQ and its bidder')
  const args = [BigInt(row.rfqId), costAssets, BigInt(input.expiresTimestamp)] as const
  const calldata = encodeFunctionData({ abi, functionName: 'placeBid', args })
  return passed(
    row,
    intents(reads.chainId, [
      approval(row.quoteAssetAddress, row.rfqAddress, costAssets),
      { target: row.rfqAddress, calldata, label: `Bid ${costAssets} base units on RFQ ${row.rfqId}` },
    ]),
    [
      {
        entityType: 'rfq_bidder',
        entityId: entityIdOf(row.id, principal),
        field: 'bidCount',
        expected: { op: 'gte', value: String(bidsOf(row, principal).length + 1) },
      },
    ],
  )
}

async function replaceBid(
  input: WorkflowInput<`${typeof PREFIX}RfqReplaceBid`>,
  moment: Moment,
  reads: Reads,
): Promise<Judgement> {
  const { snapshot, principal } = moment
  const row = rfqOf(snapshot, input)
  const bid = bidOf(row, input)
  const reasons = [
    ...judgeBidder(row, moment),
    ...judgeOwn(row, bid, principal, 'change'),
    ...judgeTerms(input, row, moment),
  ]
  const costAssets = BigInt(input.bidAssets) - BigInt(bid?.assets ?? 0)
  reasons.push(...(await judgeBalance(row, principal, costAssets, reads)))
  if (reasons.length > 0) return blocked(row ?? null, reasons)
  invariant(row !== undefined && bid !== undefined, 'a bid that may be replaced is there')
  const [assets, expiresS] = [BigInt(input.bidAssets), BigInt(input.expiresTimestamp)]
  const args = [BigInt(bid.bidId), assets, expiresS] as const
  const calldata = encodeFunctionData({ abi, functionName: 'replaceBid', args })
  const label = `Replace bid ${bid.bidId} by ${assets} base units`
  return passed(
    row,
    intents(reads.chainId, [
      ...(costAssets > 0n ? [approval(row.quoteAssetAddress, row.rfqAddress, costAssets)] : []),
      { target: row.rfqAddress, calldata, label },
    ]),
    [
      bidBecomes(bid, 'assets', String(assets)),
      bidBecomes(bid, 'expiresAt', new Date(Number(expiresS) * 1_000).toISOString()),
    ],
  )
}

function cancelBid(
  input: WorkflowInput<`${typeof PREFIX}RfqCancelBid`>,
  moment: Moment,
  reads: Reads,
): Judgement {
  const row = rfqOf(moment.snapshot, input)
  const bid = bidOf(row, input)
  const reasons = [...judgeBidder(row, moment), ...judgeOwn(row, bid, moment.principal, 'change')]
  if (reasons.length > 0) return blocked(row ?? null, reasons)
  invariant(row !== undefined && bid !== undefined, 'a bid that may be cancelled is there')
  const calldata = encodeFunctionData({ abi, functionName: 'cancelBid', args: [BigInt(bid.bidId)] })
  const label = `Cancel bid ${bid.bidId}`
  return passed(row, intents(reads.chainId, [{ target: row.rfqAddress, calldata, label }]), [
    bidBecomes(bid, 'status', 'cancelled'),
  ])
}

function finalize(
  input: WorkflowInput<`${typeof PREFIX}RfqFinalize`>,
  { snapshot, freshness, principal }: Moment,
  reads: Reads,
): Judgement {
  const row = rfqOf(snapshot, input)
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (row === undefined) reasons.push('rfq_not_found')
  else if (row.status === 'open') reasons.push('rfq_not_closed')
  else if (isFinalized(row)) reasons.push('rfq_already_finalized')
  if (reasons.length > 0) return blocked(row ?? null, reasons)
  invariant(row !== undefined, 'an RFQ that may be finalized is there')
  const calldata = encodeFunctionData({ abi, functionName: 'finalize', args: [BigInt(row.rfqId)] })
  const label = `Finalize RFQ ${row.rfqId}`
  return passed(row, intents(reads.chainId, [{ target: row.rfqAddress, calldata, label }]), [
    { entityType: 'rfq', entityId: row.id, field: 'finalized', expected: true },
  ])
}

function claimRefund(
  input: WorkflowInput<`${typeof PREFIX}RfqClaimRefund`>,
  { snapshot, freshness, principal }: Moment,
  reads: Reads,
): Judgement {
  const row = rfqOf(snapshot, input)
  const bid = bidOf(row, input)
  const reasons = [...staleness(freshness), ...judgeOwn(row, bid, principal, 'refund')]
  if (principal === null) reasons.push('principal_required')
  if (row === undefined) reasons.push('rfq_not_found')
  if (reasons.length > 0) return blocked(row ?? null, reasons)
  invariant(row !== undefined && bid !== undefined, 'a bid that may be refunded is there')
  const calldata = encodeFunctionData({ abi, functionName: 'claimRefund', args: [BigInt(bid.bidId)] })
  const label = `Take back the escrow of bid ${bid.bidId}`
  return passed(row, intents(reads.chainId, [{ target: row.rfqAddress, calldata, label }]), [
    bidBecomes(bid, 'status', 'refunded'),
  ])
}

const bidBecomes = (bid: RfqBidResource, field: 'status' | 'assets' | 'expiresAt', expected: string) => ({
  entityType: 'rfq_bid',
  entityId: bid.id,
  field,
  expected,
})

const bidOf = (row: RfqResource | undefined, { bidId }: { readonly bidId: string }) =>
  row?.bids.find((bid) => BigInt(bid.bidId) === BigInt(bidId))

/** Why no bid may be placed or changed now. */
function judgeBidder(row: RfqResource | undefined, { freshness, principal }: Moment): string[] {
  const reasons = staleness(freshness)
  if (principal === null) reasons.push('principal_required')
  if (row === undefined) reasons.push('rfq_not_found')
  else if (row.status !== 'open') reasons.push('rfq_closed')
  return reasons
}

function judgeOwn(
  row: RfqResource | undefined,
  bid: RfqBidResource | undefined,
  principal: Address | null,
  to: 'change' | 'refund',
): string[] {
  if (row === undefined || principal === null) return []
  if (bid === undefined) return ['bid_not_found']
  if (!same(bid.bidderAddress, principal)) return ['bid_not_yours']
  if (to === 'refund') return bid.refundable ? [] : ['bid_not_refundable']
  return isBooked(bid) ? [] : ['bid_not_live']
}

function judgeTerms(
  { bidAssets, expiresTimestamp }: { readonly bidAssets: string; readonly expiresTimestamp: string },
  row: RfqResource | undefined,
  { snapshot }: Moment,
): string[] {
  const reasons = []
  if (row !== undefined && BigInt(bidAssets) < BigInt(row.reserveAssets)) reasons.push('below_reserve')
  const leftS = BigInt(expiresTimestamp) - BigInt(snapshot.block.timestampS)
  if (leftS <= 0n) reasons.push('bid_expiry_passed')
  if (leftS > BINDING_SECONDS_MAX) reasons.push('bid_expiry_too_late')
  return reasons
}

async function judgeBalance(
  row: RfqResource | undefined,
  principal: Address | null,
  costAssets: bigint,
  reads: Reads,
): Promise<readonly string[]> {
  if (row === undefined || principal === null || costAssets <= 0n) return []
  const balance = await reads.balanceOf(row.quoteAssetAddress, principal)
  return balance < costAssets ? ['principal_balance_too_small'] : []
}

/** An expired bid gives up its place to any. */
function isBookFull({ bids }: RfqResource, assets: bigint): boolean {
  const booked = bids.filter(isBooked)
  return (
    booked.length >= BOOK_PLACES &&
    booked.every((bid) => bid.status === 'live' && BigInt(bid.assets) >= assets)
  )
}

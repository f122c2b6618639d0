import { type Address, decodeFunctionData, erc20Abi, maxUint256 } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { rfqDeskAbi } from '../../../../sandbox/contracts/abis.ts'
import type { PreparedWorkflow } from '../../../../src/service/contract/prepared-workflow.ts'
import { rfqResource } from '../../../../src/service/contract/trade-resources.ts'
import { inOrder } from '../../../support/in-order.ts'
import { SENT, usd } from '../../indexer/scene.ts'
import { createWorkflowScene, type WorkflowScene } from './scene.ts'

const TYPE = 'role.lender.distressedRecoveryFundV3'

let world: WorkflowScene
let desk: Address
let seller: Address
let ann: Address
let bob: Address

beforeAll(async () => {
  world = await createWorkflowScene()
  desk = world.scene.at('rfqDesk')
  seller = await world.trader({ sETH: 10n ** 20n }, [desk])
  ann = await world.trader({ sUSD: usd('100000') })
  bob = await world.trader({ sUSD: usd('100000') }, [desk])
})
afterAll(() => world.stop())
afterEach(() => expect(world.crashes).toEqual([]))

const ofDesk = () => ({ address: desk, abi: rfqDeskAbi, ...SENT }) as const
const reserve = usd('4000')

/** Open an RFQ for one sETH, and say its number and its close. */
async function open(seconds: bigint) {
  const { client, at } = world.scene
  const { timestamp } = await client.getBlock()
  const closesAt = timestamp + seconds
  const args = [0n, at('sETH'), 10n ** 18n, at('sUSD'), reserve, closesAt] as const
  await client.writeContractSync({ ...ofDesk(), account: seller, functionName: 'open', args })
  const rfqId = await client.readContract({ ...ofDesk(), functionName: 'lastRfqId' })
  return { rfqAddress: desk, rfqId: String(rfqId), closesAt }
}
const placed = async (who: Address, rfqId: string, assets: bigint, expiresAt: bigint) => {
  const args = [BigInt(rfqId), assets, expiresAt] as const
  await world.scene.client.writeContractSync({
    ...ofDesk(),
    account: who,
    functionName: 'placeBid',
    args,
  })
  return String(await world.scene.client.readContract({ ...ofDesk(), functionName: 'lastBidId' }))
}
const rowOf = async (rfqId: string) => {
  const { rfqs } = await world.scene.caughtUp(world.canonical)
  return rfqResource.parse(rfqs.find((row) => row.rfqId === rfqId))
}
const balanceOf = (who: Address) =>
  world.scene.client.readContract({
    address: world.scene.at('sUSD'),
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [who],
  })
/** What the intents approve, where the first one approves something. */
const approvedIn = ({ transactions: [first] }: PreparedWorkflow) => {
  const { functionName, args } = decodeFunctionData({
    abi: [...erc20Abi, ...rfqDeskAbi],
    data: first?.calldata ?? '0x',
  })
  return functionName === 'approve' ? args[1] : null
}

inOrder('the bids of one RFQ', () => {
  test('a bid is placed, raised, lowered and cancelled, each to final success with exact approvals', async () => {
    const { rfqId, closesAt } = await open(600n)
    const rfq = { rfqAddress: desk, rfqId }
    const terms = (bidAssets: bigint, expiresAt = closesAt + 60n) => ({
      ...rfq,
      bidAssets: String(bidAssets),
      expiresTimestamp: String(expiresAt),
    })
    const place = await world.prepare(`${TYPE}RfqPlaceBid`, ann, terms(reserve))
    expect(approvedIn(place)).toBe(reserve)
    expect((await world.carryOut(place, ann)).status).toBe('final_success')
    const [bid] = (await rowOf(rfqId)).bids
    expect(bid).toMatchObject({ bidderAddress: ann.toLowerCase(), assets: String(reserve), status: 'live' })
    const own = { ...rfq, bidId: bid?.bidId ?? '' }

    const raise = await world.prepare(`${TYPE}RfqReplaceBid`, ann, { ...terms(usd('5000')), ...own })
    expect(approvedIn(raise)).toBe(usd('1000'))
    expect((await world.carryOut(raise, ann)).status).toBe('final_success')
    expect(await balanceOf(ann)).toBe(usd('95000'))

    const lower = await world.prepare(`${TYPE}RfqReplaceBid`, ann, {
      ...terms(usd('4500'), closesAt + 5n),
      ...own,
    })
    expect([approvedIn(lower), lower.transactions.length]).toEqual([null, 1])
    expect((await world.carryOut(lower, ann)).status).toBe('final_success')
    expect((await rowOf(rfqId)).bids[0]).toMatchObject({
      assets: String(usd('4500')),
      expiresAt: new Date(Number(closesAt + 5n) * 1_000).toISOString(),
    })

    const cancel = await world.prepare(`${TYPE}RfqCancelBid`, ann, own)
    expect((await world.carryOut(cancel, ann)).status).toBe('final_success')
    expect(await balanceOf(ann)).toBe(usd('100000'))
    expect((await rowOf(rfqId)).bids[0]?.status).toBe('cancelled')
    for (const type of ['RfqCancelBid', 'RfqClaimRefund'] as const) {
      const reason = type === 'RfqCancelBid' ? 'bid_not_live' : 'bid_not_refundable'
      expect(await world.reasons(`${TYPE}${type}`, ann, own)).toEqual([reason])
    }
  })

  test('a closed RFQ is finalized, and the loser takes its escrow back', async () => {
    const { rfqId, closesAt } = await open(60n)
    const rfq = { rfqAddress: desk, rfqId }
    const bidId = await placed(bob, rfqId, usd('4100'), closesAt + 1_000n)
    const before = await balanceOf(bob)
    const place = await world.prepare(`${TYPE}RfqPlaceBid`, ann, {
      ...rfq,
      bidAssets: String(usd('4200')),
      expiresTimestamp: String(closesAt + 1_000n),
    })
    await world.carryOut(place, ann)
    expect(await world.reasons(`${TYPE}RfqFinalize`, ann, rfq)).toEqual(['rfq_not_closed'])
    expect(await world.reasons(`${TYPE}RfqClaimRefund`, bob, { ...rfq, bidId })).toEqual([
      'bid_not_refundable',
    ])
    await world.mineAt(closesAt)
    expect(await rowOf(rfqId)).toMatchObject({ status: 'closed', bestBidAssets: String(usd('4200')) })
    const finalize = await world.prepare(`${TYPE}RfqFinalize`, bob, rfq)
    expect((await world.carryOut(finalize, bob)).status).toBe('final_success')
    expect(await rowOf(rfqId)).toMatchObject({
      status: 'sold',
      winnerAddress: ann.toLowerCase(),
      proceedsAssets: String(usd('4200')),
      bids: [
        { bidId, status: 'lost', refundable: true },
        { status: 'won', refundable: false },
      ],
    })
    expect(await world.reasons(`${TYPE}RfqFinalize`, bob, rfq)).toEqual(['rfq_already_finalized'])
    const refund = await world.prepare(`${TYPE}RfqClaimRefund`, bob, { ...rfq, bidId })
    expect((await world.carryOut(refund, bob)).status).toBe('final_success')
    expect(await balanceOf(bob)).toBe(before + usd('4100'))
    const types = world.canonical
      .activity()
      .filter(({ resourceId }) => resourceId === `${desk}:${rfqId}`.toLowerCase())
    expect(types.map(({ type }) => type)).toEqual([
      'rfq_refund_claimed',
      'rfq_finalized',
      'rfq_bid_placed',
      'rfq_bid_placed',
      'rfq_opened',
    ])
  })

  test('each thing that stands in the way of a bid is named', async () => {
    const { rfqId, closesAt } = await open(60n)
    const bidId = await placed(bob, rfqId, usd('4100'), closesAt)
    const rfq = { rfqAddress: desk, rfqId }
    const terms = { ...rfq, bidAssets: String(usd('5000')), expiresTimestamp: String(closesAt + 60n) }
    const place = (changes: Partial<typeof terms>, who: Address | undefined = ann) =>
      world.reasons(`${TYPE}RfqPlaceBid`, who, { ...terms, ...changes })
    const replace = (changes: Partial<typeof terms & { bidId: string }>, who = bob) =>
      world.reasons(`${TYPE}RfqReplaceBid`, who, { ...terms, bidId, ...changes })

    const { timestamp } = await world.scene.client.getBlock()
    expect(await place({})).toEqual([])
    expect(await world.reasons(`${TYPE}RfqPlaceBid`, undefined, terms)).toEqual(['principal_required'])
    expect(await place({ rfqId: '999' })).toEqual(['rfq_not_found'])
    expect(await place({ rfqAddress: ann })).toEqual(['rfq_not_found'])
    expect(await place({ bidAssets: String(reserve - 1n) })).toEqual(['below_reserve'])
    expect(await place({ bidAssets: String(reserve) })).toEqual([])
    expect(await place({ bidAssets: String(usd('100001')) })).toEqual(['principal_balance_too_small'])
    expect(await place({ expiresTimestamp: String(timestamp) })).toEqual(['bid_expiry_passed'])
    expect(await place({ expiresTimestamp: String(maxUint256) })).toEqual(['bid_expiry_too_late'])
    expect(await place({ bidAssets: String(maxUint256) })).toEqual(['principal_balance_too_small'])
    expect(await replace({})).toEqual([])
    expect(await replace({}, ann)).toEqual(['bid_not_yours'])
    expect(await replace({ bidId: '999' })).toEqual(['bid_not_found'])
    expect(await world.reasons(`${TYPE}RfqCancelBid`, ann, { ...rfq, bidId })).toEqual(['bid_not_yours'])
    expect(await world.reasons(`${TYPE}RfqClaimRefund`, ann, { ...rfq, bidId })).toEqual(['bid_not_yours'])

    // A full book takes a bid that is better than its worst, and no other.
    for (let i = 1; i < 16; i++) await placed(bob, rfqId, usd('4100'), closesAt + 1n)
    expect(await place({ bidAssets: String(usd('4100')) })).toEqual(['rfq_book_full'])
    expect(await place({ bidAssets: String(usd('4100') + 1n) })).toEqual([])

    await world.mineAt(closesAt)
    const late = { expiresTimestamp: String(closesAt + 60n) }
    expect(await place(late)).toEqual(['rfq_closed'])
    expect(await replace(late)).toEqual(['rfq_closed'])
    expect(await world.reasons(`${TYPE}RfqCancelBid`, bob, { ...rfq, bidId })).toEqual(['rfq_closed'])
    // A bid that expired with the close is its bidder's again; one that was live then binds past its expiry.
    await world.mineAt(closesAt + 5n)
    const [expired, live] = (await rowOf(rfqId)).bids
    expect(expired).toMatchObject({ bidId, status: 'expired', refundable: true })
    expect(live).toMatchObject({ status: 'live', refundable: false })
    const bound = { ...rfq, bidId: live?.bidId ?? '' }
    expect(await world.reasons(`${TYPE}RfqClaimRefund`, bob, bound)).toEqual(['bid_not_refundable'])
    const refund = await world.prepare(`${TYPE}RfqClaimRefund`, bob, { ...rfq, bidId })
    expect((await world.carryOut(refund, bob)).status).toBe('final_success')
  })
})

import { type Address, decodeFunctionData, erc20Abi } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { recoveryAuctionAbi } from '../../../../sandbox/contracts/abis.ts'
import { auctionResource } from '../../../../src/service/contract/trade-resources.ts'
import { SENT, usd } from '../../indexer/scene.ts'
import { createWorkflowScene, type WorkflowScene } from './scene.ts'

const TYPE = 'role.lender.distressedRecoveryFundV3AuctionBid'

let world: WorkflowScene
let auction: Address
let ann: Address
let bob: Address
let closesAt: bigint
let lot: { readonly auctionAddress: Address; readonly lotId: string }

beforeAll(async () => {
  world = await createWorkflowScene()
  const { client, at } = world.scene
  auction = at('recoveryAuction')
  const seller = await world.trader({ sETH: 10n ** 18n }, [auction])
  ann = await world.trader({ sUSD: usd('10000') })
  bob = await world.trader({ sUSD: usd('10000') })
  closesAt = (await client.getBlock()).timestamp + 600n
  await client.writeContractSync({
    ...ofAuction(),
    account: seller,
    functionName: 'open',
    args: [0n, at('sETH'), 10n ** 18n, at('sUSD'), usd('4000'), closesAt],
  })
  lot = { auctionAddress: auction, lotId: '1' }
})
afterAll(() => world.stop())
afterEach(() => expect(world.crashes).toEqual([]))

const ofAuction = () => ({ address: auction, abi: recoveryAuctionAbi, ...SENT }) as const
const reasons = (bidAssets: bigint, who: Address | undefined = ann, changes: Partial<typeof lot> = {}) =>
  world.reasons(TYPE, who, { ...lot, bidAssets: String(bidAssets), ...changes })
/** Bid to final success, and say what was approved for it. */
async function bid(who: Address, assets: bigint): Promise<unknown> {
  const prepared = await world.prepare(TYPE, who, { ...lot, bidAssets: String(assets) })
  expect((await world.carryOut(prepared, who)).status).toBe('final_success')
  const data = prepared.transactions[0]?.calldata ?? '0x'
  return decodeFunctionData({ abi: erc20Abi, data }).args?.[1]
}

test('bids raise a lot to final success, each approved exactly; a reason names what stands in the way', async () => {
  const { client } = world.scene
  expect(await reasons(usd('4000') - 1n)).toEqual(['below_reserve'])
  expect(await reasons(usd('10001'))).toEqual(['principal_balance_too_small'])
  expect(await reasons(usd('5000'), ann, { lotId: '2' })).toEqual(['auction_lot_not_found'])
  expect(await world.reasons(TYPE, undefined, { ...lot, bidAssets: '4000000000' })).toEqual([
    'principal_required',
  ])

  expect(await bid(ann, usd('4000'))).toBe(usd('4000'))
  expect(await reasons(usd('4040') - 1n, bob)).toEqual(['below_increment'])
  expect(await bid(bob, usd('4040'))).toBe(usd('4040'))
  // Who leads pays only what it adds.
  expect(await reasons(usd('14041'), bob)).toEqual(['principal_balance_too_small'])
  expect(await bid(bob, usd('9000'))).toBe(usd('4960'))
  const [row] = (await world.scene.caughtUp(world.canonical)).auctions
  expect(auctionResource.parse(row)).toMatchObject({
    status: 'open',
    bestBidderAddress: bob.toLowerCase(),
    nextBidAssets: String(usd('9090')),
    bids: [{ status: 'outbid' }, { status: 'outbid' }, { status: 'leading' }],
    // Who was outbid has it back already.
    owed: [],
  })

  await world.mineAt(closesAt)
  expect(await reasons(usd('9100'), bob)).toEqual(['auction_lot_closed'])
  const call = { ...ofAuction(), account: ann } as const
  await client.writeContractSync({ ...call, functionName: 'settle', args: [1n] })
  const [settled] = (await world.scene.caughtUp(world.canonical)).auctions
  expect(settled).toMatchObject({ status: 'sold', winnerAddress: bob.toLowerCase(), owed: [] })
  expect(settled?.bids.at(-1)?.status).toBe('won')
})

import { type Address, keccak256, maxUint256, parseUnits, stringToHex } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { acquisitionHouseAbi, recoveryFundAbi } from '../../../../sandbox/contracts/abis.ts'
import { acquisitionResource } from '../../../../src/service/contract/trade-resources.ts'
import { inOrder } from '../../../support/in-order.ts'
import { BTC, SENT, usd } from '../../indexer/scene.ts'
import { createWorkflowScene, type WorkflowScene } from './scene.ts'

const TYPE = 'role.asset_manager.distressedRecoveryAcquisitionV3Bid'

let world: WorkflowScene
let fund: Address
let house: Address
let manager: Address
let seller: Address

beforeAll(async () => {
  world = await createWorkflowScene()
  const { scene } = world
  fund = scene.at('recoveryFund')
  house = scene.at('acquisitionHouse')
  manager = scene.deployment.assetManager
  await scene.client.impersonateAccount({ address: manager })
  await scene.client.setBalance({ address: manager, value: 10n ** 20n })
  seller = await world.trader({ sBTC: parseUnits('10', 8) }, [house])
  await scene.price(BTC, '60000')
  const { scheduledCloseAt } = await scene.client.readContract({
    ...ofFund(),
    functionName: 'epoch',
    args: [1n],
  })
  await world.mineAt(scheduledCloseAt)
  const closing = { ...ofFund(), account: scene.deployment.admin, functionName: 'closeEpoch' } as const
  await scene.client.writeContractSync(closing)
})
afterAll(() => world.stop())
afterEach(() => expect(world.crashes).toEqual([]))

const ofFund = () => ({ address: fund, abi: recoveryFundAbi, ...SENT }) as const
const ofHouse = () => ({ address: house, abi: acquisitionHouseAbi, ...SENT }) as const

/** Offer a tenth of an sBTC, worth 6,000 sUSD, from 4,000 on. */
async function offer(changes: { readonly lane?: string; readonly amount?: bigint } = {}) {
  const { client, at } = world.scene
  const lotId = (await client.readContract({ ...ofHouse(), functionName: 'lastLotId' })) + 1n
  const closesAt = (await client.getBlock()).timestamp + 60n
  const terms = {
    positionId: keccak256(stringToHex(`position ${lotId}`)),
    lane: stringToHex(changes.lane ?? 'liquid', { size: 32 }),
    market: at('btcMarket'),
    borrower: seller,
    asset: at('sBTC'),
    amount: changes.amount ?? parseUnits('0.1', 8),
    quoteAsset: at('sUSD'),
    reserveAssets: usd('4000'),
    closesAt,
  }
  await client.writeContractSync({ ...ofHouse(), account: seller, functionName: 'open', args: [terms] })
  return { lotId: String(lotId), closesAt }
}
const input = (lotId: string, bidAssets: bigint) => ({
  fundAddress: fund,
  acquisitionAddress: house,
  lotId,
  bidAssets: String(bidAssets),
})

inOrder('the bids of funds on one chain', () => {
  test('a fund bids to final success, wins, and holds what it bought', async () => {
    const { client } = world.scene
    const { lotId, closesAt } = await offer()
    const first = await world.prepare(TYPE, manager, input(lotId, usd('4000')))
    expect(first.transactions).toHaveLength(1)
    expect((await world.carryOut(first, manager)).status).toBe('final_success')
    expect(await world.reasons(TYPE, manager, input(lotId, usd('4000')))).toEqual(['not_above_best_bid'])
    const raised = await world.prepare(TYPE, manager, input(lotId, usd('4500')))
    expect((await world.carryOut(raised, manager)).status).toBe('final_success')

    await world.mineAt(closesAt)
    expect(await world.reasons(TYPE, manager, input(lotId, usd('5000')))).toEqual(['acquisition_lot_closed'])
    const award = { ...ofHouse(), account: seller, functionName: 'award', args: [BigInt(lotId)] } as const
    const { gasUsed } = await client.writeContractSync(award)
    // The notice included, with room in what the sandbox sends with.
    expect(gasUsed).toBeLessThan(600_000n)
    const { acquisitions, funds } = await world.scene.caughtUp(world.canonical)
    expect(acquisitionResource.parse(acquisitions.find((row) => row.lotId === lotId))).toMatchObject({
      status: 'awarded',
      lane: 'liquid',
      winnerAddress: fund.toLowerCase(),
      proceedsAssets: String(usd('4500')),
      bids: [
        { status: 'outbid', assets: String(usd('4000')) },
        { status: 'won', assets: String(usd('4500')) },
      ],
    })
    const row = funds.find(({ address }) => address === fund.toLowerCase())
    expect(row?.holdings).toMatchObject([{ transferPriceAssets: String(usd('4500')) }])
  })

  test('each thing that stands in the way of a bid is named, by the rows or by the fund itself', async () => {
    const { lotId } = await offer()
    // While an epoch is open, no deadline ends what the last one gave.
    const admin = { ...ofFund(), account: world.scene.deployment.admin } as const
    await world.scene.client.writeContractSync({ ...admin, functionName: 'openEpoch', args: [60n] })
    const reasons = (changes: Partial<ReturnType<typeof input>>, who: Address | undefined = manager) =>
      world.reasons(TYPE, who, { ...input(lotId, usd('5000')), ...changes })
    expect(await reasons({})).toEqual([])
    expect(await world.reasons(TYPE, undefined, input(lotId, usd('5000')))).toEqual(['principal_required'])
    expect(await reasons({}, seller)).toEqual(['principal_not_manager'])
    expect(await reasons({ fundAddress: seller })).toEqual(['fund_not_found'])
    expect(await reasons({ lotId: '999' })).toEqual(['acquisition_lot_not_found'])
    expect(await reasons({ bidAssets: String(usd('4000') - 1n) })).toEqual(['below_reserve'])
    expect(await reasons({ bidAssets: String(maxUint256) })).toEqual(['insufficient_idle'])
    // At 95 % of what the market says, and one past.
    expect(await reasons({ bidAssets: String(usd('5700')) })).toEqual([])
    expect(await reasons({ bidAssets: String(usd('5700') + 1n) })).toEqual(['above_price_limit'])
    const large = await offer({ amount: parseUnits('9', 8) })
    expect(await reasons({ lotId: large.lotId, bidAssets: String(usd('125000') + 1n) })).toEqual([
      'above_position_limit',
    ])
    const odd = await offer({ lane: 'scenic' })
    expect(await reasons({ lotId: odd.lotId })).toEqual(['unknown_lane'])
    const setting = { ...ofFund(), account: manager, functionName: 'setPurchasesEnabled' } as const
    await world.scene.client.writeContractSync({ ...setting, args: [false] })
    expect(await reasons({})).toEqual(['purchases_disabled'])
  })
})

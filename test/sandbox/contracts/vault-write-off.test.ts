import { type Address, getAddress, type Hex, toFunctionSelector } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { by, createWorld, from, never, refusal, usd, type World } from './world.ts'

let world: World
let vault: Awaited<ReturnType<World['newVault']>>
let ann: Address
let eth: Address
let btc: Address
let snapshot: Hex

const OPEN = { approved: true, allocationEnabled: true, relativeCapBps: 10_000, absoluteCapAssets: never }
const SHUT = { approved: false, allocationEnabled: false, relativeCapBps: 0, absoluteCapAssets: 0n }

beforeAll(async () => {
  world = await createWorld()
  vault = await world.newVault()
  const { market, contracts, admin } = world
  eth = market.address
  btc = contracts.btcMarket.address
  ann = await world.person(usd('1000'), 0n)
  await world.sUSD.write.approve([vault.address, never], by(ann))
  for (const address of [eth, btc]) {
    await world.client.writeContract({
      ...by(admin),
      address,
      abi: market.abi,
      functionName: 'addVault',
      args: [vault.address],
    })
    await vault.write.setListing([address, OPEN], by(admin))
  }
  await vault.write.setFeeConfig([100, 1_000, admin], by(admin))
  await vault.write.setCuratorFee([500, admin], by(admin))
  await vault.write.setRouting([[eth, btc]], by(admin))
  await vault.write.deposit([usd('600'), ann], by(ann))
  await vault.write.reallocate(
    [[{ market: eth, assets: usd('200') }], [{ market: btc, assets: usd('100') }]],
    by(admin),
  )
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

/** Codes that answer no more: they revert, use all gas, are gone, answer nothing, revert with a megabyte, or overflow the sum. */
const BRICKED: Readonly<Record<string, Hex>> = {
  reverts: '0x5f5ffd',
  'uses all gas': '0xfe',
  'is gone': '0x',
  'answers nothing': '0x00',
  'reverts with a megabyte': '0x621000005ffd',
  'says more than there can be': '0x5f195f5260205ff3',
}

test.each(Object.entries(BRICKED))(
  'a market that %s stops the vault, and its owner alone can leave it',
  async (_, bytecode) => {
    const { client, admin } = world
    await client.setCode({ address: eth, bytecode })
    for (const call of [
      () => vault.read.totalAssets(),
      () => vault.simulate.deposit([usd('1'), ann], from(ann)),
      () => vault.simulate.withdraw([usd('1'), ann, ann], from(ann)),
      () => vault.simulate.deallocate([btc, usd('1')], from(admin)),
      () => vault.simulate.setListing([eth, SHUT], from(admin)),
    ]) {
      await expect(call()).rejects.toThrow()
    }
    expect((await refusal(vault.simulate.writeOff([eth], from(ann))))[0]).toBe(
      'AccessControlUnauthorizedAccount',
    )
    const hash = await vault.write.writeOff([eth], by(admin))
    const { blockNumber } = await client.getTransactionReceipt({ hash })
    const [left] = await vault.getEvents.MarketWrittenOff({}, { fromBlock: blockNumber })
    const [listed] = await vault.getEvents.ListingSet({}, { fromBlock: blockNumber })
    expect(left?.args).toEqual({ market: getAddress(eth) })
    expect(listed?.args).toEqual({ market: getAddress(eth), ...SHUT })

    // What lies idle and in the other market is left; the loss pays no fee, and all goes on.
    expect(await vault.read.markets()).toEqual([getAddress(btc)])
    expect(await vault.read.listing([eth])).toEqual(SHUT)
    const total = await vault.read.totalAssets()
    expect(total).toBeGreaterThanOrEqual(usd('200'))
    expect(total).toBeLessThan(usd('200.01'))
    const fees = await vault.read.accruedFees()
    await vault.write.deposit([usd('100'), ann], by(ann))
    expect((await vault.read.accruedFees()).slice(1)).toEqual(fees.slice(1))
    expect(await vault.read.idleAssets()).toBe(usd('100'))
    await vault.write.withdraw([usd('50'), ann, ann], by(ann))
    await vault.write.deallocate([btc, usd('100')], by(admin))
  },
)

test('a market that answers, or that is not listed, is not written off', async () => {
  const { admin, client } = world
  const off = (market: Address) => refusal(vault.simulate.writeOff([market], from(admin)))
  expect(await off(eth)).toEqual(['MarketAnswers', getAddress(eth)])
  // Not for too little gas either: what the view would lack is not there for the rest.
  for (let gas = 40_000n; gas <= 140_000n; gas += 2_500n) {
    const call = { address: vault.address, abi: vault.abi, functionName: 'writeOff', args: [eth] } as const
    await expect(client.simulateContract({ ...call, ...from(admin), gas })).rejects.toThrow()
  }
  await client.setCode({ address: ann, bytecode: '0xfe' })
  expect(await off(ann)).toEqual(['MarketNotListed', getAddress(ann)])
  // One that is there again is listed again, with what it holds.
  const code = await client.getCode({ address: eth })
  if (code === undefined) throw new TypeError('The market has a code.')
  const before = await vault.read.totalAssets()
  await client.setCode({ address: eth, bytecode: '0xfe' })
  await vault.write.writeOff([eth], by(admin))
  await client.setCode({ address: eth, bytecode: code })
  await vault.write.setListing([eth, OPEN], by(admin))
  expect(await vault.read.totalAssets()).toBeGreaterThanOrEqual(before)
})

test('what was written off and comes back pays no fee that was set meanwhile', async () => {
  const { admin, client } = world
  const code = await client.getCode({ address: eth })
  if (code === undefined) throw new TypeError('The market has a code.')
  await vault.write.setFeeConfig([0, 0, admin], by(admin))
  await vault.write.setCuratorFee([0, admin], by(admin))
  // Gained while nothing is charged on it.
  const giver = await world.person(usd('600'), 0n)
  await world.sUSD.write.transfer([vault.address, usd('600')], by(giver))
  await vault.write.allocate([eth, usd('600')], by(admin))
  await client.setCode({ address: eth, bytecode: '0xfe' })
  await vault.write.writeOff([eth], by(admin))
  await client.setCode({ address: eth, bytecode: code })
  await vault.write.setFeeConfig([0, 1_000, admin], by(admin))
  const [, before] = await vault.read.accruedFees()
  await vault.write.setListing([eth, OPEN], by(admin))
  await vault.write.accrueFees(by(admin))
  const [, performance] = await vault.read.accruedFees()
  expect(performance - before).toBeLessThan(usd('0.01'))
})

test('a market on the routing that does not say whether it is paused is passed over', async () => {
  const { admin, client } = world
  await vault.write.setRouting([[eth]], by(admin))
  // `allocatedAssets` is 300 there; all else reverts.
  const selector = toFunctionSelector('function allocatedAssets(address)').slice(2)
  const bytecode: Hex = `0x5f3560e01c63${selector}146011575f5ffd5b6311e1a3005f5260205ff3`
  await client.setCode({ address: eth, bytecode })
  const idle = await vault.read.idleAssets()
  await vault.write.deposit([usd('10'), ann], by(ann))
  expect(await vault.read.idleAssets()).toBe(idle + usd('10'))
})

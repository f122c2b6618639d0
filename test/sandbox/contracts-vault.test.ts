import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { by, createWorld, from, refusal, usd, type World } from './contracts-world.ts'

let world: World
let ann: Address
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createWorld()
  ann = await world.person(usd('1000000'), 0n)
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

test('allocates up to the cap and not one unit more', async () => {
  const { growth, market, allocator } = world
  const room = usd('500000')
  await growth.simulate.allocate([market.address, room], from(allocator))
  expect(await refusal(growth.simulate.allocate([market.address, room + 1n], from(allocator)))).toEqual([
    'AboveCap',
    usd('2000000') + 1n,
    usd('2000000'),
  ])
})

test('only the allocator moves assets and only the admin sets caps', async () => {
  const { prime, market, admin, allocator, contracts } = world
  const refused = ['AccessControlUnauthorizedAccount', ann, expect.any(String)]
  expect(await refusal(prime.simulate.allocate([market.address, 1n], from(ann)))).toEqual(refused)
  expect(await refusal(prime.simulate.deallocate([market.address, 1n], from(ann)))).toEqual(refused)
  expect(await refusal(prime.simulate.setCap([market.address, 1n], from(ann)))).toEqual(refused)
  const unlisted = world.growth.simulate.allocate([contracts.btcMarket.address, 1n], from(allocator))
  expect(await refusal(unlisted)).toEqual(['MarketNotListed', contracts.btcMarket.address])
  await prime.write.setCap([market.address, 0n], by(admin))
  expect(await prime.read.markets()).toContain(market.address)
})

test('a cap of zero unlists a market that holds nothing', async () => {
  const { prime, market, admin, allocator } = world
  await prime.write.deallocate([market.address, usd('1000000')], by(allocator))
  await prime.write.setCap([market.address, 0n], by(admin))
  expect(await prime.read.markets()).not.toContain(market.address)
  expect(await prime.read.totalAssets()).toBe(usd('5000000'))
})

test('withdrawals are limited to idle assets, and say so', async () => {
  const { prime, admin } = world
  const idle = await prime.read.idleAssets()
  expect(await prime.read.maxWithdraw([admin])).toBe(idle)
  await prime.simulate.withdraw([idle, admin, admin], from(admin))
  expect(await refusal(prime.simulate.withdraw([idle + 1n, admin, admin], from(admin)))).toEqual([
    'ERC4626ExceededMaxWithdraw',
    admin,
    idle + 1n,
    idle,
  ])
  const shares = await prime.read.maxRedeem([admin])
  await prime.simulate.redeem([shares, admin, admin], from(admin))
  expect(await refusal(prime.simulate.redeem([shares + 1n, admin, admin], from(admin)))).toEqual([
    'ERC4626ExceededMaxRedeem',
    admin,
    shares + 1n,
    shares,
  ])
})

test('inflating the price of an empty vault costs the attacker and spares the depositor', async () => {
  const { sUSD } = world
  const eve = await world.person(usd('200000'), 0n)
  const vault = await world.newVault()
  await sUSD.write.approve([vault.address, usd('200000')], by(eve))
  await sUSD.write.approve([vault.address, usd('10000')], by(ann))

  await vault.write.deposit([1n, eve], by(eve))
  await sUSD.write.transfer([vault.address, usd('100000')], by(eve))
  await vault.write.deposit([usd('10000'), ann], by(ann))
  const annGets = await vault.read.previewRedeem([await vault.read.balanceOf([ann])])
  const eveGets = await vault.read.previewRedeem([await vault.read.balanceOf([eve])])
  // Less than a thousandth lost, and most of the donation with it.
  expect(annGets).toBeGreaterThan(usd('9990'))
  expect(eveGets).toBeLessThan(usd('60000'))
})

test('the lens says of a vault what the vault says', async () => {
  const { prime, lens, market, contracts, sUSD } = world
  const state = await lens.read.vault([prime.address])
  expect(state).toMatchObject({
    asset: { token: sUSD.address, name: 'Sandbox USD', symbol: 'sUSD', decimals: 6 },
    name: 'Sandbox Prime Vault',
    decimals: 12,
    totalAssets: usd('5000000'),
    totalSupply: await prime.read.totalSupply(),
    idleAssets: usd('1000000'),
    allocations: [
      { market: contracts.btcMarket.address, capAssets: usd('4000000'), allocatedAssets: usd('3000000') },
      { market: market.address, capAssets: usd('2000000'), allocatedAssets: usd('1000000') },
    ],
  })
})

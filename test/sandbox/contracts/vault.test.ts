import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { by, createWorld, EXIT_AT_ONCE, from, refusal, usd, type World } from './world.ts'

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

const listing = { approved: true, allocationEnabled: true, relativeCapBps: 10_000, absoluteCapAssets: 0n }

test('allocates up to the absolute cap and not one unit more', async () => {
  const { growth, market, allocator } = world
  const room = usd('500000')
  await growth.simulate.allocate([market.address, room], from(allocator))
  expect(await refusal(growth.simulate.allocate([market.address, room + 1n], from(allocator)))).toEqual([
    'AboveAbsoluteCap',
    usd('2000000') + 1n,
    usd('2000000'),
  ])
})

test('allocates up to the relative cap and not one unit more', async () => {
  const { growth, market, admin, allocator } = world
  const terms = { ...listing, relativeCapBps: 8_000, absoluteCapAssets: usd('2000000') }
  await growth.write.setListing([market.address, terms], by(admin))
  const room = usd('100000')
  await growth.simulate.allocate([market.address, room], from(allocator))
  expect(await refusal(growth.simulate.allocate([market.address, room + 1n], from(allocator)))).toEqual([
    'AboveRelativeCap',
    usd('1600000') + 1n,
    usd('1600000'),
  ])
})

test('allocates down to the buffer and what the queue needs, and not one unit further', async () => {
  const { prime, market, admin, allocator } = world
  const terms = { ...listing, absoluteCapAssets: usd('5000000') }
  await prime.write.setListing([market.address, terms], by(admin))
  await prime.write.requestWithdrawal([await prime.read.convertToShares([usd('100000')]), ann], by(admin))
  const room = usd('650000')
  await prime.simulate.allocate([market.address, room], from(allocator))
  expect(await refusal(prime.simulate.allocate([market.address, room + 1n], from(allocator)))).toEqual([
    'BelowLiquidityBuffer',
    usd('350000') - 1n,
    usd('350000'),
  ])
})

test('only the allocator moves assets and only the owner lists markets', async () => {
  const { prime, market, admin, allocator, contracts } = world
  const refused = ['AccessControlUnauthorizedAccount', ann, expect.any(String)]
  const move = { market: market.address, assets: 1n }
  for (const call of [
    () => prime.simulate.allocate([market.address, 1n], from(ann)),
    () => prime.simulate.deallocate([market.address, 1n], from(ann)),
    () => prime.simulate.reallocate([[move], []], from(ann)),
    () => prime.simulate.setListing([market.address, listing], from(ann)),
    () => prime.simulate.setSettings([1, EXIT_AT_ONCE, 0n, 0n], from(ann)),
    () => prime.simulate.lockTightening(from(ann)),
  ]) {
    expect(await refusal(call())).toEqual(refused)
  }
  const unlisted = world.growth.simulate.allocate([contracts.btcMarket.address, 1n], from(allocator))
  expect(await refusal(unlisted)).toEqual(['MarketNotListed', contracts.btcMarket.address])
  const supply = () => refusal(prime.simulate.allocate([market.address, 1n], from(allocator)))
  const disabled = { ...listing, allocationEnabled: false, absoluteCapAssets: usd('5000000') }
  await prime.write.setListing([market.address, disabled], by(admin))
  expect(await supply()).toEqual(['AllocationDisabled', market.address])
  await prime.write.setListing([market.address, { ...disabled, approved: false }], by(admin))
  expect(await supply()).toEqual(['MarketNotApproved', market.address])
  // It stays listed while it holds something, which can still be recalled.
  expect(await prime.read.markets()).toContain(market.address)
  await prime.write.deallocate([market.address, usd('1000000')], by(allocator))
  await prime.write.setListing([market.address, { ...disabled, approved: false }], by(admin))
  expect(await prime.read.markets()).not.toContain(market.address)
  expect(await prime.read.totalAssets()).toBe(usd('5000000'))
})

test('a batch withdraws first, then supplies, and does all of it or nothing', async () => {
  const { prime, market, allocator, contracts } = world
  const [btc, eth] = [contracts.btcMarket.address, market.address]
  const allocated = () =>
    Promise.all([btc, eth].map(async (at) => (await stateOf(prime.address)).get(at.toLowerCase())))
  // More than was idle above the buffer: without the withdrawal it could not be supplied.
  const batch = [
    [{ market: btc, assets: usd('1000000') }],
    [{ market: eth, assets: usd('1000000') }],
  ] as const
  const before = await allocated()
  const tooMuch = [batch[0], [...batch[1], { market: eth, assets: 1n }]] as const
  expect(await refusal(prime.simulate.reallocate(tooMuch, from(allocator)))).toEqual([
    'AboveAbsoluteCap',
    usd('2000000') + 1n,
    usd('2000000'),
  ])
  await expect(prime.write.reallocate(tooMuch, by(allocator))).rejects.toThrow('Reverted')
  expect(await allocated()).toEqual(before)
  await prime.write.reallocate(batch, by(allocator))
  expect(await allocated()).toEqual([usd('2000000'), usd('2000000')])
  expect(await prime.read.idleAssets()).toBe(usd('1000000'))
  expect(await refusal(prime.simulate.reallocate([[], []], from(allocator)))).toEqual(['EmptyReallocation'])
})

async function stateOf(vault: Address): Promise<ReadonlyMap<string, bigint>> {
  const { allocations } = await world.lens.read.vault([vault])
  return new Map(allocations.map((one) => [one.market.toLowerCase(), one.allocatedAssets]))
}

test('withdrawals are limited to the idle assets that the queue does not need, and say so', async () => {
  const { prime, admin } = world
  await prime.write.requestWithdrawal([await prime.read.convertToShares([usd('400000')]), ann], by(admin))
  const idle = (await prime.read.idleAssets()) - usd('400000')
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
      {
        market: contracts.btcMarket.address,
        listing: { ...listing, relativeCapBps: 8_000, absoluteCapAssets: usd('4000000') },
        allocatedAssets: usd('3000000'),
        cashAssets: usd('3000000'),
      },
      { market: market.address, allocatedAssets: usd('1000000') },
    ],
  })
})

import { type Address, getAddress, zeroAddress, zeroHash } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { by, createWorld, EXIT_AT_ONCE, from, refusal, usd, type World } from './world.ts'

let world: World
let vault: Awaited<ReturnType<World['newVault']>>
let ann: Address
let ben: Address
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createWorld()
  await world.client.setBlockTimestampInterval({ interval: 1 })
  vault = await world.newVault()
  ann = await world.person(usd('1000'), 0n)
  ben = await world.person(0n, 0n)
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

const offer = (to: Address) => vault.write.beginDefaultAdminTransfer([to], by(world.admin))
const accept = (who: Address) => vault.write.acceptDefaultAdminTransfer(by(who))
/** Everything that only an owner may do. */
const ownersActs = (who: Address): Readonly<Record<string, () => Promise<unknown>>> => {
  const listing = {
    approved: true,
    allocationEnabled: true,
    relativeCapBps: 10_000,
    absoluteCapAssets: 1n,
  }
  return {
    list: () => vault.simulate.setListing([world.market.address, listing], from(who)),
    route: () => vault.simulate.setRouting([[]], from(who)),
    settings: () => vault.simulate.setSettings([0, EXIT_AT_ONCE, 0n, 0n], from(who)),
    fees: () => vault.simulate.setFeeConfig([0, 0, zeroAddress], from(who)),
    curatorFee: () => vault.simulate.setCuratorFee([0, zeroAddress], from(who)),
    lock: () => vault.simulate.lockTightening(from(who)),
    offer: () => vault.simulate.beginDefaultAdminTransfer([ann], from(who)),
    cancel: () => vault.simulate.cancelDefaultAdminTransfer(from(who)),
    grant: async () => vault.simulate.grantRole([await vault.read.CURATOR_ROLE(), ann], from(who)),
    revoke: async () => vault.simulate.revokeRole([await vault.read.MANAGER_ROLE(), world.admin], from(who)),
  }
}
async function expectOwner(owner: Address): Promise<void> {
  expect(await vault.read.owner()).toBe(getAddress(owner))
  for (const who of [world.admin, ann, ben]) {
    expect(await vault.read.hasRole([zeroHash, who])).toBe(getAddress(who) === getAddress(owner))
    for (const [name, act] of Object.entries(ownersActs(who))) {
      if (getAddress(who) === getAddress(owner)) await act()
      else expect((await refusal(act()))[0], name).toBe('AccessControlUnauthorizedAccount')
    }
  }
}

test('ownership passes in two steps: the offer alone changes nothing, and there is one owner before and after', async () => {
  const { admin, lens } = world
  await offer(ann)
  await expectOwner(admin)
  expect((await vault.read.pendingDefaultAdmin())[0]).toBe(getAddress(ann))
  const half = await lens.read.vault([vault.address])
  expect(half).toMatchObject({ owner: getAddress(admin), pendingOwner: getAddress(ann) })
  // Neither another nor the owner itself can take what was offered to somebody.
  for (const who of [ben, admin]) {
    expect(await refusal(vault.simulate.acceptDefaultAdminTransfer(from(who)))).toEqual([
      'AccessControlInvalidDefaultAdmin',
      getAddress(who),
    ])
  }
  await accept(ann)
  await expectOwner(ann)
  expect(await vault.read.pendingDefaultAdmin()).toEqual([zeroAddress, 0])
  expect((await refusal(vault.simulate.acceptDefaultAdminTransfer(from(ann))))[0]).toBe(
    'AccessControlInvalidDefaultAdmin',
  )
})

test('an offer can be accepted from the second after it, not in its own', async () => {
  await offer(ann)
  const { timestamp } = await world.client.getBlock()
  await world.client.setNextBlockTimestamp({ timestamp })
  await expect(accept(ann)).rejects.toThrow('Reverted')
  expect(await vault.read.owner()).toBe(getAddress(world.admin))
  await world.client.setNextBlockTimestamp({ timestamp: timestamp + 1n })
  await accept(ann)
  expect(await vault.read.owner()).toBe(getAddress(ann))
})

test('a cancelled or replaced offer cannot be accepted', async () => {
  await offer(ann)
  await vault.write.cancelDefaultAdminTransfer(by(world.admin))
  expect((await refusal(vault.simulate.acceptDefaultAdminTransfer(from(ann))))[0]).toBe(
    'AccessControlInvalidDefaultAdmin',
  )
  await offer(ann)
  await offer(ben)
  expect((await refusal(vault.simulate.acceptDefaultAdminTransfer(from(ann))))[0]).toBe(
    'AccessControlInvalidDefaultAdmin',
  )
  await accept(ben)
  await expectOwner(ben)
})

test('a vault is never without its owner: it can be offered to nobody, given up or doubled by no call', async () => {
  const { admin } = world
  expect(await refusal(vault.simulate.beginDefaultAdminTransfer([zeroAddress], from(admin)))).toEqual([
    'AccessControlInvalidDefaultAdmin',
    zeroAddress,
  ])
  for (const call of [
    () => vault.simulate.grantRole([zeroHash, ann], from(admin)),
    () => vault.simulate.revokeRole([zeroHash, admin], from(admin)),
  ]) {
    expect(await refusal(call())).toEqual(['AccessControlEnforcedDefaultAdminRules'])
  }
  for (const before of [() => Promise.resolve(), () => offer(ann)]) {
    await before()
    expect((await refusal(vault.simulate.renounceRole([zeroHash, admin], from(admin))))[0]).toBe(
      'AccessControlEnforcedDefaultAdminDelay',
    )
  }
})

test('no owner sets a delay that would outlive it', async () => {
  const { admin } = world
  for (const delay of [0, 1, 2 ** 48 - 1]) {
    expect(await refusal(vault.simulate.changeDefaultAdminDelay([delay], from(admin)))).toEqual([
      'AccessControlEnforcedDefaultAdminDelay',
      delay,
    ])
  }
  const offered = await offer(ann).then(() => vault.read.pendingDefaultAdmin())
  await vault.write.rollbackDefaultAdminDelay(by(admin))
  expect(await vault.read.pendingDefaultAdmin()).toEqual(offered)
  expect(await vault.read.pendingDefaultAdminDelay()).toEqual([0, 0])
  expect(await vault.read.defaultAdminDelay()).toBe(0)
  await accept(ann)
  expect(await vault.read.owner()).toBe(getAddress(ann))
  // Whoever owned it, and whoever does, can do no more.
  for (const [who, error] of [
    [admin, 'AccessControlUnauthorizedAccount'],
    [ann, 'AccessControlEnforcedDefaultAdminDelay'],
  ] as const) {
    expect((await refusal(vault.simulate.changeDefaultAdminDelay([1], from(who))))[0]).toBe(error)
  }
  expect((await refusal(vault.simulate.rollbackDefaultAdminDelay(from(admin))))[0]).toBe(
    'AccessControlUnauthorizedAccount',
  )
})

test('who passed the vault on keeps only roles, and the new owner can take those', async () => {
  const { admin, market } = world
  await offer(ann)
  await accept(ann)
  // The deployer was made allocator too, and stays it until it is revoked.
  expect((await refusal(vault.simulate.allocate([market.address, 1n], from(admin))))[0]).toBe(
    'MarketNotListed',
  )
  const allocator = await vault.read.ALLOCATOR_ROLE()
  await vault.write.revokeRole([allocator, admin], by(ann))
  for (const call of [
    () => vault.simulate.allocate([market.address, 1n], from(admin)),
    () => vault.simulate.deallocate([market.address, 1n], from(admin)),
    () => vault.simulate.reallocate([[], []], from(admin)),
  ]) {
    expect(await refusal(call())).toEqual(['AccessControlUnauthorizedAccount', getAddress(admin), allocator])
  }
  // The owner allocates without the role; who curates may not.
  await vault.write.grantRole([await vault.read.CURATOR_ROLE(), ben], by(ann))
  expect((await refusal(vault.simulate.allocate([market.address, 1n], from(ann))))[0]).toBe('MarketNotListed')
  expect((await refusal(vault.simulate.allocate([market.address, 1n], from(ben))))[0]).toBe(
    'AccessControlUnauthorizedAccount',
  )
})

test('the first event of a deployment says whose the vault is', async () => {
  const logs = await world.client.getLogs({ address: vault.address, fromBlock: 0n })
  const [first] = await vault.getEvents.VaultCreated({}, { fromBlock: 0n })
  expect(first?.logIndex).toBe(logs[0]?.logIndex)
  expect(first?.args).toMatchObject({ owner: getAddress(world.admin), asset: getAddress(world.sUSD.address) })
})

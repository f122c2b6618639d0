import {
  type Address,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  parseAbi,
} from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { deployHelper } from './deploy-helper.ts'
import { by, createWorld, EXIT_AT_ONCE, from, never, refusal, usd, type World } from './world.ts'

let world: World
let vault: Awaited<ReturnType<World['newVault']>>
let ann: Address
let snapshot: `0x${string}`
let eth: Address
let btc: Address

beforeAll(async () => {
  world = await createWorld()
  vault = await world.newVault()
  const { market, contracts, admin } = world
  eth = market.address
  btc = contracts.btcMarket.address
  ann = await world.person(usd('10000000'), 0n)
  await world.sUSD.write.approve([vault.address, never], by(ann))
  for (const address of [eth, btc]) {
    await marketAt(address).write.addVault([vault.address], by(admin))
    await list(address, usd('1000'), 10_000)
  }
  await vault.write.setRouting([[eth, btc]], by(admin))
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

const marketAt = (address: Address) => ({
  write: {
    addVault: (args: readonly [Address], options: ReturnType<typeof by>) =>
      world.client.writeContract({
        address,
        abi: world.market.abi,
        functionName: 'addVault',
        args,
        ...options,
      }),
    setPaused: (args: readonly [boolean], options: ReturnType<typeof by>) =>
      world.client.writeContract({
        address,
        abi: world.market.abi,
        functionName: 'setPaused',
        args,
        ...options,
      }),
  },
  allocated: () =>
    world.client.readContract({
      address,
      abi: world.market.abi,
      functionName: 'allocatedAssets',
      args: [vault.address],
    }),
})
const list = (market: Address, absoluteCapAssets: bigint, relativeCapBps: number, on = true) =>
  vault.write.setListing(
    [market, { approved: on, allocationEnabled: on, relativeCapBps, absoluteCapAssets }],
    by(world.admin),
  )
const deposit = (assets: bigint) => vault.write.deposit([assets, ann], by(ann))
/** What is in the sETH market, in the sBTC market, and idle. */
const spread = () =>
  Promise.all([marketAt(eth).allocated(), marketAt(btc).allocated(), vault.read.idleAssets()])

test('a deposit fills the markets in their order, each to its cap and not a unit further', async () => {
  await deposit(usd('1000') - 1n)
  expect(await spread()).toEqual([usd('1000') - 1n, 0n, 0n])
  await deposit(3n)
  expect(await spread()).toEqual([usd('1000'), 2n, 0n])
  await deposit(usd('2000'))
  expect(await spread()).toEqual([usd('1000'), usd('1000'), usd('1000') + 2n])
  expect(await vault.read.totalAssets()).toBe(usd('3000') + 2n)
  await vault.write.setRouting([[btc, eth]], by(world.admin))
  expect(await vault.read.routing()).toEqual([btc, eth].map((one) => getAddress(one)))
  await list(btc, usd('1500'), 10_000)
  // Only what is deposited is lent: what the allocator left idle stays.
  await deposit(usd('10'))
  expect(await spread()).toEqual([usd('1000'), usd('1010'), usd('1000') + 2n])
})

test('the relative cap counts the deposit itself', async () => {
  await list(eth, usd('1000'), 3_000)
  await list(btc, usd('1000'), 0)
  await deposit(usd('100'))
  expect(await spread()).toEqual([usd('30'), 0n, usd('70')])
})

test('the buffer and what the queue needs stay idle', async () => {
  const { admin } = world
  await vault.write.setSettings([1_000, EXIT_AT_ONCE, 0n, 0n], by(admin))
  await deposit(usd('100'))
  expect(await spread()).toEqual([usd('90'), 0n, usd('10')])
  await vault.write.requestWithdrawal([await vault.read.convertToShares([usd('40')]), ann], by(ann))
  await deposit(usd('100'))
  // A tenth of 200, and the 40 that are asked back.
  expect(await spread()).toEqual([usd('140'), 0n, usd('60')])
  await deposit(usd('1'))
  expect((await spread())[2]).toBe(usd('60.1'))
})

test('a market that is paused, full, delisted or refuses is passed over, and no deposit fails', async () => {
  const { admin } = world
  await marketAt(eth).write.setPaused([true], by(admin))
  await deposit(usd('1'))
  expect(await spread()).toEqual([0n, usd('1'), 0n])
  await marketAt(eth).write.setPaused([false], by(admin))
  await list(eth, usd('1000'), 10_000, false)
  await deposit(usd('1'))
  expect(await spread()).toEqual([0n, usd('2'), 0n])
  // A vault that lists the markets, which do not list it.
  const other = await world.newVault()
  const open = {
    approved: true,
    allocationEnabled: true,
    relativeCapBps: 10_000,
    absoluteCapAssets: never,
  }
  await other.write.setListing([eth, open], by(admin))
  await other.write.setRouting([[eth]], by(admin))
  await world.sUSD.write.approve([other.address, never], by(ann))
  await other.write.deposit([usd('5'), ann], by(ann))
  expect(await other.read.idleAssets()).toBe(usd('5'))
  expect(await world.sUSD.read.allowance([other.address, eth])).toBe(0n)
})

test('only listed markets are routed to, and so many at most', async () => {
  const { admin } = world
  const set = (markets: readonly Address[]) => refusal(vault.simulate.setRouting([markets], from(admin)))
  expect(await set([eth, ann])).toEqual(['MarketNotListed', getAddress(ann)])
  expect(await set([eth, btc, eth])).toEqual(['MarketRepeated', getAddress(eth)])
  expect(await set(Array(17).fill(eth))).toEqual(['MarketsFull'])
  await vault.write.setRouting([[]], by(admin))
  await deposit(usd('1'))
  expect(await spread()).toEqual([0n, 0n, usd('1')])
})

test('a deposit keeps its limits at and one past, however it is asked for', async () => {
  const { admin } = world
  const [min, max] = [usd('10'), usd('20')]
  await vault.write.setSettings([0, EXIT_AT_ONCE, min, max], by(admin))
  const ask = (assets: bigint) => vault.simulate.deposit([assets, ann], from(ann))
  await ask(min)
  await ask(max)
  expect(await refusal(ask(min - 1n))).toEqual(['DepositBelowMin', min - 1n, min])
  expect(await refusal(ask(max + 1n))).toEqual(['ERC4626ExceededMaxDeposit', getAddress(ann), max + 1n, max])
  const shares = await vault.read.maxMint([ann])
  expect(await vault.read.previewMint([shares])).toBe(max)
  await vault.simulate.mint([shares, ann], from(ann))
  expect((await refusal(vault.simulate.mint([shares + 1n, ann], from(ann))))[0]).toBe(
    'ERC4626ExceededMaxMint',
  )
  expect((await refusal(vault.simulate.mint([1n, ann], from(ann))))[0]).toBe('DepositBelowMin')
  const limits = (least: bigint, most: bigint) =>
    vault.simulate.setSettings([0, EXIT_AT_ONCE, least, most], from(admin))
  await limits(7n, 7n)
  expect(await refusal(limits(8n, 7n))).toEqual(['DepositLimitsOutOfRange', 8n, 7n])
  await vault.write.setSettings([0, EXIT_AT_ONCE, 0n, 0n], by(admin))
  await ask(usd('10000000'))
  // Without a limit, or with one beyond all assets, the views answer and do not overflow.
  await vault.write.setSettings([0, EXIT_AT_ONCE, 0n, 2n ** 255n], by(admin))
  expect(await vault.read.maxMint([ann])).toBe(2n ** 256n - 1n)
})

test('what comes and leaves in one transaction is refused once a market was supplied: its cap holds', async () => {
  const { admin, client, sUSD } = world
  const visitor = await deployHelper(world, 'Visitor')
  const abi = [
    ...parseAbi(['struct Call { address target; bytes data; }', 'function run(Call[] calls)']),
    ...vault.abi,
  ] as const
  type Call = { readonly target: Address; readonly data: Hex }
  const run = (calls: readonly Call[]) =>
    ({ address: visitor, abi, functionName: 'run', args: [calls] }) as const
  const tryOut = (...calls: readonly Call[]) => client.simulateContract({ ...run(calls), ...from(ann) })
  const doNow = (...calls: readonly Call[]) => client.writeContract({ ...run(calls), ...by(ann) })
  const atVault = (call: EncodeFunctionDataParameters<typeof vault.abi>): Call => ({
    target: vault.address,
    data: encodeFunctionData(call),
  })
  const put = (assets: bigint) =>
    atVault({ abi: vault.abi, functionName: 'deposit', args: [assets, visitor] })
  const take = (assets: bigint) =>
    atVault({ abi: vault.abi, functionName: 'withdraw', args: [assets, visitor, visitor] })
  const paid = [
    atVault({ abi: vault.abi, functionName: 'claimWithdrawal', args: [1n] }),
    atVault({ abi: vault.abi, functionName: 'processQueue', args: [1n] }),
  ]
  /** The sETH market's part of the vault, which its cap of a tenth bounds. */
  const partBps = async () => {
    const [lent, , idle] = await spread()
    return Number((lent * 10_000n) / (lent + idle))
  }
  await sUSD.write.mint([visitor, usd('9000')], by(admin))
  await doNow({
    target: sUSD.address,
    data: encodeFunctionData({ abi: sUSD.abi, functionName: 'approve', args: [vault.address, never] }),
  })
  await list(eth, usd('1000000'), 1_000)
  await vault.write.setRouting([[eth]], by(admin))
  await deposit(usd('1000'))
  expect(await partBps()).toBe(1_000)

  // 9,000 that are here for a moment would make a tenth of 10,000 of it: all that was idle.
  for (const leave of [take(usd('9000')), take(1n)]) {
    expect(await refusal(tryOut(put(usd('9000')), leave))).toEqual(['ReentrancyGuardReentrantCall'])
  }
  await vault.write.requestWithdrawal([await vault.read.convertToShares([usd('100')]), ann], by(ann))
  for (const leave of paid) {
    expect(await refusal(tryOut(put(usd('9000')), leave))).toEqual(['ReentrancyGuardReentrantCall'])
    await tryOut(leave)
    await tryOut(leave, put(usd('9000')))
  }
  await expect(doNow(put(usd('9000')), take(usd('9000')))).rejects.toThrow('Reverted')
  expect(await partBps()).toBe(1_000)

  // What stays, or what leaves before it comes, is lent within the cap; a transaction later it may leave.
  await doNow(put(usd('500')))
  await doNow(take(usd('50')), put(usd('50')))
  expect(await partBps()).toBeLessThanOrEqual(1_000)
  await doNow(take(usd('10')))
  // Where nothing was lent, nothing holds it back.
  await vault.write.setRouting([[]], by(admin))
  await doNow(put(usd('9')), take(usd('9')))
})

test('what is held for a block may have idle assets lent past a relative cap, by hand or routed, and never past the absolute one', async () => {
  const { admin, client } = world
  const ben = await world.person(usd('9000'), 0n)
  await world.sUSD.write.approve([vault.address, never], by(ben))
  await list(btc, usd('1000'), 0)
  const partBps = async () => {
    const [lent, , idle] = await spread()
    return Number((lent * 10_000n) / (lent + idle))
  }
  /** Come with nine times what is there, have something lent, and leave again, each in a block of its own. */
  const visit = async (lend: () => Promise<unknown>) => {
    const before = await client.snapshot()
    await vault.write.deposit([usd('9000'), ben], by(ben))
    await lend()
    await vault.write.redeem([await vault.read.balanceOf([ben]), ben, ben], by(ben))
    const part = await partBps()
    await client.revert({ id: before })
    return part
  }
  await vault.write.setRouting([[]], by(admin))
  await list(eth, usd('1000000'), 1_000)
  await deposit(usd('1000'))
  const allocated = (whole: string) => () => vault.write.allocate([eth, usd(whole)], by(admin))
  expect(await visit(allocated('1000'))).toBe(10_000)
  expect((await refusal(vault.simulate.allocate([eth, usd('101')], from(admin))))[0]).toBe('AboveRelativeCap')
  await vault.write.setRouting([[eth]], by(admin))
  expect(await visit(async () => {})).toBe(10_000)
  // With both caps set it lends no more than the absolute one says.
  await list(eth, usd('150'), 1_000)
  expect(await visit(async () => {})).toBe(1_500)
  await vault.write.setRouting([[]], by(admin))
  expect(await visit(allocated('150'))).toBe(1_500)
  expect(await visit(() => expect(allocated('151')()).rejects.toThrow('Reverted'))).toBe(0)
})

test('a market that takes nothing or a part of what it is supplied with has no claim on the rest', async () => {
  const { admin, client, sUSD } = world
  const shy = await deployHelper(world, 'ShyMarket', [sUSD.address])
  const abi = parseAbi(['function setTaken(uint256 bps)'])
  await list(shy, usd('1000'), 10_000)
  await vault.write.setRouting([[shy]], by(admin))
  for (const [bps, deposited, allocated] of [
    [0n, 0n, 0n],
    [5_000n, usd('50'), usd('75')],
  ] as const) {
    await client.writeContract({
      ...by(admin),
      address: shy,
      abi,
      functionName: 'setTaken',
      args: [bps],
    })
    await deposit(usd('100'))
    expect(await sUSD.read.balanceOf([shy])).toBe(deposited)
    expect(await sUSD.read.allowance([vault.address, shy])).toBe(0n)
    await vault.write.allocate([shy, usd('50')], by(admin))
    expect(await sUSD.read.balanceOf([shy])).toBe(allocated)
    expect(await sUSD.read.allowance([vault.address, shy])).toBe(0n)
  }
})

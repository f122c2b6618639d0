import { type Address, getAddress, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { EXIT_TERM_KIND } from '../../../sandbox/deploy/vault-plan.ts'
import { createFeeScene, DAY_S, type FeeScene, YEAR_S } from './fee-scene.ts'
import { by, createWorld, EXIT_AT_ONCE, from, never, refusal, usd, type World } from './world.ts'

let world: World
let scene: FeeScene
let channel: Awaited<ReturnType<FeeScene['newChannel']>>
let ann: Address
let ben: Address
let reseller: Address
let curator: Address
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createWorld()
  scene = await createFeeScene(world)
  ann = scene.holder
  ben = await world.person(usd('1000000'), 0n)
  reseller = await world.person(0n, 0n)
  curator = await world.person(0n, 0n)
  const fees = { resellerFeeBps: 100, borrowerFeeBps: 1_000, capAssets: usd('200000') }
  channel = await scene.newChannel({ reseller, curator, ...fees })
  for (const who of [ann, ben]) await world.sUSD.write.approve([channel.address, never], by(who))
  await channel.write.depositNow([usd('100000'), ann, 0n], by(ann))
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

const block = (account: Address) => channel.write.setBlocked([account, true], by(curator))
/** Everything that moves something, by or to somebody. */
const moves = (who: Address, to: Address): Readonly<Record<string, () => Promise<unknown>>> => ({
  deposit: () => channel.simulate.depositNow([usd('1'), to, 0n], from(who)),
  redeem: () => channel.simulate.redeemNow([10n ** 18n, to, 0n], from(who)),
  transfer: () => channel.simulate.transfer([to, 1n], from(who)),
})
const claims = (who: Address, to: Address): Readonly<Record<string, () => Promise<unknown>>> => ({
  feeShares: () => channel.simulate.claimFeeShares([1n, to], from(who)),
  borrowerFee: () => channel.simulate.claimBorrowerFee([to, 0n], from(who)),
})

test('a year and a gain are charged once, and each claim pays what was due and no more', async () => {
  await scene.later(YEAR_S)
  await world.client.mine({ blocks: 1 })
  // 1 % a year, to the share that rounds down.
  expect(await channel.read.convertToAssets([(await channel.read.feeShares()) + 10n ** 12n])).toBe(
    usd('1000'),
  )
  await scene.gain(usd('10000'))
  const due = await channel.read.borrowerFeeAssets()
  // A tenth of what the shares gained, after the reseller's part of them.
  expect(due).toBeGreaterThan(usd('989'))
  expect(due).toBeLessThanOrEqual(usd('990'))
  expect((await refusal(channel.simulate.claimBorrowerFee([ben, due + 2n], from(reseller))))[0]).toBe(
    'AssetsBelowMin',
  )
  const before = await world.sUSD.read.balanceOf([ben])
  await channel.write.claimBorrowerFee([ben, due - 1n], by(reseller))
  const paid = (await world.sUSD.read.balanceOf([ben])) - before
  expect(due - paid).toBeLessThanOrEqual(1n)
  expect(await channel.read.borrowerFeeClaimed()).toBe(paid)
  expect(await channel.read.borrowerFeeAssets()).toBe(0n)
  expect(await refusal(channel.simulate.claimBorrowerFee([ben, 0n], from(reseller)))).toEqual([
    'NothingToClaim',
  ])
  // A second more is due by the next block; what is minted is not more than that.
  const shares = await channel.read.feeShares()
  await channel.simulate.claimFeeShares([shares, ben], from(reseller))
  expect((await refusal(channel.simulate.claimFeeShares([shares * 2n, ben], from(reseller))))[0]).toBe(
    'AboveFeeShares',
  )
  await channel.write.claimFeeShares([shares, ben], by(reseller))
  expect(await channel.read.balanceOf([ben])).toBe(shares)
  expect(await channel.read.feeSharesClaimed()).toBe(shares)
  expect(await channel.read.feeShares()).toBeLessThan(shares / 1_000_000n)
})

test('a loss and its recovery pay no borrower fee', async () => {
  await scene.gain(usd('10000'))
  await channel.write.claimBorrowerFee([ben, 0n], by(reseller))
  await scene.lose(usd('50000'))
  await channel.write.redeemNow([10n ** 18n, ann, 0n], by(ann))
  await scene.gain(usd('49990'))
  expect(await channel.read.borrowerFeeAssets()).toBe(0n)
  expect(await refusal(channel.simulate.claimBorrowerFee([ben, 0n], from(reseller)))).toEqual([
    'NothingToClaim',
  ])
})

test('a blocked channel moves nothing, its fees accrue, and it goes on when let', async () => {
  await scene.gain(usd('10000'))
  await block(channel.address)
  const held = await Promise.all([
    channel.read.totalAssets(),
    channel.read.balanceOf([ann]),
    scene.vault.read.balanceOf([channel.address]),
  ])
  for (const [name, move] of Object.entries({ ...moves(ann, ann), ...moves(ann, ben) })) {
    expect((await refusal(move()))[0], name).toMatch(/AccountBlocked|ERC4626ExceededMax/)
  }
  for (const [name, claim] of Object.entries(claims(reseller, ben))) {
    expect(await refusal(claim()), name).toEqual(['AccountBlocked', getAddress(channel.address)])
  }
  const before = await channel.read.feeShares()
  await scene.later(YEAR_S)
  await world.client.mine({ blocks: 1 })
  expect(await channel.read.feeShares()).toBeGreaterThan(before)
  expect(
    await Promise.all([
      channel.read.totalAssets(),
      channel.read.balanceOf([ann]),
      scene.vault.read.balanceOf([channel.address]),
    ]),
  ).toEqual(held)
  await channel.write.setBlocked([channel.address, false], by(curator))
  for (const move of Object.values({ ...moves(ann, ann), ...claims(reseller, ben) })) await move()
})

test('nothing moves by, from or to who is blocked; others go on; only the curator blocks', async () => {
  await block(ben)
  for (const [name, move] of Object.entries({ ...moves(ann, ben), ...claims(reseller, ben) })) {
    expect((await refusal(move()))[0], name).toMatch(/AccountBlocked|ERC4626ExceededMax/)
  }
  // By its allowance on another's shares, or by its assets for another.
  await channel.write.approve([ben, never], by(ann))
  for (const move of [
    () => channel.simulate.transferFrom([ann, reseller, 1n], from(ben)),
    () => channel.simulate.redeem([10n ** 18n, ann, ann], from(ben)),
    () => channel.simulate.depositNow([usd('1'), ann, 0n], from(ben)),
  ]) {
    expect(await refusal(move())).toEqual(['AccountBlocked', getAddress(ben)])
  }
  for (const move of Object.values(moves(ann, reseller))) await move()
  await block(reseller)
  for (const claim of Object.values(claims(reseller, ann))) {
    await scene.gain(usd('100'))
    expect(await refusal(claim())).toEqual(['AccountBlocked', getAddress(reseller)])
  }
  for (const who of [world.admin, reseller, ann]) {
    expect(await refusal(channel.simulate.setBlocked([ann, true], from(who)))).toEqual([
      'NotCurator',
      getAddress(who),
    ])
  }
  // What is minted and burnt passes through it: its block would stop the whole channel.
  expect(await refusal(channel.simulate.setBlocked([zeroAddress, true], from(curator)))).toEqual([
    'ZeroAccount',
  ])
})

/** Let the vault give a day's notice, and the channel's first holder have another one beside it. */
async function giveNotice() {
  await channel.write.depositNow([usd('50000'), ben, 0n], by(ben))
  const notice = { ...EXIT_AT_ONCE, kind: EXIT_TERM_KIND.notice, noticeSeconds: DAY_S }
  await scene.vault.write.setSettings([0, notice, 0n, 0n], by(world.admin))
}

test('a holder leaves a channel whose vault gives notice through its queue, at no cost to the others', async () => {
  const { vault } = scene
  await giveNotice()
  await scene.gain(usd('10000'))
  const half = (await channel.read.balanceOf([ann])) / 2n
  expect(await channel.read.maxRedeem([ann])).toBe(0n)
  const at = (await scene.now()) + YEAR_S
  /** What the other holder, the reseller's fees and half of the leaver's shares are worth then. */
  const worths = async () => {
    const shares = [await channel.read.balanceOf([ben]), await channel.read.feeShares(), half]
    return Promise.all(shares.map((one) => channel.read.convertToAssets([one])))
  }
  const asIfNobodyLeft = await world.client.snapshot()
  await world.client.setNextBlockTimestamp({ timestamp: at })
  await world.client.mine({ blocks: 1 })
  const before = [...(await worths()), await channel.read.borrowerFeeAssets()]
  const due = await channel.read.feeShares()
  await world.client.revert({ id: asIfNobodyLeft })

  await world.client.setNextBlockTimestamp({ timestamp: at })
  const hash = await channel.write.requestNow([half, reseller], by(ann))
  const { blockNumber } = await world.client.getTransactionReceipt({ hash })
  const [accrued] = await channel.getEvents.FeesAccrued({ fromBlock: blockNumber })
  const [asked] = await vault.getEvents.WithdrawalRequested({}, { fromBlock: blockNumber })
  if (accrued === undefined || asked === undefined) throw new TypeError('Fees accrue, then it is asked.')
  expect(accrued.logIndex).toBeLessThan(asked.logIndex)
  expect(await channel.read.feeShares()).toBe(due)
  expect(await channel.read.balanceOf([ann])).toBe(half)
  const after = [...(await worths()), await channel.read.borrowerFeeAssets()]
  for (const [i, worth] of after.entries()) {
    const gained = worth - (before[i] ?? 0n)
    expect(gained, `worth ${i}`).toBeGreaterThanOrEqual(0n)
    expect(gained, `worth ${i}`).toBeLessThanOrEqual(1n)
  }
  const request = await vault.read.request([1n])
  expect(request).toMatchObject({
    owner: getAddress(channel.address),
    receiver: getAddress(reseller),
    paid: false,
    dueAt: at + DAY_S,
  })
  const worth = await vault.read.convertToAssets([request.shares])
  expect((before[2] ?? 0n) - worth).toBeLessThanOrEqual(1n)
  expect(worth).toBeLessThanOrEqual(before[2] ?? 0n)

  // Whoever is blocked from then on is paid, by anybody's hand, and the channel's holders are as they were.
  for (const account of [ann, reseller, channel.address]) await block(account)
  expect((await refusal(vault.simulate.claimWithdrawal([1n], from(ben))))[0]).toBe('RequestNotDue')
  await scene.later(DAY_S)
  await vault.write.claimWithdrawal([1n], by(ben))
  expect(await world.sUSD.read.balanceOf([reseller])).toBe(worth)
  for (const account of [ann, reseller, channel.address]) {
    await channel.write.setBlocked([account, false], by(curator))
  }
  // The last one takes the rest with it.
  const rest = await channel.read.balanceOf([ann])
  await channel.write.requestNow([rest, ann], by(ann))
  expect(await channel.read.balanceOf([ann])).toBe(0n)
})

test('nobody queues what is blocked, worth nothing or not its own', async () => {
  await giveNotice()
  // The vault refuses with errors of its own.
  const abi = [...channel.abi, ...scene.vault.abi] as const
  const ask = (shares: bigint, to: Address, who = ann) =>
    world.client.simulateContract({
      ...from(who),
      address: channel.address,
      abi,
      functionName: 'requestNow',
      args: [shares, to],
    })
  const share = 10n ** 18n
  await ask(share, ben)
  expect((await refusal(ask(share, ann, curator)))[0]).toBe('ERC20InsufficientBalance')
  expect((await refusal(ask((await channel.read.balanceOf([ann])) + 1n, ann)))[0]).toBe(
    'ERC20InsufficientBalance',
  )
  expect(await refusal(ask(1n, ann))).toEqual(['ZeroAmount'])
  expect(await refusal(ask(share, zeroAddress))).toEqual(['ZeroReceiver'])
  await block(ben)
  expect(await refusal(ask(share, ben))).toEqual(['AccountBlocked', getAddress(ben)])
  expect(await refusal(ask(share, ann, ben))).toEqual(['AccountBlocked', getAddress(ben)])
  await ask(share, ann)
  await block(channel.address)
  expect(await refusal(ask(share, ann))).toEqual(['AccountBlocked', getAddress(channel.address)])
})

test('only the reseller claims, and to nobody’s address it cannot', async () => {
  await scene.gain(usd('1000'))
  for (const who of [ann, curator, world.admin]) {
    for (const claim of Object.values(claims(who, who))) {
      expect(await refusal(claim())).toEqual(['NotReseller', getAddress(who)])
    }
  }
  for (const claim of Object.values(claims(reseller, zeroAddress))) {
    expect(await refusal(claim())).toEqual(['ZeroAccount'])
  }
})

test('a channel is paid nothing: what it were given by a way out or a claim would be nobody’s', async () => {
  await scene.gain(usd('1000'))
  const its = channel.address
  await channel.write.approve([ben, never], by(ann))
  for (const way of [
    () => channel.simulate.redeemNow([10n ** 18n, its, 0n], from(ann)),
    () => channel.simulate.redeem([10n ** 18n, its, ann], from(ben)),
    () => channel.simulate.withdraw([usd('1'), its, ann], from(ann)),
    () => channel.simulate.requestNow([10n ** 18n, its], from(ann)),
    ...Object.values(claims(reseller, its)),
  ]) {
    expect(await refusal(way())).toEqual(['ReceiverRefused', getAddress(its)])
  }
  for (const way of [
    () => channel.simulate.transfer([its, 1n], from(ann)),
    () => channel.simulate.depositNow([usd('1'), its, 0n], from(ann)),
  ]) {
    expect((await refusal(way()))[0]).toBe('ERC20InvalidReceiver')
  }
  // Of the block of the channel as a whole nobody hears of its receiver first.
  await block(its)
  expect(await refusal(channel.simulate.requestNow([10n ** 18n, ann], from(ann)))).toEqual([
    'AccountBlocked',
    getAddress(its),
  ])
})

test('deposits reach the cap and not a unit more; bounds of the caller hold at and one past', async () => {
  const room = usd('200000') - (await channel.read.totalAssets())
  expect(await channel.read.maxDeposit([ben])).toBe(room)
  const deposit = (assets: bigint, least = 0n) => channel.simulate.depositNow([assets, ben, least], from(ben))
  await deposit(room)
  expect((await refusal(deposit(room + 1n)))[0]).toBe('ERC4626ExceededMaxDeposit')
  const { result: shares } = await deposit(usd('10'))
  await deposit(usd('10'), shares)
  expect(await refusal(deposit(usd('10'), shares + 1n))).toEqual(['SharesBelowMin', shares, shares + 1n])
  const redeem = (least: bigint) => channel.simulate.redeemNow([10n ** 18n, ann, least], from(ann))
  const { result: assets } = await redeem(0n)
  await redeem(assets)
  expect(await refusal(redeem(assets + 1n))).toEqual(['AssetsBelowMin', assets, assets + 1n])
  await channel.simulate.mint([await channel.read.maxMint([ben]), ben], from(ben))
  // Whoever is last takes all that is there.
  await channel.simulate.redeemNow([await channel.read.balanceOf([ann]), ann, 0n], from(ann))
})

test('a channel is deployed within the caps of its fees and never without its people', async () => {
  for (const [terms, error] of [
    [{ resellerFeeBps: 501 }, 'Reverted'],
    [{ borrowerFeeBps: 2_001 }, 'Reverted'],
    [{ capAssets: 0n }, 'Reverted'],
    [{ capAssets: 2n ** 128n }, 'Reverted'],
    [{ reseller: zeroAddress }, 'Reverted'],
    [{ curator: zeroAddress }, 'Reverted'],
  ] as const) {
    await expect(scene.newChannel(terms), Object.keys(terms)[0]).rejects.toThrow(error)
  }
  const most = { resellerFeeBps: 500, borrowerFeeBps: 2_000, capAssets: 2n ** 128n - 1n }
  const widest = await scene.newChannel(most)
  expect(await world.lens.read.channel([widest.address])).toMatchObject({
    ...most,
    vault: getAddress(scene.vault.address),
    asset: { symbol: 'sUSD' },
    decimals: 18,
    blocked: false,
    totalAssets: 0n,
    totalSupply: 0n,
  })
})

test('inflating the price of an empty channel costs the attacker and spares the depositor', async () => {
  const empty = await scene.newChannel({ resellerFeeBps: 500, borrowerFeeBps: 2_000 })
  const eve = await world.person(usd('200000'), 0n)
  for (const at of [empty.address, scene.vault.address]) await world.sUSD.write.approve([at, never], by(eve))
  await world.sUSD.write.approve([empty.address, never], by(ann))
  await empty.write.deposit([1n, eve], by(eve))
  await scene.vault.write.deposit([usd('100000'), empty.address], by(eve))
  await empty.write.deposit([usd('10000'), ann], by(ann))
  expect(await empty.read.convertToAssets([await empty.read.balanceOf([ann])])).toBeGreaterThan(usd('9990'))
  expect(await empty.read.convertToAssets([await empty.read.balanceOf([eve])])).toBeLessThan(usd('100000'))
})

import { type Address, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { EXIT_TERM_KIND } from '../../../sandbox/deploy/vault-plan.ts'
import { createFeeScene, DAY_S, type FeeScene, YEAR_S } from './fee-scene.ts'
import { by, createWorld, EXIT_AT_ONCE, from, never, usd, type World } from './world.ts'

const CAP = usd('200000')

let world: World
let scene: FeeScene
let channel: Awaited<ReturnType<FeeScene['newChannel']>>
let ann: Address
let snapshot: `0x${string}`

beforeAll(async () => {
  world = await createWorld()
  scene = await createFeeScene(world)
  ann = scene.holder
  const fees = { resellerFeeBps: 500, borrowerFeeBps: 2_000, capAssets: CAP }
  channel = await scene.newChannel(fees)
  await world.sUSD.write.approve([channel.address, never], by(ann))
  await channel.write.depositNow([usd('100000'), ann, 0n], by(ann))
})
afterAll(() => world.stop())
beforeEach(async () => {
  snapshot = await world.client.snapshot()
})
afterEach(() => world.client.revert({ id: snapshot }))

const works = (call: Promise<unknown>) =>
  call.then(
    () => true,
    () => false,
  )

/** Each way in and out at what the channel says is the most, and one past it. */
async function limits() {
  const { read, simulate } = channel
  const [deposit, mint, withdraw, redeem] = await Promise.all([
    read.maxDeposit([ann]),
    read.maxMint([ann]),
    read.maxWithdraw([ann]),
    read.maxRedeem([ann]),
  ])
  const ways = {
    deposit: { most: deposit, go: (n: bigint) => simulate.deposit([n, ann], from(ann)) },
    mint: { most: mint, go: (n: bigint) => simulate.mint([n, ann], from(ann)) },
    withdraw: { most: withdraw, go: (n: bigint) => simulate.withdraw([n, ann, ann], from(ann)) },
    redeem: { most: redeem, go: (n: bigint) => simulate.redeem([n, ann, ann], from(ann)) },
  }
  const seen: Record<string, string> = {}
  for (const [name, { most, go }] of Object.entries(ways)) {
    const at = most === 0n ? 'none' : (await works(go(most))) ? 'at most' : 'not even at most'
    seen[name] = (await works(go(most + 1n))) ? `${at}, and past` : at
  }
  return seen
}
const ALL = { deposit: 'at most', mint: 'at most', withdraw: 'at most', redeem: 'at most' }
const OUT = { ...ALL, deposit: 'none', mint: 'none' }
const IN = { ...ALL, withdraw: 'none', redeem: 'none' }
const NOTHING = { deposit: 'none', mint: 'none', withdraw: 'none', redeem: 'none' }

/** Previews are what happens, rounded to the channel's side. */
async function previews() {
  const { read, simulate } = channel
  for (const n of [1n, 7n, 10n ** 6n + 3n, usd('777')]) {
    const shares = n * 10n ** 12n + 7n
    const [deposited, minted, withdrawn, redeemed] = await Promise.all([
      simulate.deposit([n, ann], from(ann)),
      simulate.mint([shares, ann], from(ann)),
      simulate.withdraw([n, ann, ann], from(ann)),
      simulate.redeem([shares, ann, ann], from(ann)),
    ])
    expect([deposited.result, minted.result, withdrawn.result, redeemed.result]).toEqual([
      await read.previewDeposit([n]),
      await read.previewMint([shares]),
      await read.previewWithdraw([n]),
      await read.previewRedeem([shares]),
    ])
    expect(withdrawn.result, 'leaving costs no less than coming gives').toBeGreaterThanOrEqual(
      deposited.result,
    )
    expect(minted.result, 'coming costs no less than leaving gives').toBeGreaterThanOrEqual(redeemed.result)
    expect(minted.result, 'no share is for nothing').toBeGreaterThan(0n)
  }
}

const settings = (min: bigint, max: bigint, terms = EXIT_AT_ONCE) =>
  scene.vault.write.setSettings([0, terms, min, max], by(world.admin))
const room = async () => CAP - (await channel.read.totalAssets())

test('what a wrapper says is the most is what it takes and pays, to the unit', async () => {
  expect(await limits()).toEqual(ALL)
  await previews()
  // After a year, a gain and a loss: fees that are due count.
  await scene.later(YEAR_S)
  await scene.gain(usd('12345.678901'))
  expect(await limits()).toEqual(ALL)
  await previews()
  await scene.lose(usd('34567.890123'))
  expect(await limits()).toEqual(ALL)
  await previews()
})

test('by what its vault takes of one deposit', async () => {
  await settings(1n, usd('20'))
  expect(await limits()).toEqual(ALL)
  expect(await channel.read.maxDeposit([ann])).toBe(usd('20'))
  // As much as is left below the cap, and one more than that.
  await settings(await room(), 0n)
  expect(await limits()).toEqual(ALL)
  await settings((await room()) + 1n, 0n)
  expect(await limits()).toEqual(OUT)
})

test('by what its vault pays at once', async () => {
  const { vault } = scene
  const { market, admin } = world
  await vault.write.allocate([market.address, usd('60000.000007')], by(admin))
  expect(await limits()).toEqual(ALL)
  expect(await channel.read.maxWithdraw([ann])).toBeLessThan(usd('40000'))
  await settings(0n, 0n, { ...EXIT_AT_ONCE, kind: EXIT_TERM_KIND.notice, noticeSeconds: DAY_S })
  expect(await limits()).toEqual(IN)
  await settings(0n, 0n)
  const until = (await scene.now()) + DAY_S
  const still = await world.client.snapshot()
  await vault.write.pauseShareMobility([until, 'why', ''], by(admin))
  expect(await limits()).toEqual(OUT)
  await world.client.revert({ id: still })
  await vault.write.pauseShareMobility([until, 'why', 'frozen'], by(admin))
  expect(await limits()).toEqual(NOTHING)
})

test('by whom its curator keeps out', async () => {
  for (const account of [ann, channel.address]) {
    await channel.write.setBlocked([account, true], by(world.admin))
    expect(await limits()).toEqual(NOTHING)
    await channel.write.setBlocked([account, false], by(world.admin))
    expect(await limits()).toEqual(ALL)
  }
})

test('an empty wrapper gives no share for nothing', async () => {
  const empty = await scene.newChannel()
  expect(await empty.read.previewMint([1n])).toBe(1n)
  expect(await empty.read.previewDeposit([0n])).toBe(0n)
  expect(await empty.read.maxWithdraw([zeroAddress])).toBe(0n)
})

import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDice, type Dice } from '../dice.ts'
import { by, createWorld, eth, never, ray, usd, type World } from './world.ts'

const seed = 20_260_101
const actions = 400

let world: World
let borrowers: readonly Address[]
let liquidators: readonly Address[]
let vaults: readonly Address[]

beforeAll(async () => {
  world = await createWorld()
  vaults = [world.prime.address, world.growth.address]
  const people: Address[] = []
  for (let i = 0; i < 5; i++) people.push(await world.person(usd('50000000'), eth('10000')))
  borrowers = people.slice(0, 3)
  liquidators = people.slice(3)
})
afterAll(() => world.stop())

async function openDebts() {
  const pairs = vaults.flatMap((vault) => borrowers.map((borrower) => ({ vault, borrower })))
  const debts = await Promise.all(
    pairs.map(async ({ vault, borrower }) => ({
      vault,
      borrower,
      debt: await world.market.read.debtOf([vault, borrower]),
    })),
  )
  return debts.filter(({ debt }) => debt > 0n)
}

/** Every kind of action, with arguments that are often refused. */
const kinds: Readonly<Record<string, (dice: Dice) => Promise<unknown>>> = {
  deposit: (dice) =>
    world.market.write.depositCollateral([dice.amount(eth('100'))], by(dice.pick(borrowers))),
  withdraw: (dice) =>
    world.market.write.withdrawCollateral([dice.amount(eth('20'))], by(dice.pick(borrowers))),
  borrow: async (dice) => {
    const borrower = dice.pick(borrowers)
    const room = await world.market.read.maxBorrowable([borrower])
    // Mostly from both vaults and up to the limit, so that one price makes both unhealthy.
    const assets = dice.upTo(4) ? (room * 499n) / 1_000n : dice.amount(room)
    for (const vault of vaults) await world.market.write.borrow([vault, assets], by(borrower))
  },
  repay: (dice) =>
    world.market.write.repay(
      [dice.pick(vaults), dice.pick(borrowers), dice.amount(usd('20000'))],
      by(dice.pick(borrowers)),
    ),
  // The last one leaves less collateral than debt.
  price: (dice) => world.price(dice.pick(['3000', '2500', '2000', '150'])),
  pass: (dice) => world.pass(1 + dice.upTo(900)),
  liquidate: async (dice) => {
    const liquidator = dice.pick(liquidators)
    const { vault, borrower, debt } = dice.pick(await openDebts())
    const repay = debt / 2n > 0n ? debt / 2n : 1n
    const order = [vault, borrower, dice.upTo(4) ? repay : dice.amount(repay), 0n, liquidator, never] as const
    return world.market.write.liquidate(order, by(liquidator))
  },
  settle: async (dice) => {
    const liquidator = dice.pick(liquidators)
    const claims = await world.market.read.openClaims([liquidator])
    return world.market.write.settleLiquidationClaim([dice.pick(claims)], by(liquidator))
  },
  writeOff: async (dice) => {
    const { vault, borrower } = dice.pick(await openDebts())
    return world.market.write.realizeBadDebt([vault, borrower], by(dice.pick(liquidators)))
  },
  allocate: (dice) =>
    world
      .vaultAt(dice.pick(vaults))
      .write.allocate([world.market.address, dice.amount(usd('100000'))], by(world.allocator)),
  deallocate: (dice) =>
    world
      .vaultAt(dice.pick(vaults))
      .write.deallocate([world.market.address, dice.amount(usd('100000'))], by(world.allocator)),
}

/** Tried more often, since they work only after others have. */
const rareKinds = [
  'deposit',
  'borrow',
  'borrow',
  'price',
  'liquidate',
  'liquidate',
  'liquidate',
  'settle',
  'writeOff',
]

/** What must hold after every action: each sum equals its parts, and the tokens are there. */
async function expectSumsKept() {
  const { market, sUSD, sETH, client } = world
  const at = { blockNumber: await client.getBlockNumber() }
  const [index, totalCash, totalShares, totalBadDebt, totalDebt] = await Promise.all([
    market.read.borrowIndexRay(at),
    market.read.totalCash(at),
    market.read.totalDebtShares(at),
    market.read.totalBadDebt(at),
    market.read.totalDebt(at),
  ])
  const lenders = await market.read.vaults(at)
  const partitions = await Promise.all(lenders.map((vault) => market.read.partition([vault], at)))
  const shares = await Promise.all(
    lenders.map((vault) =>
      Promise.all(borrowers.map((borrower) => market.read.debtSharesOf([vault, borrower], at))),
    ),
  )
  const collateral = await Promise.all(borrowers.map((borrower) => market.read.collateralOf([borrower], at)))
  const open = (await Promise.all(liquidators.map((owner) => market.read.openClaims([owner], at)))).flat()
  const claims = await Promise.all(open.map((id) => market.read.claim([id], at)))

  expect(sum(partitions.map(([cash]) => cash))).toBe(totalCash)
  expect(await sUSD.read.balanceOf([market.address], at)).toBe(totalCash)
  expect(sum(partitions.map(([, , badDebt]) => badDebt))).toBe(totalBadDebt)
  expect(sum(shares.flat())).toBe(totalShares)
  expect(totalDebt).toBe((totalShares * index) / ray)
  for (const [i, [, debtAssets]] of partitions.entries()) {
    // So the vault never counts more than its borrowers owe.
    expect(debtAssets).toBe((sum(shares[i] ?? []) * index) / ray)
  }
  expect(claims.every(([, , , , , , settled]) => !settled)).toBe(true)
  expect(sum(collateral) + sum(claims.map(([, , , , assets]) => assets))).toBe(
    await sETH.read.balanceOf([market.address], at),
  )
  return { index, totalBadDebt }
}

const sum = (parts: readonly bigint[]) => parts.reduce((total, part) => total + part, 0n)

test(`every sum is kept through ${actions} random actions (seed ${seed})`, async () => {
  // Blocks a second apart, whatever the machine's speed: the same seed meets the same interest.
  await world.client.setBlockTimestampInterval({ interval: 1 })
  const dice = createDice(seed)
  const done = new Map(Object.keys(kinds).map((kind) => [kind, 0]))
  let last = await expectSumsKept()
  for (let i = 0; i < actions; i++) {
    const kind = dice.pick([...Object.keys(kinds), ...rareKinds])
    const worked = await kinds[kind]?.(dice).then(
      () => true,
      () => false,
    )
    if (worked) done.set(kind, (done.get(kind) ?? 0) + 1)
    if (i % 3 !== 0) continue
    const now = await expectSumsKept()
    expect(now.index).toBeGreaterThanOrEqual(last.index)
    expect(now.totalBadDebt).toBeGreaterThanOrEqual(last.totalBadDebt)
    last = now
  }
  // A run in which a kind never worked would have shown nothing of it.
  for (const [kind, times] of done) expect(times, kind).toBeGreaterThan(0)
  expect(last.totalBadDebt).toBeGreaterThan(0n)
})

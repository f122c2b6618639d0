import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDice, type Dice } from '../dice.ts'
import { by, createWorld, eth, usd, type World } from './world.ts'

const seed = 20_261_121
const actions = 120

let world: World
let holders: readonly Address[]

beforeAll(async () => {
  world = await createWorld()
  const { prime, sUSD, market } = world
  const people: Address[] = []
  for (let i = 0; i < 4; i++) people.push(await world.person(usd('1000000'), eth('1000')))
  holders = people.slice(0, 3)
  for (const holder of holders) await sUSD.write.approve([prime.address, usd('1000000')], by(holder))
  // An odd price that then stands still: interest would hide what rounding takes.
  const borrower = people[3] ?? world.admin
  await market.write.depositCollateral([eth('1000')], by(borrower))
  await market.write.borrow([prime.address, usd('500000')], by(borrower))
  await world.pass(987_654)
  await market.write.repay([prime.address, borrower, usd('1000000')], by(borrower))
})
afterAll(() => world.stop())

/** Every kind of action, with arguments that are often refused. */
const kinds: Readonly<Record<string, (dice: Dice) => Promise<unknown>>> = {
  deposit: (dice) => {
    const holder = dice.pick(holders)
    return world.prime.write.depositNow([dice.amount(usd('200000')), holder, 0n], by(holder))
  },
  withdraw: (dice) => {
    const holder = dice.pick(holders)
    return world.prime.write.withdrawNow([dice.amount(usd('100000')), holder, 2n ** 200n], by(holder))
  },
  withdrawAllThatIsFree: async (dice) => {
    const holder = dice.pick(holders)
    const assets = await world.prime.read.maxWithdraw([holder])
    return world.prime.write.withdrawNow([assets, holder, 2n ** 200n], by(holder))
  },
  request: async (dice) => {
    const holder = dice.pick(holders)
    const held = await world.prime.read.balanceOf([holder])
    return world.prime.write.requestWithdrawal([dice.amount(held), dice.pick(holders)], by(holder))
  },
  claim: async (dice) => {
    const [head, end] = await Promise.all([world.prime.read.queueHead(), world.prime.read.queueEnd()])
    const id = head + BigInt(dice.upTo(Number(end - head) + 1))
    return world.prime.write.claimWithdrawal([id], by(dice.pick(holders)))
  },
  process: (dice) => world.prime.write.processQueue([BigInt(dice.upTo(3))], by(dice.pick(holders))),
  transfer: async (dice) => {
    const holder = dice.pick(holders)
    const held = await world.prime.read.balanceOf([holder])
    return world.prime.write.transfer([dice.pick(holders), dice.amount(held)], by(holder))
  },
  allocate: (dice) =>
    world.prime.write.allocate([world.market.address, dice.amount(usd('900000'))], by(world.allocator)),
  deallocate: (dice) =>
    world.prime.write.deallocate([world.market.address, dice.amount(usd('900000'))], by(world.allocator)),
  reallocate: (dice) => {
    const { contracts, market, prime, allocator } = world
    const [from, to] = [contracts.btcMarket.address, market.address]
    const moved = dice.amount(usd('100000'))
    const batch = [[{ market: from, assets: moved }], [{ market: to, assets: moved }]] as const
    return prime.write.reallocate(batch, by(allocator))
  },
}

/** What must hold after every action. */
async function expectSumsKept() {
  const { prime, market, contracts, client } = world
  const at = { blockNumber: await client.getBlockNumber() }
  const [head, end, escrowed, totalAssets, idle, eth, btc, supply] = await Promise.all([
    prime.read.queueHead(at),
    prime.read.queueEnd(at),
    prime.read.balanceOf([prime.address], at),
    prime.read.totalAssets(at),
    world.sUSD.read.balanceOf([prime.address], at),
    market.read.allocatedAssets([prime.address], at),
    client.readContract({
      address: contracts.btcMarket.address,
      abi: market.abi,
      ...at,
      functionName: 'allocatedAssets',
      args: [prime.address],
    }),
    prime.read.totalSupply(at),
  ])
  const ids = Array.from({ length: Number(end) - 1 }, (_, index) => BigInt(index + 1))
  const requests = await Promise.all(ids.map((id) => prime.read.request([id], at)))
  const owned = await Promise.all([...holders, world.admin].map((one) => prime.read.balanceOf([one], at)))
  expect(totalAssets).toBe(idle + eth + btc)
  // First in, first out: all before the head are paid, and none from it on.
  expect(requests.map(({ paid }) => paid)).toEqual(ids.map((id) => id < head))
  expect(sum(requests.filter(({ paid }) => !paid).map(({ shares }) => shares))).toBe(escrowed)
  expect(sum(owned) + escrowed).toBe(supply)
  return { totalAssets, supply }
}

const sum = (parts: readonly bigint[]) => parts.reduce((total, part) => total + part, 0n)

test(`a vault keeps its sums, and no price falls, through ${actions} random actions (seed ${seed})`, async () => {
  await world.client.setBlockTimestampInterval({ interval: 1 })
  const dice = createDice(seed)
  const done = new Map(Object.keys(kinds).map((kind) => [kind, 0]))
  let last = await expectSumsKept()
  for (let i = 0; i < actions; i++) {
    const kind = dice.pick(Object.keys(kinds))
    const worked = await kinds[kind]?.(dice).then(
      () => true,
      () => false,
    )
    if (!worked) continue
    done.set(kind, (done.get(kind) ?? 0) + 1)
    const now = await expectSumsKept()
    // As the contract converts, with its virtual asset and shares; without bad debt no share loses.
    const [was, is] = [
      (last.totalAssets + 1n) * (now.supply + 10n ** 6n),
      (now.totalAssets + 1n) * (last.supply + 10n ** 6n),
    ]
    expect(is, kind).toBeGreaterThanOrEqual(was)
    last = now
  }
  // A run in which a kind never worked would have shown nothing of it.
  for (const [kind, times] of done) expect(times, kind).toBeGreaterThan(0)
})

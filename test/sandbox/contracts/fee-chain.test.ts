import { type Address, encodeFunctionData, type Hex, hexToBigInt, numberToHex, zeroHash } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lendingMarketAbi } from '../../../sandbox/contracts/abis.ts'
import { askUnits } from '../../../src/guard/reads/deployed-units.ts'
import { createReads } from '../../../src/guard/reads/views.ts'
import { deployment } from '../../guard/fixtures.ts'
import { createDice } from '../dice.ts'
import { type Act, drawAct, HOLDERS, OWNERS, performOnModel } from './fee-histories.ts'
import { CHANNEL, createChannelModel, createVaultModel, QUEUE, Refused } from './fee-model.ts'
import { createFeeScene, type FeeScene } from './fee-scene.ts'
import { by, createWorld, eth, never, usd, type World } from './world.ts'

const HISTORIES = 20
const ACTS = 15
const seed = 20_261_129

let world: World
let scene: FeeScene
let channel: Awaited<ReturnType<FeeScene['newChannel']>>
let at: Readonly<Record<string, Address>>
/** When the channel was deployed, seconds. */
let since: bigint

const FEES = { resellerFeeBps: 250, borrowerFeeBps: 1_500 }

beforeAll(async () => {
  world = await createWorld()
  scene = await createFeeScene(world)
  const { vault } = scene
  const people: Address[] = []
  for (let i = 0; i < 4; i++) people.push(await world.person(usd('100000000'), eth('100000')))
  const [ann, ben, owner, curator] = people as [Address, Address, Address, Address]
  channel = await scene.newChannel({ reseller: owner, curator, capAssets: 2n ** 127n, ...FEES })
  since = await scene.now()
  at = { ann, ben, owner, curator, [QUEUE]: vault.address, [CHANNEL]: channel.address }
  for (const who of [ann, ben]) {
    for (const to of [vault.address, channel.address]) await world.sUSD.write.approve([to, never], by(who))
  }
})
afterAll(() => world.stop())

const addressOf = (name: string): Address => at[name] ?? world.admin

/** What the market will say of the vault at that second: all it holds, and its cash. */
async function marketAt(timestamp: bigint): Promise<readonly [bigint, bigint]> {
  const { client, market } = world
  const data = encodeFunctionData({
    abi: lendingMarketAbi,
    functionName: 'partition',
    args: [scene.vault.address],
  })
  const answer = await client.request<{ Method: string; Parameters: unknown[]; ReturnType: Hex }>({
    method: 'eth_call',
    params: [{ to: market.address, data }, 'latest', {}, { time: numberToHex(timestamp) }],
  })
  const cash = hexToBigInt(`0x${answer.slice(2, 66)}`)
  return [cash + hexToBigInt(`0x${answer.slice(66, 130)}`), cash]
}

/** Do it on the chain. */
function perform(act: Act): Promise<Hex> {
  const { vault } = scene
  const { admin, market } = world
  switch (act.kind) {
    case 'deposit':
      return vault.write.deposit([act.assets, addressOf(act.who)], by(addressOf(act.who)))
    case 'withdraw':
      return vault.write.withdrawNow([act.assets, addressOf(act.who), 2n ** 200n], by(addressOf(act.who)))
    case 'request':
      return vault.write.requestWithdrawal([act.shares, addressOf(act.who)], by(addressOf(act.who)))
    case 'claim':
      return vault.read.queueHead().then((head) => vault.write.claimWithdrawal([head], by(admin)))
    case 'accrue':
      return vault.write.accrueFees(by(admin))
    case 'allocate':
      return vault.write.allocate([market.address, act.assets], by(admin))
    case 'deallocate':
      return vault.write.deallocate([market.address, act.assets], by(admin))
    case 'gain':
      return scene.gain(act.assets)
    case 'lose':
      return scene.lose(act.assets)
    case 'setFees': {
      const bps = [Number(act.management), Number(act.performance)] as const
      return vault.write.setFeeConfig([...bps, addressOf('owner')], by(admin))
    }
    case 'setCuratorFee':
      return vault.write.setCuratorFee([Number(act.borrowerManager), addressOf('curator')], by(admin))
    case 'channelDeposit':
      return channel.write.depositNow([act.assets, addressOf(act.who), 0n], by(addressOf(act.who)))
    case 'channelRedeem':
      return channel.write.redeemNow([act.shares, addressOf(act.who), 0n], by(addressOf(act.who)))
    case 'channelRequest':
      return channel.write.requestNow([act.shares, addressOf(act.who)], by(addressOf(act.who)))
    case 'channelTransfer':
      return channel.write.transfer([addressOf(act.to), act.shares], by(addressOf(act.who)))
    case 'block':
      return channel.write.setBlocked([addressOf(act.who), act.blocked], by(addressOf('curator')))
    case 'claimFeeShares':
      return channel.write.claimFeeShares([act.shares, addressOf(act.who)], by(addressOf('owner')))
    case 'claimBorrowerFee':
      return channel.write.claimBorrowerFee([world.admin, 0n], by(addressOf('owner')))
  }
}

/** A borrower's failure: its debt to the vault is lost, but for what its collateral brings. */
async function failBorrower(bob: Address): Promise<void> {
  await world.price('20')
  const debt = await world.market.read.debtOf([scene.vault.address, bob])
  const pay = debt / 2n < usd('5000') ? debt / 2n : usd('5000')
  await world.market.write.liquidate([scene.vault.address, bob, pay, 0n, bob, never], by(bob))
  await world.price('3000')
}

/** Some histories shut the channel for half of their acts: few of so few would otherwise try it then. */
function shut(act: number, history: number): Act | undefined {
  return history % 4 === 3 && act === 5 ? { kind: 'block', who: CHANNEL, blocked: true } : undefined
}

test(`the model is the contracts to the base unit, through ${HISTORIES} random histories (seed ${seed})`, async () => {
  const { client } = world
  const { vault } = scene
  const done = new Map<string, number>()
  let losses = 0
  /** Refusals because somebody was blocked. */
  let kept = 0
  for (let history = 0; history < HISTORIES; history++) {
    const snapshot = await client.snapshot()
    const dice = createDice(seed + history)
    const model = createVaultModel()
    model.state.now = since
    const wrapper = createChannelModel(model, BigInt(FEES.resellerFeeBps), BigInt(FEES.borrowerFeeBps))
    const bob = await world.person(usd('1000000'), eth('1000'))
    const opening: readonly Act[] = [
      { kind: 'deposit', who: 'ann', assets: usd('1000000') + BigInt(dice.upTo(1_000_000)) },
      { kind: 'setFees', management: 200n, performance: 1_000n },
      { kind: 'setCuratorFee', borrowerManager: 2_000n },
      { kind: 'allocate', assets: usd('500000') },
      { kind: 'channelDeposit', who: 'ben', assets: usd('100000') },
    ]
    for (let i = 0; i < opening.length + ACTS; i++) {
      if (i === opening.length) {
        await world.price('3000')
        await world.market.write.depositCollateral([eth('200')], by(bob))
        await world.market.write.borrow([vault.address, usd('300000')], by(bob))
      }
      if (i === opening.length + 7 && history % 2 === 0) {
        await failBorrower(bob)
        losses++
      }
      const elapsed = BigInt(dice.pick([1, 1, 60, 86_400, 5_000_000]))
      const timestamp = (await scene.now()) + elapsed
      const [allocated, cash] = await marketAt(timestamp)
      Object.assign(model.state, { now: timestamp, allocated })
      const act = opening[i] ?? shut(i - opening.length, history) ?? drawAct(dice, model, wrapper, cash)
      const about = `history ${history}, act ${i}: ${Object.values(act).join(' ')}`
      let works = true
      try {
        performOnModel(act, model, wrapper, cash)
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        works = false
        if (error.message === 'blocked') kept += 1
      }
      await client.setNextBlockTimestamp({ timestamp })
      const worked = await perform(act).then(
        () => true,
        () => false,
      )
      expect(worked, about).toBe(works)
      if (!works) {
        const { timestamp: mined } = await client.getBlock()
        // What was refused mined a block all the same, unless it was refused before it was sent.
        if (mined !== timestamp) await client.mine({ blocks: 1 })
        continue
      }
      done.set(act.kind, (done.get(act.kind) ?? 0) + 1)
      expect(await onChain(), about).toEqual(inModel(model, wrapper))
    }
    expect(await judgeUnits(), `units after history ${history}`).toEqual([])
    await client.revert({ id: snapshot })
  }
  expect(losses).toBeGreaterThan(0)
  expect(kept).toBeGreaterThan(0)
  for (const kind of [
    'withdraw',
    'claim',
    'deallocate',
    'channelRedeem',
    'claimFeeShares',
    'claimBorrowerFee',
    'channelRequest',
    'channelTransfer',
    'block',
  ]) {
    expect(done.get(kind) ?? 0, kind).toBeGreaterThan(0)
  }
})

/** All that the chain says of both at its last block; a whole share's worth is what the NAV reporter reads. */
async function onChain() {
  const { vault } = scene
  const names = [...OWNERS, CHANNEL]
  const [state, wrapped, worth, ...held] = await Promise.all([
    world.lens.read.vault([vault.address]),
    world.lens.read.channel([channel.address]),
    vault.read.convertToAssets([10n ** 12n]),
    ...names.map((name) => vault.read.balanceOf([addressOf(name)])),
    ...[...HOLDERS, CHANNEL].map((name) => channel.read.balanceOf([addressOf(name)])),
  ])
  const { managementAssets, performanceAssets, borrowerManagerAssets } = state.accruedFees
  return {
    assets: state.totalAssets,
    supply: state.totalSupply,
    idle: state.idleAssets,
    queued: state.queuedShares,
    charged: {
      management: managementAssets,
      performance: performanceAssets,
      borrowerManager: borrowerManagerAssets,
    },
    highWaterMark: state.highWaterMark,
    worth,
    held,
    channel: {
      assets: wrapped.totalAssets,
      supply: wrapped.totalSupply,
      feeShares: wrapped.feeShares,
      borrowerFee: wrapped.borrowerFeeAssets,
      feeSharesClaimed: wrapped.feeSharesClaimed,
      borrowerFeeClaimed: wrapped.borrowerFeeClaimed,
    },
  }
}

/** The same by the model. */
function inModel(
  model: ReturnType<typeof createVaultModel>,
  wrapper: ReturnType<typeof createChannelModel>,
): Awaited<ReturnType<typeof onChain>> {
  return {
    assets: model.totalAssets(),
    supply: model.totalSupply(),
    idle: model.state.idle,
    queued: model.shares.of(QUEUE),
    charged: model.charged(),
    highWaterMark: model.state.highWaterMark,
    worth: model.toAssets(10n ** 12n),
    held: [...[...OWNERS, CHANNEL].map(model.shares.of), ...[...HOLDERS, CHANNEL].map(wrapper.shares.of)],
    channel: {
      assets: wrapper.totalAssets(),
      supply: wrapper.totalSupply(),
      feeShares: wrapper.feeShares(),
      borrowerFee: wrapper.borrowerFeeAssets(),
      feeSharesClaimed: wrapper.state.feeSharesClaimed,
      borrowerFeeClaimed: wrapper.state.borrowerFeeClaimed,
    },
  }
}

/** What the agents' own check of units says of the vault, whose fees of half a year are due. */
async function judgeUnits() {
  await scene.later(15_000_000n)
  await world.client.mine({ blocks: 1 })
  const codeHash = zeroHash
  const asset = { address: lower(world.sUSD.address), codeHash, symbol: 'sUSD', decimals: 6 }
  const reads = createReads()
  const judge = askUnits(
    {
      ...deployment,
      assets: [asset],
      markets: [],
      vaults: [{ address: lower(scene.vault.address), codeHash }],
      funds: [],
    },
    reads,
  )
  const answers = await Promise.all(
    reads.calls.map(async ({ to, data }) => (await world.client.call({ to, data })).data ?? null),
  )
  reads.fill(answers)
  return judge()
}

const lower = (address: Address): Address => `0x${address.slice(2).toLowerCase()}`

import { expect, test } from 'vitest'
import { createDice, type Dice } from '../dice.ts'
import { type Act, type ActKind, drawAct, OWNERS, performOnModel } from './fee-histories.ts'
import {
  CHANNEL,
  type ChannelModel,
  createChannelModel,
  createVaultModel,
  Refused,
  type VaultModel,
} from './fee-model.ts'
import { usd } from './world.ts'

const HISTORIES = 10_000
const ACTS = 12
const VIRTUAL = 10n ** 6n
const YEAR_S = 31_536_000n
const seed = 20_261_128

/** What a market does with a vault's assets: borrowers take cash, owe more with time, and fail. */
function createMarket(dice: Dice, vault: VaultModel) {
  const market = { cash: 0n, interest: 0n }
  return {
    market,
    /** Let time pass. */
    pass: () => {
      const { state } = vault
      const elapsed = BigInt(dice.pick([0, 1, 60, 86_400, 5_000_000]))
      state.now += elapsed
      if (dice.upTo(3) === 0) market.cash -= market.cash / BigInt(1 + dice.upTo(9))
      const owed = state.allocated - market.cash
      const interest = (owed * 20n * elapsed) / (100n * YEAR_S)
      market.interest += interest
      state.allocated += interest
      const lost = dice.upTo(12) === 0 ? dice.amount(owed / 3n + 1n) : 0n
      const written = lost < owed ? lost : owed
      state.allocated -= written
      return interest - written
    },
  }
}

const sum = (parts: readonly bigint[]) => parts.reduce((total, part) => total + part, 0n)
const total = ({ management, performance, borrowerManager }: ReturnType<VaultModel['charged']>) =>
  management + performance + borrowerManager

/** What both say of themselves at one moment, what is due included. */
const look = (vault: VaultModel, channel: ChannelModel) => ({
  assets: vault.totalAssets(),
  supply: vault.totalSupply(),
  minted: vault.shares.total(),
  charged: vault.charged(),
  highWaterMark: vault.state.highWaterMark,
  held: vault.shares.of(CHANNEL),
  channelSupply: channel.totalSupply(),
  feeShares: channel.feeShares(),
  claimed: channel.state.feeSharesClaimed,
  borrowerFee: channel.borrowerFeeAssets(),
  blocked: [...channel.state.blocked],
  wrapped: new Map([...OWNERS, CHANNEL].map((name) => [name, channel.shares.of(name)])),
})
type Look = ReturnType<typeof look>

/** Fail with what broke; `expect` would take most of the time at so many checks. */
function hold(fact: boolean, what: string, act: Act): void {
  if (!fact) throw new TypeError(`${what}: ${Object.values(act).join(' ')}`)
}

/** What must hold between the two sides of an act that took no time. */
function expectKept(vault: VaultModel, channel: ChannelModel, act: Act, before: Look, paid: bigint): void {
  const after = look(vault, channel)
  const { shares } = vault
  hold(after.assets === before.assets - paid, 'assets go where they are paid', act)
  hold(sum([...OWNERS, CHANNEL].map(shares.of)) === after.minted, 'shares are somebody’s', act)
  hold(after.supply >= after.minted, 'due shares count', act)
  hold(
    sum([...OWNERS, CHANNEL].map((one) => vault.toAssets(shares.of(one)))) <= after.assets,
    'all can be paid',
    act,
  )
  if (act.kind !== 'lose') {
    const worth = (of: Look, spare = 0n) => (of.assets + 1n) * (of.held + 1n + spare)
    const among = (of: Look) => (of.supply + VIRTUAL) * (of.channelSupply + VIRTUAL)
    const isPrice = (after.assets + 1n) * (before.supply + VIRTUAL)
    hold(
      isPrice >= (before.assets + 1n) * (after.supply + VIRTUAL),
      'no act lowers the price after fees',
      act,
    )
    // Its fee is whole vault shares, by a mark of eighteen digits: one more may fall due by less than that gain.
    const mostly = worth(after, 1n) * among(before) * (10n ** 18n + 2n)
    const kept = mostly >= worth(before) * among(after) * 10n ** 18n
    hold(kept, 'nor that of a channel share', act)
    hold(
      after.feeShares + after.claimed >= before.feeShares + before.claimed,
      'claimed fees were earned',
      act,
    )
    if (act.kind === 'accrue' || act.kind === 'setFees' || act.kind === 'setCuratorFee') {
      hold(after.supply === before.supply, 'what was due is what is minted', act)
      hold(total(after.charged) === total(before.charged), 'a fee is charged once', act)
    }
  }
  expectStill(channel, act, before, after)
  hold(after.highWaterMark >= before.highWaterMark, 'the mark never falls', act)
  const names = [...OWNERS, CHANNEL]
  hold(sum(names.map(channel.shares.of)) === channel.shares.total(), 'channel shares are somebody’s', act)
  const fees = channel.state.feeShares + channel.state.borrowerFeeShares
  hold(channel.shares.of(CHANNEL) === fees, 'a channel keeps its fees and nothing else', act)
  hold(
    sum(names.map((one) => channel.toAssets(channel.shares.of(one)))) <= channel.totalAssets(),
    'all can leave',
    act,
  )
  if (act.kind === 'claimBorrowerFee') hold(paid === before.borrowerFee, 'a claim pays what was due', act)
}

/** Nothing moves through a blocked channel, and of who is blocked nothing moves, whatever is done. */
function expectStill(channel: ChannelModel, act: Act, before: Look, after: Look): void {
  const isStill = (name: string) => channel.shares.of(name) === before.wrapped.get(name)
  hold(
    before.blocked.filter((name) => name !== CHANNEL).every(isStill),
    'who is blocked keeps its shares',
    act,
  )
  if (!before.blocked.includes(CHANNEL)) return
  hold([...before.wrapped.keys()].every(isStill), 'a blocked channel moves no shares', act)
  hold(after.held === before.held, 'nor what it holds', act)
  hold(after.claimed === before.claimed, 'nor what it charged', act)
}

/** Live one history, and hold every act of it. */
function live(dice: Dice, done: Map<ActKind | 'refused', number>): void {
  const vault = createVaultModel()
  vault.state.now = 1n
  vault.state.bufferBps = BigInt(dice.pick([0, 0, 500]))
  const channel = createChannelModel(vault, BigInt(dice.upTo(501)), BigInt(dice.upTo(2_001)))
  const { market, pass } = createMarket(dice, vault)
  let [gains, mostAssets, rounded] = [0n, 0n, 0n]
  const opening: readonly Act[] = [
    { kind: 'deposit', who: 'ann', assets: dice.amount(usd('1000000')) },
    { kind: 'setFees', management: BigInt(dice.upTo(501)), performance: BigInt(dice.upTo(3_001)) },
  ]
  for (let i = 0; i < ACTS; i++) {
    const moved = pass()
    if (moved > 0n) gains += moved
    const act = opening[i] ?? drawAct(dice, vault, channel, market.cash)
    const before = look(vault, channel)
    try {
      const paid = performOnModel(act, vault, channel, market.cash)
      expectKept(vault, channel, act, before, paid)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      if (error.message === 'blocked') done.set('refused', (done.get('refused') ?? 0) + 1)
      continue
    }
    done.set(act.kind, (done.get(act.kind) ?? 0) + 1)
    if (act.kind === 'allocate') market.cash += act.assets
    if (act.kind === 'deallocate') market.cash -= act.assets
    if (act.kind === 'gain') gains += act.assets
    // What rounding leaves to the others is theirs: a share's worth at most.
    rounded += 2n + vault.totalAssets() / (vault.totalSupply() + VIRTUAL)
    if (vault.totalAssets() > mostAssets) mostAssets = vault.totalAssets()
  }
  const { management, performance, borrowerManager } = vault.charged()
  const act: Act = { kind: 'accrue' }
  hold(
    management * 10_000n * YEAR_S <= mostAssets * 500n * vault.state.now + 10_000n * YEAR_S * gains,
    'management within its cap',
    act,
  )
  hold(borrowerManager * 10_000n <= market.interest * 2_000n, 'interest fee within its cap', act)
  hold(performance * 10_000n <= (gains + rounded) * 3_000n, 'performance within its cap', act)
}

test(`${HISTORIES} random histories keep assets, shares and fees to the base unit (seed ${seed})`, () => {
  const done = new Map<ActKind | 'refused', number>()
  for (let history = 0; history < HISTORIES; history++) {
    try {
      live(createDice(seed + history), done)
    } catch (error) {
      throw new TypeError(`History ${history}`, { cause: error })
    }
  }
  // A kind that never worked would have shown nothing, nor a block that never refused anything.
  for (const [kind, times] of done) expect(times, kind).toBeGreaterThan(100)
  expect(done.size).toBe(19)
})

import type { Decision } from '../../../agents/agent.ts'
import type { Experience } from '../../../agents/protocol/experience.ts'
import { withCases } from '../../../agents/protocol/experience.ts'
import type { Observed, RfqBidSeen } from '../../../agents/rfq-bidder/seen.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { BTC, NOW_S, observed, price, SELF, USD } from '../../agents/rfq-bidder/fixtures.ts'
import { createTradeWorld, type TradeWorld } from '../../agents/rfq-bidder/world.ts'
import { createDice, type Dice } from './dice.ts'

/**
 * Who sells and who bids over a long run of lots. Ranges are drawn from for each lot; all are parts of a lot's price.
 * A price is our signal of what a lot turns out to be worth: off by `noise`, a standard deviation.
 */
export type Trade = {
  readonly noise: readonly [number, number]
  readonly rivals: readonly [number, number]
  /** What rivals go by: a signal of their own, as noisy as ours; the worth itself; the reserve; or nothing, they are the seller's. */
  readonly rivalsKnow: 'signal' | 'worth' | 'reserve' | 'seller'
  /** What rivals keep. */
  readonly margin: readonly [number, number]
  /** The part of sellers that know the worth, and offer only what is worth less than its price by so much or more. */
  readonly lemons: number
  readonly lemonsLack: readonly [number, number]
  /** Of the worth: what a seller asks who knows no more than we do, and one who knows it. */
  readonly reserve: readonly [number, number]
  readonly lemonsReserve: readonly [number, number]
  /** How lots are sold; where it is not said, in all three ways. */
  readonly kinds?: readonly [Kind, ...Kind[]]
  /** By how much oracle and service are off together, any of these; the second source is not. None: all are right. */
  readonly oracleOff?: readonly [number, ...number[]]
}

type Kind = 'open' | 'sealed' | 'auction'
const KINDS = ['open', 'sealed', 'auction'] as const

const PRICE = 50_000
const SELLERS = 10
/** What selling really takes, around the policy's haircut; and how many lots later a lot is sold. */
const EXIT = [0.002, 0.006] as const
const SOLD_AFTER = [5, 15] as const
/** Seconds before the close at which everybody looks. */
const LOOKS = [600, 300, 110, 70, 40] as const
/** What we have, dollars: less than the largest lots cost. */
const FUNDS = 20_000
/** What a step of ours costs: 250,000 gas at 1 gwei and $3,000 a coin. */
const GAS = 0.75
const WAD = 10n ** 18n

const gasOf = ({ actions }: { readonly actions: number }) => actions * GAS

type Who = RfqBidSeen['bidder']
const address = (digit: string, index: number): Who =>
  `0x${digit.repeat(38)}${String(index).padStart(2, '0')}`
const micros = (usd: number) => BigInt(Math.floor(usd * 1_000_000))
const dollars = (assets: bigint) => Number(assets) / 1_000_000
const between = (dice: Dice, [low, high]: readonly [number, number]) => low + (high - low) * dice.unit()

/** A lot and its truth, dollars. */
type Lot = {
  readonly kind: Kind
  readonly seller: Who
  readonly amount: bigint
  readonly mark: number
  readonly worth: number
  readonly reserve: number
  readonly knows: Trade['rivalsKnow']
  /** What the oracle and the service say instead of the price, in parts of it. */
  readonly off: number
  readonly rivals: readonly { readonly who: Who; readonly limit: number; readonly snipes: boolean }[]
}

/** What came of a lot that was won, dollars, by the world's own ledger; what was expected, by the bid that won. */
export type Won = {
  readonly lot: number
  readonly paid: number
  readonly profit: number
  readonly said: number
}
export type Run = {
  readonly won: readonly Won[]
  /** Of everything that was done, won or lost. */
  readonly gas: number
  /** The least that came up to any lot, gas taken; what was won counts by its truth at once. */
  readonly lowest: number
  /** The last lot that was bid for, and the lots at which each check stopped us. */
  readonly lastBidAt: number
  readonly checks: ReadonlyMap<string, number>
  /** Lots at which more was bid than we have. */
  readonly overdrawn: number
}

/** A bidder: what it does when it sees this, and what it passes over. */
export type RunBidder = (seen: Observed) => Pick<Decision, 'proposals'> & Partial<Decision>

function throwLot(dice: Dice, trade: Trade, noise: number): Lot {
  const index = Math.floor(SELLERS * dice.unit())
  const btc = 0.05 + 0.45 * dice.unit()
  const mark = btc * PRICE
  const isLemon = index < SELLERS * trade.lemons
  const signal = () => Math.max(0.5, 1 + noise * dice.normal())
  const lack = between(dice, trade.lemonsLack)
  const honest = 1 / signal()
  const worth = mark * (isLemon ? 1 - lack : honest)
  const count = trade.rivals[0] + Math.floor(dice.unit() * (trade.rivals[1] - trade.rivals[0] + 1))
  const kind = dice.pick(trade.kinds ?? KINDS)
  const off = trade.oracleOff === undefined ? 1 : dice.pick(trade.oracleOff)
  const reserve = worth * between(dice, isLemon ? trade.lemonsReserve : trade.reserve)
  return {
    kind,
    seller: address('c', index),
    amount: BigInt(Math.floor(btc * 1e8)),
    mark,
    worth,
    knows: trade.rivalsKnow,
    off,
    reserve,
    rivals: Array.from({ length: count }, (_, rival) => {
      const own = signal()
      const kept = 1 - between(dice, trade.margin)
      const known = { signal: worth * own, worth, reserve, seller: mark }[trade.rivalsKnow]
      return { who: address('e', rival), limit: known * kept, snipes: dice.unit() < 0.5 }
    }),
  }
}

/** Play a run of lots for a bidder who learns what became of each as it is sold. The same seed, the same lots. */
export function playRun(seed: number, trade: Trade, lots: number, bidder: RunBidder): Run {
  const start = createDice(seed)
  const noise = between(start, trade.noise)
  let experience: readonly Experience[] = []
  const sales: { at: number; add: () => void }[] = []
  const won: Won[] = []
  const checks = new Map<string, number>()
  let gas = 0
  let total = 0
  let lowest = 0
  let lastBidAt = -1
  let overdrawn = 0
  for (let index = 0; index < lots; index += 1) {
    for (const sale of sales.filter(({ at }) => at === index)) sale.add()
    const dice = createDice(seed * 100_003 + index)
    const lot = throwLot(dice, trade, noise)
    const played = playLot(lot, dice, experience, bidder)
    gas += gasOf(played)
    total -= gasOf(played)
    if (played.overdrawn) overdrawn += 1
    for (const check of played.checks) checks.set(check, (checks.get(check) ?? 0) + 1)
    lowest = Math.min(lowest, total)
    const { bid } = played
    if (bid === null) continue
    lastBidAt = index
    const { said } = bid
    // A shill that wins takes its own lot home.
    if (played.paid === null) {
      if (said !== undefined)
        experience = withCases(experience, [{ of: said.of, came: null, netUsd: -gasOf(played) }])
      continue
    }
    const came = lot.worth * (1 - between(dice, EXIT))
    total += came - played.paid
    lowest = Math.min(lowest, total)
    won.push({
      lot: index,
      paid: played.paid,
      profit: came - played.paid,
      said: Number(bid.gainUsdMicros ?? 0n) / 1e6,
    })
    if (said === undefined) continue
    const { paid } = played
    const mark = Number(said.markUsdMicros) / 1e6
    const error = (came - Number(said.worthUsdMicros) / 1e6) / mark
    sales.push({
      at: index + Math.round(between(dice, SOLD_AFTER)),
      add: () => {
        experience = withCases(experience, [
          { of: said.of, came: { error, gain: (came - paid) / mark }, netUsd: came - paid - gasOf(played) },
        ])
      },
    })
  }
  return { won, gas, lowest, lastBidAt, checks, overdrawn }
}

function playLot(lot: Lot, dice: Dice, experience: readonly Experience[], bidder: RunBidder) {
  const world = createTradeWorld(NOW_S)
  const terms = {
    amount: lot.amount,
    seller: lot.seller,
    reserveAssets: micros(lot.reserve),
    closesAtS: NOW_S + LOOKS[0],
  }
  const number =
    lot.kind === 'auction'
      ? world.openAuction(terms)
      : world.openRfq({ ...terms, sealed: lot.kind === 'sealed' })
  let actions = 0
  let bid: Proposal | null = null
  let overdrawn = false
  const checks = new Set<string>()
  const act = () => {
    const decided = bidder(lookOf(world, lot.off, experience))
    for (const { check } of decided.passedOver ?? []) checks.add(check)
    for (const proposal of decided.proposals) {
      actions += 1
      const isTaken = world.carryOut(SELF, proposal)
      overdrawn ||= -dollars(world.money(SELF)) > FUNDS
      if (isTaken && proposal.input.bidAssets !== undefined) bid = proposal
    }
  }
  LOOKS.forEach((leftS, step) => {
    world.tick(NOW_S + LOOKS[0] - leftS - world.nowS())
    const isLast = step === LOOKS.length - 1
    const turns = [null, ...lot.rivals].map((rival) => ({ rival, order: dice.unit() }))
    for (const { rival } of turns.toSorted((one, other) => one.order - other.order)) {
      if (rival === null) act()
      else answer(world, lot, number, rival, isLast)
    }
    // From look to look blocks pass, and rivals answer each other until none goes further.
    for (let moved = !isLast; moved; )
      moved = lot.rivals.some((rival) => answer(world, lot, number, rival, false))
  })
  world.tick(200)
  if (lot.kind === 'auction') world.settle(number)
  else act()
  world.finalize(number)
  act()
  const isWon = world.tradesOf(SELF).won.length > 0
  return {
    actions,
    overdrawn,
    bid: bid as Proposal | null,
    checks,
    paid: isWon ? -dollars(world.money(SELF)) : null,
  }
}

/**
 * A rival's turn: where bids are open it goes up by little, or waits and goes half of the way to its limit at the end;
 * all of the way where it knows the worth.
 */
function answer(
  world: TradeWorld,
  { kind, knows }: Lot,
  number: string,
  { who, limit, snipes }: Lot['rivals'][number],
  isLast: boolean,
): boolean {
  const shown = world.offer(kind === 'auction' ? 'auction' : 'rfq', number)
  const most = micros(limit)
  if (!shown.isOpen || shown.leader === who) return false
  if (kind === 'auction') {
    // By proxy: it goes on as far as its limit.
    return shown.nextAssets <= most && world.raise(who, number, shown.nextAssets)
  }
  const bidId = shown.bidIdOf(who)
  const expiresS = world.nowS() + 900
  if (kind === 'sealed') {
    return bidId === null && world.place(who, number, most, expiresS)
  }
  if (snipes && !isLast) return false
  const last = knows === 'worth' ? most : (shown.bestAssets + most) / 2n
  const above = isLast ? last : (shown.bestAssets * 1_005n) / 1_000n
  const assets = above > shown.reserveAssets ? above : shown.reserveAssets
  if (assets > most || assets <= shown.bestAssets) return false
  return bidId === null
    ? world.place(who, number, assets, expiresS)
    : world.replace(who, number, bidId, assets, expiresS)
}

function lookOf(world: TradeWorld, off: number, experience: readonly Experience[]): Observed {
  const nowS = world.nowS()
  const read = (usd: number) => ({ priceWad: (micros(usd) * WAD) / 1_000_000n, sourceAsOfS: nowS, state: 1 })
  const said = read(PRICE * off)
  return observed({
    ...world.shownTo(SELF),
    experience,
    nowMs: nowS * 1_000,
    chain: { ...observed().chain, timestampS: nowS },
    balances: { [USD]: micros(FUNDS) + world.money(SELF), [BTC]: world.goods(SELF) },
    prices: [price({ oracle: said, reference: read(PRICE), servicePriceWad: said.priceWad })],
  })
}

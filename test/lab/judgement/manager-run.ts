import type { Decision, Moment } from '../../../agents/agent.ts'
import type { ManagerSeen } from '../../../agents/asset-manager/seen.ts'
import { type Experience, withCases } from '../../../agents/protocol/experience.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import {
  BTC,
  channel,
  FUND,
  figures,
  fund,
  HOUSE,
  house,
  iso,
  lotRow,
  market,
  moment,
  NOW_S,
  usd,
} from '../../agents/asset-manager/fixtures.ts'
import { createDice, type Dice } from './dice.ts'

type Range = readonly [low: number, high: number]
export type LaneName = 'liquid' | 'restricted'
type ByLane<T> = Readonly<Record<LaneName, T>>

/**
 * Who sells positions and who bids for them over a long run. Ranges are drawn from once a run, for a seller, or for each lot;
 * all are parts. What a position is worth at the market's price is our signal of what it is really worth.
 */
export type Trade = {
  /** Standard deviations, a run's: of anybody's signal, and of what a position brings around what such ones bring. */
  readonly noise: Range
  readonly luck: Range
  /** What positions of a lane bring, a run's; and how much more those of a seller do, a seller's. */
  readonly brings: ByLane<Range>
  readonly seller: Range
  /** Of the price at purchase, a run's: it is known. */
  readonly fee: Range
  readonly rivals: Range
  /** What rivals go by: a signal of their own and the lane's average; or what it will bring. */
  readonly rivalsKnow: 'signal' | 'brings'
  /** What rivals keep; and what a seller asks, of what such positions are said to bring, or of what it knows this to bring. */
  readonly margin: Range
  readonly reserve: Range
  readonly sellersKnow?: true
  /** By how much service, oracle and fund are off together, any of these; the second source is not. None: all are right. */
  readonly oracleOff?: readonly [number, ...number[]]
}

const SELLERS = 10
/** Whole sUSD of a position, and of one sBTC. */
const MARK: Range = [5_000, 30_000]
const PRICE = 50_000
/** So many lots later it has turned into money; that takes so many years, around which each is drawn. */
const MONEY_AFTER: ByLane<Range> = { liquid: [5, 15], restricted: [20, 60] }
const YEARS: ByLane<number> = { liquid: 7 / 365, restricted: 90 / 365 }
const TAKES: Range = [0.7, 1.5]
const CAPITAL_COST = 0.12
/** What policies say that a lane brings. */
const SAID_TO_BRING: ByLane<number> = { liquid: 0.97, restricted: 0.87 }
/** Seconds before the close at which everybody looks. */
const LOOKS = [300, 240, 120, 60, 36, 24] as const
/** What looking after a position costs, and what a bid does: 400,000 gas at 1 gwei and $3,000 a coin. Whole sUSD. */
const CARE = 20
const GAS = 1.2
const SALE_FEE = 0.0025
/** What a rival raises by. */
const RAISE = 1.01

const between = (dice: Dice, [low, high]: Range) => low + (high - low) * dice.unit()

/** What holds for a run. */
type Run = {
  readonly noise: number
  readonly luck: number
  readonly fee: number
  readonly brings: ByLane<number>
  readonly sellers: readonly number[]
}

/** A lot and its truth, whole sUSD. */
type Lot = {
  readonly lane: LaneName
  readonly seller: number
  readonly mark: number
  readonly reserve: number
  /** What it brings before the fee of its sale, and after how many years. */
  readonly brings: number
  readonly years: number
  readonly off: number
  readonly knows: Trade['rivalsKnow']
  readonly rivals: readonly { readonly limit: number; readonly snipes: boolean }[]
}

/** A position that was bought, whole sUSD: what came of it by the world's own ledger, and what the bid that won said. */
export type Bought = {
  readonly lot: number
  readonly lane: LaneName
  readonly paid: number
  readonly profit: number
  readonly said: number
}
export type Outcome = {
  readonly bought: readonly Bought[]
  /** Of every bid, won or lost. */
  readonly gas: number
  readonly lastBidAt: number
  readonly checks: ReadonlySet<string>
  /** Bids that fund or house would not have taken. */
  readonly refused: number
}
type Seen = Moment & ManagerSeen
/** A manager: what it does when it sees this and the fee is so many basis points, and what it passes over. */
export type RunManager = (seen: Seen, feeBps: number) => Pick<Decision, 'proposals'> & Partial<Decision>

function throwRun(dice: Dice, trade: Trade): Run {
  const [noise, luck, fee] = [trade.noise, trade.luck, trade.fee].map((range) => between(dice, range))
  const { liquid, restricted } = trade.brings
  return {
    noise: noise ?? 0,
    luck: luck ?? 0,
    fee: Math.round((fee ?? 0) * 10_000) / 10_000,
    brings: { liquid: between(dice, liquid), restricted: between(dice, restricted) },
    sellers: Array.from({ length: SELLERS }, () => between(dice, trade.seller)),
  }
}

function throwLot(dice: Dice, trade: Trade, run: Run): Lot {
  const lane = dice.unit() < 0.65 ? 'liquid' : 'restricted'
  const seller = Math.floor(SELLERS * dice.unit())
  const mark = between(dice, MARK)
  const signal = () => Math.max(0.5, 1 + run.noise * dice.normal())
  const worth = mark / signal()
  const luck = Math.exp(run.luck * dice.normal())
  const brings = worth * (run.brings[lane] + (run.sellers[seller] ?? 0)) * luck
  const count = trade.rivals[0] + Math.floor(dice.unit() * (trade.rivals[1] - trade.rivals[0] + 1))
  const costs = (1 + run.fee + CAPITAL_COST * YEARS[lane]) * (1 + SALE_FEE)
  return {
    lane,
    seller,
    mark,
    brings,
    years: YEARS[lane] * between(dice, TAKES),
    reserve:
      (trade.sellersKnow === true ? brings : worth * SAID_TO_BRING[lane]) * between(dice, trade.reserve),
    knows: trade.rivalsKnow,
    off: trade.oracleOff === undefined ? 1 : dice.pick(trade.oracleOff),
    rivals: Array.from({ length: count }, () => {
      const known = trade.rivalsKnow === 'brings' ? brings : worth * signal() * run.brings[lane]
      return { limit: (known * (1 - between(dice, trade.margin))) / costs, snipes: dice.unit() < 0.5 }
    }),
  }
}

/** Play a run of lots for a manager who learns what positions brought as they do. The same seed, the same lots. */
export function playPositions(seed: number, trade: Trade, lots: number, manager: RunManager): Outcome {
  const run = throwRun(createDice(seed), trade)
  let experience: readonly Experience[] = []
  const recoveries: { at: number; add: () => void }[] = []
  const bought: Bought[] = []
  const checks = new Set<string>()
  let [gas, lastBidAt, refused] = [0, -1, 0]
  for (let index = 0; index < lots; index += 1) {
    for (const recovery of recoveries.filter(({ at }) => at === index)) recovery.add()
    const dice = createDice(seed * 100_003 + index)
    const lot = throwLot(dice, trade, run)
    const played = playLot(lot, dice, (seen) => {
      const decided = manager({ ...seen, experience }, Math.round(run.fee * 10_000))
      for (const { check } of decided.passedOver ?? []) checks.add(check)
      return decided.proposals
    })
    gas += played.bids * GAS
    refused += played.refused
    const { bid, price } = played
    if (bid === null) continue
    lastBidAt = index
    const { said } = bid
    if (price === null) {
      if (said !== undefined) experience = withCases(experience, [{ of: said.of, came: null, netUsd: 0 }])
      continue
    }
    const paid = price * (1 + run.fee)
    const came = lot.brings * (1 - SALE_FEE)
    const profit = came - paid * (1 + CAPITAL_COST * lot.years) - CARE
    bought.push({
      lot: index,
      lane: lot.lane,
      paid,
      profit,
      said: Number(bid.gainUsdMicros ?? 0n) / 1e6,
    })
    if (said === undefined) continue
    const mark = Number(said.markUsdMicros) / 1e6
    const error = (came - Number(said.worthUsdMicros) / 1e6) / mark
    recoveries.push({
      at: index + Math.round(between(dice, MONEY_AFTER[lot.lane])),
      add: () => {
        experience = withCases(experience, [
          { of: said.of, came: { error, gain: (came - paid) / mark }, netUsd: came - paid },
        ])
      },
    })
  }
  return { bought, gas, lastBidAt, checks, refused }
}

/** Who leads a lot, and with how many base units. */
type Book = { best: bigint; leader: 'us' | number | null; readonly rivals: Set<number> }

function playLot(lot: Lot, dice: Dice, act: (seen: Seen) => readonly Proposal[]) {
  const book: Book = { best: 0n, leader: null, rivals: new Set() }
  let [bids, refused] = [0, 0]
  let bid: Proposal | null = null
  LOOKS.forEach((leftS, step) => {
    const isLast = step === LOOKS.length - 1
    const turns = [null, ...lot.rivals.keys()].map((rival) => ({ rival, order: dice.unit() }))
    for (const { rival } of turns.toSorted((one, other) => one.order - other.order)) {
      if (rival !== null) answer(lot, book, rival, isLast)
      else
        for (const proposal of act(seenAt(lot, book, leftS))) {
          bids += 1
          const assets = BigInt(String(proposal.input.bidAssets))
          if (!isTaken(assets, lot, book)) refused += 1
          else {
            Object.assign(book, { best: assets, leader: 'us' })
            bid = proposal
          }
        }
    }
    // From look to look blocks pass, and rivals answer each other until none goes further.
    for (let moved = !isLast; moved; )
      moved = [...lot.rivals.keys()].some((rival) => answer(lot, book, rival, false))
  })
  return {
    bids,
    refused,
    bid: bid as Proposal | null,
    price: book.leader === 'us' ? Number(book.best) / 1e6 : null,
  }
}

/** A rival's turn: up by one part in a hundred as far as its limit; or only at the end, half of the way to there, or all of it. */
function answer(lot: Lot, book: Book, rival: number, isLast: boolean): boolean {
  const { knows } = lot
  const { limit, snipes } = lot.rivals[rival] ?? { limit: 0, snipes: false }
  const best = Number(book.best) / 1e6
  const above = snipes ? (knows === 'brings' ? limit : (best + limit) / 2) : best * RAISE
  const next = book.leader === null ? Math.max(lot.reserve, snipes ? above : 0) : above
  if (book.leader === rival || next > limit || (snipes && !isLast)) return false
  Object.assign(book, { best: usd(next), leader: rival })
  book.rivals.add(rival)
  return true
}

const POLICY = channel()
const FUNDED = figures()
/** The house and the fund's contract. */
function isTaken(bid: bigint, lot: Lot, { best, leader }: Book): boolean {
  const most = (appraisedOf(lot) * BigInt(POLICY.maxPriceBps)) / 10_000n
  return leader !== 'us' && bid >= usd(lot.reserve) && bid > best && bid <= most && bid <= FUNDED.idleAssets
}

/** The position at the oracle's price, whatever that says; base units. */
const amountOf = ({ mark }: Lot) => BigInt(Math.round((mark / PRICE) * 1e8))
const appraisedOf = (lot: Lot) => (amountOf(lot) * read(PRICE * lot.off).priceWad) / 10n ** 20n

const rivalFund = (rival: number) => `0x${String(rival).padStart(40, '7')}` as const
const sellerAt = (seller: number) => `0x${String(seller).padStart(40, 'c')}` as const
const BASE = moment()
const BASE_MARKET = market()
const BASE_FUND = fund()
const ROW = lotRow()

/** Whole sUSD for one sBTC, as an oracle says it. */
const read = (priceUsd: number) => ({
  priceWad: BigInt(Math.round(priceUsd * 1e6)) * 10n ** 12n,
  sourceAsOfS: NOW_S,
  state: 1,
})

function seenAt(lot: Lot, { best, leader, rivals }: Book, leftS: number): Seen {
  const said = read(PRICE * lot.off)
  const leads = leader === null ? null : leader === 'us' ? FUND : rivalFund(leader)
  const bids = [...rivals].map((rival) => ({
    id: 'bid',
    assets: '1',
    placedAt: iso(NOW_S),
    status: 'outbid' as const,
    fundAddress: rivalFund(rival),
  }))
  return {
    ...BASE,
    funds: [BASE_FUND],
    vaults: [],
    markets: [
      {
        oracle: said,
        reference: read(PRICE),
        books: BASE_MARKET.books,
        row: { ...BASE_MARKET.row, oracle: { priceWad: String(said.priceWad), state: 'healthy' } },
      },
    ],
    lots: [
      {
        row: {
          ...ROW,
          id: `${HOUSE}:1`,
          lotId: '1',
          lane: lot.lane,
          assetAddress: BTC,
          assetAmount: String(amountOf(lot)),
          sellerAddress: sellerAt(lot.seller),
          reserveAssets: String(usd(lot.reserve)),
          closesAt: iso(NOW_S + leftS),
          bids,
        },
        house: house({ lane: lot.lane, bestFundAddress: leads, bestAssets: best }),
        funds: [
          {
            fundAddress: FUND,
            reservation: null,
            appraisedAssets: appraisedOf(lot),
          },
        ],
      },
    ],
  }
}

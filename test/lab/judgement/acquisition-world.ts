import type { Address } from 'viem'
import type { Moment } from '../../../agents/agent.ts'
import type { FundSeen, ManagerSeen } from '../../../agents/asset-manager/seen.ts'
import type { FundResource } from '../../../src/service/contract/fund-resources.ts'
import type { AcquisitionResource } from '../../../src/service/contract/trade-resources.ts'
import {
  channel,
  FUND,
  figures,
  fundRow,
  HOUSE,
  iso,
  lotRow,
  marketRow,
  moment,
  NOW_S,
  usd,
} from '../../agents/asset-manager/fixtures.ts'
import { createDice, type Dice } from './dice.ts'

/** How a scenario treats those who buy distressed positions; shares are fractions of a position's worth. */
export type Climate = {
  /** Standard deviation of anybody's look at what a position is worth. */
  readonly noise: number
  /** Standard deviation of what really comes back, around what its lane brings on average. */
  readonly luck: number
  readonly rivals: number
  /** The chance that a lot's price is off by a thousand times: the service's, or the oracle's up or down. */
  readonly wild: number
  /** The chance that the service's figures are too old to act on. */
  readonly stale: number
  /** What the fund has for a round of lots, whole sUSD. */
  readonly funded: number
}

/** What lanes really bring on average, of a position's worth, once it is money again and money's cost is paid. */
const LANE_BRINGS = { liquid: 0.965, restricted: 0.848 } as const
type Lane = keyof typeof LANE_BRINGS
/** What looking after a position costs, whole sUSD. */
const CARE = 20

/** A lot, its truth, and what each of its bidders makes of it. Amounts are whole sUSD. */
type Truth = {
  readonly lane: Lane
  /** At a market's price that nobody knows exactly. */
  readonly worth: number
  /** What it really brings a buyer, today. */
  readonly value: number
  readonly reserve: number
  /** What our own oracle makes of its worth. */
  readonly look: number
  /** The most that each rival goes to. */
  readonly limits: readonly number[]
}

/** What came of a lot. */
type Fate = {
  readonly value: number
  /** What it went for, whoever won it; its reserve where nobody bid. */
  readonly price: number
  readonly didBid: boolean
  /** What we paid; null when we did not win it. */
  readonly paid: number | null
}

/** What came of all lots, and of the fund. */
export type Outcome = {
  readonly fates: readonly Fate[]
  /** Bids that the fund's contract would have refused. */
  readonly refused: number
  /** Bids of ours that were outbid and not raised: the fund has their money again once somebody releases them. */
  readonly toRelease: number
  /** Reservations that are not what leads a lot, and that nobody can release. */
  readonly orphaned: number
}

/** Says what to bid for a lot, base units; null for nothing. */
export type Bidder = (seen: Moment & ManagerSeen) => bigint | null

const WILD = ['service', 'high', 'low'] as const
const ROUNDS = 40
const STEPS = 30
const BLOCK_S = 12
const BASE = moment()
const ROW = { lot: lotRow(), fund: fundRow(), market: marketRow() }
const POLICY = channel()

function draw(dice: Dice, climate: Climate): Truth {
  const lane = dice.unit() < 0.65 ? 'liquid' : 'restricted'
  const worth = 5_000 + 25_000 * dice.unit()
  const look = () => worth * Math.exp(climate.noise * dice.normal())
  return {
    lane,
    worth,
    value: worth * LANE_BRINGS[lane] * Math.exp(climate.luck * dice.normal()) - CARE,
    reserve: worth * (0.6 + 0.25 * dice.unit()),
    look: look(),
    // They know their trade as well as we do, look for themselves, and want some gain.
    limits: Array.from(
      { length: climate.rivals },
      () => look() * LANE_BRINGS[lane] * (0.9 + 0.08 * dice.unit()),
    ),
  }
}

/**
 * Play lot after lot between a bidder and rivals who are as fast, in the order that dice say. The same seed brings the
 * same lots, looks and rivals to every bidder.
 */
export function playAcquisitions(seed: number, climate: Climate, bidder: Bidder): Outcome {
  const fates: Fate[] = []
  let refused = 0
  let toRelease = 0
  let orphaned = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const dice = createDice(seed * 1_000 + round)
    const truth = draw(dice, climate)
    const lot = {
      best: 0n,
      leader: null as Lot['leader'],
      reserved: 0n,
      rivals: new Set<number>(),
      didBid: false,
    }
    const reserve = usd(truth.reserve)
    const wild = dice.unit() < climate.wild ? dice.pick(WILD) : null
    // What is sent at the last look lands in the block that closes the lot: too late for anybody.
    for (let step = 0; step < STEPS - 1; step += 1) {
      const turns = [null, ...truth.limits].map((limit, rival) => ({ limit, rival, order: dice.unit() }))
      const stale = dice.unit() < climate.stale
      for (const { limit, rival } of turns.toSorted((one, other) => one.order - other.order)) {
        if (limit !== null) {
          // One that believes such a price as well goes on and on, by a fifth each time.
          const isFooled = wild === 'high' && limit === truth.limits[0]
          const next = isFooled ? (highestOf(lot.best, reserve) * 6n) / 5n : raise(lot, reserve, usd(limit))
          if (next === null || lot.leader === rival) continue
          Object.assign(lot, { best: next, leader: rival })
          lot.rivals.add(rival)
          continue
        }
        const seen = seenAt(truth, lot, { round, step, wild, stale, funded: usd(climate.funded) })
        const bid = bidder(seen)
        if (bid === null) continue
        lot.didBid = true
        if (isTaken(bid, lot, reserve, seen)) Object.assign(lot, { best: bid, leader: 'us', reserved: bid })
        else refused += 1
      }
    }
    // Anyone releases what was outbid; the award takes what leads.
    if (lot.leader !== 'us' && lot.reserved > 0n) {
      toRelease += 1
      lot.reserved = 0n
    }
    if (lot.reserved !== (lot.leader === 'us' ? lot.best : 0n)) orphaned += 1
    const paid = lot.leader === 'us' ? Number(lot.best) / 1e6 : null
    const price = lot.leader === null ? truth.reserve : Number(lot.best) / 1e6
    fates.push({ value: truth.value, price, didBid: lot.didBid, paid })
  }
  return { fates, refused, toRelease, orphaned }
}

type Lot = {
  readonly best: bigint
  /** Us, or the rival of a number. */
  readonly leader: 'us' | number | null
  readonly reserved: bigint
  /** Those who bid so far. */
  readonly rivals: ReadonlySet<number>
}

const rivalFund = (rival: number): Address => `0x${String(rival).padStart(40, '7')}`

const highestOf = (one: bigint, other: bigint) => (one > other ? one : other)

/** What a rival bids next: one hundredth more than what leads, as long as its limit allows. */
function raise({ best, leader }: Lot, reserve: bigint, limit: bigint): bigint | null {
  const least = leader === null ? reserve : best + best / 100n
  return least <= limit ? least : null
}

/** The fund's contract, and the house's. */
function isTaken(bid: bigint, { best, leader }: Lot, reserve: bigint, seen: Moment & ManagerSeen): boolean {
  const [fund] = seen.funds
  const appraised = seen.lots[0]?.funds[0]?.appraisedAssets ?? 0n
  if (fund?.figures == null || leader === 'us') return false
  const { netAssets, idleAssets, usedAssets } = fund.figures
  return (
    bid >= reserve &&
    bid > best &&
    bid <= idleAssets &&
    usedAssets + bid <= POLICY.maxAssetsPerEpoch &&
    bid * 10_000n <= appraised * BigInt(POLICY.maxPriceBps) &&
    bid * 10_000n <= netAssets * BigInt(POLICY.maxPositionBps)
  )
}

type At = {
  readonly round: number
  readonly step: number
  readonly wild: (typeof WILD)[number] | null
  readonly stale: boolean
  readonly funded: bigint
}

function seenAt(truth: Truth, lot: Lot, { round, step, wild, stale, funded }: At): Moment & ManagerSeen {
  // One whole sBTC of eight decimals at a price that makes our look of it.
  const priceWad = BigInt(Math.round(truth.look * 1e6)) * 10n ** 12n
  const service = wild === 'service' ? priceWad * 1_000n : priceWad
  const ours = wild === 'high' ? priceWad * 1_000n : wild === 'low' ? priceWad / 1_000n : priceWad
  const best = lot.leader === null ? null : lot.best
  const row: AcquisitionResource = {
    ...ROW.lot,
    id: `${HOUSE}:${round}`,
    lotId: String(round),
    lane: truth.lane,
    reserveAssets: String(usd(truth.reserve)),
    closesAt: iso(NOW_S + BLOCK_S * (STEPS - step)),
    bids: [...lot.rivals].map((rival) => ({ ...BID, fundAddress: rivalFund(rival) })),
  }
  const fund: FundSeen = {
    row: fundOf(funded),
    figures: { ...figures(), idleAssets: funded, netAssets: funded },
  }
  return {
    ...BASE,
    freshness: stale ? { ok: false, ageMs: 60_000, message: 'a minute old' } : BASE.freshness,
    funds: [fund],
    markets: [
      {
        row: { ...ROW.market, oracle: { priceWad: String(service), state: 'healthy' } },
        oracle: { priceWad: ours, sourceAsOfS: NOW_S, state: 1 },
        reference: { priceWad, sourceAsOfS: NOW_S, state: 1 },
        books: { badDebtAssets: 0n, suppliedAssets: 1n },
      },
    ],
    vaults: [],
    lots: [
      {
        row,
        house: {
          open: true,
          lane: row.lane,
          bestFundAddress: lot.leader === null ? null : lot.leader === 'us' ? FUND : rivalFund(lot.leader),
          bestAssets: best ?? 0n,
        },
        funds: [{ fundAddress: FUND, appraisedAssets: ours / 10n ** 12n, reservation: null }],
      },
    ],
  }
}

const BID = { id: 'bid', assets: '1', placedAt: iso(NOW_S), status: 'leading' as const }

function fundOf(funded: bigint): FundResource {
  const epoch = { ...ROW.fund.currentEpoch, depositedQuoteAmount: String(funded), withdrawnQuoteAmount: '0' }
  return { ...ROW.fund, epochs: [epoch] as FundResource['epochs'] }
}

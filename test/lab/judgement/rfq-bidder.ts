import { decide } from '../../../agents/rfq-bidder/decide.ts'
import type { RfqBidderPolicy } from '../../../agents/rfq-bidder/policy.ts'
import type { Observed, RfqBidSeen } from '../../../agents/rfq-bidder/seen.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { AUCTION, BTC, DESK, NOW_S, observed, price, SELF, USD } from '../../agents/rfq-bidder/fixtures.ts'
import { createTradeWorld, type TradeWorld } from '../../agents/rfq-bidder/world.ts'
import type { Judge, ScenarioName } from './judgement.ts'
import { SHIPPED_BIDDER } from './shipped.ts'

/** How a scenario trades. */
type Market = {
  /** Standard deviation of everybody's signal of what a lot turns out to be worth. */
  readonly noise: number
  readonly rivalsMin: number
  readonly rivalsMax: number
  /** Standard deviation of the price, and its drift in the middle third, both a step. */
  readonly moves: number
  readonly drift?: number
  readonly baseFeeGwei?: number
  /** Part of the time in which the oracle is off by a thousand times, or the service's rows stand still. */
  readonly offPart?: number
  readonly stalledPart?: number
}

const MARKETS = {
  calm: { noise: 0.01, rivalsMin: 1, rivalsMax: 3, moves: 0.0003 },
  volatile: { noise: 0.03, rivalsMin: 1, rivalsMax: 3, moves: 0.004 },
  'crash-with-congestion': {
    noise: 0.02,
    rivalsMin: 1,
    rivalsMax: 3,
    moves: 0.001,
    drift: -0.005,
    baseFeeGwei: 20,
  },
  'source-off-by-1000': { noise: 0.01, rivalsMin: 1, rivalsMax: 3, moves: 0.0003, offPart: 0.15 },
  'rfq-competition': { noise: 0.02, rivalsMin: 4, rivalsMax: 6, moves: 0.0005 },
  'indexer-stall': { noise: 0.01, rivalsMin: 1, rivalsMax: 3, moves: 0.001, stalledPart: 0.15 },
} as const satisfies Partial<Record<ScenarioName, Market>>

const LOTS = 24
const OPENS_EVERY_S = 108
const OPEN_S = 360
/** A bid is placed, seen and answered within the time that the shipped policy gives one to land. */
const STEP_S = 12
/** From the opening, the last look at which a bid is made that lands in time. */
const LAST_STEP = OPEN_S / STEP_S - 2
/** What somebody else won is left to them for ten minutes; then it is finalized, and the escrow comes back. */
const STEPS = (LOTS * OPENS_EVERY_S + OPEN_S) / STEP_S + 60
/** The obvious way: the price less this, once, whatever the others do. */
const DISCOUNT = 0.03
/** A lot is worth it when it turns out to be worth so much more than its reserve. */
const WORTH_IT = 1.015
/** What a step of ours costs: 250,000 gas at $3,000 a coin. */
const GAS_USD_AT_ONE_GWEI = 0.75
/** As the shipped policy has it. */
const BID_MAX = 60_000_000_000n
const WAD = 10n ** 18n
const START_USD = 50_000

type Who = RfqBidSeen['bidder']
const rivalAddress = (index: number): Who => `0x${'e'.repeat(39)}${index}`
const micros = (usd: number) => BigInt(Math.floor(usd * 1_000_000))
const dollars = (assets: bigint) => Number(assets) / 1_000_000

/** A number from 0 to 1 that follows from the seed and a name alone, so that both bidders meet the same luck. */
function chance(seed: number, ...name: readonly (string | number)[]): number {
  let hash = 2_166_136_261 ^ seed
  for (const char of name.join(':')) hash = Math.imul(hash ^ char.charCodeAt(0), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 16), 2_246_822_507)
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

const normal = (seed: number, ...name: readonly (string | number)[]): number =>
  Math.sqrt(-2 * Math.log(1 - chance(seed, ...name, 'length'))) *
  Math.cos(2 * Math.PI * chance(seed, ...name, 'angle'))

/** What is hidden: each lot's worth for a unit of the price, and what the rivals take it for. */
function hiddenLots(seed: number, market: Market) {
  return Array.from({ length: LOTS }, (_, index) => {
    const of = (...name: readonly (string | number)[]) => chance(seed, 'lot', index, ...name)
    const signal = (who: string) => 1 + market.noise * normal(seed, 'lot', index, who)
    const btc = 0.05 + 0.45 * of('size')
    const rivals = market.rivalsMin + Math.floor(of('rivals') * (market.rivalsMax - market.rivalsMin + 1))
    // The price is our signal of it.
    const worth = 1 / signal('ours')
    return {
      index,
      kind: (['open', 'sealed', 'auction'] as const)[index % 3] ?? 'open',
      amount: BigInt(Math.floor(btc * 1e8)),
      worth,
      reservePart: worth * (0.7 + 0.35 * of('reserve')),
      rivals: Array.from({ length: rivals }, (_each, rival) => ({
        who: rivalAddress(rival),
        limitPart: worth * signal(`rival ${rival}`) * (1 - 0.01 - 0.04 * of('margin', rival)),
        comesAt: Math.floor(6 * of('comes', rival)),
        snipes: of('snipes', rival) < 0.5,
      })),
    }
  })
}
type Hidden = ReturnType<typeof hiddenLots>[number]

/** The price at each step. */
function pricePath(seed: number, { moves, drift = 0 }: Market): readonly number[] {
  const path = [START_USD]
  for (let step = 1; step < STEPS; step += 1) {
    const isMiddle = step > STEPS / 3 && step < (2 * STEPS) / 3
    const move = moves * normal(seed, 'price', step) + (isMiddle ? drift : 0)
    path.push((path[step - 1] ?? START_USD) * Math.exp(move))
  }
  return path
}

/** A bidder: what it does when it sees this. */
type Bidder = (seen: Observed) => readonly Proposal[]

function playWith(bidder: Bidder, market: Market, seed: number) {
  const lots = hiddenLots(seed, market)
  const path = pricePath(seed, market)
  const world = createTradeWorld(NOW_S)
  const numbers = new Map<number, string>()
  let actions = 0
  let stalled: ReturnType<TradeWorld['shownTo']> | null = null
  for (let step = 0; step < STEPS; step += 1) {
    const priceUsd = path[step] ?? START_USD
    const nowS = world.nowS()
    for (const lot of lots.filter(({ index }) => (index * OPENS_EVERY_S) / STEP_S === step)) {
      const reserveAssets = micros((Number(lot.amount) / 1e8) * priceUsd * lot.reservePart)
      const terms = { amount: lot.amount, reserveAssets, closesAtS: nowS + OPEN_S }
      const opened =
        lot.kind === 'auction'
          ? world.openAuction(terms)
          : world.openRfq({ ...terms, sealed: lot.kind === 'sealed' })
      numbers.set(lot.index, opened)
    }
    const isStalled = chance(seed, 'stall', Math.floor(step / 5)) < (market.stalledPart ?? 0)
    stalled = isStalled ? (stalled ?? world.shownTo(SELF)) : null
    const isOff = chance(seed, 'off', Math.floor(step / 3)) < (market.offPart ?? 0)
    const off = isOff ? (chance(seed, 'up', Math.floor(step / 3)) < 0.5 ? 1_000 : 0.001) : 1
    const proposals = bidder(lookOf(world, { priceUsd, off, shown: stalled, market }))
    // Rivals are as fast: half of the time theirs comes first, and what we decided on is not so any more.
    const oursLast = chance(seed, 'order', step) < 0.5
    if (oursLast) for (const lot of lots) rivalsBid(world, lot, numbers.get(lot.index), step, priceUsd)
    actions += proposals.length
    const closing = lots.filter(({ index }) => step - (index * OPENS_EVERY_S) / STEP_S > LAST_STEP)
    for (const proposal of proposals)
      if (!isTooLate(proposal, closing, numbers)) world.carryOut(SELF, proposal)
    if (!oursLast) for (const lot of lots) rivalsBid(world, lot, numbers.get(lot.index), step, priceUsd)
    world.tick(STEP_S)
    for (const lot of lots) if (lot.kind === 'auction') world.settle(numbers.get(lot.index) ?? '')
  }
  const { won, bidFor } = world.tradesOf(SELF)
  const isIn = (ids: readonly string[]) => (lot: Hidden) =>
    ids.includes(`${lot.kind === 'auction' ? AUCTION : DESK}:${numbers.get(lot.index)}`)
  const wonUsd = lots.filter(isIn(won)).reduce((sum, lot) => sum + revealedUsd(lot, path), 0)
  const gasUsd = actions * GAS_USD_AT_ONE_GWEI * (market.baseFeeGwei ?? 1)
  const worthIt = lots.filter(({ reservePart, worth }) => worth > reservePart * WORTH_IT)
  return {
    profitUsd: wonUsd + dollars(world.money(SELF)) - gasUsd,
    bidPercent: (100 * worthIt.filter(isIn(bidFor)).length) / worthIt.length,
    orphanedUsd: dollars(world.orphaned(SELF)),
  }
}

/** What is sent at the last look lands in the block that closes the lot: no bid, whoever sent it. */
function isTooLate(
  { input }: Proposal,
  closing: readonly Hidden[],
  numbers: ReadonlyMap<number, string>,
): boolean {
  if (input.bidAssets === undefined) return false
  return closing.some(({ index, kind }) =>
    kind === 'auction' ? numbers.get(index) === input.lotId : numbers.get(index) === input.rfqId,
  )
}

/** What a lot is worth is revealed when it closes. */
function revealedUsd({ index, amount, worth }: Hidden, path: readonly number[]): number {
  const priceUsd = path[(index * OPENS_EVERY_S + OPEN_S) / STEP_S] ?? START_USD
  return (Number(amount) / 1e8) * priceUsd * worth
}

function lookOf(
  world: TradeWorld,
  now: {
    readonly priceUsd: number
    readonly off: number
    readonly shown: ReturnType<TradeWorld['shownTo']> | null
    readonly market: Market
  },
): Observed {
  const nowS = world.nowS()
  const read = (usd: number) => ({
    priceWad: BigInt(Math.floor(usd * 1e6)) * (WAD / 1_000_000n),
    sourceAsOfS: nowS,
    state: 1,
  })
  const { rfqs, auctions } = now.shown ?? world.shownTo(SELF)
  const isStale = now.shown !== null
  return observed({
    rfqs: rfqs.filter(
      ({ status, bids }) => status !== 'over' || bids.some((bid) => bid.bidder === SELF && bid.refundable),
    ),
    auctions: auctions.filter(({ status }) => status !== 'over'),
    nowMs: nowS * 1_000,
    chain: {
      ...observed().chain,
      timestampS: nowS,
      baseFeePerGasWei: BigInt(now.market.baseFeeGwei ?? 1) * 1_000_000_000n,
    },
    freshness: { ok: !isStale, ageMs: isStale ? 60_000 : 0, message: isStale ? 'stalled' : 'fresh' },
    balances: { [USD]: micros(1_000_000) + world.money(SELF), [BTC]: world.goods(SELF) },
    prices: [
      price({
        oracle: read(now.priceUsd * now.off),
        reference: read(now.priceUsd),
        servicePriceWad: read(now.priceUsd * now.off).priceWad,
      }),
    ],
  })
}

/** Rivals place what they take it for, less a margin; where bids are open they go up by little, as far as that. */
function rivalsBid(
  world: TradeWorld,
  lot: Hidden,
  number: string | undefined,
  step: number,
  priceUsd: number,
): void {
  const sinceOpen = step - (lot.index * OPENS_EVERY_S) / STEP_S
  if (number === undefined || sinceOpen < 0 || sinceOpen > LAST_STEP) return
  const isAuction = lot.kind === 'auction'
  for (const { who, limitPart, comesAt, snipes } of lot.rivals) {
    const shown = world.offer(isAuction ? 'auction' : 'rfq', number)
    const limit = micros((Number(lot.amount) / 1e8) * priceUsd * limitPart)
    if (sinceOpen < comesAt || !shown.isOpen || shown.leader === who) continue
    if (isAuction) {
      if (shown.nextAssets <= limit) world.raise(who, number, shown.nextAssets)
      continue
    }
    const bidId = shown.bidIdOf(who)
    const expiresS = world.nowS() + 600
    if (lot.kind === 'sealed') {
      if (bidId === null) world.place(who, number, limit, expiresS)
      continue
    }
    const isLast = sinceOpen === LAST_STEP
    const above = isLast && snipes ? (shown.bestAssets + limit) / 2n : (shown.bestAssets * 1_002n) / 1_000n
    const assets = above > shown.reserveAssets ? above : shown.reserveAssets
    if (assets > limit) continue
    if (bidId === null) world.place(who, number, assets, expiresS)
    else world.replace(who, number, bidId, assets, expiresS)
  }
}

/** The role itself, by the shipped policy with whom and what its operator measured: rivals, and noise. */
const oursIn = ({ noise, rivalsMin, rivalsMax }: Market, decideOne: typeof decide): Bidder => {
  const { sBTC } = SHIPPED_BIDDER.assets
  if (sBTC === undefined) throw new TypeError('the shipped policy bids for sBTC')
  const rules: RfqBidderPolicy = {
    ...SHIPPED_BIDDER,
    rivalsMin: Math.round((rivalsMin + rivalsMax) / 2),
    assets: { sBTC: { ...sBTC, signalNoiseBps: Math.round(noise * 10_000) } },
  }
  return (seen) => decideOne(seen, rules).proposals
}

/** The obvious bidder: the price less a fixed part, bid once; at auctions step by step as far as that. */
const baseline: Bidder = ({ rfqs, auctions, prices, signer }) => {
  const priceWad = prices[0]?.oracle?.priceWad ?? 0n
  const bidFor = (amount: bigint) => {
    const assets = micros((Number(amount) / 1e8) * (Number(priceWad) / 1e18) * (1 - DISCOUNT))
    return assets < BID_MAX ? assets : BID_MAX
  }
  const step = (name: string, input: Proposal['input']): Proposal => ({
    workflowType: `role.lender.distressedRecoveryFundV3${name}` as Proposal['workflowType'],
    kind: '',
    subject: '',
    occurrence: '',
    summary: '',
    reason: {},
    input,
    exposure: { token: null, assets: 0n, usdMicros: 0n },
  })
  return [
    ...rfqs.flatMap(
      ({ number: rfqId, venue: rfqAddress, status, bids, amount, reserveAssets, closesAtS }) => {
        const own = bids.filter(({ bidder }) => bidder === signer)
        const refunds = own
          .filter(({ refundable }) => refundable)
          .map(({ bidId }) => step('RfqClaimRefund', { rfqAddress, rfqId, bidId }))
        if (status === 'closed' && own.length > 0)
          return [...refunds, step('RfqFinalize', { rfqAddress, rfqId })]
        if (status !== 'open' || own.length > 0 || bidFor(amount) < reserveAssets) return refunds
        const [bidAssets, expiresTimestamp] = [String(bidFor(amount)), String(closesAtS + 300)]
        return [...refunds, step('RfqPlaceBid', { rfqAddress, rfqId, bidAssets, expiresTimestamp })]
      },
    ),
    ...auctions.flatMap(({ number: lotId, venue: auctionAddress, status, bestBidder, nextAssets, amount }) =>
      status !== 'open' || bestBidder === signer || nextAssets > bidFor(amount)
        ? []
        : step('AuctionBid', { auctionAddress, lotId, bidAssets: String(nextAssets) }),
    ),
  ]
}

const isMarket = (scenario: ScenarioName): scenario is keyof typeof MARKETS => scenario in MARKETS

/** Judges the RFQ bidder: lots of hidden worth, noisy signals for us and for rivals, sealed and open RFQs and auctions. */
export const rfqBidderJudge = (decideOne: typeof decide = decide): Judge => ({
  role: 'rfq-bidder',
  baseline: `the price less ${100 * DISCOUNT} %`,
  scenarios: [
    'calm',
    'volatile',
    'crash-with-congestion',
    'source-off-by-1000',
    'rfq-competition',
    'indexer-stall',
  ],
  seedsMin: 30,
  bounds: {
    profitUsd: { aboveBaseline: true },
    bidOnLotsWorthItPercent: { min: 50 },
    orphanedEscrowUsd: { max: 0 },
  },
  play: (scenario, seed) => {
    if (!isMarket(scenario)) throw new RangeError(`no lot is traded in ${scenario}`)
    const market = MARKETS[scenario]
    const ours = playWith(oursIn(market, decideOne), market, seed)
    const obvious = playWith(baseline, market, seed)
    return {
      profitUsd: { ours: ours.profitUsd, baseline: obvious.profitUsd },
      bidOnLotsWorthItPercent: { ours: ours.bidPercent, baseline: obvious.bidPercent },
      orphanedEscrowUsd: { ours: ours.orphanedUsd, baseline: null },
    }
  },
})

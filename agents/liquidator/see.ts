import type { Address } from 'viem'
import type { PinnedDeployment } from '../../src/service/contract/deployment.ts'
import type { MarketResource } from '../../src/service/contract/resources.ts'
import type {
  Answer,
  Wave as Asked,
  BeforeReading,
  Beside,
  FoundRows,
  Look,
  Moment,
  RowsQuestion,
} from '../agent.ts'
import { askPrice, type PriceRead } from '../protocol/price.ts'
import { createWave, type Wave } from '../protocol/reading.ts'
import type { BorrowerCollection, Rows } from '../rows.ts'
import { positionKey } from './judge.ts'
import type { LiquidatorPolicy } from './policy.ts'
import type { RiskBook } from './risk-book.ts'
import { askClaims } from './see-claims.ts'
import { askExits } from './see-exits.ts'
import {
  askFigures,
  type FacilityRow,
  type Figures,
  facilitySeen,
  isIncomplete,
  isListedInFull,
  joinRows,
  positionsOf,
  serviceFigures,
} from './see-facility.ts'
import { isGated, marketSeen } from './see-market.ts'
import type { FacilitySeen, LiquidatorSeen, MarketSeen } from './seen.ts'
import { likelyIn, watchedIn } from './watched.ts'

/** Borrowers to read from the chain at once, most urgent first; the others stay unknown, and are not acted on. */
const CHAIN_ROWS_MAX = 100

const DETAILS: readonly BorrowerCollection[] = ['credit-facilities', 'positions', 'liquidation-recovery']
const ELIGIBILITY = { collection: 'eligibility', optional: true } as const

type Answers = readonly Answer[]

type NamedPlaces = readonly (readonly [place: string, name: string])[]

/** The contracts that the policy takes prices from, by their places in it. */
function pricesOf({ secondPrice, gas: { nativePriceUsdMicros: native } }: LiquidatorPolicy): NamedPlaces {
  const second = Object.entries(secondPrice === 'none' ? {} : secondPrice)
  return [
    ...second.map(([pair, { contract }]) => [`secondPrice.${pair}.contract`, contract] as const),
    ...(typeof native === 'bigint' ? [] : [['gas.nativePrice.contract', native.contract] as const]),
  ]
}

/** The contracts that the policy names at all. */
export const contractsOf = (policy: LiquidatorPolicy): NamedPlaces => [
  ...pricesOf(policy),
  ...Object.entries(policy.exits).map(([pair, { venue }]) => [`exits.${pair}.venue`, venue] as const),
]

/** What is asked beside the lists: prices, our claims, and the rows of those that are nearest to liquidation. */
export function first(
  known: BeforeReading,
  policy: LiquidatorPolicy,
  previous: LiquidatorSeen | null,
  book: RiskBook,
  changed: readonly Address[],
): Asked {
  const likely = known.deployment.markets.flatMap(({ address }) => likelyIn(book, address))
  return {
    ask: askChain(known, policy, previous).wave.questions,
    rows: [...detailsOf([...new Set([...likely, ...changed])]), ...(wasGated(previous) ? [ELIGIBILITY] : [])],
  }
}

const wasGated = (previous: LiquidatorSeen | null) => previous?.markets.some(isGated) ?? false
const detailsOf = (wallets: readonly Address[]): readonly RowsQuestion[] =>
  wallets.length === 0 ? [] : DETAILS.map((collection) => ({ collection, wallets }))

/** The chain's part of the first wave; asked once and read after, it is the same wave. */
function askChain(
  { deployment, signer }: BeforeReading,
  policy: LiquidatorPolicy,
  previous: LiquidatorSeen | null,
) {
  const wave = createWave()
  const prices = deployment.markets.map(({ address, oracle }) => ({
    address,
    read: askPrice(wave, oracle),
  }))
  const names = new Set(pricesOf(policy).map(([, name]) => name))
  const references = [...names].flatMap((name) => {
    const pinned = deployment.contracts.find((contract) => contract.name === name)
    return pinned === undefined ? [] : [{ name, read: askPrice(wave, pinned.address) }]
  })
  const claims = askClaims(wave, deployment.markets, signer, previous?.claims ?? [])
  const exits = askExits(wave, { deployment }, policy, previous?.exits ?? [])
  return { wave, prices, references, claims, exits }
}

/** What of the world stays the same over the waves of one look. */
type World = {
  readonly moment: Moment
  readonly markets: readonly MarketResource[]
  readonly prices: ReadonlyMap<Address, PriceRead | null>
  /** The borrowers that are worth a look, by market and borrower. */
  readonly watched: ReadonlyMap<string, Address>
}

/**
 * See what may be liquidated: markets from their rows and our own reading of their oracles, and of the borrowers whom the
 * book holds at risk what the service says, or the chain where it says nothing. Pure. Usually the first wave brings all;
 * a second one asks about what that revealed: a claim, a gate or a borrower not seen before, or a debt whose figures the
 * service does not give; and a third for such debts of borrowers not seen before. What cannot be read stays null.
 */
export function see(
  rows: Partial<Rows>,
  moment: Moment,
  policy: LiquidatorPolicy,
  previous: LiquidatorSeen | null,
  beside: Beside<RiskBook>,
): Look<LiquidatorSeen> {
  const chain = askChain(moment, policy, previous)
  const world = worldOf(rows, moment, chain, beside)
  const second = createWave()
  const claims = chain.claims(beside.answers, second)
  const facilities = watchedRows(world, [beside.found])
  const figures = askMissing(second, facilities, moment.deployment, CHAIN_ROWS_MAX)
  const known = positionsOf(moment.chainId, [beside.found])
  const unseen = [...world.watched].filter(([key]) => !known.has(key)).map(([, wallet]) => wallet)
  const asksGates = world.markets.some(isGated) && !wasGated(previous)
  const more = [...detailsOf([...new Set(unseen)]), ...(asksGates ? [ELIGIBILITY] : [])]

  const finish = (answers: Answers, found: FoundRows): Look<LiquidatorSeen> => {
    const open = claims.seen(answers)
    return seeFacilities(world, [beside.found, found], figuresOf(figures, answers), (seen) => ({
      seen: {
        markets: marketsSeen(world, beside, asksGates ? found : beside.found),
        facilities: seen,
        claims: open ?? [],
        exits: chain.exits(beside.answers, moment.balances),
        references: Object.fromEntries(
          chain.references.map(({ name, read }) => [name, read(beside.answers)]),
        ),
      },
      ...(open === null ? { unread: 'our open claims' } : {}),
    }))
  }
  return second.questions.length === 0 && more.length === 0
    ? finish([], {})
    : { ask: second.questions, rows: more, next: finish }
}

function worldOf(
  rows: Partial<Rows>,
  moment: Moment,
  chain: ReturnType<typeof askChain>,
  { answers, book, found }: Beside<RiskBook>,
): World {
  const markets = (rows.markets ?? []).filter(({ chainId }) => chainId === moment.chainId)
  const prices = new Map(chain.prices.map(({ address, read }) => [address, read(answers)]))
  const positions = Map.groupBy(positionsOf(moment.chainId, [found]).values(), ({ row }) => row.marketAddress)
  const watched = markets.flatMap((market) => {
    const now = {
      priceWad: prices.get(market.address)?.priceWad ?? null,
      ratePerSecondWad: rateOf(market),
    }
    const borrowers = watchedIn(
      book,
      market,
      positions.get(market.address) ?? [],
      now,
      moment.chain.blockNumber,
    )
    return [...borrowers].map((wallet) => [positionKey(market.address, wallet), wallet] as const)
  })
  return { moment, markets, prices, watched: new Map(watched) }
}

const rateOf = ({ currentBorrowRatePerSecond: rate }: MarketResource) => (rate == null ? null : BigInt(rate))

function marketsSeen(world: World, { armed }: Beside, { eligibility }: FoundRows): readonly MarketSeen[] {
  const { deployment, signer } = world.moment
  return world.markets.map((market) =>
    marketSeen(market, {
      pins: deployment,
      signer,
      oracle: world.prices.get(market.address) ?? null,
      armed: armed.get(market.address),
      eligibility: eligibility?.items ?? null,
      eligibilityStale: eligibility?.stale ?? null,
    }),
  )
}

type Row = { readonly row: FacilityRow; readonly figures: Figures }

/** What the service lists for recovery, what it does not say in full, and what the book holds at risk. */
function watchedRows({ moment, markets, watched }: World, waves: readonly FoundRows[]): readonly Row[] {
  const rates = new Map(markets.map((market) => [market.address, rateOf(market)]))
  return joinRows(moment.chainId, waves)
    .filter(
      (row) =>
        row.recovery !== null ||
        !isListedInFull(row) ||
        watched.has(positionKey(row.marketAddress, row.borrower)),
    )
    .map((row) => ({ row, figures: serviceFigures(row, rates.get(row.marketAddress) ?? null) }))
}

const keyOf = ({ marketAddress, vaultAddress, borrower }: FacilityRow) =>
  `${marketAddress}:${vaultAddress}:${borrower}`

type FigureReads = ReadonlyMap<string, (answers: Answers) => Figures>

/** Ask the chain about rows of pinned markets that lack a figure: those up for recovery first, then by health. */
function askMissing(
  wave: Wave,
  rows: readonly Row[],
  { markets, vaults }: PinnedDeployment,
  max: number,
): FigureReads {
  const pinned = new Set(markets.map(({ address }) => address))
  const addresses = vaults.map(({ address }) => address)
  const urgency = ({ row }: Row) =>
    row.recovery === null ? Number(row.facility?.row.healthFactorWad ?? Number.POSITIVE_INFINITY) : 0
  const missing = rows
    .filter(({ row, figures }) => isIncomplete(figures) && pinned.has(row.marketAddress))
    .toSorted((one, other) => urgency(one) - urgency(other) || 0)
    .slice(0, max)
  return new Map(missing.map(({ row }) => [keyOf(row), askFigures(wave, row, addresses)]))
}

const figuresOf = (reads: FigureReads, answers: Answers): ReadonlyMap<string, Figures> =>
  new Map([...reads].map(([key, read]) => [key, read(answers)]))

/** Describe every row by now, once the chain has said what the service did not and nobody asked before. */
function seeFacilities(
  world: World,
  waves: readonly FoundRows[],
  fromChain: ReadonlyMap<string, Figures>,
  end: (seen: readonly FacilitySeen[]) => Look<LiquidatorSeen>,
): Look<LiquidatorSeen> {
  const rows = watchedRows(world, waves)
  const third = createWave()
  const unasked = rows.filter(({ row }) => !fromChain.has(keyOf(row)))
  const left = CHAIN_ROWS_MAX - fromChain.size
  const reads = askMissing(third, unasked, world.moment.deployment, left)
  const finish = (answers: Answers): Look<LiquidatorSeen> => {
    const known = new Map([...fromChain, ...figuresOf(reads, answers)])
    return end(rows.map(({ row, figures }) => facilitySeen(row, known.get(keyOf(row)) ?? figures)))
  }
  return third.questions.length === 0 ? finish([]) : { ask: third.questions, next: finish }
}

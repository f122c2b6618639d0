import type { Address } from 'viem'
import type { MarketResource, PositionResource } from '../../src/service/contract/resources.ts'
import type { Answer, Armed, Arming, BeforeReading, Look } from '../agent.ts'
import { healthFactorWad, type Price } from '../protocol/health.ts'
import { liquidationViews, tokenViews } from '../protocol/liquidation-views.ts'
import { askPrice } from '../protocol/price.ts'
import { createWave, type Wave } from '../protocol/reading.ts'
import type { Rows } from '../rows.ts'
import { type Pins, pinDisagreement } from './pins.ts'
import type { RiskBook } from './risk-book.ts'
import { tellingIn } from './watched.ts'

/** Positions to recompute in each market. */
const SAMPLE_MAX = 5
/** Interest of the seconds between two reads moves a health factor by less; a mistake of units by far more. */
const TOLERANCE_BPS = 10n

type Answers = readonly Answer[]

/**
 * How the liquidator proves for each pinned market that it reads units right: decimals and price of the service must be
 * the chain's, and for a sample of positions the health factor that it computes from the service's figures must be the
 * service's and the chain's. A moving price is no disagreement, because all of it is of one block.
 */
export const arming: Arming<RiskBook> = {
  collections: ['markets'],
  sample: ({ deployment }, book) => {
    const wallets = new Set(deployment.markets.flatMap(({ address }) => tellingIn(book, address)))
    return wallets.size === 0 ? [] : [{ collection: 'positions', wallets: [...wallets] }]
  },
  prove,
}

function prove(
  { markets = [], positions = [] }: Partial<Rows>,
  { chainId, deployment }: BeforeReading,
  isOneBlock: boolean,
): Look<ReadonlyMap<Address, Armed>> {
  const ours = markets.filter((market) => market.chainId === chainId)
  if (!isOneBlock) {
    const message =
      'Its figures and its positions are of different or unknown blocks, so nothing can be compared.'
    return { seen: new Map(ours.map(({ address }) => [address, unarmed(message)])) }
  }
  const wave = createWave()
  const verdicts = ours.map((market) => ({ market, verdict: askMarket(wave, market, positions, deployment) }))
  return {
    ask: wave.questions,
    next: (answers) => ({
      seen: new Map(verdicts.map(({ market, verdict }) => [market.address, verdict(answers)])),
    }),
  }
}

const unarmed = (message: string): Armed => ({ ok: false, message })

/** Ask the chain what a market needs; the returned function judges the answers. */
function askMarket(
  wave: Wave,
  market: MarketResource,
  positions: readonly PositionResource[],
  pins: Pins,
): (answers: Answers) => Armed {
  const disagreement = pinDisagreement(market, pins)
  const pinned = pins.markets.find(({ address }) => address === market.address)
  if (disagreement !== null || pinned === undefined) return () => unarmed(disagreement ?? 'It is not pinned.')
  const facts = askFacts(wave, pinned)
  const sample = sampleOf(positions, market.address).map((position) => ({
    position,
    chainHealthWad: wave.ask(liquidationViews, market.address, 'healthFactorWad', [position.borrower]),
  }))
  return (answers) => {
    const wrong = facts(market, answers) ?? firstWrong(sample, market, answers)
    return wrong === null ? { ok: true } : unarmed(`Market ${market.address}: ${wrong}`)
  }
}

/** Ask decimals and price; the returned function says what is wrong with the service's, or null. */
function askFacts(
  wave: Wave,
  pinned: Pins['markets'][number],
): (market: MarketResource, answers: Answers) => string | null {
  const loanDecimals = wave.ask(tokenViews, pinned.loanAsset, 'decimals', [])
  const collateralDecimals = wave.ask(tokenViews, pinned.collateralAsset, 'decimals', [])
  const oracle = askPrice(wave, pinned.oracle)
  return (market, answers) =>
    wrongDecimals('loan', market.loanDecimals, loanDecimals(answers)) ??
    wrongDecimals('collateral', market.collateralDecimals, collateralDecimals(answers)) ??
    wrongPrice(market, oracle(answers)?.priceWad ?? null)
}

function wrongDecimals(asset: string, claim: number | null | undefined, real: number | null): string | null {
  if (claim === real && real !== null) return null
  return `the service says that its ${asset} asset has ${claim ?? 'unknown'} decimals, the chain says ${real ?? 'nothing'}. Fix: correct the one that is wrong; no figure of it can be trusted.`
}

function wrongPrice(market: MarketResource, realWad: bigint | null): string | null {
  const claim = market.oracle?.priceWad ?? null
  if (claim === null || realWad === null) {
    return `its price is ${claim ?? 'unknown'} by the service and ${realWad ?? 'unknown'} by its oracle. Fix: see why one of them does not answer.`
  }
  return agree(BigInt(claim), realWad)
    ? null
    : `its price is ${claim} by the service and ${realWad} by its oracle: ${likelyCause(BigInt(claim), realWad, market)}.`
}

type Sampled = {
  readonly borrower: Address
  readonly collateralAssets: bigint
  readonly debtAssets: bigint
  readonly healthWad: bigint
}

/** The largest debts with all figures: the smaller a debt, the more its rounding hides. */
function sampleOf(positions: readonly PositionResource[], market: Address): readonly Sampled[] {
  const sampled = positions.flatMap((row): readonly Sampled[] => {
    const { collateralAssets, debtAssets, healthFactorWad: health } = row
    if (row.marketAddress !== market || collateralAssets == null || debtAssets == null || health == null)
      return []
    return [
      {
        borrower: row.walletAddress,
        collateralAssets: BigInt(collateralAssets),
        debtAssets: BigInt(debtAssets),
        healthWad: BigInt(health),
      },
    ]
  })
  return sampled
    .filter(({ debtAssets }) => debtAssets > 0n)
    .toSorted((one, other) => (one.debtAssets > other.debtAssets ? -1 : 1))
    .slice(0, SAMPLE_MAX)
}

function firstWrong(
  sample: readonly {
    readonly position: Sampled
    readonly chainHealthWad: (answers: Answers) => bigint | null
  }[],
  market: MarketResource,
  answers: Answers,
): string | null {
  if (sample.length === 0) return null
  const { liquidationThresholdBps, loanDecimals, collateralDecimals, oracle } = market
  const priceWad = oracle?.priceWad
  if (
    liquidationThresholdBps == null ||
    loanDecimals == null ||
    collateralDecimals == null ||
    priceWad == null
  ) {
    return 'the service does not say its liquidation threshold, decimals and price.'
  }
  const price: Price = { priceWad: BigInt(priceWad), loanDecimals, collateralDecimals }
  for (const { position, chainHealthWad } of sample) {
    const ours = healthFactorWad({ ...position, liquidationThresholdBps }, price)
    const claims = [
      ['the service', position.healthWad],
      ['the chain', chainHealthWad(answers)],
    ] as const
    for (const [who, theirs] of claims) {
      if (theirs === null) return `${who} gives no health factor of ${position.borrower}.`
      if (agree(ours, theirs)) continue
      return `by the service's figures the health factor of ${position.borrower} is ${ours}, ${who} says ${theirs}: ${likelyCause(ours, theirs, market)}.`
    }
  }
  return null
}

function agree(ours: bigint, theirs: bigint): boolean {
  const apart = ours > theirs ? ours - theirs : theirs - ours
  return apart * 10_000n <= theirs * TOLERANCE_BPS
}

/** Name what most often makes two figures differ by such a ratio. */
function likelyCause(ours: bigint, theirs: bigint, market: MarketResource): string {
  const ratio = Number(ours) / Number(theirs)
  const exponent = Math.round(Math.log10(ratio))
  if (exponent !== 0 && Math.abs(Math.log10(ratio) - exponent) < 0.01) {
    return `a factor of 10^${exponent}, so look at decimals or the price's scale`
  }
  const { lltvBps, liquidationThresholdBps } = market
  const thresholdRatio = (liquidationThresholdBps ?? 0) / (lltvBps ?? 0)
  if ([thresholdRatio, 1 / thresholdRatio].some((known) => Math.abs(ratio / known - 1) < 0.001)) {
    return 'the ratio of liquidation threshold and LLTV, so look which of the two is used'
  }
  return 'no factor of units, so look at the price or at the amounts'
}

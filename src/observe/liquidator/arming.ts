import type { Address } from 'viem'
import type { MarketSeen } from '../../../agents/agent.ts'
import { healthFactorWad, type Price } from '../../../agents/protocol/health.ts'
import type { Nodes } from '../../chain/nodes.ts'
import type { MarketResource, PositionResource } from '../../service/contract/resources.ts'
import { type Batch, createBatch, readDecimals, readHealthFactor, readOracle } from '../views.ts'
import type { LiquidatorObserveDeps } from './observe.ts'
import { type PinnedMarket, type Pins, pinDisagreement } from './pins.ts'

/** Positions to recompute in each market. */
const SAMPLE_MAX = 5
/** Interest of the seconds between two reads moves a health factor by less; a mistake of units by far more. */
const TOLERANCE_BPS = 10n
/** How often to read until all collections are of one block. Blocks are seconds apart, reads milliseconds. */
const READS_MAX = 5

/** What arming needs: the observation's own ports. */
export type ArmingDeps = {
  readonly service: Pick<LiquidatorObserveDeps['service'], 'listMarkets' | 'listPositions'>
  readonly nodes: Pick<Nodes, 'calls'>
  readonly pins: Pins
}

/**
 * Prove for each pinned market that we read its units right, before anything is decided there: decimals and price of
 * the service must be the chain's, and for a sample of positions the health factor that we compute from the service's
 * figures must be the service's and the chain's. Everything is compared at the block that the service describes, so
 * that a moving price is no disagreement. Run it at start, when a market appears, and every few minutes.
 * @returns by lower-case address; a market that the service does not list has no entry. Throws what the reads throw.
 */
export async function armMarkets(
  { service, nodes, pins }: ArmingDeps,
  chainId: number,
): Promise<ReadonlyMap<Address, MarketSeen['armed']>> {
  const { markets, positions, blockNumber } = await readOneBlock(service)
  const batch = createBatch()
  const verdicts = markets
    .filter((market) => market.chainId === chainId)
    .map((market) => ({ market, verdict: askMarket(batch, market, positions, pins) }))
  const armed = new Map<Address, MarketSeen['armed']>()
  if (blockNumber === null) {
    const message =
      'Its figures and its positions are of different or unknown blocks, so nothing can be compared.'
    for (const { market } of verdicts) armed.set(market.address, { ok: false, message })
    return armed
  }
  await batch.run(nodes, blockNumber)
  for (const { market, verdict } of verdicts) armed.set(market.address, verdict())
  return armed
}

async function readOneBlock(service: ArmingDeps['service']) {
  for (let read = 1; ; read++) {
    const [markets, positions] = await Promise.all([service.listMarkets(), service.listPositions()])
    const block = markets.freshness.blockNumber ?? null
    const same = block !== null && block === positions.freshness.blockNumber
    if (same || read === READS_MAX) {
      return {
        markets: markets.items,
        positions: positions.items,
        blockNumber: same ? BigInt(block) : null,
      }
    }
  }
}

const unarmed = (message: string) => ({ ok: false, message }) as const

/** Ask the chain what a market needs; the returned function judges the answers. */
function askMarket(
  batch: Batch,
  market: MarketResource,
  positions: readonly PositionResource[],
  pins: Pins,
): () => MarketSeen['armed'] {
  const disagreement = pinDisagreement(market, pins)
  const pinned = pins.markets.find(({ address }) => address === market.address)
  if (disagreement !== null || pinned === undefined) return () => unarmed(disagreement ?? 'It is not pinned.')
  const facts = askFacts(batch, pinned)
  const sample = sampleOf(positions, market.address).map((position) => ({
    position,
    chainHealthWad: batch.ask(readHealthFactor(market.address, position.borrower)),
  }))
  return () => {
    const wrong = facts(market) ?? firstWrong(sample, market)
    return wrong === null ? { ok: true } : unarmed(`Market ${market.address}: ${wrong}`)
  }
}

/** Ask decimals and price; the returned function says what is wrong with the service's, or null. */
function askFacts(batch: Batch, pinned: PinnedMarket): (market: MarketResource) => string | null {
  const loanDecimals = batch.ask(readDecimals(pinned.loanAsset))
  const collateralDecimals = batch.ask(readDecimals(pinned.collateralAsset))
  const oracle = batch.ask(readOracle(pinned.oracle))
  return (market) =>
    wrongDecimals('loan', market.loanDecimals, loanDecimals()) ??
    wrongDecimals('collateral', market.collateralDecimals, collateralDecimals()) ??
    wrongPrice(market, oracle()?.priceWad ?? null)
}

function wrongDecimals(asset: string, said: number | null | undefined, real: number | null): string | null {
  if (said === real && real !== null) return null
  return `the service says that its ${asset} asset has ${said ?? 'unknown'} decimals, the chain says ${real ?? 'nothing'}. Fix: correct the one that is wrong; no figure of it can be trusted.`
}

function wrongPrice(market: MarketResource, realWad: bigint | null): string | null {
  const said = market.oracle?.priceWad ?? null
  if (said === null || realWad === null) {
    return `its price is ${said ?? 'unknown'} by the service and ${realWad ?? 'unknown'} by its oracle. Fix: see why one of them does not answer.`
  }
  return agree(BigInt(said), realWad)
    ? null
    : `its price is ${said} by the service and ${realWad} by its oracle: ${likelyCause(BigInt(said), realWad, market)}.`
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
  sample: readonly { readonly position: Sampled; readonly chainHealthWad: () => bigint | null }[],
  market: MarketResource,
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
    const said = [
      ['the service', position.healthWad],
      ['the chain', chainHealthWad()],
    ] as const
    for (const [who, theirs] of said) {
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

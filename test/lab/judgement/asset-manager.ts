import { decide } from '../../../agents/asset-manager/decide.ts'
import { type Bidder, type Climate, type Outcome, playAcquisitions } from './acquisition-world.ts'
import type { Judge, ScenarioName } from './judgement.ts'
import { SHIPPED_MANAGER } from './shipped.ts'

const CALM: Climate = { noise: 0.02, luck: 0.03, rivals: 2, wild: 0, stale: 0, funded: 500_000 }
const CLIMATES: Readonly<Partial<Record<ScenarioName, Climate>>> = {
  calm: CALM,
  volatile: { ...CALM, noise: 0.05, luck: 0.08 },
  'crash-with-congestion': { ...CALM, noise: 0.08, luck: 0.12, rivals: 1 },
  'redemption-run': { ...CALM, funded: 100_000 },
  'source-off-by-1000': { ...CALM, wild: 0.2 },
  'rfq-competition': { ...CALM, noise: 0.03, rivals: 5 },
  'indexer-stall': { ...CALM, stale: 0.4 },
}

const ours: Bidder = (seen) => {
  const [bid] = decide(seen, SHIPPED_MANAGER).proposals
  return bid === undefined ? null : BigInt(String(bid.input.bidAssets))
}

/** Bids up to a tenth below what the fund's contract appraises, whatever the lane, within the same limits. */
const fixedDiscount: Bidder = ({ freshness, lots: [lot], funds: [fund] }) => {
  const appraised = lot?.funds[0]?.appraisedAssets ?? 0n
  if (lot?.house == null || fund?.figures == null || !freshness.ok) return null
  const { bestFundAddress, bestAssets } = lot.house
  if (bestFundAddress === fund.row.address) return null
  const reserve = BigInt(lot.row.reserveAssets)
  const bid = bestFundAddress === null ? reserve : bestAssets + bestAssets / 100n
  const { idleAssets, netAssets } = fund.figures
  const { idleBpsMin, positionBpsMax } = SHIPPED_MANAGER.bidding
  const shareOf = (bps: number) => (netAssets * BigInt(bps)) / 10_000n
  const limits = [(appraised * 9n) / 10n, idleAssets - shareOf(idleBpsMin), shareOf(positionBpsMax)]
  return limits.every((limit) => bid <= limit) ? bid : null
}

/** Lots that are worth more than they went for, and how many of them were bid for. */
function bidShare({ fates }: Outcome): number {
  const worthIt = fates.filter(({ value, price }) => value > price)
  return worthIt.length === 0 ? 1 : worthIt.filter(({ didBid }) => didBid).length / worthIt.length
}

/** What was bought at its revealed value, less what was paid; whole sUSD. */
const profitOf = ({ fates }: Outcome): number =>
  fates.reduce((sum, { value, paid }) => sum + (paid === null ? 0 : value - paid), 0)

/** The asset manager, against rivals who look at each position for themselves. */
export const assetManagerJudge: Judge = {
  role: 'asset-manager',
  baseline: 'fixed discount',
  scenarios: Object.keys(CLIMATES).filter((name): name is ScenarioName => name in CLIMATES),
  bounds: {
    profitUsd: { aboveBaseline: true },
    bidShareOfLotsWorthIt: { medianMin: 0.25 },
    bidsThatRevert: { max: 0 },
    orphanedReservations: { max: 0 },
  },
  play: (scenario, seed) => {
    const climate = CLIMATES[scenario] ?? CALM
    const [us, them] = [playAcquisitions(seed, climate, ours), playAcquisitions(seed, climate, fixedDiscount)]
    return {
      profitUsd: { ours: profitOf(us), baseline: profitOf(them) },
      bidShareOfLotsWorthIt: { ours: bidShare(us), baseline: bidShare(them) },
      bidsThatRevert: { ours: us.refused, baseline: them.refused },
      reservationsToRelease: { ours: us.toRelease, baseline: them.toRelease },
      orphanedReservations: { ours: us.orphaned, baseline: them.orphaned },
    }
  },
}

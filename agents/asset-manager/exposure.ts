import type { AcquisitionResource } from '../../src/service/contract/trade-resources.ts'
import { inputText } from '../../src/workflow/proposal.ts'
import type { InFlight, Moment, Stop } from '../agent.ts'
import { assetsText } from '../protocol/text.ts'
import type { OpenFund } from './fund.ts'
import type { FundSeen, LotSeen, ManagerSeen } from './seen.ts'

export const BID = 'role.asset_manager.distressedRecoveryAcquisitionV3Bid'

/** What a fund can still do as one decision goes on: changed in place by that decision, and by nothing else. */
export type Purse = {
  readonly fund: OpenFund
  spendableAssets: bigint
  budgetAssets: bigint
  /** Base units of the quote asset in positions and bids, by `lane:…`, `market:…` and `borrower:…`. */
  readonly held: Map<string, bigint>
}

type Seen = Moment & ManagerSeen
type LotPlace = Pick<AcquisitionResource, 'lane' | 'marketAddress' | 'borrowerAddress'>

/** The heaps that a position counts into. Pure. */
export const heapsOf = ({ lane, marketAddress, borrowerAddress }: LotPlace) => ({
  lane: `lane:${lane}`,
  market: `market:${marketAddress}`,
  borrower: `borrower:${marketAddress}:${borrowerAddress}`,
})

/** Count assets into every heap of a position, in place. */
export function hold({ held }: Pick<Purse, 'held'>, place: LotPlace, assets: bigint): void {
  for (const heap of Object.values(heapsOf(place))) held.set(heap, (held.get(heap) ?? 0n) + assets)
}

/**
 * Count what a fund holds and what its bids wait in, with everything in flight already taken. Pure. A holding counts
 * at what it cost or what it is worth, whichever is more; a figure that is missing stops the fund.
 */
export function purseOf(fund: OpenFund, seen: Seen): Purse | Stop {
  const { row } = fund
  const purse: Purse = {
    fund,
    spendableAssets: fund.spendableAssets,
    budgetAssets: fund.budgetAssets,
    held: new Map(),
  }
  for (const holding of row.holdings ?? []) {
    if (holding.holdingStatus === 'disposed') continue
    const { transferPriceAssets, recoveryValueAssets, marketAddress, borrowerAddress } = holding
    if (transferPriceAssets == null || marketAddress == null || borrowerAddress == null) {
      const message = `Holding ${holding.id} does not say its price, market and borrower; what is concentrated is not known.`
      return { check: 'holdings_unknown', message }
    }
    const [cost, worth] = [BigInt(transferPriceAssets), BigInt(recoveryValueAssets ?? 0)]
    hold(purse, { lane: holding.assetLane, marketAddress, borrowerAddress }, cost > worth ? cost : worth)
  }
  const flying = seen.inFlight.filter((one) => isBidOf(one, row.address))
  for (const { row: lot, house } of seen.lots) {
    const leads = leadOf({ row: lot, house }, row.address)
    const bid = flying.filter((one) => isFor(one, lot)).reduce((sum, one) => sum + bidOf(one), 0n)
    // One that is mined already leads by the same assets.
    hold(purse, lot, leads > bid ? leads : bid)
  }
  for (const one of flying) {
    purse.spendableAssets -= bidOf(one)
    purse.budgetAssets -= bidOf(one)
  }
  return purse
}

/**
 * Say what of a fund's money waits in bids that lead nothing any more; null when none does. Pure. No workflow releases
 * it: anyone may, at the fund, and the fund's next bid for the same position does.
 */
export function unreleased({ row, figures }: FundSeen, { lots, deployment }: Seen): Stop | null {
  if (figures === null) return null
  const leads = lots.reduce((sum, lot) => sum + leadOf(lot, row.address), 0n)
  const waiting = figures.reservedAssets - leads
  if (waiting <= 0n) return null
  const fund = deployment.funds.find(({ address }) => address === row.address)
  const newest = row.currentEpoch?.activeReservationId ?? 'not shown'
  const message = `${assetsText(waiting, fund?.quoteAsset, deployment)} are locked in bids that were outbid; the newest reservation is ${newest}. Fix: call releaseReservation of the fund; anyone may.`
  return { check: 'reservation_not_released', message, reason: { waitingAssets: String(waiting) } }
}

/** What a fund leads a lot with: by its house, or by the service where the house was not read. */
function leadOf({ row, house }: Pick<LotSeen, 'row' | 'house'>, fund: string): bigint {
  if (house !== null) return house.bestFundAddress === fund ? house.bestAssets : 0n
  return row.bestFundAddress === fund ? BigInt(row.bestBidAssets ?? 0) : 0n
}

const isBidOf = ({ workflowType, input }: InFlight, fund: string) =>
  workflowType === BID && inputText(input, 'fundAddress') === fund

const bidOf = ({ input }: InFlight) => BigInt(inputText(input, 'bidAssets') ?? '0')

/** Whether a bid in flight is for a lot. Pure. */
export const isFor = ({ workflowType, input }: InFlight, lot: AcquisitionResource): boolean =>
  workflowType === BID &&
  inputText(input, 'acquisitionAddress') === lot.acquisitionAddress &&
  inputText(input, 'lotId') === lot.lotId

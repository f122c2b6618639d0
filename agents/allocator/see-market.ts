import type { Address } from 'viem'
import type { PinnedDeployment } from '../../src/service/contract/deployment.ts'
import type { MarketResource } from '../../src/service/contract/resources.ts'
import type { Answer } from '../agent.ts'
import { WAD } from '../protocol/health.ts'
import { marketViews } from '../protocol/lending-views.ts'
import { askPrice } from '../protocol/price.ts'
import { borrowRatePerSecondWad, type RateCurve } from '../protocol/rate-curve.ts'
import type { Wave } from '../protocol/reading.ts'
import type { MarketLook } from './seen.ts'

type PinnedMarket = PinnedDeployment['markets'][number]

/** A market's own word; null is not known. */
export type MarketReading = {
  readonly paused: boolean | null
  readonly debtAssets: bigint | null
  readonly cashAssets: bigint | null
  readonly badDebtAssets: bigint | null
  readonly utilizationWad: bigint | null
  readonly borrowRatePerSecondWad: bigint | null
  readonly supplyRatePerSecondWad: bigint | null
  readonly rateModel: Address | null
  readonly oracle: MarketLook['oracle']
}

/** A pinned market with the service's row of it, and how its answers are read. */
export type AskedMarket = {
  readonly pin: PinnedMarket
  /** By the pinned deployment. */
  readonly collateralSymbol: string | null
  readonly row: MarketResource | undefined
  readonly read: (answers: readonly Answer[]) => MarketReading
}

/** Ask a market for all that it says of itself. */
export function askMarket(wave: Wave, { address, oracle }: PinnedMarket): AskedMarket['read'] {
  const paused = wave.ask(marketViews, address, 'paused', [])
  const debt = wave.ask(marketViews, address, 'totalDebt', [])
  const cash = wave.ask(marketViews, address, 'totalCash', [])
  const badDebt = wave.ask(marketViews, address, 'totalBadDebt', [])
  const utilization = wave.ask(marketViews, address, 'utilizationWad', [])
  const borrowRate = wave.ask(marketViews, address, 'borrowRatePerSecond', [])
  const supplyRate = wave.ask(marketViews, address, 'supplyRatePerSecond', [])
  const rateModel = wave.ask(marketViews, address, 'rateModel', [])
  const price = askPrice(wave, oracle)
  return (answers) => {
    return {
      paused: paused(answers),
      debtAssets: debt(answers),
      cashAssets: cash(answers),
      badDebtAssets: badDebt(answers),
      utilizationWad: utilization(answers),
      borrowRatePerSecondWad: borrowRate(answers),
      supplyRatePerSecondWad: supplyRate(answers),
      rateModel: lowerOrNull(rateModel(answers)),
      oracle: price(answers),
    }
  }
}

const lowerOrNull = (address: Address | null): Address | null =>
  address === null ? null : (address.toLowerCase() as Address)

/** Join what a market says with what the service says of it, and with its curve if that explains its rates. Pure. */
export function marketLook(
  { pin, collateralSymbol, row }: AskedMarket,
  reading: MarketReading,
  proved: Readonly<Record<Address, RateCurve>>,
): MarketLook {
  return {
    address: pin.address,
    collateralSymbol,
    oracleState: row?.oracleState ?? null,
    marketRegimeState: row?.marketRegimeState ?? null,
    marketLive: row?.marketLive ?? null,
    paused: row?.paused ?? null,
    reserveFactorBps: row?.reserveFactorBps ?? null,
    pausedOnChain: reading.paused,
    debtAssets: reading.debtAssets,
    cashAssets: reading.cashAssets,
    badDebtAssets: reading.badDebtAssets,
    supplyRatePerSecondWad: reading.supplyRatePerSecondWad,
    oracle: reading.oracle,
    curve: curveOf(row, reading, proved),
  }
}

/** The proved curve of the model that service and market both name, if the market's present rates follow from it. */
function curveOf(
  row: MarketResource | undefined,
  reading: MarketReading,
  proved: Readonly<Record<Address, RateCurve>>,
): MarketLook['curve'] {
  const named = row?.interestRateModelAddress?.toLowerCase()
  if (named === undefined) return { unknown: 'The service does not say interestRateModelAddress.' }
  const { rateModel, utilizationWad } = reading
  if (rateModel === null || rateModel !== named) {
    return { unknown: `The service names the rate model ${named}; the market says ${rateModel}.` }
  }
  const curve = proved[rateModel]
  if (curve === undefined) {
    return { unknown: `The rate model ${rateModel} is not two straight lines with a kink.` }
  }
  if (utilizationWad === null || row?.reserveFactorBps == null) {
    return { unknown: 'The utilisation or the reserve factor is not known.' }
  }
  const borrowRate = borrowRatePerSecondWad(curve, utilizationWad)
  if (reading.borrowRatePerSecondWad !== borrowRate) {
    return { unknown: `The market charges ${reading.borrowRatePerSecondWad}; its curve says ${borrowRate}.` }
  }
  const supplyRate = (borrowRate * utilizationWad * BigInt(10_000 - row.reserveFactorBps)) / (WAD * 10_000n)
  const apart = supplyRate - (reading.supplyRatePerSecondWad ?? -10n)
  return apart >= -1n && apart <= 1n
    ? curve
    : { unknown: `The market pays ${reading.supplyRatePerSecondWad}; its curve says ${supplyRate}.` }
}

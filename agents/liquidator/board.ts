import type { Decision, Moment } from '../agent.ts'
import { type Board, judgedBy, type PositionRow, ROWS_MAX } from '../board.ts'
import { tokenUnit } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import { facilitySubject } from './judge.ts'
import type { FacilitySeen, LiquidatorSeen, MarketSeen } from './seen.ts'

/** Show the debts that are looked at, the nearest to liquidation first. Pure. */
export function board(seen: Moment & LiquidatorSeen, decided: Decision): Board {
  const markets = new Map(seen.markets.map((market) => [market.address, market]))
  const judged = judgedBy(decided)
  const healths = new Map(
    [...decided.proposals, ...decided.passedOver].map(({ subject, reason }) => [
      subject,
      reason.healthFactorWad,
    ]),
  )
  const rows = seen.facilities.map((facility): PositionRow => {
    const subject = facilitySubject(facility)
    const wad = healths.get(subject) ?? facility.serviceHealthFactorWad
    return {
      subject,
      ...judged(subject),
      borrower: facility.borrower,
      health: wad === null || wad === undefined ? null : Number(wad) / 1e18,
      ...amountsOf(facility, markets.get(facility.marketAddress)),
    }
  })
  const nearest = (one: PositionRow, other: PositionRow) =>
    (one.health ?? Number.MAX_VALUE) - (other.health ?? Number.MAX_VALUE)
  return { positions: rows.toSorted(nearest).slice(0, ROWS_MAX) }
}

function amountsOf(
  { debtAssets, collateralAssets }: FacilitySeen,
  market: MarketSeen | undefined,
): Pick<PositionRow, 'market' | 'debt' | 'debtUsd' | 'collateral'> {
  const { loanDecimals, loanSymbol, loanPriceUsdMicros, collateralDecimals, collateralSymbol } = market ?? {}
  const text = (assets: bigint | null, decimals?: number | null, symbol?: string | null) =>
    assets === null || decimals == null ? '?' : tokens(assets, decimals, symbol ?? '?')
  return {
    market: `${collateralSymbol ?? '?'}/${loanSymbol ?? '?'}`,
    debt: text(debtAssets, loanDecimals, loanSymbol),
    debtUsd:
      debtAssets === null || loanDecimals == null || loanPriceUsdMicros == null
        ? null
        : Number((debtAssets * loanPriceUsdMicros) / tokenUnit(loanDecimals)) / 1e6,
    collateral: text(collateralAssets, collateralDecimals, collateralSymbol),
  }
}

import type { Decision, Moment } from '../agent.ts'
import { type Board, judgedBy, type PositionRow, ROWS_MAX } from '../board.ts'
import { tokenUnit } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import { facilitySubject, positionKey } from './judge.ts'
import type { FacilitySeen, LiquidatorSeen, MarketSeen } from './seen.ts'

type LiquidatorMoment = Moment & LiquidatorSeen

/** Show the borrowers that are looked at, the nearest to liquidation first. Pure. */
export function board(seen: LiquidatorMoment, decided: Decision): Board {
  const markets = new Map(seen.markets.map((market) => [market.address, market]))
  const judged = judgedBy(decided)
  const healths = new Map(
    [...decided.proposals, ...decided.passedOver].map(({ subject, reason }) => [
      subject,
      reason.healthFactorWad,
    ]),
  )
  const positions = Map.groupBy(seen.facilities, ({ marketAddress, borrower }) =>
    positionKey(marketAddress, borrower),
  )
  const rows = [...positions.values()].flatMap((facilities): readonly PositionRow[] => {
    const [first] = facilities
    if (first === undefined) return []
    const subjects = facilities.map(facilitySubject)
    const known = subjects.map((subject) => healths.get(subject)).find((health) => health !== undefined)
    const wad = known ?? first.serviceHealthFactorWad
    const health = wad === null || wad === undefined ? null : Number(wad) / 1e18
    return [
      {
        subject: `${first.marketAddress}:${first.borrower}`,
        borrower: first.borrower,
        health,
        ...judged(...subjects),
        ...amountsOf(facilities, health, markets.get(first.marketAddress), seen),
      },
    ]
  })
  const nearest = (one: PositionRow, other: PositionRow) =>
    (one.health ?? Number.MAX_VALUE) - (other.health ?? Number.MAX_VALUE)
  return { positions: rows.toSorted(nearest).slice(0, ROWS_MAX) }
}

function amountsOf(
  facilities: readonly FacilitySeen[],
  health: number | null,
  market: MarketSeen | undefined,
  { deployment }: LiquidatorMoment,
): Omit<PositionRow, keyof ReturnType<ReturnType<typeof judgedBy>> | 'subject' | 'borrower' | 'health'> {
  const { loanDecimals, loanSymbol, loanPriceUsdMicros, collateralDecimals, collateralSymbol } = market ?? {}
  const text = (assets: bigint | null, decimals?: number | null, symbol?: string | null) =>
    assets === null || decimals == null ? '?' : tokens(assets, decimals, symbol ?? '?')
  const [first] = facilities
  const parts = facilities.map(({ debtAssets }) => debtAssets)
  const listed = parts.every((debt) => debt !== null) ? parts.reduce((sum, debt) => sum + debt, 0n) : null
  const debtAssets = first?.positionDebtAssets ?? listed
  const priceWad = market?.oracle?.priceWad ?? null
  const nameOf = (vault: string) => deployment.vaults.find(({ address }) => address === vault)?.name ?? vault
  return {
    market: `${collateralSymbol ?? '?'}/${loanSymbol ?? '?'}`,
    debt: text(debtAssets, loanDecimals, loanSymbol),
    debtUsd:
      debtAssets === null || loanDecimals == null || loanPriceUsdMicros == null
        ? null
        : Number((debtAssets * loanPriceUsdMicros) / tokenUnit(loanDecimals)) / 1e6,
    collateral: text(first?.collateralAssets ?? null, collateralDecimals, collateralSymbol),
    price: text(priceWad, 18, loanSymbol),
    liquidatedBelow:
      priceWad === null || health === null || health <= 0
        ? '?'
        : text(BigInt(Math.round(Number(priceWad) / health)), 18, loanSymbol),
    debts:
      facilities.length === 1
        ? []
        : facilities.map((each) => ({
            vault: nameOf(each.vaultAddress),
            debt: text(each.debtAssets, loanDecimals, loanSymbol),
          })),
  }
}

import type { Address } from 'viem'
import type { FacilitySeen } from '../../../agents/agent.ts'
import { accruedDebt } from '../../../agents/protocol/interest.ts'
import { printable } from '../../errors.ts'
import type {
  CreditFacilityResource,
  LiquidationRecoveryResource,
  PositionResource,
} from '../../service/contract/resources.ts'
import { type Batch, readCollateral, readDebt, readDebtShares, readTotalDebt } from '../views.ts'

/** What the service says of one debt: its facility, the borrower's position, and a recovery item if there is one. */
export type FacilityRow = {
  readonly marketId: string
  readonly marketAddress: Address
  readonly vaultAddress: Address
  readonly borrower: Address
  readonly facility: CreditFacilityResource | null
  readonly position: PositionResource | null
  readonly recovery: LiquidationRecoveryResource | null
}

/** The figures that a decision needs, base units; `debtShares` with all vaults of the market. */
type Figures = Pick<FacilitySeen, 'debtAssets' | 'positionDebtAssets' | 'collateralAssets' | 'debtShares'>

const UNKNOWN: Figures = {
  debtAssets: null,
  positionDebtAssets: null,
  collateralAssets: null,
  debtShares: null,
}

const positionOf = (market: Address, wallet: Address) => `${market}:${wallet}`

/**
 * Join facilities, recovery items and positions of one chain by market, vault and borrower. Pure.
 * A debt that only the recovery list names has a row too.
 */
export function joinRows(
  chainId: number,
  facilities: readonly CreditFacilityResource[],
  positions: readonly PositionResource[],
  recoveries: readonly LiquidationRecoveryResource[],
): readonly FacilityRow[] {
  const position = new Map(
    positions
      .filter((row) => row.chainId === chainId)
      .map((row) => [positionOf(row.marketAddress, row.walletAddress), row]),
  )
  const rows = new Map<string, FacilityRow>()
  const add = (
    row: CreditFacilityResource | LiquidationRecoveryResource,
    part: Pick<Partial<FacilityRow>, 'facility' | 'recovery'>,
  ) => {
    if (row.chainId !== chainId) return
    const { marketId, marketAddress, vaultAddress, borrowerAddress: borrower } = row
    const key = `${positionOf(marketAddress, borrower)}:${vaultAddress}`
    rows.set(key, {
      marketId: printable(marketId),
      marketAddress,
      vaultAddress,
      borrower,
      facility: null,
      position: position.get(positionOf(marketAddress, borrower)) ?? null,
      recovery: null,
      ...rows.get(key),
      ...part,
    })
  }
  for (const facility of facilities) add(facility, { facility })
  for (const recovery of recoveries) add(recovery, { recovery })
  return [...rows.values()]
}

/** How long ago the service's figures were true, seconds of chain time, and the rate at which debt grew since. */
type Accrual = {
  readonly facilityElapsedS: number
  readonly positionElapsedS: number
  readonly ratePerSecondWad: bigint | null
}

/** Take the service's figures of a row, with interest up to our head; null where it gives none. Pure. */
export function serviceFigures(row: FacilityRow, accrual: Accrual): Figures {
  const grown = (debt: string | null | undefined, elapsedS: number) => {
    if (debt === null || debt === undefined) return null
    if (elapsedS === 0) return BigInt(debt)
    return accrual.ratePerSecondWad === null
      ? null
      : accruedDebt(BigInt(debt), accrual.ratePerSecondWad, elapsedS)
  }
  return {
    debtAssets: grown(row.facility?.debtAssets, accrual.facilityElapsedS),
    positionDebtAssets: grown(row.position?.debtAssets, accrual.positionElapsedS),
    collateralAssets: integer(row.position?.collateralAssets),
    debtShares: integer(row.position?.debtShares),
  }
}

/** Whether a figure is missing. Pure. */
export const isIncomplete = (figures: Figures): boolean =>
  Object.values(figures).some((figure) => figure === null)

/** Ask our node for all figures of a row, of one block; the returned function gives them after the batch ran. */
export function askFigures(batch: Batch, row: FacilityRow, vaults: readonly Address[]): () => Figures {
  const { marketAddress: market, vaultAddress, borrower } = row
  const debt = batch.ask(readDebt(market, vaultAddress, borrower))
  const totalDebt = batch.ask(readTotalDebt(market, borrower))
  const collateral = batch.ask(readCollateral(market, borrower))
  const shares = vaults.map((vault) => batch.ask(readDebtShares(market, vault, borrower)))
  return () => {
    const figures = {
      debtAssets: debt(),
      positionDebtAssets: totalDebt(),
      collateralAssets: collateral(),
      debtShares: sum(shares.map((read) => read())),
    }
    return isIncomplete(figures) ? UNKNOWN : figures
  }
}

const sum = (parts: readonly (bigint | null)[]) =>
  parts.reduce((total, part) => (total === null || part === null ? null : total + part), 0n)

/** Describe a row to the agent, with figures from the service or, where it gave none, from the chain. Pure. */
export function facilitySeen(row: FacilityRow, figures: Figures): FacilitySeen {
  const { marketId, marketAddress, vaultAddress, borrower, facility, position, recovery } = row
  return {
    marketId,
    marketAddress,
    vaultAddress,
    borrower,
    ...figures,
    serviceHealthFactorWad: integer(position?.healthFactorWad ?? facility?.healthFactorWad),
    monitorState: text(facility?.monitorState ?? position?.monitorState),
    recovery:
      recovery === null
        ? null
        : {
            liquidatable: recovery.liquidatable ?? null,
            executable: recovery.executable ?? null,
            blockedReason: text(recovery.blockedReason),
          },
  }
}

const integer = (digits: string | null | undefined) =>
  digits === null || digits === undefined ? null : BigInt(digits)
const text = (text: string | null | undefined) =>
  text === null || text === undefined ? null : printable(text)

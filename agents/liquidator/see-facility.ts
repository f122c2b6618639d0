import type { Address } from 'viem'
import type {
  CreditFacilityResource,
  LiquidationRecoveryResource,
  PositionResource,
} from '../../src/service/contract/resources.ts'
import type { Answer, FoundRows } from '../agent.ts'
import { accruedDebt } from '../protocol/interest.ts'
import { liquidationViews } from '../protocol/liquidation-views.ts'
import type { Wave } from '../protocol/reading.ts'
import { positionKey } from './judge.ts'
import type { FacilitySeen } from './seen.ts'

/** A row of the service, and the seconds of chain time from what it describes to our head. */
export type Dated<Row> = { readonly row: Row; readonly elapsedS: number }

/** What the service says of one debt: its facility, the borrower's position, and a recovery item if there is one. */
export type FacilityRow = {
  readonly marketId: string
  readonly marketAddress: Address
  readonly vaultAddress: Address
  readonly borrower: Address
  readonly facility: Dated<CreditFacilityResource> | null
  readonly position: Dated<PositionResource> | null
  readonly recovery: LiquidationRecoveryResource | null
}

/** The figures that a decision needs, base units; `debtShares` with all vaults of the market. */
export type Figures = Pick<
  FacilitySeen,
  'debtAssets' | 'positionDebtAssets' | 'collateralAssets' | 'debtShares'
>

const UNKNOWN: Figures = {
  debtAssets: null,
  positionDebtAssets: null,
  collateralAssets: null,
  debtShares: null,
}

/** Collect the positions of one chain by market and wallet, from the rows of several waves: the last one counts. Pure. */
export function positionsOf(
  chainId: number,
  waves: readonly FoundRows[],
): ReadonlyMap<string, Dated<PositionResource>> {
  const positions = new Map<string, Dated<PositionResource>>()
  for (const { positions: found } of waves) {
    for (const row of found?.items ?? []) {
      if (row.chainId !== chainId) continue
      const key = positionKey(row.marketAddress, row.walletAddress)
      positions.set(key, { row, elapsedS: found?.elapsedS ?? 0 })
    }
  }
  return positions
}

/**
 * Join facilities, recovery items and positions of one chain by market, vault and borrower, from the rows of several
 * waves. Pure. A debt that only the recovery list names has a row too.
 */
export function joinRows(chainId: number, waves: readonly FoundRows[]): readonly FacilityRow[] {
  const positions = positionsOf(chainId, waves)
  const rows = new Map<string, FacilityRow>()
  const add = (
    row: CreditFacilityResource | LiquidationRecoveryResource,
    part: Pick<Partial<FacilityRow>, 'facility' | 'recovery'>,
  ) => {
    if (row.chainId !== chainId) return
    const { marketId, marketAddress, vaultAddress, borrowerAddress: borrower } = row
    const position = positionKey(marketAddress, borrower)
    const key = `${position}:${vaultAddress}`
    rows.set(key, {
      marketId,
      marketAddress,
      vaultAddress,
      borrower,
      facility: null,
      position: positions.get(position) ?? null,
      recovery: null,
      ...rows.get(key),
      ...part,
    })
  }
  for (const { 'credit-facilities': found } of waves) {
    for (const row of found?.items ?? []) add(row, { facility: { row, elapsedS: found?.elapsedS ?? 0 } })
  }
  for (const { 'liquidation-recovery': found } of waves) {
    for (const row of found?.items ?? []) add(row, { recovery: row })
  }
  return [...rows.values()]
}

/** Whether the service says of a row all that its risk is judged by. Pure. */
export const isListedInFull = ({ facility, position }: FacilityRow): boolean =>
  [
    facility?.row.debtAssets,
    position?.row.debtAssets,
    position?.row.debtShares,
    position?.row.collateralAssets,
  ].every((figure) => figure != null)

/** Take the service's figures of a row, with interest at a rate up to our head; null where it gives none. Pure. */
export function serviceFigures(
  { facility, position }: FacilityRow,
  ratePerSecondWad: bigint | null,
): Figures {
  const grown = (dated: Dated<{ readonly debtAssets?: string | null | undefined }> | null) => {
    if (dated?.row.debtAssets == null) return null
    if (dated.elapsedS === 0) return BigInt(dated.row.debtAssets)
    return ratePerSecondWad === null
      ? null
      : accruedDebt(BigInt(dated.row.debtAssets), ratePerSecondWad, dated.elapsedS)
  }
  return {
    debtAssets: grown(facility),
    positionDebtAssets: grown(position),
    collateralAssets: integer(position?.row.collateralAssets),
    debtShares: integer(position?.row.debtShares),
  }
}

/** Whether a figure is missing. Pure. */
export const isIncomplete = (figures: Figures): boolean =>
  Object.values(figures).some((figure) => figure === null)

/** Ask our node for all figures of a row, of one block; the returned function reads them from the wave's answers. */
export function askFigures(
  wave: Wave,
  { marketAddress: market, vaultAddress, borrower }: FacilityRow,
  vaults: readonly Address[],
): (answers: readonly Answer[]) => Figures {
  const debt = wave.ask(liquidationViews, market, 'debtOf', [vaultAddress, borrower])
  const totalDebt = wave.ask(liquidationViews, market, 'totalDebtOf', [borrower])
  const collateral = wave.ask(liquidationViews, market, 'collateralOf', [borrower])
  const shares = vaults.map((vault) => wave.ask(liquidationViews, market, 'debtSharesOf', [vault, borrower]))
  return (answers) => {
    const figures = {
      debtAssets: debt(answers),
      positionDebtAssets: totalDebt(answers),
      collateralAssets: collateral(answers),
      debtShares: sum(shares.map((read) => read(answers))),
    }
    return isIncomplete(figures) ? UNKNOWN : figures
  }
}

const sum = (parts: readonly (bigint | null)[]) =>
  parts.reduce((total, part) => (total === null || part === null ? null : total + part), 0n)

/** Describe a row to the agent, with figures from the service or, where it gave none, from the chain. Pure. */
export function facilitySeen(row: FacilityRow, figures: Figures): FacilitySeen {
  const { marketId, marketAddress, vaultAddress, borrower, recovery } = row
  const [facility, position] = [row.facility?.row, row.position?.row]
  return {
    marketId,
    marketAddress,
    vaultAddress,
    borrower,
    ...figures,
    serviceHealthFactorWad: integer(position?.healthFactorWad ?? facility?.healthFactorWad),
    monitorState: facility?.monitorState ?? position?.monitorState ?? null,
    recovery:
      recovery === null
        ? null
        : {
            liquidatable: recovery.liquidatable ?? null,
            executable: recovery.executable ?? null,
            blockedReason: recovery.blockedReason ?? null,
          },
  }
}

const integer = (digits: string | null | undefined) => (digits == null ? null : BigInt(digits))

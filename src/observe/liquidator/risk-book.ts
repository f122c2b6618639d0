import { apply, emptyBook, endangered } from '../../../agents/liquidator/book.ts'
import type { PositionResource } from '../../service/contract/resources.ts'
import type { RiskBook } from './watched.ts'

/** Healthy positions of each market that a decision still judges, so that `explain` shows how near they came. */
const NEAREST_MAX = 50

/** Create the liquidator's book of one chain: what the service lists is folded into it, one changed row at a time. */
export function createRiskBook(chainId: number): RiskBook {
  const book = emptyBook()
  let known: ReadonlyMap<string, PositionResource> = new Map()
  const set = (row: PositionResource, { debtShares, collateralAssets }: Partial<PositionResource>) =>
    apply(book, {
      marketAddress: row.marketAddress,
      borrower: row.walletAddress,
      debtShares: BigInt(debtShares ?? 0),
      collateralAssets: BigInt(collateralAssets ?? 0),
    })
  return {
    update: (positions) => {
      const listed = new Map<string, PositionResource>()
      for (const row of positions) {
        if (row.chainId !== chainId) continue
        const key = `${row.marketAddress}:${row.walletAddress}`
        const before = known.get(key)
        listed.set(key, row)
        if (before?.debtShares === row.debtShares && before?.collateralAssets === row.collateralAssets)
          continue
        set(row, row)
      }
      for (const [key, row] of known) if (!listed.has(key)) set(row, {})
      known = listed
    },
    borrowersAtRisk: (market, terms) => {
      const { underWater, nearest } = endangered(book, market, terms, NEAREST_MAX)
      return [...underWater, ...nearest]
    },
  }
}

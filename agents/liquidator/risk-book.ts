import type { Address } from 'viem'
import type { Change, Fold } from '../rows.ts'
import { apply as applyPosition, type Book, emptyBook } from './book.ts'

/** Every position in the order of its risk, and every debt that the service lists for recovery. */
export type RiskBook = {
  readonly positions: Book
  /** By `market:vault:borrower`. */
  readonly listed: Map<string, { readonly marketAddress: Address; readonly borrower: Address }>
}

/** What is not said counts as the worst: such a position is looked at, and its figures are asked of the chain. */
const UNKNOWN = { debtShares: 1n, collateralAssets: 0n }

/** The liquidator's book: positions and recovery items, folded one changed row at a time, in place. */
export const riskBook: Fold<RiskBook> = {
  collections: ['positions', 'liquidation-recovery'],
  empty: () => ({ positions: emptyBook(), listed: new Map() }),
  apply: (book, change) => {
    if (change.collection === 'positions') foldPosition(book, change)
    if (change.collection === 'liquidation-recovery') foldRecovery(book, change)
    return book
  },
}

type Of<C extends Change['collection']> = Extract<Change, { readonly collection: C }>

function foldPosition(book: RiskBook, change: Of<'positions'>): void {
  const { marketAddress, walletAddress: borrower } = 'row' in change ? change.row : change.gone
  const shares = 'row' in change ? change.row.debtShares : '0'
  const collateral = 'row' in change ? change.row.collateralAssets : '0'
  applyPosition(book.positions, {
    marketAddress,
    borrower,
    ...(shares == null ? UNKNOWN : { debtShares: BigInt(shares), collateralAssets: BigInt(collateral ?? 0) }),
  })
}

function foldRecovery({ listed }: RiskBook, change: Of<'liquidation-recovery'>): void {
  const {
    marketAddress,
    vaultAddress,
    borrowerAddress: borrower,
  } = 'row' in change ? change.row : change.gone
  const key = `${marketAddress}:${vaultAddress}:${borrower}`
  if ('row' in change) listed.set(key, { marketAddress, borrower })
  else listed.delete(key)
}

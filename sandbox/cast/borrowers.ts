import { MARKET_NAMES, type MarketName } from '../deploy/markets.ts'

/** Borrowers of each market, and of both: a borrower stays in its market. */
export const BORROWERS_A_MARKET = 6
export const BORROWERS = MARKET_NAMES.length * BORROWERS_A_MARKET

/** The market that a borrower stays in. Pure. */
export const marketOfBorrower = (borrower: number): MarketName =>
  MARKET_NAMES[Math.floor((borrower * MARKET_NAMES.length) / BORROWERS)] ?? 'btc'

import { type Address, parseAbi } from 'viem'
import { createView, type Reads, uint } from '../reads/views.ts'
import { BPS } from './units.ts'

/** What a market's bad debt is judged by; base units of its loan asset. */
export const BAD_DEBT_VIEWS = parseAbi([
  'function totalBadDebt() view returns (uint256)',
  'function totalDebt() view returns (uint256)',
  'function totalCash() view returns (uint256)',
])
const view = createView(BAD_DEBT_VIEWS)

/**
 * Ask whether a market owes more for good than a part of what is supplied there; basis points. The answer is null where a
 * read has none.
 */
export function askBadDebt(reads: Reads, market: Address, bpsMax: bigint): () => boolean | null {
  const badDebt = reads.ask(view('totalBadDebt', market, [], uint))
  const debt = reads.ask(view('totalDebt', market, [], uint))
  const cash = reads.ask(view('totalCash', market, [], uint))
  return () => {
    const [lost, owed, held] = [badDebt(), debt(), cash()]
    return lost === null || owed === null || held === null ? null : lost * BPS > (owed + held) * bpsMax
  }
}

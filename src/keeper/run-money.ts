import { periodOf } from '../accounts/period.ts'
import { resultsOf } from '../accounts/results.ts'
import type { RunConfig } from '../config/config.ts'
import type { Accounts } from '../journal/accounts.ts'
import type { SummaryEvent } from '../ops/events.ts'

/** The accounts that a run goes on with, and the block that they ended at when it began. */
export type RunAccounts = { readonly accounts: Pick<Accounts, 'newest'>; readonly beganAt: bigint }

/** A run has a page for what moves at once, and one an hour: the summary is about as many at most. */
const PAGES_MAX = 10_000

/** Sum up what the accounts of a run's signers say of it, by role. */
export async function moneyOf(
  { chain, agents }: Pick<RunConfig, 'chain' | 'agents'>,
  { accounts, beganAt }: RunAccounts,
): Promise<SummaryEvent['money']> {
  const signers = new Set(agents.map(({ signer }) => signer.address))
  const pages = await Promise.all([...signers].map((each) => accounts.newest(chain.id, each, PAGES_MAX)))
  const period = periodOf(pages.flat(), 0).filter(({ page }) => page.to.number > beganAt)
  return Object.fromEntries(
    resultsOf(period, 'role', new Map()).map(({ key, moved, gas, positions, marked }) => [
      key,
      { realizedUsdMicros: String(moved + gas + (positions ?? 0n)), markedUsdMicros: String(marked ?? 0n) },
    ]),
  )
}

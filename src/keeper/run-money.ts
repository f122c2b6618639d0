import type { Address } from 'viem'
import { type Period, periodOf } from '../accounts/period.ts'
import { resultsOf } from '../accounts/results.ts'
import { workflowsOf } from '../accounts/workflows-of.ts'
import type { RunConfig } from '../config/config.ts'
import type { Accounts } from '../journal/accounts.ts'
import type { SummaryEvent } from '../ops/events.ts'

/** The accounts that a run goes on with, and the block that they ended at when it began. */
export type RunAccounts = { readonly accounts: Pick<Accounts, 'newest'>; readonly beganAt: bigint }

/** A run has a page for what moves at once, and one an hour: the summary is about as many at most. */
const PAGES_MAX = 10_000

/** Sum up what the accounts of a run's signers say of it, by role, as `pnl` does. */
export const moneyOf = (config: RunConfig, { accounts, beganAt }: RunAccounts) =>
  sumUp(config, accounts, 0, ({ page }) => page.to.number > beganAt)

/** The same of what closed at or after a time, Unix milliseconds. */
export const moneySince = (config: RunConfig, accounts: RunAccounts['accounts'], sinceMs: number) =>
  sumUp(config, accounts, sinceMs, () => true)

async function sumUp(
  { chain, agents, deployment, fleet, directory }: RunConfig,
  accounts: RunAccounts['accounts'],
  sinceMs: number,
  isIn: (one: Period[number]) => boolean,
): Promise<SummaryEvent['money']> {
  const periodIn = async (signers: Iterable<Address>) => {
    const pages = await Promise.all([...signers].map((each) => accounts.newest(chain.id, each, PAGES_MAX)))
    return periodOf(pages.flat(), sinceMs).filter(isIn)
  }
  const period = await periodIn(new Set(agents.map(({ signer }) => signer.address)))
  const funds = await periodIn(deployment.funds.map(({ address }) => address))
  // In a fleet, the seats and with them what was said are with others by now.
  const isAlone = fleet === undefined
  const workflows = isAlone ? await workflowsOf(period, { directory }) : new Map()
  return Object.fromEntries(
    resultsOf(period, 'role', workflows, funds).map(({ key, said, moved, gas, positions, marked }) => [
      key,
      {
        ...(isAlone ? { saidUsdMicros: String(said) } : {}),
        realizedUsdMicros: String(moved + gas + (positions ?? 0n)),
        markedUsdMicros: String(marked ?? 0n),
      },
    ]),
  )
}

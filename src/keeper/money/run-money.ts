import type { Address } from 'viem'
import { periodOf } from '../../accounts/period.ts'
import { resultsOf } from '../../accounts/results.ts'
import { workflowsOf } from '../../accounts/workflows-of.ts'
import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import { type Accounts, type Page, readAccounts } from '../../journal/sqlite/accounts.ts'
import type { SummaryEvent } from '../../ops/events.ts'
import { type CachedRead, createCachedRead } from '../cached-read.ts'

/**
 * Sum up what the accounts of a run's signers say of it, by role, as `pnl` does from then on: read once they are closed, as a
 * page may have been entered until then.
 * @param began the block that each account ended at when the run began.
 */
export async function endedMoney(
  config: RunConfig,
  began: ReadonlyMap<Address, bigint>,
): Promise<SummaryEvent['money']> {
  const accounts = readAccounts(config.directory)
  try {
    return await sumUp(config, accounts, ({ to, signer }) => to.number <= (began.get(signer) ?? -1n))
  } finally {
    await accounts.close()
  }
}

/** Accounts close an hour's page at least; nobody waits for a day's to be added up. */
const TODAY_MS = 30_000
const DAY_MS = 86_400_000

/** What accounts say of today, which began at midnight UTC, by role. Whoever shows it, shows this one. */
export type MoneyToday = Pick<CachedRead<SummaryEvent['money']>, 'begin' | 'get' | 'last'>

/** Create the sums of today. */
export const createMoneyToday = (
  config: RunConfig,
  clock: Clock,
  accounts: Pick<Accounts, 'backTo'>,
): MoneyToday => {
  const read = async () => {
    const midnightMs = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS
    return sumUp(config, accounts, ({ to }) => to.atMs < midnightMs)
  }
  return createCachedRead(read, { clock, everyMs: () => TODAY_MS, onFailed: () => undefined })
}

async function sumUp(
  { chain, agents, deployment, fleet, directory }: RunConfig,
  accounts: Pick<Accounts, 'backTo'>,
  isBefore: (page: Page) => boolean,
): Promise<SummaryEvent['money']> {
  const periodIn = async (signers: Iterable<Address>) => {
    const pages = await Promise.all([...signers].map((each) => accounts.backTo(chain.id, each, isBefore)))
    return periodOf(pages.flat(), 0).filter(({ page }) => !isBefore(page))
  }
  const period = await periodIn(new Set(agents.map(({ signer }) => signer.address)))
  const funds = await periodIn(deployment.funds.map(({ address }) => address))
  // In a fleet, the seats and with them what was expected are with others by now.
  const isAlone = fleet === undefined
  const workflows = isAlone ? await workflowsOf(period, { directory }) : new Map()
  return Object.fromEntries(
    resultsOf(period, 'role', workflows, funds).map(({ key, said, moved, gas, positions, marked }) => [
      key,
      {
        ...(isAlone ? { saidUsdMicros: String(said) } : {}),
        realizedUsdMicros: String(moved + gas + (positions ?? 0n)),
        markedUsdMicros: String(marked ?? 0n),
        gasUsdMicros: String(gas),
      },
    ]),
  )
}

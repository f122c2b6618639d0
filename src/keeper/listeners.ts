import type { RunConfig } from '../config/config.ts'
import { forgetPresence, leavePresence } from '../journal/directory/presence.ts'
import type { Accounts } from '../journal/sqlite/accounts.ts'
import type { Log } from '../ops/log.ts'
import { openConsole } from './console/open-console.ts'
import { startHealth } from './health/health.ts'
import type { HealthDeps } from './health/keeper-view.ts'
import { createMoneyToday } from './money/run-money.ts'
import type { Candidate } from './policy/candidates.ts'
import type { Reports } from './telemetry/reports.ts'

/** What a keeper shows beside what it is looked at by. */
type ListenerDeps = {
  readonly reports: Reports
  readonly log: Log
  readonly version: string
  readonly candidates: readonly Candidate[]
  readonly accounts: Pick<Accounts, 'backTo'>
  /** Closed when the keeper stops, the last before the first. */
  readonly opened: (() => unknown)[]
}

/**
 * Open what a keeper is looked at by, for machines and for people, and leave word of it in its directory. Throws what listening
 * throws. @returns where they are.
 */
export async function openListeners(
  config: RunConfig,
  looked: HealthDeps,
  { reports, log, version, candidates, accounts, opened }: ListenerDeps,
): Promise<{ readonly opsUrl: string; readonly consoleUrl?: string }> {
  const { directory } = config
  forgetPresence(directory)
  const money = createMoneyToday(config, looked.clock, accounts)
  const health = await startHealth(config.ops, { reports, log }, { config, version, money }, looked)
  opened.push(health.close)
  const roles = [...new Set(config.agents.map(({ role }) => role))]
  const [pid, startedAtMs, opsUrl] = [process.pid, looked.clock.nowMs(), health.url]
  leavePresence(directory, { pid, startedAtMs, opsUrl, version, roles })
  const { earned, onEvent } = reports
  const page = await openConsole(config, {
    looked,
    facets: health.facets,
    earned,
    money,
    onEvent,
    candidates,
    version,
    log,
  })
  if (page === null) return { opsUrl }
  opened.push(page.close)
  return { opsUrl, consoleUrl: page.url }
}

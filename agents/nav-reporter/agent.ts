import { moment } from '../../src/readable.js'
import type { Agent, Answer, Stop } from '../agent.ts'
import type { Upstreams } from '../protocol/upstreams.ts'
import { board } from './board.ts'
import { decide } from './decide.ts'
import { due } from './duty.ts'
import { evidence, verify } from './evidence.ts'
import { type NavReporterPolicy, navReporterPolicy } from './policy.ts'
import { type NavReporterSeen, see } from './see.ts'
import { readOutside } from './source-kinds.ts'
import type { Statement } from './statement.ts'
import { unreachable, votesOf, withUpstreams } from './votes.ts'

/** Say in short what a source states. */
function statesOf(statements: readonly Statement[] | Stop): string | Stop {
  if ('check' in statements) return statements
  const newestS = Math.max(...statements.map(({ asOfS }) => asOfS))
  return `it states ${statements.length === 1 ? 'a value' : `${statements.length} values, the newest`} for ${moment(newestS)}`
}

/** Count sources of each report together that the run configuration shows to be one. */
function joinSources({ reports, ...rest }: NavReporterPolicy, upstreams: Upstreams) {
  const joined = Object.entries(reports).map(
    ([name, report]) => [name, { ...report, sources: withUpstreams(report.sources, upstreams) }] as const,
  )
  const short = joined.find(([, { quorum, sources }]) => quorum > votesOf(sources).length)
  if (short === undefined) return { policy: { ...rest, reports: Object.fromEntries(joined) } }
  const [name, { sources }] = short
  return { path: `reports.${name}.quorum`, ...unreachable(sources) }
}

/** The NAV reporter: says in time what one share of a fund or vault is worth, and never on one source's word. */
export const navReporter: Agent<NavReporterPolicy, NavReporterSeen> = {
  role: 'nav-reporter',
  watches: {
    collections: ['funds'],
    eventTypes: ['funds.updated', 'nav.reports.updated', 'workflow.navReportSignAndSubmit.updated'],
  },
  workflowTypes: ['role.nav_reporter.navReportSignAndSubmit'],
  policy: () => navReporterPolicy,
  see,
  decide,
  due,
  board,
  evidence,
  verify,
  sources: ({ reports }) =>
    Object.values(reports).flatMap(({ sources, decimals }) =>
      Object.entries(sources).flatMap(([key, one]) =>
        'source' in one
          ? [
              {
                name: one.source,
                votesWith: (votesOf(sources).find((vote) => vote.includes(key)) ?? []).filter(
                  (each) => each !== key,
                ),
                states: (answer: Answer) => statesOf(readOutside(answer, one, decimals)),
              },
            ]
          : [],
      ),
    ),
  joinSources,
}

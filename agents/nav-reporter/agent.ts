import { moment } from '../../src/readable.js'
import type { Agent, Stop } from '../agent.ts'
import { board } from './board.ts'
import { decide } from './decide.ts'
import { due } from './duty.ts'
import { evidence, verify } from './evidence.ts'
import { type NavReporterPolicy, navReporterPolicy } from './policy.ts'
import { type NavReporterSeen, see } from './see.ts'
import { readOutside } from './source-kinds.ts'
import type { Statement } from './statement.ts'

/** Say in short what a source states. */
function statesOf(said: readonly Statement[] | Stop): string | Stop {
  if ('check' in said) return said
  const newestS = Math.max(...said.map(({ asOfS }) => asOfS))
  return `it states ${said.length === 1 ? 'a value' : `${said.length} values, the newest`} for ${moment(newestS)}`
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
      Object.values(sources).flatMap((one) =>
        'source' in one
          ? [{ name: one.source, states: (answer) => statesOf(readOutside(answer, one, decimals)) }]
          : [],
      ),
    ),
}

import type { Agent } from '../agent.ts'
import { board } from './board.ts'
import { decide } from './decide.ts'
import { due } from './duty.ts'
import { evidence, verify } from './evidence.ts'
import { type NavReporterPolicy, navReporterPolicy } from './policy.ts'
import { type NavReporterSeen, see } from './see.ts'

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
    Object.values(reports).flatMap(({ sources }) =>
      Object.values(sources).flatMap((one) => ('source' in one ? [one.source] : [])),
    ),
}

import type { RunConfig } from '../../config/config.ts'
import type { Facet } from '../../ops/facet.ts'
import type { Log } from '../../ops/log.ts'
import { startOpsServer } from '../../ops/server.ts'
import type { Reports } from '../telemetry/reports.ts'
import { findAll } from './all-findings.ts'
import { createFacets } from './facets.ts'
import { readGauges } from './gauges.ts'
import type { HealthDeps } from './keeper-view.ts'
import { usedNow } from './limit-use.ts'
import { createProbes } from './probes.ts'
import { createStatus, type StatusDeps } from './status.ts'

const LOOK_MS = 1_000

/** What looks at a keeper, and the pages that show what it sees. */
export type Health = {
  /** Base URL of the pages. */
  readonly url: string
  readonly facets: () => readonly Facet[]
  readonly close: () => Promise<void>
}

/** Look at a keeper once a second, and start the pages that it is looked at by. Throws what listening throws. */
export async function startHealth(
  where: RunConfig['ops'],
  { reports, log }: { readonly reports: Pick<Reports, 'metrics' | 'emit' | 'alarm'>; readonly log: Log },
  status: Omit<StatusDeps, 'looked'>,
  deps: HealthDeps,
): Promise<Health> {
  const probes = createProbes(deps)
  const facets = createFacets({ find: () => findAll(deps, probes), clock: deps.clock, log, reports })
  const statusOf = createStatus({ ...status, looked: deps })
  const look = () => {
    probes.begin()
    facets.look()
  }
  look()
  const timer = setInterval(look, LOOK_MS)
  const server = await startOpsServer(where, {
    metrics: async () =>
      reports.metrics.render({ ...readGauges(deps, await usedNow(deps)), facets: facets.list() }),
    // As it is when somebody asks, and not up to a second ago.
    facets: () => {
      facets.look()
      return facets.list()
    },
    status: () => statusOf(facets.list()),
  }).catch((error: unknown) => {
    clearInterval(timer)
    throw error
  })
  return {
    url: server.url,
    facets: facets.list,
    close: () => {
      clearInterval(timer)
      return server.close()
    },
  }
}

import { createNodes, type NodesOptions } from '../../chain/http-nodes.ts'
import type { Nodes } from '../../chain/nodes.ts'
import type { Clock } from '../../clock.ts'
import type { RunConfig } from '../../config/config.ts'
import type { Log } from '../../ops/log.ts'
import type { Metrics } from '../../ops/metrics/metrics.ts'
import { createServiceClient, type ServiceClient } from '../../service/client.ts'
import { type HttpEvents, SERVICE_TIMEOUTS } from '../../service/http.ts'

/** A node that has not answered by then is left for the next one. */
const NODE_TIMEOUT_MS = 2_000
/** How often a node is asked for its head: a block is noticed after half of it, on average. */
const HEAD_POLL_MS = 100

/** Open the nodes that a run configuration names. Throws what opening them throws, such as on another chain. */
export const openNodes = (
  { chain: { id, nodes, finality }, store }: Pick<RunConfig, 'chain' | 'store'>,
  clock: Clock,
  hears: Pick<NodesOptions, 'onDisagreement' | 'onWrongChain'> = {},
): Promise<Nodes> =>
  createNodes({
    chainId: id,
    read: nodes.read.map((url) => () => url.reveal()),
    send: nodes.send.map((url) => () => url.reveal()),
    agree: nodes.agree,
    finality,
    timeoutMs: NODE_TIMEOUT_MS,
    pollMs: HEAD_POLL_MS,
    clock,
    onDenied: (kind, index) => store?.stale(nodes[kind][index]),
    ...hears,
  })

/** Open the service that a run configuration names, with the keeper's own key. Nothing is asked yet. */
export const openService = ({ service }: RunConfig, clock: Clock, events?: HttpEvents): ServiceClient => {
  const { secretKey } = service
  return createServiceClient(
    {
      baseUrl: service.url,
      ...(secretKey === undefined ? {} : { secretKey: () => secretKey.reveal() }),
      timeouts: SERVICE_TIMEOUTS,
      assumptions: service.assumptions,
      ...(events === undefined ? {} : { events }),
    },
    clock,
  )
}

/** Open the service as {@link openService} does, each attempt counted, and what the circuit does logged; `onDate` hears its clock. */
export const openReportedService = (
  config: RunConfig,
  clock: Clock,
  metrics: Pick<Metrics, 'serviceCalled' | 'circuitMoved'>,
  { log, onDate }: { readonly log: Log; readonly onDate: (dateMs: number) => void },
): ServiceClient =>
  openService(config, clock, {
    onAttempt: (outcome, tookMs, dateMs) => {
      metrics.serviceCalled(outcome, tookMs)
      if (outcome === 'status_401') config.store?.stale(config.service.secretKey)
      if (dateMs !== null) onDate(dateMs)
    },
    onCircuit: (phase) => {
      metrics.circuitMoved(phase)
      log.warn('the circuit to the service moved', { phase })
    },
  })

import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { BaseError, HttpRequestError, TimeoutError } from 'viem'
import type { Clock } from '../../src/clock.ts'
import { RolekeeperError } from '../../src/errors.ts'
import type { EntityResource } from '../../src/service/contract/directory-resources.ts'
import { openApiDocument } from '../../src/service/contract/openapi.ts'
import type { Canonical } from '../indexer/canonical.ts'
import { serveControl } from './control.ts'
import { createEventLog, type EventLog, eventPolling } from './events/events.ts'
import { createStreamHub, STREAM_PATH } from './events/stream.ts'
import { createFaultSwitch, type Fault, type FaultSwitch } from './faults/faults.ts'
import { createLaggingCanonical } from './faults/lagging-canonical.ts'
import { createTransmit } from './faults/stream-faults.ts'
import { faucetQuota, grantCalls, grantOperations } from './grants/grant-operations.ts'
import { createGrantRows } from './grants/grant-rows.ts'
import { createGrants, type Donor } from './grants/grants.ts'
import { graphqlQuery } from './graphql/graphql.ts'
import type { Handlers } from './http/handler.ts'
import { createHttp, isLoopbackHost } from './http/http.ts'
import { createIdempotency } from './http/idempotency.ts'
import { type Cursors, createCursors } from './http/page.ts'
import { createRateLimiter, DEFAULT_RATE_LIMIT, type RateLimit } from './http/rate-limit.ts'
import { createWalletSessions, walletSessionOperations } from './http/wallet-sessions.ts'
import { createNodeReads } from './node-reads.ts'
import { prepareOperation } from './prepare.ts'
import { createProgress } from './progress.ts'
import { createIntelligence, type Intelligence, intelligenceReads } from './reads/allocation-intelligence.ts'
import { canonicalReads } from './reads/canonical-reads.ts'
import { deploymentReads, type ServedDeployment } from './reads/deployment-reads.ts'
import { directoryReads } from './reads/directory-reads.ts'
import { fundReads } from './reads/fund-reads.ts'
import { createMessages, type Messages, messageReads } from './reads/messages.ts'
import { createRecordedCanonical } from './reads/recorded-canonical.ts'
import {
  createServiceRecords,
  recordEvents,
  type ServiceRecord,
  type ServiceRecords,
  seedRecords,
} from './records.ts'
import { openStore, type Store } from './store.ts'
import type { StoryControl } from './story-control.ts'
import type { Credentials } from './tenants/seed.ts'
import { openTenancy } from './tenants/tenancy.ts'
import { createDeliveryRows } from './webhooks/delivery-rows.ts'
import { startDispatcher } from './webhooks/dispatcher.ts'
import { createEndpointRows } from './webhooks/endpoint-rows.ts'
import { webhookOperations } from './webhooks/operations.ts'
import { systemResolve } from './webhooks/receiver-address.ts'
import { workflowOperations } from './workflow-operations.ts'
import { createWorkflowRecords } from './workflow-records.ts'

/** What the service is started with. */
export type ServiceSettings = {
  readonly canonical: Canonical
  readonly deployment: ServedDeployment
  /** Who takes part in the sandbox. */
  readonly entities: readonly EntityResource[]
  /** What lives at the service from the first start on; nothing when absent. */
  readonly records?: readonly ServiceRecord[]
  /** The node that principals' balances are read from. */
  readonly rpcUrl: string
  readonly clock: Clock
  /** Control state; created when absent. */
  readonly dbFile: string
  /** A loopback address. */
  readonly host: string
  /** 0 or absent takes a free port. */
  readonly port?: number
  readonly credentials: Credentials
  /** Who pays for admissions and faucet claims. */
  readonly donor: Donor
  readonly rateLimit?: RateLimit
  /** Whether webhooks may be delivered to this machine, over plain HTTP too. */
  readonly allowLoopbackWebhooks?: boolean
  /** What to do wrong from the start. */
  readonly fault?: Fault
  /** Lets its holder read and set faults; without one nobody can, over HTTP. */
  readonly controlToken?: string
  /** What its holder may hold still; it begins after the service. */
  readonly story?: Promise<StoryControl>
  /** Gets what a 500 answer does not show. */
  readonly onCrash?: (error: unknown) => void
}

/** The running service. */
export type SandboxService = {
  /** For example `http://127.0.0.1:4100`. */
  readonly url: string
  readonly streamUrl: string
  /** Behave badly from now on, in exactly this way; `{}` ends it. */
  readonly setFault: (fault: Fault) => void
  /** Save what somebody of the story has saved at the service, and announce it. */
  readonly save: (record: ServiceRecord) => void
  /** Settles when every workflow and grant has been looked at on the newest snapshot. */
  readonly idle: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Whether something failed as the chain's node gave no answer. Pure. */
function isOfSilentNode(error: unknown): boolean {
  const cause = error instanceof RolekeeperError ? error.cause : error
  const isSilence = (each: unknown) => each instanceof HttpRequestError || each instanceof TimeoutError
  return cause instanceof BaseError && cause.walk(isSilence) !== null
}

/**
 * Start the sandbox's HTTP service and stream on loopback.
 * Throws RolekeeperError `sandbox.service_host` for an address that is not loopback, `sandbox.service_port` when the
 * port is taken.
 */
export async function startService(settings: ServiceSettings): Promise<SandboxService> {
  const { deployment, clock, credentials, host, port = 0 } = settings
  if (!isLoopbackHost(host)) throw notLoopback(host)
  const onCrash = (error: unknown) => {
    // It is no fault of the service: freshness says so, and the next block brings another look.
    if (!isOfSilentNode(error)) settings.onCrash?.(error)
  }
  const faults = createFaultSwitch(settings.fault)
  const store = openStore(settings.dbFile, credentials.secretKey)
  const { canonical, serviceRecords } = openCanonical(settings, store, faults)
  const cursors = createCursors(store)
  const log = createEventLog(store, clock)
  const records = createWorkflowRecords(store)
  const progress = createProgress({ canonical, records, log, clock, onCrash })
  const take = createRateLimiter(settings.rateLimit ?? DEFAULT_RATE_LIMIT, clock)
  const webhooks = startWebhooks(settings, store, log, onCrash)
  const idempotency = createIdempotency(store, clock)
  const { chainId, namespace } = deployment
  const { keys, audit, usage, applications, ...tenancy } = openTenancy({
    store,
    clock,
    cursors,
    freshness: canonical.freshness,
    credentials,
    chainId,
    namespace,
    faucetQuota: faucetQuota(deployment.contracts),
    forget: [records, idempotency, webhooks.endpoints, webhooks.deliveries].map(({ forget }) => forget),
  })
  const transmit = createTransmit(() => faults.now().stream)
  const stream = createStreamHub({
    log,
    cursors,
    clock,
    transmit,
    take,
    keys,
    origins: credentials.origins,
  })
  const messages = createMessages(store, clock)
  const { grants, ...granting } = startGrants({ ...settings, canonical }, store, log, messages, onCrash)
  const intelligence = createIntelligence(canonical)
  const handlers: Handlers = {
    ...readHandlers({ ...settings, canonical }, serviceRecords, cursors, messages, intelligence, onCrash),
    ...walletSessionOperations({ store, clock, chainId }),
    ...eventPolling(log, cursors, canonical.freshness),
    ...webhookOperations({ ...webhooks, log, cursors, clock, freshness: canonical.freshness }),
    createStreamToken: stream.createStreamToken,
    prepareWorkflow: prepareOperation({
      canonical,
      records,
      serviceRecords,
      clock,
      namespace,
      fault: faults.now,
      reads: createNodeReads(settings.rpcUrl, chainId, serviceRecords),
    }),
    ...workflowOperations({ canonical, records, progress, cursors, chainId }),
    ...tenancy.handlers,
    ...granting.handlers,
  }
  const sessions = createWalletSessions(store, clock)
  const app = createHttp({
    handlers,
    keys,
    idempotency,
    log,
    audit,
    usage,
    clock,
    onCrash,
    sessions,
    take,
    streamPath: STREAM_PATH,
    fault: faults.now,
  })
  servePublishedContract(app)
  serveControl(app, settings, { faults, applications, serviceRecords, log })
  app.server.on('upgrade', stream.upgrade)
  const unsubscribe = followChain(canonical, { log, intelligence, progress, grants }, onCrash)
  const idle = async () => {
    await Promise.all([progress.idle(), grants.idle()])
  }
  const stop = async () => {
    unsubscribe()
    await canonical.stop()
    stream.close()
    await app.close()
    await idle()
    await webhooks.dispatcher.stop()
    usage.flush()
    store.close()
  }
  const address = await listen(app, host, port, stop)
  for (const { evaluate } of [progress, grants]) evaluate()
  const save = saving(serviceRecords, log)
  const streamUrl = `ws://${address}${STREAM_PATH}`
  return { url: `http://${address}`, streamUrl, setFault: faults.set, save, idle, stop }
}

const saving =
  (records: Pick<ServiceRecords, 'save'>, log: Pick<EventLog, 'append'>): SandboxService['save'] =>
  (record) =>
    log.append(recordEvents(record), () => records.save(record))

/** Open canonical state as it is served: as late as a fault says, with what lives at the service. */
function openCanonical(settings: ServiceSettings, store: Store, faults: FaultSwitch) {
  const serviceRecords = createServiceRecords(store)
  seedRecords(store, serviceRecords, settings.records ?? [])
  const late = createLaggingCanonical(settings.canonical, settings.clock, () => faults.now().indexer)
  return { serviceRecords, canonical: createRecordedCanonical(late, serviceRecords, settings.entities) }
}

/** What is read without a change of anything: the chain's rows, the deployment, the directory, GraphQL over them. */
function readHandlers(
  { canonical, deployment, entities, clock }: ServiceSettings,
  records: ServiceRecords,
  cursors: Cursors,
  messages: Messages,
  intelligence: Intelligence,
  onCrash: (error: unknown) => void,
) {
  const source = { canonical, cursors }
  const reads = { ...canonicalReads(source), ...fundReads(source) }
  return {
    ...deploymentReads(source, deployment, new Date(clock.nowMs()).toISOString()),
    ...reads,
    queryGraphql: graphqlQuery(source, reads, onCrash),
    ...directoryReads(source, entities, records),
    ...messageReads(source, messages),
    ...intelligenceReads(source, intelligence),
  }
}

/** Serve the OpenAPI document, as the address that it was first asked at has it. */
function servePublishedContract(app: FastifyInstance): void {
  let contract: string | undefined
  app.get('/openapi.json', async (request, reply) => {
    contract ??= JSON.stringify(openApiDocument(`http://${request.headers.host}`))
    return reply.type('application/json').send(contract)
  })
}

/** With each snapshot append what changed to the log, and look at what waits for the chain. Returns how to end it. */
function followChain(
  canonical: Canonical,
  parts: {
    readonly log: EventLog
    readonly intelligence: Intelligence
    readonly progress: { readonly evaluate: () => void }
    readonly grants: { readonly evaluate: () => void }
  },
  onCrash: (error: unknown) => void,
): () => void {
  const { log, intelligence, progress, grants } = parts
  return canonical.onSnapshot((snapshot, changes) => {
    try {
      // Events first: a reader that acts on one is waiting; progress is looked at right after.
      const all = [...changes, ...intelligence.advance(snapshot)]
      log.append(all.map(({ eventType, subject, data }) => ({ type: eventType, subject, data })))
    } catch (error) {
      // A full disk is the service's trouble, not the indexer's.
      onCrash(error)
    }
    progress.evaluate()
    grants.evaluate()
  })
}

/** Listen, or stop what runs already and throw `sandbox.service_port`. Returns host and port. */
async function listen(
  app: FastifyInstance,
  host: string,
  port: number,
  stop: () => Promise<void>,
): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    await stop()
    throw cannotListen(host, port, cause)
  }
  return `${host}:${(app.server.address() as AddressInfo).port}`
}

const notLoopback = (host: string) =>
  new RolekeeperError('sandbox.service_host', `The sandbox's service would listen on ${host}.`, {
    fix: 'use 127.0.0.1; the sandbox is for this machine only.',
  })

const cannotListen = (host: string, port: number, cause: unknown) =>
  new RolekeeperError('sandbox.service_port', `The sandbox's service cannot listen on ${host}:${port}.`, {
    fix: 'end the process that has the port, or choose another.',
    cause,
  })

function startWebhooks(
  { clock, allowLoopbackWebhooks: allowLoopback = false }: ServiceSettings,
  store: Store,
  log: EventLog,
  onCrash: (error: unknown) => void,
) {
  const rows = { endpoints: createEndpointRows(store), deliveries: createDeliveryRows(store) }
  const deps = { ...rows, store, log, clock, allowLoopback, resolve: systemResolve, onCrash }
  return { ...rows, allowLoopback, dispatcher: startDispatcher(deps) }
}

function startGrants(
  { canonical, deployment, donor, clock }: ServiceSettings,
  store: Store,
  log: EventLog,
  messages: Messages,
  onCrash: (error: unknown) => void,
) {
  const { chainId, contracts } = deployment
  const rows = createGrantRows(store)
  const callsOf = grantCalls(contracts)
  const grants = createGrants({ rows, canonical, log, messages, donor, callsOf, onCrash })
  return { grants, handlers: grantOperations({ rows, grants, clock, chainId, contracts }) }
}

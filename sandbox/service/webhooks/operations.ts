import type { z } from 'zod'
import type { Clock } from '../../../src/clock.ts'
import { EVENT_TYPES } from '../../../src/service/contract/event-types.ts'
import type { Freshness } from '../../../src/service/contract/resources.ts'
import type { webhookDelivery, webhookEndpointRow } from '../../../src/service/contract/tenant-resources.ts'
import type { EventLog } from '../events/events.ts'
import { applicationOf } from '../http/access.ts'
import { ApiError, notFound } from '../http/api-error.ts'
import type { Caller, Handlers } from '../http/handler.ts'
import { type Cursors, page } from '../http/page.ts'
import { type DeliveryRows, newDelivery, type WebhookDelivery } from './delivery-rows.ts'
import { type Dispatcher, REPLAY_WINDOW_MS } from './dispatcher.ts'
import { type EndpointRows, newEndpoint, type WebhookEndpoint } from './endpoint-rows.ts'
import { readReceiverUrl } from './receiver-address.ts'

/** Assumed: how many receivers an application may have; the fan-out looks at each. */
const ENDPOINTS_MAX = 20

/** What the operations are given. */
export type WebhookDeps = {
  readonly endpoints: EndpointRows
  readonly deliveries: DeliveryRows
  readonly dispatcher: Pick<Dispatcher, 'send'>
  readonly log: Pick<EventLog, 'head'>
  readonly cursors: Cursors
  readonly freshness: () => Freshness
  readonly clock: Clock
  readonly allowLoopback: boolean
}

type WebhookHandlers = Pick<
  Handlers,
  | 'listWebhookEndpoints'
  | 'createWebhookEndpoint'
  | 'updateWebhookEndpoint'
  | 'disableWebhookEndpoint'
  | 'listWebhookDeliveries'
  | 'replayWebhookDelivery'
>

/** Manage an application's receivers and replay its deliveries. Source: service API, "Webhook management and replay". */
export const webhookOperations = (deps: WebhookDeps): WebhookHandlers => ({
  ...endpointOperations(deps),
  ...deliveryOperations(deps),
})

function endpointOperations(deps: WebhookDeps) {
  const { endpoints, log, clock } = deps
  const find = (caller: Caller, id: string): WebhookEndpoint => {
    const endpoint = endpoints.find(id)
    // Another application's is as unknown as one that never was.
    if (endpoint?.applicationId !== applicationOf(caller)) throw notFound('webhook endpoint of this id')
    return endpoint
  }
  const update = (endpoint: WebhookEndpoint, changes: Partial<WebhookEndpoint>) => {
    const nowMs = clock.nowMs()
    const next = { ...endpoint, ...changes, updatedMs: nowMs }
    // What happened while it was disabled was not for it.
    const resumes = endpoint.status === 'disabled' && next.status === 'enabled'
    return {
      body: endpointRow(next),
      commit: () =>
        endpoints.update(next.id, { ...next, place: resumes ? log.head() : endpoint.place }, nowMs),
    }
  }
  return {
    listWebhookEndpoints: (call) => {
      const rows = endpoints.ofApplication(applicationOf(call.caller)).map(endpointRow)
      const keyOf = (row: { createdAt: string; id: string }) => `${row.createdAt} ${row.id}`
      return page(call, deps.cursors, { name: 'webhook-endpoints', rows, keyOf }, deps.freshness())
    },
    createWebhookEndpoint: ({ caller, body: { url, eventTypes = [] } }) => {
      const applicationId = applicationOf(caller)
      checkUrl(url, deps.allowLoopback)
      checkTypes(eventTypes)
      if (endpoints.ofApplication(applicationId).length >= ENDPOINTS_MAX) {
        throw new ApiError(
          409,
          'too_many_endpoints',
          `An application has at most ${ENDPOINTS_MAX} endpoints.`,
        )
      }
      const choice = { url, eventTypes, status: 'enabled' } as const
      const endpoint = newEndpoint(applicationId, choice, log.head(), clock.nowMs())
      return {
        body: { ...endpointRow(endpoint), signingSecret: endpoint.secret, secretShownOnce: true },
        commit: () => endpoints.insert(endpoint),
      }
    },
    updateWebhookEndpoint: ({ caller, params, body: { url, eventTypes, status } }) => {
      const endpoint = find(caller, params.endpointId)
      if (url !== undefined) checkUrl(url, deps.allowLoopback)
      checkTypes(eventTypes ?? [])
      return update(endpoint, {
        url: url ?? endpoint.url,
        eventTypes: eventTypes ?? endpoint.eventTypes,
        status: status ?? endpoint.status,
      })
    },
    disableWebhookEndpoint: ({ caller, params }) =>
      update(find(caller, params.endpointId), { status: 'disabled' }),
  } satisfies Partial<WebhookHandlers>
}

function deliveryOperations(deps: WebhookDeps) {
  const { endpoints, deliveries, dispatcher, clock } = deps
  return {
    listWebhookDeliveries: (call) => {
      const rows = deliveries.ofApplication(applicationOf(call.caller))
      // Ascending in this key is newest first.
      const keyOf = ({ number }: { number: number }) => String(1e15 - number)
      const shown = page(call, deps.cursors, { name: 'webhook-deliveries', rows, keyOf }, deps.freshness())
      return { ...shown, items: shown.items.map(deliveryRow) }
    },
    replayWebhookDelivery: ({ caller, params }) => {
      const original = deliveries.find(params.deliveryId)
      if (original?.applicationId !== applicationOf(caller)) throw notFound('webhook delivery of this id')
      if (original.nextAttemptMs !== null) {
        throw new ApiError(409, 'delivery_in_progress', 'This delivery is still being tried.')
      }
      const nowMs = clock.nowMs()
      if (nowMs - original.originalMs > REPLAY_WINDOW_MS) {
        throw new ApiError(409, 'replay_window_passed', 'A delivery can be replayed for 30 days.')
      }
      if (endpoints.find(original.endpointId)?.status !== 'enabled') {
        throw new ApiError(409, 'endpoint_disabled', "The delivery's endpoint is disabled.")
      }
      const { originalMs } = original
      const replay = { ...newDelivery(original, nowMs), replayOf: original.id, originalMs }
      return {
        body: deliveryRow(replay),
        commit: () => deliveries.insert(replay),
        committed: () => dispatcher.send(replay),
      }
    },
  } satisfies Partial<WebhookHandlers>
}

function checkUrl(url: string, allowLoopback: boolean): void {
  if (readReceiverUrl(url, allowLoopback) !== null) return
  throw new ApiError(
    400,
    'invalid_webhook_url',
    'A webhook URL is HTTPS, without credentials, to a public address.',
  )
}

function checkTypes(eventTypes: readonly string[]): void {
  if (eventTypes.every((type) => EVENT_TYPES.has(type))) return
  throw new ApiError(400, 'unknown_event_type', '`eventTypes` names an event type that does not exist.')
}

const iso = (ms: number) => new Date(ms).toISOString()
const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms))

const endpointRow = (endpoint: WebhookEndpoint): z.output<typeof webhookEndpointRow> => ({
  id: endpoint.id,
  applicationId: endpoint.applicationId,
  url: endpoint.url,
  eventTypes: [...endpoint.eventTypes],
  status: endpoint.status,
  createdAt: iso(endpoint.createdMs),
  updatedAt: iso(endpoint.updatedMs),
})

const deliveryRow = (delivery: WebhookDelivery): z.output<typeof webhookDelivery> => ({
  id: delivery.id,
  endpointId: delivery.endpointId,
  eventId: delivery.eventId,
  eventType: delivery.eventType,
  status: delivery.status,
  attempts: delivery.attempts,
  responseStatus: delivery.responseStatus,
  createdAt: iso(delivery.createdMs),
  lastAttemptAt: isoOrNull(delivery.lastAttemptMs),
  nextAttemptAt: isoOrNull(delivery.nextAttemptMs),
  replayOfDeliveryId: delivery.replayOf,
})

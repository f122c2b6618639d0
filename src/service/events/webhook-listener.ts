import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { Clock } from '../../clock.ts'
import { RolekeeperError } from '../../errors.ts'
import { type Assumptions, type EventEnvelope, WEBHOOK_HEADERS } from '../contract/assumptions.ts'
import { createWebhookInbox, type WebhookInbox } from './webhook.ts'

/** No event of the service comes near; a larger body is not read. */
const BODY_BYTES_MAX = 262_144
/** Times {@link BODY_BYTES_MAX}, this is what strangers can make us hold: 16 MiB. */
const CONNECTIONS_MAX = 64
/** A delivery is one small body; a slower sender holds a place that others need. */
const REQUEST_MS = 5_000
/** Node looks for late requests only this often, and by itself every 30 s. */
const LATE_CHECK_MS = 1_000

/** Where deliveries are taken, and by which secrets they are signed. */
type WebhookSettings = {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** The one path, for example `/webhooks`. */
  readonly path: string
  /** The host name that the service calls, as the Host header carries it; our own addresses are always known. */
  readonly publicHost?: string | undefined
  readonly secrets: () => readonly string[]
  /** Where a deployment names its headers otherwise. */
  readonly headers?: Assumptions['webhookHeaders']
}

/** What became of a request, for metrics: a few fixed names. */
export type WebhookOutcome = 'taken' | 'duplicate' | 'not_taken' | `refused_${string}`

/** What the listener is given. */
type WebhookDeps = {
  readonly clock: Pick<Clock, 'nowMs'>
  /** Returns true when it will not forget the event: only then is the delivery acknowledged. */
  readonly onEvent: (event: EventEnvelope) => boolean
  readonly onOutcome: (outcome: WebhookOutcome) => void
}

/** The running listener. */
export type WebhookListener = { readonly url: string; readonly close: () => Promise<void> }

/**
 * Listen for signed webhook deliveries, plain HTTP: TLS ends in front of it. Bodies are never logged.
 * Source: service API, "Webhook delivery".
 * @throws RolekeeperError `webhook.port_in_use` or `webhook.listen`.
 */
export async function startWebhookListener(
  settings: WebhookSettings,
  deps: WebhookDeps,
): Promise<WebhookListener> {
  const { host, port, path } = settings
  const inbox = createWebhookInbox(settings.secrets, deps.clock, deps.onEvent)
  const server = createServer(
    {
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      keepAliveTimeout: REQUEST_MS,
      connectionsCheckingInterval: LATE_CHECK_MS,
    },
    (request, response) => {
      const refused = refusedHead(request, settings)
      if (refused !== undefined) return finish(response, deps, refused)
      void readBody(request).then(
        (body) =>
          finish(
            response,
            deps,
            body === 'too_large' ? TOO_LARGE : take(inbox, request, body, settings.headers),
          ),
        // The sender is gone, or was too slow: there is nobody to answer.
        () => deps.onOutcome('refused_incomplete'),
      )
    },
  )
  server.maxConnections = CONNECTIONS_MAX
  await listen(server, host, port)
  const address = server.address()
  const bound = address !== null && typeof address === 'object' ? address.port : port
  return {
    url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound}${path}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** An answer: its status, and the outcome that is counted. No body: a stranger learns nothing from it. */
type Answer = { readonly status: number; readonly outcome: WebhookOutcome }

const TOO_LARGE: Answer = { status: 413, outcome: 'refused_too_large' }

/** Say what is wrong with a request before its body is read, or undefined. */
function refusedHead(
  { headers, method, url }: IncomingMessage,
  { host, path, publicHost }: WebhookSettings,
): Answer | undefined {
  const name = /^(?:\[(.+)\]|([^:]+))(?::\d+)?$/.exec(headers.host ?? '')
  const asked = name?.[1] ?? name?.[2]
  const known = asked !== undefined && (isIP(asked) !== 0 || ['localhost', host, publicHost].includes(asked))
  if (!known) return { status: 403, outcome: 'refused_host' }
  if (headers.origin !== undefined) return { status: 403, outcome: 'refused_origin' }
  if (url !== path) return { status: 404, outcome: 'refused_path' }
  if (method !== 'POST') return { status: 405, outcome: 'refused_method' }
  if (Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX) return TOO_LARGE
  return undefined
}

async function readBody(request: IncomingMessage): Promise<Buffer | 'too_large'> {
  const chunks: Buffer[] = []
  let length = 0
  // Destroyed, it could not be answered.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) return 'too_large'
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

function take(
  inbox: WebhookInbox,
  { headers }: IncomingMessage,
  body: Buffer,
  names: Assumptions['webhookHeaders'] = WEBHOOK_HEADERS,
): Answer {
  const received = inbox.receive({
    signature: single(headers[names.signature]),
    deliveryId: single(headers[names.deliveryId]),
    body,
  })
  if (received.ok) return { status: received.outcome === 'not_taken' ? 503 : 204, outcome: received.outcome }
  const { check } = received
  const unreadable = ['envelope', 'json_syntax', 'json_depth'].includes(check)
  return { status: unreadable ? 400 : 401, outcome: `refused_${check}` }
}

const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join() : value)

function finish(response: ServerResponse, deps: WebhookDeps, { status, outcome }: Answer): void {
  deps.onOutcome(outcome)
  // What is left of a refused body is not read.
  if (status >= 400) response.setHeader('connection', 'close')
  response.writeHead(status, { 'content-length': 0 }).end()
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(listenError(host, port, cause)))
    server.listen({ host, port }, resolve)
  })
}

function listenError(host: string, port: number, cause: NodeJS.ErrnoException): RolekeeperError {
  const reason = cause.code ?? 'unknown'
  const inUse = reason === 'EADDRINUSE'
  return new RolekeeperError(
    inUse ? 'webhook.port_in_use' : 'webhook.listen',
    `Listening for webhooks on ${host} port ${port} failed (${reason}).`,
    {
      fix: inUse
        ? 'stop the process that holds it, or set another service.webhook.port'
        : 'check service.webhook.host and service.webhook.port',
      facts: { host, port, reason },
      cause,
    },
  )
}

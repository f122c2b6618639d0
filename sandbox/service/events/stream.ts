import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../../src/clock.ts'
import { invariant } from '../../../src/errors.ts'
import { STREAM_QUERY } from '../../../src/service/contract/assumptions.ts'
import type { Transmit } from '../faults/stream-faults.ts'
import { applicationOf } from '../http/access.ts'
import { ApiError, rawFailure } from '../http/api-error.ts'
import type { Handler } from '../http/handler.ts'
import { isLoopbackHost, newRequestId } from '../http/http.ts'
import type { Cursors } from '../http/page.ts'
import { quotaHeaders, type TakeQuota } from '../http/rate-limit.ts'
import { newToken } from '../store.ts'
import type { ApiKeys } from '../tenants/api-keys.ts'
import { type EventLog, eventPlace } from './events.ts'
import { createStreamFeed, type StreamFeed, type StreamFilter } from './stream-feed.ts'

/** Where the WebSocket listens. */
export const STREAM_PATH = '/v1/stream'

const TOKEN_MS = 60_000
const CONNECTIONS_MAX = 100
/** Of types, and of entity keys: more than all roles of a keeper watch together, which are 52; a subject has at most 200 characters. */
const FILTER_MAX = 100
/** Clients have nothing to say on the stream. */
const INCOMING_BYTES_MAX = 1_024

/** What the stream is given. `origins` may open it from a browser. */
export type StreamDeps = {
  readonly log: EventLog
  readonly cursors: Cursors
  readonly clock: Clock
  readonly origins: readonly string[]
  readonly transmit: Transmit
  readonly take: TakeQuota
  readonly keys: Pick<ApiKeys, 'byId' | 'onRevoke'>
}

/** The stream's listener. `close` ends every connection at once. */
export type StreamHub = {
  readonly createStreamToken: Handler<'createStreamToken'>
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  readonly close: () => void
}

/** Whose tokens they are, and when they expire. In memory: a restart ends every connection anyway. */
type Tokens = Map<string, Pick<StreamFilter, 'applicationId' | 'keyId'> & { readonly expiresMs: number }>

/** Serve the log over WebSocket, to holders of a single-use token. */
export function createStreamHub(deps: StreamDeps): StreamHub {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: INCOMING_BYTES_MAX,
  })
  const tokens: Tokens = new Map()
  const feed = createStreamFeed(deps.log, deps.cursors, deps.clock, deps.transmit)
  deps.keys.onRevoke(feed.end)
  return {
    createStreamToken: streamToken(tokens, deps.clock),
    upgrade: (request, socket, head) => {
      // A peer that resets while it is refused must not end the process.
      socket.on('error', () => socket.destroy())
      try {
        const { place, filter } = admit(request, deps, tokens, feed)
        server.handleUpgrade(request, socket, head, (client) => feed.add(client, place, filter))
      } catch (error) {
        const known = error instanceof ApiError
        const failure = known ? error : new ApiError(500, 'internal', 'The service failed inside.')
        socket.end(rawFailure(failure, newRequestId(), quotaHeaders(deps.take('refused'))))
      }
    },
    close: () => {
      feed.close()
      for (const client of server.clients) client.terminate()
      server.close()
    },
  }
}

/** POST /v1/stream-token. Source: service API, "Stream token and event polling". */
function streamToken(tokens: Tokens, clock: Clock): Handler<'createStreamToken'> {
  return ({ host, caller }) => {
    const applicationId = applicationOf(caller)
    const { keyId } = caller
    invariant(keyId !== null, 'a stream token is made with a key')
    const token = newToken('st')
    const nowMs = clock.nowMs()
    const expiresMs = nowMs + TOKEN_MS
    return {
      body: { token, url: `ws://${host}${STREAM_PATH}`, expiresAt: new Date(expiresMs).toISOString() },
      commit: () => {
        for (const [old, its] of tokens) if (its.expiresMs <= nowMs) tokens.delete(old)
        tokens.set(token, { applicationId, keyId, expiresMs })
      },
    }
  }
}

/** Say from where a client is fed and what. Throws ApiError 400, 401, 403 or 429; the token is used up by then. */
function admit(
  request: IncomingMessage,
  { log, cursors, clock, origins, keys }: StreamDeps,
  tokens: Tokens,
  feed: StreamFeed,
): { readonly place: number; readonly filter: StreamFilter } {
  const { origin, host } = request.headers
  if (!isLoopbackHost(host)) throw new ApiError(403, 'host_not_allowed', 'Unknown Host header.')
  if (origin !== undefined && !origins.includes(origin)) {
    throw new ApiError(403, 'origin_not_allowed', 'This origin is not bound to the application.')
  }
  const url = new URL(request.url ?? '/', 'http://stream.invalid')
  if (url.pathname !== STREAM_PATH) throw new ApiError(400, 'not_found', 'There is no such stream.')
  const token = url.searchParams.get(STREAM_QUERY.token) ?? ''
  const admitted = tokens.get(token)
  tokens.delete(token)
  if (admitted === undefined || admitted.expiresMs <= clock.nowMs()) {
    throw new ApiError(401, 'invalid_stream_token', 'The stream token is unknown, used or expired.')
  }
  if (keys.byId(admitted.keyId)?.revokedMs !== null) {
    throw new ApiError(401, 'key_revoked', 'The key that made this stream token was revoked.')
  }
  if (feed.connections() >= CONNECTIONS_MAX) {
    throw new ApiError(429, 'too_many_streams', `At most ${CONNECTIONS_MAX} streams.`, { retryable: true })
  }
  const cursor = url.searchParams.get(STREAM_QUERY.cursor)
  return {
    place: cursor === null ? log.head() : eventPlace(cursors, log, cursor),
    filter: {
      applicationId: admitted.applicationId,
      keyId: admitted.keyId,
      types: listOf(url, STREAM_QUERY.types, /^[A-Za-z0-9._]{1,200}$/),
      subjects: listOf(url, STREAM_QUERY.subjects, /^[\x21-\x2b\x2d-\x7e]{1,200}$/),
    },
  }
}

/** Read a comma-separated filter; null when it is absent. */
function listOf(url: URL, name: string, form: RegExp): ReadonlySet<string> | null {
  const values = url.searchParams.get(name)?.split(',')
  if (values === undefined) return null
  if (values.length > FILTER_MAX || !values.every((value) => form.test(value))) {
    throw new ApiError(400, 'invalid_request', `\`${name}\` is a list of at most ${FILTER_MAX} values.`)
  }
  return new Set(values)
}

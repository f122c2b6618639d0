import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Clock } from '../../clock.ts'
import { STREAM_HEARTBEAT_MS, STREAM_QUERY } from '../../service/assumptions.ts'
import { ApiError, rawFailure } from './api-error.ts'
import { type EventLog, eventCursor, eventPlace, type LoggedEvent } from './events.ts'
import { isLoopbackHost, newRequestId } from './http.ts'
import type { Operation } from './operation.ts'
import type { Cursors } from './page.ts'
import { newToken } from './store.ts'

/** Where the WebSocket listens. */
export const STREAM_PATH = '/v1/stream'

const TOKEN_MS = 60_000
const CONNECTIONS_MAX = 100
const TYPES_MAX = 50
/** A client that reads nothing is let go when this much waits for it. */
const BUFFER_BYTES_MAX = 1_048_576
/** While it catches up, it is given more once less than this waits. */
const CATCH_UP_BYTES = 256 * 1_024
const CATCH_UP_EVENTS = 200
/** Clients have nothing to say on the stream. */
const INCOMING_BYTES_MAX = 1_024

/** The stream's listener. `close` ends every connection at once. */
export type StreamHub = {
  readonly operation: Operation
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  readonly close: () => void
}

/** `live` connections get events as they come; the others read the log until they have caught up. */
type Connection = {
  readonly socket: WebSocket
  /** Null takes every type. */
  readonly types: ReadonlySet<string> | null
  place: number
  live: boolean
  seq: number
}

/** Serve the log over WebSocket: single-use tokens, filter, resume, heartbeats, bounded buffers. */
export function createStreamHub(deps: {
  readonly log: EventLog
  readonly cursors: Cursors
  readonly clock: Clock
  readonly origins: readonly string[]
}): StreamHub {
  const { log, cursors, clock } = deps
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: INCOMING_BYTES_MAX,
  })
  /** In memory: a token lives a minute, and a restart ends every connection anyway. */
  const tokens = new Map<string, number>()
  const connections = new Set<Connection>()
  const stopped = new AbortController()

  log.onAppend((events) => {
    const messages = events.map((event) => ({ event, rest: eventRest(cursors, event) }))
    for (const connection of connections) {
      if (!connection.live) continue
      for (const { event, rest } of messages) {
        if (wants(connection, event)) say(connection, 'event', rest)
      }
    }
  })
  void beat()

  async function beat(): Promise<void> {
    try {
      for (;;) {
        // Half the promised interval, so that a late timer still keeps the promise.
        await clock.sleep(STREAM_HEARTBEAT_MS / 2, stopped.signal)
        const rest = `"at":"${new Date(clock.nowMs()).toISOString()}"`
        for (const connection of connections) say(connection, 'heartbeat', rest)
      }
    } catch {
      // The only way out of the sleep is `close`.
    }
  }

  function say(connection: Connection, type: 'event' | 'heartbeat', rest: string): void {
    if (connection.socket.bufferedAmount > BUFFER_BYTES_MAX) {
      letGo(connection, 'slow_client')
      return
    }
    connection.seq += 1
    connection.socket.send(`{"type":"${type}","seq":${connection.seq},${rest}}`)
  }

  function letGo(connection: Connection, reason: string): void {
    connections.delete(connection)
    connection.live = false
    connection.socket.send(JSON.stringify({ type: 'reset', seq: connection.seq + 1, reason }))
    connection.socket.close(1013, reason)
  }

  function catchUp(connection: Connection): void {
    while (connections.has(connection)) {
      if (connection.place < log.floor()) {
        letGo(connection, 'cursor_expired')
        return
      }
      const events = log.after(connection.place, CATCH_UP_EVENTS)
      if (events.length === 0) {
        connection.live = true
        return
      }
      for (const event of events) {
        if (connection.socket.bufferedAmount > CATCH_UP_BYTES) {
          // Its callback runs when everything before it has left, which is when there is room again.
          connection.socket.ping('', false, () => catchUp(connection))
          return
        }
        if (wants(connection, event)) say(connection, 'event', eventRest(cursors, event))
        connection.place = event.seq
      }
    }
  }

  function admit(request: IncomingMessage): { place: number; types: ReadonlySet<string> | null } {
    const { origin, host } = request.headers
    if (!isLoopbackHost(host)) throw new ApiError(403, 'host_not_allowed', 'Unknown Host header.')
    if (origin !== undefined && !deps.origins.includes(origin)) {
      throw new ApiError(403, 'origin_not_allowed', 'This origin is not bound to the application.')
    }
    const url = new URL(request.url ?? '/', 'http://stream.invalid')
    if (url.pathname !== STREAM_PATH) throw new ApiError(400, 'not_found', 'There is no such stream.')
    const query = url.searchParams
    const token = query.get(STREAM_QUERY.token) ?? ''
    const expiresMs = tokens.get(token) ?? 0
    tokens.delete(token)
    if (expiresMs <= clock.nowMs()) {
      throw new ApiError(401, 'invalid_stream_token', 'The stream token is unknown, used or expired.')
    }
    if (connections.size >= CONNECTIONS_MAX) {
      throw new ApiError(429, 'too_many_streams', `At most ${CONNECTIONS_MAX} streams.`, { retryable: true })
    }
    const cursor = query.get(STREAM_QUERY.cursor)
    return {
      place: cursor === null ? log.head() : eventPlace(cursors, log, cursor),
      types: typesOf(query.get(STREAM_QUERY.types)),
    }
  }

  return {
    operation: {
      method: 'POST',
      path: '/v1/stream-token',
      access: 'secret',
      perform: ({ host }) => {
        const token = newToken('st')
        const expiresMs = clock.nowMs() + TOKEN_MS
        return {
          body: { token, url: `ws://${host}${STREAM_PATH}`, expiresAt: new Date(expiresMs).toISOString() },
          commit: () => {
            for (const [old, oldExpiresMs] of tokens) if (oldExpiresMs <= clock.nowMs()) tokens.delete(old)
            tokens.set(token, expiresMs)
          },
        }
      },
    },
    upgrade: (request, socket, head) => {
      // A peer that resets while it is refused must not end the process.
      socket.on('error', () => socket.destroy())
      try {
        const { place, types } = admit(request)
        server.handleUpgrade(request, socket, head, (client) => {
          const connection: Connection = { socket: client, types, place, live: false, seq: 0 }
          client.on('error', () => client.terminate())
          client.on('close', () => connections.delete(connection))
          connections.add(connection)
          catchUp(connection)
        })
      } catch (error) {
        const failure =
          error instanceof ApiError ? error : new ApiError(500, 'internal', 'The service failed inside.')
        socket.end(rawFailure(failure, newRequestId()))
      }
    },
    close: () => {
      stopped.abort()
      for (const client of server.clients) client.terminate()
      server.close()
    },
  }
}

const wants = (connection: Connection, event: LoggedEvent) =>
  connection.types === null || connection.types.has(event.type)

/** The members of an event message after its `seq`, which differs by connection. Pure. */
const eventRest = (cursors: Cursors, event: LoggedEvent) =>
  `"cursor":"${eventCursor(cursors, event.seq)}","event":${event.envelope}`

function typesOf(list: string | null): ReadonlySet<string> | null {
  if (list === null) return null
  const types = list.split(',')
  if (types.length > TYPES_MAX || !types.every((type) => /^[A-Za-z0-9._]{1,200}$/.test(type))) {
    throw new ApiError(
      400,
      'invalid_request',
      `\`${STREAM_QUERY.types}\` is a list of at most ${TYPES_MAX} event types.`,
    )
  }
  return new Set(types)
}

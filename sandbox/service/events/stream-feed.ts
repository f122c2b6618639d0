import type { WebSocket } from 'ws'
import type { Clock } from '../../../src/clock.ts'
import { STREAM_HEARTBEAT_MS } from '../../../src/service/contract/assumptions.ts'
import type { Transmit } from '../faults/stream-faults.ts'
import type { Cursors } from '../http/page.ts'
import { type EventLog, eventCursor, type LoggedEvent, mayHear } from './events.ts'

/** A client that reads nothing is let go when this much waits for it. */
const BUFFER_BYTES_MAX = 1_048_576
/** While it catches up, it is given more once less than this waits. */
const CATCH_UP_BYTES = 256 * 1_024
const CATCH_UP_EVENTS = 200

/** What a client gets: only what its application may hear, and of that what it asked for. */
export type StreamFilter = {
  readonly applicationId: string
  /** The key that its token was made with. */
  readonly keyId: string
  /** Null is every type. */
  readonly types: ReadonlySet<string> | null
  /** Entity keys; null is every entity. */
  readonly subjects: ReadonlySet<string> | null
}

/** Gives open sockets the log. `close` ends the heartbeats, not the sockets. */
export type StreamFeed = {
  /** Give a socket the events after a place, then those that come. */
  readonly add: (socket: WebSocket, place: number, filter: StreamFilter) => void
  readonly connections: () => number
  /** Let go of the sockets that a key opened. */
  readonly end: (keyId: string) => void
  readonly close: () => void
}

/** `live` connections get events as they come; the others read the log from `place` until they have caught up. */
type Connection = {
  readonly socket: WebSocket
  readonly filter: StreamFilter
  place: number
  live: boolean
  seq: number
}

/** What is said to sockets, and how. */
type Feed = {
  readonly log: EventLog
  readonly cursors: Cursors
  readonly transmit: Transmit
  readonly connections: Set<Connection>
}

/** Feed sockets: filter, resume, heartbeats, bounded buffers. */
export function createStreamFeed(
  log: EventLog,
  cursors: Cursors,
  clock: Clock,
  transmit: Transmit,
): StreamFeed {
  const connections = new Set<Connection>()
  const feed: Feed = { log, cursors, transmit, connections }
  const stopped = new AbortController()

  log.onAppend((events) => {
    const live = [...connections].filter((connection) => connection.live)
    for (const event of events) {
      const rest = eventRest(cursors, event)
      for (const connection of live) if (wants(connection, event)) say(feed, connection, 'event', rest)
    }
  })

  // Half the promised interval, so that a late timer still keeps the promise.
  void repeat(clock, STREAM_HEARTBEAT_MS / 2, stopped.signal, () => {
    const rest = `"at":"${new Date(clock.nowMs()).toISOString()}"`
    for (const connection of connections) say(feed, connection, 'heartbeat', rest)
  })

  return {
    add: (socket, place, filter) => {
      const connection: Connection = { socket, filter, place, live: false, seq: 0 }
      socket.on('error', () => socket.terminate())
      socket.on('close', () => connections.delete(connection))
      connections.add(connection)
      catchUp(feed, connection)
    },
    connections: () => connections.size,
    end: (keyId) => {
      for (const connection of connections) {
        if (connection.filter.keyId === keyId && isOpen(connection)) letGo(feed, connection, 'key_revoked')
      }
    },
    close: () => stopped.abort(),
  }
}

function say(feed: Feed, connection: Connection, type: 'event' | 'heartbeat', rest: string): void {
  // What a closing socket is given waits for ever.
  if (!isOpen(connection)) return
  if (connection.socket.bufferedAmount > BUFFER_BYTES_MAX) {
    letGo(feed, connection, 'slow_client')
    return
  }
  connection.seq += 1
  feed.transmit(connection.socket, `{"type":"${type}","seq":${connection.seq},${rest}}`)
}

function letGo({ connections }: Feed, connection: Connection, reason: string): void {
  connections.delete(connection)
  reset(connection, reason)
}

/** Give a connection what the log has after its place, as fast as it reads; then it is live. */
function catchUp(feed: Feed, connection: Connection): void {
  const { log, cursors } = feed
  while (isOpen(connection)) {
    if (connection.place < log.floor()) {
      letGo(feed, connection, 'cursor_expired')
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
        connection.socket.ping('', false, (error?: Error | null) => {
          if (error == null) catchUp(feed, connection)
        })
        return
      }
      if (wants(connection, event)) say(feed, connection, 'event', eventRest(cursors, event))
      connection.place = event.seq
    }
  }
}

function reset({ socket, seq }: Connection, reason: string): void {
  socket.send(JSON.stringify({ type: 'reset', seq: seq + 1, reason }))
  // 1013 is "Try Again Later" in RFC 6455's registry. Nothing follows it: a closing socket takes no more.
  socket.close(1013, reason)
}

async function repeat(clock: Clock, everyMs: number, signal: AbortSignal, work: () => void): Promise<void> {
  while (!signal.aborted) {
    const slept = await clock.sleep(everyMs, signal).then(
      () => true,
      () => false,
    )
    if (slept) work()
  }
}

const isOpen = ({ socket }: Connection) => socket.readyState === socket.OPEN

const wants = ({ filter: { applicationId, types, subjects } }: Connection, event: LoggedEvent) =>
  mayHear(event, applicationId) &&
  (types === null || types.has(event.type)) &&
  (subjects === null || subjects.has(event.subject))

/** The members of an event message after its `seq`, which differs by connection. Pure. */
const eventRest = (cursors: Cursors, event: LoggedEvent) =>
  `"cursor":"${eventCursor(cursors, event.seq)}","event":${event.envelope}`

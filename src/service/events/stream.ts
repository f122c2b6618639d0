import { WebSocket } from 'ws'
import { z } from 'zod'
import { admit, isPlain } from '../admit.ts'
import { type Assumptions, STREAM_QUERY, type StreamMessage, streamMessage } from '../contract/assumptions.ts'
import { type Call, failureOfReply, failureOfTransport, garbage } from '../failure.ts'
import { readJson } from '../json.ts'

/** A message names what changed, nothing more; ws's own default is 100 MiB. */
const MESSAGE_BYTES_MAX = 262_144
/** The upgrade is one round trip after the handshake. */
const HANDSHAKE_MS = 5_000

/** A message we cannot read: a future type or shape. Its `seq`, where it has one, still counts. */
export type UnreadableMessage = { readonly type: 'unreadable'; readonly seq: number | null }

/** What a stream is asked for: the event types, and the cursor to resume after; null begins now. */
export type StreamRequest = {
  readonly types: readonly string[]
  readonly cursor: string | null
  readonly signal: AbortSignal
}

/** Who listens to a stream. `onClosed` is called once, after the last message. */
export type StreamHandlers = {
  readonly onMessage: (message: StreamMessage | UnreadableMessage) => void
  readonly onClosed: () => void
}

/** An open stream. `close` drops it at once. */
export type StreamConnection = { readonly close: () => void }

/**
 * Check the one URL of a response that is ever used: its host must be the configured one, and TLS must not be lost.
 * @param expected the configured stream or service URL.
 */
export function streamUrl(call: Call, url: string, expected: URL): URL {
  const parsed = URL.parse(url)
  if (parsed === null) throw garbage(call, 'its stream URL is not a URL')
  const secure = expected.protocol === 'https:' || expected.protocol === 'wss:'
  if (parsed.host !== expected.host)
    throw garbage(call, `its stream URL names another host than ${expected.host}`)
  if (parsed.protocol !== (secure ? 'wss:' : 'ws:') || parsed.username !== '' || parsed.password !== '')
    throw garbage(call, `its stream URL is not a plain ${secure ? 'wss' : 'ws'} URL`)
  return parsed
}

/**
 * Connect to the event stream with a token. Resolves when it is open; throws `service.*` errors when it is refused
 * or cannot be reached.
 * @param url as {@link streamUrl} checked it.
 */
export function connectStream(
  url: URL,
  token: string,
  request: StreamRequest,
  handlers: StreamHandlers,
  names: Assumptions['streamQuery'] = STREAM_QUERY,
): Promise<StreamConnection> {
  const call: Call = { host: url.host, method: 'GET', path: url.pathname }
  const target = new URL(url)
  target.searchParams.set(names.token, token)
  if (request.cursor !== null) target.searchParams.set(names.cursor, request.cursor)
  target.searchParams.set(names.types, request.types.join(','))
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(target, {
      maxPayload: MESSAGE_BYTES_MAX,
      // Compression costs memory for each connection, and opens a way for small frames to grow.
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_MS,
      followRedirects: false,
    })
    const onAbort = () => socket.terminate()
    if (request.signal.aborted) onAbort()
    request.signal.addEventListener('abort', onAbort, { once: true })
    socket.on('open', () => resolve({ close: () => socket.terminate() }))
    socket.on('unexpected-response', (upgrade, response) => {
      reject(
        failureOfReply(call, {
          status: response.statusCode ?? 0,
          requestId: String(response.headers['x-request-id'] ?? ''),
          text: '',
        }),
      )
      upgrade.destroy()
    })
    // Rejecting after `open` does nothing; `close` follows every error.
    socket.on('error', (error) => reject(failureOfTransport(call, error)))
    socket.on('message', (data, isBinary) => handlers.onMessage(readMessage(isBinary ? '' : String(data))))
    socket.on('close', () => {
      request.signal.removeEventListener('abort', onAbort)
      reject(failureOfTransport(call, new DOMException('closed', 'AbortError')))
      handlers.onClosed()
    })
  })
}

/** Read one message; whatever is not as we know it is `unreadable`, never an error. Pure. */
export function readMessage(text: string): StreamMessage | UnreadableMessage {
  const json = readJson(text)
  const value = json.ok && (isPlain(text) || admit(json.value, 'message') === null) ? json.value : null
  const message = streamMessage.safeParse(value)
  if (message.success) return message.data
  const numbered = z.object({ seq: z.number().int() }).safeParse(value)
  return { type: 'unreadable', seq: numbered.success ? numbered.data.seq : null }
}

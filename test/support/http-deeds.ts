import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a proxy does to an HTTP request instead of passing it and its answer on. */
export type HttpDeed =
  /** Pass it on this late. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Take the request and say nothing, until the client gives up. */
  | { readonly kind: 'hang' }
  /** Send status and headers, then nothing. */
  | { readonly kind: 'headers_only' }
  /** Send half of the body, then nothing. */
  | { readonly kind: 'half_body' }
  /** Cut the connection; the server never got the request. */
  | { readonly kind: 'drop_before' }
  /** Do what is asked and cut the connection instead of answering. */
  | { readonly kind: 'drop_after' }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterS?: number }
  /** Answer 200 with a page of HTML. */
  | { readonly kind: 'garbage' }

/** Do what comes before the server is asked; true when that ends the request. */
export async function doBefore(deed: HttpDeed, outgoing: ServerResponse): Promise<boolean> {
  switch (deed.kind) {
    case 'delay':
      await sleep(deed.ms)
      return outgoing.destroyed
    case 'hang':
      return true
    case 'drop_before':
      outgoing.destroy()
      return true
    case 'status': {
      const { status, retryAfterS } = deed
      const after = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
      outgoing.writeHead(status, { 'content-type': 'application/json', ...after })
      outgoing.end('{"message":"not now"}')
      return true
    }
    case 'garbage':
      outgoing.writeHead(200, { 'content-type': 'text/html' })
      outgoing.end('<html><body>Welcome to the wireless network</body></html>')
      return true
    default:
      return false
  }
}

/** Answer with what the server said, or with as much of it as the deed lets through. */
export function finish(
  deed: HttpDeed | null,
  outgoing: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  text: string,
): void {
  if (deed?.kind === 'drop_after') {
    outgoing.destroy()
    return
  }
  const { 'transfer-encoding': _chunked, ...kept } = headers
  outgoing.writeHead(status, { ...kept, 'content-length': Buffer.byteLength(text) })
  if (deed?.kind === 'headers_only') outgoing.flushHeaders()
  else if (deed?.kind === 'half_body') outgoing.write(text.slice(0, text.length / 2))
  else outgoing.end(text)
}

/** Read a message whole. */
export async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

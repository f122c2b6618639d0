import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

/** What reached the server. */
type Arrived = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type Answer = (request: Arrived, response: ServerResponse) => void

/** Answer JSON with the headers given. */
export const json = (response: ServerResponse, status: number, value: unknown, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-1', ...headers })
  response.end(typeof value === 'string' ? value : JSON.stringify(value))
}

export const FRESH = { status: 'current', lagSeconds: 0, blockNumber: '10' }

export const collection = (
  items: readonly unknown[],
  nextCursor: string | null = null,
  freshness = FRESH,
) => ({
  items,
  pageInfo: { hasMore: nextCursor !== null, nextCursor },
  freshness,
})

export const failure = (code: string, more: Record<string, unknown> = {}) => ({
  ok: false,
  code,
  message: 'no',
  requestId: 'req-1',
  retryable: false,
  ...more,
})

/** A real HTTP and WebSocket server on loopback that answers as the test says. */
export async function startScripted(answer: Answer) {
  const arrived: Arrived[] = []
  const sockets = new Set<Socket>()
  const streams = inbox<{ socket: WebSocket; query: URLSearchParams }>()
  const script = { answer, refuseUpgrade: 0 }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://x')
      const seen: Arrived = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      arrived.push(seen)
      script.answer(seen, response)
    })
  })
  const wss = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    if (script.refuseUpgrade > 0) {
      socket.end(`HTTP/1.1 ${script.refuseUpgrade} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
      return
    }
    wss.handleUpgrade(request, socket, head, (client) =>
      streams.put({ socket: client, query: new URL(request.url ?? '/', 'http://x').searchParams }),
    )
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    streamUrl: `ws://127.0.0.1:${port}/v1/stream`,
    host: `127.0.0.1:${port}`,
    arrived,
    script,
    streams,
    connections: () => sockets.size,
    close: () =>
      new Promise<void>((resolve) => {
        for (const client of wss.clients) client.terminate()
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

export type Scripted = Awaited<ReturnType<typeof startScripted>>

/** A queue that is awaited instead of polled. */
export function inbox<T>() {
  const kept: T[] = []
  const waiting: ((value: T) => void)[] = []
  return {
    put: (value: T): void => {
      const next = waiting.shift()
      if (next === undefined) kept.push(value)
      else next(value)
    },
    next: (): Promise<T> => {
      const value = kept.shift()
      return value === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(value)
    },
    size: () => kept.length,
  }
}

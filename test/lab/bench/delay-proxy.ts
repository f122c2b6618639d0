import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** One request on its way, as whoever names it sees it. */
export type Passing = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** One request and its answer, by the milliseconds of this process's clock; `endMs` is null while it waits. */
export type Exchange = { readonly name: string; readonly startMs: number; readonly endMs: number | null }

/** A pipe in front of an HTTP server that holds each request back, and writes down when it came and was answered. */
export type DelayProxy = {
  readonly url: string
  /** Everything that passed since the last `forget`, in order of arrival. */
  readonly exchanges: () => readonly Exchange[]
  /** When bytes with a text last came down an upgraded connection first, since the last `forget`. */
  readonly heardMs: () => number | null
  readonly forget: () => void
  readonly stop: () => Promise<void>
}

/** What a proxy does. `hear` is looked for in what the server says on upgraded connections, which are not delayed. */
export type DelayProxySettings = {
  readonly target: string
  readonly delayMs: number
  readonly nameOf: (passing: Passing) => string
  readonly hear?: string
}

/** Longer than any pause between rounds: a connection made anew would be counted as the client's own time. */
const KEEP_ALIVE_MS = 120_000

/** Start a proxy on loopback. Requests go on with their own Host header, which a signature may cover. */
export async function startDelayProxy(settings: DelayProxySettings): Promise<DelayProxy> {
  const { target, delayMs, nameOf, hear } = settings
  const { hostname, port } = new URL(target)
  const agent = new Agent({ keepAlive: true })
  const sockets = new Set<Duplex>()
  let log: { name: string; startMs: number; endMs: number | null }[] = []
  let heardMs: number | null = null

  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const startMs = performance.now()
    const body = await bytesOf(incoming)
    const { method = '', url: path = '', headers } = incoming
    const exchange = { name: nameOf({ method, path, headers, body: String(body) }), startMs, endMs: null }
    const entry: (typeof log)[number] = exchange
    log.push(entry)
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    const outgoing = request({ agent, hostname, port, method, path, headers }, async (answer) => {
      const bytes = await bytesOf(answer)
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      response.end(bytes)
      entry.endMs = performance.now()
    })
    outgoing.on('error', () => response.destroy())
    outgoing.end(body)
  }

  /** Join a stream's two ends, head first. */
  const join = (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    const server: Socket = connect(Number(port), hostname, () => {
      const lines = incoming.rawHeaders.map((text, index) => text + (index % 2 === 0 ? ': ' : '\r\n'))
      server.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('')}\r\n`)
      server.write(head)
      client.pipe(server).pipe(client)
    })
    server.setNoDelay(true)
    server.on('data', (chunk) => {
      if (hear !== undefined && chunk.includes(hear)) heardMs ??= performance.now()
    })
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, response) => {
    handle(incoming, response).catch(() => response.destroy())
  })
  server.on('upgrade', join)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    exchanges: () => log,
    heardMs: () => heardMs,
    forget: () => {
      log = []
      heardMs = null
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
        for (const socket of sockets) socket.destroy()
        agent.destroy()
      }),
  }
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { SERVER_OPTIONS } from '../../sandbox/server-options.ts'

/** One request on its way through a tap. */
export type Tapped = { readonly method: string; readonly path: string; readonly body: string }

/** What a tap does at a request: pass it, or call `act` before it goes on, or after its answer came and is dropped. */
type TapRule = (tapped: Tapped) => { readonly when: 'before' | 'after'; readonly act: () => void } | null

/** A pipe in front of an HTTP server that a test can cut at an exact request. */
export type Tap = {
  readonly url: string
  /** At most one rule; null passes everything. */
  readonly setRule: (rule: TapRule | null) => void
  readonly stop: () => Promise<void>
}

const bodyOf = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

/** Put a tap in front of `target`. Requests go on with their own Host header, which a signature may cover. */
export async function startTap(target: string): Promise<Tap> {
  const { hostname, port } = new URL(target)
  let rule: TapRule | null = null

  const pass = (incoming: IncomingMessage, body: Buffer) =>
    new Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }>((resolve, reject) => {
      const { method, url: path, headers } = incoming
      const outgoing = request({ hostname, port, method, path, headers }, (answer) => {
        bodyOf(answer).then(
          (bytes) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: bytes }),
          reject,
        )
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })

  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await bodyOf(incoming)
    const cut =
      rule?.({ method: incoming.method ?? '', path: incoming.url ?? '', body: body.toString() }) ?? null
    if (cut?.when === 'before') {
      cut.act()
      response.destroy()
      return
    }
    const answer = await pass(incoming, body)
    if (cut !== null) {
      cut.act()
      response.destroy()
      return
    }
    response.writeHead(answer.status, answer.headers)
    response.end(answer.body)
  }

  const server = createServer(SERVER_OPTIONS, (incoming, response) => {
    handle(incoming, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${bound}`,
    setRule: (next) => {
      rule = next
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

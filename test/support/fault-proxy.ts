import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { SERVER_OPTIONS } from '../../sandbox/server-options.ts'
import { bytesOf, doBefore, finish, type HttpDeed } from './http-deeds.ts'
import { listenOnLoopback } from './loopback.ts'

/** One request on its way through a proxy. */
export type Passing = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** What is done to a request: an HTTP deed, or its answer said differently; null passes it. */
type Rule = (
  passing: Passing,
) => HttpDeed | { readonly kind: 'rewrite'; readonly change: (text: string) => string } | null

/** An HTTP server that is as good as the one behind it until a rule says otherwise. */
export type FaultProxy = {
  readonly url: string
  readonly setRule: (rule: Rule | null) => void
  /** Cut every connection and refuse new ones; `up` listens at the same port again. */
  readonly down: () => Promise<void>
  readonly up: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Start a proxy on loopback. Requests go on with their own Host header, which a signature may cover. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const { hostname, port: targetPort } = new URL(target)
  const agent = new Agent({ keepAlive: true })
  let rule: Rule | null = null

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = await bytesOf(incoming)
    const { method = '', url: path = '', headers } = incoming
    const found = rule?.({ method, path, headers, body: String(body) }) ?? null
    const deed = found?.kind === 'rewrite' ? null : found
    if (deed !== null && (await doBefore(deed, outgoing))) return
    const sent = request({ agent, hostname, port: targetPort, method, path, headers })
    sent.end(body)
    const [answer]: IncomingMessage[] = await once(sent, 'response')
    if (answer === undefined) throw new TypeError('the server gave no response')
    const text = String(await bytesOf(answer))
    const said = found?.kind === 'rewrite' ? found.change(text) : text
    finish(deed, outgoing, answer.statusCode ?? 502, answer.headers, said)
  }

  const server = createServer(SERVER_OPTIONS, (incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })
  const upgrades = new Set<Duplex>()
  // A stream is two pipes; what is wrong with it is the server's own to do.
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    const upstream = connect(Number(targetPort), hostname, () => {
      const lines = incoming.rawHeaders.map((text, index) => text + (index % 2 === 0 ? ': ' : '\r\n'))
      upstream.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('')}\r\n`)
      upstream.write(head)
      client.pipe(upstream).pipe(client)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      upgrades.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        upgrades.delete(one)
        other.destroy()
      })
    }
  })
  const close = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    for (const socket of upgrades) socket.destroy()
    await closed
  }
  const port = await listenOnLoopback(server)
  return {
    url: `http://127.0.0.1:${port}`,
    setRule: (next) => {
      rule = next
    },
    down: close,
    up: async () => {
      if (!server.listening) await listenOnLoopback(server, port)
    },
    stop: async () => {
      await close()
      agent.destroy()
    },
  }
}

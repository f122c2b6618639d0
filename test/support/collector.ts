import { once } from 'node:events'
import { createServer } from 'node:http'
import { SERVER_OPTIONS } from '../../sandbox/server-options.ts'

/** A span as OTLP's JSON has it, its attributes flat. */
type ReceivedSpan = {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: number
}

/** A collector on loopback that takes OTLP over HTTP, as JSON. */
export type Collector = {
  readonly url: string
  readonly spans: ReceivedSpan[]
  /** Each body as it came. */
  readonly bodies: string[]
  readonly headers: Record<string, string | string[] | undefined>[]
  readonly resources: Readonly<Record<string, unknown>>[]
  /** Answers nothing, or with 500. */
  fault: 'none' | 'hang' | 'fail'
  readonly close: () => Promise<void>
}

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> }
const flat = (attributes: readonly Attribute[] = []) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

/** Start a collector. */
export async function startCollector(): Promise<Collector> {
  const server = createServer(SERVER_OPTIONS, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (collector.fault === 'hang') return
    collector.headers.push(request.headers)
    const text = Buffer.concat(chunks).toString()
    collector.bodies.push(text)
    if (collector.fault === 'fail') return void response.writeHead(500).end()
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
      collector.resources.push(flat(resource.attributes))
      for (const { spans } of scopeSpans) {
        for (const { name, traceId, spanId, parentSpanId, attributes, status, ...span } of spans) {
          const [startMs, endMs] = [span.startTimeUnixNano, span.endTimeUnixNano].map((nano) =>
            Number(BigInt(nano) / 1_000_000n),
          )
          collector.spans.push({
            name,
            traceId,
            spanId,
            parentSpanId: parentSpanId ?? '',
            attributes: flat(attributes),
            startMs: startMs ?? 0,
            endMs: endMs ?? 0,
            status: status?.code ?? 0,
          })
        }
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const collector: Collector = {
    url: `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}/v1/traces`,
    spans: [],
    bodies: [],
    headers: [],
    resources: [],
    fault: 'none',
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return collector
}

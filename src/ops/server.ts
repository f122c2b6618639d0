import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { RolekeeperError } from '../errors.ts'
import { type Facet, facetKey, failing } from './facet.ts'
import { listening } from './listening.ts'
import { METRICS_TYPE } from './metrics/metrics.ts'
import type { KeeperStatus } from './status.ts'

/** What the pages show. */
type OpsDeps = {
  /** The text of `/metrics`. */
  readonly metrics: () => Promise<string>
  readonly facets: () => readonly Facet[]
  readonly status: () => Promise<KeeperStatus>
}

/** The listener of `/metrics`, `/healthz`, `/readyz` and `/status`. */
export type OpsServer = { readonly url: string; readonly close: () => Promise<void> }

/** A scraper needs one connection; these bound what a stranger on the network can hold open. */
const CONNECTIONS_MAX = 64
const REQUEST_TIMEOUT_MS = 5_000

/**
 * Start the operator's listener: plain pages without authentication, for loopback or a private network.
 * @param port 0 takes a free one.
 * @throws RolekeeperError `ops.port_in_use` or `ops.listen`.
 */
export async function startOpsServer(
  { host, port }: { readonly host: string; readonly port: number },
  deps: OpsDeps,
): Promise<OpsServer> {
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: REQUEST_TIMEOUT_MS,
    },
    (request, response) => {
      answer(request, host, deps).then(
        (page) => send(request, response, page),
        () => send(request, response, text(500, 'internal error')),
      )
    },
  )
  server.maxConnections = CONNECTIONS_MAX
  return listening(server, { host, port }, listenError)
}

type Page = { readonly status: number; readonly type: string; readonly body: string }

const text = (status: number, body: string): Page => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${body}\n`,
})

const json = (status: number, value: object): Page => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(value)}\n`,
})

async function answer(request: IncomingMessage, host: string, deps: OpsDeps): Promise<Page> {
  if (!isOurs(request.headers.host, host, hostname())) return text(403, 'this name is not served here')
  if (request.headers.origin !== undefined) return text(403, 'pages of other sites are not served')
  if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'only GET')
  switch (request.url) {
    case '/metrics':
      return { status: 200, type: METRICS_TYPE, body: await deps.metrics() }
    case '/healthz':
      return text(200, 'alive')
    case '/status':
      return json(200, await deps.status())
    case '/readyz':
      return readiness(deps.facets())
    default:
      return text(404, 'try /metrics, /healthz, /readyz or /status')
  }
}

/** Whether nothing is failing, and the facet that is to be mended first. */
function readiness(facets: readonly Facet[]): Page {
  const [first] = failing(facets)
  const rows = facets.map((facet): [string, object] => {
    const { facet: _, about: _about, sinceMs, ...rest } = facet
    return [facetKey(facet), { ...rest, since: new Date(sinceMs).toISOString() }]
  })
  const cause = first === undefined ? {} : { cause: facetKey(first) }
  const ready = first === undefined
  return json(ready ? 200 : 503, { ready, ...cause, facets: Object.fromEntries(rows) })
}

/** A page of another site can point its own name at this address, but it cannot send ours, nor an address. */
export function isOurs(header: string | undefined, ...hosts: readonly string[]): boolean {
  const name = /^(?:\[(.+)\]|([^:]+))(?::\d+)?$/.exec(header ?? '')
  const asked = name?.[1] ?? name?.[2]
  return asked !== undefined && (isIP(asked) !== 0 || asked === 'localhost' || hosts.includes(asked))
}

function send(request: IncomingMessage, response: ServerResponse, page: Page): void {
  response.writeHead(page.status, {
    'content-type': page.type,
    'content-length': Buffer.byteLength(page.body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(request.method === 'HEAD' ? undefined : page.body)
}

function listenError(host: string, port: number, cause: NodeJS.ErrnoException): RolekeeperError {
  if (cause.code === 'EADDRINUSE') {
    return new RolekeeperError('ops.port_in_use', `Port ${port} on ${host} is in use.`, {
      fix: 'stop the process that holds it, or set another ops.port ("0" takes a free one)',
      facts: { host, port },
      cause,
    })
  }
  const reason = cause.code ?? 'unknown'
  return new RolekeeperError('ops.listen', `Listening on ${host} port ${port} failed (${reason}).`, {
    fix: 'check ops.host and ops.port',
    facts: { host, port, reason },
    cause,
  })
}

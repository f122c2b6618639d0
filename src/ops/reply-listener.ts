import { createServer, type IncomingMessage } from 'node:http'
import { z } from 'zod'
import { RolekeeperError } from '../errors.ts'
import { listening } from './listening.ts'
import { isOurs } from './server.ts'

/** A person's answer as a bot posts it: proven by the person's own key, and by nothing else. */
const reply = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{32}$/),
  verdict: z.enum(['approve', 'reject']),
  /** Of what the person read; 64 hex digits. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string().regex(/^[a-z][a-z0-9-]{0,39}$/),
  signature: z.base64().max(100),
})
export type Reply = z.infer<typeof reply>

/** The running listener. */
type ReplyListener = { readonly url: string; readonly close: () => Promise<void> }

export const REPLIES_PATH = '/replies'
const BODY_BYTES_MAX = 4_096
const CONNECTIONS_MAX = 16
const REQUEST_MS = 5_000

/**
 * Listen for signed answers, plain HTTP: TLS ends in front of it. One that is not proven learns nothing.
 * @param take writes an answer down where it counts; false for one that does not.
 * @throws RolekeeperError `replies.listen`.
 */
export async function startReplyListener(
  {
    host,
    port,
    publicHost,
  }: { readonly host: string; readonly port: number; readonly publicHost?: string | undefined },
  take: (reply: Reply) => boolean,
): Promise<ReplyListener> {
  const server = createServer(
    {
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      keepAliveTimeout: REQUEST_MS,
      connectionsCheckingInterval: REQUEST_MS,
    },
    (request, response) => {
      const end = (status: number) => {
        if (status >= 400) response.setHeader('connection', 'close')
        response.writeHead(status, { 'content-length': 0 }).end()
      }
      const refused = refusedHead(request, publicHost === undefined ? [host] : [host, publicHost])
      if (refused !== null) return end(refused)
      answerTo(request, take).then(end, () => end(500))
    },
  )
  server.maxConnections = CONNECTIONS_MAX
  const { url, close } = await listening(server, { host, port }, listenError)
  return { url: `${url}${REPLIES_PATH}`, close }
}

/** Why a request is refused before its body is read, as a status; null where it is not. */
function refusedHead({ headers, method, url }: IncomingMessage, hosts: readonly string[]): number | null {
  if (!isOurs(headers.host, ...hosts)) return 403
  // A browser has no business here.
  if (headers.origin !== undefined) return 403
  if (url !== REPLIES_PATH) return 404
  if (method !== 'POST') return 405
  return Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX ? 413 : null
}

async function answerTo(request: IncomingMessage, take: (reply: Reply) => boolean): Promise<number> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.length > BODY_BYTES_MAX) return 413
  }
  const found = reply.safeParse(parsed(text))
  if (!found.success) return 400
  return take(found.data) ? 202 : 403
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const listenError = (host: string, port: number, cause: NodeJS.ErrnoException) =>
  new RolekeeperError(
    'replies.listen',
    `Listening for replies on ${host} port ${port} failed (${cause.code ?? 'unknown'}).`,
    { fix: 'check replies.host and replies.port; "0" takes a free one', facts: { host, port }, cause },
  )

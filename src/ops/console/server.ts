import { fastifyCookie } from '@fastify/cookie'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { z } from 'zod'
import { RolekeeperError } from '../../errors.ts'
import { ROLE_NAME } from '../../service/contract/roles.ts'
import type { Log } from '../log.ts'
import { isOurs } from '../server.ts'
import { type Access, createAccess, newSecret, readPlace, type Session, writePlace } from './access.ts'
import { listen, type Where } from './listen.ts'
import { readPages } from './pages.ts'
import { createStreams, type PageParts, STREAMS_MAX, type Streams } from './streams.ts'

const reason = z.string().trim().max(200)

/** What a person does at the page. */
const deed = z.discriminatedUnion('verb', [
  z.strictObject({
    verb: z.enum(['pause', 'resume']),
    /** That role alone; absent: all. */
    role: z.string().regex(ROLE_NAME).optional(),
    reason,
  }),
  z.strictObject({ verb: z.enum(['kill', 'unkill']), reason }),
  z.strictObject({
    verb: z.enum(['approve', 'reject']),
    id: z.string().regex(/^[0-9a-f-]{8,64}$/),
    hash: z.string().regex(/^[0-9a-f]{64}$/),
    reason,
  }),
])
export type Deed = z.infer<typeof deed>

/** What the console shows and does: a keeper, as far as a page may know it. */
export type ConsoleDeps = {
  readonly nowMs: () => number
  readonly monotonicMs: () => number
  readonly read: () => Promise<PageParts>
  /** Why something was done or left, by an id or a part of a subject. */
  readonly why: (about: string) => Promise<unknown>
  /** Do what a person says, as the command line would. @returns what was done. Throws RolekeeperError. */
  readonly act: (deed: Deed, by: string) => Promise<string>
  /** Make a text safe to show, whoever wrote it. */
  readonly clean: (text: string) => string
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** The console's listener. */
export type Console = { readonly url: string; readonly close: () => Promise<void> }

/** Where the console listens, and the directory that its secret is kept in. */
type ListenAddress = Where & { readonly directory: string }

/** A page needs two connections; these bound what a stranger can hold open. */
const CONNECTIONS_MAX = 64
const REQUEST_TIMEOUT_MS = 5_000
/** The largest request is a deed with its reason. */
const BODY_BYTES_MAX = 4_096
const TOKEN_HEADER = 'x-rolekeeper-token'

/** Nothing but our own files runs, and nothing leaves for another host. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/**
 * Start the console: a page that shows what a keeper does, to whoever comes with a link of its directory.
 * @param where port 0 takes the one of the last time, or a free one.
 * @throws RolekeeperError `console.port_in_use`, `console.listen` or `console.not_written`.
 */
export async function startConsole(where: ListenAddress, deps: ConsoleDeps): Promise<Console> {
  const { host, directory } = where
  const known = readPlace(directory)
  const secret = known?.secret ?? newSecret()
  const access = createAccess(secret, deps)
  const clean = createCleaner(deps)
  const write = (part: unknown) =>
    JSON.stringify(part, (_, value: unknown) => (typeof value === 'string' ? clean(value) : value))
  const streams = createStreams({
    nowMs: deps.nowMs,
    monotonicMs: deps.monotonicMs,
    read: deps.read,
    write,
    onFailed: (error) => deps.log.warn('the console could not be read', {}, error),
  })
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: REQUEST_TIMEOUT_MS },
    forceCloseConnections: true,
    exposeHeadRoutes: false,
  })
  app.server.maxConnections = CONNECTIONS_MAX
  const tooMany = createTooMany(deps)
  app.server.on('drop', () => tooMany('connections', CONNECTIONS_MAX))
  // A form of another site can send text, and no JSON.
  app.removeContentTypeParser('text/plain')
  await app.register(fastifyCookie)
  answerWell(app, host, deps)
  app.get('/healthz', async () => 'console\n')
  for (const [path, { type, body }] of readPages()) {
    app.get(path, (_request, reply) => reply.type(type).send(body))
  }
  serveSessions(app, access, streams)
  serveKeeper(app, access, { ...deps, streams, write, tooMany })
  const url = await listen(app, where, known?.url)
  writePlace(directory, { url, secret })
  return {
    url,
    close: async () => {
      streams.close()
      await app.close()
    },
  }
}

/** What was cleaned is cleaned anew after this long: what is secret may be another by then. */
const CLEANED_MS = 10_000

/** Clean each text once: from one reading to the next nearly all are the same, and cleaning them is most of the work. */
function createCleaner({
  clean,
  monotonicMs,
}: Pick<ConsoleDeps, 'clean' | 'monotonicMs'>): ConsoleDeps['clean'] {
  const known = new Map<string, string>()
  let sinceMs = monotonicMs()
  return (text) => {
    if (monotonicMs() - sinceMs > CLEANED_MS) {
      known.clear()
      sinceMs = monotonicMs()
    }
    const before = known.get(text)
    if (before !== undefined) return before
    const cleaned = clean(text)
    known.set(text, cleaned)
    return cleaned
  }
}

/** Judge where a request comes from before anything else, and say of a failure what a person may know. */
function answerWell(app: FastifyInstance, host: string, { log }: Pick<ConsoleDeps, 'log'>): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS)
    const refusal = refusalOf(request, host)
    if (refusal !== null) return reply.code(refusal.status).type('text/plain').send(`${refusal.message}\n`)
  })
  app.setNotFoundHandler((_request, reply) => reply.code(404).type('text/plain').send('not here\n'))
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof RolekeeperError) {
      const { code, shortMessage: message, fix } = error
      return reply.code(409).send({ code, message, fix })
    }
    const status = error instanceof z.ZodError ? 400 : ((error as { statusCode?: number }).statusCode ?? 500)
    if (status >= 500) log.warn('the console failed', {}, error)
    return reply.code(status).send({ code: 'console.refused', message: 'This is not understood.' })
  })
}

/** The one path whose address says anything. */
const ASKS = '/why'

function refusalOf({ headers, method, url }: FastifyRequest, host: string) {
  if (!isOurs(headers.host, host)) return { status: 403, message: 'this name is not served here' }
  const own = `http://${headers.host}`
  const isForeign = headers.origin !== undefined && headers.origin !== own
  const isChange = method !== 'GET'
  if (isForeign || (isChange && headers.origin === undefined))
    return { status: 403, message: 'pages of other sites are not served' }
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  const isOpened = headers['sec-fetch-mode'] === 'navigate' && method === 'GET'
  if (site !== 'same-origin' && !isOpened)
    return { status: 403, message: 'pages of other sites are not served' }
  const [path, query] = url.split('?')
  // What is secret is in a header, a cookie or a body: an address is written down on its way.
  if (query !== undefined && path !== ASKS)
    return { status: 400, message: 'nothing is taken from an address' }
  return null
}

/** Two keepers of one host have a cookie each: browsers tell ports apart in nothing. */
const cookieName = ({ headers }: FastifyRequest) =>
  `rolekeeper-${/:(\d+)$/.exec(headers.host ?? '')?.[1] ?? '80'}`

/** Let people in by a link, and out. */
function serveSessions(app: FastifyInstance, access: Access, { isFull }: Pick<Streams, 'isFull'>): void {
  const shown = (session: Session) => ({
    isFull: isFull(),
    user: session.user,
    untilMs: session.untilMs,
  })
  app.post('/session', (request, reply) => {
    const { key } = z.strictObject({ key: z.string().max(500) }).parse(request.body)
    const session = access.enter(key)
    if (session === null) {
      const message = 'This link was used, is older than ten minutes, or is of before the last start.'
      return reply
        .code(401)
        .send({ code: 'console.link', message, fix: 'ask for another: rolekeeper console' })
    }
    reply.setCookie(cookieName(request), access.cookieOf(session), {
      httpOnly: true,
      sameSite: 'strict',
      path: '/',
      expires: new Date(session.untilMs),
    })
    // Once: a browser sends a cookie to every port of a host, and whoever listens at another could act with it.
    return reply.send({ ...shown(session), token: access.tokenOf(session) })
  })
  app.get('/session', (request, reply) => {
    const session = access.sessionOf(request.cookies[cookieName(request)])
    return session === null ? unknownPerson(reply) : reply.send(shown(session))
  })
  app.delete('/session', (request, reply) =>
    reply.clearCookie(cookieName(request), { path: '/' }).code(204).send(),
  )
}

const unknownPerson = (reply: FastifyReply) =>
  reply.code(401).send({
    code: 'console.no_session',
    message: 'Nobody is signed in here.',
    fix: 'run: rolekeeper console',
  })

type Served = ConsoleDeps & {
  readonly streams: Streams
  readonly write: (part: unknown) => string
  readonly tooMany: (what: string, most: number) => void
}

/** Who opens ten thousand makes no more than a line a minute. */
const TOO_MANY_MS = 60_000

/** Say in the log that more is asked for than there is. */
function createTooMany({ log, monotonicMs }: Pick<ConsoleDeps, 'log' | 'monotonicMs'>): Served['tooMany'] {
  const saidAtMs = new Map<string, number>()
  return (what, most) => {
    if (monotonicMs() - (saidAtMs.get(what) ?? Number.NEGATIVE_INFINITY) < TOO_MANY_MS) return
    saidAtMs.set(what, monotonicMs())
    log.warn('the console is full', { what, most })
  }
}

/** Show the keeper to who is signed in, and do what they say. */
function serveKeeper(
  app: FastifyInstance,
  access: Access,
  { streams, write, why, act, log, tooMany }: Served,
): void {
  const sessionOf = (request: FastifyRequest) => access.sessionOf(request.cookies[cookieName(request)])
  app.get('/events', (request, reply) => {
    const session = sessionOf(request)
    if (session === null) return unknownPerson(reply)
    if (streams.isFull()) {
      tooMany('pages', STREAMS_MAX)
      const message = `${STREAMS_MAX} pages are open, and no more may be.`
      return reply.code(503).send({ code: 'console.too_many', message, fix: 'close one.' })
    }
    const { raw } = reply.hijack()
    raw.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    raw.flushHeaders()
    streams.add(raw, session.untilMs)
    return undefined
  })
  app.get(ASKS, async (request, reply) => {
    if (sessionOf(request) === null) return unknownPerson(reply)
    const { about } = z.strictObject({ about: z.string().min(4).max(400) }).parse(request.query)
    return reply.type('application/json').send(write(await why(about)))
  })
  app.post('/act', async (request, reply) => {
    const session = sessionOf(request)
    if (session === null) return unknownPerson(reply)
    const token = request.headers[TOKEN_HEADER]
    if (typeof token !== 'string' || !access.isToken(session, token)) {
      const message = 'An action carries the token of its session in a header.'
      return reply
        .code(403)
        .send({ code: 'console.no_token', message, fix: 'open another link: rolekeeper console' })
    }
    const done = deed.parse(request.body)
    const by = `console session of ${session.user}`
    const said = await act(done, by)
    log.info('done at the console', { ...done, by })
    return reply.send({ said })
  })
}

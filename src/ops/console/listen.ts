import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { RolekeeperError } from '../../errors.ts'
import { whyNotFree } from '../port-free.ts'

/** An address of this machine; port 0 for any. */
export type Where = { readonly host: string; readonly port: number }

/** Listen; where any port will do, on that of the last time before all, so that open pages find it again. */
export async function listen(
  app: FastifyInstance,
  { host, port }: Where,
  last: string | undefined,
): Promise<string> {
  const lastPort = Number(new URL(last ?? 'http://none:0').port)
  const asked = port === 0 && (await whyNotFree({ host, port: lastPort })) === null ? lastPort : port
  try {
    await app.listen({ host, port: asked })
  } catch (cause) {
    throw listenError(host, asked, cause as NodeJS.ErrnoException)
  }
  const address = app.server.address()
  const bound = address !== null && typeof address === 'object' ? address.port : asked
  // Of a listener on every address, this machine's own is what a person opens.
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${isIP(name) === 6 ? `[${name}]` : name}:${bound}`
}

function listenError(host: string, port: number, cause: NodeJS.ErrnoException): RolekeeperError {
  const facts = { host, port, reason: cause.code ?? 'unknown' }
  if (cause.code === 'EADDRINUSE') {
    return new RolekeeperError('console.port_in_use', `Port ${port} on ${host} is in use.`, {
      fix: 'stop the process that holds it, or set another console.port ("0" takes a free one)',
      facts,
      cause,
    })
  }
  return new RolekeeperError(
    'console.listen',
    `Listening on ${host} port ${port} failed (${facts.reason}).`,
    { fix: 'check console.host and console.port', facts, cause },
  )
}

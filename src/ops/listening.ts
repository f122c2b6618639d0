import type { Server } from 'node:http'
import { isIP } from 'node:net'

/** A server that listens. */
type Listening = { readonly url: string; readonly close: () => Promise<void> }

/** Let a server listen. `close` ends its connections too. Throws what `failed` makes of an error. */
export async function listening(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  failed: (host: string, port: number, cause: NodeJS.ErrnoException) => Error,
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(failed(host, port, cause)))
    server.listen({ host, port }, resolve)
  })
  const address = server.address()
  const bound = address !== null && typeof address === 'object' ? address.port : port
  return {
    url: `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Let a server listen on loopback, at any free port unless one is given. Returns the port. */
export async function listenOnLoopback(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port')
  return address.port
}

/** Find a port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listenOnLoopback(server)
  server.close()
  await once(server, 'close')
  return port
}

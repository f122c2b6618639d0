import { once } from 'node:events'
import { createServer } from 'node:net'

/** Say why nothing could listen there, by the system's own code; null where something could. Port 0 takes any free one. */
export async function whyNotFree({
  host,
  port,
}: {
  readonly host: string
  readonly port: number
}): Promise<string | null> {
  const server = createServer()
  try {
    server.listen({ host, port })
    await once(server, 'listening')
    return null
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  } finally {
    server.close()
  }
}

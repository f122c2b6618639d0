import { Redis } from 'ioredis'
import type { Endpoint } from '../../../config/redis.ts'
import { LineFault } from './faults.ts'

/** A server as messages name it. Pure. */
export const nameOf = ({ host, port, db }: Endpoint): string => `${host}:${port}/${db}`

/** One connection. It ends at the first command without an answer in time, and is never opened again. */
export type Line = {
  /** One more with each line of a link: scripts refuse what comes late on an older one. */
  readonly number: number
  /** Send a command. Throws LineFault. */
  readonly call: (command: string, ...args: readonly (string | number)[]) => Promise<unknown>
  readonly isOpen: () => boolean
  readonly close: () => void
}

/** What a line is opened with. */
type LineOptions = {
  readonly number: number
  /** A command without an answer after this long closes the line, ms. */
  readonly timeoutMs: number
  /** How `CLIENT LIST` shows it. */
  readonly name: string
}

/** Connect, as the user and to the database of an endpoint. Throws LineFault. */
export async function openLine(endpoint: Endpoint, { number, timeoutMs, name }: LineOptions): Promise<Line> {
  const { host, port, db, username, password, ca } = endpoint
  const redis = new Redis({
    host,
    port,
    db,
    username,
    password: password?.(),
    ...(ca === undefined ? {} : { tls: { ca } }),
    connectionName: name,
    lazyConnect: true,
    // A line that ended stays so: what it had under way is rejected, and never sent again behind our back.
    retryStrategy: () => null,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    commandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    // What is not on its way by then shall not be: the same command goes out on the next line.
    disconnectTimeout: 100,
    // The start check looks at more than whether it is loading.
    enableReadyCheck: false,
    // Pushes and maps are nothing to us, and AUTH is the same from Redis 6 on.
    protocol: 2,
    disableClientInfo: true,
    keepAlive: 10_000,
  })
  let failure = ''
  redis.on('error', (error: Error) => {
    failure ||= wordOf(error)
  })
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    throw new LineFault(failure === '' ? wordOf(error) : failure, false)
  }
  let isEnding = false
  const isOpen = () => !isEnding && redis.status === 'ready'
  // Every command that was under way comes to this.
  const close = () => {
    if (!isEnding) redis.disconnect()
    isEnding = true
  }
  return {
    number,
    isOpen,
    close,
    call: async (command, ...args) => {
      if (!isOpen()) throw new LineFault('closed', false)
      try {
        return await redis.call(command, ...args)
      } catch (error) {
        throw faultOf(error, close)
      }
    },
  }
}

/** An answer of the server, or none: then the line is of no more use. */
function faultOf(error: unknown, close: () => void): LineFault {
  if (error instanceof Error && error.name === 'ReplyError') return new LineFault(wordOf(error), false)
  close()
  return new LineFault(wordOf(error), true)
}

/** The first word of an answer, or the code of what the network did; never more: the rest may hold what we sent. Pure. */
function wordOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  if ('code' in error && typeof error.code === 'string') {
    return /CERT|SELF_SIGNED|VERIFY/.test(error.code) ? 'certificate' : error.code
  }
  if (error.message === 'Command timed out') return 'timeout'
  return error.name === 'ReplyError' ? (/^[A-Z]+/.exec(error.message)?.[0] ?? 'error') : 'closed'
}

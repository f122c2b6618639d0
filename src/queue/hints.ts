import { Redis, type RedisOptions } from 'ioredis'
import type { Endpoint } from '../config/redis.ts'
import { RolekeeperError } from '../errors.ts'

/** The Redis that carries wake-ups between instances, and as whom we come. */
export type Carrier = Endpoint & {
  /** The fleet's name: two fleets share no key. */
  readonly fleet: string
}

/** Called where it changes whether wake-ups pass: with what is wrong, or null when nothing is. */
export type OnHealth = (problem: RolekeeperError | null) => void

/** Call once for each change, the first state included; two problems differ by their code. */
export function onChange(onHealth: OnHealth): OnHealth {
  let last: string | null | undefined
  return (problem) => {
    const code = problem?.code ?? null
    if (code === last) return
    last = code
    onHealth(problem)
  }
}

/** The name of a seat's queue: the colons in a shadow seat's name are what BullMQ keeps its keys apart by. Pure. */
export const queueOf = (seat: string): string => seat.replaceAll(':', '.')

/** What every key of BullMQ begins with. Whoever deletes them all costs a fleet latency, and nothing else. Pure. */
export const prefixOf = ({ fleet }: Carrier): string => `{rk:${fleet}}:queue`

/** Open a line. Errors are what its commands answer; why it closed, each time that it does, goes to `onClose`. */
export function openLine(
  carrier: Carrier,
  options: Omit<RedisOptions, 'replyMapping'>,
  onClose: (problem: RolekeeperError) => void,
): Redis {
  const { host, port, db, username, password, ca } = carrier
  const line = new Redis({
    host,
    port,
    db,
    username,
    password: password?.(),
    ...(ca === undefined ? {} : { tls: { ca } }),
    connectTimeout: 2_000,
    // A command of which nobody knows whether it ran is the next wake-up's matter, not the next line's.
    autoResendUnfulfilledCommands: false,
    ...options,
  })
  // A server that refuses the password says so, and closes.
  let why: RolekeeperError | null = null
  line.on('connecting', () => {
    why = null
  })
  // It may have been replaced since the line was opened.
  line.on('reconnecting', () => {
    line.options.password = password?.()
  })
  line.on('error', (error) => {
    why ??= refused(carrier, error)
  })
  line.on('close', () => onClose(why ?? unreachable(carrier)))
  return line
}

const RESCANNED = 'until then all that is due is found by the rescans, a few seconds later.'

const unreachable = ({ host, port }: Carrier): RolekeeperError =>
  new RolekeeperError('queue.unreachable', `Redis at ${host}:${port} takes and gives no wake-ups.`, {
    fix: `check that it runs and can be reached; ${RESCANNED}`,
    retry: 'later',
  })

/** What a server says that answers with an error, as a replica, a full one, or one that wants a password; else null. Pure. */
export function refused(carrier: Carrier, error: unknown): RolekeeperError | null {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return null
  // The text goes on with what was sent.
  const reply = /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR'
  return new RolekeeperError(
    'queue.refused',
    `Redis at ${carrier.host}:${carrier.port} answers wake-ups with ${reply}.`,
    { fix: `mend what \`rolekeeper fleet\` says of it; ${RESCANNED}`, facts: { reply }, retry: 'later' },
  )
}

import { RolekeeperError } from '../errors.ts'

/** Where Redis is, and as whom we come. */
export type Endpoint = {
  readonly host: string
  readonly port: number
  readonly db: number
  readonly username?: string
  /** What it is now: each new connection asks. */
  readonly password?: () => string
  /** PEM of who signed the server's certificate; absent: no TLS. */
  readonly ca?: string
}

/** What goes with the URL of a Redis. */
type Access = Pick<Endpoint, 'username' | 'password' | 'ca'>

/**
 * Read the URL of a Redis: `redis://host:6379/0`, or `rediss:` with TLS. Throws RolekeeperError `journal.redis_url`, which
 * never shows it where it holds a password. Pure.
 */
export function endpointOf(url: string, access: Access = {}): Endpoint {
  if (!URL.canParse(url)) throw badUrl('it is no URL', 'write `redis://host:6379/0`.')
  const { protocol, hostname, port, pathname, username, password, search, hash } = new URL(url)
  if (username !== '' || password !== '') {
    throw badUrl('it holds a user name or a password', 'give them beside the URL, as `env:NAME`.')
  }
  const isTls = protocol === 'rediss:'
  if (!isTls && protocol !== 'redis:')
    throw badUrl('its protocol is neither redis: nor rediss:', 'write `redis://` or `rediss://`.')
  if (hostname === '' || search !== '' || hash !== '')
    throw badUrl('it is more or less than a host', 'write `redis://host:6379/0`.')
  const db = /^\/?(\d{0,5})$/.exec(pathname)?.[1]
  if (db === undefined) throw badUrl('its path is no database', 'end it with the number, as in `/0`.')
  if (isTls && access.ca === undefined)
    throw badUrl('it asks for TLS, and no CA is given', 'give `ca`, the file of who signed its certificate.')
  if (!isTls && access.ca !== undefined)
    throw badUrl('a CA is given, and it asks for no TLS', 'write `rediss://`, or remove `ca`.')
  const host = hostname.replace(/^\[|\]$/g, '')
  return { host, port: port === '' ? 6_379 : Number(port), db: Number(db), ...access }
}

const badUrl = (found: string, fix: string) =>
  new RolekeeperError('journal.redis_url', `The URL of Redis cannot be used: ${found}.`, { fix })

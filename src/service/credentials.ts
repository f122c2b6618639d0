import { RolekeeperError } from '../errors.ts'
import type { Assumptions } from './contract/assumptions.ts'
import type { Asker } from './sender.ts'

/** The keys of one asker: at most one of them, none for operations that are open to anyone. */
export type Keys = {
  /** What it is now, where it may be replaced: each attempt asks. */
  readonly secretKey?: string | (() => string)
  /** A browser's key, presented from an origin that it is bound to. */
  readonly publishableKey?: { readonly key: string; readonly origin: string }
  /** Where the configuration names the key, for error texts; `service.secretKey` when absent. */
  readonly keyPath?: string
}

/**
 * Turn keys into headers. A key that cannot be a header value is refused here, unprinted: RolekeeperError
 * `service.unauthorized`. Source: service API, "Authentication". Pure.
 */
export function askerOf(
  { secretKey, publishableKey, keyPath = 'service.secretKey' }: Keys,
  names: Assumptions['credentialHeaders'],
): Asker {
  const accept = { accept: 'application/json' }
  if (secretKey !== undefined) {
    const now = typeof secretKey === 'string' ? () => secretKey : secretKey
    sendable(now(), 'secret', keyPath)
    return {
      get headers() {
        return { ...accept, authorization: `Bearer ${sendable(now(), 'secret', keyPath)}` }
      },
      keyPath,
      hide: (text) => text.replaceAll(now(), HIDDEN),
    }
  }
  if (publishableKey === undefined) return { headers: accept, keyPath, hide: (text) => text }
  const { key, origin } = publishableKey
  return {
    headers: {
      ...accept,
      [names.publishableKey]: sendable(key, 'publishable', keyPath),
      origin,
    },
    keyPath,
    hide: (text) => text.replaceAll(key, HIDDEN),
  }
}

const HIDDEN = '[key]'

function sendable(key: string, kind: string, keyPath: string): string {
  if (/^[\x21-\x7e]{1,4096}$/.test(key)) return key
  throw new RolekeeperError(
    'service.unauthorized',
    `The ${kind} key is empty or holds a character that no key has.`,
    { fix: `check \`${keyPath}\` for blanks and line ends.` },
  )
}

import type { Address } from 'viem'

/** Who asks, after the credentials were checked. `key` and `wallet` can come together. */
export type Caller = {
  readonly key: 'secret' | 'publishable' | null
  /** The wallet of a live session, lower case. */
  readonly wallet: Address | null
  /** One name a caller, for rate limits and idempotency; holds no secret. */
  readonly id: string
}

/**
 * What an operation asks for. `any`: no credential needed. `key`: a secret or publishable key. `key_or_wallet`: any of
 * the three. `key_and_wallet`: a key and a session. `secret`: a secret key; a publishable key is refused.
 * Source: service API, "Read operations with known shape" and "Authentication".
 */
export type Access = 'any' | 'key' | 'key_or_wallet' | 'key_and_wallet' | 'secret'

/** A request as an operation sees it: credentials, path and query names are already checked. */
export type Call = {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  /** A repeated query parameter keeps all its values. */
  readonly query: Readonly<Record<string, readonly string[]>>
  readonly body: unknown
  /** The checked Host header. */
  readonly host: string
}

/** A read. `query` lists the parameters it takes; any other is refused. */
export type ReadOperation = {
  readonly method: 'GET'
  readonly path: string
  readonly access: Access
  readonly query?: readonly string[]
  readonly answer: (call: Call) => unknown
}

/** The answer to a write, and the effect that is committed together with it, in one database transaction. */
export type Performed = {
  readonly body: unknown
  readonly commit: () => void
  readonly committed?: () => void
}

/** A write. `perform` judges and builds; it changes nothing itself. */
export type WriteOperation = {
  readonly method: 'POST'
  readonly path: string
  readonly access: Access
  readonly perform: (call: Call) => Performed | Promise<Performed>
}

export type Operation = ReadOperation | WriteOperation

import type { Address } from 'viem'
import type {
  OPERATIONS,
  OperationId,
  ParamsOf,
  ParsedBodyOf,
  Scope,
} from '../../../src/service/contract/operations.ts'

/** An event before it has an id and a place. */
export type EventDraft = {
  readonly type: string
  readonly subject: string
  readonly data: Readonly<Record<string, unknown>>
  /** Absent, it is canonical state and everybody's; else only this application's. */
  readonly applicationId?: string
}

/** Who asks, after the credentials were checked. A key and a wallet can come together. */
export type Caller = {
  readonly key: 'secret' | 'publishable' | null
  /** The presented key's, or that of the key which the session was opened beside; null without either. */
  readonly keyId: string | null
  /** What that key carries; empty without one. */
  readonly scopes: ReadonlySet<Scope>
  /** The application that the key, or the session, belongs to; null for anyone. */
  readonly applicationId: string | null
  /** The wallet of a live session, lower case. */
  readonly wallet: Address | null
  /** The key's id (or the session's application's) and the wallet: for rate limits, idempotency and the audit log. */
  readonly id: string
}

/** A request whose credentials, query names and body are already checked against the catalogue. */
export type AnyCall = {
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  /** A repeated query parameter keeps all its values. */
  readonly query: Readonly<Record<string, readonly string[]>>
  /** The checked Host header. */
  readonly host: string
  readonly requestId: string
}

/** A request to one operation. */
export type Call<Id extends OperationId> = Omit<AnyCall, 'params'> & {
  readonly params: ParamsOf<Id>
  readonly body: ParsedBodyOf<Id>
}

/** The answer to a write, and the effect that is committed together with it, in one database transaction. */
export type Performed = {
  readonly body: unknown
  /** The application that a caller of none has made: the audit log is its own. */
  readonly applicationId?: string
  /** Logged in the same transaction. */
  readonly events?: readonly EventDraft[]
  readonly commit: () => void
  readonly committed?: () => void
}

/** A read answers a body or a page; a write judges and builds, and changes nothing itself. */
export type Handler<Id extends OperationId> = (typeof OPERATIONS)[Id]['changes'] extends true
  ? (call: Call<Id>) => Performed | Promise<Performed>
  : (call: Call<Id>) => unknown

/** What answers each operation. */
export type Handlers = { readonly [Id in OperationId]: Handler<Id> }

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Scope } from '../../../src/service/contract/operations.ts'
import { newToken, type Store } from '../store.ts'
import { type Application, readScopes } from './applications.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS api_keys (
  id TEXT PRIMARY KEY, application_id TEXT NOT NULL, kind TEXT NOT NULL, token_hash TEXT NOT NULL UNIQUE,
  redacted_token TEXT NOT NULL, scopes TEXT NOT NULL, origins TEXT NOT NULL, rotated_from TEXT,
  created_ms INTEGER NOT NULL, revoked_ms INTEGER) STRICT;
CREATE INDEX IF NOT EXISTS api_keys_application ON api_keys (application_id);
`

const kind = z.enum(['publishable', 'secret'])
const origins = z.array(z.string())

/** A key without its token, which nobody can read back. */
export type ApiKey = {
  readonly id: string
  readonly applicationId: string
  readonly kind: z.infer<typeof kind>
  /** Its prefix and last four characters. */
  readonly redactedToken: string
  readonly scopes: readonly Scope[]
  /** Scheme, host and port; empty for a secret key. */
  readonly origins: readonly string[]
  readonly rotatedFromKeyId: string | null
  readonly createdMs: number
  /** Null while it is valid. */
  readonly revokedMs: number | null
}

/** Keys on disk. Writes are made inside the caller's transaction. */
export type ApiKeys = {
  /** The key of a token, revoked or not; null when there is none. */
  readonly find: (token: string) => ApiKey | null
  readonly byId: (id: string) => ApiKey | null
  /** Oldest first, revoked ones too. */
  readonly ofApplication: (applicationId: string) => readonly ApiKey[]
  /** Whether a valid publishable key of anyone is bound to an origin. */
  readonly isBound: (origin: string) => boolean
  /** Keep a key by the hash of its token. */
  readonly insert: (key: ApiKey, token: string) => void
  /** Returns whether it was valid until now. */
  readonly revoke: (id: string, nowMs: number) => boolean
  /** Hear the id of each key that is revoked, in the transaction that does it. */
  readonly onRevoke: (listener: (id: string) => void) => void
}

/** Open the keys in the store. */
export function createApiKeys(store: Store): ApiKeys {
  const { db } = store
  db.exec(SCHEMA)
  const byHash = db.prepare('SELECT * FROM api_keys WHERE token_hash = ?')
  const byId = db.prepare('SELECT * FROM api_keys WHERE id = ?')
  const ofApplication = db.prepare('SELECT * FROM api_keys WHERE application_id = ? ORDER BY rowid')
  const bound = db.prepare(
    'SELECT 1 FROM api_keys, json_each(origins) AS origin WHERE revoked_ms IS NULL AND origin.value = ?',
  )
  const insert = db.prepare('INSERT INTO api_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const revoke = db.prepare('UPDATE api_keys SET revoked_ms = ? WHERE id = ? AND revoked_ms IS NULL')
  const listeners: ((id: string) => void)[] = []
  const one = (row: Readonly<Record<string, unknown>> | undefined) => (row === undefined ? null : apiKey(row))
  return {
    find: (token) => one(byHash.get(store.hash(token))),
    byId: (id) => one(byId.get(id)),
    ofApplication: (applicationId) => ofApplication.all(applicationId).map(apiKey),
    isBound: (origin) => bound.get(origin) !== undefined,
    insert: (key, token) => {
      const [scopes, origins] = [JSON.stringify(key.scopes), JSON.stringify(key.origins)]
      const { id, applicationId, redactedToken, rotatedFromKeyId, createdMs, revokedMs } = key
      insert.run(
        ...([id, applicationId, key.kind, store.hash(token), redactedToken, scopes, origins] as const),
        ...([rotatedFromKeyId, createdMs, revokedMs] as const),
      )
    },
    revoke: (id, nowMs) => {
      const revoked = revoke.run(nowMs, id).changes === 1
      if (revoked) for (const listener of listeners) listener(id)
      return revoked
    },
    onRevoke: (listener) => {
      listeners.push(listener)
    },
  }
}

/** Draw a key for an application, and the token that is shown once. */
export function newApiKey(
  { id, environment }: Pick<Application, 'id' | 'environment'>,
  wanted: Pick<ApiKey, 'kind' | 'scopes' | 'origins' | 'rotatedFromKeyId'>,
  nowMs: number,
): { readonly key: ApiKey; readonly token: string } {
  const token = newToken(`${wanted.kind === 'secret' ? 'sk' : 'pk'}_${environment}`)
  return {
    key: {
      ...wanted,
      id: `key_${randomUUID()}`,
      applicationId: id,
      redactedToken: redacted(token),
      createdMs: nowMs,
      revokedMs: null,
    },
    token,
  }
}

/** Shorten a token so that its owner knows it again and nobody can use it. Pure. */
export const redacted = (token: string) =>
  `${/^[a-z]+_[a-z]+_/.exec(token)?.[0] ?? ''}…${token.length > 20 ? token.slice(-4) : ''}`

const apiKey = (row: Readonly<Record<string, unknown>>): ApiKey => ({
  id: String(row.id),
  applicationId: String(row.application_id),
  kind: kind.parse(row.kind),
  redactedToken: String(row.redacted_token),
  scopes: readScopes(row.scopes),
  origins: origins.parse(JSON.parse(String(row.origins))),
  rotatedFromKeyId: row.rotated_from === null ? null : String(row.rotated_from),
  createdMs: Number(row.created_ms),
  revokedMs: row.revoked_ms === null ? null : Number(row.revoked_ms),
})

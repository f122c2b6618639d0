import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS idempotency (
  caller TEXT NOT NULL, key TEXT NOT NULL, application_id TEXT, request_hash TEXT NOT NULL,
  process TEXT NOT NULL, status INTEGER, answer BLOB, at_ms INTEGER NOT NULL, PRIMARY KEY (caller, key)) STRICT;
CREATE INDEX IF NOT EXISTS idempotency_at ON idempotency (at_ms);
CREATE INDEX IF NOT EXISTS idempotency_application ON idempotency (application_id);
CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, subject TEXT NOT NULL, application_id TEXT,
  envelope TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS challenges (
  id TEXT PRIMARY KEY, address TEXT NOT NULL, message TEXT NOT NULL, expires_ms INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS wallet_sessions (
  token_hash TEXT PRIMARY KEY, address TEXT NOT NULL, key_id TEXT, expires_ms INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS workflows (
  request_id TEXT PRIMARY KEY, workflow_type TEXT NOT NULL, application_id TEXT, principal TEXT,
  status TEXT NOT NULL, intents INTEGER NOT NULL, postconditions TEXT NOT NULL, created_ms INTEGER NOT NULL,
  failed_block INTEGER) STRICT;
CREATE INDEX IF NOT EXISTS workflows_application ON workflows (application_id);
CREATE INDEX IF NOT EXISTS workflows_created ON workflows (created_ms);
CREATE INDEX IF NOT EXISTS workflows_status ON workflows (status, created_ms);
CREATE TABLE IF NOT EXISTS transactions (
  request_id TEXT NOT NULL, intent_order INTEGER NOT NULL, hash TEXT NOT NULL, status TEXT NOT NULL,
  block_number TEXT, PRIMARY KEY (request_id, intent_order, hash)) STRICT;
CREATE INDEX IF NOT EXISTS transactions_hash ON transactions (hash);
CREATE TABLE IF NOT EXISTS messages (
  id TEXT PRIMARY KEY, application_id TEXT, wallet TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT NULL,
  created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS service_records (
  kind TEXT NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL, status TEXT NOT NULL, wallet TEXT NOT NULL,
  at_ms INTEGER NOT NULL, PRIMARY KEY (kind, key)) STRICT;
`

/** The service's control state on disk, and the secrets' one-way and two-way forms. */
export type Store = {
  readonly db: DatabaseSync
  /** Run `work` in one transaction; what it throws rolls back. */
  readonly atomically: (work: () => void) => void
  /** Name a secret so that it can be found again and not read back. 64 hex digits. */
  readonly hash: (secret: string) => string
  /** Encrypt an answer that may hold a token, so that the file alone does not give it away. */
  readonly seal: (text: string) => Buffer
  readonly open: (sealed: Uint8Array) => string
  /** Authenticate a cursor. Base64url, 16 bytes. */
  readonly sign: (text: string) => string
  readonly close: () => void
}

const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Open the control state at `file`, creating it when absent.
 * @param secret what the keys that hash, seal and sign derive from; another secret makes stored answers unreadable.
 */
export function openStore(file: string, secret: string): Store {
  const db = new DatabaseSync(file)
  // It survives the death of the process. A power loss may cost it, as it costs the sandbox its chain: to wait for the disk
  // would hold up service, nodes and KMS alike, by seconds on a machine that has just installed its packages.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 2000;')
  db.exec(SCHEMA)
  const derive = (purpose: string) =>
    createHmac('sha256', secret).update(`sandbox service: ${purpose}`).digest()
  const sealKey = derive('seal')
  const hashKey = derive('hash')
  const signKey = derive('sign')
  return {
    db,
    atomically: (work) => {
      db.exec('BEGIN IMMEDIATE')
      try {
        work()
        db.exec('COMMIT')
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
    },
    hash: (text) => createHmac('sha256', hashKey).update(text).digest('hex'),
    seal: (text) => {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', sealKey, iv)
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed])
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed)
      const decipher = createDecipheriv('aes-256-gcm', sealKey, bytes.subarray(0, IV_BYTES))
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    },
    sign: (text) => createHmac('sha256', signKey).update(text).digest().subarray(0, 16).toString('base64url'),
    close: () => db.close(),
  }
}

/** Hash bytes for comparison. 64 hex digits. Pure. */
export const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Draw a token that cannot be guessed. */
export const newToken = (prefix: string) => `${prefix}_${randomBytes(24).toString('hex')}`

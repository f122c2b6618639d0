import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RolekeeperError } from '../errors.ts'

const VERSION = 1

const SCHEMA = `
  CREATE TABLE workflows (
    id TEXT PRIMARY KEY, opportunity TEXT NOT NULL, round INTEGER NOT NULL, live INTEGER NOT NULL,
    version INTEGER NOT NULL, created_at_ms INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (opportunity, round)
  ) STRICT;
  CREATE INDEX workflows_live ON workflows (live, created_at_ms);
  CREATE TABLE transitions (
    workflow_id TEXT NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (workflow_id, seq)
  ) STRICT;
  CREATE TABLE signers (
    chain_id INTEGER NOT NULL, signer TEXT NOT NULL, next_nonce INTEGER NOT NULL, PRIMARY KEY (chain_id, signer)
  ) STRICT;
  CREATE TABLE nonces (
    chain_id INTEGER NOT NULL, signer TEXT NOT NULL, nonce INTEGER NOT NULL, workflow_id TEXT NOT NULL,
    PRIMARY KEY (chain_id, signer, nonce)
  ) STRICT;
  CREATE TABLE digests (digest TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE reservations (
    workflow_id TEXT PRIMARY KEY, role TEXT NOT NULL, at_ms INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX reservations_by_role ON reservations (role, at_ms);
  CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE outbox (hash TEXT PRIMARY KEY, due_at_ms INTEGER, body TEXT NOT NULL) STRICT;
  CREATE TABLE values_by_key (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
`

const fileOf = (directory: string) => join(directory, 'journal.sqlite')

/** Open the database of a directory for reading, beside the process that writes it. Throws `journal.absent`. */
export function readDatabase(directory: string): DatabaseSync {
  try {
    return new DatabaseSync(fileOf(directory), { readOnly: true })
  } catch (cause) {
    throw new RolekeeperError('journal.absent', `There is no journal in ${directory}.`, {
      fix: 'name the directory of a keeper that has run, with --directory.',
      cause,
    })
  }
}

/**
 * Open (or create) the database of a directory that this process has locked. WAL with `synchronous=FULL`: a commit
 * returns after fsync. Throws RolekeeperError `journal.version` for one of a newer release.
 */
export function openDatabase(directory: string): DatabaseSync {
  const db = new DatabaseSync(fileOf(directory))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000;')
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
  if (version > VERSION) {
    db.close()
    throw new RolekeeperError(
      'journal.version',
      `The journal in ${directory} has version ${version}; this release reads up to ${VERSION}.`,
      { fix: 'run the release that wrote it, or a newer one.' },
    )
  }
  if (version === 0) db.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${VERSION}; COMMIT;`)
  return db
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RolekeeperError } from '../../errors.ts'
import { withoutRecords } from '../directory/presence.ts'
import { damaged, diskFault } from '../faults.ts'

/** What makes each version out of the one before; a new journal takes every step. */
const STEPS = [
  `
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
  `,
  // What is asked for has an index, so that no read costs more the longer a keeper has run; what the archive holds leaves
  // its opportunity behind; and a quarantined workflow whose nonces are open is followed like any other.
  `
  ALTER TABLE workflows ADD COLUMN role TEXT NOT NULL DEFAULT '';
  ALTER TABLE workflows ADD COLUMN state TEXT NOT NULL DEFAULT '';
  UPDATE workflows SET role = json_extract(body, '$.role'), state = json_extract(body, '$.state');
  UPDATE workflows SET state = 'in_flight', live = 1, body = json_set(body, '$.state', 'in_flight', '$.quarantined',
    json_object('atMs', json_extract(body, '$.updatedAtMs'), 'note', json_extract(body, '$.note')))
    WHERE state = 'quarantined'
      AND EXISTS (SELECT 1 FROM json_each(body, '$.slots') WHERE json_extract(value, '$.state') <> 'final');
  DROP INDEX workflows_live;
  CREATE INDEX workflows_live ON workflows (created_at_ms) WHERE live = 1;
  CREATE INDEX workflows_by_age ON workflows (created_at_ms);
  CREATE INDEX workflows_by_role ON workflows (role, created_at_ms);
  CREATE INDEX workflows_shadowed ON workflows (created_at_ms) WHERE state = 'shadowed';
  CREATE INDEX outbox_due ON outbox (due_at_ms) WHERE due_at_ms IS NOT NULL;
  CREATE TABLE archived (
    opportunity TEXT PRIMARY KEY, round INTEGER NOT NULL, workflow_id TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // No unsigned transaction names its sender: two keys that order the same at one nonce have one digest. And what is
  // archived holds no request any more.
  `
  ALTER TABLE digests RENAME TO digests_of_any;
  CREATE TABLE digests (
    digest TEXT NOT NULL, signer TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (digest, signer)
  ) STRICT;
  INSERT INTO digests SELECT digest, lower(json_extract(body, '$.signer')), body FROM digests_of_any;
  DROP TABLE digests_of_any;
  DELETE FROM values_by_key WHERE substr(key, 1, 8) = 'request:' AND value NOT IN (SELECT id FROM workflows);
  `,
]

const ARCHIVE_STEPS = [
  `
  CREATE TABLE workflows (
    id TEXT PRIMARY KEY, role TEXT NOT NULL, state TEXT NOT NULL, created_at_ms INTEGER NOT NULL, body TEXT NOT NULL,
    transitions TEXT NOT NULL
  ) STRICT;
  CREATE INDEX workflows_by_age ON workflows (created_at_ms);
  CREATE INDEX workflows_by_role ON workflows (role, created_at_ms);
  CREATE INDEX workflows_shadowed ON workflows (created_at_ms) WHERE state = 'shadowed';
  CREATE TABLE nonces (
    chain_id INTEGER NOT NULL, signer TEXT NOT NULL, nonce INTEGER NOT NULL, workflow_id TEXT NOT NULL,
    PRIMARY KEY (chain_id, signer, nonce)
  ) STRICT, WITHOUT ROWID;
  `,
]

/** What signers had and what moved it, a file of its own: it is read whole, by people, and nothing waits for it. */
const ACCOUNTS_STEPS = [
  `
  CREATE TABLE pages (
    chain_id INTEGER NOT NULL, signer TEXT NOT NULL, to_block INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (chain_id, signer, to_block)
  ) STRICT;
  CREATE TABLE forgotten (role TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) STRICT;
  `,
  // What became of what was expected, once that is decided, and of which pages something is not.
  `
  CREATE TABLE cases (
    id INTEGER PRIMARY KEY, chain_id INTEGER NOT NULL, signer TEXT NOT NULL, role TEXT NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX cases_by_signer ON cases (chain_id, signer, role);
  CREATE TABLE undecided (
    chain_id INTEGER NOT NULL, signer TEXT NOT NULL, role TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (chain_id, signer, role)
  ) STRICT;
  `,
]

/** The journal's file in a directory. Pure. */
export const journalFile = (directory: string) => join(directory, 'journal.sqlite')

/** The archive's file in a directory. Pure. */
export const archiveFile = (directory: string) => join(directory, 'archive.sqlite')

/** The accounts' file in a directory. Pure. */
export const accountsFile = (directory: string) => join(directory, 'accounts.sqlite')

/** Whether accounts were opened in a directory. */
export const hasAccounts = (directory: string): boolean => existsSync(accountsFile(directory))

/** Whether anything of a directory was archived. */
export const hasArchive = (directory: string): boolean => existsSync(archiveFile(directory))

/**
 * Open the database of a directory for reading, beside the process that writes it. Throws `journal.absent`, `journal.lost`, and
 * `journal.version` for one of another release.
 */
export function readDatabase(directory: string): DatabaseSync {
  return ofThisRelease(openToRead(directory), STEPS, directory)
}

function ofThisRelease(db: DatabaseSync, steps: readonly string[], directory: string): DatabaseSync {
  const version = versionOf(db)
  if (version === steps.length) return db
  db.close()
  const what = steps === STEPS ? 'journal' : 'accounts'
  throw new RolekeeperError(
    'journal.version',
    `The ${what} in ${directory} has version ${version}; this release reads ${steps.length}.`,
    {
      fix: 'start the keeper once with this release, which brings it up to date, or use the release that wrote it.',
    },
  )
}

function openToRead(directory: string): DatabaseSync {
  try {
    return new DatabaseSync(journalFile(directory), { readOnly: true })
  } catch (cause) {
    throw withoutRecords('journal', directory, cause)
  }
}

const versionOf = (db: DatabaseSync) => Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)

/** Open the archive of a directory for reading; null where nothing was archived yet. */
export const readArchiveDatabase = (directory: string): DatabaseSync | null =>
  hasArchive(directory) ? new DatabaseSync(archiveFile(directory), { readOnly: true }) : null

/** Open the accounts of a directory for reading. Throws `journal.corrupt`, and `journal.version` for those of another release. */
export function readAccountsDatabase(directory: string): DatabaseSync {
  const file = accountsFile(directory)
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    checkWhole(db, file)
    if (versionOf(db) === 0) throw damaged(file, 'it holds nothing')
  } catch (cause) {
    db.close()
    throw diskFault(cause, file) ?? cause
  }
  return ofThisRelease(db, ACCOUNTS_STEPS, directory)
}

/**
 * Open (or create) the database of a directory that this process has locked, bring an older version to today's, and
 * check that it is whole. Throws RolekeeperError `journal.version` for one of a newer release, `journal.corrupt` for one
 * that is damaged, `journal.archive_missing`, and `journal.failed` where the disk does not take it.
 */
export function openDatabase(directory: string): DatabaseSync {
  const db = openFile(journalFile(directory), STEPS)
  try {
    const archived = db.prepare('SELECT 1 FROM archived LIMIT 1').get() !== undefined
    if (archived && !hasArchive(directory)) {
      throw new RolekeeperError(
        'journal.archive_missing',
        `The journal in ${directory} has workflows in archive.sqlite, which is not there.`,
        { fix: 'put archive.sqlite back beside journal.sqlite, from the same backup or a newer one.' },
      )
    }
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Open (or create) the archive of a directory that this process has locked. Throws as {@link openDatabase} does. */
export const openArchiveDatabase = (directory: string): DatabaseSync =>
  openFile(archiveFile(directory), ARCHIVE_STEPS, false)

/** Open (or create) the accounts of a directory that this process has locked. Throws as {@link openDatabase} does. */
export const openAccountsDatabase = (directory: string): DatabaseSync =>
  openFile(accountsFile(directory), ACCOUNTS_STEPS)

/** A commit is in the log, and on disk after the next barrier. The archive grows for years, and is not read through. */
function openFile(file: string, steps: readonly string[], checked = true): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 2000;')
    // Its writer has a thread for that.
    db.exec('PRAGMA wal_autocheckpoint = 0')
    if (checked) checkWhole(db, file)
    migrate(db, file, steps)
    return db
  } catch (cause) {
    db?.close()
    throw diskFault(cause, file) ?? cause
  }
}

function migrate(db: DatabaseSync, file: string, steps: readonly string[]): void {
  const version = versionOf(db)
  if (version > steps.length) {
    throw new RolekeeperError(
      'journal.version',
      `The journal ${file} has version ${version}; this release reads up to ${steps.length}.`,
      { fix: 'run the release that wrote it, or a newer one.' },
    )
  }
  const missing = steps.slice(version)
  if (missing.length === 0) return
  db.exec('BEGIN IMMEDIATE')
  for (const step of missing) db.exec(step)
  db.exec(`PRAGMA user_version = ${steps.length}; COMMIT;`)
}

/** Read every page once: terminals leave for the archive, so what is read here does not grow with the years. */
function checkWhole(db: DatabaseSync, file: string): void {
  const found = String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check)
  if (found !== 'ok') throw damaged(file, found)
}

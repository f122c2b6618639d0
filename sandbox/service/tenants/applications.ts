import type { Address } from 'viem'
import { z } from 'zod'
import { SCOPES, type Scope } from '../../../src/service/contract/operations.ts'
import type { Store } from '../store.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS organizations (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, owner TEXT, created_ms INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS organizations_created ON organizations (created_ms);
CREATE TABLE IF NOT EXISTS applications (
  id TEXT PRIMARY KEY, organization_id TEXT NOT NULL, environment TEXT NOT NULL, slug TEXT NOT NULL,
  name TEXT NOT NULL, scopes TEXT NOT NULL, created_ms INTEGER NOT NULL, reset_ms INTEGER,
  UNIQUE (organization_id, slug)) STRICT;
CREATE TABLE IF NOT EXISTS access_requests (
  id TEXT PRIMARY KEY, organization_id TEXT NOT NULL, application_id TEXT NOT NULL, scopes TEXT NOT NULL,
  use_case TEXT NOT NULL, status TEXT NOT NULL, requested_ms INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS access_requests_organization ON access_requests (organization_id);
`

const environment = z.enum(['test', 'live'])
const storedScopes = z.array(z.enum(SCOPES))

/** Read scopes as the store holds them. Pure. */
export const readScopes = (text: unknown): readonly Scope[] => storedScopes.parse(JSON.parse(String(text)))

/** What an organization runs against the service; keys, workflows, webhooks, usage and the audit log are its own. */
export type Application = {
  readonly id: string
  readonly organizationId: string
  readonly environment: z.infer<typeof environment>
  /** One of its kind in the organization. */
  readonly slug: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdMs: number
  /** When its control state was last reset; null before. */
  readonly resetMs: number | null
}

/** What a reviewer decides on. */
type AccessRequest = {
  readonly id: string
  readonly application: Application
  readonly scopes: readonly Scope[]
  readonly useCase: string
  readonly requestedMs: number
}

/** Organizations and their applications on disk. Writes are made inside the caller's transaction. */
export type Applications = {
  readonly insertOrganization: (organization: { id: string; name: string; createdMs: number }) => void
  readonly organizationsSince: (ms: number) => number
  readonly insert: (application: Application) => void
  readonly find: (id: string) => Application | null
  /** Oldest first. */
  readonly ofOrganization: (organizationId: string) => readonly Application[]
  /** Returns whether the organization had no owner before. */
  readonly claim: (organizationId: string, wallet: Address) => boolean
  readonly markReset: (id: string, nowMs: number) => void
  readonly requestAccess: (request: AccessRequest) => void
  /** Returns whether there is such a request. */
  readonly reviewAccess: (id: string, status: 'approved' | 'rejected') => boolean
  /** What the organization's live applications may hold. */
  readonly approvedScopes: (organizationId: string) => ReadonlySet<Scope>
}

/** Open organizations and applications in the store. */
export function createApplications({ db }: Store): Applications {
  db.exec(SCHEMA)
  const insertOrganization = db.prepare('INSERT INTO organizations VALUES (?, ?, NULL, ?)')
  const since = db.prepare('SELECT count(*) AS n FROM organizations WHERE created_ms > ?')
  const insert = db.prepare('INSERT INTO applications VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const find = db.prepare('SELECT * FROM applications WHERE id = ?')
  const ofOrganization = db.prepare('SELECT * FROM applications WHERE organization_id = ? ORDER BY rowid')
  const claim = db.prepare('UPDATE organizations SET owner = ? WHERE id = ? AND owner IS NULL')
  const markReset = db.prepare('UPDATE applications SET reset_ms = ? WHERE id = ?')
  const request = db.prepare("INSERT INTO access_requests VALUES (?, ?, ?, ?, ?, 'pending', ?)")
  const review = db.prepare('UPDATE access_requests SET status = ? WHERE id = ?')
  const approved = db.prepare(
    "SELECT scopes FROM access_requests WHERE organization_id = ? AND status = 'approved'",
  )
  return {
    insertOrganization: ({ id, name, createdMs }) => {
      insertOrganization.run(id, name, createdMs)
    },
    organizationsSince: (ms) => Number(since.get(ms)?.n),
    insert: (a) => {
      const scopes = JSON.stringify(a.scopes)
      insert.run(a.id, a.organizationId, a.environment, a.slug, a.name, scopes, a.createdMs, a.resetMs)
    },
    find: (id) => {
      const row = find.get(id)
      return row === undefined ? null : application(row)
    },
    ofOrganization: (organizationId) => ofOrganization.all(organizationId).map(application),
    claim: (organizationId, wallet) => claim.run(wallet, organizationId).changes === 1,
    markReset: (id, nowMs) => {
      markReset.run(nowMs, id)
    },
    requestAccess: ({ id, application: { id: applicationId, organizationId }, ...rest }) => {
      const scopes = JSON.stringify(rest.scopes)
      request.run(id, organizationId, applicationId, scopes, rest.useCase, rest.requestedMs)
    },
    reviewAccess: (id, status) => review.run(status, id).changes === 1,
    approvedScopes: (organizationId) =>
      new Set(approved.all(organizationId).flatMap((row) => readScopes(row.scopes))),
  }
}

const application = (row: Readonly<Record<string, unknown>>): Application => ({
  id: String(row.id),
  organizationId: String(row.organization_id),
  environment: environment.parse(row.environment),
  slug: String(row.slug),
  name: String(row.name),
  scopes: readScopes(row.scopes),
  createdMs: Number(row.created_ms),
  resetMs: row.reset_ms === null ? null : Number(row.reset_ms),
})

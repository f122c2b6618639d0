import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../src/clock.ts'
import { invariant } from '../../../src/errors.ts'
import { SCOPES, type Scope } from '../../../src/service/contract/operations.ts'
import type { Freshness } from '../../../src/service/contract/resources.ts'
import { ApiError } from '../http/api-error.ts'
import type { Caller, Handler, Handlers, Performed } from '../http/handler.ts'
import { type Cursors, page } from '../http/page.ts'
import { type ApiKeys, newApiKey } from './api-keys.ts'
import type { Application, Applications } from './applications.ts'
import { grantedScopes, PRODUCTION_SCOPES } from './scopes.ts'

/** Of one organization; each has its own control state on this machine's disk. */
export const APPLICATIONS_MAX = 20
/** Anyone may create one, so that a loop without credentials fills the disk no faster than this. */
const ORGANIZATIONS_PER_HOUR_MAX = 100
const HOUR_MS = 3_600_000

/** What the operations on tenants are given. */
export type TenantDeps = {
  readonly applications: Applications
  readonly keys: ApiKeys
  readonly clock: Clock
  readonly cursors: Cursors
  readonly freshness: () => Freshness
}

/** Organizations and applications. Source: service API, "Operation index" and "POST /v1/applications". */
export const applicationOperations = (deps: TenantDeps) =>
  ({
    createOrganization: createOrganization(deps),
    listApplications: listApplications(deps),
    createApplication: createApplication(deps),
    requestProductionAccess: requestProductionAccess(deps),
    claimOwner: claimOwner(deps),
  }) satisfies Partial<Handlers>

/** Find the application that a key or session belongs to. */
export function applicationOf(caller: Caller, applications: Applications): Application {
  const application = caller.applicationId === null ? null : applications.find(caller.applicationId)
  invariant(application !== null, 'a key belongs to an application')
  return application
}

function createOrganization(deps: TenantDeps): Handler<'createOrganization'> {
  const { applications, clock } = deps
  return ({ body: { name, slug } }) => {
    const nowMs = clock.nowMs()
    if (applications.organizationsSince(nowMs - HOUR_MS) >= ORGANIZATIONS_PER_HOUR_MAX) {
      const details = { retryable: true, retryAfterS: HOUR_MS / 1_000 }
      const message = `The limit is ${ORGANIZATIONS_PER_HOUR_MAX} organizations an hour.`
      throw new ApiError(429, 'organization_limit', message, details)
    }
    const id = `org_${randomUUID()}`
    const performed = bootstrap(deps, newApplication(id, { name, slug, scopes: SCOPES }, nowMs))
    return {
      ...performed,
      commit: () => {
        applications.insertOrganization({ id, name, createdMs: nowMs })
        performed.commit()
      },
    }
  }
}

function listApplications({ applications, cursors, freshness }: TenantDeps): Handler<'listApplications'> {
  return (call) => {
    const { organizationId } = applicationOf(call.caller, applications)
    const rows = applications.ofOrganization(organizationId).map(({ createdMs, resetMs: _, ...row }) => ({
      ...row,
      createdAt: new Date(createdMs).toISOString(),
    }))
    const keyOf = (row: (typeof rows)[number]) => `${row.createdAt} ${row.id}`
    return page(call, cursors, { name: `applications ${organizationId}`, rows, keyOf }, freshness())
  }
}

function createApplication(deps: TenantDeps): Handler<'createApplication'> {
  const { applications, clock } = deps
  return ({ body, caller }) => {
    const { organizationId } = applicationOf(caller, applications)
    const scopes = grantedScopes(body.scopes, caller)
    if (body.environment === 'live') assertApproved(scopes, applications.approvedScopes(organizationId))
    const created = newApplication(organizationId, { ...body, scopes }, clock.nowMs())
    const existing = applications.ofOrganization(organizationId)
    if (existing.length >= APPLICATIONS_MAX) {
      throw new ApiError(
        409,
        'application_quota',
        `An organization has at most ${APPLICATIONS_MAX} applications.`,
      )
    }
    if (existing.some((one) => one.slug === created.slug)) {
      throw new ApiError(409, 'slug_taken', 'The organization has an application of this slug; give another.')
    }
    return bootstrap(deps, created)
  }
}

function assertApproved(scopes: readonly Scope[], approved: ReadonlySet<Scope>): void {
  if (approved.size > 0 && scopes.every((scope) => approved.has(scope))) return
  const blockedReason = 'production_access_not_approved'
  const message = 'A live application holds only scopes that were approved by a production access request.'
  throw new ApiError(403, 'production_access_required', message, { blockedReason })
}

/** POST /v1/production-access-requests. Who runs the sandbox reviews it; until then nothing is granted. */
function requestProductionAccess(deps: TenantDeps): Handler<'requestProductionAccess'> {
  const { applications, clock } = deps
  return ({ body, caller }) => {
    const application = applicationOf(caller, applications)
    const scopes = grantedScopes(body.scopes, caller)
    const unknown = scopes.find((scope) => !PRODUCTION_SCOPES.includes(scope))
    if (scopes.length === 0 || unknown !== undefined) {
      throw new ApiError(400, 'no_production_scope', 'Ask for one or more scopes other than `sandbox:*`.')
    }
    const id = `par_${randomUUID()}`
    const requestedMs = clock.nowMs()
    return {
      body: {
        id,
        applicationId: application.id,
        status: 'pending',
        scopes,
        requestedAt: new Date(requestedMs).toISOString(),
      },
      commit: () =>
        applications.requestAccess({ id, application, scopes, useCase: body.useCase, requestedMs }),
    }
  }
}

function claimOwner({ applications, clock }: TenantDeps): Handler<'claimOwner'> {
  return ({ caller }) => {
    const { organizationId } = applicationOf(caller, applications)
    const { wallet } = caller
    invariant(wallet !== null, 'the operation permits no caller without a wallet')
    const claimedAt = new Date(clock.nowMs()).toISOString()
    return {
      body: { organizationId, walletAddress: wallet, role: 'owner', claimedAt },
      commit: () => {
        if (applications.claim(organizationId, wallet)) return
        throw new ApiError(409, 'owner_claimed', 'The organization has a member already.')
      },
    }
  }
}

function newApplication(
  organizationId: string,
  wanted: {
    readonly name: string
    readonly slug?: string | undefined
    readonly environment?: Application['environment']
    readonly scopes: readonly Scope[]
  },
  nowMs: number,
): Application {
  return {
    id: `app_${randomUUID()}`,
    organizationId,
    environment: wanted.environment ?? 'test',
    slug: wanted.slug ?? slugOf(wanted.name),
    name: wanted.name,
    scopes: wanted.scopes,
    createdMs: nowMs,
    resetMs: null,
  }
}

/** A name in another script leaves nothing; the slug is then drawn. */
function slugOf(name: string): string {
  const words = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replace(/^-+|-+$/g, '')
  return words === '' ? `app-${randomUUID().slice(0, 8)}` : words
}

/** Make an application with its first secret key. */
function bootstrap({ applications, keys }: TenantDeps, application: Application): Performed {
  const { id, organizationId, environment, slug, name, scopes } = application
  const wanted = { kind: 'secret', scopes, origins: [], rotatedFromKeyId: null } as const
  const { key, token } = newApiKey(application, wanted, application.createdMs)
  const provisioned = { type: 'sandbox.provisioned', subject: id, data: { applicationId: id, environment } }
  return {
    body: {
      id,
      organizationId,
      environment,
      slug,
      name,
      scopes,
      secretKey: token,
      secretShownOnce: true,
    },
    applicationId: id,
    events: environment === 'test' ? [{ ...provisioned, applicationId: id }] : [],
    commit: () => {
      applications.insert(application)
      keys.insert(key, token)
    },
  }
}

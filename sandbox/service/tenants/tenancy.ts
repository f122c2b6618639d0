import type { Clock } from '../../../src/clock.ts'
import type { Freshness } from '../../../src/service/contract/resources.ts'
import type { Handlers } from '../http/handler.ts'
import type { Cursors } from '../http/page.ts'
import type { Store } from '../store.ts'
import { type ApiKeys, createApiKeys } from './api-keys.ts'
import { applicationOperations } from './application-operations.ts'
import { type Applications, createApplications } from './applications.ts'
import { type Audit, auditOperations, createAudit } from './audit.ts'
import { keyOperations } from './key-operations.ts'
import { type SandboxStateDeps, sandboxStateOperations } from './sandbox-state.ts'
import { type Credentials, seedTenant } from './seed.ts'
import { createUsage, type Usage, usageOperations } from './usage.ts'

/** What tenants are kept and served with. */
export type TenancyDeps = Pick<SandboxStateDeps, 'chainId' | 'namespace' | 'faucetQuota' | 'forget'> & {
  readonly store: Store
  readonly clock: Clock
  readonly cursors: Cursors
  readonly freshness: () => Freshness
  readonly credentials: Credentials
}

/** Who the service serves, and the operations by which tenants look after themselves. */
export type Tenancy = {
  readonly applications: Applications
  readonly keys: ApiKeys
  readonly audit: Audit
  readonly usage: Usage
  readonly handlers: Pick<
    Handlers,
    | 'claimOwner'
    | 'createApplication'
    | 'createKey'
    | 'createOrganization'
    | 'getSandbox'
    | 'listApplications'
    | 'listAuditLog'
    | 'listKeys'
    | 'listUsage'
    | 'requestProductionAccess'
    | 'resetSandbox'
    | 'revokeKey'
    | 'rotateKey'
  >
}

/** Open the tenants in the store, the sandbox's own among them. */
export function openTenancy(deps: TenancyDeps): Tenancy {
  const { store, clock, cursors, freshness } = deps
  const applications = createApplications(store)
  const keys = createApiKeys(store)
  const audit = createAudit(store, clock)
  const usage = createUsage(store, clock)
  seedTenant(deps.credentials, { store, applications, keys, clock })
  const tenants = { applications, keys, clock, cursors, freshness }
  const handlers = {
    ...applicationOperations(tenants),
    ...keyOperations(tenants),
    ...usageOperations(usage, cursors, freshness),
    ...auditOperations(audit, cursors, freshness),
    ...sandboxStateOperations({ ...deps, applications }),
  }
  return { applications, keys, audit, usage, handlers }
}

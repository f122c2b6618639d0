import type { Clock } from '../../../src/clock.ts'
import { PUBLISHABLE_SCOPES, SCOPES, type Scope } from '../../../src/service/contract/operations.ts'
import type { Store } from '../store.ts'
import { type ApiKeys, redacted } from './api-keys.ts'
import type { Applications } from './applications.ts'

/** The application of the keys that the sandbox itself was started with. */
const SEEDED_APPLICATION = 'app_sandbox'

/** The sandbox's own keys, and the web origins that the publishable one is bound to. */
export type Credentials = {
  readonly secretKey: string
  readonly publishableKey: string
  /** Secret keys with fewer scopes, by a name of their own, which ends their id. */
  readonly narrowKeys?: readonly {
    readonly name: string
    readonly secretKey: string
    readonly scopes: readonly Scope[]
  }[]
  /** For example `http://127.0.0.1:5173`. */
  readonly origins: readonly string[]
}

/** Make the sandbox's own organization, application and keys, unless they are there; what was revoked stays so. */
export function seedTenant(
  { secretKey, publishableKey, narrowKeys = [], origins }: Credentials,
  deps: { store: Store; applications: Applications; keys: ApiKeys; clock: Clock },
): void {
  const { store, applications, keys, clock } = deps
  if (applications.find(SEEDED_APPLICATION) !== null) return
  const createdMs = clock.nowMs()
  const organizationId = 'org_sandbox'
  const name = 'Sandbox'
  const common = { applicationId: SEEDED_APPLICATION, rotatedFromKeyId: null, createdMs, revokedMs: null }
  store.atomically(() => {
    applications.insertOrganization({ id: organizationId, name, createdMs })
    applications.insert({
      id: SEEDED_APPLICATION,
      organizationId,
      environment: 'test',
      slug: 'sandbox',
      name,
      scopes: SCOPES,
      createdMs,
      resetMs: null,
    })
    keys.insert(
      {
        ...common,
        id: 'key_sandbox_secret',
        kind: 'secret',
        redactedToken: redacted(secretKey),
        scopes: SCOPES,
        origins: [],
      },
      secretKey,
    )
    for (const { name, secretKey: token, scopes } of narrowKeys) {
      keys.insert(
        {
          ...common,
          id: `key_sandbox_${name}`,
          kind: 'secret',
          redactedToken: redacted(token),
          scopes,
          origins: [],
        },
        token,
      )
    }
    keys.insert(
      {
        ...common,
        id: 'key_sandbox_publishable',
        kind: 'publishable',
        redactedToken: redacted(publishableKey),
        scopes: PUBLISHABLE_SCOPES,
        origins,
      },
      publishableKey,
    )
  })
}

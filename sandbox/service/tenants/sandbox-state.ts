import type { Clock } from '../../../src/clock.ts'
import { ApiError } from '../http/api-error.ts'
import type { Handlers } from '../http/handler.ts'
import { APPLICATIONS_MAX, applicationOf } from './application-operations.ts'
import type { Application, Applications } from './applications.ts'
import { KEYS_MAX } from './key-operations.ts'

/** Source: service API, "POST /v1/sandbox/reset": the default, and the only one here. */
const FIXTURE_SET = 'standard'

/** What the operations on an application's sandbox are given. */
export type SandboxStateDeps = {
  readonly applications: Applications
  readonly clock: Clock
  readonly chainId: number
  readonly namespace: string
  readonly faucetQuota: Readonly<Record<string, unknown>>
  /** Each forgets one kind of control state of an application, inside the transaction of the reset. */
  readonly forget: readonly ((applicationId: string) => void)[]
}

/**
 * GET /v1/sandbox and POST /v1/sandbox/reset. A reset forgets the application's webhook endpoints and deliveries, its
 * workflows and its idempotent answers. Keys, applications, usage, the audit log and everything on the shared chain stay.
 */
export function sandboxStateOperations(deps: SandboxStateDeps) {
  const { applications, clock, forget } = deps
  return {
    getSandbox: ({ caller }) => sandboxState(applicationOf(caller, applications), deps),
    resetSandbox: ({ caller, body }) => {
      if (body.fixtureSet !== FIXTURE_SET) {
        throw new ApiError(400, 'unknown_fixture_set', `The only fixture set is \`${FIXTURE_SET}\`.`)
      }
      const application = applicationOf(caller, applications)
      const applicationId = application.id
      const resetMs = clock.nowMs()
      const stage = (name: string) => ({
        type: `sandbox.reset.${name}`,
        subject: applicationId,
        data: { applicationId, fixtureSet: FIXTURE_SET },
        applicationId,
      })
      return {
        body: sandboxState({ ...application, resetMs }, deps),
        events: [stage('requested'), stage('completed')],
        commit: () => {
          for (const forgetOne of forget) forgetOne(applicationId)
          applications.markReset(applicationId, resetMs)
        },
      }
    },
  } satisfies Partial<Handlers>
}

const sandboxState = (application: Application, { chainId, namespace, faucetQuota }: SandboxStateDeps) => ({
  id: `sbx_${application.id}`,
  applicationId: application.id,
  network: { chainId, network: 'sandbox', deploymentNamespace: namespace, explorerUrl: null },
  deploymentNamespace: namespace,
  fixtureSet: FIXTURE_SET,
  status: 'ready',
  resourceQuota: { applicationsMax: APPLICATIONS_MAX, keysMax: KEYS_MAX },
  faucetQuota,
  seededAt: new Date(application.createdMs).toISOString(),
  lastResetAt: application.resetMs === null ? null : new Date(application.resetMs).toISOString(),
})

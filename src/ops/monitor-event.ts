import type { Role } from '../service/contract/roles.ts'

/** The monitored policy of a role judges an answer otherwise than the enforced one: nothing follows from it. */
export type MonitorEvent = {
  readonly type: 'monitor'
  readonly at: string
  readonly id: string
  readonly role: Role
  readonly workflowType: string
  readonly verdict: 'would_refuse' | 'would_clear'
  /** The check that refuses, of the policy that does. */
  readonly check: string
  readonly message: string
}

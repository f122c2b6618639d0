import type { Agent } from './agent.ts'
import { feePolicy } from './broadcast/fees.ts'
import { approvalPolicy } from './guard/approval.ts'
import { freshnessPolicy, guardPolicy, limitsPolicy } from './guard/ruleset.ts'

/** The sections of one role's policy, each by the room that enforces it. Pure. */
export const sectionsOf = <Strategy>({ role, policy }: Pick<Agent<Strategy, never>, 'role' | 'policy'>) => ({
  strategy: policy,
  approval: approvalPolicy,
  limits: limitsPolicy,
  freshness: freshnessPolicy,
  guard: guardPolicy(role),
  fees: feePolicy,
})

import { agents } from '../../agents/index.ts'
import { loadWithIncludes } from '../../src/config/include.ts'
import { checkPolicy } from '../../src/config/policy.ts'
import { amongOurs, compileRuleset, type Ruleset } from '../../src/guard/ruleset.ts'
import { sectionsOf } from '../../src/keeper/policy/role-policy.ts'
import { agentRoleOf, isOwn } from '../../src/service/contract/workflow-types.ts'
import { policyFileOf } from '../support/policies.ts'
import { TOKENS } from '../support/tokens.ts'
import { SELF } from './fixtures.ts'
import type { Kind } from './kind.ts'
import { deployment, KINDS } from './kinds.ts'
import { OTHER_SIGNER } from './kinds-by-hand.ts'

/** The policy of this repository for a role. */
export const shippedSections = (agent: (typeof agents)[number]) =>
  checkPolicy(loadWithIncludes(policyFileOf(agent.role)), agent.role, sectionsOf(agent, TOKENS))

/**
 * The rules of each policy of this repository, with the kinds of workflows that they allow. An owner's are in two policies by
 * one file, and stand here once.
 */
const SHIPPED: readonly { readonly ruleset: Ruleset; readonly kinds: readonly Kind[] }[] = agents.map(
  (agent) => {
    const compiled = compileRuleset(shippedSections(agent), deployment)
    const ruleset = amongOurs(compiled, { ours: [SELF, OTHER_SIGNER], sharing: [SELF] })
    return {
      ruleset,
      kinds: KINDS.filter(
        ({ proposal: { workflowType } }) =>
          ruleset.rules.has(workflowType) && agentRoleOf(workflowType) === agent.role,
      ),
    }
  },
)

/** Each shipped kind with the rules that hold it, for `it.each`. */
export const CASES: readonly (readonly [string, Kind, Ruleset])[] = SHIPPED.flatMap(({ ruleset, kinds }) =>
  kinds.map((kind) => [`${ruleset.role}: ${kind.name}`, kind, ruleset] as const),
)

/** Those that a service prepares, and so may lie about: what is our own, nobody answers. */
export const PREPARED = CASES.filter(([, { proposal }]) => !isOwn(proposal.workflowType))

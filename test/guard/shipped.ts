import { agents } from '../../agents/index.ts'
import { loadWithIncludes } from '../../src/config/include.ts'
import { checkPolicy } from '../../src/config/policy.ts'
import { compileRuleset, type Ruleset } from '../../src/guard/ruleset.ts'
import { sectionsOf } from '../../src/keeper/role-policy.ts'
import { isOwn } from '../../src/service/contract/workflow-types.ts'
import { policyFileOf } from '../support/policies.ts'
import { TOKENS } from '../support/tokens.ts'
import { deployment, KINDS, type Kind } from './kinds.ts'

/** The policy of this repository for a role. */
export const shippedSections = (agent: (typeof agents)[number]) =>
  checkPolicy(loadWithIncludes(policyFileOf(agent.role)), agent.role, sectionsOf(agent, TOKENS))

/** The rules of each policy of this repository, with the kinds of workflows that they allow. */
const SHIPPED: readonly { readonly ruleset: Ruleset; readonly kinds: readonly Kind[] }[] = agents.map(
  (agent) => {
    const ruleset = compileRuleset(shippedSections(agent), deployment)
    return { ruleset, kinds: KINDS.filter(({ proposal }) => ruleset.rules.has(proposal.workflowType)) }
  },
)

/** Each shipped kind with the rules that hold it, for `it.each`. */
export const CASES: readonly (readonly [string, Kind, Ruleset])[] = SHIPPED.flatMap(({ ruleset, kinds }) =>
  kinds.map((kind) => [`${ruleset.role}: ${kind.name}`, kind, ruleset] as const),
)

/** Those that a service prepares, and so may lie about: what is our own, nobody answers. */
export const PREPARED = CASES.filter(([, { proposal }]) => !isOwn(proposal.workflowType))

import type { Address } from 'viem'
import type { Agent } from '../../agents/agent.ts'
import { agents } from '../../agents/index.ts'
import type { AgentConfig, RunConfig } from '../config/config.ts'
import { loadPolicy } from '../config/policy.ts'
import { RolekeeperError } from '../errors.ts'
import { type Approval, approvalPolicy, compileApproval } from '../guard/approval.ts'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../guard/policy/policy.ts'
import { compileRuleset, type Ruleset } from '../guard/ruleset.ts'
import { sanityOf } from '../guard/sanity/by-role.ts'
import { assertViews } from '../observe/views.ts'
import { feePolicy } from '../pipeline/transactions/fees.ts'
import type { OperationId } from '../service/contract/operations.ts'
import { operationsOf } from './startup-checks.ts'

/** A role's policy, loaded and compiled against the pinned deployment. */
export type RolePolicy = {
  readonly agent: AgentConfig
  /** What the role is: data and pure functions. */
  readonly does: Agent
  readonly policy: ReturnType<typeof loadSections>
  readonly ruleset: Ruleset
  readonly approval: Approval
  readonly operations: readonly OperationId[]
}

/** The sections of one role's policy, each by the room that enforces it. Pure. */
export const sectionsOf = <Strategy>({ role, policy }: Pick<Agent<Strategy, never>, 'role' | 'policy'>) => ({
  strategy: policy,
  approval: approvalPolicy,
  limits: limitsPolicy,
  freshness: freshnessPolicy,
  guard: guardPolicy(sanityOf(role).limits),
  fees: feePolicy,
})

const loadSections = (file: string, agent: Agent) => loadPolicy(file, agent.role, sectionsOf(agent))

/**
 * Load the policy of one agent. Throws RolekeeperError `config.role_unknown` for a role that this release does not
 * staff, and what loading and compiling throw.
 */
export function loadRolePolicy(agent: AgentConfig, config: RunConfig): RolePolicy {
  const does = agents.find(({ role }) => role === agent.role)
  if (does === undefined) {
    throw new RolekeeperError('config.role_unknown', `This release does not staff the role ${agent.role}.`, {
      fix: `remove it from \`agents\`; known: ${agents.map(({ role }) => role).join(', ')}.`,
    })
  }
  const policy = loadSections(agent.policy, does)
  assertSources(does.sources?.(policy.strategy) ?? [], agent, config)
  assertViews(does.views ?? [], policy.guard.views)
  assertContracts(does.secondPrices?.(policy.strategy) ?? [], config)
  const ruleset = compileRuleset(policy, config.deployment, config.service.assumptions.revalidations)
  const approval = compileApproval(policy.approval, config.deployment)
  return { agent, does, policy, ruleset, approval, operations: operationsOf(does) }
}

/** A second price that could never be read would close every market that needs it, and look like a moment's trouble. */
function assertContracts(names: readonly string[], { deployment: { contracts } }: RunConfig): void {
  const absent = names.find((name) => !contracts.some((contract) => contract.name === name))
  if (absent === undefined) return
  const known = contracts.map(({ name }) => name).join(', ')
  throw new RolekeeperError(
    'policy.contract_unknown',
    `strategy.secondPrice names ${absent}, which deployment.contracts does not pin.`,
    { fix: `pin it in the run configuration; pinned are: ${known || 'none'}.` },
  )
}

/** A source that is nowhere would be one that is missing, each time, and a quorum that looks larger than it is. */
function assertSources(names: readonly string[], { policy }: AgentConfig, { sources }: RunConfig): void {
  const absent = names.find((name) => !sources.some((source) => source.name === name))
  if (absent === undefined) return
  const known = sources.map(({ name }) => name).join(', ')
  throw new RolekeeperError(
    'policy.source_unknown',
    `${policy} takes a value from ${absent}, which is not among the run configuration's sources.`,
    { fix: `add it to \`sources\`, or correct the name; there are: ${known || 'none'}.` },
  )
}

/** The signers that may claim nonces. A shadow claims none: its address may well be another keeper's to use. Pure. */
export const liveSigners = (policies: readonly Pick<RolePolicy, 'agent'>[]): readonly Address[] =>
  policies.flatMap(({ agent }) => (agent.mode === 'live' ? [agent.signer.address] : []))

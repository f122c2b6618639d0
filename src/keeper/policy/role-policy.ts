import type { Address } from 'viem'
import type { Agent } from '../../../agents/agent.ts'
import { agents } from '../../../agents/index.ts'
import { nearest } from '../../config/check.ts'
import type { AgentConfig, RunConfig } from '../../config/config.ts'
import { loadWithIncludes } from '../../config/include.ts'
import { checkPolicy, locating, type Policy } from '../../config/policy.ts'
import { upstreamsOf } from '../../config/sources.ts'
import type { YamlFile } from '../../config/yaml.ts'
import { RolekeeperError } from '../../errors.ts'
import { type Approval, approvalPolicy, compileApproval } from '../../guard/approval/approval.ts'
import { contentHash } from '../../guard/content-hash.ts'
import { type Members, membersOf } from '../../guard/policy/compare/difference.ts'
import { freshnessPolicy, guardPolicy, limitsPolicy } from '../../guard/policy/policy.ts'
import { policyError } from '../../guard/policy/policy-error.ts'
import { checkSentAtOnce } from '../../guard/policy/sent-at-once.ts'
import { amongOurs, compileRuleset, type Ruleset } from '../../guard/ruleset.ts'
import { sanityOf } from '../../guard/sanity/by-role.ts'
import { contradictionsIn } from '../../guard/sanity/contradictions.ts'
import { assertViews } from '../../observe/views.ts'
import { feePolicy } from '../../pipeline/transactions/fees.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import type { Denomination } from '../../units.ts'
import { apartOf, type Sharing, sharingOf } from './shared-limits.ts'

/** What a configuration staffs: an agent, and what its role is. */
export type Position = {
  readonly agent: AgentConfig
  /** Data and pure functions. */
  readonly does: Agent
}

/** A role's policy, loaded and compiled against the pinned deployment. */
export type RolePolicy = Position & {
  readonly policy: Policy<ReturnType<typeof sectionsOf>>
  readonly ruleset: Ruleset
  readonly approval: Approval
  /** What its file says, with what that includes: what it is compared by. */
  readonly members: Members
  /** Signers of the same role with limits of their own. */
  readonly apart: readonly Address[]
  /** What its answers are judged by as well, or why that does not load; absent where nothing is monitored. */
  readonly monitored?: Ruleset | RolekeeperError
}

/** The sections of one role's policy, each by the room that enforces it; amounts of `assets` are understood in it. Pure. */
export const sectionsOf = <Strategy>(
  { role, policy }: Pick<Agent<Strategy, never>, 'role' | 'policy'>,
  assets: readonly Denomination[],
) => ({
  strategy: policy(assets),
  approval: approvalPolicy(assets),
  limits: limitsPolicy,
  freshness: freshnessPolicy,
  guard: guardPolicy(sanityOf(role).limits(assets)),
  fees: feePolicy,
})

/** Find what the role of an agent is. Throws RolekeeperError `config.role_unknown` for one that this release does not staff. */
export function positionOf(agent: AgentConfig): Position {
  const does = agents.find(({ role }) => role === agent.role)
  if (does !== undefined) return { agent, does }
  throw new RolekeeperError('config.role_unknown', `This release does not staff the role ${agent.role}.`, {
    fix: `remove it from \`agents\`; known: ${agents.map(({ role }) => role).join(', ')}.`,
  })
}

/**
 * Load the policy of one agent, compiled.
 * @throws RolekeeperError what reading and {@link compilePolicy} throw.
 */
export function loadRolePolicy(position: Position, config: RunConfig): RolePolicy {
  const { agent, does } = position
  const yaml = loadWithIncludes(agent.policy)
  const alone = compilePolicy(yaml, does, config, { agent, agents: config.agents })
  const compiled = withSources(alone, yaml, does, config)
  assertSources(does.sources?.(compiled.policy.strategy) ?? [], agent, config)
  const monitored =
    agent.monitor === undefined ? {} : { monitored: monitoredBy(agent.monitor, position, config) }
  return { agent, does, ...compiled, apart: apartOf(agent, config.agents), ...monitored }
}

/** A monitor decides nothing, so it does not keep its role from working either. */
function monitoredBy(file: string, { agent, does }: Position, config: RunConfig): Ruleset | RolekeeperError {
  try {
    return compilePolicy(loadWithIncludes(file), does, config, { agent, agents: config.agents }).ruleset
  } catch (error) {
    if (error instanceof RolekeeperError) return error
    throw error
  }
}

/** What of a run configuration a policy is compiled against: no secret, and nothing that runs. */
type Ground = Pick<RunConfig, 'environment'> & {
  readonly deployment: Deployment
  readonly service: Pick<RunConfig['service'], 'assumptions'>
}

/** The agent that works by a policy, and all of its run configuration. */
type Staff = { readonly agent: Pick<AgentConfig, 'role' | 'policy'>; readonly agents: readonly Sharing[] }

/**
 * Check and compile a policy that was read.
 * @param staff absent for a file that no agent names: it is held to what one key may lose, and its rules know no signers.
 * @throws RolekeeperError what checking and compiling throw, with the place in the file, and `policy.for_sandbox`.
 */
export const compilePolicy = (
  yaml: YamlFile,
  does: Agent,
  { environment, deployment, service }: Ground,
  staff?: Staff,
): Pick<RolePolicy, 'policy' | 'ruleset' | 'approval' | 'members'> =>
  locating(yaml, () => {
    const policy = checkPolicy(yaml, does.role, sectionsOf(does, deployment.assets))
    assertEnvironment(policy, environment)
    assertViews(does.views ?? [], policy.guard.views)
    assertContracts('strategy', does.contracts?.(policy.strategy) ?? [], deployment)
    assertContracts('strategy', does.markets?.(policy.strategy) ?? [], deployment, 'markets')
    const { contracts, sends } = sanityOf(does.role)
    assertContracts('guard.sanity', contracts?.(policy.guard.sanity) ?? [], deployment)
    assertStrategy(yaml, does.role, deployment)
    const sharing = staff === undefined ? [] : sharingOf(staff.agent, staff.agents)
    const sent = sends?.(policy.guard.sanity) ?? []
    checkSentAtOnce(sent, policy.limits, deployment.assets, Math.max(1, sharing.length))
    const rules = compileRuleset(policy, deployment, service.assumptions.revalidations)
    const approval = compileApproval(policy.approval, deployment)
    // Who is asked and what is offered bind what is not public yet as the rules do: under others it is judged anew.
    const alone = { ...rules, hash: contentHash([rules.hash, approval.hash, policy.fees]) }
    const ours = staff?.agents.map(({ signer }) => signer.address)
    const ruleset = ours === undefined ? alone : amongOurs(alone, { ours, sharing })
    return { policy, ruleset, approval, members: membersOf(yaml.value) }
  })

/** The sandbox's day takes half a minute, and its money is worth nothing. */
function assertEnvironment(
  { environment }: Pick<RolePolicy['policy'], 'environment'>,
  runs: RunConfig['environment'],
): void {
  if (environment === undefined || runs === environment) return
  throw new RolekeeperError(
    'policy.for_sandbox',
    `the policy says environment: sandbox, and the run configuration ${runs}.`,
    {
      fix: 'copy the policy that it includes, and set paces and limits of your own.',
      facts: { path: 'environment' },
    },
  )
}

/** What the role's own judgement always refuses is never to be proposed. */
function assertStrategy({ value }: YamlFile, role: string, { assets }: Deployment): void {
  const found = contradictionsIn(value, sanityOf(role).strategy ?? [], assets).find(
    ({ isSanity }) => isSanity,
  )
  if (found !== undefined) throw policyError(found.path, `${found.problem}.`, `${found.fix}.`)
}

/** What could never be read, or is never there to sell at, would look like a moment's trouble for good. */
function assertContracts(
  section: string,
  uses: readonly (readonly [place: string, name: string])[],
  deployment: Pick<Deployment, 'contracts' | 'markets'>,
  list: 'contracts' | 'markets' = 'contracts',
): void {
  const names = deployment[list].flatMap(({ name }) => name ?? [])
  const absent = uses.find(([, name]) => !names.includes(name))
  if (absent === undefined) return
  const path = `${section}.${absent[0]}`
  const near = nearest(absent[1], names)
  const fix = near === undefined ? 'correct the name' : `write ${near}`
  throw new RolekeeperError(
    'policy.contract_unknown',
    `${path} is ${absent[1]}, which deployment.${list} does not pin.`,
    {
      fix: `pin it in the run configuration, or ${fix}; pinned are: ${names.join(', ') || 'none'}.`,
      facts: { path },
    },
  )
}

/** Have sources count together that the run configuration shows to be one. */
function withSources<T extends Pick<RolePolicy, 'policy'>>(
  compiled: T,
  yaml: YamlFile,
  { joinSources }: Agent,
  { sources }: Pick<RunConfig, 'sources'>,
): T {
  if (joinSources === undefined) return compiled
  const upstreams = new Map(sources.map((source) => [source.name, upstreamsOf(source)] as const))
  const joined = joinSources(compiled.policy.strategy, upstreams)
  return locating(yaml, () => {
    if ('problem' in joined)
      throw policyError(`strategy.${joined.path}`, `${joined.problem}.`, `${joined.fix}.`)
    return { ...compiled, policy: { ...compiled.policy, strategy: joined.policy } }
  })
}

/** A source that is nowhere would be one that is missing, each time, and a quorum that looks larger than it is. */
function assertSources(
  asked: readonly { readonly name: string }[],
  { policy }: AgentConfig,
  { sources }: RunConfig,
): void {
  const absent = asked.find(({ name }) => !sources.some((source) => source.name === name))?.name
  if (absent === undefined) return
  const known = sources.map(({ name }) => name).join(', ')
  throw new RolekeeperError(
    'policy.source_unknown',
    `${policy} takes a value from ${absent}, which is not among the run configuration's sources.`,
    { fix: `add it to \`sources\`, or correct the name; there are: ${known || 'none'}.` },
  )
}

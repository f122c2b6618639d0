import type { Address } from 'viem'
import { RolekeeperError } from '../errors.ts'
import type { Assumptions, Revalidation } from '../service/contract/assumptions.ts'
import type { Deployment } from '../service/contract/deployment.ts'
import type { Role } from '../service/contract/roles.ts'
import { agentRoleOf, isOwn, type WorkflowType } from '../service/contract/workflow-types.ts'
import { CODE_HASH } from './code-hash.ts'
import { contentHash } from './content-hash.ts'
import { type Allowance, compileAllowances } from './policy/allowances.ts'
import { compileEffects } from './policy/compile/effects.ts'
import { compileFacts, type Fact, type Facts } from './policy/compile/facts.ts'
import { compileMetadata, MOVES_NOTHING } from './policy/compile/metadata.ts'
import { compileRules } from './policy/compile/rules.ts'
import { parseView } from './policy/functions.ts'
import { needInputs } from './policy/inputs.ts'
import type { Freshness, GuardPolicy, Limits } from './policy/policy.ts'
import { policyError } from './policy/policy-error.ts'
import type { Effects } from './policy/references.ts'
import { checkRelied } from './policy/relied.ts'
import type { Rule, ValueRule } from './policy/rule.ts'
import { TOKEN_VIEWS, viewShape } from './reads/views.ts'
import { sanityOf } from './sanity/by-role.ts'
import { judgeByFacts } from './sanity/judge-by-facts.ts'
import { PLAIN, type SanityCheck } from './sanity/judgement.ts'

/** The sections of a policy that the guard enforces, with the role they are for. */
export type GuardSections = {
  readonly role: Role
  readonly limits: Limits
  readonly freshness: Freshness
  readonly guard: GuardPolicy
}

/** A policy and a deployment, compiled: the guard reads nothing else. `hash` names it, 64 hex digits. */
export type Ruleset = {
  readonly hash: string
  readonly role: Role
  readonly limits: Limits
  readonly allowances: readonly Allowance[]
  readonly freshness: Freshness
  readonly gasHeadroomBps: bigint
  readonly deployment: Deployment
  /** The signers of the run configuration, lower case: none of them is another's rival. Absent for a file alone. */
  readonly ours?: readonly Address[]
  /** Those of them that share these limits, lower case: what they hold counts together. */
  readonly sharing?: readonly Address[]
  /** Our name of a check by the service's, where they differ. */
  readonly revalidations: ReadonlyMap<string, Revalidation>
  /** The calls of each workflow type, in order. A type without an entry is not allowed. */
  readonly rules: ReadonlyMap<WorkflowType, readonly Rule[]>
  /** What holds the input of each type that consists of no call. One without an entry here or there is not allowed. */
  readonly metadata: ReadonlyMap<WorkflowType, ValueRule>
  readonly effects: ReadonlyMap<WorkflowType, Effects>
  /** Our own judgement of each workflow type that the rules allow. */
  readonly sanity: ReadonlyMap<WorkflowType, SanityCheck>
}

/**
 * Compile a policy's guard sections against the pinned deployment, and what the service calls our revalidations.
 * Everything that could only fail later fails here. The hash is of what is given, not of what is compiled, and of the code that judges by it.
 * Throws RolekeeperError `policy.guard_invalid`, naming the path, the value and the fix. Pure.
 */
export function compileRuleset(
  { role, limits, freshness, guard }: GuardSections,
  deployment: Deployment,
  revalidations: Assumptions['revalidations'] = {},
): Ruleset {
  checkDeployment(deployment)
  const own = new Map(sanityOf(role).checks(guard.sanity))
  checkOwn(guard.allow, own, role)
  const relied = new Map([...own].map(([type, { relies }]) => [type, relies]))
  const types = new Set(guard.allow.map(({ workflowType }) => workflowType))
  const metadata = compileMetadata(guard, deployment)
  const checks = new Map([...types].map((type) => [type, own.get(type) ?? PLAIN]))
  const facts = new Map(
    [...checks].map(([type, check]) => [type, factsOf(type, check, guard.facts, deployment)]),
  )
  const rules = compileRules(guard, deployment, relied, facts)
  const effects = new Map([
    ...compileEffects(guard.effects, rules, deployment),
    ...[...metadata.keys()].map((type) => [type, MOVES_NOTHING] as const),
  ])
  checkRelied(rules, effects, relied, deployment)
  checkFacts(guard.facts, facts)
  const sanity = new Map(
    [...checks].map(([type, check]) => [type, judgeByFacts(check, usable(facts.get(type)))]),
  )
  checkViews(guard.views, sanity, new Set(Object.keys(guard.facts ?? {})))
  return {
    hash: contentHash({ code: CODE_HASH, role, limits, freshness, guard, deployment, revalidations }),
    role,
    limits,
    allowances: compileAllowances(limits.allowances ?? [], rules.values(), deployment),
    freshness,
    gasHeadroomBps: guard.gasHeadroomBps,
    deployment,
    revalidations: new Map(Object.entries(revalidations)),
    rules,
    metadata,
    effects,
    sanity: new Map([...sanity, ...[...metadata.keys()].map((type) => [type, PLAIN] as const)]),
  }
}

/** The same among our signers, which a verdict rests on as well: none of them is taken for a rival. Pure. */
export function amongOurs(
  ruleset: Ruleset,
  signers: { readonly ours: readonly Address[]; readonly sharing: readonly Address[] },
): Ruleset {
  const listed = (list: readonly Address[]) =>
    list.map((each): Address => `0x${each.slice(2).toLowerCase()}`).toSorted()
  const [ours, sharing] = [listed(signers.ours), listed(signers.sharing)]
  return { ...ruleset, ours, sharing, hash: contentHash([ruleset.hash, ours, sharing]) }
}

/**
 * Refuse types that nothing here judges: calls of our own, at which no service has looked either, and, where the role judges
 * what is its own, those of another role, whose judgement would be left out. A role without any, one of the user's own, is
 * held by its rules alone.
 */
function checkOwn(
  allow: GuardPolicy['allow'],
  judged: ReadonlyMap<WorkflowType, SanityCheck>,
  role: Role,
): void {
  const isForeign = (type: WorkflowType) =>
    judged.size > 0 && agentRoleOf(type) !== null && agentRoleOf(type) !== role
  const index = allow.findIndex(
    ({ workflowType: type }) => (isOwn(type) || isForeign(type)) && !judged.has(type),
  )
  const type = allow[index]?.workflowType
  if (type === undefined) return
  const what = isOwn(type) ? 'is composed here and not prepared' : `is of the ${agentRoleOf(type)}`
  throw policyError(
    `guard.allow[${index}].workflowType`,
    `${type} ${what}, and the ${role} has no judgement of it.`,
    `leave the rule to the policy of the ${agentRoleOf(type)}.`,
  )
}

function checkDeployment({ assets, markets, vaults, funds }: Deployment): void {
  const known = new Set(assets.map(({ address }) => address))
  const used = [
    ...markets.map(({ loanAsset }, index) => [`markets[${index}].loanAsset`, loanAsset] as const),
    ...markets.map(({ collateralAsset }, at) => [`markets[${at}].collateralAsset`, collateralAsset] as const),
    ...vaults.flatMap(({ asset }, at) =>
      asset === undefined ? [] : [[`vaults[${at}].asset`, asset] as const],
    ),
    ...funds.map(({ quoteAsset }, index) => [`funds[${index}].quoteAsset`, quoteAsset] as const),
  ]
  for (const [path, asset] of used) {
    if (known.has(asset)) continue
    throw policyError(
      `deployment.${path}`,
      `${asset} is not in deployment.assets.`,
      'pin the asset there, or correct this entry.',
    )
  }
}

/** What the policy reads otherwise for one type of workflow. */
function factsOf(
  type: WorkflowType,
  { views }: SanityCheck,
  sources: GuardPolicy['facts'],
  deployment: Deployment,
): Facts {
  const token = TOKEN_VIEWS.find(({ name }) => sources?.[name] !== undefined)
  if (token !== undefined) {
    throw policyError(`guard.facts.${token.name}`, 'balances are read as EIP-20 says.', 'use another name.')
  }
  const facts = compileFacts(sources, views, { inputs: needInputs(type), deployment })
  for (const { name } of views) {
    const fact = facts.get(name)
    if (fact instanceof RolekeeperError) throw fact
  }
  return facts
}

/** Refuse a fact that no type of workflow can have. */
function checkFacts(sources: GuardPolicy['facts'], facts: ReadonlyMap<WorkflowType, Facts>): void {
  for (const name of Object.keys(sources ?? {})) {
    const [first, ...others] = [...facts.values()].map((ofType) => ofType.get(name))
    if (first instanceof RolekeeperError && others.every((other) => other instanceof RolekeeperError))
      throw first
  }
}

const usable = (facts: Facts = new Map()): ReadonlyMap<string, Fact> =>
  new Map(
    [...facts].flatMap(([name, fact]) => (fact instanceof RolekeeperError ? [] : [[name, fact] as const])),
  )

function checkViews(
  signatures: readonly string[],
  sanity: ReadonlyMap<WorkflowType, SanityCheck>,
  renamed: ReadonlySet<string>,
): void {
  const listed = new Set<string>()
  for (const [index, text] of signatures.entries()) {
    const path = `guard.views[${index}]`
    const shape = viewShape(parseView(text, path))
    if (listed.has(shape)) throw policyError(path, `${shape} is listed twice.`, 'keep one.')
    listed.add(shape)
  }
  const needed = [...TOKEN_VIEWS, ...[...sanity.values()].flatMap(({ views }) => views)]
  const missing = needed
    .filter(({ name }) => !renamed.has(name))
    .map(viewShape)
    .find((shape) => !listed.has(shape))
  if (missing === undefined) return
  throw policyError(
    'guard.views',
    `${missing} is not listed.`,
    'add it with these types, or correct its entry.',
  )
}

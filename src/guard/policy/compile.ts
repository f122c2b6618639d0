import { createHash } from 'node:crypto'
import { invariant } from '../../errors.ts'
import type { Assumptions } from '../../service/contract/assumptions.ts'
import type { Role } from '../../service/contract/roles.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import { PLAIN, type Sanity } from '../sanity/look.ts'
import { rulesFor } from '../sequence.ts'
import { TOKEN_VIEWS, viewShape } from '../views.ts'
import { canonicalJson } from './canonical-json.ts'
import { compileRule, needReference } from './compile-rule.ts'
import type { Reference, Scope } from './conditions.ts'
import type { Deployment } from './deployment.ts'
import { parseFunction } from './functions.ts'
import { type InputShape, inputShape } from './inputs.ts'
import type { Freshness, GuardPolicy, Limits } from './policy.ts'
import type { Effects, Rule, Ruleset } from './rule.ts'
import { wrong } from './scalars.ts'

/** The sections of a policy that the guard enforces, with the role they are for. */
export type GuardSections = {
  readonly role: Role
  readonly limits: Limits
  readonly freshness: Freshness
  readonly guard: GuardPolicy
}

/**
 * Compile a policy's guard sections against the pinned deployment, and what the service calls our revalidations.
 * Everything that could only fail later fails here.
 * Throws RolekeeperError `policy.guard_invalid`, naming the path, the value and the fix. Pure.
 */
export function compileRuleset(
  policy: GuardSections,
  deployment: Deployment,
  revalidations: Assumptions['revalidations'] = {},
): Ruleset {
  checkDeployment(deployment)
  const { role, limits, freshness, guard } = policy
  const rules = compileRules(guard.allow, deployment)
  const sanity = new Map([...rules.keys()].map((type) => [type, guard.sanity.byType.get(type) ?? PLAIN]))
  checkViews(guard.views, sanity)
  const hashed = { ...guard, sanity: guard.sanity.limits }
  return {
    hash: createHash('sha256')
      .update(canonicalJson({ role, limits, freshness, guard: hashed, deployment, revalidations }))
      .digest('hex'),
    role,
    limits,
    freshness,
    gasHeadroomBps: guard.gasHeadroomBps,
    deployment,
    revalidations: new Map(Object.entries(revalidations)),
    rules,
    effects: compileEffects(guard.effects, rules, deployment),
    sanity,
  }
}

function checkDeployment({ assets, markets, funds }: Deployment): void {
  const known = new Set(assets.map(({ address }) => address))
  const used = [
    ...markets.map(({ loanAsset }, index) => [`markets[${index}].loanAsset`, loanAsset] as const),
    ...markets.map(({ collateralAsset }, at) => [`markets[${at}].collateralAsset`, collateralAsset] as const),
    ...funds.map(({ quoteAsset }, index) => [`funds[${index}].quoteAsset`, quoteAsset] as const),
  ]
  for (const [path, asset] of used) {
    if (known.has(asset)) continue
    throw wrong(
      `deployment.${path}`,
      `${asset} is not in deployment.assets.`,
      'pin the asset there, or correct this entry.',
    )
  }
}

function compileRules(
  sources: GuardPolicy['allow'],
  deployment: Deployment,
): ReadonlyMap<WorkflowType, readonly Rule[]> {
  const rules = new Map<WorkflowType, Rule[]>()
  const ids = new Set<string>()
  for (const [index, source] of sources.entries()) {
    const path = `guard.allow[${index}]`
    const type = source.workflowType
    if (ids.has(source.id))
      throw wrong(`${path}.id`, `"${source.id}" is used twice.`, 'give each rule its own id.')
    ids.add(source.id)
    needInputs(type, `${path}.workflowType`)
    rules.set(type, [...(rules.get(type) ?? []), compileRule(source, path, deployment)])
  }
  for (const [type, ofType] of rules) checkSequences(type, ofType)
  return rules
}

/** What of an input every rule of a type can name. */
function needInputs(type: WorkflowType, path: string): InputShape {
  const inputs = inputShape(type, {})
  if (inputs !== null) return inputs
  throw wrong(path, `What an input of ${type} holds is not known.`, 'remove it.')
}

/** Whatever the input is, its calls end with one that is always there and uses what was approved before. */
function checkSequences(type: WorkflowType, rules: readonly Rule[]): void {
  for (const { when } of rules) {
    const sequence = rulesFor(rules, when)
    if (sequence.filter(({ typedData }) => typedData !== null).length > 1) {
      throw wrong('guard.allow', `${type} carries more than one signature.`, 'keep one typedData.')
    }
    const last = sequence.at(-1)
    invariant(last !== undefined, `a rule of ${type} is in its own sequence`)
    if (!last.isApproval && !last.optional) continue
    throw wrong(
      'guard.allow',
      `${type} ends with ${last.isApproval ? 'an approval that nothing uses' : 'a call that may be missing'}.`,
      'put the call that uses it after it.',
    )
  }
}

function checkViews(signatures: readonly string[], sanity: ReadonlyMap<WorkflowType, Sanity>): void {
  const listed = new Set<string>()
  for (const [index, text] of signatures.entries()) {
    const path = `guard.views[${index}]`
    const item = parseFunction(text, path)
    if (item.stateMutability !== 'view' && item.stateMutability !== 'pure') {
      throw wrong(path, `${item.name} is not a view.`, 'list only functions that change nothing.')
    }
    const shape = viewShape(item)
    if (listed.has(shape)) throw wrong(path, `${shape} is listed twice.`, 'keep one.')
    listed.add(shape)
  }
  const needed = [...TOKEN_VIEWS, ...[...sanity.values()].flatMap(({ views }) => views)]
  const missing = needed.map(viewShape).find((shape) => !listed.has(shape))
  if (missing === undefined) return
  throw wrong('guard.views', `${missing} is not listed.`, 'add it with these types, or correct its entry.')
}

function compileEffects(
  sources: GuardPolicy['effects'],
  rules: ReadonlyMap<WorkflowType, readonly Rule[]>,
  deployment: Deployment,
): ReadonlyMap<WorkflowType, Effects> {
  const effects = new Map<WorkflowType, Effects>()
  for (const [index, source] of sources.entries()) {
    const path = `guard.effects[${index}]`
    const type = source.workflowType
    if (effects.has(type)) throw wrong(path, `${type} is listed twice.`, 'keep one.')
    if (!rules.has(type))
      throw wrong(path, `${type} has no rule in guard.allow.`, 'remove it, or add its rules.')
    const scope = { inputs: needInputs(type, `${path}.workflowType`), deployment }
    effects.set(type, compileEffect(source, scope, path))
  }
  for (const type of rules.keys()) {
    if (!effects.has(type))
      throw wrong('guard.effects', `${type} has no entry.`, 'state what may leave and must come in.')
  }
  return effects
}

function compileEffect(source: GuardPolicy['effects'][number], scope: Scope, path: string): Effects {
  const token = (text: string, at: string) => needOne(needReference(text, 'address', scope, at), at)
  const assets = (text: string, at: string) => needReference(text, 'uint', scope, at)
  return {
    out: source.out.map((item, at) => ({
      token: token(item.token, `${path}.out[${at}].token`),
      assetsMax: assets(item.assetsMax, `${path}.out[${at}].assetsMax`),
    })),
    in: source.in.map((item, at) => ({
      token: token(item.token, `${path}.in[${at}].token`),
      assetsMin: assets(item.assetsMin, `${path}.in[${at}].assetsMin`),
    })),
    moves: (source.moves ?? []).map((item, at) => ({
      token: token(item.token, `${path}.moves[${at}].token`),
      assets: assets(item.assets, `${path}.moves[${at}].assets`),
    })),
  }
}

function needOne(reference: Reference, path: string): Reference {
  if (reference.each === null) return reference
  throw wrong(path, `"${reference.text}" is a whole list.`, 'use a reference to one token.')
}

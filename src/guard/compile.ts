import { createHash } from 'node:crypto'
import { type AbiFunction, type AbiParameter, parseAbi, toFunctionSelector, toFunctionSignature } from 'viem'
import { z } from 'zod'
import type { Role } from '../agent.ts'
import { RolekeeperError } from '../errors.ts'
import type { Assumptions } from '../service/assumptions.ts'
import { agentRoleOf, WORKFLOW_CATALOGUE, type WorkflowType } from '../service/workflow-types.ts'
import { canonicalJson } from './canonical-json.ts'
import {
  type Condition,
  compileList,
  compileReference,
  type Reference,
  type ValueKind,
} from './conditions.ts'
import type { Deployment, Effects, Freshness, GuardPolicy, Limits, Rule, Ruleset } from './ruleset.ts'
import { SANITY } from './sanity/liquidator.ts'
import { VIEWS_NEEDED, viewShape } from './views.ts'

/** The sections of a policy that the guard enforces, with the role they are for. */
export type GuardSections = {
  readonly role: Role
  readonly limits: Limits
  readonly freshness: Freshness
  readonly guard: GuardPolicy
}

/** Never allowed, whatever a rule says: each hands out more than one action needs, or hides what runs inside. */
const DENIED_FUNCTIONS: ReadonlySet<string> = new Set(
  [
    'transfer(address,uint256)',
    'transferFrom(address,address,uint256)',
    'increaseAllowance(address,uint256)',
    'setApprovalForAll(address,bool)',
    'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
    'approve(address,address,uint160,uint48)',
    'transferOwnership(address)',
    'multicall(bytes[])',
    'execute(address,uint256,bytes)',
    'execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)',
  ].map((text) => toFunctionSelector(text)),
)

/** Source: EIP-20. */
const APPROVE = toFunctionSelector('approve(address,uint256)')

const wrong = (path: string, problem: string, fix: string) =>
  new RolekeeperError('policy.guard_invalid', `${path}: ${problem}`, { fix, facts: { path } })

/**
 * Compile a policy's guard sections against the pinned deployment, and what the service calls our revalidations. Everything that could only fail later fails here.
 * Throws RolekeeperError `policy.guard_invalid`, naming the path, the value and the fix. Pure.
 */
export function compileRuleset(
  policy: GuardSections,
  deployment: Deployment,
  revalidations: Assumptions['revalidations'] = {},
): Ruleset {
  checkDeployment(deployment)
  const { role, limits, freshness, guard } = policy
  const rules = new Map<WorkflowType, Rule[]>()
  const ids = new Set<string>()
  for (const [index, source] of guard.allow.entries()) {
    const path = `guard.allow[${index}]`
    if (ids.has(source.id))
      throw wrong(`${path}.id`, `"${source.id}" is used twice.`, 'give each rule its own id.')
    ids.add(source.id)
    checkRole(source.workflowType, role, path)
    const rule = compileRule(source, path, deployment)
    rules.set(source.workflowType, [...(rules.get(source.workflowType) ?? []), rule])
  }
  for (const [type, sequence] of rules) {
    if (sequence.at(-1)?.isApproval === true) {
      throw wrong(
        'guard.allow',
        `${type} ends with an approval that nothing uses.`,
        'put the call that uses it after it.',
      )
    }
  }
  return {
    hash: createHash('sha256')
      .update(canonicalJson({ role, limits, freshness, guard, deployment, revalidations }))
      .digest('hex'),
    role,
    limits,
    freshness,
    sanity: guard.sanity,
    gasHeadroomBps: guard.gasHeadroomBps,
    deployment,
    revalidations: new Map(Object.entries(revalidations)),
    views: compileViews(guard.views),
    rules,
    effects: compileEffects(guard.effects, rules),
  }
}

function checkRole(type: WorkflowType, role: Role, path: string): void {
  const owner = agentRoleOf(type)
  const where = `${path}.workflowType`
  if (owner !== role)
    throw wrong(
      where,
      `${type} belongs to ${owner === null ? 'no agent' : `the ${owner}`}, not to the ${role}.`,
      'remove it.',
    )
  if (!SANITY.has(type))
    throw wrong(where, `The guard has no judgement of its own for ${type}.`, 'remove it.')
}

function checkDeployment({ assets, markets }: Deployment): void {
  const known = new Set(assets.map(({ address }) => address))
  for (const [index, market] of markets.entries()) {
    for (const member of ['loanAsset', 'collateralAsset'] as const) {
      if (known.has(market[member])) continue
      const path = `deployment.markets[${index}].${member}`
      throw wrong(
        path,
        `${market[member]} is not in deployment.assets.`,
        'pin the asset there, or correct the market.',
      )
    }
  }
}

function parseFunction(text: string, path: string): AbiFunction {
  let items: readonly unknown[] = []
  try {
    items = parseAbi([text])
  } catch {
    // The parser's own words come in several lines; what matters is which text, and what one looks like.
  }
  const [item] = items.filter((entry): entry is AbiFunction => isFunction(entry))
  if (item !== undefined && items.length === 1) return item
  throw wrong(
    path,
    `"${text}" is not a function.`,
    'write it as Solidity does: "function paused() view returns (bool)".',
  )
}

const isFunction = (entry: unknown): entry is AbiFunction =>
  typeof entry === 'object' && entry !== null && 'type' in entry && entry.type === 'function'

function compileRule(source: GuardPolicy['allow'][number], path: string, deployment: Deployment): Rule {
  const abi = parseFunction(source.function, `${path}.function`)
  const selector = toFunctionSelector(abi)
  if (DENIED_FUNCTIONS.has(selector)) {
    throw wrong(`${path}.function`, `${toFunctionSignature(abi)} is never allowed.`, 'remove the rule.')
  }
  const names = abi.inputs.map(({ name }) => name)
  const foreign = Object.keys(source.params).find((name) => !names.includes(name))
  if (foreign !== undefined) {
    throw wrong(
      `${path}.params.${foreign}`,
      'the function has no such parameter.',
      `use its names: ${names.join(', ')}.`,
    )
  }
  const isApproval = selector === APPROVE
  const inputs = inputKindsOf(source.workflowType)
  const params = abi.inputs.map((parameter) => {
    const name = parameter.name ?? ''
    const tests = source.params[name]
    const at = `${path}.params.${name}`
    if (tests === undefined) throw wrong(at, 'the parameter has no condition.', 'state what it may be.')
    if (isApproval && (tests.eq === undefined || !tests.eq.startsWith('$'))) {
      throw wrong(
        at,
        'an approval must be for exactly what the action needs.',
        'use eq with a member of the request.',
      )
    }
    const compiled = compileTests(tests, valueKindOf(parameter, at), inputs, deployment, at)
    return { name, type: parameter.type, tests: compiled }
  })
  const { id, target, valueWeiMax, gasMax } = source
  return { id, target, abi, selector, isApproval, params, valueWeiMax, gasMax }
}

function valueKindOf(parameter: AbiParameter, path: string): ValueKind {
  if (parameter.type === 'address') return 'address'
  if (/^uint\d*$/.test(parameter.type)) return 'uint'
  throw wrong(
    path,
    `the type ${parameter.type} has no rule language.`,
    'allow only address and uint parameters.',
  )
}

function compileTests(
  tests: GuardPolicy['allow'][number]['params'][string],
  kind: ValueKind,
  inputs: ReadonlyMap<string, ValueKind>,
  deployment: Deployment,
  path: string,
): readonly Condition[] {
  return (['eq', 'in', 'min', 'max'] as const).flatMap((op): Condition[] => {
    const text = tests[op]
    if (text === undefined) return []
    if (op !== 'in') {
      if (op !== 'eq' && kind === 'address')
        throw wrong(`${path}.${op}`, 'an address has no order.', 'use eq or in.')
      return [{ op, reference: needReference(text, kind, inputs, `${path}.${op}`) }]
    }
    const list = kind === 'address' ? compileList(text, deployment) : null
    if (list !== null) return [{ op, text, list }]
    throw wrong(
      `${path}.in`,
      `"${text}" is no list.`,
      'use $deployment.markets, $deployment.vaults or $deployment.assets.',
    )
  })
}

function needReference(
  text: string,
  kind: ValueKind,
  inputs: ReadonlyMap<string, ValueKind>,
  path: string,
): Reference {
  const reference = compileReference(text, kind, inputs)
  if (reference !== null) return reference
  const members = [...inputs].filter(([, is]) => is === kind).map(([name]) => `$input.${name}`)
  const others = kind === 'address' ? ['$self', '$market.loanAsset'] : ['$deadline']
  const known = [...members, ...others].join(', ')
  throw wrong(path, `"${text}" refers to no ${kind} that is known.`, `use a value, or one of ${known}.`)
}

const SAMPLE_ADDRESS = `0x${'1'.repeat(40)}`

/** Members of a workflow's input; one that is a choice of shapes has none that a rule can name. */
const shapeOf = (input: z.ZodType): Readonly<Record<string, z.ZodType>> =>
  input instanceof z.ZodObject ? input.shape : {}

/** What each member of a workflow's input holds, by asking its schema. */
function inputKindsOf(type: WorkflowType): ReadonlyMap<string, ValueKind> {
  const members = Object.entries(shapeOf(WORKFLOW_CATALOGUE[type].input))
  return new Map(
    members.map(([name, schema]) => [name, schema.safeParse(SAMPLE_ADDRESS).success ? 'address' : 'uint']),
  )
}

function compileViews(signatures: readonly string[]): ReadonlyMap<string, AbiFunction> {
  const views = new Map<string, AbiFunction>()
  for (const [index, text] of signatures.entries()) {
    const path = `guard.views[${index}]`
    const item = parseFunction(text, path)
    if (item.stateMutability !== 'view' && item.stateMutability !== 'pure') {
      throw wrong(path, `${item.name} is not a view.`, 'list only functions that change nothing.')
    }
    if (views.has(item.name)) throw wrong(path, `${item.name} is listed twice.`, 'keep one.')
    views.set(item.name, item)
  }
  for (const needed of VIEWS_NEEDED) {
    const given = views.get(needed.name)
    if (given !== undefined && viewShape(given) === viewShape(needed)) continue
    throw wrong(
      'guard.views',
      `${viewShape(needed)} is not listed.`,
      'add it with these types, or correct its entry.',
    )
  }
  return views
}

function compileEffects(
  sources: GuardPolicy['effects'],
  rules: ReadonlyMap<WorkflowType, readonly Rule[]>,
): ReadonlyMap<WorkflowType, Effects> {
  const effects = new Map<WorkflowType, Effects>()
  for (const [index, source] of sources.entries()) {
    const path = `guard.effects[${index}]`
    const type = source.workflowType
    if (effects.has(type)) throw wrong(path, `${type} is listed twice.`, 'keep one.')
    if (!rules.has(type))
      throw wrong(path, `${type} has no rule in guard.allow.`, 'remove it, or add its rules.')
    const inputs = inputKindsOf(type)
    effects.set(type, {
      out: source.out.map((item, at) => ({
        token: needReference(item.token, 'address', inputs, `${path}.out[${at}].token`),
        assetsMax: needReference(item.assetsMax, 'uint', inputs, `${path}.out[${at}].assetsMax`),
      })),
      in: source.in.map((item, at) => ({
        token: needReference(item.token, 'address', inputs, `${path}.in[${at}].token`),
        assetsMin: needReference(item.assetsMin, 'uint', inputs, `${path}.in[${at}].assetsMin`),
      })),
    })
  }
  for (const type of rules.keys()) {
    if (!effects.has(type))
      throw wrong('guard.effects', `${type} has no entry.`, 'state what may leave and must come in.')
  }
  return effects
}

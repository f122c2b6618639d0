import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AbiFunction, type Address, type Hex, toFunctionSelector, toFunctionSignature } from 'viem'
import { z } from 'zod'
import { agents } from '../../../agents/index.ts'
import { readCode } from '../../chain/read-code.ts'
import { nearest } from '../../config/check.ts'
import { loadWithIncludes } from '../../config/include.ts'
import { openSecretsOf } from '../../config/managers.ts'
import { type Environment, type Origins, secretUrl } from '../../config/scalars.ts'
import { loadYaml } from '../../config/yaml.ts'
import { pinsOf } from '../../guard/policy/deployment.ts'
import { parseFunction } from '../../guard/policy/functions.ts'
import type { Weakness } from '../../guard/policy/lints.ts'
import type { GuardPolicy } from '../../guard/policy/policy.ts'
import { type Deployment, deployment } from '../../service/contract/deployment.ts'
import { WORKFLOW_TYPES, type WorkflowType } from '../../service/contract/workflow-types.ts'
import { whole } from '../../service/contract/yaml-scalars.ts'
import { namedBy } from '../policy/prove-views.ts'

/**
 * The code of pinned contracts, by address; a proxy's is that of what it runs too. Null where no node shows what is pinned; empty
 * where none was asked.
 */
export type Codes = ReadonlyMap<Address, Hex | null>

/** What of a run configuration says where code is read: here its secrets have to be there. */
const connected = (from: Origins) =>
  z.looseObject({
    chain: z.looseObject({
      id: whole(1, Number.MAX_SAFE_INTEGER),
      nodes: z.looseObject({ read: z.array(secretUrl(from)).min(1) }),
    }),
    deployment,
  })

const NODE_TIMEOUT_MS = 2_000
const SHIPPED = fileURLToPath(new URL('../../../policies/', import.meta.url))

/** Read the code that a run configuration pins; nothing where its nodes are not known here. */
export async function readCodes(config: string, env: Environment): Promise<Codes> {
  const yaml = loadYaml(config)
  // Where they cannot be read, the nodes are not known here.
  const store = await openSecretsOf(yaml, env, ['chain']).catch(() => null)
  store?.close()
  const { data } = connected({ env, secrets: store ?? undefined }).safeParse(yaml.value)
  if (data === undefined) return new Map()
  const pins = pinsOf(data.deployment)
  const codes = await readCode(
    pins.flatMap(({ proxy, ...pin }) =>
      proxy === undefined ? [pin] : [pin, { address: proxy.implementation, codeHash: proxy.codeHash }],
    ),
    {
      chainId: data.chain.id,
      urls: data.chain.nodes.read.map((url) => url.reveal()),
      timeoutMs: NODE_TIMEOUT_MS,
    },
  )
  const whole = pins.map(({ address, proxy }) => {
    const parts = [address, ...(proxy === undefined ? [] : [proxy.implementation])].map((each) =>
      codes.get(each),
    )
    return [address, parts.includes(undefined) ? null : (parts.join('') as Hex)] as const
  })
  return new Map(whole)
}

/** A function that a policy names: where, of which contract, and what a slip in it may have been meant to be. */
type Stated = {
  readonly path: readonly (string | number)[]
  readonly item: AbiFunction
  /** Empty for any contract. */
  readonly target: string
  readonly known: readonly AbiFunction[]
  /** A denial may be of what nobody has. */
  readonly mayBeAbsent: boolean
}

/**
 * Find functions that nothing here has, by the code of what is pinned: calls by them are never prepared. Where the code is not
 * known, find names that are nearly one which the shipped policies call for the same. Pure.
 */
export const misnamedIn = (guard: GuardPolicy, pinned: Deployment, codes: Codes): readonly Weakness[] =>
  statedIn(guard).flatMap((stated) => {
    const { path, item, target, known, mayBeAbsent } = stated
    const one = namedBy(target, pinned)
    const found = mayBeAbsent ? null : isIn(item, one ?? pinsOf(pinned).map(({ address }) => address), codes)
    if (found === true || (found === null && known.some(({ name }) => name === item.name))) return []
    const names = known.map(({ name }) => name)
    const near = known.find(({ name }) => name === nearest(item.name, names))
    if (found === null && near === undefined) return []
    const signature = toFunctionSignature(item)
    const problem =
      found === null
        ? `no shipped policy names ${signature}`
        : one === null
          ? `no contract of the deployment has ${signature} in its code`
          : `${target} has no ${signature} in its code`
    const fix =
      near === undefined
        ? 'correct its name and the types of its parameters'
        : `if it is a slip, write ${toFunctionSignature(near)}`
    return [{ path, problem, fix }]
  })

/**
 * Find venues whose code lacks what they are called by where something is sold: nothing would ever be quoted there, or sold.
 * `named` are the contracts that the role's limits name, by their places. Pure.
 */
export const venuesWithout = (
  { allow, views }: GuardPolicy,
  named: readonly (readonly [place: string, name: string])[],
  pinned: Deployment,
  codes: Codes,
): readonly Weakness[] => {
  const swaps = allow.filter(({ target }) => target === '$input.venueAddress').map((rule) => rule.function)
  const items = [...swaps, ...views]
    .map((text) => parseFunction(text, 'guard'))
    .filter(({ name }, index) => index < swaps.length || name === 'quote')
  return named.flatMap(([place, name]) => {
    const at = namedBy(`$contract.${name}`, pinned)
    if (!place.endsWith('.venue') || at === null) return []
    return items
      .filter((item) => isIn(item, at, codes) === false)
      .map((item) => ({
        path: ['guard', 'sanity', ...place.split('.')],
        problem: `guard.sanity.${place} is ${name}, which has no ${toFunctionSignature(item)} in its code`,
        fix: 'name the contract that has it, or correct the function in guard.allow and guard.views',
      }))
  })
}

/** Whether some of these contracts has a function, by its selector; null where the code of one is not known. */
function isIn(item: AbiFunction, among: readonly Address[], codes: Codes): boolean | null {
  // A compiler leaves out zeros that a selector begins with.
  const selector = toFunctionSelector(item)
    .slice(2)
    .replace(/^(00)+/, '')
  const found = among.map((address) => codes.get(address)?.includes(selector) ?? null)
  return found.includes(true) ? true : found.includes(null) ? null : false
}

function statedIn({ views, facts = {}, allow, deny = [] }: GuardPolicy): readonly Stated[] {
  const shipped = shippedRules()
  const knownOf = (type?: WorkflowType) => [
    ...new Map(
      [...shipped, ...(type === undefined ? allow : [])]
        .filter(({ workflowType, target }) => target !== 'deploy' && workflowType === (type ?? workflowType))
        .map((rule) => [rule.function, parseFunction(rule.function, 'guard.allow')]),
    ).values(),
  ]
  const state = (
    path: Stated['path'],
    {
      function: text = '',
      target = '',
    }: { readonly function?: string | undefined; readonly target?: string | undefined },
    known: Stated['known'],
    mayBeAbsent = false,
  ): readonly Stated[] =>
    text === '' || target === 'deploy'
      ? []
      : [{ path, target, known, mayBeAbsent, item: parseFunction(text, path.join('.')) }]
  return [
    ...views.flatMap((text, index) => state(['guard', 'views', index], { function: text }, [])),
    ...Object.entries(facts).flatMap(([name, fact]) =>
      typeof fact === 'object' && 'target' in fact
        ? state(['guard', 'facts', name, 'function'], fact, [])
        : [],
    ),
    ...allow.flatMap((rule, index) =>
      state(['guard', 'allow', index, 'function'], rule, knownOf(rule.workflowType)),
    ),
    ...deny.flatMap((denial, index) =>
      state(['guard', 'deny', index, 'function'], denial, knownOf(denial.workflowType), true),
    ),
  ].filter(({ item, path }) => path[1] !== 'views' || facts[item.name] === undefined)
}

const shippedRule = z.looseObject({
  workflowType: z.enum(WORKFLOW_TYPES),
  target: z.string(),
  function: z.string(),
})
const shippedPolicy = z.looseObject({ guard: z.looseObject({ allow: z.array(shippedRule) }) })

/** The rules of all shipped policies: what each workflow type is known to call. */
const shippedRules = () =>
  agents.flatMap(
    ({ role }) => shippedPolicy.parse(loadWithIncludes(join(SHIPPED, `${role}.yaml`)).value).guard.allow,
  )

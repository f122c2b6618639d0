import { type AbiFunction, type Address, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem'
import type { Nodes } from '../../chain/nodes.ts'
import { pinsOf } from '../../guard/policy/deployment.ts'
import { parseView } from '../../guard/policy/functions.ts'
import type { GuardPolicy } from '../../guard/policy/policy.ts'
import { policyError } from '../../guard/policy/policy-error.ts'
import { viewShape } from '../../guard/reads/views.ts'
import type { Ruleset } from '../../guard/ruleset.ts'
import type { Deployment } from '../../service/contract/deployment.ts'

/** A function that some contract among these has to answer, and where the policy says so. */
type RequiredView = {
  readonly path: string
  readonly item: AbiFunction
  readonly among: readonly Address[]
}

/**
 * Prove that the chain has the views which a role is judged by: a workflow could only be refused for one that is nowhere.
 * Asked are those without arguments. Another one may revert for arguments that nobody has (`claim(0)`), and the code of a
 * proxy holds no selector of what it runs: to look for either would keep a role down that is sound. Its reads deny instead.
 * Throws RolekeeperError `policy.guard_invalid` with the view's place in the policy, and `node.*` when too few nodes answer.
 */
export async function proveViews(
  nodes: Pick<Nodes, 'calls'>,
  { sanity, deployment }: Pick<Ruleset, 'sanity' | 'deployment'>,
  guard: Pick<GuardPolicy, 'views' | 'facts'>,
): Promise<void> {
  const pinned = [...new Set(pinsOf(deployment).map(({ address }) => address))]
  const judged = new Set([...sanity.values()].flatMap(({ views }) => views.map(viewShape)))
  const views = guard.views.flatMap((text, index): readonly RequiredView[] => {
    const path = `guard.views[${index}]`
    const item = parseView(text, path)
    const isAsked = judged.has(viewShape(item)) && guard.facts?.[item.name] === undefined
    return isAsked ? [{ path, item, among: pinned }] : []
  })
  const facts = Object.entries(guard.facts ?? {}).flatMap(([name, source]): readonly RequiredView[] => {
    if (typeof source === 'string' || !('target' in source)) return []
    const path = `guard.facts.${name}.function`
    return [
      { path, item: parseView(source.function, path), among: namedBy(source.target, deployment) ?? pinned },
    ]
  })
  const wanted = [...views, ...facts].filter(({ item }) => item.inputs.length === 0)
  const [absent] = await unanswered(nodes, wanted)
  if (absent === undefined) return
  throw policyError(
    absent.path,
    `no contract of the deployment answers ${viewShape(absent.item)}.`,
    'correct its name and types, pin the contract that has it, or say by guard.facts what is asked here instead.',
  )
}

/** Few contracts have a view, and many are alike: the next are asked only for a view that none before them answered. */
const FIRST = 8

/** Find the views that no contract among theirs answers. */
async function unanswered(
  nodes: Pick<Nodes, 'calls'>,
  wanted: readonly RequiredView[],
): Promise<readonly RequiredView[]> {
  let left = wanted
  for (let [from, to] = [0, FIRST]; ; [from, to] = [to, to * FIRST]) {
    const asked = left.flatMap((one) => one.among.slice(from, to).map((address) => ({ ...one, to: address })))
    if (asked.length === 0) return left
    const answers = await nodes.calls(
      asked.map(({ item, to }) => ({ to, data: encodeFunctionData({ abi: [item] }) })),
    )
    const found = new Set(asked.flatMap(({ item }, index) => (isAnswer(item, answers[index]) ? [item] : [])))
    left = left.filter(({ item }) => !found.has(item))
  }
}

/** The one contract that a target names; null where it depends on the request. Pure. */
export function namedBy(target: string, { contracts, assets }: Deployment): readonly Address[] | null {
  const [, list, name] = /^\$(contract|asset)\.(.+)$/.exec(target) ?? []
  if (list === undefined) return null
  const found =
    list === 'contract'
      ? contracts.find((each) => each.name === name)
      : assets.find(({ symbol }) => symbol === name)
  return found === undefined ? null : [found.address]
}

function isAnswer(item: AbiFunction, data: Hex | null | undefined): boolean {
  try {
    decodeFunctionResult({ abi: [item], data: data ?? '0x' })
    return true
  } catch {
    return false
  }
}

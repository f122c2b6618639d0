import type { Deployment } from '../../service/contract/deployment.ts'
import type { WorkflowType } from '../../service/contract/workflow-types.ts'
import { choicesOf } from './conditions.ts'
import { inputShapes, type When } from './inputs.ts'
import { policyError } from './policy-error.ts'
import type { Effects, Reference } from './references.ts'
import { type Rule, rulesFor, testsOf } from './rule.ts'

/** Members of the input that a role's judgement of a workflow type relies on, by path. */
export type Relied = ReadonlyMap<WorkflowType, readonly string[]>

/**
 * Refuse rules that let a call say something else than what the role's judgement reads of the request: each member that
 * it relies on is an argument by `eq`, the target of a call, or bounds what leaves and comes in.
 * Throws RolekeeperError `policy.guard_invalid`. Pure.
 */
export function checkRelied(
  rules: ReadonlyMap<WorkflowType, readonly Rule[]>,
  effects: ReadonlyMap<WorkflowType, Effects>,
  relied: Relied,
  deployment: Deployment,
): void {
  for (const [type, all] of relied) {
    const ofType = rules.get(type) ?? []
    const members = all.filter((member) => !isOnlyOne(member, deployment))
    for (const { when } of ofType) checkInputs(type, when, ofType, { effects: effects.get(type), members })
  }
}

/** Whether a member can only be the one contract of its list that is pinned. */
const isOnlyOne = (member: string, { markets, vaults, funds }: Deployment): boolean =>
  (member === 'marketAddress' && markets.length === 1) ||
  (member === 'vaultAddress' && vaults.length === 1) ||
  (member === 'fundAddress' && funds.length === 1)

function checkInputs(
  type: WorkflowType,
  when: When,
  ofType: readonly Rule[],
  { effects, members }: { readonly effects: Effects | undefined; readonly members: readonly string[] },
): void {
  const carried = new Set([
    ...rulesFor(ofType, when).filter(uses).flatMap(carriedBy),
    ...(effects?.out ?? []).map(({ assetsMax }) => memberOf(assetsMax)),
    ...(effects?.in ?? []).map(({ assetsMin }) => memberOf(assetsMin)),
  ])
  const shapes = inputShapes(type, when)
  const loose = members.find((member) => !carried.has(member) && shapes.some((shape) => shape.has(member)))
  if (loose === undefined) return
  throw policyError(
    'guard.allow',
    `the role's own judgement of ${type} reads $input.${loose}, and no call carries it.`,
    `use eq with $input.${loose} for the parameter that it is, or bound it by guard.effects.`,
  )
}

/** An approval moves nothing by itself, and a call that may be missing carries nothing. */
const uses = ({ isApproval, optional }: Rule): boolean => !isApproval && !optional

const carriedBy = ({ target, leaves, inside }: Rule): readonly (string | null)[] => [
  ...(inside?.rules ?? []).flatMap(carriedBy),
  ...(target === null ? [] : [memberOf(target)]),
  ...leaves.flatMap((leaf) => inEvery(choicesOf(testsOf(leaf)).map(equalTo))),
]

const equalTo = (tests: ReturnType<typeof choicesOf>[number]): readonly (string | null)[] =>
  tests.map((test) => (test.op === 'eq' ? memberOf(test.reference) : null))

const inEvery = ([first = [], ...others]: readonly (readonly (string | null)[])[]) =>
  first.filter((member) => others.every((other) => other.includes(member)))

/** The contracts of a request go by names of their own. */
const CONTRACTS: Readonly<Record<string, string>> = {
  $market: 'marketAddress',
  $vault: 'vaultAddress',
  $fund: 'fundAddress',
}

/** The member of the input that a reference stands for; null when it is none. */
const memberOf = ({ text }: Reference): string | null =>
  text.startsWith('$input.') ? text.slice('$input.'.length) : (CONTRACTS[text] ?? null)

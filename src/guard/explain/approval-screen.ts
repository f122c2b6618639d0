import type { Address } from 'viem'
import { invariant } from '../../errors.ts'
import type { Deployment } from '../../service/contract/deployment.ts'
import { WORKFLOW_CATALOGUE, type WorkflowType } from '../../service/contract/workflow-types.ts'
import { baseUnits, duration, exactNative, exactTokens, exactUsd } from '../../units.ts'
import type { ApprovalView, ShownArgument, ShownCall, ShownChange } from '../../workflow/approval-view.ts'
import type { Reason } from '../../workflow/proposal.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { type Approvers, mayApprove } from '../approval/approvers.ts'
import { subjectOf } from '../checks/check-request.ts'
import { type Condition, describeCondition } from '../policy/conditions.ts'
import { pinOf } from '../policy/deployment.ts'
import { figureText } from '../policy/figures.ts'
import { operatorOf } from '../policy/operators.ts'
import { type ListIndexes, memberAt } from '../policy/paths.ts'
import { type Effects, elementsOf, type Reference, type Subject, sumOf } from '../policy/references.ts'
import { type Leaf, type Rule, rulesFor, testsOf, type ValueRule } from '../policy/rule.ts'
import { asAddress, asUint, type Value } from '../policy/values.ts'
import type { Ruleset } from '../ruleset.ts'
import { NAMED_ROLES } from '../sanity/vault-views.ts'

/** What is shown of one proposal, and what its amounts are of. */
export type Scene = {
  readonly subject: Subject
  readonly ruleset: Ruleset
  /** Of a call that approves: the token that its amount is of. */
  readonly approved?: Address | undefined
}

/**
 * Show what the rules let pass for a proposal, as a person approves it: each call with our name of its contract and what
 * each argument is or lies between, what it does to balances, and what it changes. What the service prepares is judged by
 * the same rules: no other call is ever signed for it. The proposal has passed `checkRequest`. Pure.
 */
export function show(
  { role, proposal, signer }: Pick<Workflow, 'role' | 'proposal' | 'signer'>,
  ruleset: Ruleset,
  known: Approvers,
): Omit<ApprovalView, 'day'> {
  const { workflowType, input, exposure, reason } = proposal
  const found = subjectOf(proposal, signer, ruleset)
  const effects = ruleset.effects.get(workflowType)
  invariant(found.ok && effects !== undefined, `a ${workflowType} that is shown has passed its rules`)
  const scene: Scene = { subject: { ...found.subject, deadlineS: 0n }, ruleset }
  const rules = rulesFor(ruleset.rules.get(workflowType) ?? [], input)
  const ofInput = ruleset.metadata.get(workflowType)
  return {
    calls: [
      ...rules.flatMap((rule) => showCalls(rule, scene)),
      ...(ofInput === undefined ? [] : [showSaved(workflowType, ofInput, scene)]),
    ],
    effects: [
      ...showEffects(effects, scene),
      `counts as ${exactUsd(exposure.usdMicros)}`,
      `gas: at most ${exactNative(ruleset.limits.perWorkflow.gasWeiMax)}`,
    ],
    // Whoever submits it writes its reason too: what they say was there before is no comparison of ours, which reads the chain.
    changes: proposal.askedBy === undefined ? showChanges(reason, scene) : [],
    askedBy: proposal.askedBy ?? `the agent of the ${role}`,
    quorum: known.quorum,
    approvers: Object.keys(known.approvers).length === 0 ? null : showApprovers(proposal.askedBy, known),
  }
}

const showApprovers = (askedBy: string | undefined, known: Approvers) =>
  mayApprove(askedBy, known).map((name) => {
    const approver = known.approvers[name]
    return approver !== undefined && 'user' in approver ? { name, user: approver.user } : { name }
  })

/** Name an address as the run configuration does, with the address itself; the zero address is nobody's. Pure. */
export function nameAddress(
  address: string,
  deployment: Deployment,
  who: Pick<Subject, 'self' | 'ours'>,
): string {
  if (isNobody(address)) return NOBODY
  const name = nameOf(address, deployment, who)
  return name === null ? `${address} (no name of ours)` : `${name} ${address}`
}

const NOBODY = 'nobody'
const isNobody = (address: string) => /^0x0{40}$/.test(address)

/** Say of the zero address that it is nobody; any other text stays as it is. Pure. */
export const whoOf = (text: string): string => (isNobody(text) ? NOBODY : text)

/** Find our name of an address; null where we have none. Pure. */
export function nameOf(
  address: string,
  deployment: Deployment,
  { self, ours = [] }: Pick<Subject, 'self' | 'ours'>,
): string | null {
  const { assets, markets, vaults, funds, contracts } = deployment
  if (isNobody(address)) return NOBODY
  const named = [
    ...assets.map((each) => ({ ...each, name: each.symbol })),
    ...markets.map((each) => ({ ...each, name: each.name ?? 'a market' })),
    ...vaults.map((each) => ({ ...each, name: each.name ?? 'a vault' })),
    ...funds.map((each) => ({ ...each, name: each.name ?? 'a fund' })),
    ...contracts,
    { address: self, name: 'our signer' },
    ...ours.map((each) => ({ address: each, name: 'another signer of ours' })),
  ].find((each) => each.address.toLowerCase() === address.toLowerCase())
  return named?.name ?? null
}

/** Put the run configuration's names before the addresses of a text. Pure. */
export const nameAll = (text: string, { subject, ruleset }: Scene): string =>
  text.replace(/0x[0-9a-f]{40}(?![0-9a-f])/gi, (address) => nameAddress(address, ruleset.deployment, subject))

/** A call, and behind it those that it carries. */
const showCalls = (rule: Rule, scene: Scene): readonly ShownCall[] => [
  showCall(rule, scene),
  ...(rule.inside?.rules ?? []).flatMap((each) => showCalls(each, scene)),
]

/** What is saved at the service, which is done by preparing it: all that the input says. */
const showSaved = (type: WorkflowType, { leaves }: ValueRule, scene: Scene): ShownCall => ({
  to: 'the service',
  function: WORKFLOW_CATALOGUE[type].name,
  arguments: leaves.map((leaf) => ({ name: leaf.path, value: showMember(leaf, scene) })),
  notes: ['no call: preparing it is the effect'],
})

function showMember({ path: member, kind }: Leaf, scene: Scene): string {
  const stated = memberAt(scene.subject.input, member)
  const figure = asUint(stated)
  if (kind === 'uint' && figure !== undefined)
    return figureText(figure, { path: member, reference: '' }, scene.subject)
  return typeof stated === 'string' || typeof stated === 'boolean'
    ? showLike(stated, '', member, [], scene, stated)
    : 'NOTHING that is known'
}

function showCall(rule: Rule, scene: Scene): ShownCall {
  const { subject, ruleset } = scene
  const { target, creation, abi, optional, typedData, inside, valueWeiMax } = rule
  const to = asAddress(target?.resolve(subject))
  const here = { ...scene, approved: rule.isApproval ? to : undefined }
  return {
    to:
      target === null
        ? `a new contract, code ${creation?.codeHash}`
        : nameAddress(to ?? 'nothing', ruleset.deployment, subject),
    function: abi.name ?? 'constructor',
    arguments: rule.leaves.flatMap((leaf) => showLeaf(leaf, here)),
    notes: [
      ...(optional ? ['only where it is needed'] : []),
      ...(inside === null ? [] : [`carries the next ${inside.rules.length} calls`]),
      ...(typedData === null ? [] : [`carries our signature of a ${typedData.primaryType}`]),
      ...(valueWeiMax === 0n ? [] : [`sends at most ${exactNative(valueWeiMax)}`]),
    ],
  }
}

/** What one value of the arguments is, or each element of its list. */
function showLeaf(leaf: Leaf, scene: Scene): readonly ShownArgument[] {
  // What is compared with another argument alone is shown once, whatever elements it will have.
  const [places = [[]]] = leaf.tests.flatMap((test) =>
    'reference' in test && test.reference.each?.of === 'input'
      ? [elementsOf(test.reference, scene.subject) ?? [[]]]
      : [],
  )
  return places.map((place) => ({
    name: place.reduce((name, index) => name.replace('[]', `[${index}]`), leaf.path),
    value: showTests(leaf, place, scene),
  }))
}

function showTests(leaf: Leaf, place: ListIndexes, scene: Scene): string {
  const { path } = leaf
  const tests = testsOf(leaf)
  const exact = tests.find(({ op }) => op === 'eq')
  return (exact === undefined ? tests : [exact]).map((test) => showTest(test, path, place, scene)).join(', ')
}

/** Say what a test demands of the value at a path, with its unit. Pure. */
export function showTest(test: Condition, path: string, place: ListIndexes, scene: Scene): string {
  const { subject, ruleset } = scene
  // What is compared with another argument, or in part, has no value of its own before there is a call.
  const isPlain =
    'reference' in test &&
    !/^\$(args|fact)\./.test(test.reference.text) &&
    !('part' in test && test.part !== null)
  if (!isPlain) {
    return describeCondition(test, subject, place, (value, text) => showLike(value, text, path, place, scene))
  }
  const { reference } = test
  const { label } = operatorOf(test)
  // Before there is an answer, its end is not known.
  if (reference.text === '$deadline' && subject.deadlineS === 0n) {
    return `${label}${duration(ruleset.freshness.lifetimeMsMax)} after the answer`
  }
  return `${label}${showValue(reference, path, place, scene)}`
}

function showValue(reference: Reference, path: string, place: ListIndexes, scene: Scene): string {
  const { subject } = scene
  const value = reference.resolve(subject, place)
  if (value === undefined) return 'NOTHING that is known'
  const member = memberOf(reference.text, path)
  const stated = memberAt(subject.input, member, place)
  // A choice of the input is another value on chain.
  if (typeof stated === 'string' && typeof value !== 'string' && asUint(stated) === undefined) {
    return `${value} (${stated})`
  }
  return showLike(value, reference.text, path, place, scene, stated)
}

const memberOf = (text: string, path: string): string =>
  text.startsWith('$input.') ? text.slice('$input.'.length) : path

/** Write a value with the unit of the reference that it is compared with; `stated` is what the request says there. Pure. */
export function showLike(
  value: Value,
  reference: string,
  path: string,
  place: ListIndexes,
  { subject, ruleset, approved }: Scene,
  stated?: unknown,
): string {
  if (typeof value === 'bigint') return figureText(value, { path, place, reference, approved }, subject)
  if (asAddress(value) !== undefined) return nameAddress(String(value), ruleset.deployment, subject)
  return showText(value, stated)
}

function showText(value: Value, stated: unknown): string {
  // A role is its name's hash, which nobody reads.
  const role = NAMED_ROLES.find(({ hash }) => hash === value)
  const text = role === undefined ? String(value) : `${role.name} ${value}`
  if (typeof stated === 'string' && stated !== value) return `${quoted(stated)} (${text})`
  return role === undefined ? quoted(value) : text
}

/** What no screen shows, or what turns a line around, is written as its number: it is signed, and so it is seen. */
const quoted = (value: Value): string =>
  JSON.stringify(value).replace(
    /[\p{C}\p{DI}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu,
    (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`,
  )

function showEffects(effects: Effects, scene: Scene): readonly string[] {
  const amount = (token: Reference, assets: Reference) => {
    const [address, sum] = [asAddress(token.resolve(scene.subject)), sumOf(assets, scene.subject)]
    const { deployment } = scene.ruleset
    const asset = deployment.assets.find((each) => each.address === address)
    if (sum === null || address === undefined || pinOf(address, deployment) === undefined)
      return `an unknown amount of ${address}`
    return asset === undefined
      ? `${baseUnits(sum)} of ${nameAddress(address, deployment, scene.subject)}`
      : exactTokens(sum, asset)
  }
  const leaves = ({ assetsMax }: Effects['out'][number]) => sumOf(assetsMax, scene.subject) !== 0n
  const lines = [
    ...effects.out
      .filter(leaves)
      .map(({ token, assetsMax }) => `leaves us: at most ${amount(token, assetsMax)}`),
    ...effects.in.map(({ token, assetsMin }) => `comes in: at least ${amount(token, assetsMin)}`),
    ...effects.moves.map(({ token, assets }) => `moves of others: ${amount(token, assets)}`),
  ]
  return lines.length === 0 ? ['moves no token, ours or of others'] : lines
}

/** What an agent compared it writes as `fieldFrom` and `fieldTo` into its reason. */
function showChanges(reason: Reason, scene: Scene): readonly ShownChange[] {
  const shown = (field: string, value: Reason[string] | undefined) => {
    if (value === undefined) return null
    const figure = asUint(value)
    return figure === undefined
      ? String(value)
      : figureText(figure, { path: field, reference: '' }, scene.subject)
  }
  return Object.keys(reason).flatMap((name) => {
    const [, field] = /^(.+)To$/.exec(name) ?? []
    if (field === undefined) return []
    return [{ field, from: shown(field, reason[`${field}From`]), to: shown(field, reason[name]) ?? '' }]
  })
}

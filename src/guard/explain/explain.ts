import { type Refusal, refuse } from '../../errors.ts'
import type { TransactionIntent } from '../../service/contract/prepared-workflow.ts'
import type { FrozenAnswer } from '../../workflow/workflow.ts'
import { checkArguments } from '../calls/arguments.ts'
import { checkCall } from '../calls/call.ts'
import { type BoundWorkflow, checkPrepared } from '../checks/check-prepared.ts'
import { subjectOf } from '../checks/check-request.ts'
import { lifetimeOf } from '../checks/freshness.ts'
import { type Condition, holds } from '../policy/conditions.ts'
import { type Arguments, memberAt, placesOf } from '../policy/paths.ts'
import type { Subject } from '../policy/references.ts'
import { type Leaf, type Rule, rulesFor } from '../policy/rule.ts'
import { asAddress, asValue } from '../policy/values.ts'
import type { Ruleset } from '../ruleset.ts'
import { nameAll, type Scene, showLike, showTest } from './approval-screen.ts'

/** What one rule says of one call: it clears it, or every condition that failed, or what already stands before those. */
type RuleVerdict = {
  readonly rule: string
  readonly clears: boolean
  readonly why: readonly Refusal[]
  /** Facts of the chain that it rests on besides: they are not read here. */
  readonly facts: readonly string[]
}

/** One call of an answer, and what each rule of its workflow type says of it. */
type CallVerdict = {
  readonly order: number
  /** With the name that the run configuration gives. */
  readonly to: string
  /** The function, where a rule knows it; else its selector. */
  readonly calls: string
  readonly rules: readonly RuleVerdict[]
}

/** What the static guard says of an answer, and why. */
export type Explanation = {
  readonly refusal: Refusal | null
  readonly calls: readonly CallVerdict[]
}

/**
 * Say of an answer what the static guard says, and of each of its calls which rule clears it and why each other does not.
 * It decides nothing by itself: every verdict is that of the checks which stand before the key. Pure.
 */
export function explainPrepared(asked: {
  readonly workflow: BoundWorkflow
  readonly frozen: FrozenAnswer
  readonly ruleset: Ruleset
  readonly nowMs: number
}): Explanation {
  const { workflow, frozen, ruleset } = asked
  const { proposal, signer, attestation } = workflow
  const checked = checkPrepared(asked)
  const found = subjectOf(proposal, signer, ruleset)
  if (!found.ok) return { refusal: found, calls: [] }
  const deadlineS = BigInt(Math.floor(lifetimeOf(frozen, ruleset.freshness).endsAtMs / 1_000))
  const subject: Subject = { ...found.subject, deadlineS }
  const scene: Scene = { subject, ruleset }
  const rules = ruleset.rules.get(proposal.workflowType) ?? []
  return {
    refusal: checked.ok ? null : named(checked, scene),
    calls: frozen.answer.transactions
      .toSorted((a, b) => a.order - b.order)
      .map((intent) => ({
        order: intent.order,
        to: intent.target === null ? 'a new contract' : nameAll(intent.target.toLowerCase(), scene),
        calls: functionOf(intent, rules),
        rules: rules.map((rule) => {
          const why = whyNot(intent, rule, scene, attestation)
          return { rule: rule.id, clears: why.length === 0, why, facts: rule.quotes }
        }),
      })),
  }
}

function functionOf({ calldata }: TransactionIntent, rules: readonly Rule[]): string {
  const selector = calldata.slice(0, 10)
  return rules.find((rule) => rule.selector === selector)?.abi.name ?? `the unknown function ${selector}`
}

/** Every reason for which a rule does not clear a call; none where it does. */
function whyNot(
  intent: TransactionIntent,
  rule: Rule,
  scene: Scene,
  attestation: BoundWorkflow['attestation'],
): readonly Refusal[] {
  const { subject } = scene
  if (rulesFor([rule], subject.input).length === 0) {
    const when = Object.entries(rule.when).map(([name, value]) => `${name} ${value}`)
    return [refuse('other_request', `It is for a request with ${when.join(' and ')}.`)]
  }
  const checked = checkCall(intent, rule, subject, attestation)
  if (checked.ok) return []
  const bare = checkCall(intent, { ...rule, leaves: [] }, subject, attestation)
  if (!bare.ok) return [named(bare, scene)]
  const { args } = bare.call
  const approved = rule.isApproval ? asAddress(rule.target?.resolve(subject)) : undefined
  const here: Scene = { ...scene, approved, subject: { ...subject, args } }
  return rule.leaves.flatMap((leaf) =>
    leaf.tests.flatMap((test) => {
      const refusal = checkArguments(args, { ...rule, leaves: [{ ...leaf, tests: [test] }] }, subject)
      if (refusal === null) return []
      const message = sayFailed(leaf, test, args, here)
      return [message === null ? named(refusal, scene) : { ...refusal, message }]
    }),
  )
}

/** Both values of a condition that failed, with their units; null where it is the length of a list that differs. */
function sayFailed({ path, kind }: Leaf, test: Condition, args: Arguments, scene: Scene): string | null {
  const at = (place: readonly number[]) => asValue(memberAt(args, path, place), kind)
  const place = placesOf(args, path).find((each) => {
    const value = at(each)
    return value === undefined || !holds(test, value, scene.subject, each)
  })
  if (place === undefined) return null
  const found = at(place)
  const name = place.reduce((text, index) => text.replace('[]', `[${index}]`), path)
  const text = 'reference' in test ? test.reference.text : ''
  const shown = found === undefined ? 'missing' : showLike(found, text, path, place, scene)
  const source = text.startsWith('$') ? ` (${text})` : ''
  return `${name} is ${shown}; allowed is ${showTest(test, path, place, scene)}${source}.`
}

const named = (refusal: Refusal, scene: Scene): Refusal => ({
  ...refusal,
  message: nameAll(refusal.message, scene),
})

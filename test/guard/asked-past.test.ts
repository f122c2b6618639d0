import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { checkRequest } from '../../src/guard/checks/check-request.ts'
import type { Condition } from '../../src/guard/policy/conditions.ts'
import { type Leaf, rulesFor, testsOf } from '../../src/guard/policy/rule.ts'
import { amongOurs, compileRuleset, type Ruleset } from '../../src/guard/ruleset.ts'
import { agentRoleOf } from '../../src/service/contract/workflow-types.ts'
import type { Proposal } from '../../src/workflow/proposal.ts'
import { textOf } from './condition-text.ts'
import { SELF, STRANGER } from './fixtures.ts'
import { deployment, KINDS } from './kinds.ts'
import { OTHER_SIGNER } from './kinds-by-hand.ts'
import { SAVED } from './saved-kinds.ts'
import { shippedSections } from './shipped.ts'

/** The roles that people work, and so ask for by what they write. */
const BY_HAND = agents.filter(({ role }) => ['vault-owner', 'partner', 'curator', 'investor'].includes(role))

const PROPOSALS: readonly Proposal[] = [...KINDS, ...SAVED].map(({ proposal }) => proposal)

/** Something that a request is held to: a test of a value that the request chooses. */
type Bound = { readonly id: string; readonly leaf: Leaf; readonly test: Condition; readonly member: string }

/** What bounds the values of one rule. One that is the policy's own, as `eq true`, no request can go past. */
function boundsOf(id: string, leaves: readonly Leaf[], isInput: boolean): readonly Bound[] {
  return leaves.flatMap((leaf) => {
    const tests = testsOf(leaf)
    const asked = tests.flatMap((test) =>
      test.op === 'eq' && test.reference.text.startsWith('$input.')
        ? [test.reference.text.slice('$input.'.length)]
        : [],
    )
    const member = isInput ? leaf.path : asked[0]
    const bounds = tests.filter((test) => test.op !== 'eq')
    return member === undefined ? [] : bounds.map((test) => ({ id, leaf, test, member }))
  })
}

/** A value one past a bound: a stranger for a list, one more or one less for a number. */
function pastOf({ test, leaf }: Bound): string {
  if (test.op === 'in' && leaf.kind === 'address') return STRANGER
  if (test.op === 'min') return String(BigInt(test.reference.text) - 1n)
  if (test.op === 'max') return String(BigInt(test.reference.text) + 1n)
  throw new TypeError(`write what is past ${textOf(test)}`)
}

/** An input with another value at a path; of a list, in its last element. Numbers stay numbers, as the service takes them. */
function changed(held: unknown, path: readonly string[], value: string): unknown {
  const [step, ...rest] = path
  if (step === undefined) return typeof held === 'number' ? Number(value) : value
  if (step === '[]')
    return Array.isArray(held) ? [...held.slice(0, -1), changed(held.at(-1), rest, value)] : []
  return { ...Object(held), [step]: changed(Reflect.get(Object(held), step), rest, value) }
}

/** A request like one of ours, with one value one past a bound; and the check that refuses it. */
function lineOf(bound: Bound, proposal: Proposal, ruleset: Ruleset): string {
  const value = pastOf(bound)
  const path = bound.member.match(/[^.[\]]+|\[\]/g) ?? []
  const input = changed(proposal.input, path, value) as Proposal['input']
  const asked = (each: Proposal) =>
    checkRequest({ proposal: each, role: ruleset.role, signer: SELF, ruleset })
  const within = asked(proposal)
  if (!within.ok) throw new TypeError(`${bound.id} is asked for within its bounds: ${within.message}`)
  const past = asked({ ...proposal, input })
  return [
    ...[bound.id, bound.leaf.path, textOf(bound.test)],
    ...[`${bound.member} = ${value}`, past.ok ? 'ALLOWED' : past.check],
  ].join(' | ')
}

function linesOf(agent: (typeof agents)[number]): readonly string[] {
  const compiled = compileRuleset(shippedSections(agent), deployment)
  const ruleset = amongOurs(compiled, { ours: [SELF, OTHER_SIGNER], sharing: [SELF] })
  const exampleOf = (id: string, isOf: (proposal: Proposal) => boolean) => {
    const found = PROPOSALS.find((each) => agentRoleOf(each.workflowType) === agent.role && isOf(each))
    if (found === undefined) throw new TypeError(`write a request of the rule ${id}`)
    return found
  }
  const called = [...ruleset.rules].flatMap(([type, rules]) =>
    rules.flatMap((rule) => {
      const bounds = boundsOf(rule.id, rule.leaves, false)
      const example = exampleOf(
        rule.id,
        ({ workflowType, input }) => workflowType === type && rulesFor(rules, input).includes(rule),
      )
      return bounds.map((bound) => lineOf(bound, example, ruleset))
    }),
  )
  const saved = [...ruleset.metadata].flatMap(([type, { id, leaves }]) =>
    boundsOf(id, leaves, true).map((bound) =>
      lineOf(
        bound,
        exampleOf(id, ({ workflowType }) => workflowType === type),
        ruleset,
      ),
    ),
  )
  return [...called, ...saved]
}

describe('a request one past each bound of a policy that people work by', () => {
  const expected = readFileSync(new URL('asked-past.txt', import.meta.url), 'utf8').split('\n\n')

  it.each(BY_HAND.map((agent) => [agent.role, agent] as const))(
    'of the %s is refused before anybody hears of it, as asked-past.txt says',
    (role, agent) => {
      const lines = linesOf(agent)
      expect(lines.filter((line) => line.endsWith('ALLOWED'))).toEqual([])
      const wanted = expected.find((paragraph) => paragraph.startsWith(`${role}\n`))?.trimEnd()
      expect([role, ...lines].join('\n')).toBe(wanted)
    },
  )
})

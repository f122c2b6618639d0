import { exactNative } from '../../units.ts'
import type { Ruleset } from '../ruleset.ts'
import { isRecipient, nameOf } from './bounds.ts'
import { choicesOf } from './conditions.ts'
import { inputShape } from './inputs.ts'
import { operatorOf } from './operators.ts'
import type { GuardPolicy } from './policy.ts'
import { type Leaf, type Rule, testsOf } from './rule.ts'

/** Keys and indices, from the top of the file. */
type Path = readonly (string | number)[]

/** What is weak in a policy that loads: where it stands, what is wrong with it, and what to do about it. */
export type Weakness = { readonly path: Path; readonly problem: string; readonly fix: string }

/**
 * Find what loads and bounds little: a parameter that the request names and the call may choose, a recipient that is not
 * us, a minimum of next to nothing, and something that leaves for nothing. What the role judges by chain reads of its own
 * is bounded there. Pure.
 */
export function weaknessesIn(
  { allow, effects }: Pick<GuardPolicy, 'allow' | 'effects'>,
  { rules, sanity }: Pick<Ruleset, 'rules' | 'sanity'>,
): readonly Weakness[] {
  const all = [...rules].flatMap(([type, ofType]) =>
    ofType
      .flatMap((rule) => [rule, ...insideOf(rule)])
      .flatMap((rule) => {
        const at = allow.findIndex(({ id }) => id === rule.id)
        const members = [...(inputShape(type, rule.when)?.keys() ?? [])]
        const leaves = rule.leaves.flatMap((leaf) =>
          weakLeaf(leaf, members).map((found) => ({
            ...found,
            path: ['guard', 'allow', at, 'params', leaf.path],
          })),
        )
        return [
          ...leaves,
          ...needlessValue(rule).map((found) => ({ ...found, path: ['guard', 'allow', at, 'valueMax'] })),
        ]
      }),
  )
  // A type of which the role judges something by its own reads has its own sense of what must come in.
  const isJudged = (type: GuardPolicy['effects'][number]['workflowType']) =>
    (sanity.get(type)?.relies.length ?? 0) > 0
  const loose = effects.flatMap(({ workflowType, out, in: into }, index) =>
    isJudged(workflowType) ? [] : weakEffect(out.length, into, ['guard', 'effects', index, 'in']),
  )
  return [...all, ...loose]
}

const insideOf = ({ inside }: Rule): readonly Rule[] =>
  (inside?.rules ?? []).flatMap((rule) => [rule, ...insideOf(rule)])

type FoundWeakness = Omit<Weakness, 'path'>

function weakLeaf(leaf: Leaf, members: readonly string[]): readonly FoundWeakness[] {
  const name = nameOf(leaf.path)
  const choices = choicesOf(testsOf(leaf))
  const isExact = choices.every((tests) => tests.some(({ op }) => op === 'eq'))
  const member = members.find((each) => nameOf(each) === name)
  const references = choices.flat().flatMap((test) => operatorOf(test).references(test))
  const stranger = references.find(({ text }) => /^(0x|\$contract\.)/.test(text))
  const least = choices.flat().find((test) => test.op === 'min' && /^[01]$/.test(test.reference.text))
  return [
    ...(member !== undefined && !isExact
      ? [
          {
            problem: `${leaf.path} may be another than the request says by $input.${member}`,
            fix: `use eq with $input.${member}`,
          },
        ]
      : []),
    ...(isRecipient(name) && leaf.kind === 'address' && stranger !== undefined
      ? [
          {
            problem: `${leaf.path} may be ${stranger.text}, which is not our signer`,
            fix: 'use eq with $self, if we are to be paid',
          },
        ]
      : []),
    ...(least !== undefined && !isExact
      ? [
          {
            problem: `${leaf.path} has a minimum of next to nothing`,
            fix: 'use eq or min with a member of the request',
          },
        ]
      : []),
  ]
}

/** Native coin that may go along with a call whose function takes none. */
function needlessValue({ id, abi, valueWeiMax }: Rule): readonly FoundWeakness[] {
  if (valueWeiMax === 0n || abi.stateMutability === 'payable') return []
  const problem = `valueMax of ${id} is ${exactNative(valueWeiMax)}, and ${abi.name} takes no native coin`
  return [{ problem, fix: 'write 0 ETH, or payable into its function' }]
}

function weakEffect(
  leaving: number,
  into: GuardPolicy['effects'][number]['in'],
  path: Path,
): readonly Weakness[] {
  if (leaving > 0 && into.length === 0) {
    const problem = 'something leaves, and nothing has to come in for it'
    return [{ path, problem, fix: 'name the token that must come in, and how much of it at least' }]
  }
  const at = into.findIndex(({ assetsMin }) => /^[01]$/.test(assetsMin))
  if (at < 0) return []
  const problem = 'what has to come in is next to nothing'
  return [{ path: [...path, at, 'assetsMin'], problem, fix: 'write a member of the request, or an amount' }]
}

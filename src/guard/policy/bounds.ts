import type { Condition } from './conditions.ts'
import { policyError } from './policy-error.ts'
import type { Leaf } from './rule.ts'

/** Names of parameters that say who is paid: as ABIs of lending, swap and vault contracts call them. */
const RECIPIENT =
  /^(to|dst|for|onBehalf(Of)?|(\w*_)?(recipient|receiver|beneficiary|payee|destination))$|(Recipient|Receiver|Beneficiary|Payee|Destination|OnBehalfOf)$/
/** Names of parameters that say what must come in at least. */
const MINIMUM = /^min(imum)?(?=[A-Z_]|$)|(Min|Minimum)(?=[A-Z_]|$)/
/** Names of parameters that say until when a call is valid. */
const DEADLINE = /deadline$|^valid(Until|To)$/i

/**
 * Refuse conditions that load and bound nothing: any other party as the recipient, a minimum that the policy alone
 * states, no upper bound, no end. `relies` are members of the input that the role's judgement bounds.
 * Throws RolekeeperError `policy.guard_invalid`. Pure.
 */
export function checkBounds(leaves: readonly Leaf[], relies: readonly string[], path: string): void {
  for (const leaf of leaves) {
    const name = leaf.path.replaceAll('[]', '').split('.').at(-1) ?? ''
    const at = `${path}.${leaf.path}`
    if (leaf.kind === 'address' && RECIPIENT.test(name)) checkRecipient(leaf.tests, relies, at)
    if (leaf.kind !== 'uint') continue
    if (DEADLINE.test(name)) checkDeadline(leaf.tests, at)
    else if (MINIMUM.test(name)) checkMinimum(leaf.tests, at)
    else checkMaximum(leaf.tests, at)
  }
}

const referencesOf = (tests: readonly Condition[], ...ops: readonly Condition['op'][]): readonly string[] =>
  tests.flatMap((test) => (test.op !== 'in' && ops.includes(test.op) ? [test.reference.text] : []))

function checkRecipient(tests: readonly Condition[], relies: readonly string[], at: string): void {
  const isNamed = (text: string) =>
    !text.startsWith('$') ||
    text === '$self' ||
    text.startsWith('$contract.') ||
    relies.some((member) => text === `$input.${member}`)
  if (referencesOf(tests, 'eq').some(isNamed)) return
  throw policyError(
    at,
    'it may pay somebody whom the policy does not name.',
    'use eq with $self, with a contract of the deployment ($contract.NAME) or with an address.',
  )
}

function checkDeadline(tests: readonly Condition[], at: string): void {
  if (referencesOf(tests, 'eq', 'max').includes('$deadline')) return
  throw policyError(at, 'the call may stay valid after its clearance.', 'use max with $deadline.')
}

function checkMinimum(tests: readonly Condition[], at: string): void {
  if (referencesOf(tests, 'eq', 'min').some((text) => text.startsWith('$'))) return
  throw policyError(
    at,
    'the minimum is not what the request asks for.',
    'use eq or min with a member of the request, for example $input.minCollateralAssets.',
  )
}

function checkMaximum(tests: readonly Condition[], at: string): void {
  if (tests.some(({ op }) => op !== 'min')) return
  throw policyError(at, 'it may be any amount above its minimum.', 'use eq, or add a max.')
}

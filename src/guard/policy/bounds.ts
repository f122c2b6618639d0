import { choicesOf } from './conditions.ts'
import { operatorOf, type Test } from './operators.ts'
import { policyError } from './policy-error.ts'
import { type Leaf, testsOf } from './rule.ts'
import { isNumber, type ValueKind } from './values.ts'

/** Names of parameters that say who is paid: as ABIs of lending, swap and vault contracts call them. */
const RECIPIENT =
  /^(to|for|dst|onBehalf(Of)?|(\w*_)?(recipient|receiver|payee|destination)s?|(\w*_)?beneficiar(y|ies))$|(To|(Recipient|Receiver|Payee|Destination)s?|Beneficiar(y|ies)|OnBehalfOf)$/
/** Names of parameters that say what must come in at least. */
const MINIMUM = /^min(imum)?(?=[A-Z_]|$)|(Min|Minimum)(?=[A-Z_]|$)/
/** Names of parameters that say whether a call runs with the caller's own storage. */
const DELEGATES = /^(operation|callType)$|delegate_?call/i
/** Names of parameters that say until when a call is valid. */
const DEADLINE = /deadline$|^valid(Until|To)$/i

/**
 * Refuse conditions that load and bound nothing: any other party as the recipient, a minimum that the policy alone
 * states, no upper bound, no end. `relies` are members of the input that the role's judgement bounds: one of them that says
 * itself who is paid may be paid; a market or a borrower that the judgement reads is nobody of ours.
 * Throws RolekeeperError `policy.guard_invalid`. Pure.
 */
export function checkBounds(leaves: readonly Leaf[], relies: readonly string[], path: string): void {
  for (const leaf of leaves) {
    const name = nameOf(leaf.path)
    const at = `${path}.${leaf.path}`
    for (const tests of choicesOf(testsOf(leaf))) {
      if (DELEGATES.test(name)) checkPlain(tests, at)
      if (!isNumber(leaf.kind)) {
        if (leaf.kind !== 'bool' && isRecipient(name)) checkRecipient(tests, relies, at)
      } else if (DEADLINE.test(name)) checkDeadline(tests, at)
      else if (MINIMUM.test(name)) checkMinimum(tests, at)
      else checkRange(tests, leaf.kind, at)
    }
  }
}

/** Whether a parameter of this name says who is paid. Pure. */
export const isRecipient = (name: string): boolean => RECIPIENT.test(name)

/** Take the last name of a path, without what says of any address that it is one. */
export const nameOf = (path: string): string => {
  const last =
    path
      .replace(/\[\d*\]/g, '')
      .split('.')
      .at(-1) ?? ''
  return last.replace(/^_+|_+$/g, '').replace(/(Address|Addr|Account|Wallet)$/, '')
}

/** What a value must equal. */
const equalsOf = (tests: readonly Test[]): readonly string[] =>
  tests.flatMap((test) => (test.op === 'eq' ? [test.reference.text] : []))

function checkRecipient(tests: readonly Test[], relies: readonly string[], at: string): void {
  const isNamed = (text: string) =>
    !text.startsWith('$') ||
    text === '$self' ||
    text.startsWith('$contract.') ||
    relies.some((member) => RECIPIENT.test(nameOf(member)) && text === `$input.${member}`)
  const areNamed = (test: Test) =>
    test.op === 'in' && !test.text.startsWith('$deployment.') && test.among.every(({ text }) => isNamed(text))
  if (equalsOf(tests).some(isNamed) || tests.some(areNamed)) return
  throw policyError(
    at,
    'it may pay somebody whom the policy does not name.',
    'use eq with $self, with a contract of the deployment ($contract.NAME) or with an address.',
  )
}

function checkPlain(tests: readonly Test[], at: string): void {
  if (equalsOf(tests).some((text) => text === '0' || text === 'false')) return
  throw policyError(at, 'it may delegate a call, which is never allowed.', 'use eq with 0, or with false.')
}

function checkDeadline(tests: readonly Test[], at: string): void {
  const isCapped = (test: Test) =>
    (test.op === 'eq' || (test.op === 'max' && test.part === null)) && test.reference.text === '$deadline'
  if (tests.some(isCapped)) return
  throw policyError(at, 'the call may stay valid after its clearance.', 'use max with $deadline.')
}

function checkMinimum(tests: readonly Test[], at: string): void {
  const isBound = (test: Test) =>
    (test.op === 'eq' || (test.op === 'min' && test.part?.of !== 0n)) && test.reference.text.startsWith('$')
  if (tests.some(isBound)) return
  throw policyError(
    at,
    'the minimum is not what the request asks for.',
    'use eq or min with a member of the request, for example $input.minCollateralAssets.',
  )
}

function checkRange(tests: readonly Test[], kind: ValueKind, at: string): void {
  const isOpen = (end: 'min' | 'max') => !tests.some((test) => operatorOf(test).closes.includes(end))
  if (isOpen('max')) throw policyError(at, 'it may be any amount above its minimum.', 'use eq, or add a max.')
  if (kind === 'int' && isOpen('min'))
    throw policyError(at, 'it may be any amount below its maximum.', 'use eq, or add a min.')
}

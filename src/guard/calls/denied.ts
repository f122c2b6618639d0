import type { Hex } from 'viem'
import { type Refusal, refuse } from '../../errors.ts'
import type { TransactionIntent } from '../../service/contract/prepared-workflow.ts'
import { isMet, type Subject } from '../policy/conditions.ts'
import { memberAt, placesOf } from '../policy/paths.ts'
import type { Denial, Rule } from '../policy/rule.ts'
import { asValue } from '../policy/values.ts'
import { decodeCall } from './decode.ts'

/** Refuse a call that `guard.deny` describes, whatever a rule allows. What cannot be told apart is denied. Pure. */
export function checkDenied(
  intent: TransactionIntent,
  to: Hex,
  { id, denials }: Rule,
  subject: Subject,
): Refusal | null {
  const denial = denials.find((each) => isDenied(intent, to, each, subject))
  if (denial === undefined) return null
  return refuse('denied', `guard.deny ${denial.id} forbids this call of rule ${id}.`)
}

function isDenied(intent: TransactionIntent, to: Hex, denial: Denial, subject: Subject): boolean {
  const { target, call, leaves } = denial
  const wanted = target?.resolve(subject)
  if (wanted !== undefined && wanted !== to) return false
  if (call === null) return true
  if (!intent.calldata.startsWith(call.selector)) return false
  const decoded = decodeCall(intent, call)
  if (!decoded.ok) return true
  const about = { ...subject, args: decoded.args }
  return leaves.every(({ path, kind, tests }) =>
    placesOf(decoded.args, path).some((place) => {
      const actual = asValue(memberAt(decoded.args, path, place), kind)
      return actual === undefined || tests.every((test) => isMet(test, actual, about, place))
    }),
  )
}

import type { Hex } from 'viem'
import { type Refusal, refuse } from '../../errors.ts'
import type { TransactionIntent } from '../../service/contract/prepared-workflow.ts'
import { isMet } from '../policy/conditions.ts'
import { memberAt, placesOf } from '../policy/paths.ts'
import type { Subject } from '../policy/references.ts'
import type { Denial, Rule } from '../policy/rule.ts'
import { asValue } from '../policy/values.ts'
import { decodeCall, decodeCreation } from './decode.ts'

/**
 * Refuse a call that `guard.deny` describes, whatever a rule allows; `to` is null where it creates a contract. What cannot
 * be told apart is denied. Pure.
 */
export function checkDenied(
  intent: TransactionIntent,
  to: Hex | null,
  rule: Rule,
  subject: Subject,
): Refusal | null {
  const denial = rule.denials.find((each) => isDenied(intent, to, rule, { denial: each, subject }))
  if (denial === undefined) return null
  return refuse('denied', `guard.deny ${denial.id} forbids this call of rule ${rule.id}.`)
}

function isDenied(
  intent: TransactionIntent,
  to: Hex | null,
  rule: Rule,
  { denial, subject }: { readonly denial: Denial; readonly subject: Subject },
): boolean {
  const { creates, target, call, leaves } = denial
  if (creates !== (to === null)) return false
  const wanted = target?.resolve(subject)
  if (wanted !== undefined && wanted !== to) return false
  if (call === null) return true
  if (!creates && !intent.calldata.startsWith(call.selector)) return false
  const { creation } = rule
  const decoded =
    creation === null
      ? decodeCall(intent, call)
      : decodeCreation(intent, { ...rule, abi: call.abi }, creation)
  if (!decoded.ok) return true
  const about = { ...subject, args: decoded.args }
  return leaves.every(({ path, kind, tests }) =>
    placesOf(decoded.args, path).some((place) => {
      const actual = asValue(memberAt(decoded.args, path, place), kind)
      return actual === undefined || tests.every((test) => isMet(test, actual, about, place))
    }),
  )
}

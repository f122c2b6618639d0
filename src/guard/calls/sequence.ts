import { type Checked, type Refusal, refuse } from '../../errors.ts'
import type { PreparedWorkflow } from '../../service/contract/prepared-workflow.ts'
import type { Attestation } from '../../workflow/workflow.ts'
import type { Subject } from '../policy/references.ts'
import { type Rule, rulesFor } from '../policy/rule.ts'
import { asAddress } from '../policy/values.ts'
import { type ClearedCall, checkCall } from './call.ts'

/**
 * Demand that the intents are the rules' calls: all of them, in order, and no other. Optional calls are all there or
 * all missing, so that one count means one sequence. Pure.
 */
export function checkSequence(
  { workflowType, transactions }: PreparedWorkflow,
  chainId: number,
  rules: readonly Rule[],
  subject: Subject,
  attestation?: Attestation,
): Checked<{ readonly calls: readonly ClearedCall[] }> {
  const applying = rulesFor(rules, subject.input)
  const required = applying.filter(({ optional }) => !optional)
  const sequence = transactions.length === applying.length ? applying : required
  if (required.length === 0 || transactions.length !== sequence.length) {
    return refuse(
      'sequence_mismatch',
      `The answer has ${transactions.length} intents; ${workflowType} is ${countOf(required, applying)} by guard.allow.`,
    )
  }
  const calls: ClearedCall[] = []
  for (const [index, rule] of sequence.entries()) {
    const intent = transactions.find(({ order }) => order === index)
    if (intent === undefined) return refuse('intent_order', `No intent has the order ${index}.`)
    if (intent.chainId !== chainId) {
      return refuse(
        'chain_mismatch',
        `Intent ${index} is for chain ${intent.chainId}; we are on chain ${chainId}.`,
      )
    }
    const checked = checkCall(intent, rule, subject, attestation)
    if (!checked.ok) return checked
    calls.push(checked.call)
  }
  const loose = calls.find((call, index) => {
    const use = calls[index + 1]
    return call.approval !== null && call.approval.spender !== use?.to
  })
  if (loose !== undefined) {
    return refuse(
      'approval_spender',
      `The approval is for ${loose.approval?.spender}, which is not the contract that the next call goes to.`,
    )
  }
  return { ok: true, calls }
}

/**
 * Refuse a call to another contract than the one that the request names by a member and the role's judgement reads: a bid
 * at one desk would be judged by another. Null where it names none. Pure.
 */
export function checkCallee(
  calls: readonly ClearedCall[],
  member: string | undefined,
  { input }: Subject,
): Refusal | null {
  const called = calls.at(-1)?.to
  if (member === undefined || called === asAddress(input[member])) return null
  return refuse(
    'callee_differs',
    `The last call goes to ${called}; the request's ${member} is ${input[member]}.`,
  )
}

const countOf = (required: readonly Rule[], applying: readonly Rule[]): string =>
  required.length === applying.length ? `${required.length}` : `${required.length} or ${applying.length}`

import { type Address, decodeFunctionData, encodeFunctionData, type Hex, maxUint256 } from 'viem'
import { z } from 'zod'
import type { TransactionIntent } from '../service/workflows.ts'
import { type Checked, type Refusal, refuse } from '../workflow/verdict.ts'
import type { StandingAllowance } from '../workflow/workflow.ts'
import { describeCondition, holds, type Subject, type Value } from './conditions.ts'
import type { Rule } from './ruleset.ts'

/** One call that the rules allow, as it will be signed but for gas, nonce and fees. */
export type ClearedCall = {
  readonly rule: Rule
  readonly to: Address
  readonly data: Hex
  readonly valueWei: bigint
  /** What it approves, when it is an approval. */
  readonly approval: StandingAllowance | null
}

/** Judge one intent by the one rule that its place in the sequence has. Pure. */
export function checkCall(
  intent: TransactionIntent,
  rule: Rule,
  subject: Subject,
): Checked<{ readonly call: ClearedCall }> {
  const refusal = checkEnvelope(intent, rule, subject)
  if (refusal !== null) return refusal
  const decoded = decodeExactly(intent, rule)
  if (!decoded.ok) return decoded
  for (const [index, { name, tests }] of rule.params.entries()) {
    const actual = decoded.args[index]
    const failed = tests.find((test) => actual === undefined || !holds(test, actual, subject))
    if (failed !== undefined) {
      return refuse(
        parameterCheck(rule, name, actual),
        `Rule ${rule.id}: ${name} is ${actual ?? 'missing'}; allowed is ${describeCondition(failed, subject)}.`,
      )
    }
  }
  const to = targetOf(rule, subject)
  const [spender, assets] = decoded.args
  const approval =
    rule.isApproval && typeof spender === 'string' && typeof assets === 'bigint'
      ? { token: to, spender, assets }
      : null
  return { ok: true, call: { rule, to, data: intent.calldata, valueWei: BigInt(intent.value), approval } }
}

const targetOf = (rule: Rule, { market }: Subject): Address =>
  rule.target === 'market' ? market.address : market.loanAsset

function checkEnvelope(intent: TransactionIntent, rule: Rule, subject: Subject): Refusal | null {
  const { order } = intent
  if (intent.transactionKind !== 'contract_call' || intent.target === null) {
    return refuse('contract_creation', `Intent ${order} creates a contract; no rule allows that.`)
  }
  if (intent.signing !== undefined) {
    return refuse(
      'signing_not_allowed',
      `Intent ${order} asks for a typed-data signature; no rule allows that.`,
    )
  }
  const value = BigInt(intent.value)
  if (value > rule.valueWeiMax) {
    return refuse(
      'value_above_cap',
      `Intent ${order} sends ${value} wei; rule ${rule.id} allows ${rule.valueWeiMax}.`,
    )
  }
  const target = targetOf(rule, subject)
  if (intent.target.toLowerCase() !== target) {
    return refuse(
      'target_not_allowed',
      `Intent ${order} goes to ${intent.target}; rule ${rule.id} allows only ${target}.`,
    )
  }
  const selector = intent.calldata.slice(0, 10)
  if (selector !== rule.selector) {
    return refuse(
      'function_not_allowed',
      `Intent ${order} calls ${selector}; rule ${rule.id} allows only ${rule.selector} (${rule.abi.name}).`,
    )
  }
  return null
}

const decodedArgs = z.array(
  z.union([
    z.bigint(),
    // Small integers decode to numbers.
    z.number().int().transform(BigInt),
    z
      .string()
      .regex(/^0x[0-9a-fA-F]{40}$/)
      .transform((text): Address => `0x${text.slice(2).toLowerCase()}`),
  ]),
)

/**
 * Decode calldata and demand that its arguments, encoded again, are the same bytes: a decoder forgives trailing bytes,
 * dirty address bits and integers that are too wide, and a contract may not.
 */
function decodeExactly(
  { order, calldata }: TransactionIntent,
  rule: Rule,
): Checked<{ args: readonly Value[] }> {
  try {
    const { args } = decodeFunctionData({ abi: [rule.abi], data: calldata })
    const again = encodeFunctionData({ abi: [rule.abi], functionName: rule.abi.name, args: args ?? [] })
    const checked = decodedArgs.safeParse(args ?? [])
    if (again === calldata && checked.success) return { ok: true, args: checked.data }
  } catch {
    // Too short, or not these types: the same refusal.
  }
  return refuse(
    'calldata_not_canonical',
    `Intent ${order} is not the one encoding of a call of ${rule.abi.name}.`,
  )
}

/** Name the refusal of a parameter; those of approvals have names of their own. */
function parameterCheck(rule: Rule, name: string, actual: Value | undefined): string {
  if (!rule.isApproval) return `parameter_${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`
  if (typeof actual !== 'bigint') return 'approval_spender'
  return actual === maxUint256 ? 'approval_unlimited' : 'approval_not_exact'
}

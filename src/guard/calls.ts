import {
  type Address,
  decodeAbiParameters,
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  maxUint256,
  size,
  slice,
} from 'viem'
import { type Checked, type Refusal, refuse } from '../errors.ts'
import type { TransactionIntent } from '../service/contract/workflows.ts'
import type { Attestation, StandingAllowance } from '../workflow/workflow.ts'
import { describeCondition, holds, type Reference, type Subject } from './policy/conditions.ts'
import { pinOf } from './policy/deployment.ts'
import {
  type Arguments,
  asAddress,
  asUint,
  asValue,
  countAt,
  isEach,
  listOf,
  memberAt,
} from './policy/paths.ts'
import type { Leaf, Rule } from './policy/rule.ts'
import { checkTypedData, withSignature } from './typed-data.ts'

/** One call that the rules allow, as it will be signed but for gas, nonce and fees. */
export type ClearedCall = {
  readonly rule: Rule
  /** Null where it creates a contract. */
  readonly to: Address | null
  readonly data: Hex
  readonly valueWei: bigint
  readonly args: Arguments
  /** What it approves, when it is an approval. */
  readonly approval: StandingAllowance | null
  /** What must be signed before it can run, when it carries a signature. */
  readonly digest: Hex | null
}

/** Judge one intent by the one rule that its place in the sequence has. Pure. */
export function checkCall(
  intent: TransactionIntent,
  rule: Rule,
  subject: Subject,
  attestation?: Attestation,
): Checked<{ readonly call: ClearedCall }> {
  const envelope = checkEnvelope(intent, rule, subject)
  if (!envelope.ok) return envelope
  const { creation } = rule
  const decoded = creation === null ? decodeExactly(intent, rule) : decodeCreation(intent, rule, creation)
  if (!decoded.ok) return decoded
  const { to } = envelope
  const { args } = decoded
  const refusal = checkArguments(args, rule, subject)
  if (refusal !== null) return refusal
  const signed = checkSigning(intent, rule, args, to, attestation)
  if (!signed.ok) return signed
  const valueWei = BigInt(intent.value)
  const approval = rule.isApproval && to !== null ? approvalOf(to, rule, args) : null
  return { ok: true, call: { ...signed, rule, to, valueWei, args, approval } }
}

/** What is signed inside of a call, and the call with that signature once it is there. */
function checkSigning(
  intent: TransactionIntent,
  { typedData, abi }: Rule,
  args: Arguments,
  to: Address | null,
  attestation: Attestation | undefined,
): Checked<{ readonly data: Hex; readonly digest: Hex | null }> {
  if (typedData === null || to === null) {
    if (intent.signing === undefined) return { ok: true, data: intent.calldata, digest: null }
    return refuse(
      'signing_not_allowed',
      `Intent ${intent.order} asks for a typed-data signature; no rule allows that.`,
    )
  }
  const signed = { rule: typedData, chainId: intent.chainId, verifyingContract: to }
  const checked = checkTypedData(intent, args, signed)
  if (!checked.ok) return checked
  const { digest } = checked
  if (attestation === undefined) return { ok: true, data: intent.calldata, digest }
  if (attestation.digest !== digest) {
    return refuse(
      'digest_changed',
      `We signed ${attestation.digest} for this; by the rules now it is ${digest}.`,
    )
  }
  const { signature } = attestation
  const data = signature === undefined ? intent.calldata : withSignature(abi, args, typedData, signature)
  return { ok: true, data, digest }
}

/** An approval's two arguments, whatever the rule calls them; the selector says what they are. */
function approvalOf(token: Address, { leaves }: Rule, args: Arguments): StandingAllowance | null {
  const [spender, assets] = leaves.map(({ path }) => args[path])
  const [address, amount] = [asAddress(spender), asUint(assets)]
  return address === undefined || amount === undefined ? null : { token, spender: address, assets: amount }
}

function checkEnvelope(
  intent: TransactionIntent,
  rule: Rule,
  subject: Subject,
): Checked<{ readonly to: Address | null }> {
  const { order } = intent
  const value = BigInt(intent.value)
  if (value > rule.valueWeiMax) {
    return refuse(
      'value_above_cap',
      `Intent ${order} sends ${value} wei; rule ${rule.id} allows ${rule.valueWeiMax}.`,
    )
  }
  const creates = intent.transactionKind === 'contract_deployment'
  if (creates !== (intent.target === null) || creates !== (rule.target === null)) {
    return refuse(
      'contract_creation',
      `Intent ${order} is a ${intent.transactionKind} to ${intent.target ?? 'nobody'}; rule ${rule.id} allows only a ${rule.target === null ? 'creation' : 'call'}.`,
    )
  }
  return rule.target === null ? { ok: true, to: null } : checkCallee(intent, rule.target, rule, subject)
}

function checkCallee(
  intent: TransactionIntent,
  reference: Reference,
  rule: Rule,
  subject: Subject,
): Checked<{ readonly to: Address }> {
  const { order } = intent
  const target = checkTarget(reference, rule, subject)
  if (!target.ok) return target
  if (intent.target?.toLowerCase() !== target.to) {
    return refuse(
      'target_not_allowed',
      `Intent ${order} goes to ${intent.target}; rule ${rule.id} allows only ${target.to}.`,
    )
  }
  const selector = intent.calldata.slice(0, 10)
  if (selector !== rule.selector) {
    return refuse(
      'function_not_allowed',
      `Intent ${order} calls ${selector}; rule ${rule.id} allows only ${rule.selector} (${rule.abi.name}).`,
    )
  }
  return target
}

/** Where a rule's call goes: a contract of the deployment, and a token of it where something is approved. */
function checkTarget(target: Reference, rule: Rule, subject: Subject): Checked<{ readonly to: Address }> {
  const { deployment } = subject
  const to = asAddress(target.resolve(subject, 0))
  const isKnown = rule.isApproval
    ? deployment.assets.some(({ address }) => address === to)
    : pinOf(to, deployment) !== undefined
  if (to !== undefined && isKnown) return { ok: true, to }
  const where = rule.isApproval ? 'deployment.assets' : 'the deployment'
  return refuse(
    'target_not_pinned',
    `Rule ${rule.id}: ${target.text} is ${to ?? 'nothing'}, which is not in ${where}.`,
  )
}

/**
 * Decode calldata and demand that its arguments, encoded again, are the same bytes: a decoder forgives trailing bytes,
 * dirty address bits and integers that are too wide, and a contract may not.
 */
function decodeExactly(
  { order, calldata }: TransactionIntent,
  rule: Rule,
): Checked<{ readonly args: Arguments }> {
  try {
    const { args = [] } = decodeFunctionData({ abi: [rule.abi], data: calldata })
    const again = encodeFunctionData({ abi: [rule.abi], functionName: rule.abi.name, args })
    const named = rule.abi.inputs.map(({ name }, index) => [name ?? '', args[index]] as const)
    if (again === calldata) return { ok: true, args: Object.fromEntries(named) }
  } catch {
    // Too short, or not these types: the same refusal.
  }
  return refuse(
    'calldata_not_canonical',
    `Intent ${order} is not the one encoding of a call of ${rule.abi.name}.`,
  )
}

function checkArguments(args: Arguments, rule: Rule, subject: Subject): Refusal | null {
  for (const leaf of rule.leaves) {
    const refusal = isEach(leaf.path)
      ? checkElements(args, leaf, rule, subject)
      : checkValue(args, leaf, rule, subject, 0)
    if (refusal !== null) return refusal
  }
  return null
}

/** Demand that a list is as long as each list that it is compared with, and that every element passes. */
function checkElements(args: Arguments, leaf: Leaf, rule: Rule, subject: Subject): Refusal | null {
  const count = countAt(args, leaf.path) ?? 0
  for (const test of leaf.tests) {
    if (test.op === 'in' || test.reference.each === null) continue
    const wanted = countAt(subject.input, test.reference.each)
    if (count === wanted) continue
    return refuse(
      `${checkNameOf(listOf(leaf.path))}_length`,
      `Rule ${rule.id}: ${listOf(leaf.path)} has ${count} elements; ${test.reference.text} has ${wanted ?? 'none'}.`,
    )
  }
  const indexes = Array.from({ length: count }, (_, index) => index)
  return indexes.reduce<Refusal | null>(
    (refusal, index) => refusal ?? checkValue(args, leaf, rule, subject, index),
    null,
  )
}

function checkValue(
  args: Arguments,
  { path, kind, tests }: Leaf,
  rule: Rule,
  subject: Subject,
  index: number,
): Refusal | null {
  const actual = asValue(memberAt(args, path, index), kind)
  const failed = tests.find((test) => actual === undefined || !holds(test, actual, subject, index))
  if (failed === undefined) return null
  return refuse(
    rule.isApproval ? approvalCheck(actual) : checkNameOf(path),
    `Rule ${rule.id}: ${path.replace('[]', `[${index}]`)} is ${actual ?? 'missing'}; allowed is ${describeCondition(failed, subject, index)}.`,
  )
}

/** Name the refusal of a parameter: `report.revisionLabel` is `parameter_report_revision_label`. */
const checkNameOf = (path: string): string =>
  `parameter_${path
    .replaceAll('[]', '')
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    .replaceAll('.', '_')}`

/** Refusals of approvals have names of their own. */
function approvalCheck(actual: unknown): string {
  if (typeof actual !== 'bigint') return 'approval_spender'
  return actual === maxUint256 ? 'approval_unlimited' : 'approval_not_exact'
}

/**
 * Take a creation apart: the code must be the one that the rule names, and what comes after it the one encoding of its
 * arguments. Pure.
 */
export function decodeCreation(
  { order, calldata }: TransactionIntent,
  { id, abi }: Rule,
  { codeHash, codeBytes }: NonNullable<Rule['creation']>,
): Checked<{ readonly args: Arguments }> {
  const code: Hex = size(calldata) > codeBytes ? slice(calldata, 0, codeBytes) : calldata
  const found = keccak256(code)
  if (found !== codeHash) {
    return refuse(
      'creation_code_changed',
      `Intent ${order} deploys code that hashes to ${found}; rule ${id} allows only ${codeHash}. Fix: find out what changed before you pin it.`,
    )
  }
  try {
    const encoded: Hex = size(calldata) > codeBytes ? slice(calldata, codeBytes) : '0x'
    const values = decodeAbiParameters(abi.inputs, encoded)
    const named = abi.inputs.map(({ name }, index) => [name ?? '', values[index]] as const)
    if (encodeAbiParameters(abi.inputs, values) === encoded)
      return { ok: true, args: Object.fromEntries(named) }
  } catch {
    // Too short, or not these types: the same refusal.
  }
  return refuse(
    'calldata_not_canonical',
    `What follows the code of intent ${order} is not the one encoding of its arguments.`,
  )
}

import type { Address, Hex } from 'viem'
import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { native } from '../../readable.js'
import type { TransactionIntent } from '../../service/contract/prepared-workflow.ts'
import type { Attestation, StandingAllowance } from '../../workflow/workflow.ts'
import { pinOf } from '../policy/deployment.ts'
import { type Arguments, type ListIndexes, memberAt, placesOf } from '../policy/paths.ts'
import type { Reference, Subject } from '../policy/references.ts'
import type { Inside, Rule } from '../policy/rule.ts'
import { asAddress, asUint, asValue, type ValueKind } from '../policy/values.ts'
import { checkArguments, checkAsked } from './arguments.ts'
import { decodeCall, decodeCreation } from './decode.ts'
import { checkDenied } from './denied.ts'
import { checkTypedData, withSignature } from './typed-data.ts'

/** One call that the rules allow, as it will be signed but for gas, nonce and fees. */
export type ClearedCall = {
  readonly rule: Rule
  /** Null where it creates a contract. */
  readonly to: Address | null
  readonly data: Hex
  readonly valueWei: bigint
  readonly args: Arguments
  /** The calls that it carries in its arguments, with all that those carry. */
  readonly inside: readonly ClearedCall[]
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
  const decoded = creation === null ? decodeCall(intent, rule) : decodeCreation(intent, rule, creation)
  if (!decoded.ok) return decoded
  const { to } = envelope
  const { args } = decoded
  const denied = checkDenied(intent, to, rule, subject)
  if (denied !== null) return denied
  const refusal = checkArguments(args, rule, subject)
  if (refusal !== null) return refusal
  const signed = checkSigning(intent, rule, args, to, attestation)
  if (!signed.ok) return signed
  const carried = checkInside(intent, rule, subject, args)
  if (!carried.ok) return carried
  const { inside } = carried
  const valueWei = BigInt(intent.value)
  const approval = rule.isApproval && to !== null ? approvalOf(to, rule, args) : null
  return { ok: true, call: { ...signed, rule, to, valueWei, args, inside, approval } }
}

/** Judge what a request fixes of a rule's call, and of those that it carries, before there is one: where it goes, and with what. Pure. */
export function checkAskedCall(rule: Rule, subject: Subject): Refusal | null {
  const target = rule.target === null ? null : checkTarget(rule.target, rule, subject)
  if (target !== null && !target.ok) return target
  const refusal = checkAsked(rule, subject)
  if (refusal !== null) return refusal
  const inside = (rule.inside?.rules ?? []).map((each) => checkAskedCall(each, subject))
  return inside.find((each) => each !== null) ?? null
}

/** Judge the calls that a call carries: each by its own rule, all of them, and no other. */
function checkInside(
  intent: TransactionIntent,
  { id, inside }: Rule,
  subject: Subject,
  args: Arguments,
): Checked<{ readonly inside: readonly ClearedCall[] }> {
  if (inside === null) return { ok: true, inside: [] }
  const places = placesOf(args, inside.data)
  if (places.length !== inside.rules.length) {
    return refuse(
      'sequence_mismatch',
      `Rule ${id}: the call carries ${places.length} calls; the policy allows ${inside.rules.length}.`,
    )
  }
  const calls: ClearedCall[] = []
  let valueWei = 0n
  for (const [index, rule] of inside.rules.entries()) {
    const within = intentAt(intent, args, inside, places[index] ?? [])
    const checked = checkCall(within, rule, subject)
    if (!checked.ok) return checked
    calls.push(checked.call, ...checked.call.inside)
    valueWei += checked.call.valueWei
  }
  if (valueWei === BigInt(intent.value)) return { ok: true, inside: calls }
  return refuse(
    'value_above_cap',
    `Rule ${id}: its calls send ${native(valueWei)} of the ${native(BigInt(intent.value))} that come with it.`,
  )
}

/** A call inside of another, as an intent of its own. */
function intentAt(
  { signing: _signing, ...intent }: TransactionIntent,
  args: Arguments,
  { data, target, value }: Inside,
  place: ListIndexes,
): TransactionIntent {
  const at = (path: string, kind: ValueKind) => String(asValue(memberAt(args, path, place), kind))
  return {
    ...intent,
    target: target === null ? intent.target : `0x${at(target, 'address').slice(2)}`,
    calldata: `0x${at(data, 'bytes').slice(2)}`,
    value: value === null ? '0' : at(value, 'uint'),
  }
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
      `Intent ${order} sends ${native(value)}; rule ${rule.id} allows ${native(rule.valueWeiMax)}.`,
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
  const to = asAddress(target.resolve(subject))
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

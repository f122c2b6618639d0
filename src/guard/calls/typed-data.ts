import { type AbiFunction, type Address, encodeFunctionData, type Hex, hashTypedData } from 'viem'
import { type Checked, type Refusal, refuse } from '../../errors.ts'
import { TYPED_DATA_SIGNING } from '../../service/contract/fund-assumptions.ts'
import type { TransactionIntent } from '../../service/contract/prepared-workflow.ts'
import { type Arguments, countAt, memberAt } from '../policy/paths.ts'
import type { TypedData } from '../policy/rule.ts'
import { asAddress, asUint, asValue, kindOf } from '../policy/values.ts'

/** What a signature of ours says, and to whom. */
type Signed = { readonly rule: TypedData; readonly chainId: number; readonly verifyingContract: Address }

/**
 * Judge what an intent asks to sign: the same as its calldata says, in the place where the signature goes, under our
 * own type and domain.
 * @returns the EIP-712 digest, computed from the calldata and our own type alone. Pure.
 */
export function checkTypedData(
  { order, signing }: TransactionIntent,
  args: Arguments,
  signed: Signed,
): Checked<{ readonly digest: Hex }> {
  const { rule } = signed
  if (signing === undefined) {
    return refuse('signing_missing', `Intent ${order} asks for no signature; its call takes one.`)
  }
  if (signing.kind !== TYPED_DATA_SIGNING.kind) {
    return refuse('signing_kind', `Intent ${order} asks for another kind than ${TYPED_DATA_SIGNING.kind}.`)
  }
  if (signing.signaturePlacement !== rule.placement) {
    return refuse(
      'signature_placement',
      `Intent ${order} puts the signature elsewhere than into ${rule.placement}.`,
    )
  }
  if (args[rule.signature] !== PLACEHOLDER) {
    return refuse(
      'signature_placeholder',
      `Intent ${order} has other bytes than ${TYPED_DATA_SIGNING.signatureBytes} zeros where the signature goes.`,
    )
  }
  const mismatch = checkSame(signing.typedData, args, signed)
  return mismatch === null ? { ok: true, digest: digestOf(args, signed) } : mismatch
}

const PLACEHOLDER: Hex = `0x${'00'.repeat(TYPED_DATA_SIGNING.signatureBytes)}`

const digestOf = (args: Arguments, { rule, chainId, verifyingContract }: Signed): Hex =>
  hashTypedData({
    domain: { name: rule.name, version: rule.version, chainId, verifyingContract },
    types: { [rule.primaryType]: rule.fields },
    primaryType: rule.primaryType,
    message: messageOf(args, rule),
  })

const messageOf = (args: Arguments, { message, fields }: TypedData): Record<string, unknown> =>
  Object.fromEntries(fields.map(({ name }) => [name, memberAt(args, `${message}.${name}`)]))

/** Demand that the service's typed data is ours in value, and has nothing beside it. */
function checkSame(
  typedData: Readonly<Record<string, unknown>>,
  args: Arguments,
  { rule, chainId, verifyingContract }: Signed,
): Refusal | null {
  const { domain, types, primaryType, message } = typedData
  const ours = messageOf(args, rule)
  const parts: readonly (readonly [string, boolean])[] = [
    ['its outermost member', namesOf(typedData) === 'domain,message,primaryType,types'],
    ['primaryType', primaryType === rule.primaryType],
    ['types', areSameTypes(types, rule)],
    ['the domain', namesOf(domain) === 'chainId,name,verifyingContract,version'],
    ['domain.name', memberAt(domain, 'name') === rule.name],
    ['domain.version', memberAt(domain, 'version') === rule.version],
    ['domain.chainId', asUint(memberAt(domain, 'chainId')) === BigInt(chainId)],
    ['domain.verifyingContract', asAddress(memberAt(domain, 'verifyingContract')) === verifyingContract],
    ['the message', namesOf(message) === namesOf(ours)],
    ...rule.fields.map(
      ({ name, type }) => [`message.${name}`, isSame(memberAt(message, name), ours[name], type)] as const,
    ),
  ]
  const differs = parts.find(([, same]) => !same)?.[0]
  if (differs === undefined) return null
  return refuse(
    'typed_data_mismatch',
    `What the service asks to sign is not what its call says under our own type ${rule.primaryType}: ${differs} differs.`,
  )
}

const areSameTypes = (types: unknown, { primaryType, fields }: TypedData): boolean =>
  namesOf(types) === primaryType &&
  countAt(types, `${primaryType}[]`) === fields.length &&
  fields.every((field, index) => {
    const theirs = memberAt(types, `${primaryType}[]`, [index])
    return (
      namesOf(theirs) === 'name,type' &&
      memberAt(theirs, 'name') === field.name &&
      memberAt(theirs, 'type') === field.type
    )
  })

const namesOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? Object.keys(value).toSorted().join(',') : ''

function isSame(theirs: unknown, ours: unknown, type: string): boolean {
  const kind = kindOf(type)
  const value = kind === null ? undefined : asValue(theirs, kind)
  return kind !== null && value !== undefined && value === asValue(ours, kind)
}

/** Put a signature into the place of the call that was kept for it; every other byte stays. Pure. */
export const withSignature = (
  abi: AbiFunction,
  args: Arguments,
  { signature: name }: TypedData,
  signature: Hex,
): Hex =>
  encodeFunctionData({
    abi: [abi],
    functionName: abi.name,
    args: abi.inputs.map((input) => (input.name === name ? signature : args[input.name ?? ''])),
  })

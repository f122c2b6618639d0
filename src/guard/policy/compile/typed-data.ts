import type { AbiFunction, AbiParameter } from 'viem'
import type { GuardPolicy } from '../policy.ts'
import { policyError } from '../policy-error.ts'
import type { TypedData } from '../rule.ts'
import { kindOf } from '../values.ts'

/** Signed once, each of these lets its holder move more than one action needs. */
const DENIED_TYPES =
  /permit|authori[sz]ation|delegation|safe(tx|message)|user_?op|order|meta_?transaction|forward_?request/i

/**
 * Compile what a call's signature argument signs: our own type, whose members are those of another argument.
 * Throws RolekeeperError `policy.guard_invalid`. Pure.
 */
export function compileTypedData(
  source: NonNullable<GuardPolicy['allow'][number]['typedData']>,
  { inputs }: AbiFunction,
  path: string,
): TypedData {
  const [, primaryType = '', members = ''] = /^([A-Za-z]\w*)\((.*)\)$/.exec(source.type) ?? []
  const fields = members.split(',').map((member) => {
    const [, type = '', name = ''] = /^(\w+) (\w+)$/.exec(member) ?? []
    return { name, type }
  })
  if (fields.some(({ type }) => kindOf(type) === null)) {
    throw policyError(
      `${path}.type`,
      `"${source.type}" is no EIP-712 type.`,
      'write it as EIP-712 encodes it: "NavReport(address asset,uint256 value)".',
    )
  }
  if (DENIED_TYPES.test(primaryType)) {
    throw policyError(`${path}.type`, `${primaryType} is never signed.`, 'remove the rule.')
  }
  const message = inputs.find(({ name }) => name === source.message)
  if (message === undefined || !hasFields(message, fields)) {
    throw policyError(
      `${path}.message`,
      `"${source.message}" is no argument with the members of ${primaryType}.`,
      'name the struct that is signed; its members are the type’s, in order.',
    )
  }
  const at = inputs.findIndex(({ name, type }) => name === source.signature && type === 'bytes')
  if (at < 0) {
    throw policyError(
      `${path}.signature`,
      `"${source.signature}" is no argument of the type bytes.`,
      'name the argument that takes the signature.',
    )
  }
  const { name, version, signature } = source
  return {
    name,
    version,
    primaryType,
    fields,
    message: source.message,
    signature,
    placement: `argument:${at}`,
  }
}

const hasFields = (parameter: AbiParameter, fields: TypedData['fields']): boolean =>
  'components' in parameter &&
  parameter.type === 'tuple' &&
  parameter.components.length === fields.length &&
  parameter.components.every(
    ({ name, type }, index) => name === fields[index]?.name && type === fields[index]?.type,
  )

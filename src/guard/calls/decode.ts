import { decodeAbiParameters, encodeAbiParameters, type Hex, keccak256, size, slice } from 'viem'
import { type Checked, refuse } from '../../errors.ts'
import type { TransactionIntent } from '../../service/contract/prepared-workflow.ts'
import type { Arguments } from '../policy/paths.ts'
import type { Rule } from '../policy/rule.ts'
import { isLaidOut } from './layout.ts'

/**
 * Decode calldata and demand that its arguments, encoded again, are the same bytes: a decoder forgives trailing bytes,
 * dirty address bits and integers that are too wide, and a contract may not. Pure.
 */
export function decodeCall(
  { order, calldata }: TransactionIntent,
  { abi, selector }: Pick<Rule, 'abi' | 'selector'>,
): Checked<{ readonly args: Arguments }> {
  const encoded = calldata.slice(selector.length)
  try {
    if (isLaidOut(abi.inputs, encoded)) {
      const args = decodeAbiParameters(abi.inputs, `0x${encoded}`)
      const again = `${selector}${encodeAbiParameters(abi.inputs, args).slice(2)}`
      const named = abi.inputs.map(({ name }, index) => [name ?? '', args[index]] as const)
      if (again === calldata) return { ok: true, args: Object.fromEntries(named) }
    }
  } catch {
    // Too short, or not these types: the same refusal.
  }
  return refuse('calldata_not_canonical', `Intent ${order} is not the one encoding of a call of ${abi.name}.`)
}

/** Code that hashes to what a policy pins, by that hash: to hash 20 kB takes longer than all other checks together. */
const hashed = new Map<Hex, Hex>()

/**
 * Take a creation apart: the code must be the one that the rule names, and what comes after it the one encoding of its
 * arguments. Pure.
 */
export function decodeCreation(
  { order, calldata }: TransactionIntent,
  { id, abi }: Rule,
  { codeHash, codeBytes }: NonNullable<Rule['creation']>,
): Checked<{ readonly args: Arguments }> {
  const code = slice(calldata, 0, codeBytes)
  const found = hashed.get(codeHash) === code ? codeHash : keccak256(code)
  if (found !== codeHash) {
    return refuse(
      'creation_code_changed',
      `Intent ${order} deploys code that hashes to ${found}; rule ${id} allows only ${codeHash}. Fix: find out what changed before you pin it.`,
    )
  }
  hashed.set(codeHash, code)
  try {
    const encoded: Hex = size(calldata) > codeBytes ? slice(calldata, codeBytes) : '0x'
    if (isLaidOut(abi.inputs, encoded.slice(2))) {
      const values = decodeAbiParameters(abi.inputs, encoded)
      const named = abi.inputs.map(({ name }, index) => [name ?? '', values[index]] as const)
      if (encodeAbiParameters(abi.inputs, values) === encoded)
        return { ok: true, args: Object.fromEntries(named) }
    }
  } catch {
    // Too short, or not these types: the same refusal.
  }
  return refuse(
    'calldata_not_canonical',
    `What follows the code of intent ${order} is not the one encoding of its arguments.`,
  )
}

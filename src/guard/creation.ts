import { decodeAbiParameters, encodeAbiParameters, type Hex, keccak256, size, slice } from 'viem'
import type { TransactionIntent } from '../service/workflows.ts'
import { type Checked, refuse } from '../workflow/verdict.ts'
import type { Arguments } from './calls.ts'
import type { Rule } from './ruleset.ts'

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

import { type Address, size, stringToHex } from 'viem'

/** Kinds of values that a condition compares. */
export const VALUE_KINDS = ['address', 'uint', 'bool', 'string', 'bytes32'] as const
/** One of them. */
export type ValueKind = (typeof VALUE_KINDS)[number]

/** Find the kind of a Solidity type; null when it has no rule language. Pure. */
export const kindOf = (type: string): ValueKind | null =>
  VALUE_KINDS.find((kind) => (kind === 'uint' ? /^uint\d*$/.test(type) : kind === type)) ?? null

/** A value of a kind: addresses and words as lower-case hex, integers as bigint, texts as they are. */
export type Value = bigint | boolean | string

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const WORD = /^0x[0-9a-fA-F]{64}$/
const UINT = /^[0-9]{1,78}$/

/** Read what was found as a value of a kind; undefined when it is none. A text is a word when it fits in one. Pure. */
export function asValue(found: unknown, kind: ValueKind): Value | undefined {
  switch (kind) {
    case 'address':
      return asAddress(found)
    case 'uint':
      return asUint(found)
    case 'bool':
      return typeof found === 'boolean' ? found : undefined
    case 'string':
      return typeof found === 'string' ? found : undefined
    case 'bytes32':
      return typeof found === 'string' ? asWord(found) : undefined
  }
}

/** Read an address, in lower case; undefined when it is none. Pure. */
export const asAddress = (found: unknown): Address | undefined =>
  typeof found === 'string' && ADDRESS.test(found) ? `0x${found.slice(2).toLowerCase()}` : undefined

/** Read an unsigned integer from a bigint, a whole number or decimal digits; undefined when it is none. Pure. */
export function asUint(found: unknown): bigint | undefined {
  if (typeof found === 'bigint') return found >= 0n ? found : undefined
  if (typeof found === 'number') return Number.isSafeInteger(found) && found >= 0 ? BigInt(found) : undefined
  return typeof found === 'string' && UINT.test(found) ? BigInt(found) : undefined
}

const asWord = (text: string): string | undefined => {
  if (WORD.test(text)) return text.toLowerCase()
  return size(stringToHex(text)) <= 32 ? stringToHex(text, { size: 32 }) : undefined
}

import { type Address, size, stringToHex } from 'viem'

/** A kind of values that a condition compares; `bytes4` is a word of 4 bytes, `bytes` any number of them. */
export type ValueKind = 'address' | 'uint' | 'int' | 'bool' | 'string' | 'bytes' | `bytes${number}`

/** Find the kind of a Solidity type; null when it has no rule language. Pure. */
export function kindOf(type: string): ValueKind | null {
  if (/^uint\d*$/.test(type)) return 'uint'
  if (/^int\d*$/.test(type)) return 'int'
  const [, bytes] = /^bytes([1-9]|[12]\d|3[0-2])$/.exec(type) ?? []
  if (bytes !== undefined) return `bytes${Number(bytes)}`
  return type === 'address' || type === 'bool' || type === 'string' || type === 'bytes' ? type : null
}

/** Whether values of a kind have an order. Pure. */
export const isNumber = (kind: ValueKind): boolean => kind === 'uint' || kind === 'int'

/** A value of a kind: addresses and bytes as lower-case hex, integers as bigint, texts as they are. */
export type Value = bigint | boolean | string

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const BYTES = /^0x([0-9a-fA-F]{2})*$/
const UINT = /^[0-9]{1,78}$/
const INT = /^-?[0-9]{1,78}$/

/** Read what was found as a value of a kind; undefined when it is none. A text is a word when it fits in one. Pure. */
export function asValue(found: unknown, kind: ValueKind): Value | undefined {
  switch (kind) {
    case 'address':
      return asAddress(found)
    case 'uint':
      return asUint(found)
    case 'int':
      return asInt(found)
    case 'bool':
      return typeof found === 'boolean' ? found : undefined
    case 'string':
      return typeof found === 'string' ? found : undefined
    case 'bytes':
      return typeof found === 'string' && BYTES.test(found) ? found.toLowerCase() : undefined
    default:
      return typeof found === 'string' ? asWord(found, Number(kind.slice('bytes'.length))) : undefined
  }
}

/** Read a value as a policy writes it; undefined when it is none of the kind. Pure. */
export function asLiteral(text: string, kind: ValueKind): Value | undefined {
  if (kind !== 'bool') return asValue(text, kind)
  return text === 'true' || text === 'false' ? text === 'true' : undefined
}

/** Read an address, in lower case; undefined when it is none. Pure. */
export const asAddress = (found: unknown): Address | undefined =>
  typeof found === 'string' && ADDRESS.test(found) ? `0x${found.slice(2).toLowerCase()}` : undefined

/** Read an unsigned integer from a bigint, a whole number or decimal digits; undefined when it is none. Pure. */
export function asUint(found: unknown): bigint | undefined {
  if (typeof found === 'string' && !UINT.test(found)) return undefined
  const value = asInt(found)
  return value === undefined || value < 0n ? undefined : value
}

function asInt(found: unknown): bigint | undefined {
  if (typeof found === 'bigint') return found
  if (typeof found === 'number') return Number.isSafeInteger(found) ? BigInt(found) : undefined
  return typeof found === 'string' && INT.test(found) ? BigInt(found) : undefined
}

/** A word as hex of all its bytes, or as a text that zeros fill up. */
function asWord(text: string, bytes: number): string | undefined {
  if (text.startsWith('0x'))
    return BYTES.test(text) && size(`0x${text.slice(2)}`) === bytes ? text.toLowerCase() : undefined
  return size(stringToHex(text)) <= bytes ? stringToHex(text, { size: bytes }) : undefined
}

import type { AbiParameter } from 'viem'

/** A value as this decoder reads it: integers as bigint, bytes and addresses as lower-case hex, lists and structs as lists. */
export type Decoded = bigint | boolean | string | readonly Decoded[]

/** Text that is no UTF-8 is no text. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decode arguments by the ABI's specification alone, strictly: every word is used once and in its one order, and padding
 * is what it must be. Null where it is not. It shares nothing with the decoder of the guard. Pure.
 */
export function decodeAgain(parameters: readonly AbiParameter[], data: string): readonly Decoded[] | null {
  if (!/^([0-9a-f]{64})*$/.test(data)) return null
  const words = data.match(/.{64}/g) ?? []
  const reader = { words, end: 0 }
  try {
    const values = readAll(parameters, reader, 0)
    return reader.end === words.length ? values : null
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return null
    throw error
  }
}

/** `end` is the first word that nothing has claimed. */
type Reader = { readonly words: readonly string[]; end: number }

const wordAt = ({ words }: Reader, at: number): string => {
  const word = words[at]
  if (word === undefined) throw new RangeError('past the end')
  return word
}
const uintAt = (reader: Reader, at: number): bigint => BigInt(`0x${wordAt(reader, at)}`)
const need = (fits: boolean) => {
  if (!fits) throw new RangeError('not canonical')
}

const arrayOf = ({ type }: AbiParameter) => /^(.*)\[(\d*)\]$/.exec(type)
const partsOf = (parameter: AbiParameter): readonly AbiParameter[] =>
  'components' in parameter ? parameter.components : []
const elementOf = (parameter: AbiParameter, type: string): AbiParameter => ({ ...parameter, type })

function isDynamic(parameter: AbiParameter): boolean {
  const [, element = '', length] = arrayOf(parameter) ?? []
  if (length !== undefined) return length === '' || isDynamic(elementOf(parameter, element))
  if (parameter.type === 'tuple') return partsOf(parameter).some(isDynamic)
  return parameter.type === 'bytes' || parameter.type === 'string'
}

/** How many words a value takes where it stands. */
function sizeOf(parameter: AbiParameter): number {
  if (isDynamic(parameter)) return 1
  const [, element = '', length] = arrayOf(parameter) ?? []
  if (length !== undefined) return Number(length) * sizeOf(elementOf(parameter, element))
  if (parameter.type !== 'tuple') return 1
  return partsOf(parameter).reduce((sum, part) => sum + sizeOf(part), 0)
}

/** Values that stand beside each other: what is dynamic among them follows behind all heads, in order, without a gap. */
function readAll(parameters: readonly AbiParameter[], reader: Reader, start: number): readonly Decoded[] {
  const heads = parameters.reduce((sum, parameter) => sum + sizeOf(parameter), 0)
  need(start === reader.end && start + heads <= reader.words.length)
  reader.end = start + heads
  let at = start
  return parameters.map((parameter) => {
    const head = at
    at += sizeOf(parameter)
    if (!isDynamic(parameter)) return readStatic(parameter, reader, head)
    const offset = uintAt(reader, head)
    need(offset === BigInt((reader.end - start) * 32))
    return readDynamic(parameter, reader)
  })
}

function readDynamic(parameter: AbiParameter, reader: Reader): Decoded {
  const [, element = '', length] = arrayOf(parameter) ?? []
  if (length === undefined && parameter.type === 'tuple')
    return readAll(partsOf(parameter), reader, reader.end)
  if (length !== undefined && length !== '') {
    return readAll(
      Array.from({ length: Number(length) }, () => elementOf(parameter, element)),
      reader,
      reader.end,
    )
  }
  const count = uintAt(reader, reader.end)
  reader.end += 1
  need(count <= BigInt(reader.words.length * 32))
  if (length === '') {
    return readAll(
      Array.from({ length: Number(count) }, () => elementOf(parameter, element)),
      reader,
      reader.end,
    )
  }
  const words = Math.ceil(Number(count) / 32)
  const text = Array.from({ length: words }, (_, index) => wordAt(reader, reader.end + index)).join('')
  reader.end += words
  const bytes = text.slice(0, Number(count) * 2)
  need(/^0*$/.test(text.slice(bytes.length)))
  return parameter.type === 'bytes' ? `0x${bytes}` : utf8.decode(Buffer.from(bytes, 'hex'))
}

function readStatic(parameter: AbiParameter, reader: Reader, at: number): Decoded {
  const [, element = '', length] = arrayOf(parameter) ?? []
  const parts =
    length === undefined
      ? partsOf(parameter)
      : Array.from({ length: Number(length) }, () => elementOf(parameter, element))
  if (length !== undefined || parameter.type === 'tuple') {
    let next = at
    return parts.map((part) => {
      const head = next
      next += sizeOf(part)
      return readStatic(part, reader, head)
    })
  }
  return readWord(parameter.type, wordAt(reader, at))
}

function readWord(type: string, word: string): Decoded {
  const value = BigInt(`0x${word}`)
  const [, kind = '', width = ''] = /^([a-z]+)(\d*)$/.exec(type) ?? []
  switch (kind) {
    case 'address':
      need(value < 2n ** 160n)
      return `0x${word.slice(24)}`
    case 'bool':
      need(value < 2n)
      return value === 1n
    case 'uint':
      need(value < 2n ** BigInt(width || 256))
      return value
    case 'int': {
      const signed = BigInt.asIntN(256, value)
      need(BigInt.asIntN(Number(width || 256), signed) === signed)
      return signed
    }
    default:
      need(kind === 'bytes' && /^0*$/.test(word.slice(Number(width) * 2)))
      return `0x${word.slice(0, Number(width) * 2)}`
  }
}

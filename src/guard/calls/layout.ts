import type { AbiParameter } from 'viem'

/**
 * Whether encoded arguments lie as an encoder lays them: what is dynamic follows all heads in order, each part once and
 * without a gap. A decoder follows any offset: a thousand of them to one text of 100 kB are 100 MB, of an answer that is
 * refused afterwards. `data` is hex digits without `0x`. Takes time in proportion to it. Pure.
 */
export const isLaidOut = (parameters: readonly AbiParameter[], data: string): boolean =>
  endOf(parameters, data, 0) === data.length / DIGITS

/** Hex digits of a word. */
const DIGITS = 64

/** The word at which arguments end that begin at `start`; null where an offset leads elsewhere than to what comes next. */
function endOf(parameters: readonly AbiParameter[], data: string, start: number): number | null {
  let at = start
  let end = start + wordsOfAll(parameters)
  for (const parameter of parameters) {
    if (isDynamic(parameter)) {
      const next = numberAt(data, at) === (end - start) * 32 ? endOfTail(parameter, data, end) : null
      if (next === null) return null
      end = next
    }
    at += wordsOf(parameter)
  }
  return end
}

/** The word at which a dynamic value ends that begins at `start`. */
function endOfTail(parameter: AbiParameter, data: string, start: number): number | null {
  const list = listOf(parameter)
  if (list === null) {
    return parameter.type === 'tuple'
      ? endOf(membersOf(parameter), data, start)
      : start + 1 + Math.ceil(numberAt(data, start) / 32)
  }
  const { element, length } = list
  const count = length ?? numberAt(data, start)
  const first = length === null ? start + 1 : start
  const words = count * wordsOf(element)
  // Never more elements than there are words for, whatever a count says.
  if (!(first + words <= data.length / DIGITS) || words < count) return null
  return isDynamic(element) ? endOf(Array(count).fill(element), data, first) : first + words
}

/** A word as a number: not exact where it is larger than any data. */
const numberAt = (data: string, word: number): number =>
  Number(`0x${data.slice(word * DIGITS, (word + 1) * DIGITS)}`)

const membersOf = (parameter: AbiParameter): readonly AbiParameter[] =>
  'components' in parameter ? parameter.components : []

/** The outermost list of a type, `length` null where it is of any; null where it is none. */
function listOf(
  parameter: AbiParameter,
): { readonly element: AbiParameter; readonly length: number | null } | null {
  const [, type, length] = /^(.*)\[(\d*)\]$/.exec(parameter.type) ?? []
  if (type === undefined) return null
  return { element: { ...parameter, type }, length: length === '' ? null : Number(length) }
}

function isDynamic(parameter: AbiParameter): boolean {
  const list = listOf(parameter)
  if (list !== null) return list.length === null || isDynamic(list.element)
  if (parameter.type === 'tuple') return membersOf(parameter).some(isDynamic)
  return parameter.type === 'bytes' || parameter.type === 'string'
}

/** How many words a value takes among the heads. */
function wordsOf(parameter: AbiParameter): number {
  if (isDynamic(parameter)) return 1
  const list = listOf(parameter)
  if (list !== null) return (list.length ?? 0) * wordsOf(list.element)
  return parameter.type === 'tuple' ? wordsOfAll(membersOf(parameter)) : 1
}

const wordsOfAll = (parameters: readonly AbiParameter[]): number =>
  parameters.reduce((sum, parameter) => sum + wordsOf(parameter), 0)

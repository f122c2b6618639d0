import { type AbiParameter, encodeAbiParameters, type Hex, keccak256, stringToHex } from 'viem'
import { expect, it } from 'vitest'
import { decodeCall } from '../../../src/guard/calls/decode.ts'
import type { TransactionIntent } from '../../../src/service/contract/prepared-workflow.ts'
import { intent, STRANGER } from '../fixtures.ts'
import { type Decoded, decodeAgain } from './second-decoder.ts'

const SELECTOR = '0x12345678'

/** Numbers below a bound, the same for the same seed. */
function createDice(seed: string) {
  let state = keccak256(stringToHex(seed))
  return (below: number): number => {
    state = keccak256(state)
    return Number(BigInt(state) % BigInt(below))
  }
}
type Dice = ReturnType<typeof createDice>

const SCALARS = [
  'address',
  'bool',
  'uint8',
  'uint256',
  'int16',
  'int256',
  'bytes',
  'string',
  'bytes4',
  'bytes32',
]

function someType(dice: Dice, name: string, depth = 0): AbiParameter {
  const suffix = dice(3) > 0 ? '' : ['[]', '[2]', '[][2]', '[3][]'][dice(4)]
  if (depth < 2 && dice(4) === 0) {
    const components = Array.from({ length: 1 + dice(3) }, (_, index) =>
      someType(dice, `m${index}`, depth + 1),
    )
    return { name, type: `tuple${suffix}`, components }
  }
  return { name, type: `${SCALARS[dice(SCALARS.length)]}${suffix}` }
}

function someValue(dice: Dice, parameter: AbiParameter): unknown {
  const [, element = '', length] = /^(.*)\[(\d*)\]$/.exec(parameter.type) ?? []
  if (length !== undefined) {
    const count = length === '' ? dice(3) : Number(length)
    return Array.from({ length: count }, () => someValue(dice, { ...parameter, type: element }))
  }
  const hex = (bytes: number): Hex =>
    `0x${Array.from({ length: bytes }, () => dice(256).toString(16).padStart(2, '0')).join('')}`
  const { type } = parameter
  if ('components' in parameter) {
    return Object.fromEntries(parameter.components.map((part) => [part.name ?? '', someValue(dice, part)]))
  }
  if (type === 'bool') return dice(2) === 1
  if (type === 'string') return ['', 'a', 'Vault Twо', 'x'.repeat(33)][dice(4)]
  if (type === 'bytes') return hex([0, 1, 31, 32, 33][dice(5)] ?? 0)
  if (type === 'address') return hex(20)
  if (type.startsWith('bytes')) return hex(Number(type.slice(5)))
  const bits = Number(/\d+/.exec(type)?.[0])
  const value = BigInt(hex(bits / 8))
  return type.startsWith('uint') ? value : BigInt.asIntN(bits, value)
}

/** Values as the second decoder writes them. */
function plain(parameter: AbiParameter, value: unknown): Decoded {
  const [, element] = /^(.*)\[\d*\]$/.exec(parameter.type) ?? []
  if (element !== undefined && Array.isArray(value)) {
    return value.map((each: unknown) => plain({ ...parameter, type: element }, each))
  }
  if ('components' in parameter && typeof value === 'object' && value !== null) {
    const members = new Map<string, unknown>(Object.entries(value))
    return parameter.components.map((part) => plain(part, members.get(part.name ?? '')))
  }
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value)
  if (typeof value === 'boolean') return value
  return parameter.type === 'string' ? String(value) : String(value).toLowerCase()
}

/** What the guard reads of calldata; null where it refuses it. */
function guardReads(inputs: readonly AbiParameter[], data: string): readonly Decoded[] | null {
  const call: TransactionIntent = intent(0, STRANGER, `${SELECTOR}${data}`)
  const abi = { type: 'function', name: 'f', inputs, outputs: [], stateMutability: 'nonpayable' } as const
  const decoded = decodeCall(call, { abi, selector: SELECTOR })
  return decoded.ok ? inputs.map((input) => plain(input, decoded.args[input.name ?? ''])) : null
}

/** The same bytes, changed as a liar would: a bit, a word, an offset, a tail. */
function changed(dice: Dice, data: string): string {
  const at = dice(Math.max(1, data.length / 64)) * 64
  const word = data.slice(at, at + 64)
  const put = (other: string) => `${data.slice(0, at)}${other}${data.slice(at + 64)}`
  switch (dice(6)) {
    case 0:
      return data.slice(0, -64)
    case 1:
      return `${data}${'00'.repeat(32)}`
    case 2:
      return put((BigInt(`0x${word || '0'}`) ^ (1n << BigInt(dice(256)))).toString(16).padStart(64, '0'))
    case 3:
      return put((BigInt(`0x${word || '0'}`) + 32n).toString(16).padStart(64, '0').slice(-64))
    case 4:
      return put(`${'00'.repeat(31)}20`)
    default:
      return `${data.slice(0, at)}${word}${word}${data.slice(at + 64)}`
  }
}

it('reads what a second decoder reads, and refuses what that refuses', () => {
  const dice = createDice('rolekeeper')
  let refused = 0
  for (let round = 0; round < 500; round += 1) {
    const inputs = Array.from({ length: 1 + dice(4) }, (_, index) => someType(dice, `p${index}`))
    const values = inputs.map((input) => someValue(dice, input))
    const honest = encodeAbiParameters(inputs, values).slice(2)
    const expected = inputs.map((input, index) => plain(input, values[index]))
    expect(guardReads(inputs, honest)).toEqual(expected)
    expect(decodeAgain(inputs, honest)).toEqual(expected)
    for (const data of [changed(dice, honest), changed(dice, changed(dice, honest))]) {
      const read = guardReads(inputs, data)
      if (read === null) refused += 1
      expect(read, `${JSON.stringify(inputs)} ${data}`).toEqual(decodeAgain(inputs, data))
    }
  }
  expect(refused).toBeGreaterThan(300)
})

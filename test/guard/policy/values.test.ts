import { expect, it } from 'vitest'
import { asLiteral, asValue, type ValueKind } from '../../../src/guard/policy/values.ts'

const ADDRESS = `0x${'aB'.repeat(20)}`
const most = '9'.repeat(78)

it.each<readonly [ValueKind, readonly (readonly [found: unknown, value: unknown])[], readonly unknown[]]>([
  ['address', [[ADDRESS, ADDRESS.toLowerCase()]], ['0xab', `${ADDRESS}00`, `00${ADDRESS}`, '', 5]],
  [
    'uint',
    [
      [5n, 5n],
      [5, 5n],
      ['5', 5n],
      ['0', 0n],
      [most, BigInt(most)],
    ],
    [-5n, -5, '-5', '-0', '', ' 5', '0x10', '1e3', 'five', 1.5, 2 ** 53, `${most}9`, ['5'], true, null],
  ],
  [
    'int',
    [
      [-5n, -5n],
      [-5, -5n],
      ['-5', -5n],
      ['5', 5n],
      [`-${most}`, -BigInt(most)],
    ],
    ['', ' 5', '--5', '0x10', 'five', 1.5, `${most}9`, ['5'], null],
  ],
  [
    'bool',
    [
      [true, true],
      [false, false],
    ],
    ['true', 1, 1n, null],
  ],
  [
    'string',
    [
      ['a', 'a'],
      ['', ''],
    ],
    [5, 5n, true, null],
  ],
  [
    'bytes',
    [
      ['0xAB01', '0xab01'],
      ['0x', '0x'],
    ],
    ['0xa', 'ab', '0xgg', '', 5],
  ],
  [
    'bytes4',
    [
      ['0xABCDEF01', '0xabcdef01'],
      ['abcd', '0x61626364'],
      ['abc', '0x61626300'],
      ['', '0x00000000'],
    ],
    ['0xabcdef', '0xabcdef0102', '0xabcdefgh', 'abcde', 'abcé', 5, null],
  ],
])('a value is a %s only in its own form', (kind, values, others) => {
  expect(values.map(([found]) => asValue(found, kind))).toEqual(values.map(([, value]) => value))
  expect(others.map((found) => asValue(found, kind))).toEqual(others.map(() => undefined))
})

it('a policy writes truth values as words', () => {
  expect(['true', 'false', 'yes', ''].map((text) => asLiteral(text, 'bool'))).toEqual([
    true,
    false,
    undefined,
    undefined,
  ])
})

import { describe, expect, it } from 'vitest'
import { parseYaml } from '../../src/config/yaml.ts'
import { RolekeeperError } from '../../src/errors.ts'

const refusal = (text: string): string => {
  try {
    return JSON.stringify(parseYaml('a.yaml', text).value)
  } catch (error) {
    expect(error).toBeInstanceOf(RolekeeperError)
    return (error as RolekeeperError).message
  }
}

describe('YAML', () => {
  it('keeps every scalar a string', () => {
    const text = 'a: 12345678901234567890123\nb: true\nc: 2026-01-01\nd: "0xab"\ne:\nf: 1e9\ng: ~'
    expect(parseYaml('a.yaml', text).value).toEqual({
      a: '12345678901234567890123',
      b: 'true',
      c: '2026-01-01',
      d: '0xab',
      e: '',
      f: '1e9',
      g: '~',
    })
  })

  it('finds the position of a key, of an item, and of the nearest part that is there', () => {
    const yaml = parseYaml('a.yaml', 'a:\n  b:\n    - c: one\n    - two\n')
    expect(yaml.at(['a', 'b', 0, 'c'])).toBe('a.yaml:3:7')
    expect(yaml.at(['a', 'b', 1])).toBe('a.yaml:4:7')
    expect(yaml.at(['a', 'x', 'y'])).toBe('a.yaml:1:1')
    expect(yaml.at([])).toBe('a.yaml:1:1')
  })

  it.each([
    ['a duplicate key', 'a: 1\nb:\n  c: 1\n  c: 2'],
    ['an anchor', 'a: &x 1'],
    ['an alias', 'a: &x [1]\nb: *x'],
    ['an alias that has no anchor', 'b: *x'],
    ['a tag', 'a: !!float 3'],
    ['a tag of its own', 'a: !x {b: 1}'],
    ['an unquoted 0x value', 'list:\n  - 0xAbc'],
    ['an address whose capitals are not its checksum', `a: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee"`],
    [
      'one inside of a text',
      `if: { "$args.to": { in: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed or 0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" } }`,
    ],
    ['an unquoted 0X key-like value in a flow', 'a: {b: 0X12}'],
    ['two documents', 'a: 1\n---\nb: 2'],
    ['broken indentation', 'a:\n  - b\n c: 1'],
    ['an unclosed list', 'a: [1, 2'],
    ['a mapping as a key', '{a: 1}: 2'],
    ['a tab', 'a:\n\t- b'],
    ['nesting one past the deepest', `${'['.repeat(33)}${']'.repeat(33)}`],
  ])('refuses %s', (_, text) => {
    expect(refusal(text)).toMatchSnapshot()
  })

  it('takes an address in its checksum, in lower case and in capitals', () => {
    const address = '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    for (const digits of [address, address.toLowerCase(), address.toUpperCase()])
      expect(parseYaml('a.yaml', `a: "0x${digits}"`).value).toEqual({ a: `0x${digits}` })
  })

  it('takes nesting at the deepest', () => {
    expect(refusal(`${'['.repeat(32)}${']'.repeat(32)}`)).toMatch(/^\[/)
  })

  it('survives nesting that overflows a parser', () => {
    expect(refusal('['.repeat(30_000))).toMatch(/^a\.yaml:/)
  })

  it('gives a key named __proto__ no meaning', () => {
    const { value } = parseYaml('a.yaml', '__proto__:\n  polluted: yes')
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.keys(value as object)).toEqual(['__proto__'])
  })
})

import { expect, it } from 'vitest'
import { parseConstructor, parseFunction, parseView } from '../../../src/guard/policy/functions.ts'

it('a constructor is a function of that name', () => {
  expect(parseConstructor('constructor(address owner)', 'at')).toMatchObject({
    ...{ type: 'function', name: 'constructor', inputs: [{ name: 'owner' }] },
  })
})

it.each(['view', 'pure'])('what only reads is a view: %s', (mutability) => {
  expect(parseView(`function f() ${mutability} returns (uint256)`, 'at').name).toBe('f')
})

it('what is no function is refused', () => {
  for (const text of ['struct A { uint256 b; }', 'event A()', 'f()', ''])
    expect(() => parseFunction(text, 'at'), text).toThrow(/^at: ".*" is not a function\./)
  expect(() => parseView('function f() returns (uint256)', 'at')).toThrow('f is not a view')
})

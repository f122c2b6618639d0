import { expect, it } from 'vitest'
import { countAt, placesOf } from '../../../src/guard/policy/paths.ts'

it('a path through what is no list leads nowhere', () => {
  expect(placesOf({ a: ['x', 'y'] }, 'a[]')).toEqual([[0], [1]])
  expect(countAt({ a: ['x', 'y'] }, 'a[]')).toBe(2)
  for (const a of ['xy', { length: 2 }, 5, null, undefined]) {
    expect(placesOf({ a }, 'a[]')).toEqual([])
    expect(countAt({ a }, 'a[]')).toBeUndefined()
  }
})

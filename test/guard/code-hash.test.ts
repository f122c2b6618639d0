import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { CODE_HASH } from '../../src/guard/code-hash.ts'
import { contentHash } from '../../src/guard/content-hash.ts'

it('names every file of the guard, and of what is assumed of the service, by name and content', () => {
  const sources = ['src/guard', 'src/service/contract'].map((directory) =>
    readdirSync(directory, { recursive: true })
      .map(String)
      .filter((name) => /\.ts$/.test(name))
      .toSorted()
      .map((name) => [name, readFileSync(`${directory}/${name}`, 'utf8')]),
  )
  expect(sources.flat().map(([name]) => name)).toEqual(
    expect.arrayContaining(['code-hash.ts', 'policy/policy.ts', 'assumptions.ts']),
  )
  expect(CODE_HASH).toBe(contentHash(sources))
})

it('hashes the same content alike in any order, and other content otherwise', () => {
  expect(contentHash({ a: 1n, b: [null, 'x'] })).toBe(contentHash({ b: [null, 'x'], a: 1n }))
  const values = [
    { a: 1n },
    { a: 1 },
    { a: '1n' },
    { a: ['1n'] },
    { a: {} },
    { a: [] },
    { a: null },
    { b: 1n },
  ]
  // A big integer is written as text that ends on n: no setting of a policy reads like that.
  expect(new Set(values.map(contentHash)).size).toBe(values.length - 1)
})

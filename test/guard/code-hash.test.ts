import { readdirSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { expect, it } from 'vitest'
import { CODE_HASH } from '../../src/guard/code-hash.ts'
import { contentHash } from '../../src/guard/content-hash.ts'

it('names every file that verdicts rest on, by path and content', () => {
  const sources = ['src/guard', 'src/service/contract', 'src/workflow'].flatMap((directory) =>
    readdirSync(directory, { recursive: true })
      .map(String)
      .filter((name) => /\.ts$/.test(name))
      .toSorted()
      .map((name) => `${directory}/${name}`),
  )
  const files = [...sources, 'src/units.ts', 'src/readable.js', 'src/errors.ts', 'package.json']
  expect(files).toContain('src/guard/policy/policy.ts')
  expect(CODE_HASH).toBe(
    contentHash(files.map((file) => [relative('src/guard', file), readFileSync(file, 'utf8')])),
  )
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

import { describe, expect, it } from 'vitest'
import { RULES, type Seed } from './architecture/rules.ts'
import { parseFile, readTree, type Tree } from './architecture/tree.ts'

const tree = readTree()

/** The tree with files added, or others in the place of those that are there. */
function seeded(seed: Seed): Tree {
  const files = Object.entries(seed).map(([path, text]) => parseFile(path, text))
  return { ...tree, files: [...tree.files.filter(({ path }) => seed[path] === undefined), ...files] }
}

it('reads the whole tree', () => {
  expect(tree.files.length).toBeGreaterThan(600)
  expect(tree.files.flatMap(({ edges }) => edges).length).toBeGreaterThan(3_000)
})

describe.each(Object.entries(RULES))('%s', (_, { rule, caught, allowed = [] }) => {
  it('everywhere', () => {
    expect(rule(tree)).toEqual([])
  })

  it.each(caught.map((seed) => [Object.keys(seed)[0], seed]))('and %s is caught', (_path, seed) => {
    expect(rule(seeded(seed)).filter((found) => !rule(tree).includes(found))).not.toEqual([])
  })

  it.each(allowed.map((seed) => [Object.keys(seed)[0], seed]))('and %s may be so', (_path, seed) => {
    expect(rule(seeded(seed)).filter((found) => !rule(tree).includes(found))).toEqual([])
  })
})

it('does not let an import hide behind a computed name', () => {
  expect(() => parseFile('src/chain/a.ts', 'await import(".//" + name)')).toThrow('hides an arrow')
})

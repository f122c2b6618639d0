import { globSync, readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { describe, expect, it } from 'vitest'
import { declaredFiles, equivalentIn } from './equivalent.ts'
import { mutate, SWITCH } from './mutants.ts'

const SOURCE = `import { a } from './a.ts'
export const least = (list: readonly bigint[], floor: bigint) => {
  const kept = list.filter((each) => each >= floor && each !== 7n)
  if (kept.length === 0) return refuse('empty', \`none of \${list.length} is there\`)
  kept.push(a?.b.c ?? 0n)
  return kept
}`

describe('the mutants of a file', () => {
  const { text, mutants } = mutate('a.ts', SOURCE, 10)

  it('are numbered from where they should begin, and say where they are', () => {
    expect(mutants.map(({ id }) => id)).toEqual(mutants.map((_, index) => index + 10))
    expect(mutants.map(({ line, was, is }) => `${line}: ${was} -> ${is}`)).toEqual(
      expect.arrayContaining([
        '3: each >= floor -> (each) > (floor)',
        '3: each !== 7n -> (each) === (7n)',
        '3: list.filter((each) => each >= floor && each !== 7n) -> list',
        '4: kept.length === 0 -> true',
        "4: 'empty' -> ''",
        '5: a?.b.c ?? 0n -> (a?.b.c) && (0n)',
        '5: kept.push(a?.b.c ?? 0n) -> undefined',
      ]),
    )
  })

  it('leave texts for people, types and imports alone', () => {
    expect(text).toContain("import { a } from './a.ts'")
    expect(text).toContain('`none of $' + '{list.length} is there`')
    expect(text).toContain('(list: readonly bigint[], floor: bigint)')
  })

  it('change nothing until one is switched on', () => {
    const body = text
      .slice(text.indexOf('= (list') + 2)
      .replace('(list: readonly bigint[], floor: bigint)', '(list, floor)')
    const run = (on: number) =>
      new Function(SWITCH, 'refuse', 'a', `return ${body}`)(
        (id: number) => id === on,
        (check: string) => check,
        { b: { c: 1n } },
      )
    expect(run(0)([5n, 7n, 9n], 5n)).toEqual([5n, 9n, 1n])
    expect(run(0)([1n], 5n)).toBe('empty')
    const outcomes = mutants.map(({ id }) => {
      try {
        return String([run(id)([5n, 7n, 9n], 5n), run(id)([1n], 5n)])
      } catch {
        return 'thrown'
      }
    })
    expect(outcomes.filter((outcome) => outcome === '5,9,1,empty')).toEqual([])
  })
})

describe('the code that decides about money', () => {
  it.each(globSync('src/{guard,journal,sign}/**/*.ts'))('can be mutated: %s', (file) => {
    const { text, mutants } = mutate(file, readFileSync(file, 'utf8'), 0)
    expect(parseSync(file, text).errors).toEqual([])
    expect(new Set(mutants.map(({ id }) => id)).size).toBe(mutants.length)
  })
})

it.each(declaredFiles())('what is declared equivalent is there: %s', (file) => {
  const source = readFileSync(file, 'utf8')
  for (const [declared, mutants] of equivalentIn(file, source, mutate(file, source, 0).mutants))
    expect([declared.line, mutants.length > 0]).toEqual([declared.line, true])
})

import type { Condition } from '../../src/guard/policy/conditions.ts'

/** Write a compiled test as the lists of bounds have it. */
export const textOf = (test: Condition): string => {
  if (test.op === 'any')
    return `any (${test.of.map((tests) => tests.map(textOf).join(' and ')).join(' or ')})`
  if (test.op === 'in') return `in ${test.text}`
  const part = 'part' in test && test.part !== null ? `${test.part.of}/${test.part.over} of ` : ''
  return `${test.op} ${part}${test.reference.text}`
}

import { describe, expect, it } from 'vitest'
import type { Ruleset } from '../../../src/guard/ruleset.ts'
import { PREPARED } from '../../guard/shipped.ts'
import { aimOf } from '../attacks/play.ts'
import { createDice } from '../judgement/dice.ts'
import { fuzzAnswer } from './answers.ts'
import { fuzzBidderRows } from './bidder-rows.ts'
import { golden, refusalOf } from './golden.ts'
import { fuzzWorld } from './worlds.ts'

const seeds = (count: number, first: number) => Array.from({ length: count }, (_, index) => first + index)

describe('mutated answers', () => {
  const aims = PREPARED.map(([, kind, ruleset]) => aimOf(kind, ruleset))

  it('are refused, or say what the honest one says', async () => {
    const problems: string[] = []
    const checks = new Set<string>()
    for (const seed of seeds(3_000, 1)) {
      const { check, problem } = await fuzzAnswer(aims, createDice(seed))
      checks.add(check)
      if (problem !== null) problems.push(`seed ${seed}: ${problem}`)
    }
    expect(problems).toEqual([])
    // What is accepted among them keeps the comparison honest, and what is refused reaches far into the rules.
    expect(checks.has('attested')).toBe(true)
    expect(checks.size).toBeGreaterThan(40)
  })

  it('are noticed where a rule has lost its conditions', async () => {
    const [found] = PREPARED.filter(([, { name }]) => name === 'liquidate')
    if (found === undefined) throw new TypeError('the liquidator liquidates')
    const [, kind, ruleset] = found
    const rules = new Map(
      [...ruleset.rules].map(([type, list]) => [
        type,
        list.map((rule) => ({ ...rule, leaves: rule.leaves.filter(({ path }) => path !== 'recipient') })),
      ]),
    )
    const loose: Ruleset = { ...ruleset, rules }
    const aim = aimOf(kind, loose)
    const problems = new Set<string>()
    for (const seed of seeds(1_000, 1)) {
      const { problem } = await fuzzAnswer([aim], createDice(seed))
      if (problem !== null) problems.add(problem.replace(/\d+$/, ''))
    }
    expect([...problems]).toEqual(['word 4 of its calldata, '])
  })
})

describe('worlds of rows', () => {
  it('lead to nothing that a limit on chain forbids', () => {
    const found = seeds(600, 1).map((seed) => fuzzWorld(createDice(seed)))
    expect(found.flatMap(({ problem }) => problem ?? [])).toEqual([])
    for (const kind of ['liquidate', 'allocate', 'acquire', 'report']) {
      const cleared = found.filter((each) => each.kind === kind && each.check === 'cleared')
      expect(cleared.length, kind).toBeGreaterThan(2)
    }
  })

  it('put no more of the bidder at stake than its policy says', () => {
    const found = seeds(40, 1).map((seed) => fuzzBidderRows(createDice(seed)))
    expect(found.flatMap(({ problem }) => problem ?? [])).toEqual([])
    expect(
      found.flatMap(({ checks }) => checks).filter((check) => check === 'cleared').length,
    ).toBeGreaterThan(20)
  })
})

describe('valid workflows', () => {
  it.each(PREPARED)('are accepted, whatever they are about: %s', async (_name, kind, ruleset) => {
    const aim = aimOf(kind, ruleset)
    const refused = await Promise.all(
      seeds(50, 1).map(async (seed) => {
        const why = await refusalOf(golden(aim, kind, createDice(seed)))
        return why === null ? [] : [`seed ${seed}: ${why}`]
      }),
    )
    expect(refused.flat()).toEqual([])
  })
})

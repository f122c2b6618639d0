import { describe, expect, it } from 'vitest'
import { allocatorPolicy } from '../../../agents/allocator/policy.ts'
import { strategyText } from './fixtures.ts'

type Section = Record<string, Record<string, unknown>>
const problems = (change: (strategy: Section) => void) => {
  const strategy = structuredClone(strategyText()) as Section
  change(strategy)
  const parsed = allocatorPolicy.safeParse(strategy)
  return parsed.success ? [] : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}
const set = (section: string, changes: object) => (strategy: Section) => {
  strategy[section] = { ...strategy[section], ...changes }
}

describe('the allocator’s policy', () => {
  it('accepts the file that is shipped', () => {
    expect(problems(() => {})).toEqual([])
  })

  it('names what contradicts itself, with path and fix', () => {
    const band = {
      shareMax: '0.01 %',
      utilizationMin: '90 %',
      utilizationMax: '90 %',
      lossPerYear: '0 %',
    }
    expect(problems(set('collaterals', { sBTC: band }))).toEqual([
      'collaterals.sBTC.utilizationMin: expected less than utilizationMax: otherwise no supply could ever meet both',
    ])
    expect(problems(set('yields', { horizon: '1 h', cooldown: '3,601 s' }))).toEqual([
      'yields.cooldown: expected no more than horizon: what is gained is counted over that long',
    ])
    expect(problems(set('yields', { gainOverCostMin: '99.99 %' }))).toEqual([
      'yields.gainOverCostMin: allowed: 100 % to 10,000 %',
    ])
  })

  it('refuses numbers that are no text, an unknown key, a zero price and empty lists', () => {
    expect(problems(set('assets', { sUSD: { price: '0 USD' } }))).toHaveLength(1)
    expect(problems(set('yields', { horizon: 604_800 }))).toHaveLength(1)
    expect(problems(set('leaving', { never: '1' }))).toHaveLength(1)
    expect(problems((strategy) => Object.assign(strategy, { collaterals: {} }))).toHaveLength(1)
    expect(problems(set('intelligence', { modelVersions: [] }))).toHaveLength(1)
  })
})

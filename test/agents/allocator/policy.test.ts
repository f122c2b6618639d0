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
      shareBpsMax: '1',
      utilizationBpsMin: '9000',
      utilizationBpsMax: '9000',
      lossBpsPerYear: '0',
    }
    expect(problems(set('collaterals', { sBTC: band }))).toEqual([
      'collaterals.sBTC.utilizationBpsMin: expected less than utilizationBpsMax: otherwise no supply could ever meet both',
    ])
    expect(problems(set('yields', { horizonS: '3600', cooldownS: '3601' }))).toEqual([
      'yields.cooldownS: expected no more than horizonS: what is gained is counted over that long',
    ])
    expect(problems(set('yields', { gainOverCostBpsMin: '9999' }))).toEqual([
      'yields.gainOverCostBpsMin: allowed: 10000 to 1000000 basis points',
    ])
  })

  it('refuses numbers that are no text, an unknown key, a zero price and empty lists', () => {
    expect(problems(set('assets', { sUSD: { priceUsdMicros: '0' } }))).toHaveLength(1)
    expect(problems(set('yields', { horizonS: 604_800 }))).toHaveLength(1)
    expect(problems(set('leaving', { never: '1' }))).toHaveLength(1)
    expect(problems((strategy) => Object.assign(strategy, { collaterals: {} }))).toHaveLength(1)
    expect(problems(set('intelligence', { modelVersions: [] }))).toHaveLength(1)
  })
})

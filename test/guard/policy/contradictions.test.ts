import { expect, it } from 'vitest'
import { contradictionsIn } from '../../../src/guard/policy/contradictions.ts'

const bounds = [{ of: 'max', is: 'atMost', to: 'guard.sanity.max' }] as const
const found = (strategy: unknown, sanity: unknown) =>
  contradictionsIn({ strategy, guard: { sanity } }, bounds, []).map(({ path }) => path)

it('a limit of one lane and token is about settings of the same, in the same order', () => {
  const sanity = { lane: { sBTC: { max: '1 %' } } }
  expect(found({ lane: { sBTC: { max: '2 %' } } }, sanity)).toEqual(['strategy.lane.sBTC.max'])
  expect(found({ lane: { by: { sBTC: { max: '2 %' } } } }, sanity)).toEqual(['strategy.lane.by.sBTC.max'])
  for (const other of [
    { sBTC: { lane: { max: '2 %' } } },
    { lane: { max: '2 %' } },
    { sBTC: { max: '2 %' } },
  ])
    expect(found(other, sanity)).toEqual([])
})

it('amounts of other units, and what says nothing, contradict nothing', () => {
  expect(found({ max: '2 %' }, { max: '1 %' })).toEqual(['strategy.max'])
  expect(found({ max: '2 %' }, { max: '1 USD' })).toEqual([])
  expect(found({ max: '2 %', other: null }, { max: null })).toEqual([])
})

it('what is said of one alone is held against what the other is where nothing is said', () => {
  const withDefaults = [{ ...bounds[0], otherwise: { of: '2 %', to: '3 %' } }]
  const foundIn = (file: unknown) => contradictionsIn(file, withDefaults, []).map(({ path }) => path)
  expect(foundIn({ guard: { sanity: { max: '1.99 %' } } })).toEqual(['strategy.max'])
  expect(foundIn({ strategy: { max: '3.01 %' } })).toEqual(['strategy.max'])
  expect(foundIn({})).toEqual([])
})

import { expect, it } from 'vitest'
import { contradictionsIn, slackIn } from '../../../src/guard/sanity/contradictions.ts'

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

it('a limit is slack from ten times as wide on, by the widest that the strategy asks for under it', () => {
  const both = [...bounds, { of: 'least', is: 'atLeast', to: 'guard.sanity.least' }] as const
  const slack = (strategy: unknown, sanity: unknown) =>
    slackIn({ strategy, guard: { sanity } }, both, []).map(({ problem }) => problem)
  expect(slack({ max: '1 %' }, { max: '9.99 %' })).toEqual([])
  expect(slack({ max: '1 min' }, { max: '1 h' })).toEqual([
    'guard.sanity.max is 1 h, 60 times as much as strategy.max, 1 min: it lets through what the strategy never asks for',
  ])
  expect(slack({ one: { max: '1 %' }, other: { max: '50 %' } }, { max: '90 %' })).toEqual([])
  expect(slack({ least: '10 USD' }, { least: '1.01 USD' })).toEqual([])
  expect(slack({ least: '10 USD' }, { least: '1 USD' })).toEqual([
    expect.stringContaining('guard.sanity.least is 1 USD, 10 times as little as strategy.least, 10 USD:'),
  ])
  expect(slack({ least: '10 USD' }, { least: '0 USD' })).toEqual([
    expect.stringContaining(
      'guard.sanity.least is 0 USD, which asks for nothing, beside strategy.least, 10 USD:',
    ),
  ])
  const people = [{ ...both[0], coversMore: true }] as const
  expect(slackIn({ strategy: { max: '1 min' }, guard: { sanity: { max: '1 h' } } }, people, [])).toEqual([])
  // What asks for nothing, or for something else, says nothing of a limit.
  expect(slack({ least: '0 USD' }, { least: '0 USD' })).toEqual([])
  expect(slack({ max: '0 USD' }, { max: '5 USD' })).toEqual([])
  expect(slack({ max: '1 %' }, { max: '1,000 USD' })).toEqual([])
})

import type { Address } from 'viem'
import type { Moment } from '../agent.ts'
import { type Expectation, expectError } from '../protocol/experience.ts'
import type { AllocatorPolicy } from './policy.ts'

/** What a move earns is measured for a day: an hour says nothing of how long a rate lasts. */
export const MEASURED_S = 86_400

/** So many moves to a market itself may close it: fewer are a bad day, or a rival who moved its rate for one. */
const CASES_MIN = 10

/** Name what is learned of what comes to markets, the broadest first. Pure. */
export const namesOf = (vault: Address, markets: readonly Address[]) => [
  'move',
  `vault:${vault}`,
  ...markets.map((market) => `market:${market}`),
]

/** Expect by how much what a vault supplies to a market earns more or less than said, in parts of what the market pays. Pure. */
export const expectSupply = (
  vault: Address,
  market: Address,
  { experience }: Moment,
  { yields }: AllocatorPolicy,
): Expectation => {
  const expected = expectError(experience, namesOf(vault, [market]), {
    mean: 0,
    noise: 0,
    most: yields.experienceBpsMax / 10_000,
  })
  // A move counts under each of its names: a few of them, whatever came elsewhere, say no more than that it pays less.
  const own = experience.find(({ of }) => of === `market:${market}`)?.won ?? 0
  return { ...expected, isBeyond: expected.isBeyond && Math.round(own) >= CASES_MIN }
}

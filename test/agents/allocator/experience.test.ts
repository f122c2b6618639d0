import { expect, it } from 'vitest'
import { withCases } from '../../../agents/protocol/experience.ts'
import { BTC_MARKET, decideOn, ETH_MARKET, ethMarket, market, movesIn, usd, VAULT } from './fixtures.ts'

/** More is borrowed of one market than of the other. */
const uneven = {
  markets: [
    market({ debtAssets: usd(600_000), cashAssets: usd(3_400_000) }),
    ethMarket({ debtAssets: usd(30_000_000), cashAssets: usd(10_000_000) }),
  ],
}
/** So many moves to a market came to so much more or less than was said, in parts of what it pays. */
const cases = (count: number, error: number) =>
  withCases(
    [],
    Array.from({ length: count }, () => ({
      of: ['move', `vault:${VAULT}`, `market:${ETH_MARKET}`],
      came: { error, gain: error },
      netUsd: 0,
    })),
  )
const suppliedTo = (decision: ReturnType<typeof decideOn>) =>
  decision.proposals.flatMap(movesIn).flatMap(({ market: at, assets }) => (assets > 0n ? at : []))

it('says what a move is to earn in a day, by the names of its vault and of what it supplies', () => {
  const [proposal] = decideOn(uneven).proposals
  const { said, reason, gainUsdMicros } = proposal ?? {}
  expect(said).toMatchObject({
    of: ['move', `vault:${VAULT}`, `market:${ETH_MARKET}`],
    earns: { vault: VAULT, forS: 86_400 },
  })
  expect(Number(said?.worthUsdMicros) / Number(said?.markUsdMicros)).toBeGreaterThan(0.2)
  expect(7 * Number(said?.worthUsdMicros)).toBeGreaterThan(0.9 * Number(gainUsdMicros))
  expect(reason).toMatchObject({
    learnedUsdMicros: '0',
    [`sETH/sUSD ${ETH_MARKET} expectedBps`]: 0,
    [`sETH/sUSD ${ETH_MARKET} expectedBy`]: 'prior',
  })
})

it('says less where moves came to less, and no more where they came to more; what is learned from stays as it was', () => {
  const [usually] = decideOn(uneven).proposals
  const [less] = decideOn({ ...uneven, experience: cases(10, -0.3) }).proposals
  const [more] = decideOn({ ...uneven, experience: cases(10, 0.3) }).proposals
  const gain = (each: typeof usually) => Number(each?.gainUsdMicros)
  expect(gain(less)).toBeLessThan(0.8 * gain(usually))
  expect(gain(less)).toBeGreaterThan(0)
  expect(gain(more)).toBe(gain(usually))
  expect(less?.reason).toMatchObject({
    [`sETH/sUSD ${ETH_MARKET} expectedBy`]: 'measured',
    [`sETH/sUSD ${ETH_MARKET} cases`]: 10,
  })
  const rate = ({ worthUsdMicros = 0n, markUsdMicros = 1n } = {}) =>
    Number(worthUsdMicros) / Number(markUsdMicros)
  expect(rate(less?.said)).toBeCloseTo(rate(usually?.said), 1)
})

it('supplies as before after a few cases, and no more where many came to nothing, which a person hears of', () => {
  for (const few of [2, 3, 9]) {
    expect(suppliedTo(decideOn({ ...uneven, experience: cases(few, -1) }))).toContain(ETH_MARKET)
  }
  expect(suppliedTo(decideOn({ ...uneven, experience: cases(10, -1) }))).toEqual([])
  // However many were moved elsewhere.
  const elsewhere = Array.from({ length: 40 }, () => ({
    of: ['move'],
    came: { error: -0.1, gain: 0 },
    netUsd: 0,
  }))
  const experience = withCases(cases(4, -1), elsewhere)
  expect(suppliedTo(decideOn({ ...uneven, experience }))).toContain(ETH_MARKET)
  const decision = decideOn({ ...uneven, experience: cases(20, -1) })
  expect(suppliedTo(decision)).not.toContain(ETH_MARKET)
  const against = decision.passedOver.find(({ subject }) => subject === `${VAULT}:${ETH_MARKET}`)
  expect(against).toMatchObject({
    check: 'experience_against',
    alarm: { fix: expect.stringContaining('experience forget allocator') },
    reason: { won: 20, mostBps: 5_000 },
  })
})

it('lends to the next best where only one market disappoints', () => {
  const ofMarket = cases(15, -1).filter(({ of }) => of.startsWith('market:'))
  const markets = [market(), ethMarket({ debtAssets: usd(3_100_000), cashAssets: usd(900_000) })]
  expect(suppliedTo(decideOn({ markets }))).toContain(ETH_MARKET)
  expect(suppliedTo(decideOn({ markets, experience: ofMarket }))).toEqual([BTC_MARKET])
})

it('does not let what was learned of a market touch what leaves it', () => {
  const experience = cases(20, -1).map((one) => ({ ...one, of: `market:${BTC_MARKET}` }))
  const [usually] = decideOn(uneven).proposals
  expect(movesIn(usually as NonNullable<typeof usually>)).toContainEqual({
    market: BTC_MARKET,
    assets: expect.any(BigInt),
  })
  expect(decideOn({ ...uneven, experience }).proposals).toEqual([usually])
})

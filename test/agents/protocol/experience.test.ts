import { describe, expect, it } from 'vitest'
import {
  type Case,
  expectError,
  losingOn,
  losingStop,
  type Prior,
  withCases,
} from '../../../agents/protocol/experience.ts'
import { createDice } from '../../lab/judgement/dice.ts'

const PRIOR: Prior = { mean: -0.01, noise: 0.02, most: 0.05 }
const after = (cases: readonly Case[]) => withCases([], cases)
const times = (count: number, of: readonly string[], error: number | null) =>
  Array.from(
    { length: count },
    (): Case => ({
      of,
      came: error === null ? null : { error, gain: error },
      netUsd: -5,
    }),
  )

describe('what became of what was expected', () => {
  it('counts a case under each of its names once, lost ones without an error', () => {
    expect(after(times(1, ['bid', 'bid', 'asset:A'], -0.5))).toEqual([
      { of: 'bid', decided: 1, won: 1, errors: -0.5, squares: 0.25, gains: -0.5, netUsd: -5, unpaidUsd: 0 },
      {
        of: 'asset:A',
        decided: 1,
        won: 1,
        errors: -0.5,
        squares: 0.25,
        gains: -0.5,
        netUsd: -5,
        unpaidUsd: 0,
      },
    ])
    expect(after(times(1, ['bid'], null))).toEqual([
      { of: 'bid', decided: 1, won: 0, errors: 0, squares: 0, gains: 0, netUsd: -5, unpaidUsd: 5 },
    ])
  })
  it('is the prior before anything came, and by name until as many came as it weighs', () => {
    expect(expectError(after(times(50, ['bid'], null)), ['bid'], PRIOR)).toEqual({
      mean: -0.01,
      noise: 0.02,
      won: 0,
      basis: 'prior',
      isBeyond: false,
    })
    const basis = (count: number) => expectError(after(times(count, ['bid'], 0)), ['bid'], PRIOR).basis
    expect([basis(9), basis(10)]).toEqual(['prior', 'measured'])
  })
  it('weighs the prior as so many cases, the noise too', () => {
    const { mean, noise } = expectError(
      [
        {
          of: 'bid',
          decided: 10,
          won: 10,
          errors: -0.3,
          squares: 0.009 + 0.001,
          gains: 0,
          netUsd: 0,
          unpaidUsd: 0,
        },
      ],
      ['bid'],
      PRIOR,
    )
    // Halfway between −1 % and −3 %; both means lie 1 % from it.
    expect(mean).toBeCloseTo(-0.02, 12)
    expect(noise ** 2).toBeCloseTo((0.0004 + 0.0001 + 0.0001 + 0.0001) / 2, 12)
  })
  it('takes who is new for one of those known, and whom it knows by what came', () => {
    const bad = after([...times(40, ['bid', 'seller:bad'], -0.04), ...times(40, ['bid', 'seller:good'], 0)])
    const of = (seller: string) => expectError(bad, ['bid', `seller:${seller}`], PRIOR).mean
    expect(of('new')).toBeCloseTo(expectError(bad, ['bid'], PRIOR).mean, 12)
    expect(of('bad')).toBeLessThan(-0.033)
    expect(of('good')).toBeGreaterThan(-0.005)
  })
  it('adds up dollars, which do not fade, and what was paid that no win has paid back', () => {
    const lost = times(1_000, ['bid'], null)
    const figures = (...cases: readonly (readonly Case[])[]) =>
      after(cases.flat()).map(({ netUsd, unpaidUsd }) => [netUsd, unpaidUsd])
    expect(figures(lost)).toEqual([[-5_000, 5_000]])
    const win = (netUsd: number): readonly Case[] => [{ of: ['bid'], came: { error: 0, gain: 0 }, netUsd }]
    expect(figures(lost, win(1_200), lost.slice(0, 3))).toEqual([[-3_815, 3_815]])
    expect(figures(lost, win(9_000), lost.slice(0, 3))).toEqual([[3_985, 15]])
    // One that lost money was paid for by itself.
    expect(figures(lost, win(-70))).toEqual([[-5_070, 5_000]])
  })
  it('counts of what was taken back, or failed by itself, what it cost alone', () => {
    const back: Case = { of: ['bid'], came: null, netUsd: -5, isVoid: true }
    expect(after([back, back])).toMatchObject([{ decided: 0, won: 0, netUsd: -10, unpaidUsd: 10 }])
  })
  it('goes no further from the prior than it allows', () => {
    const meanOf = (error: number) => expectError(after(times(40, ['bid'], error)), ['bid'], PRIOR).mean
    expect(meanOf(-0.2)).toBeCloseTo(-0.06, 12)
    expect(meanOf(0.2)).toBeCloseTo(0.04, 12)
    const isBeyond = (error: number) => expectError(after(times(40, ['bid'], error)), ['bid'], PRIOR).isBeyond
    // Ten cases of the prior and forty of these, less what has faded, make 6 %.
    expect([isBeyond(-0.072), isBeyond(-0.074), isBeyond(0.2)]).toEqual([false, true, false])
  })
  it('says what lost money: by more than chance after five, of sellers sooner than of all', () => {
    const one = (gain: number): Case => ({ of: ['bid', 'seller:S'], came: { error: gain, gain }, netUsd: 0 })
    const names = (cases: readonly Case[], of = ['bid', 'seller:S']) => losingOn(after(cases), of, 2)
    const lost = [-0.03, -0.01, -0.03, -0.01].map(one)
    expect(names(lost)).toBeNull()
    expect(names([...lost, one(-0.02)])).toMatchObject({ of: 'seller:S', won: 5 })
    expect(names([...lost, one(-0.02)])?.gain).toBeCloseTo(-0.02, 3)
    // 1.2 % lost, and an error of 0.8 % in that: enough for one seller, not for all.
    const mixed = [-0.03, -0.03, -0.03, 0.01, 0.02, -0.012].map(one)
    expect(names(mixed)?.of).toBe('seller:S')
    expect(names(mixed, ['bid', 'seller:T'])).toBeNull()
    // Many that were lost to others make up for it.
    expect(names([...mixed, ...times(50, ['bid'], null)], ['bid', 'seller:T'])?.of).toBe('bid')
    expect(names(times(60, ['bid'], 0.001), ['bid'])).toBeNull()
  })
  it('asks what is won seldom under a broad name to show that winning pays, whoever sells', () => {
    const won = [-0.03, 0.03, -0.03, 0.03, 0.005, 0.005].map(
      (gain): Case => ({ of: ['bid', 'seller:S'], came: { error: gain, gain }, netUsd: 0 }),
    )
    const losing = (lost: number, rivals = 2) =>
      losingOn(after([...times(lost, ['bid'], null), ...won]), ['bid', 'seller:S'], rivals)?.of
    // 0.17 % gained on average, and an error of 1 % in that: 0.2 of it counts against it once 33 are decided.
    expect([losing(12), losing(24), losing(32)]).toEqual([undefined, undefined, 'bid'])
    // 6 of 38 are less than a part among three bidders, and as many as each of seven wins.
    expect([losing(32, 1), losing(32, 6)]).toEqual(['bid', undefined])
  })
  it('measures mean and noise within their own uncertainty', () => {
    const dice = createDice(7)
    const drawn = Array.from({ length: 400 }, () => -0.015 + 0.03 * dice.normal()).flatMap((error) =>
      times(1, ['bid'], error),
    )
    const { mean, noise } = expectError(after(drawn), ['bid'], PRIOR)
    expect(Math.abs(mean + 0.015)).toBeLessThan(0.004)
    expect(Math.abs(noise / 0.03 - 1)).toBeLessThan(0.1)
  })
  it('forgets: a thousand good cases after a thousand bad ones are as good as alone', () => {
    const turned = after([...times(1_000, ['bid'], -0.04), ...times(1_000, ['bid'], 0.01)])
    expect(expectError(turned, ['bid'], PRIOR).mean).toBeGreaterThan(0.004)
    expect(turned[0]?.won).toBeLessThanOrEqual(400)
  })
})

it('raises an alarm where something is left alone for what others of its name lost', () => {
  const losing = losingOn(after(times(8, ['bid'], -0.1)), ['bid'], 2)
  if (losing === null) throw new TypeError('nothing is lost')
  expect(losingStop(losing, 'rfq-bidder')).toMatchObject({
    check: 'experience_against',
    alarm: { fix: expect.stringContaining('`rolekeeper experience forget rfq-bidder`') },
  })
})

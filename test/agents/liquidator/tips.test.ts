import { describe, expect, it } from 'vitest'
import type { Ended } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import { shareToTip } from '../../../agents/liquidator/tips.ts'
import { BORROWER, LOAN, MARKET, observation, policy } from './fixtures.ts'

const race = (shareBps: number, state: Ended['state'], check: string | null = null): Ended => ({
  ...{ workflowId: 'w', workflowType: 'role.liquidator.liquidate', kind: 'liquidate', subject: 'elsewhere' },
  ...{ occurrence: 'before', input: { marketAddress: MARKET, borrowerAddress: BORROWER } },
  exposure: { token: LOAN, assets: 0n, usdMicros: 0n },
  offer: { tipWei: 0n, shareBps },
  ...{ state, check, begunAtMs: 0, endedAtMs: 0 },
})
const races = (shareBps: number, won: number, lost: number) => [
  ...Array.from({ length: won }, () => race(shareBps, 'succeeded')),
  ...Array.from({ length: lost }, () => race(shareBps, 'reverted')),
]

describe('the part of what a liquidation brings that is tipped', () => {
  it('is nothing until a race is lost, and then more with each', () => {
    expect(shareToTip([], 9_000)).toBe(0)
    expect(shareToTip(races(0, 5, 0), 9_000)).toBe(0)
    expect(shareToTip(races(0, 0, 1), 9_000)).toBe(100)
    expect(shareToTip([...races(0, 0, 1), ...races(100, 0, 1)], 9_000)).toBe(200)
    expect(shareToTip(SHARES_LOST, 9_000)).toBe(2_000)
  })

  it('stays where it wins, and is never above the policy’s most', () => {
    expect(shareToTip([...SHARES_LOST, ...races(2_000, 5, 1)], 9_000)).toBe(2_000)
    expect(shareToTip(SHARES_LOST, 500)).toBeLessThanOrEqual(500)
  })

  it('is not larger than winning is worth: half of the races for nothing are better than all for most of it', () => {
    const known = [...races(0, 10, 10), ...races(7_000, 20, 0)]
    expect([0, 100]).toContain(shareToTip([...known, ...races(100, 5, 5), ...races(200, 5, 5)], 9_000))
  })

  it('learns nothing from what was no race, or stated no offer', () => {
    const { offer: _offer, ...unsaid } = race(0, 'reverted')
    const others = [
      unsaid,
      race(0, 'expired'),
      race(0, 'refused', 'price_moved'),
      { ...race(0, 'reverted'), kind: 'settle' },
    ]
    expect(shareToTip(others, 9_000)).toBe(0)
    expect(shareToTip([race(0, 'refused', 'position_healthy')], 9_000)).toBe(100)
    expect(shareToTip([race(0, 'superseded')], 9_000)).toBe(100)
  })
})

const SHARES_LOST = [0, 100, 200, 500, 1_000].flatMap((shareBps) => races(shareBps, 0, 2))

describe('an offer', () => {
  const offered = (changes: Parameters<typeof observation>[0] = {}, rules = policy()) => {
    const [one] = decide(observation({ recent: SHARES_LOST, ...changes }), rules).proposals
    return {
      offer: one?.offer,
      gain: one?.gainUsdMicros,
      reason: one?.reason,
      min: one?.input.minCollateralAssets,
    }
  }

  it('grows with what is at stake, costs what is expected, and is in the least collateral', () => {
    const { offer, gain = 0n, reason, min } = offered()
    const before = BigInt(String(reason?.profitUsdMicros))
    const tip = BigInt(String(reason?.tipUsdMicros))
    // A fifth of $954.08 for 450,000 gas at $3,000.
    expect(offer).toEqual({
      tipWei: ((before / 5n) * 10n ** 18n) / 3_000_000_000n / 450_000n,
      shareBps: 2_000,
    })
    expect(gain).toBe(before - tip)
    expect(Number(tip) / Number(before)).toBeCloseTo(0.2, 6)
    const rules = policy({ slippageBps: 9_000 })
    const least = Number(offered({}, rules).min) - Number(offered({ recent: [] }, rules).min)
    // At 50,000 sUSD for 10^8 base units.
    expect(least / 2_000).toBeCloseTo(Number(tip) / 1e6, -1)
    expect(min).toBeDefined()
  })

  it('leaves the least profit, and takes no more native coin than there is', () => {
    const { offer: none } = offered({}, policy({ profitUsdMicrosMin: 954_000_000n }))
    expect(none?.tipWei).toBeLessThan(100_000_000n)
    const reserveWei = 570_000n * 1_500_000_000n
    expect(offered({ nativeBalanceWei: reserveWei }).offer?.tipWei).toBe(0n)
    expect(offered({ nativeBalanceWei: reserveWei + 450_000n * 7n }).offer?.tipWei).toBe(7n)
  })
})

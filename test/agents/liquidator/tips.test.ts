import { describe, expect, it } from 'vitest'
import type { Ended } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import { fundsOf } from '../../../agents/liquidator/funds.ts'
import { sharesGiven, shareToTip } from '../../../agents/liquidator/tips.ts'
import type { Rival } from '../../../agents/protocol/rival.ts'
import { BORROWER, LOAN, MARKET, observation, policy } from './fixtures.ts'

const race = (shareBps: number, state: Ended['state'], check: string | null = null): Ended => ({
  workflowId: 'w',
  workflowType: 'role.liquidator.liquidate',
  kind: 'liquidate',
  subject: 'elsewhere',
  occurrence: 'before',
  input: { marketAddress: MARKET, borrowerAddress: BORROWER },
  exposure: { token: LOAN, assets: 0n, usdMicros: 0n },
  offer: { tipWei: 0n, shareBps },
  state,
  check,
  begunAtMs: 0,
  endedAtMs: 0,
})
const races = (shareBps: number, won: number, lost: number) => [
  ...Array.from({ length: won }, () => race(shareBps, 'succeeded')),
  ...Array.from({ length: lost }, () => race(shareBps, 'reverted')),
]

describe('the part of what a liquidation brings that is tipped', () => {
  it('is nothing until a race is lost, and then more with each', () => {
    expect(shareToTip([], [], 9_000)).toBe(0)
    expect(shareToTip(races(0, 5, 0), [], 9_000)).toBe(0)
    const lost = [1, 2, 4, 8].map((count) => shareToTip(races(0, 0, count), [], 9_000))
    expect(lost[0]).toBeGreaterThan(0)
    expect(lost).toEqual(lost.toSorted((one, other) => one - other))
    expect(lost.at(-1)).toBeLessThan(5_000)
  })

  it('stays where it wins, and is never above the policy’s most', () => {
    expect(shareToTip([...SHARES_LOST, ...races(2_000, 12, 0)], [], 9_000)).toBe(2_000)
    expect(shareToTip(SHARES_LOST, [], 500)).toBeLessThanOrEqual(500)
  })

  it('is not larger than winning is worth: half of the races for nothing are better than all for most of it', () => {
    expect(shareToTip([...races(0, 20, 20), ...races(7_000, 20, 0)], [], 9_000)).toBeLessThan(3_500)
  })

  it('learns nothing from what was no race, or stated no offer', () => {
    const { offer: _offer, ...unsaid } = race(0, 'reverted')
    const others = [
      unsaid,
      race(0, 'expired'),
      race(0, 'refused', 'price_moved'),
      { ...race(0, 'reverted'), kind: 'settle' },
    ]
    expect(shareToTip(others, [], 9_000)).toBe(0)
    expect(shareToTip([race(0, 'refused', 'position_healthy')], [], 9_000)).toBeGreaterThan(0)
    expect(shareToTip([race(0, 'superseded')], [], 9_000)).toBeGreaterThan(0)
  })

  it('is a little more than rivals gave, and nothing where they give more than winning is worth', () => {
    const gave = (...given: readonly number[]) => shareToTip(races(0, 0, given.length), given, 9_000)
    expect(gave(...Array.from({ length: 10 }, () => 160))).toBe(200)
    expect(gave(...Array.from({ length: 10 }, () => 3_600))).toBe(4_500)
    expect(gave(...Array.from({ length: 10 }, () => 20_000))).toBe(0)
    // Two of three races are won for 2 %: the third is not worth 45 % of all.
    expect(gave(160, 160, 3_600, 160, 160, 3_600)).toBe(200)
  })
})

describe('what rivals gave', () => {
  const rival = { marketAddress: MARKET, repayAssets: 10_000_000_000n, tipWei: 101n * 10n ** 9n, atMs: 0 }
  const given = (...rivals: readonly Rival[]) => {
    const chain = { ...observation().chain, priorityFeePerGasWei: 10n ** 9n }
    const seen = observation({ rivals, chain })
    return sharesGiven(seen, fundsOf(seen, policy()), policy()).map(({ shareBps }) => shareBps)
  }

  it('is a part of what theirs brought, by the policy’s haircut and our gas, beside what all tip', () => {
    // 450,000 gas at 100 gwei and $3,000 are $135; $10,500 less 0.3 % are $468 more than was repaid, less gas.
    expect(given(rival)).toEqual([2_905])
    expect(given({ ...rival, tipWei: 10n ** 9n })).toEqual([0])
  })

  it('says nothing of what brought nothing, or of a market that is not seen', () => {
    expect(given({ ...rival, repayAssets: 10n })).toEqual([])
    expect(given({ ...rival, marketAddress: LOAN })).toEqual([])
    expect(given({ ...rival, tipWei: 0n })).toEqual([])
  })

  it('is tipped more than, whatever we won and lost before', () => {
    const rivals = Array.from({ length: 8 }, () => rival)
    const [one] = decide(observation({ rivals }), policy()).proposals
    expect(one?.offer?.shareBps).toBe(3_500)
    expect(one?.reason.rivals).toBe(8)
  })
})

describe('a rival who gives half of a few dollars away', () => {
  it('does not make us give half of what brings hundreds, and is heard where as much is at stake', () => {
    const chain = { ...observation().chain, priorityFeePerGasWei: 0n }
    // 450,000 gas at $3,000; $954 are at stake.
    const tipped = (usd: bigint) => (usd * 10n ** 18n) / 3_000n / 450_000n
    const shareAfter = (repaidUsd: bigint, tipUsd: bigint) => {
      const one = {
        marketAddress: MARKET,
        repayAssets: repaidUsd * 1_000_000n,
        tipWei: tipped(tipUsd),
        atMs: 0,
      }
      const rivals = Array.from({ length: 8 }, () => one)
      const { offer, reason } = decide(observation({ rivals, chain }), policy()).proposals[0] ?? {}
      return [offer?.shareBps, reason?.rivals]
    }
    expect(shareAfter(100n, 1n)).toEqual([0, 0])
    expect(shareAfter(10_000n, 140n)).toEqual([3_500, 8])
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
    const shareBps = shareToTip(SHARES_LOST, [], 5_000)
    // Of $954.08 for 450,000 gas at $3,000.
    expect(offer).toEqual({
      tipWei: (((before * BigInt(shareBps)) / 10_000n) * 10n ** 18n) / 3_000_000_000n / 450_000n,
      shareBps,
    })
    expect(gain).toBe(before - tip)
    expect(Number(tip) / Number(before)).toBeCloseTo(shareBps / 10_000, 6)
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

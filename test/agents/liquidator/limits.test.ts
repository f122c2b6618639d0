import { describe, expect, it } from 'vitest'
import type { Ended, Observation } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import type { LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import { BORROWER, claim, facility, LOAN, MARKET, observation, policy, SUBJECT, VAULT } from './fixtures.ts'

const WAD = 10n ** 18n
const NOW_MS = observation().nowMs

const outcome = (seen: Observation<LiquidatorSeen>, rules = policy()) => {
  const { proposals, passedOver } = decide(seen, rules)
  return proposals.length > 0 ? 'proposed' : passedOver[0]?.check
}

const ended = (changes: Partial<Ended> = {}): Ended => ({
  workflowId: 'w0',
  workflowType: 'role.liquidator.liquidate',
  kind: 'liquidate',
  subject: SUBJECT,
  occurrence: 'before',
  input: { marketAddress: MARKET, vaultAddress: VAULT, borrowerAddress: BORROWER, minCollateralAssets: '1' },
  exposure: { token: LOAN, assets: 20_500_000_000n, usdMicros: 20_500_000_000n },
  state: 'reverted',
  check: 'reverted',
  begunAtMs: NOW_MS - 1_000,
  endedAtMs: NOW_MS,
  ...changes,
})
const elsewhere = { subject: 'another', input: { marketAddress: LOAN } }

describe('after a lost race', () => {
  const rules = policy({
    lostRace: { subjectBackOffS: 10, marketBackOffS: 2, backOffSMax: 25, revertedGasPerHourMax: 10n ** 9n },
  })
  const after = (...recent: readonly Ended[]) => outcome(observation({ recent }), rules)
  const lost = (agoS: number, changes: Partial<Ended> = {}, tookS = 1) => {
    const endedAtMs = NOW_MS - agoS * 1_000
    return ended({ begunAtMs: endedAtMs - tookS * 1_000, endedAtMs, ...changes })
  }

  it.each<Partial<Ended>>([
    { state: 'reverted' },
    { state: 'superseded' },
    { state: 'refused', check: 'position_healthy' },
  ])('leaves the position alone for the policy’s seconds: %o', (changes) => {
    expect(after(lost(9.999, changes))).toBe('lost_race')
    expect(after(lost(10, changes))).toBe('proposed')
  })

  it('does not wait for a clock that has gone back', () => {
    expect(after(lost(-1))).toBe('lost_race')
    expect(after(lost(-3_600))).toBe('proposed')
  })

  it('waits twice as long after each loss in a row, up to the longest', () => {
    expect(after(lost(19), lost(100))).toBe('lost_race')
    expect(after(lost(20), lost(100))).toBe('proposed')
    expect(after(lost(24), lost(100), lost(200), lost(300))).toBe('lost_race')
    expect(after(lost(25), lost(100), lost(200), lost(300))).toBe('proposed')
  })

  it('takes what was under way together for one race, however many of it were lost', () => {
    const other = { subject: 'another' }
    const together = Array.from({ length: 8 }, () => lost(1, other, 10))
    expect(after(...together)).toBe('lost_race')
    expect(after(...together.map((each) => ({ ...each, endedAtMs: NOW_MS - 2_000 })))).toBe('proposed')
    // Tried again after each: the middle one began after the oldest was lost, and the newest before that.
    expect(after(lost(3, other, 50), lost(10, other, 20), lost(31, other))).toBe('lost_race')
    expect(after(lost(3, other, 50), lost(10, other, 20), lost(29, other))).toBe('proposed')
  })

  it('begins anew after a success', () => {
    expect(after(lost(11), ended({ state: 'succeeded', endedAtMs: 5 }), lost(100))).toBe('proposed')
    expect(after(ended({ state: 'succeeded', occurrence: 'other' }), lost(1))).toBe('proposed')
  })

  it('leaves the market alone for shorter, and only where the race cost gas', () => {
    const other = { subject: 'another' }
    expect(after(lost(1, other))).toBe('lost_race')
    expect(after(lost(2, other))).toBe('proposed')
    expect(after(lost(1, { ...other, state: 'refused', check: 'position_healthy' }))).toBe('proposed')
    expect(after(lost(1, elsewhere))).toBe('proposed')
  })

  it('takes no other end for a lost race', () => {
    expect(after(lost(1, { state: 'refused', check: 'price_moved' }))).toBe('proposed')
    expect(after(lost(1, { state: 'expired' }))).toBe('proposed')
    expect(after(lost(1, { kind: 'settle' }))).toBe('proposed')
  })

  it('says until when, and asks to look again then', () => {
    const { passedOver, lookAgainAtMs } = decide(observation({ recent: [lost(4)] }), rules)
    expect(passedOver[0]).toMatchObject({ reason: { untilMs: NOW_MS + 6_000, losses: 1 } })
    expect(lookAgainAtMs).toBe(NOW_MS + 6_000)
  })
})

describe('the gas that reverts may cost in an hour', () => {
  const rules = (reverts: bigint) =>
    policy({ lostRace: { ...policy().lostRace, revertedGasPerHourMax: reverts * policy().gas.liquidateGas } })
  const reverted = (count: number, agoS = 3_599) =>
    Array.from({ length: count }, () => ended({ ...elsewhere, endedAtMs: NOW_MS - agoS * 1_000 }))

  it('stops the try that could pass it', () => {
    expect(outcome(observation({ recent: reverted(2) }), rules(3n))).toBe('proposed')
    expect(outcome(observation({ recent: reverted(3) }), rules(3n))).toBe('revert_budget_spent')
    expect(outcome(observation({ recent: reverted(3, 3_600) }), rules(3n))).toBe('proposed')
  })

  it('counts what is in flight as if it reverted', () => {
    const inFlight = [{ ...ended(elsewhere), input: { ...ended().input, borrowerAddress: LOAN } }]
    expect(outcome(observation({ inFlight }), rules(2n))).toBe('proposed')
    expect(outcome(observation({ inFlight }), rules(1n))).toBe('revert_budget_spent')
  })

  it('takes the most profitable of those that it allows', () => {
    const small = facility({ borrower: LOAN, debtAssets: 4_100_000_000n })
    const seen = observation({ facilities: [small, facility()] })
    const { proposals } = decide(seen, rules(1n))
    expect(proposals.map(({ subject }) => subject)).toEqual([SUBJECT])
  })
})

describe('what may be repaid in an hour', () => {
  const rules = policy({ repayUsdMicrosMax: 30_000_000_000n, repayUsdMicrosPerHourMax: 30_000_000_000n })
  const done = (state: Ended['state'], endedAtMs = NOW_MS) => ended({ ...elsewhere, state, endedAtMs })

  it('limits the size by what the last hour and what is in flight leave', () => {
    const { proposals } = decide(observation({ recent: [done('succeeded')] }), rules)
    expect(proposals[0]?.exposure.usdMicros).toBe(9_500_000_000n)
    expect(proposals[0]?.reason.limitedBy).toBe('hour_usd_max')
    const before = decide(observation({ recent: [done('succeeded', NOW_MS - 3_600_000)] }), rules)
    expect(before.proposals[0]?.exposure.usdMicros).toBe(20_500_000_000n)
  })

  it('is reached when nothing is left that pays', () => {
    const recent = [done('succeeded'), done('unconfirmed')]
    expect(outcome(observation({ recent }), rules)).toBe('hour_limit_reached')
    expect(outcome(observation({ recent: [done('reverted'), done('expired')] }), rules)).toBe('proposed')
  })
})

describe('bad debt', () => {
  // 0.42 sBTC at 50,000 pay for 20,000 with the bonus; 41,000 are owed.
  const insolvent = observation({ facilities: [facility({ collateralAssets: 42_000_000n })] })

  it('is avoided where the policy says so, in numbers', () => {
    const { proposals, passedOver } = decide(insolvent, policy({ badDebt: 'avoid' }))
    expect(proposals).toEqual([])
    expect(passedOver[0]).toMatchObject({
      check: 'bad_debt_avoided',
      message:
        'Its collateral does not pay for 21,000 sUSD ($21,000) of its debt; the policy avoids bad debt.',
      reason: { unpaidAssets: '21000000000' },
    })
  })

  it('is accepted up to the limit', () => {
    const upTo = (unpaidUsdMicrosMax: bigint) =>
      outcome(insolvent, policy({ badDebt: { unpaidUsdMicrosMax } }))
    expect(upTo(21_000_000_000n)).toBe('proposed')
    expect(upTo(20_999_999_999n)).toBe('bad_debt_above_limit')
  })

  it('is no reason to stay away where others bear it', () => {
    expect(outcome(insolvent, policy({ badDebt: 'accept' }))).toBe('proposed')
  })

  it('is none while the collateral pays for all of the debt', () => {
    expect(outcome(observation(), policy({ badDebt: 'avoid' }))).toBe('proposed')
  })
})

describe('the second price', () => {
  const terms = { contract: 'btcReferenceOracle', divergenceBpsMax: 100, ageSMax: 60 }
  const rules = policy({ secondPrice: { 'sBTC/sUSD': terms } })
  const reading = { priceWad: 50_000n * WAD, sourceAsOfS: 1_000, state: 1 }
  const said = (changes: Partial<typeof reading>) =>
    outcome(observation({ references: { btcReferenceOracle: { ...reading, ...changes } } }), rules)

  it('lets act while it agrees', () => {
    expect(said({})).toBe('proposed')
    expect(said({ priceWad: 50_500n * WAD })).toBe('proposed')
    expect(said({ priceWad: 49_500n * WAD })).toBe('proposed')
  })

  it('stops what it disagrees with', () => {
    expect(said({ priceWad: 50_500n * WAD + 1n })).toBe('price_sources_diverge')
    expect(said({ priceWad: 49_500n * WAD - 1n })).toBe('price_sources_diverge')
    expect(said({ priceWad: 50n * WAD })).toBe('price_sources_diverge')
  })

  it('is missing when unread, unhealthy, zero, too old or not named for the pair', () => {
    expect(outcome(observation({ references: { btcReferenceOracle: null } }), rules)).toBe(
      'price_source_missing',
    )
    expect(outcome(observation(), rules)).toBe('price_source_missing')
    expect(said({ state: 2 })).toBe('price_source_missing')
    expect(said({ priceWad: 0n })).toBe('price_source_missing')
    expect(said({ sourceAsOfS: 941 })).toBe('proposed')
    expect(said({ sourceAsOfS: 940 })).toBe('price_source_missing')
    expect(outcome(observation(), policy({ secondPrice: { 'sETH/sUSD': terms } }))).toBe(
      'price_source_missing',
    )
  })

  it('is not asked for where the policy says none', () => {
    expect(outcome(observation(), policy({ secondPrice: 'none' }))).toBe('proposed')
  })
})

it('asks to look again when the first claim can be settled', () => {
  const claims = [claim({ settleableAtS: 1_031 }), claim({ claimId: 8n, settleableAtS: 1_011 })]
  expect(decide(observation({ claims, facilities: [] }), policy()).lookAgainAtMs).toBe(NOW_MS + 10_000)
  expect(decide(observation({ facilities: [] }), policy())).not.toHaveProperty('lookAgainAtMs')
})

import { describe, expect, it } from 'vitest'
import type { Ended, Observation } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import { budgets, due } from '../../../agents/liquidator/duty.ts'
import { backOffsOf } from '../../../agents/liquidator/races.ts'
import type { LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import { BTC, claim, facility, LOAN, MARKET, market, observation, policy, SUBJECT } from './fixtures.ts'

/** What is owed by an observation, with the rule that leaves it alone. */
const owed = (changes: Partial<Observation<LiquidatorSeen>> = {}, rules = policy()) => {
  const seen = observation(changes)
  return due(seen, decide(seen, rules), rules)
}
const workflow = {
  workflowId: 'w1',
  workflowType: 'role.liquidator.liquidate' as const,
  kind: 'liquidate',
  subject: SUBJECT,
  occurrence: '1',
  exposure: { token: LOAN, assets: 1n, usdMicros: 30_000_000_000n },
  input: { marketAddress: MARKET, borrowerAddress: facility().borrower, minCollateralAssets: '1' },
} as const
const reverted = (endedAtMs: number) => {
  const end = { begunAtMs: endedAtMs - 1_000, endedAtMs, check: 'reverted' }
  return { ...workflow, ...end, state: 'reverted' as const }
}

describe('liquidatable debt', () => {
  const broke = { balances: { [LOAN]: 0n, [BTC]: 0n } }
  it.each([
    ['proposed just now', {}, {}],
    ['without money', broke, { check: 'out_of_funds' }],
    [
      'that the service does not list yet',
      { facilities: [facility({ recovery: null })] },
      { check: 'recovery_not_listed' },
    ],
    ['that a person is asked about', { inFlight: [{ ...workflow, held: true as const }] }, { check: 'held' }],
    ['under way', { inFlight: [workflow] }, { check: 'under_way' }],
    [
      'that moved on while a workflow was on its way',
      { recent: [{ ...reverted(0), state: 'refused' as const, check: 'price_moved' }] },
      { check: 'price_moved', chosen: true },
    ],
    [
      'that a lost race leaves alone for now',
      { recent: [reverted(1_000_500)] },
      { check: 'lost_race', chosen: true },
    ],
  ])('is owed: %s', (_, changes, why) => {
    const [debt, ...rest] = owed(changes)
    expect([debt?.what, debt?.subject, rest]).toEqual(['liquidatable debt', SUBJECT, []])
    expect(debt).toMatchObject({
      sinceMs: null,
      amount: '41,000 sUSD',
      usdMicros: 41_000_000_000n,
      ...why,
    })
    if (!('chosen' in why)) expect(debt).not.toHaveProperty('chosen')
    if (!('check' in why)) expect(debt).not.toHaveProperty('check')
  })

  it('is none of a healthy position, and left by choice where it does not pay', () => {
    expect(
      owed({ facilities: [facility({ positionDebtAssets: 1_000_000n, debtAssets: 1_000_000n })] }),
    ).toEqual([])
    const dear = policy({ profitUsdMicrosMin: 10n ** 15n })
    expect(owed({}, dear)).toMatchObject([{ check: 'profit_below_floor', chosen: true }])
  })
})

it('owes a market that it cannot judge, and by the service’s word what is under water there', () => {
  const unarmed = market({ armed: { ok: false, message: 'Loan and collateral look swapped.' } })
  expect(owed({ markets: [unarmed] })).toMatchObject([
    {
      what: 'market to judge',
      subject: MARKET,
      check: 'market_unarmed',
      message: 'Loan and collateral look swapped.',
    },
    { what: 'liquidatable debt', check: 'market_unarmed' },
  ])
  expect(owed({ markets: [], facilities: [] })).toMatchObject([
    { what: 'market to judge', check: 'market_unknown' },
  ])
})

it('owes a claim from the time on at which it can be settled', () => {
  const [settled] = owed({ facilities: [], claims: [claim({ settleableAtS: 1_300 })] })
  expect(settled).toMatchObject({
    what: 'claim to settle',
    sinceMs: 1_300_000,
    check: 'claim_not_settleable',
  })
})

it('says how its own budgets stand, and when the first revert leaves the hour', () => {
  const rules = policy()
  const [repaid, lost] = budgets(observation({ recent: [900_000, 800_000].map(reverted) }), rules)
  expect(repaid).toMatchObject({ name: 'repaid_per_hour', part: 0, freesAtMs: null, left: '$2,000,000' })
  expect(lost).toMatchObject({ check: 'revert_budget_spent', freesAtMs: 800_000 + 3_600_000 })
  const few = policy({ lostRace: { ...rules.lostRace, revertedGasPerHourMax: 2n * rules.gas.liquidateGas } })
  const spent = observation({ recent: [900_000, 800_000].map(reverted) })
  expect(budgets(spent, few)[1]).toMatchObject({ part: 1, used: '900,000 gas (2 reverts)', left: '0 gas' })
  expect(due(spent, decide(spent, few), few)).toMatchObject([{ what: 'liquidatable debt' }])
})

it('tries what reverts every time nineteen times in a first hour and twelve times in the next, whatever the budget', () => {
  const HOUR_MS = 3_600_000
  const lost: Ended[] = []
  for (let nowMs = 0; nowMs < 2 * HOUR_MS; nowMs += 1_000) {
    if (backOffsOf(lost, nowMs, policy()).markets.size > 0) continue
    // Another borrower each time, five seconds from the decision to the block.
    lost.unshift({ ...reverted(nowMs + 5_000), begunAtMs: nowMs, subject: `${SUBJECT}${nowMs}` })
    nowMs += 5_000
  }
  const inHour = (hour: number) =>
    lost.filter(({ begunAtMs }) => Math.floor(begunAtMs / HOUR_MS) === hour).length
  expect([inHour(0), inHour(1)]).toEqual([19, 12])
})

import { describe, expect, it } from 'vitest'
import { usesAhead, usesOf } from '../../../src/guard/checks/affected.ts'
import { checkPrepared } from '../../../src/guard/checks/check-prepared.ts'
import { checkAllowances, usedOfAllowances } from '../../../src/guard/limits/allowances.ts'
import { checkBudget } from '../../../src/guard/limits/budget.ts'
import { limitsPolicy } from '../../../src/guard/policy/policy.ts'
import { compileRuleset } from '../../../src/guard/ruleset.ts'
import type { Spent } from '../../../src/journal/journal.ts'
import { RecentReservations } from '../../../src/journal/sqlite/recent-reservations.ts'
import type { Uses, UseTotals } from '../../../src/workflow/uses.ts'
import { policyOf as textOf } from '../../support/policies.ts'
import {
  BORROWER,
  CHAIN_ID,
  deployment,
  freeze,
  LOAN,
  liquidation,
  liquidationAnswer,
  MARKET,
  NOW_MS,
  OTHER_MARKET,
  SELF,
  STRANGER,
  sections,
  VAULT,
} from '../fixtures.ts'

type Stated = Readonly<Record<string, string>>
const { workflowType } = liquidation
const { limits: stated } = textOf('liquidator')
const named = {
  ...deployment,
  markets: deployment.markets.map((market, index) => ({ ...market, name: ['btc', 'eth'][index] })),
  vaults: [
    ...deployment.vaults.map((vault) => ({ ...vault, name: 'prime' })),
    ...['d1', 'd2'].map((byte) => ({
      address: `0x${byte.repeat(20)}` as const,
      codeHash: `0x${byte.repeat(32)}` as const,
      name: 'two',
    })),
  ],
}
const rulesetOf = (...allowances: readonly Stated[]) => {
  const limits = limitsPolicy.parse({ ...(stated as object), allowances })
  return compileRuleset({ ...sections, limits }, named)
}
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const usd = (dollars: number) => BigInt(dollars) * 1_000_000n
const ofMarket = { of: 'market', most: '100,000 USD', refill: '10,000 USD', per: '1 h' }

const usesAt = (market: string): Uses => [`market ${market}`, `counterparty ${market}`, 'function liquidate']
let count = 0
/** What was claimed: dollars, minutes ago, and what it was about; without that, it is not known. */
const claimed = (dollars: number, minutes: number, uses?: Uses): Spent => ({
  workflowId: `w${count++}`,
  role: 'liquidator',
  atMs: NOW_MS - minutes * MINUTE_MS,
  usdMicros: usd(dollars),
  gasWei: 0n,
  reverted: false,
  ...(uses === undefined ? {} : { uses }),
})
const judge = (
  allowances: readonly Stated[],
  rows: readonly Spent[],
  [dollars, uses]: readonly [number, Uses?],
  nowMs = NOW_MS,
) => {
  const ask = { usdMicros: usd(dollars), ...(uses === undefined ? {} : { uses }) }
  const checked = checkAllowances({ allowances: rulesetOf(...allowances).allowances, rows, ask, nowMs })
  return checked.ok ? 'fits' : checked.check
}

describe('what calls are about', () => {
  const about = (tokens: Parameters<typeof usesOf>[1] = []) => {
    const ruleset = rulesetOf()
    const checked = checkPrepared({
      workflow: { role: 'liquidator', chainId: CHAIN_ID, signer: SELF, proposal: liquidation },
      frozen: freeze(liquidationAnswer()),
      ruleset,
      nowMs: NOW_MS,
    })
    if (!checked.ok) throw new TypeError(checked.message)
    return usesOf(checked.calls, tokens, checked.subject)
  }

  it('is in the decoded calls: their markets, whom they go to or name, and their functions, once a call', () => {
    expect(about()).toEqual([
      ...[`market ${MARKET}`, `counterparty ${MARKET}`],
      ...[`market ${MARKET}`, `counterparty ${MARKET}`, `counterparty ${VAULT}`, `counterparty ${BORROWER}`],
      ...['function approve', 'function liquidate'],
    ])
  })

  it('is in what the simulation shows, too: who is paid without being named', () => {
    const topic = (address: string) => `0x${address.slice(2).padStart(64, '0')}` as const
    const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
    const to = (receiver: string) => ({
      address: LOAN,
      data: '0x' as const,
      topics: [transfer, topic(SELF), topic(receiver)] as const,
    })
    expect(about([to(MARKET), to(STRANGER)])).toContain(`counterparty ${STRANGER}`)
    expect(about([to(MARKET)])).toEqual(about())
  })

  it('is a market and a counterparty that are not known where the calls name none', () => {
    const { effects } = rulesetOf()
    const subject = { input: {}, self: SELF, deadlineS: 0n, deployment, effects: effects.get(workflowType) }
    const nowhere = { ...subject, market: null, vault: null, fund: null }
    const [, rule] = rulesetOf().rules.get(workflowType) ?? []
    if (rule === undefined) throw new TypeError('a liquidation approves, and liquidates')
    // It creates a contract, so that it goes to nobody.
    const creates = {
      rule: { ...rule, leaves: [] },
      to: null,
      data: '0x' as const,
      valueWei: 0n,
      args: {},
      inside: [],
      approval: null,
      digest: null,
    } as const
    expect(usesOf([creates], [], nowhere)).toEqual(['market', 'counterparty', 'function liquidate'])
  })

  it('is known ahead as far as the rules and the request say it', () => {
    expect(usesAhead(liquidation, SELF, rulesetOf())).toEqual([
      ...[`market ${MARKET}`, `counterparty ${MARKET}`, `counterparty ${VAULT}`],
      ...['function approve', 'function liquidate'],
    ])
  })

  it('is not known ahead of a call that need not be there, nor of a market that is not pinned', () => {
    const ruleset = rulesetOf()
    const rules = ruleset.rules.get(workflowType) ?? []
    const optional = new Map([[workflowType, rules.map((rule, at) => ({ ...rule, optional: at === 0 }))]])
    expect(usesAhead(liquidation, SELF, { ...ruleset, rules: optional })).not.toContain('function approve')
    const elsewhere = { ...liquidation, input: { ...liquidation.input, marketAddress: STRANGER } }
    expect(usesAhead(elsewhere, SELF, ruleset)).toEqual([])
  })
})

describe('an allowance', () => {
  it('holds a rival’s bait at one market, that the role’s own budget lets drain', () => {
    const bait = [50, 40, 30].map((minutes) => claimed(30_000, minutes, usesAt(MARKET)))
    const ask = { usdMicros: usd(30_000), gasWei: 0n }
    const { limits } = rulesetOf()
    expect(checkBudget({ reservations: bait, ask, limits, nowMs: NOW_MS })).toEqual({ ok: true })
    expect(judge([ofMarket], bait, [30_000, usesAt(MARKET)])).toBe('allowance_market')
    expect(judge([ofMarket], bait, [30_000, usesAt(OTHER_MARKET)])).toBe('fits')
    const other = { ...ofMarket, named: 'eth' }
    expect(judge([other], bait, [30_000, usesAt(MARKET)])).toBe('fits')
  })

  it('comes back over time, to the millionth, and never to more than the most', () => {
    const spent = [claimed(100_000, 1, usesAt(MARKET))]
    const at = (minutes: number, dollars: number) =>
      judge([ofMarket], spent, [dollars, usesAt(MARKET)], NOW_MS + minutes * MINUTE_MS)
    expect(at(0, 1)).toBe('allowance_market')
    expect(at(60, 10_000)).toBe('fits')
    expect(at(60, 10_001)).toBe('allowance_market')
    expect(at(20 * 60, 100_000)).toBe('fits')
    expect(at(20 * 60, 100_001)).toBe('allowance_market')
  })

  it('is judged in one pass over a day of a thousand counterparties, where it is not known which one is asked about', () => {
    let asked = 0
    class Counted extends Map<string, UseTotals> {
      override get(use: string) {
        asked += 1
        return super.get(use)
      }
    }
    const rows = Array.from({ length: 1_000 }, (_, minutes) => ({
      atMs: NOW_MS - minutes * MINUTE_MS,
      usdMicros: 1n,
      used: new Counted([[`counterparty ${minutes}`, { usdMicros: 1n, calls: 1 }]]),
    }))
    const { allowances } = rulesetOf({ ...ofMarket, of: 'counterparty' })
    const ask = { usdMicros: 1n, uses: ['counterparty'] }
    expect(checkAllowances({ allowances, rows, ask, nowMs: NOW_MS })).toEqual({ ok: true })
    // For each of a thousand it was asked of each of a thousand: 81 s of the event loop on a busy machine.
    expect(asked).toBeLessThan(10_000)
  })

  it('lets no day move more than what comes back in one, whatever is read and added up', () => {
    // As much as it lets, every ten minutes for three days; judged by the journal's minutes and by each row.
    const recent = new RecentReservations([])
    const rows: Spent[] = []
    const { allowances } = rulesetOf(ofMarket)
    for (let minutes = 0; minutes < 72 * 60; minutes += 10) {
      const nowMs = NOW_MS + minutes * MINUTE_MS + minutes
      const ask = { usdMicros: usd(1_500), uses: usesAt(MARKET) }
      const sums = recent.sums('liquidator', [nowMs - HOUR_MS, nowMs - 24 * HOUR_MS], 'none')
      const [one, other] = [rows, sums ?? rows].map(
        (each) => checkAllowances({ allowances, rows: each, ask, nowMs }).ok,
      )
      expect(other).toBe(one)
      if (one !== true) continue
      const row = { ...claimed(1_500, 0, usesAt(MARKET)), atMs: nowMs }
      rows.push(row)
      recent.set(row)
    }
    const movedIn = (fromMs: number) =>
      rows.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + 24 * HOUR_MS).length * 1_500
    const days = rows.map(({ atMs }) => movedIn(atMs))
    expect(Math.max(...days)).toBeLessThanOrEqual(240_000)
    expect(Math.max(...days)).toBeGreaterThan(200_000)
  })

  it('is used by what is not known, all of its kind, and has no room for it where one has none', () => {
    const unknown = [claimed(95_000, 1)]
    expect(judge([ofMarket], unknown, [10_000, usesAt(MARKET)])).toBe('allowance_market')
    expect(judge([ofMarket], unknown, [10_000, usesAt(OTHER_MARKET)])).toBe('allowance_market')
    // A bid names no market.
    const bid = ['market', `counterparty ${STRANGER}`, 'function placeBid']
    const drained = [claimed(95_000, 1, usesAt(MARKET))]
    expect(judge([ofMarket], drained, [10_000, bid])).toBe('allowance_market')
    expect(judge([{ ...ofMarket, named: 'btc' }], drained, [10_000, bid])).toBe('allowance_market')
    expect(judge([{ ...ofMarket, named: 'eth' }], drained, [10_000, bid])).toBe('fits')
    expect(judge([{ ...ofMarket, of: 'counterparty' }], drained, [10_000, bid])).toBe('fits')
    // Each of its kind is judged, and nothing of another kind.
    const used = (...uses: Uses) => judge([ofMarket], [claimed(95_000, 1, uses)], [10_000, bid])
    expect(used(`market ${MARKET}`)).toBe('allowance_market')
    expect(used(`counterparty ${STRANGER}`)).toBe('fits')
  })

  it('is of one counterparty, or of each', () => {
    const each = { ...ofMarket, of: 'counterparty' }
    const spent = [claimed(95_000, 1, ['market', `counterparty ${STRANGER}`])]
    const of = (address: string): Uses => [`counterparty ${VAULT}`, `counterparty ${address}`]
    expect(judge([each], spent, [10_000, of(STRANGER)])).toBe('allowance_counterparty')
    expect(judge([each], spent, [10_000, of(BORROWER)])).toBe('fits')
    expect(judge([{ ...each, named: STRANGER }], spent, [10_000, of(STRANGER)])).toBe(
      'allowance_counterparty',
    )
    expect(judge([{ ...each, named: BORROWER }], spent, [10_000, of(STRANGER)])).toBe('fits')
  })

  it('counts calls in any time, also of what moved nothing or reverted', () => {
    const calls = { of: 'function', named: 'liquidate', calls: '3', per: '1 h' }
    const free = (minutes: number) => claimed(0, minutes, usesAt(MARKET))
    expect(judge([calls], [free(1), { ...free(2), reverted: true }], [0, usesAt(MARKET)])).toBe('fits')
    expect(judge([calls], [free(1), free(2), free(3)], [0, usesAt(MARKET)])).toBe('allowance_calls')
    expect(judge([calls], [free(1), free(2), free(61)], [0, usesAt(MARKET)])).toBe('fits')
    expect(judge([calls], [free(1), free(2)], [0, [...usesAt(MARKET), 'function liquidate']])).toBe(
      'allowance_calls',
    )
    expect(judge([calls], [free(1), free(2), free(3)], [0, ['function settle']])).toBe('fits')
    // What calls nothing that is known may call it.
    expect(judge([calls], [free(1), free(2), free(3)], [0])).toBe('allowance_calls')
  })

  it('forgets what is a whole day old, and counts in order whichever row was read first', () => {
    const long = { ...ofMarket, most: '1,000 USD', refill: '1,000 USD', per: '24 h' }
    for (const minutes of [25 * 60, 24 * 60])
      expect(judge([long], [claimed(1_000, minutes, usesAt(MARKET))], [1_000, usesAt(MARKET)])).toBe('fits')
    // 22 h ago it was empty again, 2 h ago it was whole: 50,000 are left of it, and 20,000 came back.
    const rows = [claimed(50_000, 2 * 60 + 1, usesAt(MARKET)), claimed(20_000, 22 * 60, usesAt(MARKET))]
    for (const each of [rows, rows.toReversed()])
      expect(judge([ofMarket], each, [70_000, usesAt(MARKET)])).toBe('fits')
  })

  it('says what is left, never less than nothing', () => {
    const say = (rows: readonly Spent[], uses?: Uses) => {
      const ask = { usdMicros: usd(10), ...(uses === undefined ? {} : { uses }) }
      const checked = checkAllowances({ ...rulesetOf(ofMarket), rows, ask, nowMs: NOW_MS })
      return checked.ok ? 'fits' : checked.message
    }
    const spent = [claimed(500_000, 1, usesAt(MARKET))]
    expect(say(spent, usesAt(MARKET))).toContain(
      `$10 would move with market ${MARKET}; of limits.allowances[0] $0 are left, of $100,000`,
    )
    expect(say([claimed(500_000, 1)])).toContain('with a market that is not known; of')
    expect(say(spent, ['market'])).toContain(`with market ${MARKET}; of`)
  })

  it('is not used by what is about another, or about none of its kind', () => {
    expect(judge([], [], [1])).toBe('fits')
    const eth = { ...ofMarket, named: 'eth' }
    const drained = [claimed(500_000, 1, usesAt(OTHER_MARKET))]
    expect(judge([eth], drained, [10, usesAt(MARKET)])).toBe('fits')
    expect(judge([eth], drained, [10])).toBe('allowance_market')
    // What is not known was of every market; a call that is about none is judged by no market's.
    expect(judge([ofMarket], [claimed(500_000, 1)], [10, ['counterparty 0xab']])).toBe('fits')
    expect(judge([ofMarket], [claimed(500_000, 1)], [10])).toBe('allowance_market')
  })

  it('is used in parts: where it is of each market, that of the one with the least left', () => {
    const { allowances } = rulesetOf(ofMarket, { ...ofMarket, named: 'eth' })
    const rows = [claimed(25_000, 0, usesAt(MARKET)), claimed(10_000, 0, usesAt(OTHER_MARKET))]
    const used = (more: readonly Spent[]) =>
      Object.values(usedOfAllowances(allowances, [...rows, ...more], NOW_MS))
    expect(used([])).toEqual([0.25, 0.1])
    expect(used([claimed(50_000, 0)])).toEqual([0.75, 0.6])
    expect(usedOfAllowances(allowances, [], NOW_MS)).toEqual({
      'limits.allowances[0]': 0,
      'limits.allowances[1]': 0,
    })
  })

  it('is in nobody’s way who moves nothing', () => {
    expect(judge([ofMarket], [claimed(500_000, 1, usesAt(MARKET))], [0, usesAt(MARKET)])).toBe('fits')
  })
})

import { describe, expect, it } from 'vitest'
import type { Ended, Observation } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import { askExits } from '../../../agents/liquidator/see-exits.ts'
import type { ExitSeen, LiquidatorSeen } from '../../../agents/liquidator/seen.ts'
import { createWave } from '../../../agents/protocol/reading.ts'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { BTC, LOAN, MARKET, market, observation, policy } from './fixtures.ts'

const VENUE = `0x${'e'.repeat(40)}` as const
const SUBJECT = `exit:${MARKET}`
const HELD = 800_000_000n

/** A pool of 200 sBTC and 10,000,000 sUSD, where 1 sBTC is 50,000 sUSD, that takes no fee. */
const pays = (assets: bigint): bigint => (10n ** 13n * assets) / (20_000_000_000n + assets)
const sizes = Array.from({ length: 8 }, (_, times) => HELD >> BigInt(times))
const exit = (changes: Partial<ExitSeen> = {}): ExitSeen => ({
  pair: 'sBTC/sUSD',
  contract: 'btcExit',
  venue: VENUE,
  marketAddress: MARKET,
  held: HELD,
  quotes: sizes.map((assets) => ({ assets, loanAssets: pays(assets) })),
  ...changes,
})
const seen = (changes: Partial<Observation<LiquidatorSeen>> = {}) =>
  observation({ facilities: [], exits: [exit()], balances: { [LOAN]: 7n, [BTC]: HELD }, ...changes })
const decided = (changes: Partial<Observation<LiquidatorSeen>> = {}, rules = policy()) =>
  decide(seen(changes), rules)
const soldIn = (observed: Partial<Observation<LiquidatorSeen>>, rules = policy()): Proposal => {
  const [sale] = decided(observed, rules).proposals
  if (sale === undefined) throw new TypeError('nothing is sold')
  return sale
}
const why = (changes: Partial<Observation<LiquidatorSeen>>, rules = policy()) => {
  const { proposals, passedOver } = decided(changes, rules)
  expect(proposals).toEqual([])
  return passedOver.map(({ subject, check }) => [subject, check])
}

describe('what was seized', () => {
  it('is sold as far as the venue is deep: the largest part whose price stays within the policy’s discount', () => {
    // 2 % are allowed, 1 % is slippage: of 8 sBTC the pool takes 3.8 % off, of 4 sBTC 2 %, of 2 sBTC 0.99 %.
    const sale = soldIn({})
    expect(sale).toMatchObject({
      workflowType: 'own.liquidator.sell',
      kind: 'sell',
      subject: SUBJECT,
      occurrence: `${HELD}:7`,
      exposure: { token: BTC, assets: 200_000_000n },
    })
    const least = (pays(200_000_000n) * 99n) / 100n
    expect(sale.input).toEqual({
      marketAddress: MARKET,
      venueAddress: VENUE,
      assets: '200000000',
      minLoanAssets: String(least),
    })
    // It counts as what it may lose, at 2 % below what it is worth.
    expect(sale.exposure.usdMicros).toBe((least * 200n + 9_799n) / 9_800n)
    // $100,000 of it: said to lose 0.3 %, and 0.1 % by its size.
    expect(sale.said).toEqual({
      of: ['sale', 'sale:sBTC/sUSD'],
      markUsdMicros: 100_000_000_000n,
      worthUsdMicros: 99_600_000_000n,
      brings: { token: LOAN, assets: pays(200_000_000n) },
    })
    expect(soldIn({}, policy({ exitDiscountBpsMax: 500 })).input.assets).toBe(String(HELD))
  })

  it('is insisted on for the oracle’s worth where the venue pays more, and never for less than the discount of its quote', () => {
    const worth = HELD * 500n
    const leastAt = (loanAssets: bigint) =>
      BigInt(
        String(soldIn({ exits: [exit({ quotes: [{ assets: HELD, loanAssets }] })] }).input.minLoanAssets),
      )
    expect(leastAt(worth)).toBe((worth * 99n) / 100n)
    expect(leastAt((worth * 1_015n) / 1_000n)).toBe(worth)
    expect(leastAt((worth * 11n) / 10n)).toBe((worth * 1_078n) / 1_000n)
  })

  it('is left alone after a sale that failed, for twice as long after each further one, until one succeeds', () => {
    const { input, exposure } = soldIn({})
    const endedAtMs = seen().nowMs - 1_000
    const ended = (state: Ended['state'], ageMs: number): Ended => ({
      workflowId: 'w',
      workflowType: 'own.liquidator.sell',
      kind: 'sell',
      subject: SUBJECT,
      occurrence: '1',
      input,
      exposure,
      state,
      check: null,
      begunAtMs: endedAtMs - ageMs - 1,
      endedAtMs: endedAtMs - ageMs,
    })
    const backOff = policy().lostRace.subjectBackOffS * 1_000
    const until = (...recent: readonly Ended[]) => decided({ recent }).lookAgainAtMs
    for (const state of ['reverted', 'refused', 'expired', 'superseded', 'partial', 'quarantined'] as const) {
      expect(why({ recent: [ended(state, 0)] })).toEqual([[SUBJECT, 'sale_failed']])
      expect(until(ended(state, 0))).toBe(endedAtMs + backOff)
    }
    expect(until(ended('reverted', 0), ended('refused', 10))).toBe(endedAtMs + 2 * backOff)
    expect(until(ended('reverted', 0), ended('succeeded', 10), ended('reverted', 20))).toBe(
      endedAtMs + backOff,
    )
    expect(soldIn({ recent: [ended('succeeded', 0), ended('reverted', 10)] }).kind).toBe('sell')
    expect(soldIn({ recent: [ended('reverted', backOff)] }).kind).toBe('sell')
    expect(soldIn({ recent: [ended('shadowed', 0)] }).kind).toBe('sell')
  })

  it('waits where its gas would take the rest of the discount', () => {
    const dear = { ...seen().chain, baseFeePerGasWei: 10_000_000_000_000n }
    const nativeBalanceWei = 10n ** 24n
    expect(why({ chain: dear, nativeBalanceWei })).toEqual([[SUBJECT, 'exit_without_depth']])
  })

  it.each([
    [
      'nothing is there to pay with',
      { exits: [exit({ quotes: [{ assets: HELD, loanAssets: 0n }] })] },
      'exit_without_depth',
    ],
    [
      'the venue says too little',
      { exits: [exit({ quotes: [{ assets: HELD, loanAssets: HELD * 490n }] })] },
      'exit_without_depth',
    ],
    [
      'the venue does not answer',
      { exits: [exit({ quotes: [{ assets: HELD, loanAssets: null }] })] },
      'exit_not_quoted',
    ],
    ['nothing was asked yet', { exits: [exit({ quotes: [] })] }, 'exit_not_quoted'],
    ['less is held than was asked about', { exits: [exit({ held: 1n })] }, 'exit_not_quoted'],
    ['the venue is not pinned', { exits: [exit({ venue: null })] }, 'exit_not_pinned'],
    ['there is no gas', { nativeBalanceWei: 0n }, 'out_of_funds'],
    ['its market is not seen', { markets: [] }, 'market_not_seen'],
    [
      'it also repays debts',
      { markets: [market(), market({ id: VENUE, address: VENUE, loanAsset: BTC, collateralAsset: LOAN })] },
      'exit_of_loan_asset',
    ],
    ['its price is not believed', { markets: [market({ oracle: null })] }, 'missing_figures'],
  ])('stays where it is while %s', (_what, changes, check) => {
    expect(why(changes)).toEqual([[SUBJECT, check]])
  })

  it('is sold once at a time, and not where nothing is held', () => {
    const { input, exposure } = soldIn({})
    const about = {
      workflowId: 'w',
      workflowType: 'own.liquidator.sell' as const,
      kind: 'sell',
      subject: SUBJECT,
    }
    const inFlight = [{ ...about, occurrence: '1', input, exposure }]
    expect(why({ inFlight })).toEqual([[SUBJECT, 'already_in_flight']])
    expect(why({ exits: [exit({ held: 0n })] })).toEqual([])
  })
})

describe('what a venue is asked', () => {
  const deployment = {
    ...observation().deployment,
    assets: [
      { address: LOAN, symbol: 'sUSD', decimals: 6 },
      { address: BTC, symbol: 'sBTC', decimals: 8 },
    ],
    contracts: [{ name: 'btcExit', address: VENUE }],
  }
  const exits = {
    'sBTC/sUSD': { venue: 'btcExit', saleAssetsMax: 4n },
    'sETH/sUSD': { venue: 'ethExit', saleAssetsMax: 1n },
  }
  const asked = (previous: readonly ExitSeen[]) => {
    const wave = createWave()
    const read = askExits(wave, { deployment }, { exits }, previous)
    return { wave, read }
  }

  it('is nothing while nothing is held, and then what was held a look ago, as far as it is sold at a time, and its halves', () => {
    const { wave, read } = asked([])
    expect(wave.questions).toEqual([])
    const first = read([], { [BTC]: 5n })
    expect(first).toEqual([exit({ held: 5n, quotes: [] })])

    const again = asked(first)
    expect(again.wave.questions.map(({ to }) => to)).toEqual([VENUE, VENUE, VENUE])
    const word = (value: bigint) => ({
      ok: true as const,
      text: `0x${value.toString(16).padStart(64, '0')}`,
      atMs: 1,
    })
    const failed = { ok: false as const, check: 'call_failed', message: 'no' }
    expect(again.read([word(50n), failed, word(10n)], { [BTC]: 4n })).toEqual([
      exit({
        held: 4n,
        quotes: [
          { assets: 4n, loanAssets: 50n },
          { assets: 2n, loanAssets: null },
          { assets: 1n, loanAssets: 10n },
        ],
      }),
    ])
  })
})

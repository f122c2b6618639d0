import { describe, expect, it } from 'vitest'
import type { Ended } from '../../../agents/agent.ts'
import { borrowingOf } from '../../../agents/allocator/borrowing.ts'
import { decide } from '../../../agents/allocator/decide.ts'
import type { VaultLook } from '../../../agents/allocator/seen.ts'
import {
  ASSET,
  allocation,
  BTC_MARKET,
  books,
  carriedOut,
  curve,
  decideOn,
  ETH_MARKET,
  ethMarket,
  market,
  movesIn,
  observation,
  policy,
  usd,
  VAULT,
  vault,
} from './fixtures.ts'

const only = (decision: ReturnType<typeof decideOn>) => {
  expect(decision.proposals).toHaveLength(1)
  const [proposal] = decision.proposals
  if (proposal === undefined) throw new TypeError('nothing is proposed')
  return proposal
}
const checksOf = (decision: ReturnType<typeof decideOn>, subject: string = VAULT) =>
  decision.passedOver.filter((one) => one.subject === subject).map(({ check }) => check)
/** A request for so much of the vault, due at a second of the chain. */
const queue = (whole: number, dueAtS: number, idle = 0) => ({
  vaults: [
    vault({
      books: books({
        idleAssets: usd(idle),
        totalAssets: usd(4_000_000 + idle),
        totalShares: usd(4_000_000 + idle) * 10n ** 6n,
        bufferBps: 0,
        queuedAssets: usd(whole),
        queueEnd: 2n,
        requests: [{ dueAtS, shares: usd(whole) * 10n ** 6n }],
      }),
    }),
  ],
})
/** Little is lent out in the first market; the second pays well and is large, so that our own amount hardly moves it. */
const uneven = {
  markets: [
    market({ debtAssets: usd(600_000), cashAssets: usd(3_400_000) }),
    ethMarket({ debtAssets: usd(30_000_000), cashAssets: usd(10_000_000) }),
  ],
}
const ended = (changes: Partial<Ended> = {}): Ended => ({
  workflowId: 'w',
  workflowType: 'role.allocator.vaultAllocate',
  subject: VAULT,
  occurrence: 'o',
  input: { vaultAddress: VAULT, marketAddress: BTC_MARKET, assets: '1' },
  exposure: { token: null, assets: 0n, usdMicros: 0n },
  kind: 'yield',
  state: 'succeeded',
  begunAtMs: 0,
  endedAtMs: observation().nowMs,
  check: null,
  ...changes,
})

describe('what comes first', () => {
  it('withdraws what is due and no more, from the market that pays least, before any yield', () => {
    const proposal = only(decideOn({ ...uneven, ...queue(100_000, 1_001) }))
    expect(proposal).toMatchObject({ kind: 'redemptions', workflowType: 'role.allocator.vaultDeallocate' })
    // A tenth of a percent more, for the interest until it is mined.
    expect(movesIn(proposal)).toEqual([{ market: BTC_MARKET, assets: -usd(100_100) }])
    expect(proposal.exposure).toEqual({ token: null, assets: 0n, usdMicros: 100_100_000_000n })
  })

  it('leaves a request alone that is due one second after its lead, and comes back for it', () => {
    const { leadS } = policy().redemptions
    const { timestampS } = observation().chain
    expect(decideOn(queue(100_000, timestampS + leadS)).proposals[0]?.kind).toBe('redemptions')
    const later = decideOn(queue(100_000, timestampS + leadS + 1))
    expect(later.proposals.map(({ kind }) => kind)).not.toContain('redemptions')
    expect(later.lookAgainAtMs).toBe((timestampS + 1) * 1_000)
  })

  it('takes nothing for the queue that is idle already', () => {
    const { proposals } = decideOn(queue(100_000, 0, 100_100))
    expect(proposals.map(({ kind }) => kind)).not.toContain('redemptions')
  })

  it('gives what the markets can, when that is less than is due, and says when they can give nothing', () => {
    const drained = (cash: number) => {
      const { vaults } = queue(900_000, 0)
      const allocations = [BTC_MARKET, ETH_MARKET].map((marketAddress) =>
        allocation({ marketAddress, cashAssets: usd(cash) }),
      )
      return decideOn({ vaults: vaults.map((one): VaultLook => ({ ...one, allocations })) })
    }
    const moves = movesIn(only(drained(300_000)))
    expect(moves.map(({ assets }) => assets)).toEqual([-usd(300_000), -usd(300_000)])
    expect(checksOf(drained(0))).toEqual(['nothing_withdrawable'])
  })

  it('refills the buffer once half of it is gone', () => {
    const left = (idle: number) =>
      decideOn({ vaults: [vault({ books: books({ idleAssets: usd(idle), totalAssets: usd(4_000_000) }) })] })
    expect(left(100_000).proposals.map(({ kind }) => kind)).not.toContain('redemptions')
    const proposal = only(left(99_999))
    expect(movesIn(proposal).reduce((sum, { assets }) => sum + assets, 0n)).toBe(-usd(200_200 - 99_999))
  })

  it.each([
    ['market_paused', { pausedOnChain: true }],
    ['oracle_not_healthy', { oracle: { priceWad: 1n, sourceAsOfS: 1_000, state: 2 } }],
    ['oracle_not_healthy', { oracle: { priceWad: 0n, sourceAsOfS: 1_000, state: 1 } }],
    ['price_too_old', { oracle: { priceWad: 1n, sourceAsOfS: 700, state: 1 } }],
    ['price_too_old', { oracle: { priceWad: 1n, sourceAsOfS: 1_302, state: 1 } }],
    ['bad_debt', { badDebtAssets: usd(40_000) + 1n }],
  ])('leaves a market that the chain shows to be impaired: %s', (check, changes) => {
    const decision = decideOn({ markets: [market(changes), ethMarket()] })
    const proposal = only(decision)
    expect(proposal).toMatchObject({ kind: 'leave', workflowType: 'role.allocator.vaultDeallocate' })
    expect(movesIn(proposal)).toEqual([{ market: BTC_MARKET, assets: -usd(500_000) }])
    expect(checksOf(decision, `${VAULT}:${BTC_MARKET}`)).toEqual([check])
  })

  it('stays in a market whose bad debt and age of price are just allowed', () => {
    const oracle = { priceWad: 1n, sourceAsOfS: 701, state: 1 }
    const { proposals } = decideOn({ markets: [market({ badDebtAssets: usd(40_000), oracle }), ethMarket()] })
    expect(proposals.map(({ kind }) => kind)).not.toContain('leave')
  })

  it.each([
    ['market_paused', { paused: true }, {}],
    ['market_not_live', { marketLive: false }, {}],
    ['regime_not_normal', { marketRegimeState: 'wind_down' }, {}],
    ['oracle_not_healthy', { oracleState: 'stale' }, {}],
    ['market_delisted', {}, { listed: false }],
    ['market_delisted', {}, { approved: false }],
  ])(
    'stays in a market that only the service speaks ill of, and supplies no more: %s',
    (check, said, listed) => {
      const decision = decideOn({
        vaults: [vault({ allocations: [allocation(listed), allocation({ marketAddress: ETH_MARKET })] })],
        markets: [market(said), ethMarket()],
      })
      expect(decision.proposals.map(({ kind }) => kind)).not.toContain('leave')
      expect(decision.proposals.flatMap(movesIn)).not.toContainEqual(
        expect.objectContaining({ market: BTC_MARKET }),
      )
      expect(checksOf(decision, `${VAULT}:${BTC_MARKET}`)).toEqual([check])
    },
  )

  it('takes nothing from a market that pays nothing when it leaves another', () => {
    const proposal = only(
      decideOn({
        markets: [
          market({ pausedOnChain: true }),
          ethMarket({ supplyRatePerSecondWad: 0n, curve: { unknown: 'flat' } }),
        ],
      }),
    )
    expect(movesIn(proposal)).toEqual([{ market: BTC_MARKET, assets: -usd(500_000) }])
  })

  it('leaves a market that the vault lists no longer, and everything when the vault matures', () => {
    const listing = { approved: false, allocationEnabled: true, absoluteCapAssets: 0n, relativeCapBps: 0 }
    const delisted = decideOn({
      vaults: [vault({ allocations: [allocation({ listing }), allocation({ marketAddress: ETH_MARKET })] })],
    })
    expect(movesIn(only(delisted))).toEqual([{ market: BTC_MARKET, assets: -usd(500_000) }])
    const maturing = (maturityS: number) => {
      const exit = { kind: 'maturity', noticeS: 0, maturityS }
      const said = { ...vault().exit, kind: 'maturity', maturityMs: maturityS * 1_000 } as VaultLook['exit']
      return decideOn({ vaults: [vault({ exit: said, books: books({ exit }) })] })
    }
    const { maturityLeadS } = policy().leaving
    expect(only(maturing(1_001 + maturityLeadS))).toMatchObject({ kind: 'leave' })
    expect(movesIn(only(maturing(1_001 + maturityLeadS)))).toHaveLength(2)
    expect(maturing(1_001 + maturityLeadS + 600).proposals.map(({ kind }) => kind)).not.toContain('leave')
  })

  it('waits in a market that it leaves for what is worth withdrawing', () => {
    const left = (cashAssets: bigint) =>
      decideOn({
        markets: [market({ pausedOnChain: true }), ethMarket()],
        vaults: [
          vault({ allocations: [allocation({ cashAssets }), allocation({ marketAddress: ETH_MARKET })] }),
        ],
      }).proposals.map(({ kind }) => kind)
    expect(left(usd(100))).not.toContain('leave')
    expect(left(usd(100) + 1n)).toContain('leave')
  })
})

describe('yield', () => {
  it('moves to where more is earned, in one batch, withdrawals first, and says so in numbers', () => {
    const proposal = only(decideOn(uneven))
    expect(proposal).toMatchObject({
      kind: 'yield',
      workflowType: 'role.allocator.vaultReallocationBatch',
      subject: VAULT,
    })
    const moves = movesIn(proposal)
    expect(moves.map(({ market: at, assets }) => [at, assets < 0n])).toEqual([
      [BTC_MARKET, true],
      [ETH_MARKET, false],
    ])
    expect(proposal.summary).toMatch(
      /^withdraw [\d,.]+ sUSD from sBTC\/sUSD, supply [\d,.]+ sUSD to sETH\/sUSD: earns \$[\d,.]+ more in 7 d, moving costs \$/,
    )
    const { netUsdMicros, gainUsdMicros, costUsdMicros } = proposal.reason
    expect(proposal.gainUsdMicros).toBe(BigInt(String(netUsdMicros)))
    expect(Number(gainUsdMicros) - Number(costUsdMicros)).toBeCloseTo(Number(netUsdMicros), -1)
    const targets = Object.keys(proposal.reason).filter((name) => name.endsWith('targetAssets'))
    expect(targets).toEqual([`sBTC/sUSD ${BTC_MARKET} targetAssets`, `sETH/sUSD ${ETH_MARKET} targetAssets`])
  })

  it('leaves no market for yield so far that it is lent out beyond its kink', () => {
    const rich = ethMarket({
      debtAssets: usd(300_000_000),
      cashAssets: usd(100_000_000),
      curve: curve({ baseRatePerSecondWad: 10n ** 10n }),
    })
    const moves = movesIn(only(decideOn({ markets: [market(), rich] })))
    const left = moves.find((one) => one.market === BTC_MARKET)?.assets ?? 0n
    // 3 M are lent of 4 M: at the kink of 80 % of 3.75 M.
    expect(left).toBe(-usd(250_000))
  })

  it('costs what the transaction pays for its bytes too, where the chain charges for them', () => {
    const costOf = (dataFeeWei: bigint) => {
      const chain = { ...observation().chain, dataFeeWei }
      return Number(only(decideOn({ ...uneven, chain })).reason.costUsdMicros)
    }
    const coin = Number(policy().costs.nativePriceUsdMicros)
    expect(costOf(10n ** 15n) - costOf(0n)).toBeCloseTo(coin / 1_000, -1)
  })

  describe('of the only lender, whose money raises the rate where it is not lent', () => {
    /** A market of 4 M, half lent out, all of it by this vault, and so much idle. */
    const alone = (idle: number, by = policy()) => {
      const [held, half] = [usd(4_000_000), usd(2_000_000)]
      const caps = { absoluteCapAssets: 2n * held, relativeCapBps: 10_000 }
      const listing = { approved: true, allocationEnabled: true, ...caps }
      return decideOn(
        {
          markets: [market({ debtAssets: half, cashAssets: half })],
          vaults: [
            vault({
              books: books({ bufferBps: 0, totalAssets: held + usd(idle), idleAssets: usd(idle) }),
              allocations: [allocation({ heldAssets: held, cashAssets: half, listing, ...caps })],
            }),
          ],
        },
        by,
      )
    }
    const withShare = (terms: { readonly lossBpsPerYear?: number } = {}) => {
      const { sBTC } = policy().collaterals
      if (sBTC === undefined) throw new TypeError('the policy lists no sBTC')
      return policy({ collaterals: { sBTC: { ...sBTC, shareBpsMax: 10_000, ...terms } } })
    }

    it('lends what need not lie idle, and says what that earns', () => {
      const proposal = only(alone(400_000, withShare()))
      // All but the headroom under the cap.
      expect(movesIn(proposal)).toEqual([{ market: BTC_MARKET, assets: usd(395_600) }])
      // At 1.5 % a year, the utilisation being down at 45 %, for a week.
      expect(Number(proposal.gainUsdMicros) / 1e6).toBeCloseTo(
        400_000 * (0.01482 - 0.001) * (7 / 365) - 0.8,
        -1,
      )
    })

    it('withdraws nothing to leave it idle', () => {
      expect(alone(0, withShare()).proposals).toEqual([])
    })

    it('lends nothing for less than what is expected to be lost', () => {
      expect(
        alone(400_000, withShare({ lossBpsPerYear: 300 })).proposals.flatMap(movesIn),
      ).not.toContainEqual(expect.objectContaining({ assets: usd(400_000) }))
    })
  })

  it('has nothing to do after its own move', () => {
    const seen = observation(uneven)
    const after = decide(carriedOut(seen, only(decide(seen, policy()))), policy())
    expect(after.proposals).toEqual([])
  })

  it('names a state by value: interest does not change it, a move does', () => {
    const seen = observation(uneven)
    const before = only(decide(seen, policy())).occurrence
    const accrued = { ...seen, nowMs: seen.nowMs + 12_000, chain: { ...seen.chain, blockNumber: 11n } }
    const [first] = seen.vaults
    if (first?.books == null) throw new TypeError('no vault')
    const grown = first.allocations.map((one) => ({ ...one, heldAssets: (one.heldAssets ?? 0n) + 3n }))
    const later = { ...accrued, vaults: [{ ...first, allocations: grown }] }
    expect(only(decide(later, policy())).occurrence).toBe(before)
    const deposited = { ...first, books: { ...first.books, idleAssets: first.books.idleAssets + 1n } }
    expect(only(decide({ ...seen, vaults: [deposited] }, policy())).occurrence).not.toBe(before)
  })

  it('only withdraws from a market whose curve is not known', () => {
    const unknown = market({
      curve: { unknown: 'it has three lines' },
      supplyRatePerSecondWad: 2_000_000_000n,
    })
    const rich = decideOn({
      markets: [unknown, ethMarket({ debtAssets: usd(1_000_000), cashAssets: usd(3_000_000) })],
    })
    expect(
      rich.proposals.flatMap(movesIn).filter((one) => one.market === BTC_MARKET && one.assets > 0n),
    ).toEqual([])
    expect(checksOf(rich, `${VAULT}:${BTC_MARKET}`)).toEqual(['curve_unknown'])
    const poor = decideOn({
      ...uneven,
      markets: [market({ curve: { unknown: 'it bends' }, supplyRatePerSecondWad: 1n }), ethMarket()],
    })
    expect(movesIn(only(poor))[0]).toMatchObject({ market: BTC_MARKET })
    expect(movesIn(only(poor))[0]?.assets).toBeLessThan(0n)
  })

  const base = vault()
  const said = (changes: Partial<NonNullable<VaultLook['exit']>>) =>
    ({ ...base.exit, ...changes }) as NonNullable<VaultLook['exit']>
  it.each([
    ['duration_incompatible', said({ durationCompatible: false })],
    ['duration_incompatible', said({ durationCompatible: null })],
    ['stress_not_covered', said({ stressCoverageStatus: 'short' })],
    ['stress_not_covered', said({ stressCoverageStatus: null })],
    ['markets_unverified', said({ unverifiedMarketCount: 1 })],
    ['markets_unverified', said({ unverifiedMarketCount: null })],
    ['exit_terms_unknown', said({ kind: null })],
    ['exit_terms_unknown', said({ kind: 'notice' })],
    ['vault_blocked', said({ blockedReason: 'redemption_frozen' })],
  ])('supplies nothing more while the vault may not: %s', (check, exit) => {
    const low = [market({ debtAssets: usd(3_400_000) }), ethMarket({ debtAssets: usd(3_400_000) })]
    expect(only(decideOn({ markets: low })).kind).toBe('yield')
    const decision = decideOn({ markets: low, vaults: [vault({ exit })] })
    expect(decision.proposals.flatMap(movesIn).filter(({ assets }) => assets > 0n)).toEqual([])
    if (decision.proposals.length === 0) expect(checksOf(decision)).toEqual([check])
  })

  it('holds the service to the vault’s own notice and maturity', () => {
    const notice = { kind: 'notice', noticeS: 10, maturityS: 0 }
    const noticed = (noticeS: number | null) =>
      decideOn({
        markets: [market({ debtAssets: usd(3_400_000) }), ethMarket({ debtAssets: usd(3_400_000) })],
        vaults: [vault({ exit: said({ kind: 'notice', noticeS }), books: books({ exit: notice }) })],
      })
    expect(noticed(10).proposals).toHaveLength(1)
    expect(checksOf(noticed(11))).toEqual(['exit_terms_unknown'])
    expect(checksOf(noticed(null))).toEqual(['exit_terms_unknown'])
  })

  it.each([
    ['market_not_approved', { listed: null }],
    ['market_not_approved', { listing: null }],
    ['allocation_disabled', { allocationEnabled: false }],
    ['caps_unknown', { absoluteCapAssets: null }],
    ['caps_unknown', { relativeCapBps: null }],
  ])('supplies no market that is not open: %s', (check, changes) => {
    const decision = decideOn({
      ...uneven,
      vaults: [vault({ allocations: [allocation(), allocation({ marketAddress: ETH_MARKET, ...changes })] })],
    })
    const into = decision.proposals
      .flatMap(movesIn)
      .filter((one) => one.market === ETH_MARKET && one.assets > 0n)
    expect(into).toEqual([])
    expect(checksOf(decision, `${VAULT}:${ETH_MARKET}`)).toEqual([check])
  })

  it('supplies no market whose state or figures are not known, or whose collateral the policy does not list', () => {
    const check = (changes: Parameters<typeof ethMarket>[0]) =>
      checksOf(decideOn({ markets: [market(), ethMarket(changes)] }), `${VAULT}:${ETH_MARKET}`)
    expect(check({ paused: null })).toEqual(['market_state_unknown'])
    expect(check({ oracle: null })).toEqual(['market_state_unknown'])
    expect(check({ badDebtAssets: null })).toEqual(['market_state_unknown'])
    expect(check({ debtAssets: null })).toEqual(['market_unread'])
    expect(check({ collateralSymbol: 'sDOGE' })).toEqual(['collateral_not_allowed'])
    expect(checksOf(decideOn({ markets: [market()] }), `${VAULT}:${ETH_MARKET}`)).toEqual([
      'market_not_pinned',
    ])
  })

  it('keeps the least of all caps, a little under', () => {
    const held = (changes: object, by = policy()) => {
      const capped = allocation({ marketAddress: ETH_MARKET, ...changes })
      const [move] = movesIn(
        only(decideOn({ ...uneven, vaults: [vault({ allocations: [allocation(), capped] })] }, by)),
      ).filter((one) => one.market === ETH_MARKET)
      return usd(2_000_000) + (move?.assets ?? 0n)
    }
    expect(held({ absoluteCapAssets: usd(2_300_000) })).toBe(usd(2_300_000 * 0.999))
    expect(held({ relativeCapBps: 4_600 })).toBe(usd(2_300_000 * 0.999))
    const listing = {
      approved: true,
      allocationEnabled: true,
      absoluteCapAssets: usd(2_050_000),
      relativeCapBps: 9_000,
    }
    expect(held({ listing })).toBe(usd(2_050_000 * 0.999))
    const sETH = policy().collaterals.sETH
    if (sETH === undefined) throw new TypeError('the policy lists sETH')
    const collaterals = { ...policy().collaterals, sETH: { ...sETH, shareBpsMax: 4_100 } }
    expect(held({}, policy({ collaterals }))).toBe(usd(2_050_000 * 0.999))
  })

  it('asks that the gain beats its cost and the noise, and says how near it came', () => {
    const dear = { ...observation().chain, baseFeePerGasWei: 3_000_000_000_000n }
    const decision = decideOn({ ...uneven, chain: dear })
    expect(decision.proposals).toEqual([])
    const [passed] = decision.passedOver
    expect(passed?.check).toMatch(/^gain_below_|^allocation_optimal/)
    const { yields } = policy()
    const high = decideOn(uneven, policy({ yields: { ...yields, gainUsdMicrosMin: 10_000_000_000n } }))
    expect(high.passedOver[0]).toMatchObject({ check: 'gain_below_floor' })
    expect(high.passedOver[0]?.near).toBeGreaterThan(0)
    expect(high.passedOver[0]?.near).toBeLessThan(1)
    const noisy = decideOn(uneven, policy({ yields: { ...yields, improvementBpsMin: 10_000 } }))
    expect(noisy.passedOver[0]?.check).toBe('gain_below_noise')
  })

  it('supplies no market beyond what fits into one batch', () => {
    const addresses = Array.from(
      { length: 40 },
      (_, index): `0x${string}` => `0x${(index + 256).toString(16).padStart(40, '0')}`,
    )
    const blank = observation()
    const decision = decideOn({
      deployment: {
        ...blank.deployment,
        markets: addresses.map((address) => ({
          address,
          loanAsset: ASSET,
          collateralAsset: ASSET,
          oracle: address,
        })),
      },
      markets: addresses.map((address) => market({ address })),
      vaults: [
        vault({
          books: books({ idleAssets: usd(5_000_000) }),
          allocations: addresses.map((marketAddress) =>
            allocation({ marketAddress, heldAssets: 0n, cashAssets: 0n }),
          ),
        }),
      ],
    })
    expect(movesIn(only(decision))).toHaveLength(16)
  })
})

describe('when it may move', () => {
  it('leaves a vault that a workflow moves, and everything while what it sees is stale', () => {
    const { workflowId, workflowType, kind, subject, occurrence, input, exposure } = ended()
    const inFlight = [{ workflowId, workflowType, kind, subject, occurrence, input, exposure }]
    expect(checksOf(decideOn({ ...uneven, inFlight }))).toEqual(['already_in_flight'])
    const freshness = { ok: false, ageMs: 60_000, message: 'old' }
    expect(checksOf(decideOn({ ...uneven, freshness }))).toEqual(['observation_not_fresh'])
  })

  it('cools down after a move for yield or out of a market, but not for what is due', () => {
    const { cooldownS } = policy().yields
    const { nowMs } = observation()
    const after = (ms: number, changes: Partial<Ended> = {}) =>
      decideOn({ ...uneven, recent: [ended({ endedAtMs: nowMs - ms, ...changes })] })
    expect(after(cooldownS * 1_000 - 1).passedOver[0]).toMatchObject({ check: 'cooling_down' })
    expect(after(cooldownS * 1_000 - 1).lookAgainAtMs).toBe(nowMs + 1)
    expect(after(cooldownS * 1_000).proposals).toHaveLength(1)
    expect(after(-3_600_000).proposals).toHaveLength(1)
    expect(checksOf(after(0, { kind: 'leave' }))).toEqual(['cooling_down'])
    expect(after(0, { kind: 'redemptions' }).proposals).toHaveLength(1)
    const due = decideOn({ ...uneven, ...queue(100_000, 0), recent: [ended()] })
    expect(due.proposals[0]?.kind).toBe('redemptions')
  })

  it('funds what is due while a move for yield waits for a person, or has failed', () => {
    const { workflowId, workflowType, subject, occurrence, input, exposure } = ended()
    const held = (kind: string) => ({
      inFlight: [
        { workflowId, workflowType, kind, subject, occurrence, input, exposure, held: true as const },
      ],
    })
    const due = queue(100_000, 0)
    expect(decideOn({ ...due, ...held('yield') }).proposals[0]?.kind).toBe('redemptions')
    expect(checksOf(decideOn({ ...due, ...held('redemptions') }))).toEqual(['already_in_flight'])
    expect(checksOf(decideOn({ ...uneven, ...held('yield') }))).toEqual(['already_in_flight'])
    const recent = [ended({ kind: 'yield', state: 'refused', endedAtMs: observation().nowMs })]
    expect(decideOn({ ...due, recent }).proposals[0]?.kind).toBe('redemptions')
  })

  it('backs off after a failure of its kind, but not for a clock that has gone back', () => {
    const { retryAfterS } = policy()
    const { nowMs } = observation()
    const after = (ms: number) =>
      decideOn({
        ...queue(100_000, 0),
        recent: [ended({ kind: 'redemptions', state: 'reverted', endedAtMs: nowMs - ms })],
      })
    expect(checksOf(after(retryAfterS * 1_000 - 1))).toEqual(['backing_off'])
    expect(after(retryAfterS * 1_000).proposals).toHaveLength(1)
    expect(after(-3_600_000).proposals).toHaveLength(1)
  })
})

describe('rates that may not last', () => {
  const brief = policy({ yields: { ...policy().yields, persistenceS: 6 * 3_600 } })
  const { timestampS } = observation().chain
  /** A fortnight of looks at both markets: the second was lent out so far, and no more; for so long at a time. */
  const seen = (usualEth: number, correlation: number, btcHours = 336) => {
    const of = (assets: number, hours = 336) =>
      borrowingOf(
        Array.from({ length: hours }, (_, hour) => ({
          atS: timestampS - (hours - 1 - hour) * 3_600,
          assets,
        })),
      )
    return {
      [BTC_MARKET]: of(600_000e6, btcHours),
      [ETH_MARKET]: { ...of(usualEth * 1e6), variance: 1e28, covariance: correlation * 1e28 },
    }
  }
  const gainOf = (decision: ReturnType<typeof decideOn>) => Number(only(decision).gainUsdMicros) / 1e6

  it('says no gain for longer than a market was watched, and its prior', () => {
    expect(only(decideOn(uneven, brief)).reason.horizonS).toBe(6 * 3_600)
    const borrowing = seen(30_000_000, 0.99)
    expect(only(decideOn({ ...uneven, borrowing }, brief)).reason.horizonS).toBe(7 * 86_400)
    const half = seen(30_000_000, 0.99, 2)
    expect(only(decideOn({ ...uneven, borrowing: half }, brief)).reason.horizonS).toBe(7 * 3_600)
  })

  it('discounts a gain by how long such rates lasted, and stands still where that leaves too little', () => {
    const usually = gainOf(decideOn({ ...uneven, borrowing: seen(30_000_000, 0.99) }, brief))
    const [long, short] = [0.99, 0.5].map((correlation) =>
      gainOf(decideOn({ ...uneven, borrowing: seen(10_000_000, correlation) }, brief)),
    )
    expect(short).toBeLessThan((long ?? 0) / 2)
    expect(long).toBeLessThan(usually)
    const dear = { ...observation().chain, baseFeePerGasWei: 100_000_000_000n }
    const decision = decideOn({ ...uneven, chain: dear, borrowing: seen(10_000_000, 0.5) }, brief)
    expect(decision.proposals).toEqual([])
    expect(checksOf(decision)[0]).toMatch(/^gain_below_|^allocation_optimal/)
  })
})

describe('several vaults over the same markets', () => {
  const OTHER = `0x${'9'.repeat(40)}` as const
  const two = { ...uneven, vaults: [vault(), vault({ address: OTHER })] }
  const suppliedBy = (decision: ReturnType<typeof decideOn>) =>
    decision.proposals
      .flatMap(movesIn)
      .filter(({ market: at }) => at === ETH_MARKET)
      .reduce((sum, { assets }) => sum + assets, 0n)

  it('move together to where both earn most, and have nothing left to do after it', () => {
    const decision = decideOn(two)
    expect(decision.proposals.map(({ subject }) => subject)).toEqual([VAULT, OTHER])
    const after = decision.proposals.reduce(carriedOut, observation(two))
    expect(decide(after, policy()).proposals).toEqual([])
    // Each by itself would take for its own what the other is about to fill.
    const alone = two.vaults.reduce((sum, one) => sum + suppliedBy(decideOn({ ...two, vaults: [one] })), 0n)
    expect(suppliedBy(decision)).toBeLessThanOrEqual(alone)
  })

  it('count what a supply takes from another of ours that has lent there, and not from a stranger', () => {
    const lends = (isAllocator: boolean) =>
      vault({
        address: OTHER,
        books: books({ idleAssets: 0n, bufferBps: 0, totalAssets: usd(2_000_000), isAllocator }),
        allocations: [allocation({ marketAddress: ETH_MARKET })],
      })
    const markets = [
      market({ debtAssets: usd(600_000), cashAssets: usd(3_400_000) }),
      ethMarket({ debtAssets: usd(6_000_000), cashAssets: usd(2_000_000) }),
    ]
    const beside = (isOurs: boolean) => suppliedBy(decideOn({ markets, vaults: [vault(), lends(isOurs)] }))
    expect(beside(true)).toBeGreaterThan(0n)
    expect(beside(true)).toBeLessThan(beside(false))
  })

  it('count what another has to withdraw at the same look', () => {
    const short = queue(900_000, 0).vaults.map((one) => ({ ...one, address: OTHER }) as const)
    const decision = decideOn({ ...uneven, vaults: [vault(), ...short] })
    expect(decision.proposals.map(({ kind }) => kind)).toEqual(['yield', 'redemptions'])
  })

  it('wait for one that moves already: whether that is in the figures is not known', () => {
    const { workflowId, workflowType, kind, subject, occurrence, input, exposure } = ended()
    const moving = { workflowId, workflowType, kind, subject, occurrence, input, exposure }
    expect(checksOf(decideOn({ ...two, inFlight: [moving] }), OTHER)).toEqual(['neighbour_moving'])
    expect(checksOf(decideOn({ ...two, inFlight: [{ ...moving, held: true }] }), OTHER)).toEqual([])
    const elsewhere = { ...vault(), allocations: [allocation()] }
    const apart = [
      elsewhere,
      vault({ address: OTHER, allocations: [allocation({ marketAddress: ETH_MARKET })] }),
    ]
    const decision = decideOn({ ...uneven, vaults: apart, inFlight: [moving] })
    expect(checksOf(decision, OTHER)).not.toContain('neighbour_moving')
  })
})

describe('the service’s own proposals', () => {
  const item = {
    vaultAddress: VAULT,
    marketAddress: ETH_MARKET,
    action: 'allocate',
    amountAssets: usd(100_000),
    confidenceBps: 6_000,
    policyVersion: null,
    modelVersion: 'yield-under-caps-1',
    createdAtMs: 1_001_000,
  }
  const into = (changes: Partial<typeof item>) =>
    decideOn({ ...uneven, intelligence: [{ ...item, ...changes }] })
      .proposals.flatMap(movesIn)
      .find((one) => one.market === ETH_MARKET)?.assets ?? 0n
  const free = () => movesIn(only(decideOn(uneven))).find((one) => one.market === ETH_MARKET)?.assets ?? 0n

  it('narrow what is supplied, and never widen it', () => {
    expect(free()).toBeGreaterThan(usd(100_000))
    expect(into({})).toBe(usd(100_000))
    expect(into({ action: 'deallocate' })).toBeLessThanOrEqual(0n)
    expect(into({ amountAssets: usd(5_000_000) })).toBe(free())
  })

  it.each([
    ['too little confidence', { confidenceBps: 5_999 }],
    ['another model', { modelVersion: 'yield-under-caps-2' }],
    ['another policy', { policyVersion: '7' as unknown as null }],
    ['a second too old', { createdAtMs: 1_001_000 - 120_001 }],
    ['another market', { marketAddress: BTC_MARKET }],
  ])('count for nothing with %s', (_what, changes) => {
    expect(into(changes)).toBe(free())
  })
})

describe('bad input', () => {
  it.each([
    ['vault_unknown', vault({ exit: null })],
    ['vault_unread', vault({ books: null })],
    ['vault_unread', vault({ books: books({ requests: null }) })],
    ['not_allocator', vault({ books: books({ isAllocator: false }) })],
    ['asset_not_allowed', vault({ books: books({ asset: BTC_MARKET }) })],
    ['vault_empty', vault({ books: books({ totalAssets: 0n }) })],
    ['vault_empty', vault({ books: books({ totalShares: 0n }) })],
    ['no_markets', vault({ allocations: [] })],
    ['allocations_unread', vault({ allocations: [allocation({ heldAssets: null })] })],
    ['allocations_unread', vault({ allocations: [allocation({ cashAssets: null })] })],
  ])('is a named refusal: %s', (check, look) => {
    const decision = decideOn({ vaults: [look] })
    expect(decision.proposals).toEqual([])
    expect(checksOf(decision)).toEqual([check])
  })

  it('bears a market without supply, without borrowers, and one that is lent out whole', () => {
    for (const figures of [
      { debtAssets: 0n, cashAssets: 0n },
      { debtAssets: 0n, cashAssets: usd(1) },
      { debtAssets: usd(4_000_000), cashAssets: 0n },
    ]) {
      const allocations = [
        allocation({ heldAssets: 0n, cashAssets: 0n }),
        allocation({ marketAddress: ETH_MARKET }),
      ]
      const decision = decideOn({ markets: [market(figures), ethMarket()], vaults: [vault({ allocations })] })
      expect(decision.proposals.length + decision.passedOver.length).toBeGreaterThan(0)
    }
  })
})

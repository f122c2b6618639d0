import { describe, expect, it } from 'vitest'
import { decide } from '../../../agents/liquidator/decide.ts'
import { liquidationViews } from '../../../agents/protocol/liquidation-views.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { assertViews } from '../../../src/observe/views.ts'
import { NOTHING_AROUND } from '../../support/around.ts'
import { policy, policyViews } from './fixtures.ts'
import {
  type Answers,
  answers,
  BORROWER,
  BTC,
  facilityRow,
  fakeNodes,
  fresh,
  input,
  LOAN,
  listed,
  MARKET,
  marketRow,
  OTHER,
  observeLiquidator,
  PRICE,
  pins,
  positionRow,
  recoveryRow,
  SIGNER,
  service,
  VAULT,
} from './service-fixtures.ts'

const clock = { nowMs: () => 1_001_000 }

function observe(
  setup: {
    service?: Parameters<typeof service>[0]
    chain?: Answers
    input?: Parameters<typeof input>[0]
  } = {},
) {
  const nodes = fakeNodes({ ...answers, ...setup.chain })
  const seen = observeLiquidator({ service: service(setup.service), nodes, pins, clock }, input(setup.input))
  return { seen, nodes }
}

describe('an observation', () => {
  it('joins what the service and the chain say, in one wave', async () => {
    const { seen, nodes } = observe()
    const { markets, facilities, ...rest } = await seen
    expect(rest).toEqual({
      nowMs: 1_001_000,
      signer: SIGNER,
      chainId: 31_337,
      chain: {
        blockNumber: 10n,
        timestampS: 1_000,
        baseFeePerGasWei: 7n,
        priorityFeePerGasWei: 2n,
        dataFeeWei: 0n,
      },
      freshness: { ok: true, ageMs: 1_000, message: '1 s old' },
      nativeBalanceWei: 10n ** 18n,
      balances: { [LOAN]: 5_000_000n, [BTC]: 3n },
      claims: [],
      exits: [
        { pair: 'sBTC/sUSD', contract: 'btcExit', marketAddress: MARKET, venue: null, held: 3n, quotes: [] },
      ],
      references: {},
      ...NOTHING_AROUND,
      deployment: pins,
      ours: [SIGNER],
    })
    expect(markets).toMatchObject([
      {
        address: MARKET,
        loanSymbol: 'sUSD',
        loanPriceUsdMicros: 1_000_000n,
        collateralSymbol: 'sBTC',
        priceWad: PRICE,
        oracle: { priceWad: PRICE, sourceAsOfS: 999, state: 1 },
        armed: { ok: true },
        eligible: null,
        eligibilityStale: null,
      },
    ])
    expect(facilities).toEqual([
      {
        marketId: MARKET,
        marketAddress: MARKET,
        vaultAddress: VAULT,
        borrower: BORROWER,
        debtAssets: 41_000_000_000n,
        positionDebtAssets: 41_000_000_000n,
        collateralAssets: 100_000_000n,
        debtShares: 40_000_000_000n,
        serviceHealthFactorWad: 975_609_756_097_560_975n,
        monitorState: null,
        recovery: { liquidatable: true, executable: true, blockedReason: null },
      },
    ])
    expect(nodes.rounds).toHaveLength(1)
  })

  it('starts every read of the first wave before any of them ends', async () => {
    const started: string[] = []
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const held = <T>(name: string, value: T) => {
      started.push(name)
      if (started.length === 7) open()
      return gate.then(() => value)
    }
    // The book is swept before; what a look starts with is its markets.
    let looks = false
    const afterSweep = <T>(name: string, value: T) => (looks ? held(name, value) : Promise.resolve(value))
    const nodes = fakeNodes(answers)
    await observeLiquidator(
      {
        service: service({
          listMarkets: () => {
            looks = true
            return held('markets', listed([marketRow()]))
          },
          listCreditFacilities: () => held('facilities', listed([facilityRow()])),
          listPositions: () => afterSweep('positions', listed([positionRow()])),
          listLiquidationRecovery: () => afterSweep('recoveries', listed([recoveryRow()])),
        }),
        nodes: {
          // What is read on the chain is read at this block, so it is here first.
          head: () => {
            started.push('head')
            return nodes.head()
          },
          balanceWei: () => held('native', 1n),
          calls: (calls) => nodes.calls(calls).then((value) => held('calls', value)),
        },
        pins,
        clock,
      },
      input(),
    )
    expect(started).toHaveLength(7)
  })

  it('leads to a liquidation', async () => {
    const { seen } = observe({ chain: { balanceOf: () => 10n ** 12n } })
    expect(
      decide(
        await seen,
        policy({
          collaterals: {
            sBTC: { inventoryAssetsMax: 10n ** 13n, exitHaircutBaseBps: 30, exitHaircutPerMillionUsdBps: 0 },
          },
        }),
      ).proposals,
    ).toHaveLength(1)
  })
})

describe('interest since the block that the service describes', () => {
  const old = { ...fresh, lagSeconds: 2, blockTimestamp: new Date(998_000).toISOString() }

  it("is added at the market's rate, per collection", async () => {
    const { seen } = observe({
      service: { listPositions: async () => listed([positionRow()], { freshness: old }) },
    })
    expect((await seen).facilities[0]).toMatchObject({
      debtAssets: 41_000_000_000n,
      positionDebtAssets: 41_082_000_000n,
    })
  })

  it('counts the lag where the service gives no time', async () => {
    const freshness = { status: 'current', lagSeconds: 1, blockNumber: '10' }
    const { seen } = observe({
      service: { listCreditFacilities: async () => listed([facilityRow()], { freshness }) },
    })
    expect((await seen).facilities[0]?.debtAssets).toBe(41_041_000_000n)
  })

  it('is not assumed to be none: without a rate the debt is asked of the chain', async () => {
    const { seen, nodes } = observe({
      service: {
        listMarkets: async () => listed([marketRow({ currentBorrowRatePerSecond: null })]),
        listPositions: async () => listed([positionRow()], { freshness: old }),
      },
    })
    expect((await seen).facilities[0]?.positionDebtAssets).toBeNull()
    expect(nodes.rounds).toHaveLength(2)
  })
})

describe('figures that the service does not give', () => {
  const chain: Answers = {
    debtOf: () => 41n,
    totalDebtOf: () => 42n,
    collateralOf: () => 43n,
    debtSharesOf: (_, [vault]) => (vault === VAULT ? 40n : 2n),
  }
  const fromChain = { debtAssets: 41n, positionDebtAssets: 42n, collateralAssets: 43n, debtShares: 42n }

  it('come from the chain, in a second wave', async () => {
    const { seen, nodes } = observe({ service: { listPositions: async () => listed([]) }, chain })
    expect((await seen).facilities).toMatchObject([fromChain])
    expect(nodes.rounds.map(({ size }) => size)).toEqual([4, 5])
  })

  it('come from the chain for a debt that only the recovery list names', async () => {
    const { seen } = observe({ service: { listCreditFacilities: async () => listed([]) }, chain })
    expect((await seen).facilities).toMatchObject([fromChain])
  })

  it('stay unknown, all of them, when the chain answers in part', async () => {
    const { seen } = observe({
      service: { listPositions: async () => listed([]) },
      chain: { ...chain, collateralOf: () => undefined },
    })
    expect((await seen).facilities).toMatchObject([{ positionDebtAssets: null, collateralAssets: null }])
  })

  it('are asked of at most a hundred debts, those up for recovery first', async () => {
    const many = Array.from({ length: 150 }, (_, index) =>
      facilityRow({
        borrowerAddress: `0x${index.toString(16).padStart(40, '0')}`,
        healthFactorWad: String(index),
      }),
    )
    // The fifty nearest are the first fifty; sixty others are listed.
    const upForRecovery = many.slice(90).map(({ borrowerAddress }) => recoveryRow({ borrowerAddress }))
    const silent = { debtAssets: null, debtShares: null, collateralAssets: null }
    const { seen, nodes } = observe({
      service: {
        listCreditFacilities: async () => listed(many),
        listPositions: async () =>
          listed(
            many.map(({ borrowerAddress }) => positionRow({ ...silent, walletAddress: borrowerAddress })),
          ),
        listLiquidationRecovery: async () => listed(upForRecovery),
      },
      chain,
    })
    const unknown = (await seen).facilities.filter(({ collateralAssets }) => collateralAssets === null)
    expect((await seen).facilities).toHaveLength(110)
    expect(unknown).toHaveLength(10)
    expect(unknown.filter(({ recovery }) => recovery !== null)).toEqual([])
    expect(nodes.rounds).toHaveLength(2)
  })

  it('are never asked of a market that is not pinned', async () => {
    const { seen, nodes } = observe({
      service: {
        listMarkets: async () => listed([marketRow({ address: OTHER })]),
        listCreditFacilities: async () => listed([facilityRow({ marketAddress: OTHER })]),
        listLiquidationRecovery: async () => listed([]),
      },
      chain,
    })
    const { markets, facilities } = await seen
    expect(markets[0]).toMatchObject({ oracle: null, armed: { ok: false } })
    expect(facilities[0]?.collateralAssets).toBeNull()
    expect(nodes.rounds).toHaveLength(1)
  })

  it('stay null where neither says: prices, balances, dollars', async () => {
    const { seen } = observe({
      service: {
        listMarkets: async () => listed([marketRow({ loanAsset: { priceUsd: '1e0' }, oracle: null })]),
      },
      chain: { read: () => undefined, balanceOf: (to) => (to === LOAN ? undefined : 3n) },
    })
    const { markets, balances } = await seen
    expect(markets[0]).toMatchObject({ loanPriceUsdMicros: null, priceWad: null, oracle: null })
    expect(balances).toEqual({ [BTC]: 3n })
  })
})

describe('claims', () => {
  const chain: Answers = {
    openClaims: () => [7n, 8n],
    claim: (_, [id]) => [SIGNER, SIGNER, VAULT, BORROWER, id === 7n ? 70n : 80n, 1_002n, false],
  }
  const both = [
    { marketAddress: MARKET, claimId: 7n, collateralAsset: BTC, collateralAssets: 70n, settleableAtS: 1_002 },
    { marketAddress: MARKET, claimId: 8n, collateralAsset: BTC, collateralAssets: 80n, settleableAtS: 1_002 },
  ]

  it('are read in a second wave when they are new, and in the first one after that', async () => {
    const { seen, nodes } = observe({ chain })
    const previous = await seen
    expect(previous.claims).toEqual(both)
    expect(nodes.rounds).toHaveLength(2)
    const again = observe({ chain, input: { previous } })
    expect((await again.seen).claims).toEqual(both)
    expect(again.nodes.rounds).toHaveLength(1)
  })

  it('are gone once the chain lists them no more', async () => {
    const previous = await observe({ chain }).seen
    const { seen } = observe({ chain: { ...chain, openClaims: () => [8n] }, input: { previous } })
    expect((await seen).claims).toEqual(both.slice(1))
  })

  it.each<[string, Answers]>([
    ['their numbers', { ...chain, openClaims: () => undefined }],
    ['one of them', { ...chain, claim: () => undefined }],
  ])('that the chain does not say are said to be missing, and nothing is decided: %s', async (_, broken) => {
    await expect(observe({ chain: broken }).seen).rejects.toMatchObject({
      code: 'node.view_empty',
      shortMessage: 'The chain does not say our open claims: its contract returns nothing.',
    })
  })
})

describe('eligibility', () => {
  const gated = { listMarkets: async () => listed([marketRow({ collateralGateEnabled: true })]) }
  const row = (authorizationStatus: string, changes = {}) => ({
    chainId: 31_337,
    walletAddress: SIGNER,
    actionType: 'liquidate',
    scopeAddress: MARKET,
    authorizationStatus,
    ...changes,
  })
  const eligible = async (rows: readonly ReturnType<typeof row>[]) =>
    (await observe({ service: { ...gated, listEligibility: async () => listed(rows) } }).seen).markets[0]
      ?.eligible

  it('is ours only by a row of our wallet, this market and this action', async () => {
    expect(await eligible([row('authorized')])).toBe(true)
    expect(await eligible([row('revoked')])).toBe(false)
    expect(await eligible([])).toBe(false)
    expect(await eligible([row('authorized', { walletAddress: OTHER })])).toBe(false)
    expect(await eligible([row('authorized', { scopeAddress: OTHER })])).toBe(false)
    expect(await eligible([row('authorized', { actionType: 'borrow' })])).toBe(false)
  })

  it('is asked for only where a gate applies, in the first wave once that is known', async () => {
    let asked = 0
    const listEligibility = async () => {
      asked += 1
      return listed([row('authorized')])
    }
    await observe({ service: { listEligibility } }).seen
    expect(asked).toBe(0)
    const previous = await observe({ service: { ...gated, listEligibility } }).seen
    expect(asked).toBe(1)
    expect(
      (await observe({ service: { ...gated, listEligibility }, input: { previous } }).seen).markets[0]
        ?.eligible,
    ).toBe(true)
    expect(asked).toBe(2)
  })

  it('is judged by the age of its own list, and closes nothing else', async () => {
    const at = async (lagSeconds: number) => {
      const freshness = { ...fresh, lagSeconds }
      const listEligibility = async () => listed([row('authorized')], { freshness })
      const { freshness: all, markets } = await observe({ service: { ...gated, listEligibility } }).seen
      expect(all.ok).toBe(true)
      return markets[0]?.eligibilityStale
    }
    expect(await at(0)).toBeNull()
    expect(await at(3_600)).toContain('eligibility: 1 h old')
  })

  it('is not known when it cannot be read, and nothing else is lost', async () => {
    const listEligibility = async () => {
      throw new RolekeeperError('service.forbidden', 'No.')
    }
    const { freshness, markets } = await observe({ service: { ...gated, listEligibility } }).seen
    expect(freshness.ok).toBe(true)
    expect(markets[0]?.eligible).toBeNull()
  })
})

describe('freshness', () => {
  const withPositions = async (freshness: Partial<typeof fresh>, dropped = 0) =>
    (
      await observe({
        service: {
          listPositions: async () =>
            listed([positionRow()], { freshness: { ...fresh, ...freshness }, dropped }),
        },
      }).seen
    ).freshness

  it.each([
    ['a lag at the limit', { lagSeconds: 15 }, true],
    ['a lag one past it', { lagSeconds: 16 }, false],
    ['as many blocks behind as allowed', { blockNumber: '7' }, true],
    ['one block further behind', { blockNumber: '6' }, false],
    ['as many blocks ahead as allowed', { blockNumber: '13' }, true],
    ['one block further ahead', { blockNumber: '14' }, false],
    ['no block', { blockNumber: null }, false],
    ['healthy', { status: 'healthy' }, true],
    ['stale', { status: 'stale' }, false],
    ['a word of the future', { status: 'pristine' }, false],
  ])('of one collection, %s', async (_, freshness, ok) => {
    expect((await withPositions(freshness)).ok).toBe(ok)
  })

  it('names the collection, the value and the limit', async () => {
    expect(await withPositions({ status: 'st\u202eale', lagSeconds: 48 }, 2)).toEqual({
      ok: false,
      ageMs: 48_000,
      message: 'positions: stale, 48 s old (the policy allows 15 s); 2 rows of positions could not be read',
    })
  })

  it('counts the age of our own head', async () => {
    const at = (nowMs: number) =>
      observeLiquidator(
        { service: service(), nodes: fakeNodes(answers), pins, clock: { nowMs: () => nowMs } },
        input(),
      )
    expect((await at(1_015_000)).freshness.ok).toBe(true)
    expect((await at(1_015_001)).freshness.ok).toBe(false)
  })
})

describe('a market is not armed', () => {
  it.each([
    ['another collateral asset', { collateralAssetAddress: OTHER }],
    ['another oracle', { oracleAddress: OTHER }],
    ['other decimals', { collateralDecimals: 18 }],
  ])('when the service gives it %s than its pin', async (_, changes) => {
    const { seen } = observe({ service: { listMarkets: async () => listed([marketRow(changes)]) } })
    expect((await seen).markets[0]?.armed.ok).toBe(false)
  })

  it('before arming has looked', async () => {
    const { seen } = observe({ input: { armed: new Map() } })
    expect((await seen).markets[0]?.armed).toEqual({
      ok: false,
      message: `Market ${MARKET} is not checked yet.`,
    })
  })
})

it('leaves out rows of another chain', async () => {
  const { seen } = observe({
    service: {
      listMarkets: async () => listed([marketRow({ chainId: 1 })]),
      listCreditFacilities: async () => listed([facilityRow({ chainId: 1 })]),
      listLiquidationRecovery: async () => listed([]),
    },
  })
  expect(await seen).toMatchObject({ markets: [], facilities: [] })
})

it('cleans what the service wrote', async () => {
  const { seen } = observe({
    service: {
      listLiquidationRecovery: async () => listed([recoveryRow({ blockedReason: 'a\u001b[2Jb\nc' })]),
    },
  })
  expect((await seen).facilities[0]?.recovery?.blockedReason).toBe('a [2Jb c')
})

describe("the policy's views", () => {
  const views = [
    'function read() view returns (uint256, uint64, uint64, uint8)',
    'function openClaims(address) view returns (uint256[])',
    'function claim(uint256) view returns (address, address, address, address, uint256, uint64, bool)',
    'function collateralOf(address) view returns (uint256)',
    'function totalDebtOf(address) view returns (uint256)',
    'function debtOf(address, address) view returns (uint256)',
    'function debtSharesOf(address, address) view returns (uint256)',
    'function healthFactorWad(address) view returns (uint256)',
  ]

  it('must name every read, with its types', () => {
    expect(() => assertViews(liquidationViews, views)).not.toThrow()
    for (const [index] of views.entries()) {
      expect(() => assertViews(liquidationViews, views.toSpliced(index, 1))).toThrow('guard.views lack')
    }
    const swapped = views.toSpliced(0, 1, 'function read() view returns (uint64, uint256, uint64, uint8)')
    expect(() => assertViews(liquidationViews, swapped)).toThrow(
      "The policy's guard.views lack read() view (uint256,uint64,uint64,uint8).",
    )
  })

  it('name every read in the committed policy', () => {
    expect(() => assertViews(liquidationViews, policyViews)).not.toThrow()
  })

  it('must be functions', () => {
    expect(() => assertViews(liquidationViews, [...views, 'read everything'])).toThrow(
      'guard.views has "read everything"',
    )
  })
})

import { describe, expect, it } from 'vitest'
import type { PinnedDeployment } from '../../../src/service/contract/deployment.ts'
import type { MarketResource, PositionResource } from '../../../src/service/contract/resources.ts'
import {
  type Answers,
  answers,
  armMarkets,
  BTC,
  CHAIN_ID,
  fakeNodes,
  fresh,
  type Lists,
  LOAN,
  listed,
  MARKET,
  marketRow,
  ORACLE,
  OTHER,
  PRICE,
  pins,
  positionRow,
  service,
} from './service-fixtures.ts'

const HEALTH = 975_609_756_097_560_975n

async function arm(
  setup: {
    market?: Partial<MarketResource>
    positions?: readonly PositionResource[]
    chain?: Answers
    service?: Partial<Lists>
    pins?: PinnedDeployment
  } = {},
) {
  const nodes = fakeNodes({ ...answers, ...setup.chain })
  const armed = await armMarkets(
    {
      service: service({
        listMarkets: async () => listed([marketRow(setup.market)]),
        listPositions: async () => listed(setup.positions ?? [positionRow()]),
        ...setup.service,
      }),
      nodes,
      pins: setup.pins ?? pins,
    },
    CHAIN_ID,
  )
  return { verdict: armed.get(MARKET), rounds: nodes.rounds }
}

const message = async (setup: Parameters<typeof arm>[0]) => {
  const { verdict } = await arm(setup)
  expect(verdict?.ok).toBe(false)
  return verdict?.ok === false ? verdict.message : ''
}

describe('a market is armed', () => {
  it("when our arithmetic, the service and the chain agree, at the service's own block", async () => {
    const { verdict, rounds } = await arm()
    expect(verdict).toEqual({ ok: true })
    expect(rounds).toEqual([{ size: 4, blockNumber: 10n }])
  })

  it('without a position to sample, by decimals and price', async () => {
    expect((await arm({ positions: [] })).verdict).toEqual({ ok: true })
    expect((await arm({ positions: [positionRow({ debtAssets: '0' })] })).verdict).toEqual({ ok: true })
  })

  it('within ten basis points, and not one further', async () => {
    const healthFactorWad = (parts: bigint) => String((HEALTH * 10_000n) / (10_000n + parts) + 1n)
    expect(
      (await arm({ positions: [positionRow({ healthFactorWad: healthFactorWad(10n) })] })).verdict?.ok,
    ).toBe(true)
    expect(
      (await arm({ positions: [positionRow({ healthFactorWad: healthFactorWad(11n) })] })).verdict?.ok,
    ).toBe(false)
  })

  it('by the largest debts, however many with nothing to compare are nearer to liquidation', async () => {
    const nothing = { healthFactorWad: null, collateralAssets: '0', debtAssets: '1', debtShares: '1' }
    const dust = Array.from({ length: 60 }, (_, number) =>
      positionRow({ ...nothing, walletAddress: `0x${(number + 1).toString(16).padStart(40, '0')}` }),
    )
    const { verdict } = await arm({
      positions: [...dust, positionRow({ healthFactorWad: String(2n * HEALTH) })],
    })
    expect(verdict?.ok).toBe(false)
  })

  it('by at most five positions, the largest debts', async () => {
    const positions = Array.from({ length: 7 }, (_, index) =>
      positionRow({
        walletAddress: `0x${String(index).repeat(40)}`,
        debtAssets: String(41_000_000_000n - BigInt(index)),
      }),
    )
    expect((await arm({ positions })).rounds[0]?.size).toBe(3 + 5)
  })

  it('again once the collections are of one block', async () => {
    let reads = 0
    const listPositions = async () => {
      reads += 1
      return listed([positionRow()], { freshness: { ...fresh, blockNumber: reads < 3 ? '9' : '10' } })
    }
    expect((await arm({ service: { listPositions } })).verdict).toEqual({ ok: true })
    expect(reads).toBe(3)
  })
})

describe('a market stays unarmed, and the likely cause is named', () => {
  it.each([
    ['1e2', 100n],
    ['1e10', 10n ** 10n],
    ['1e12', 10n ** 12n],
  ])('with collateral that is %s too large', async (name, factor) => {
    const positions = [positionRow({ collateralAssets: String(100_000_000n * factor) })]
    expect(await message({ positions })).toContain(
      `a factor of 10^${name.slice(2)}, so look at decimals or the price's scale`,
    )
  })

  it.each([
    ['1e2', 100n],
    ['1e10', 10n ** 10n],
    ['1e12', 10n ** 12n],
  ])('with a debt that is %s too large', async (name, factor) => {
    const positions = [positionRow({ debtAssets: String(41_000_000_000n * factor) })]
    expect(await message({ positions })).toContain(`a factor of 10^-${name.slice(2)}`)
  })

  it.each([
    ['1e2', 100n],
    ['1e10', 10n ** 10n],
    ['1e12', 10n ** 12n],
  ])('with a price that is %s too large, though its health agrees with it', async (name, factor) => {
    const market = { oracle: { priceWad: String(PRICE * factor) } }
    const positions = [positionRow({ healthFactorWad: String(HEALTH * factor) })]
    expect(await message({ market, positions })).toContain(`a factor of 10^${name.slice(2)}`)
  })

  it.each([
    ['loan', { loanDecimals: 18 }, LOAN],
    ['collateral', { collateralDecimals: 6 }, BTC],
  ])("with other %s decimals than the chain's, though the pin has them too", async (asset, market, token) => {
    const decimals = Object.values(market)[0] ?? 0
    const assets = pins.assets.map((pin) => (pin.address === token ? { ...pin, decimals } : pin))
    expect(await message({ market, pins: { ...pins, assets } })).toContain(
      `the service says that its ${asset} asset has ${decimals} decimals, the chain says`,
    )
  })

  it('with a health that counts by the LLTV', async () => {
    const positions = [positionRow({ healthFactorWad: String((HEALTH * 7_500n) / 8_000n) })]
    expect(await message({ positions })).toContain('the ratio of liquidation threshold and LLTV')
  })

  it('with a health of no such ratio', async () => {
    const positions = [positionRow({ healthFactorWad: String(HEALTH / 3n) })]
    expect(await message({ positions })).toContain(
      'no factor of units, so look at the price or at the amounts',
    )
  })

  it('when only the chain disagrees', async () => {
    expect(await message({ chain: { healthFactorWad: () => HEALTH * 2n } })).toContain('the chain says')
  })

  it.each<[string, Parameters<typeof arm>[0]]>([
    ['the pin', { market: { oracleAddress: OTHER } }],
    ['a figure of the service', { market: { liquidationThresholdBps: null } }],
    ["the service's decimals", { market: { collateralDecimals: null } }],
    ["the service's price", { market: { oracle: null } }],
    ["the chain's decimals", { chain: { decimals: () => undefined } }],
    ["the chain's price", { chain: { read: (to) => (to === ORACLE ? undefined : []) } }],
    ["the chain's health", { chain: { healthFactorWad: () => undefined } }],
    [
      'one block',
      {
        service: {
          listPositions: async () => listed([positionRow()], { freshness: { ...fresh, blockNumber: '9' } }),
        },
      },
    ],
    [
      'any block',
      {
        service: {
          listMarkets: async () => listed([marketRow()], { freshness: { ...fresh, blockNumber: null } }),
        },
      },
    ],
  ])('when %s is missing or another', async (_, setup) => {
    expect(await message(setup)).not.toBe('')
  })
})

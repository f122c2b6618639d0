import { describe, expect, it } from 'vitest'
import type { Done } from '../../../agents/agent.ts'
import { assess } from '../../../agents/liquidator/assess.ts'
import { proposalOf } from '../../support/workflows.ts'
import { BTC, claim, LOAN, MARKET, market, observation, policy } from './fixtures.ts'

const terms = { exitHaircutBaseBps: 100, exitHaircutPerMillionUsdBps: 0, inventoryAssetsMax: 10n ** 12n }
const base = policy()
const POLICY = {
  ...base,
  collaterals: { sBTC: { ...base.collaterals.sBTC, ...terms } },
  gas: { ...base.gas, nativePriceUsdMicros: 3_000_000_000n },
} as typeof base
const done = (token: `0x${string}`, assets: bigint, gasWei = 10n ** 15n): Done => ({
  proposal: proposalOf({ input: { marketAddress: MARKET } }),
  realized: { tokens: [{ token, assets }], gasWei },
})
/** 1,000 sUSD paid, 0.021 sBTC received at 50,000: worth $1,050. */
const PAID = done(LOAN, -1_000_000_000n)
const RECEIVED = done(BTC, 2_100_000n)

describe('assessing a liquidation', () => {
  it('marks the collateral at the oracle’s price, less haircut, repayment and the gas of both', () => {
    expect(assess([PAID, RECEIVED], observation(), POLICY)).toEqual({
      paid: '1,000 sUSD',
      received: '0.021 sBTC',
      gas: '$6',
      profit: '+$33.50',
      // 1,050 × 99 % − 1,000 − 6
      profitUsdMicros: 33_500_000n,
      marked: true,
    })
  })

  it('takes a larger haircut of a larger amount, and never more than everything', () => {
    const steep = (exitHaircutPerMillionUsdBps: number) => ({
      ...POLICY,
      collaterals: { sBTC: { ...base.collaterals.sBTC, ...terms, exitHaircutPerMillionUsdBps } },
    })
    const profit = (perMillion: number) =>
      assess([PAID, RECEIVED], observation(), steep(perMillion) as typeof base)?.profitUsdMicros
    // 1,050 dollars are 0.00105 millions: 105 basis points more.
    expect(profit(100_000)).toBe(33_500_000n - 11_025_000n)
    expect(profit(1_000_000_000)).toBe(-1_006_000_000n)
  })

  it('takes it of all that we hold and claim', () => {
    const steep = { ...base.collaterals.sBTC, ...terms, exitHaircutPerMillionUsdBps: 100_000 }
    const rules = { ...POLICY, collaterals: { sBTC: steep } } as typeof base
    // 0.021 and 0.021 sBTC in the balance and a claim: 2,100 dollars, 210 basis points.
    const held = {
      balances: { [LOAN]: 0n, [BTC]: 2_100_000n },
      claims: [claim({ collateralAssets: 2_100_000n })],
    }
    expect(assess([PAID, RECEIVED], observation(held), rules)?.profitUsdMicros).toBe(
      33_500_000n - 22_050_000n,
    )
  })

  it('says a loss as one', () => {
    const gain = assess([PAID, done(BTC, 2_000_000n)], observation(), POLICY)
    expect(gain).toMatchObject({ profit: '-$16', profitUsdMicros: -16_000_000n })
  })

  it('says nothing while a price, a token or a term is not known, or nothing moved', () => {
    const unknown = [
      { loanAsset: null },
      { loanDecimals: null },
      { loanSymbol: null },
      { loanPriceUsdMicros: null },
      { collateralAsset: null },
      { collateralDecimals: null },
      { collateralSymbol: null },
      { collateralSymbol: 'sOTHER' },
      { oracle: null },
      { address: LOAN },
    ] as const
    for (const changes of unknown) {
      const seen = observation({ markets: [market(changes)] })
      expect([changes, assess([PAID, RECEIVED], seen, POLICY)]).toEqual([changes, null])
    }
    expect(assess([PAID], observation(), POLICY)).toBeNull()
    expect(assess([RECEIVED], observation(), POLICY)).toBeNull()
    expect(assess([], observation(), POLICY)).toBeNull()
  })
})

import { describe, expect, it } from 'vitest'
import type { InFlight, Observation } from '../../../agents/agent.ts'
import { decide } from '../../../agents/liquidator/decide.ts'
import type { LiquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import type { FacilitySeen, LiquidatorSeen, MarketSeen } from '../../../agents/liquidator/seen.ts'
import { liquidateInput } from '../../../src/service/contract/workflow-inputs.ts'
import { inputText } from '../../../src/workflow/proposal.ts'
import {
  BORROWER,
  BTC,
  claim,
  facility,
  LOAN,
  MARKET,
  market,
  NATIVE,
  observation,
  policy,
  SIGNER,
  SUBJECT,
  VAULT,
} from './fixtures.ts'

const WAD = 10n ** 18n
const otherBorrower = (digit: string) => `0x${digit.repeat(40)}` as const

const checkOf = (seen: Observation<LiquidatorSeen>, rules = policy()) => {
  const { proposals, passedOver } = decide(seen, rules)
  expect(proposals).toEqual([])
  expect(passedOver).toHaveLength(1)
  return passedOver[0]?.check
}
const inMarket = (changes: Partial<MarketSeen>) => observation({ markets: [market(changes)] })
const ofFacility = (changes: Partial<FacilitySeen>) => observation({ facilities: [facility(changes)] })
const proposed = (seen: Observation<LiquidatorSeen>, rules = policy()) => decide(seen, rules).proposals
const underWay = (changes: Partial<InFlight> = {}): InFlight => ({
  workflowId: 'w1',
  workflowType: 'role.liquidator.liquidate',
  kind: 'liquidate',
  subject: 'another',
  occurrence: 'before',
  input: { marketAddress: MARKET, borrowerAddress: otherBorrower('9'), minCollateralAssets: '0' },
  exposure: { token: LOAN, assets: 0n, usdMicros: 0n },
  ...changes,
})

describe('a liquidation that pays', () => {
  const [proposal] = proposed(observation())

  it('asks for half of the debt, the collateral with bonus less slippage, to ourselves', () => {
    expect(proposal).toMatchObject({
      workflowType: 'role.liquidator.liquidate',
      kind: 'liquidate',
      subject: SUBJECT,
      occurrence: 'shares:40000000000,collateral:100000000',
      input: {
        marketAddress: MARKET,
        vaultAddress: VAULT,
        borrowerAddress: BORROWER,
        repayAssets: '20500000000',
        minCollateralAssets: '41328000',
        recipientAddress: SIGNER,
      },
      exposure: { token: LOAN, assets: 20_500_000_000n, usdMicros: 20_500_000_000n },
    })
  })

  it('is of the shape that the service takes', () => {
    expect(liquidateInput.parse(proposal?.input)).toEqual(proposal?.input)
  })

  it('says so in one line', () => {
    expect(proposal?.summary).toBe(
      'health 0.9756: repay 20,500 sUSD, seize 0.4305 sBTC (+5.00 %), haircut 0.33 %, gas $1.71, expect +$954.08',
    )
  })

  it('explains itself in numbers that add up exactly', () => {
    const of = (key: string) => BigInt(String(proposal?.reason[key]))
    expect(of('seizeValueAssets') - of('repayAssets')).toBe(of('bonusAssets'))
    expect(of('bonusAssets') - of('haircutAssets') - of('gasAssets')).toBe(of('profitAssets'))
    expect(of('gasUsdMicros')).toBe((of('gasWei') * 3_000n) / 10n ** 12n)
    expect(of('minCollateralAssets')).toBe((of('seizeAssets') * 9_600n) / 10_000n)
    expect(proposal?.reason.limitedBy).toBe('close_factor')
  })

  it('insists on the collateral that the least profit needs, where slippage would take it', () => {
    const rules = policy({ profitUsdMicrosMin: 900_000_000n })
    const of = (key: string) => BigInt(String(proposed(observation(), rules)[0]?.reason[key]))
    // $20,500 and $900, the haircut, and gas at half more than the head's base fee, at 50,000 sUSD for 10^8 base units.
    const gas = (of('gasAssets') * 3n) / 2n
    const least = (20_500_000_000n + 900_000_000n + of('haircutAssets') + gas) * 100n
    expect(of('minCollateralAssets')).toBe((least + 49_999n) / 50_000n)
    expect(of('minCollateralAssets')).toBeGreaterThan((of('seizeAssets') * 9_600n) / 10_000n)
  })
})

it('prices gas with the tip that the fee policy pays, and what three transactions pay for their bytes', () => {
  const chain = observation().chain
  const gasOf = (priorityFeePerGasWei: bigint, dataFeeWei?: bigint) => {
    const around = { chain: { ...chain, priorityFeePerGasWei, ...(dataFeeWei && { dataFeeWei }) } }
    const [proposal] = decide(observation(around), policy()).proposals
    return { gas: BigInt(String(proposal?.reason.gas)), wei: BigInt(String(proposal?.reason.gasWei)) }
  }
  const { gas, wei } = gasOf(0n)
  expect(gasOf(5n).wei - wei).toBe(gas * 5n)
  expect(gasOf(0n, 7n).wei - wei).toBe(21n)
})

describe('the price of native coin', () => {
  const source = {
    contract: 'ethReferenceOracle',
    ageSMax: 60,
    priceUsdMicrosMin: 500_000_000n,
    priceUsdMicrosMax: 10_000_000_000n,
  }
  const rules = policy({ gas: { ...policy().gas, nativePriceUsdMicros: source } })
  const counted = (changes: Partial<typeof NATIVE> | null) => {
    const references = { ethReferenceOracle: changes === null ? null : { ...NATIVE, ...changes } }
    return proposed(observation({ references }), rules)[0]?.reason.nativeUsdMicros
  }

  it('is read, within what the policy believes', () => {
    expect(counted({})).toBe('3000000000')
    expect(counted({ priceWad: 500n * WAD, sourceAsOfS: 941 })).toBe('500000000')
    expect(counted({ priceWad: 10_000n * WAD })).toBe('10000000000')
  })

  it('is the dearest that the policy believes where it cannot be read, or not be believed', () => {
    const unbelieved = [
      null,
      { sourceAsOfS: 940 },
      { state: 2 },
      { priceWad: 500n * WAD - 1n },
      { priceWad: 10_001n * WAD },
    ]
    for (const each of unbelieved) expect(counted(each)).toBe('10000000000')
  })

  it('is what the policy says where that is an amount', () => {
    const gas = { ...rules.gas, nativePriceUsdMicros: 2_000_000_000n }
    expect(proposed(observation(), policy({ gas }))[0]?.reason.nativeUsdMicros).toBe('2000000000')
  })
})

describe('a position is passed over', () => {
  it.each<[string, Observation<LiquidatorSeen>]>([
    ['observation_not_fresh', observation({ freshness: { ok: false, ageMs: 48_000, message: 'old' } })],
    ['market_unknown', observation({ markets: [] })],
    ['market_unarmed', inMarket({ armed: { ok: false, message: 'decimals' } })],
    ['market_paused', inMarket({ paused: true })],
    ['market_not_live', inMarket({ marketLive: false })],
    ['regime_not_normal', inMarket({ marketRegimeState: 'liquidation_only' })],
    ['oracle_not_healthy', inMarket({ oracleState: 'stale' })],
    ['oracle_not_healthy', inMarket({ oracle: { priceWad: 50_000n * WAD, sourceAsOfS: 1_000, state: 2 } })],
    ['oracle_not_healthy', inMarket({ oracle: { priceWad: 0n, sourceAsOfS: 1_000, state: 1 } })],
    [
      'eligibility_not_fresh',
      inMarket({ collateralGateEnabled: true, eligible: true, eligibilityStale: 'eligibility is stale' }),
    ],
    ['not_eligible', inMarket({ collateralGateEnabled: true })],
    ['not_eligible', inMarket({ collateralGateEnabled: true, eligible: false })],
    [
      'recovery_blocked',
      ofFacility({ recovery: { liquidatable: true, executable: true, blockedReason: 'auction' } }),
    ],
    [
      'recovery_not_executable',
      ofFacility({ recovery: { liquidatable: true, executable: false, blockedReason: null } }),
    ],
    [
      'recovery_not_executable',
      ofFacility({ recovery: { liquidatable: false, executable: true, blockedReason: null } }),
    ],
    ['recovery_not_listed', ofFacility({ recovery: null })],
    ['already_in_flight', observation({ inFlight: [underWay({ subject: SUBJECT })] })],
    [
      'already_in_flight',
      observation({
        inFlight: [
          underWay({ input: { marketAddress: MARKET, borrowerAddress: BORROWER, minCollateralAssets: '0' } }),
        ],
      }),
    ],
    ['loan_not_allowed', inMarket({ loanSymbol: 'sEUR' })],
    ['collateral_not_allowed', inMarket({ collateralSymbol: 'sDOGE' })],
    ['profit_below_floor', ofFacility({ collateralAssets: 0n })],
  ])('by %s', (check, seen) => {
    expect(checkOf(seen)).toBe(check)
  })

  it('with how near it came, when it is healthy', () => {
    const [passed] = decide(ofFacility({ positionDebtAssets: 32_000_000_000n }), policy()).passedOver
    expect(passed).toMatchObject({
      check: 'health_above_one',
      near: 0.8,
      message: 'Health 1.2500 is not below 1.',
      reason: { healthFactorWad: '1250000000000000000' },
    })
  })

  it('with the health that near misses show also when the service lists nothing', () => {
    const seen = ofFacility({ positionDebtAssets: 32_000_000_000n, recovery: null })
    expect(decide(seen, policy()).passedOver[0]?.check).toBe('health_above_one')
  })

  it('with the price of our own reading, whatever health the service reports', () => {
    expect(checkOf(ofFacility({ positionDebtAssets: 40_000_000_000n, serviceHealthFactorWad: 1n }))).toBe(
      'health_above_one',
    )
    expect(
      proposed(ofFacility({ positionDebtAssets: 40_000_000_001n, serviceHealthFactorWad: 2n * WAD })),
    ).toHaveLength(1)
  })
})

describe('what is not known', () => {
  const marketFields = [
    'loanAsset',
    'loanDecimals',
    'loanSymbol',
    'loanPriceUsdMicros',
    'collateralAsset',
    'collateralDecimals',
    'collateralSymbol',
    'oracleState',
    'marketRegimeState',
    'marketLive',
    'paused',
    'collateralGateEnabled',
    'liquidationThresholdBps',
    'closeFactorBps',
    'liquidationBonusBps',
    'priceWad',
    'oracle',
  ] as const
  it.each(marketFields)('stops it: market.%s', (field) => {
    expect(checkOf(inMarket({ [field]: null }))).toBeDefined()
  })

  const facilityFields = [
    'debtAssets',
    'positionDebtAssets',
    'collateralAssets',
    'debtShares',
    'recovery',
  ] as const
  it.each(facilityFields)('stops it: facility.%s', (field) => {
    expect(checkOf(ofFacility({ [field]: null }))).toBeDefined()
  })

  it.each(['liquidatable', 'executable'] as const)('stops it: recovery.%s', (field) => {
    const recovery = { liquidatable: true, executable: true, blockedReason: null, [field]: null }
    expect(checkOf(ofFacility({ recovery }))).toBe('recovery_not_executable')
  })

  it('stops it: a balance', () => {
    expect(checkOf(observation({ balances: { [BTC]: 0n } }))).toBe('missing_figures')
    expect(checkOf(observation({ balances: { [LOAN]: 10n ** 12n } }))).toBe('missing_figures')
  })

  it('stops it: the asset of a claim, or of a seizure in flight', () => {
    const claimed = decide(
      observation({ claims: [claim({ collateralAsset: null, settleableAtS: 2_000 })] }),
      policy(),
    )
    expect(claimed.passedOver.map(({ check }) => check)).toEqual(['missing_figures', 'claim_not_settleable'])
    const input = { marketAddress: otherBorrower('8'), borrowerAddress: BORROWER, minCollateralAssets: '1' }
    expect(checkOf(observation({ inFlight: [underWay({ input })] }))).toBe('missing_figures')
  })

  it('does not stop it where it decides nothing', () => {
    const seen = observation({
      markets: [market({ symbol: null, eligible: null })],
      facilities: [facility({ serviceHealthFactorWad: null, monitorState: null })],
    })
    expect(proposed(seen)).toHaveLength(1)
  })
})

describe('limits, at and one past', () => {
  const priced = (changes: Partial<NonNullable<MarketSeen['oracle']>>) =>
    inMarket({ oracle: { priceWad: 50_000n * WAD, sourceAsOfS: 1_000, state: 1, ...changes } })

  it('the age of the price, older or ahead', () => {
    const rules = policy({ priceAgeSMax: 10 })
    expect(proposed(priced({ sourceAsOfS: 991 }), rules)).toHaveLength(1)
    expect(checkOf(priced({ sourceAsOfS: 990 }), rules)).toBe('price_too_old')
    expect(proposed(priced({ sourceAsOfS: 1_011 }), rules)).toHaveLength(1)
    expect(checkOf(priced({ sourceAsOfS: 1_012 }), rules)).toBe('price_too_old')
  })

  it('the distance of the two prices', () => {
    const rules = policy({ priceDivergenceBpsMax: 100 })
    expect(proposed(inMarket({ priceWad: 50_500n * WAD }), rules)).toHaveLength(1)
    expect(checkOf(inMarket({ priceWad: 50_500n * WAD + 1n }), rules)).toBe('price_diverges')
    expect(checkOf(inMarket({ priceWad: 49_500n * WAD - 1n }), rules)).toBe('price_diverges')
  })

  it('the dollar price of the loan asset', () => {
    expect(proposed(inMarket({ loanPriceUsdMicros: 980_000n }))).toHaveLength(1)
    expect(checkOf(inMarket({ loanPriceUsdMicros: 979_999n }))).toBe('loan_price_out_of_band')
    expect(proposed(inMarket({ loanPriceUsdMicros: 1_020_000n }))).toHaveLength(1)
    expect(checkOf(inMarket({ loanPriceUsdMicros: 1_020_001n }))).toBe('loan_price_out_of_band')
  })

  it('the profit floor', () => {
    const profit = BigInt(String(proposed(observation())[0]?.reason.profitUsdMicros))
    expect(proposed(observation(), policy({ profitUsdMicrosMin: profit }))).toHaveLength(1)
    expect(checkOf(observation(), policy({ profitUsdMicrosMin: profit + 1n }))).toBe('profit_below_floor')
  })

  it('the repayment in dollars', () => {
    const [proposal] = proposed(observation(), policy({ repayUsdMicrosMax: 20_499_999_999n }))
    expect(proposal?.exposure.usdMicros).toBe(20_499_999_999n)
    expect(proposal?.reason.limitedBy).toBe('repay_usd_max')
  })

  it('native coin for gas', () => {
    const needWei = 570_000n * 1_500_000_000n
    expect(proposed(observation({ nativeBalanceWei: needWei }))).toHaveLength(1)
    const [passed] = decide(observation({ nativeBalanceWei: needWei - 1n }), policy()).passedOver
    expect(passed).toMatchObject({
      check: 'out_of_funds',
      reason: { haveWei: String(needWei - 1n), needWei: String(needWei) },
    })
  })

  it('a claim at its second, and one before', () => {
    const at = (settleableAtS: number) => observation({ facilities: [], claims: [claim({ settleableAtS })] })
    expect(proposed(at(1_001))).toMatchObject([
      {
        workflowType: 'role.liquidator.settleLiquidationClaim',
        subject: `${MARKET}:claim:7`,
        occurrence: '7',
        input: { marketAddress: MARKET, claimId: '7' },
        summary: 'claim 7: settle 0.0213 sBTC',
      },
    ])
    expect(checkOf(at(1_002))).toBe('claim_not_settleable')
    const inFlight = [
      underWay({ workflowType: 'role.liquidator.settleLiquidationClaim', subject: `${MARKET}:claim:7` }),
    ]
    expect(checkOf({ ...at(1_001), inFlight })).toBe('already_in_flight')
  })
})

describe('size', () => {
  it('stops at the repayment that takes all collateral', () => {
    const [proposal] = proposed(ofFacility({ collateralAssets: 21_000_000n }))
    expect(proposal?.input.repayAssets).toBe('10000000000')
    expect(proposal?.reason).toMatchObject({
      limitedBy: 'collateral',
      seizeAssets: '21000000',
      badDebtAssets: '31000000000',
    })
  })

  it('stops where a larger sale would cost more than its bonus', () => {
    const rules = policy({
      collaterals: {
        sBTC: {
          inventoryAssetsMax: 10n ** 12n,
          exitHaircutBaseBps: 100,
          exitHaircutPerMillionUsdBps: 10_000,
        },
      },
    })
    const [proposal] = proposed(observation(), rules)
    expect(proposal?.reason.limitedBy).toBe('exit_haircut')
    const best = BigInt(inputText(proposal?.input ?? {}, 'repayAssets') ?? 0)
    const profitAt = (usdMicros: bigint) =>
      BigInt(
        String(proposed(observation(), { ...rules, repayUsdMicrosMax: usdMicros })[0]?.reason.profitAssets),
      )
    expect(profitAt(best)).toBeGreaterThan(profitAt((best * 98n) / 100n))
    expect(profitAt(best)).toBe(BigInt(String(proposal?.reason.profitAssets)))
  })

  it('fits the room that the inventory cap leaves, counting balance, claims and what is in flight', () => {
    const rules = policy({
      collaterals: {
        sBTC: { inventoryAssetsMax: 50_000_000n, exitHaircutBaseBps: 30, exitHaircutPerMillionUsdBps: 0 },
      },
      slippageBps: 0,
    })
    const seen = observation({
      balances: { [LOAN]: 10n ** 12n, [BTC]: 5_000_000n },
      claims: [claim({ collateralAssets: 10_000_000n, settleableAtS: 2_000 })],
      inFlight: [
        underWay({
          input: {
            marketAddress: MARKET,
            borrowerAddress: otherBorrower('9'),
            minCollateralAssets: '14000000',
          },
        }),
      ],
    })
    const [proposal] = proposed(seen, rules)
    expect(proposal?.reason).toMatchObject({
      limitedBy: 'inventory',
      seizeAssets: '21000000',
      repayAssets: '10000000000',
    })
    const full = observation({ balances: { [LOAN]: 10n ** 12n, [BTC]: 50_000_000n } })
    expect(checkOf(full, rules)).toBe('inventory_full')
  })

  it('counts what it seizes as the deployment says, whatever a row calls the collateral', () => {
    const rules = policy({
      collaterals: {
        sBTC: { inventoryAssetsMax: 50_000_000n, exitHaircutBaseBps: 30, exitHaircutPerMillionUsdBps: 0 },
      },
    })
    const other = `0x${'c'.repeat(40)}` as const
    const pin = { address: other, loanAsset: LOAN, collateralAsset: BTC, oracle: other }
    const { deployment } = observation()
    const seen = observation({
      deployment: { ...deployment, markets: [...deployment.markets, pin] },
      markets: [market(), market({ id: other, address: other, collateralAsset: LOAN })],
      inFlight: [
        underWay({
          input: {
            marketAddress: other,
            borrowerAddress: otherBorrower('9'),
            minCollateralAssets: '50000000',
          },
        }),
      ],
    })
    expect(checkOf(seen, rules)).toBe('inventory_full')
  })
})

describe('the affordable set', () => {
  const crowd = ['6', '7', '8'].map((digit) => facility({ borrower: otherBorrower(digit) }))
  const withLoan = (assets: bigint, changes: Partial<Observation<LiquidatorSeen>> = {}) =>
    observation({ facilities: crowd, balances: { [LOAN]: assets, [BTC]: 0n }, ...changes })

  it('spends what there is once: one whole, the next with what is left, the rest out of funds', () => {
    const seen = withLoan(30_000_000_000n)
    const { proposals, passedOver } = decide(seen, policy())
    expect(proposals.map(({ exposure }) => exposure.assets)).toEqual([20_500_000_000n, 9_500_000_000n])
    expect(proposals.map(({ reason }) => reason.limitedBy)).toEqual(['close_factor', 'funds'])
    expect(proposals.map(({ reason }) => reason.setGapBps)).toEqual([0, 0])
    expect(passedOver).toMatchObject([
      { check: 'out_of_funds', reason: { haveAssets: '0', needAssets: '20500000000' } },
    ])
  })

  it('leaves what workflows in flight may take', () => {
    const exposure = { token: LOAN, assets: 20_500_000_000n, usdMicros: 20_500_000_000n }
    const { proposals } = decide(withLoan(30_000_000_000n, { inFlight: [underWay({ exposure })] }), policy())
    expect(proposals.map((one) => one.exposure.assets)).toEqual([9_500_000_000n])
  })

  it('fills the inventory room once', () => {
    const rules = policy({
      collaterals: {
        sBTC: { inventoryAssetsMax: 64_050_000n, exitHaircutBaseBps: 30, exitHaircutPerMillionUsdBps: 0 },
      },
    })
    const { proposals, passedOver } = decide(withLoan(10n ** 12n), rules)
    const seized = proposals.map(({ reason }) => BigInt(String(reason.seizeAssets)))
    expect(seized).toHaveLength(2)
    expect(seized.reduce((sum, assets) => sum + assets)).toBe(64_050_000n)
    expect(passedOver).toMatchObject([{ check: 'inventory_full', reason: { heldAssets: '64050000' } }])
  })

  it('leaves gas to each workflow in flight', () => {
    const gasWei = 570_000n * 1_500_000_000n
    const with2 = (nativeBalanceWei: bigint) =>
      observation({ nativeBalanceWei, inFlight: [underWay(), underWay()] })
    expect(proposed(with2(3n * gasWei))).toHaveLength(1)
    expect(checkOf(with2(3n * gasWei - 1n))).toBe('out_of_funds')
  })

  it('takes the best yield first and breaks ties by name', () => {
    const rich = market({ address: otherBorrower('c'), liquidationBonusBps: 900 })
    const seen = withLoan(1_000_000_000_000n, {
      markets: [market(), rich],
      facilities: [
        ...crowd.toReversed(),
        facility({ marketAddress: rich.address, borrower: otherBorrower('9') }),
      ],
    })
    expect(proposed(seen).map(({ input }) => inputText(input, 'borrowerAddress')?.at(-1))).toEqual([
      '9',
      '6',
      '7',
      '8',
    ])
  })

  it('takes one debt of a borrower at a time: the collateral is shared', () => {
    const second = facility({ vaultAddress: otherBorrower('d'), debtAssets: 20_000_000_000n })
    const { proposals, passedOver } = decide(observation({ facilities: [second, facility()] }), policy())
    expect(proposals).toHaveLength(1)
    expect(passedOver[0]?.check).toBe('borrower_taken')
  })

  it('spends gas once: liquidations before claims', () => {
    const seen = observation({ nativeBalanceWei: 570_000n * 1_500_000_000n, claims: [claim()] })
    const { proposals, passedOver } = decide(seen, policy())
    expect(proposals.map(({ kind }) => kind)).toEqual(['liquidate'])
    expect(passedOver).toMatchObject([{ check: 'out_of_funds', subject: `${MARKET}:claim:7` }])
  })
})

describe('the sale of all that is seized', () => {
  const crowd = ['6', '7', '8'].map((digit) => facility({ borrower: otherBorrower(digit) }))
  const depth = (exitHaircutPerMillionUsdBps: number) =>
    policy({
      collaterals: {
        sBTC: { inventoryAssetsMax: 10n ** 12n, exitHaircutBaseBps: 30, exitHaircutPerMillionUsdBps },
      },
    })
  const gains = (seen: Observation<LiquidatorSeen>, rules: LiquidatorPolicy) =>
    proposed(seen, rules).map(({ gainUsdMicros = 0n }) => Number(gainUsdMicros) / 1e6)

  it('is at one depth: each of three loses with what the others seize', () => {
    // 21,525 each: alone 0.3 % and 10 % of 0.021525, together 10 % of 0.064575.
    const [one] = gains(observation(), depth(1_000))
    expect(gains(observation({ facilities: crowd }), depth(1_000))).toHaveLength(3)
    for (const each of gains(observation({ facilities: crowd }), depth(1_000)))
      expect(each).toBeCloseTo((one ?? 0) - 21_525 * 0.1 * 2 * 0.021525, 2)
  })

  it('is with what we hold, claim and await, whose sale loses by it too', () => {
    const [one = 0] = gains(observation(), depth(1_000))
    const input = {
      marketAddress: MARKET,
      borrowerAddress: otherBorrower('9'),
      minCollateralAssets: '9700000',
    }
    // It buys 5,000 dollars with a bonus of 5 %.
    const exposure = { token: LOAN, assets: 4_761_904_762n, usdMicros: 4_761_904_762n }
    // 0.1 sBTC each: 5,000 dollars in the balance, in a claim and in flight.
    const ways = [
      { balances: { [LOAN]: 10n ** 12n, [BTC]: 10_000_000n } },
      { claims: [claim({ collateralAssets: 10_000_000n, settleableAtS: 2_000 })] },
      { inFlight: [underWay({ input, exposure })] },
    ]
    for (const way of ways)
      expect(gains(observation(way), depth(1_000))[0]).toBeCloseTo(one - 21_525 * 0.1 * 2 * 0.005, 2)
  })

  it('leaves those that the others’ loss makes not worth while, by name', () => {
    const { proposals, passedOver } = decide(observation({ facilities: crowd }), depth(8_000))
    expect(proposals).toHaveLength(2)
    expect(passedOver).toMatchObject([{ check: 'others_bring_more' }])
    const full = observation({ balances: { [LOAN]: 10n ** 12n, [BTC]: 100_000_000n } })
    expect(checkOf(full, depth(8_000))).toBe('profit_below_floor')
  })
})

describe('a claim and its gas', () => {
  const at = (collateralAssets: bigint, baseFeePerGasWei: bigint) =>
    observation({
      facilities: [],
      claims: [claim({ collateralAssets })],
      chain: { ...observation().chain, baseFeePerGasWei },
    })

  it('is settled while it is worth it after the exit haircut, and waits while it is not', () => {
    // 120,000 gas at 45 gwei: $16.20.
    expect(checkOf(at(6_000n, 45_000_000_000n))).toBe('claim_not_worth_gas')
    // 0.000325 sBTC bring $16.25 less 0.3 % and a little.
    expect(checkOf(at(32_400n, 45_000_000_000n))).toBe('claim_not_worth_gas')
    expect(proposed(at(32_500n, 45_000_000_000n))).toMatchObject([{ worthUsdMicros: 16_201_247n }])
    expect(proposed(at(6_000n, 1_000_000_000n))).toHaveLength(1)
  })

  it('is settled where its worth is not known', () => {
    const unknown = { ...at(6_000n, 45_000_000_000n), markets: [market({ oracle: null, priceWad: null })] }
    expect(proposed(unknown)).toHaveLength(1)
  })
})

it('gives the same decision twice, and leaves what it was given as it was', () => {
  const seen = frozen(observation({ claims: [claim()], inFlight: [underWay()] }))
  const rules = frozen(policy())
  expect(decide(seen, rules)).toEqual(decide(seen, rules))
  expect(decide(seen, rules).proposals).toHaveLength(2)
})

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

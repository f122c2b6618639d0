import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { liquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import { checkYaml } from '../../../src/config/check.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { TOKENS } from '../../support/tokens.ts'
import { strategyText } from './fixtures.ts'

/** The strategy of the committed policy with one value replaced; undefined removes it. */
function changed(path: string, value: unknown): unknown {
  const strategy = structuredClone(strategyText())
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  let at: unknown = strategy
  for (const key of keys) at = Reflect.get(Object(at), key)
  if (value === undefined) Reflect.deleteProperty(Object(at), last)
  else Reflect.set(Object(at), last, value)
  return strategy
}

/** What an operator reads when one value is replaced. */
function refusal(path: string, value: unknown): string {
  const yaml = { file: 'policy.yaml', value: changed(path, value), at: () => 'policy.yaml:1:1' }
  try {
    checkYaml(yaml, liquidatorPolicy(TOKENS))
  } catch (error) {
    if (error instanceof RolekeeperError) return error.message
  }
  return 'not refused'
}

describe('a strategy', () => {
  it('reads amounts as integers of any size and counts as numbers', () => {
    const strategy = liquidatorPolicy(TOKENS).parse(strategyText())
    expect(strategy.collaterals.sETH?.inventoryAssetsMax).toBe(500n * 10n ** 18n)
    expect(strategy.slippageBps).toBe(400)
  })

  it('refuses with path, value and fix', () => {
    expect([
      refusal('slippage', '500'),
      refusal('slippage', undefined),
      refusal('gas.liquidateGas', '4.5e5'),
      refusal('priceAgeMax', '-1'),
      refusal('collaterals', {}),
      refusal('loans.sUSD.priceMin', '1.020001 USD'),
      refusal('loans.sUSD.priceMin', '0 USD'),
      refusal('profitMin', '100,000 USD'),
      refusal('repayPerHourMax', '99,999.999999 USD'),
      refusal('lostRace.backOffMax', '9 s'),
      refusal('lostRace.revertedGasPerHourMax', '449,999 gas'),
      refusal('gas.liquidateGas', '0 gas'),
      refusal('badDebt', 'ignore'),
      refusal('badDebt', undefined),
      refusal('secondPrice', undefined),
      refusal('secondPrice', 'never'),
    ]).toMatchInlineSnapshot(`
      [
        "policy.yaml:1:1: slippage is "500"; expected an amount with its unit (%), for example "1.25 %". Fix: correct \`slippage\` there",
        "policy.yaml:1:1: slippage is missing; expected a text or number in quotes. Fix: add \`slippage\`",
        "policy.yaml:1:1: gas.liquidateGas is "4.5e5"; expected an amount with its unit (gas), for example "120,000 gas". Fix: correct \`gas.liquidateGas\` there",
        "policy.yaml:1:1: priceAgeMax is "-1"; expected an amount with its unit (s, min, h, d), for example "15 min". Fix: correct \`priceAgeMax\` there",
        "policy.yaml:1:1: collaterals is a mapping; expected at least one entry: with none, nothing could ever be done. Fix: correct \`collaterals\` there",
        "policy.yaml:1:1: loans.sUSD.priceMin is "1.020001 USD"; expected no more than priceMax. Fix: correct \`loans.sUSD.priceMin\` there",
        "policy.yaml:1:1: loans.sUSD.priceMin is "0 USD"; expected the lowest price to act on, above 0 USD. Fix: correct \`loans.sUSD.priceMin\` there",
        "policy.yaml:1:1: profitMin is "100,000 USD"; expected less than repayMax: no liquidation could earn more than it repays. Fix: correct \`profitMin\` there",
        "policy.yaml:1:1: repayPerHourMax is "99,999.999999 USD"; expected no less than repayMax: a single liquidation would pass it. Fix: correct \`repayPerHourMax\` there",
        "policy.yaml:1:1: lostRace.backOffMax is "9 s"; expected no less than subjectBackOff and marketBackOff: the first wait is the shortest. Fix: correct \`lostRace.backOffMax\` there",
        "policy.yaml:1:1: lostRace.revertedGasPerHourMax is "449,999 gas"; expected no less than gas.liquidateGas: nothing could ever be tried. Fix: correct \`lostRace.revertedGasPerHourMax\` there",
        "policy.yaml:1:1: gas.liquidateGas is "0 gas"; expected more than 0 gas. Fix: correct \`gas.liquidateGas\` there",
        "policy.yaml:1:1: badDebt is "ignore"; expected accept, avoid, or unpaidMax with an amount of USD. Fix: correct \`badDebt\` there",
        "policy.yaml:1:1: badDebt is missing; expected accept, avoid, or unpaidMax with an amount of USD. Fix: add \`badDebt\`",
        "policy.yaml:1:1: secondPrice is missing; expected none, or for each pair its contract, divergenceMax and ageMax. Fix: add \`secondPrice\`",
        "policy.yaml:1:1: secondPrice is "never"; expected none, or for each pair its contract, divergenceMax and ageMax. Fix: correct \`secondPrice\` there",
      ]
    `)
  })

  it('refuses a key that it does not know', () => {
    expect(refusal('slipage', '1 %')).toContain('slipage')
    expect(refusal('collaterals.sBTC.haircut', '100')).toContain('haircut')
  })

  it.each([
    ['slippage', '99.99 %', '100 %'],
    ['priceDivergenceMax', '100 %', '100.01 %'],
    ['priceAgeMax', '1 d', '86,401 s'],
    ['repayPerHourMax', '100,000 USD', '99,999.999999 USD'],
    ['lostRace.backOffMax', '10 s', '9 s'],
    ['lostRace.revertedGasPerHourMax', '450,000 gas', '449,999 gas'],
    ['gas.baseFeeHeadroom', '1,000 %', '1,000.01 %'],
    ['profitMin', '99,999.999999 USD', '100,000 USD'],
    ['loans.sUSD.priceMax', '0.98 USD', '0.979999 USD'],
  ])('takes %s at %s and refuses %s', (path, at, past) => {
    expect(liquidatorPolicy(TOKENS).safeParse(changed(path, at)).success).toBe(true)
    expect(refusal(path, past)).toContain('Fix:')
  })

  it('describes itself to editors', () => {
    const schema = z.toJSONSchema(liquidatorPolicy(TOKENS), { io: 'input' })
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
  })
})

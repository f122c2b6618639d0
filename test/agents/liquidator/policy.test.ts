import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { liquidatorPolicy } from '../../../agents/liquidator/policy.ts'
import { checkYaml } from '../../../src/config/check.ts'
import { RolekeeperError } from '../../../src/errors.ts'
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
  const yaml = { file: 'policy.yaml', value: changed(path, value), position: () => '1:1' }
  try {
    checkYaml(yaml, liquidatorPolicy)
  } catch (error) {
    if (error instanceof RolekeeperError) return error.message
  }
  return 'not refused'
}

describe('a strategy', () => {
  it('reads amounts as integers of any size and counts as numbers', () => {
    const strategy = liquidatorPolicy.parse(strategyText())
    expect(strategy.collaterals.sETH?.inventoryAssetsMax).toBe(500n * 10n ** 18n)
    expect(strategy.slippageBps).toBe(100)
  })

  it('refuses with path, value and fix', () => {
    expect([
      refusal('slippageBps', '5 %'),
      refusal('slippageBps', undefined),
      refusal('gas.liquidateGas', '4.5e5'),
      refusal('priceAgeSMax', '-1'),
      refusal('collaterals', {}),
      refusal('loans.sUSD.priceUsdMicrosMin', '1020001'),
      refusal('loans.sUSD.priceUsdMicrosMin', '0'),
      refusal('profitUsdMicrosMin', '100000000000'),
      refusal('repayUsdMicrosPerHourMax', '99999999999'),
      refusal('lostRace.backOffSMax', '9'),
      refusal('lostRace.revertedGasPerHourMax', '449999'),
      refusal('gas.liquidateGas', '0'),
      refusal('badDebt', 'ignore'),
      refusal('badDebt', undefined),
      refusal('secondPrice', undefined),
      refusal('secondPrice', 'never'),
    ]).toMatchInlineSnapshot(`
      [
        "policy.yaml:1:1: slippageBps is "5 %"; expected basis points in decimal digits, without sign, point or unit. Fix: correct \`slippageBps\` there",
        "policy.yaml:1:1: slippageBps is missing; expected a text or number in quotes. Fix: add \`slippageBps\`",
        "policy.yaml:1:1: gas.liquidateGas is "4.5e5"; expected gas in decimal digits, without sign, point or unit. Fix: correct \`gas.liquidateGas\` there",
        "policy.yaml:1:1: priceAgeSMax is "-1"; expected seconds in decimal digits, without sign, point or unit. Fix: correct \`priceAgeSMax\` there",
        "policy.yaml:1:1: collaterals is a mapping; expected at least one entry: with none, nothing could ever be done. Fix: correct \`collaterals\` there",
        "policy.yaml:1:1: loans.sUSD.priceUsdMicrosMin is "1020001"; expected no more than priceUsdMicrosMax. Fix: correct \`loans.sUSD.priceUsdMicrosMin\` there",
        "policy.yaml:1:1: loans.sUSD.priceUsdMicrosMin is "0"; expected the lowest price to act on, above 0. Fix: correct \`loans.sUSD.priceUsdMicrosMin\` there",
        "policy.yaml:1:1: profitUsdMicrosMin is "100000000000"; expected less than repayUsdMicrosMax: no liquidation could earn more than it repays. Fix: correct \`profitUsdMicrosMin\` there",
        "policy.yaml:1:1: repayUsdMicrosPerHourMax is "99999999999"; expected no less than repayUsdMicrosMax: a single liquidation would pass it. Fix: correct \`repayUsdMicrosPerHourMax\` there",
        "policy.yaml:1:1: lostRace.backOffSMax is "9"; expected no less than subjectBackOffS and marketBackOffS: the first wait is the shortest. Fix: correct \`lostRace.backOffSMax\` there",
        "policy.yaml:1:1: lostRace.revertedGasPerHourMax is "449999"; expected no less than gas.liquidateGas: nothing could ever be tried. Fix: correct \`lostRace.revertedGasPerHourMax\` there",
        "policy.yaml:1:1: gas.liquidateGas is "0"; expected more than 0. Fix: correct \`gas.liquidateGas\` there",
        "policy.yaml:1:1: badDebt is "ignore"; expected avoid, or unpaidUsdMicrosMax in digits. Fix: correct \`badDebt\` there",
        "policy.yaml:1:1: badDebt is missing; expected avoid, or unpaidUsdMicrosMax in digits. Fix: add \`badDebt\`",
        "policy.yaml:1:1: secondPrice is missing; expected none, or for each pair its contract, divergenceBpsMax and ageSMax in digits. Fix: add \`secondPrice\`",
        "policy.yaml:1:1: secondPrice is "never"; expected none, or for each pair its contract, divergenceBpsMax and ageSMax in digits. Fix: correct \`secondPrice\` there",
      ]
    `)
  })

  it('refuses a key that it does not know', () => {
    expect(refusal('slipageBps', '100')).toContain('slipageBps')
    expect(refusal('collaterals.sBTC.haircut', '100')).toContain('haircut')
  })

  it.each([
    ['slippageBps', '9999', '10000'],
    ['priceDivergenceBpsMax', '10000', '10001'],
    ['priceAgeSMax', '86400', '86401'],
    ['repayUsdMicrosPerHourMax', '100000000000', '99999999999'],
    ['lostRace.backOffSMax', '10', '9'],
    ['lostRace.revertedGasPerHourMax', '450000', '449999'],
    ['gas.baseFeeHeadroomBps', '100000', '100001'],
    ['profitUsdMicrosMin', '99999999999', '100000000000'],
    ['loans.sUSD.priceUsdMicrosMax', '980000', '979999'],
  ])('takes %s at %s and refuses %s', (path, at, past) => {
    expect(liquidatorPolicy.safeParse(changed(path, at)).success).toBe(true)
    expect(refusal(path, past)).toContain('Fix:')
  })

  it('describes itself to editors', () => {
    const schema = z.toJSONSchema(liquidatorPolicy, { io: 'input' })
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
  })
})

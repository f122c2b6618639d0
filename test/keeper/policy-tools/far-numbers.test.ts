import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import { loadWithIncludes } from '../../../src/config/include.ts'
import { blanksOf, writePolicy } from '../../../src/config/new-policy.ts'
import { parseYaml } from '../../../src/config/yaml.ts'
import { farNumbersIn } from '../../../src/keeper/policy-tools/far-numbers.ts'
import { decimal } from '../../../src/units.ts'

const exposure = {
  limits: { perWorkflow: { usdMicrosMax: 100_000n * 10n ** 6n } },
  fees: { maxFeePerGasWei: 30n * 10n ** 9n, nativePriceUsdMicros: 3_000n * 10n ** 6n },
}
const shippedOf = (role: string) => loadWithIncludes(`policies/${role}.yaml`).value
const farIn = (value: unknown, shipped: unknown) => farNumbersIn(value, shipped, exposure)
const problems = (value: unknown, shipped: unknown) => farIn(value, shipped).map(({ problem }) => problem)

const limits = (perWorkflow: string, perHour: string, perDay: string) => ({
  perWorkflow: { movedMax: perWorkflow, gasMax: '0.02 ETH' },
  perHour: { movedMax: perHour },
  perDay: { movedMax: perDay },
})

/** A small policy, with what one section says instead. */
const policy = (section: object = {}) => ({
  strategy: {
    collaterals: { sBTC: { haircut: '0.3 %', held: '5 sBTC' }, sETH: { haircut: '0.5 %', held: '100 sETH' } },
    wait: '1 h',
    profitMin: '5 USD',
    moveMax: '10,000 USD',
    ...section,
  },
  limits: limits('10,000 USD', '50,000 USD', '200,000 USD'),
  guard: {
    allow: [
      { id: 'first', gasMax: '100,000 gas', params: { assets: { min: '1' } } },
      { id: 'second', gasMax: '2,000,000 gas', params: { assets: { min: '0' } } },
    ],
  },
})

describe.each(agents.map(({ role }) => role))('the policy of the %s', (role) => {
  it('has no number far from itself', () => {
    expect(farIn(shippedOf(role), shippedOf(role))).toEqual([])
  })

  it.each([2n, 10n, 9_900n])('has none where it is written for an owner of %i hundredths', (hundredths) => {
    const template = readFileSync(`policies/${role}.yaml`, 'utf8')
    const { moved, inventories } = blanksOf(template)
    const sized = (amount: string) => {
      const [number = '', unit = ''] = amount.split(' ')
      return `${decimal(BigInt(number.replaceAll(',', '')) * hundredths, 2)} ${unit}`
    }
    const written = writePolicy(template, {
      money: 'USDC',
      collaterals: [...inventories].map(([symbol, inventory]) => ({
        symbol,
        reference: symbol === 'sBTC' ? 'btcReferenceOracle' : 'ethReferenceOracle',
        comment: '',
        ...(inventory === null ? {} : { inventory: sized(inventory) }),
      })),
      moved: Object.fromEntries(Object.entries(moved).map(([period, amount]) => [period, sized(amount)])),
      scaled: sized,
      contracts: {},
      head: [],
    })
    expect(problems(parseYaml('p.yaml', written).value, shippedOf(role))).toEqual([])
  })
})

describe('a number far from the shipped one', () => {
  it.each([
    [{ wait: '1 d' }, 'strategy.wait is 1 d, and the shipped policy says 1 h'],
    [{ wait: '1 min' }, 'strategy.wait is 1 min, and the shipped policy says 1 h'],
    [{ wait: '0 h' }, 'strategy.wait is 0 h, and the shipped policy says 1 h'],
    [{ profitMin: '0.005 USD' }, 'strategy.profitMin is 0.005 USD, and the shipped policy says 5 USD'],
    [
      { moveMax: '10,000,000 USD' },
      'strategy.moveMax is 10,000,000 USD, and the shipped policy says 10,000 USD',
    ],
  ])('is listed with both: %j', (section, problem) => {
    expect(problems(policy(section), policy())).toEqual([problem])
  })

  it('says in dollars what a part, and gas, come to', () => {
    const slipped = policy({ collaterals: { sBTC: { haircut: '100 %', held: '5 sBTC' } } })
    const [call] = slipped.guard.allow
    expect(problems({ ...slipped, guard: { allow: [{ ...call, gasMax: '100 gas' }] } }, policy())).toEqual([
      'strategy.collaterals.sBTC.haircut is 100 %, and the shipped policy says 0.3 %: 99.7 % of limits.perWorkflow.movedMax is 99,700 USD',
      'guard.allow.0.gasMax is 100 gas, and the shipped policy says 100,000 gas: at fees.maxFeePerGas that is 8.991 USD apart',
    ])
  })

  it('is none within a hundred times, or twenty times as long', () => {
    const near = policy({ wait: '19 h', profitMin: '499 USD', moveMax: '101 USD' })
    expect(problems(near, policy())).toEqual([])
  })

  it('is held against the owner whose sums are all larger', () => {
    const larger = (profitMin: string) => ({
      ...policy({ profitMin, moveMax: '10,000,000 USD', collaterals: {} }),
      limits: limits('10,000,000 USD', '50,000,000 USD', '200,000,000 USD'),
    })
    const sized = [
      'limits.perWorkflow.movedMax is 10,000,000 USD, and the shipped policy says 10,000 USD',
      'limits.perHour.movedMax is 50,000,000 USD, and the shipped policy says 50,000 USD',
      'limits.perDay.movedMax is 200,000,000 USD, and the shipped policy says 200,000 USD',
    ]
    expect(problems(larger('5,000 USD'), policy())).toEqual(sized)
    expect(problems(larger('5 USD'), policy())).toEqual(sized)
    expect(problems(larger('5,000,000 USD'), policy())).toEqual([
      'strategy.profitMin is 5,000,000 USD, and the shipped policy says 5 USD',
      ...sized,
    ])
  })

  it('is held against what the dearest gas is', () => {
    const onChain = (maxFeePerGas: string, priorityFeePerGas: string, gasMax: string) => ({
      fees: { maxFeePerGas, priorityFeePerGas },
      limits: { perWorkflow: { gasMax } },
    })
    const shipped = onChain('30 gwei', '1 gwei', '0.02 ETH')
    expect(problems(onChain('0.1 gwei', '0.003 gwei', '0.0001 ETH'), shipped)).toEqual([
      'fees.maxFeePerGas is 0.1 gwei, and the shipped policy says 30 gwei',
    ])
    expect(problems(onChain('0.1 gwei', '0.003 gwei', '20 ETH'), shipped)).toHaveLength(2)
  })

  it('is held in dollars where the token is another, by what each counts as', () => {
    const escrow = (symbol: string, price: string, most: string) => ({
      limits: { prices: { [symbol]: price } },
      guard: { sanity: { escrowMax: { [symbol]: most } } },
    })
    const shipped = escrow('sUSD', '0.98 USD', '300,000 sUSD')
    expect(problems(escrow('USDC', '0.98 USD', '300,000 USDC'), shipped)).toEqual([])
    expect(problems(escrow('WETH', '3,000 USD', '98 WETH'), shipped)).toEqual([
      'limits.prices.WETH is 3,000 USD, and the shipped policy says 0.98 USD',
    ])
    const slipped =
      'guard.sanity.escrowMax.USDC is 300,000,000 USDC, and the shipped policy says 300,000 sUSD'
    expect(problems(escrow('USDC', '0.98 USD', '300,000,000 USDC'), shipped)).toEqual([slipped])
    // A price that slipped is far, and so is all that it prices.
    expect(problems(escrow('USDC', '0.00098 USD', '300,000 USDC'), shipped)).toHaveLength(2)
  })

  it('is listed where one of the limits slipped that say how large an owner is', () => {
    const slipped = { ...policy(), limits: limits('10,000,000 USD', '50,000 USD', '200,000 USD') }
    expect(problems(slipped, policy())).toEqual([
      'limits.perWorkflow.movedMax is 10,000,000 USD, and the shipped policy says 10,000 USD',
    ])
  })

  it('is held against those of any token where the shipped policy does not know its own', () => {
    const named = (haircut: string) => policy({ collaterals: { cbBTC: { haircut, held: '1 cbBTC' } } })
    expect(problems(named('2 %'), policy())).toEqual([])
    expect(problems(named('0 %'), policy())).toEqual([
      'strategy.collaterals.cbBTC.haircut is 0 %, and the shipped policy says 0.3 %: 0.3 % of limits.perWorkflow.movedMax is 300 USD',
    ])
  })

  it('is held against the call of its own id, wherever that stands', () => {
    const [first, second] = policy().guard.allow
    expect(problems({ ...policy(), guard: { allow: [second, first] } }, policy())).toEqual([])
    const open = { ...first, params: { assets: { min: '0' } } }
    expect(problems({ ...policy(), guard: { allow: [second, open] } }, policy())).toEqual([
      'guard.allow.1.params.assets.min is 0, and the shipped policy says 1',
    ])
  })
})

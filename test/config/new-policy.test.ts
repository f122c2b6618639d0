import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agents } from '../../agents/index.ts'
import { assumptions } from '../../src/config/assumptions.ts'
import { loadWithIncludes } from '../../src/config/include.ts'
import { blanksOf, type NewPolicy, writePolicy } from '../../src/config/new-policy.ts'
import { parseYaml } from '../../src/config/yaml.ts'
import { compilePolicy } from '../../src/keeper/policy/role-policy.ts'
import { deployment } from '../guard/kinds.ts'
import { newDirectory } from '../support/directory.ts'

const SYMBOLS: Readonly<Record<string, string>> = { sUSD: 'USDC', sBTC: 'cbBTC', sETH: 'wstETH' }
/** The same contracts under other names: nothing of the shipped policies' own is there. */
const other = {
  ...deployment,
  assets: deployment.assets.map((asset) => ({ ...asset, symbol: SYMBOLS[asset.symbol] ?? asset.symbol })),
  contracts: deployment.contracts.map((contract) => ({ ...contract, name: `our${contract.name}` })),
}
const asked: NewPolicy = {
  money: 'USDC',
  collaterals: [
    {
      symbol: 'cbBTC',
      inventory: '1.5 cbBTC',
      reference: 'ourbtcReferenceOracle',
      comment: 'cbBTC: a comment',
    },
    { symbol: 'wstETH', inventory: '20 wstETH', reference: 'ourethReferenceOracle', comment: '' },
  ],
  moved: { perWorkflow: '6,000 USD', perHour: '60,000 USD', perDay: '600,000 USD' },
  scaled: (amount) => amount.replace(/^[0-9,]+/, '3,000'),
  contracts: Object.fromEntries(deployment.contracts.map(({ name }) => [name, `our${name}`])),
  head: ['Of ours.'],
}
const folder = newDirectory()
const templateOf = (role: string) => readFileSync(`policies/${role}.yaml`, 'utf8')

/** What a start would make of a text, with what the shipped policies include. */
function compiled(role: string, text: string) {
  const agent = agents.find((each) => each.role === role)
  if (agent === undefined) throw new Error(`no role ${role}`)
  const file = join(folder, `${role}.yaml`)
  writeFileSync(file, text.replace('./shared/', `${process.cwd()}/policies/shared/`))
  const ground = {
    environment: 'production' as const,
    deployment: other,
    service: { assumptions: assumptions.parse({}) },
  }
  return compilePolicy(loadWithIncludes(file), agent, ground)
}

describe.each(agents.map(({ role }) => role))('a new policy of the %s', (role) => {
  it('loads for tokens and contracts of other names, and names none of the shipped ones', () => {
    const text = writePolicy(templateOf(role), asked)
    expect(compiled(role, text).ruleset.role).toBe(role)
    expect(text).not.toMatch(/\b(sUSD|sBTC|sETH|rfqDesk|fundFactory|fundNavOracle)\b/)
    expect(text.startsWith('# Of ours.\n# What the')).toBe(true)
  })

  it('is the shipped one where nothing differs, but for what it declares', () => {
    const shipped = blanksOf(templateOf(role))
    const same: NewPolicy = {
      money: 'sUSD',
      moved: shipped.moved,
      contracts: {},
      head: [],
      scaled: (amount) => amount,
      collaterals: [...shipped.inventories].map(([symbol, inventory]) => ({
        symbol,
        comment: '',
        reference: symbol === 'sBTC' ? 'btcReferenceOracle' : 'ethReferenceOracle',
        ...(inventory === null ? {} : { inventory }),
      })),
    }
    const strategyOf = (text: string) => {
      const value = parseYaml('p.yaml', text).value as { strategy: Record<string, unknown> }
      const { declared: _declared, ...strategy } = value.strategy
      return { ...value, strategy }
    }
    expect(strategyOf(writePolicy(templateOf(role), same))).toEqual(strategyOf(templateOf(role)))
  })
})

it('lets what equals a limit go with the limit', () => {
  const text = writePolicy(templateOf('rfq-bidder'), asked)
  expect(text).toContain('bidMax: "6,000 USD"')
  expect(text).toContain('aboveAssets: { USDC: "6,000 USDC" }')
  expect(text).toContain('openBidsMax: "60,000 USD"')
  expect(text).toContain('nativePrice: "3,000 USD"')
  expect(text).toContain('inventoryMax: "1.5 cbBTC"')
  expect(text).toContain('    # cbBTC: a comment\n    cbBTC:\n')
})

it('prices native coin at the dearest that is believed where its oracle is not of this deployment', () => {
  expect(writePolicy(templateOf('liquidator'), asked).match(/nativePrice: .*/g)).toEqual([
    'nativePrice: "10,000 USD"',
    'nativePrice: "10,000 USD"',
  ])
})

it('does without a second price where none is named, and declares nothing', () => {
  const alone = { ...asked, collaterals: asked.collaterals.map((each) => ({ ...each, reference: 'none' })) }
  expect(writePolicy(templateOf('liquidator'), alone)).toContain('secondPrice: none')
  expect(writePolicy(templateOf('asset-manager'), asked)).toMatch(/vaults: \[\]\n.*\n? *funds: \[\]/)
})

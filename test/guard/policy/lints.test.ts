import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agents } from '../../../agents/index.ts'
import { weaknessesIn } from '../../../src/guard/policy/lints.ts'
import { checkFile } from '../../../src/keeper/policy-tools/file.ts'
import { newDirectory } from '../../support/directory.ts'
import { policyFileOf } from '../../support/policies.ts'
import { deployment } from '../kinds.ts'
import { type RuleText, rulesetOf } from '../rules.ts'

const folder = newDirectory()
const assets = deployment.assets.map((asset) => ({ ...asset, decimals: String(asset.decimals) }))
function configOf(name: string, vaults: readonly object[]): string {
  const file = join(folder, name)
  const pinned = { ...deployment, assets, vaults }
  const config = { environment: 'sandbox', agents: [], service: { assumptions: {} }, deployment: pinned }
  writeFileSync(file, JSON.stringify(config))
  return file
}
const CONFIG = configOf('run.yaml', deployment.vaults)
/** With the vaults that the shipped policies name. */
const NAMED = configOf('named.yaml', [
  ...deployment.vaults.map((vault) => ({ ...vault, name: 'primeVault' })),
  ...deployment.vaults.map((vault) => ({ ...vault, name: 'growthVault', address: `0x${'77'.repeat(20)}` })),
])

const templateOf = (role: string) =>
  readFileSync(`policies/${role}.yaml`, 'utf8').replace('./shared/', `${process.cwd()}/policies/shared/`)

/** What is said of a policy once some of its text is another. */
function check(role: string, ...changes: readonly (readonly [string | RegExp, string])[]) {
  const text = changes.reduce((whole, [from, to]) => {
    const changed = whole.replace(from, to)
    expect(changed).not.toBe(whole)
    return changed
  }, templateOf(role))
  const file = join(folder, `${role}.yaml`)
  writeFileSync(file, text)
  return checkFile(file, CONFIG).lints.map(({ at, problem }) => `${at.slice(folder.length + 1)} ${problem}`)
}

it.each(agents.map(({ role }) => role))(
  'has nothing to say of the %s as it is shipped, and in the sandbox',
  (role) => {
    for (const file of [`policies/${role}.yaml`, policyFileOf(role)])
      expect(checkFile(file, NAMED)).toMatchObject({ lints: [], far: [] })
  },
)

describe('what loads and binds little', () => {
  it('is a parameter that the request names and the call may choose', () => {
    expect(check('liquidator', ['vault: { eq: $input.vaultAddress, in:', 'vault: { in:'])).toEqual([
      expect.stringMatching(
        /^liquidator\.yaml:\d+:9 vault may be another than the request says by \$input\.vaultAddress$/,
      ),
    ])
  })

  it('is native coin for a call that takes none', () => {
    expect(check('liquidator', ['valueMax: "0 ETH"', 'valueMax: "1 ETH"'])).toEqual([
      expect.stringMatching(
        /^liquidator\.yaml:\d+:7 valueMax of approve-repayment is 1 ETH, and approve takes no native coin$/,
      ),
    ])
    const payable = 'returns (uint256 claimId, uint256 collateralSeized)'
    expect(
      check(
        'liquidator',
        [payable, `payable ${payable}`],
        [/(id: liquidate[\s\S]*?valueMax: )"0 ETH"/, '$1"1 ETH"'],
      ),
    ).toEqual([])
  })

  it('is a recipient that is not our signer', () => {
    const stranger = `"0x${'99'.repeat(20)}"`
    expect(
      check('liquidator', ['recipient: { eq: $self }', `recipient: { in: [$self, ${stranger}] }`]),
    ).toEqual([
      expect.stringContaining('another than the request says by $input.recipientAddress'),
      expect.stringMatching(/^liquidator\.yaml:\d+:9 recipient may be 0x99.*, which is not our signer$/),
    ])
  })

  it('is a limit that another makes meaningless', () => {
    const said = check(
      'liquidator',
      [/perDay: \{ movedMax: "[\d,]+ USD"/, 'perDay: { movedMax: "48,000,000 USD"'],
      [/aboveAssets: \{ sUSD: "[\d,]+ sUSD" \}/, 'aboveAssets: { sUSD: "200,000 sUSD" }'],
      [/repayMax: "[\d,]+ USD"/, 'repayMax: "100,001 USD"'],
    )
    expect(said).toEqual([
      expect.stringMatching(
        /strategy\.repayMax: it is 100,001 USD, and limits\.perWorkflow\.movedMax 100,000 USD/,
      ),
      expect.stringMatching(/limits\.perDay\.movedMax is no less than 24 times the hour's/),
      expect.stringMatching(/approval\.aboveAssets\.sUSD is 200,000 sUSD, .*: nobody is ever asked/),
    ])
  })

  it('is a limit of the guard so wide that a slip of the pen made it', () => {
    const said = check(
      'liquidator',
      [/(inventoryMax: \{[^}]*?)sBTC: "5 sBTC"/, '$1sBTC: "5,000 sBTC"'],
      [/(sanity:[\s\S]*?)profitMin: "1 USD"/, '$1profitMin: "0.001 USD"'],
    )
    expect(said).toEqual([
      expect.stringMatching(
        /guard\.sanity\.profitMin is 0\.001 USD, 1,000 times as little as strategy\.profitMin, 1 USD/,
      ),
      expect.stringMatching(
        /guard\.sanity\.inventoryMax\.sBTC is 5,000 sBTC, 1,000 times as much as strategy\./,
      ),
    ])
  })

  it('is something that leaves for nothing, of a type without a judgement of ours', () => {
    const workflowType = 'role.lender.distressedRecoveryFundV3RfqFinalize'
    const out = [{ token: '$asset.sUSD', assetsMax: '$input.assets' }]
    const said = (effects: Parameters<typeof weaknessesIn>[0]['effects']) =>
      weaknessesIn({ allow: [], effects }, { rules: new Map(), sanity: new Map() }).map(
        ({ path, problem }) => [path.join('.'), problem],
      )
    expect(said([{ workflowType, out, in: [] }])).toEqual([
      ['guard.effects.0.in', 'something leaves, and nothing has to come in for it'],
    ])
    expect(said([{ workflowType, out, in: [{ token: '$vault', assetsMin: '1' }] }])).toEqual([
      ['guard.effects.0.in.0.assetsMin', 'what has to come in is next to nothing'],
    ])
    expect(said([{ workflowType, out, in: [{ token: '$vault', assetsMin: '10' }] }])).toEqual([])
    expect(said([{ workflowType, out: [], in: [] }])).toEqual([])
    expect(check('allocator', ['in: []', 'in: [{ token: $asset.sUSD, assetsMin: "1" }]'])).toEqual([])
  })
})

describe('a parameter that is weak', () => {
  const workflowType = 'role.lender.distressedRecoveryFundV3RfqCancelBid'
  const cancel = {
    id: 'cancel',
    workflowType,
    target: '$contract.rfqDesk',
    function: 'function f(uint256 fee, address to, uint256 bidId)',
  }
  const bound = { fee: { eq: '5' }, to: { eq: '$self' }, bidId: { eq: '$input.bidId' } }
  const wrapper = {
    ...cancel,
    id: 'wrap',
    function: 'function multicall(bytes[] data)',
    params: {},
    calls: { data: 'data[]', inside: ['cancel'] },
  }
  const said = (...allow: readonly RuleText[]) => {
    const ruleset = rulesetOf(allow, [{ workflowType }])
    const effects = [{ workflowType, out: [], in: [] }] as Parameters<typeof weaknessesIn>[0]['effects']
    return weaknessesIn({ allow: allow as never, effects }, ruleset).map(
      ({ path, problem }) => `${path.join('.')}: ${problem}`,
    )
  }
  const weakIn = (params: object) => said({ ...cancel, params: { ...bound, ...params } })
  const at = 'guard.allow.0.params'
  const least = `${at}.fee: fee has a minimum of next to nothing`
  const loose = `${at}.bidId: bidId may be another than the request says by $input.bidId`

  it.each<[string, object, readonly string[]]>([
    ['nothing', {}, []],
    ['a minimum of 0', { fee: { min: '0', max: '9' } }, [least]],
    ['a minimum of 1', { fee: { any: [{ min: '1', max: '9' }, { eq: '5' }] } }, [least]],
    ['a minimum of 10', { fee: { min: '10', max: '11' } }, []],
    ['a minimum beside what is exact', { fee: { min: '1', eq: '5' } }, []],
    ['a maximum of 1', { fee: { max: '1' } }, []],
    ['one choice that is not exact', { bidId: { any: [{ eq: '$input.bidId' }, { max: '5' }] } }, [loose]],
    ['choices that are exact', { bidId: { any: [{ eq: '$input.bidId' }, { eq: '5' }] } }, []],
    [
      'a contract that is paid',
      { to: { eq: '$contract.registry' } },
      [`${at}.to: to may be $contract.registry, which is not our signer`],
    ],
    ['an amount beside who is paid', { fee: { in: ['5', '6'] } }, []],
  ])('is told: %s', (_name, params, problems) => {
    expect(weakIn(params)).toEqual(problems)
  })

  it('is told of the calls inside of a call, at their own rules', () => {
    const weak = { ...cancel, params: { ...bound, fee: { min: '1', max: '9' } } }
    expect(said(wrapper, weak)).toEqual([least.replace('allow.0', 'allow.1')])
    const outer = { ...wrapper, id: 'outer', calls: { data: 'data[]', inside: ['wrap'] } }
    expect(said(outer, wrapper, weak)).toEqual([least.replace('allow.0', 'allow.2')])
  })
})

describe('a strategy that asks for what is always refused', () => {
  const refused = (role: string, from: string, to: string) => () => check(role, [from, to])

  it('is refused at start, with file, line, both values and the fix', () => {
    expect(
      refused('liquidator', '  priceAgeMax: "2 min"\n  priceDiv', '  priceAgeMax: "3 min"\n  priceDiv'),
    ).toThrow(
      /liquidator\.yaml:\d+:3: strategy\.priceAgeMax: it is 3 min, and guard\.sanity\.priceAgeMax 2 min: .* Fix: write at most 2 min, or change guard/,
    )
    expect(refused('liquidator', 'profitMin: "1 USD" # after', 'profitMin: "0.5 USD" # after')).toThrow(
      'at least 1 USD',
    )
    expect(refused('liquidator', 'slippage: "4 %"', 'slippage: "6 %"')).toThrow('write at most 5 %')
    expect(refused('allocator', 'shareMax: "80 %" # of', 'shareMax: "95 %" # of')).toThrow(
      'strategy.collaterals.sBTC.shareMax: it is 95 %',
    )
    expect(refused('liquidator', 'inventoryMax: "5 sBTC"', 'inventoryMax: "5.1 sBTC"')).toThrow(
      'strategy.collaterals.sBTC.inventoryMax: it is 5.1 sBTC, and guard.sanity.inventoryMax.sBTC 5 sBTC',
    )
    expect(refused('rfq-bidder', 'leadBy: "0.1 %"', 'leadBy: "0.3 %"')).toThrow(
      'guard.sanity.book.leadMax 0.2 %',
    )
    expect(refused('asset-manager', 'concentrationMax: "60 %"', 'concentrationMax: "71 %"')).toThrow(
      'guard.sanity.lanes.liquid.concentrationMax 70 %',
    )
  })

  it('is held at the limit, and one past it', () => {
    expect(check('liquidator', ['slippage: "4 %"', 'slippage: "5 %"'])).toEqual([])
    expect(refused('liquidator', 'slippage: "4 %"', 'slippage: "5.01 %"')).toThrow(
      'guard.sanity.minCollateral',
    )
  })
})

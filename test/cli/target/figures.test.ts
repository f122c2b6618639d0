import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { changeLines, deploymentAt } from '../../../src/cli/target/figures.ts'
import { reasonText } from '../../../src/guard/explain/reason-text.ts'
import { newDirectory } from '../../support/directory.ts'

const [USDC, MARKET] = [`0x${'11'.repeat(20)}`, `0x${'33'.repeat(20)}`] as const
const OTHER = `0x${'99'.repeat(20)}` as const
const place = { directory: 'config', file: '' }
const known = deploymentAt({ config: 'config/example.yaml' }, place)

it('knows the names of a sandbox that has ended by what it left', () => {
  const directory = newDirectory()
  expect(deploymentAt({ directory }, { directory, file: '' }).assets).toEqual([])
  mkdirSync(join(directory, 'sandbox'))
  copyFileSync('config/example.yaml', join(directory, 'sandbox', 'pins.json'))
  expect(deploymentAt({ directory }, { directory, file: '' })).toEqual(known)
  // As another release may have written it.
  writeFileSync(join(directory, 'sandbox', 'pins.json'), '{"deployment": {"newer": 1')
  expect(deploymentAt({ directory }, { directory, file: '' }).assets).toEqual([])
})

it('writes each figure of a decision in words, with the unit that its name says', () => {
  const reason = {
    repayAssets: '1234500000',
    seizeAssets: '1',
    otherAssets: '7',
    value: '1018586',
    supply: '3',
    shareDecimals: 1,
    gasUsdMicros: '1500000',
    gasWei: '30000000000',
    priceWad: '55098723300000000000000',
    healthFactorWad: '999999000000000000',
    haircutBps: 125,
    near: 0.8848,
    gas: '450000',
    ageMs: 1_500,
    supplyRateBpsAfter: 222,
    limitedBy: 'close_factor',
    casesWon: 1,
    expectedBy: 'prior',
    feeBpsFrom: 500,
    feeBpsTo: 250,
    leftS: 90,
    settleableAtS: 1_792_000_000,
    atMs: 1_792_000_000_000,
    state: 'open',
    claimId: '7',
  }
  const input = { marketAddress: MARKET, repayAssets: '1234500000', decimals: 6 }
  expect(Object.fromEntries(reasonText({ reason, input, subject: MARKET }, known))).toEqual({
    repay: '1,234.5 USDC',
    seize: '0.00000001 cbBTC',
    other: '7 base units',
    value: '1.018586 a share',
    shares: '0.3 shares',
    gas: '$1.50, 30 gwei, 450,000 gas',
    'oracle price': '55,098.72 USDC',
    health: '0.9999',
    haircut: '1.25 %',
    age: '1.5 s',
    'close to acting': '88.48 %',
    'limited by': 'close factor',
    experience: '1 case, by the policy alone',
    fee: '5 % → 2.5 %',
    'rate after the move': '2.22 %',
    'time left': '1 min 30 s',
    'can be settled from': '2026-10-14T17:46:40Z',
    at: '2026-10-14T17:46:40Z',
    state: 'open',
    'claim id': '7',
  })
})

it('knows a token by what a decision is about, and names none where that says nothing of it', () => {
  const reason = { positionDebtAssets: '1500000', collateralAssets: '1', nextAssets: '2', limitAssets: '3' }
  expect(reasonText({ reason, subject: `${MARKET}:0xab:0xcd` }, known)).toEqual([
    ['debt to all vaults', '1.5 USDC'],
    ['collateral', '0.00000001 cbBTC'],
    ['next', '2 base units'],
    ['our limit', '3 base units'],
  ])
  const fund = { address: OTHER, codeHash: '0x', quoteAsset: USDC } as const
  expect(
    reasonText({ reason: { limitAssets: '3' }, subject: `${OTHER}:4` }, { ...known, funds: [fund] }),
  ).toEqual([['our limit', '0.000003 USDC']])
  // A lot may be of any token: only the decision itself can say.
  const offer = { amount: '1', limitAssets: '3', heldAssets: '2' }
  const [CBBTC] = known.markets.map(({ collateralAsset }) => collateralAsset)
  expect(
    reasonText({ reason: { ...offer, asset: CBBTC ?? '', quoteAsset: USDC }, subject: `${OTHER}:4` }, known),
  ).toEqual([
    ['lot', '0.00000001 cbBTC'],
    ['our limit', '0.000003 USDC'],
    ['held', '0.00000002 cbBTC'],
  ])
})

it('writes what moved in the token’s own unit, and in base units of one that nobody pins', () => {
  const changes = [
    { token: USDC, assets: -1_500_000n },
    { token: OTHER, assets: 1n },
  ]
  expect(changeLines(changes, known)).toEqual([`  ${USDC}  -1.5 USDC`, `  ${OTHER}  1 base unit of ${OTHER}`])
})

it('knows of no token where only a directory without a run configuration is named', () => {
  expect(deploymentAt({}, { directory: 'docs', file: '' }).assets).toEqual([])
})

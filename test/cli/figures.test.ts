import { expect, it } from 'vitest'
import { changeLines, deploymentAt } from '../../src/cli/figures.ts'
import { reasonText } from '../../src/guard/reason-text.ts'

const [USDC, MARKET] = [`0x${'11'.repeat(20)}`, `0x${'33'.repeat(20)}`] as const
const OTHER = `0x${'99'.repeat(20)}` as const
const place = { directory: 'config', file: '' }
const known = deploymentAt({ config: 'config/example.yaml' }, place)

it('writes each figure of a decision with the unit that its name says', () => {
  const reason = {
    ...{
      repayAssets: '1234500000',
      seizeAssets: '1',
      otherAssets: '7',
      value: '1018586',
      supply: '3',
      gasUsdMicros: '1500000',
      gasWei: '30000000000',
    },
    ...{ healthFactorWad: '987000000000000000', haircutBps: 125, gas: '450000', ageMs: 1_500 },
    supplyRateBpsAfter: 222,
    ...{ leftS: 90, settleableAtS: 1_792_000_000, atMs: 1_792_000_000_000, state: 'open', claimId: '7' },
  }
  const input = { marketAddress: MARKET, repayAssets: '1234500000', decimals: 6 }
  expect(Object.fromEntries(reasonText({ reason, input, subject: MARKET }, known))).toEqual({
    ...{
      repayAssets: '1,234.5 USDC',
      seizeAssets: '0.00000001 cbBTC',
      otherAssets: '7 base units',
      ...{ value: '1.018586 a share', supply: '3 base units of shares' },
      gasUsdMicros: '$1.50',
      gasWei: '30 gwei',
    },
    ...{ healthFactorWad: '0.987', haircutBps: '1.25 %', gas: '450,000 gas', ageMs: '1.5 s' },
    supplyRateBpsAfter: '2.22 %',
    ...{ leftS: '1 min 30 s', settleableAtS: '2026-10-14T17:46:40.000Z', atMs: '2026-10-14T17:46:40.000Z' },
    ...{ state: 'open', claimId: '7' },
  })
})

it('knows a token by what a decision is about, and names none where that says nothing of it', () => {
  const reason = { positionDebtAssets: '1500000', collateralAssets: '1', quotedAssets: '2', limitAssets: '3' }
  expect(reasonText({ reason, subject: `${MARKET}:0xab:0xcd` }, known)).toEqual([
    ['positionDebtAssets', '1.5 USDC'],
    ['collateralAssets', '0.00000001 cbBTC'],
    ['quotedAssets', '2 base units'],
    ['limitAssets', '3 base units'],
  ])
  const fund = { address: OTHER, codeHash: '0x', quoteAsset: USDC } as const
  expect(
    reasonText({ reason: { limitAssets: '3' }, subject: `${OTHER}:4` }, { ...known, funds: [fund] }),
  ).toEqual([['limitAssets', '0.000003 USDC']])
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

import { expect, it } from 'vitest'
import { type FigureOf, figureText } from '../../../src/guard/policy/figures.ts'
import { compileReference, type Subject } from '../../../src/guard/policy/references.ts'
import { LOAN, MARKET, NOW_MS, OTHER_MARKET, SELF } from '../fixtures.ts'
import { deployment as pinned } from '../kinds.ts'

const [first, second] = pinned.markets
const [fund = null] = pinned.funds
const lending = { address: MARKET, codeHash: `0x${'71'.repeat(32)}`, asset: LOAN } as const
if (first === undefined || second === undefined) throw new TypeError('two markets')
const inEther = { ...second, loanAsset: pinned.assets[2]?.address ?? LOAN }
const deployment = { ...pinned, markets: [first, inEther] }
const plain: Subject = {
  input: { moves: [{ marketAddress: MARKET }, { marketAddress: OTHER_MARKET }], decimals: 3 },
  self: SELF,
  deadlineS: BigInt(NOW_MS / 1_000),
  market: null,
  vault: null,
  fund: null,
  deployment,
}
const ref = (text: string, kind: 'uint' | 'address') => {
  const inputs = new Map([['amount', 'uint' as const]])
  const reference = compileReference(text, kind, { inputs, deployment })
  if (reference === null) throw new TypeError(text)
  return reference
}
const effects: Subject['effects'] = {
  out: [{ token: ref('$asset.sBTC', 'address'), assetsMax: ref('$input.amount', 'uint') }],
  in: [{ token: ref('$asset.sBTC', 'address'), assetsMin: ref('1', 'uint') }],
  moves: [],
}

it.each<readonly [string, bigint, FigureOf, Partial<Subject>, string]>([
  [
    'of what the effects name',
    250_000_000n,
    { path: 'a', reference: '$input.amount' },
    { effects },
    '2.5 sBTC',
  ],
  ['of nothing, where a number alone is the same', 1n, { path: 'count', reference: '1' }, { effects }, '1'],
  ['of what is approved', 5_000_000n, { path: 'a', reference: '', approved: LOAN }, {}, '5 sUSD'],
  ['of the market’s loan', 5_000_000n, { path: 'repayAssets', reference: '' }, { market: first }, '5 sUSD'],
  [
    'of the market’s collateral',
    500_000_000n,
    { path: 'minCollateralAssets', reference: '' },
    { market: first },
    '5 sBTC',
  ],
  [
    'of the market beside it',
    10n ** 18n,
    { path: 'moves[].assets', place: [1], reference: '' },
    {},
    '1 sETH',
  ],
  ['of the other market', 5_000_000n, { path: 'moves[].assets', place: [0], reference: '' }, {}, '5 sUSD'],
  ['of the fund', 5_000_000n, { path: 'bidAssets', reference: '' }, { fund, market: inEther }, '5 sUSD'],
  ['of the vault', 5_000_000n, { path: 'minDepositAssets', reference: '' }, { vault: lending }, '5 sUSD'],
  ['no limit', 0n, { path: 'maxDepositAssets', reference: '' }, { vault: lending }, 'no limit'],
  ['a limit', 1_000_000n, { path: 'maxDepositAssets', reference: '' }, { vault: lending }, '1 sUSD'],
  ['no least', 0n, { path: 'minDepositAssets', reference: '' }, { vault: lending }, '0 sUSD'],
  ['of shares', 1_234n, { path: 'minShares', reference: '' }, {}, '1,234 base units'],
  ['of assets that nothing tells', 1_234n, { path: 'assets', reference: '' }, {}, '1,234 base units'],
  ['of a share, inside of a struct', 1_500n, { path: 'report.value', reference: '5' }, {}, '1.5 a share'],
  ['a name', 1_234n, { path: 'bidId', reference: '' }, {}, '1234'],
  ['a count', 1_234n, { path: 'IdCount', reference: '' }, {}, '1,234'],
  ['a part', 1_234n, { path: 'maxPriceBps', reference: '' }, {}, '12.34 %'],
  ['a time', 90n, { path: 'noticeSeconds', reference: '' }, {}, '90 s'],
])('a figure is written as what it is: %s', (_name, value, of, changes, text) => {
  expect(figureText(value, of, { ...plain, ...changes })).toBe(text)
})

import { expect, it } from 'vitest'
import { changeText, reasonText } from '../../../src/guard/explain/reason-text.ts'
import { COLLATERAL, deployment, LOAN, MARKET, STRANGER, VAULT } from '../fixtures.ts'

const FUND = `0x${'f0'.repeat(20)}` as const
const fund = { address: FUND, codeHash: '0x', quoteAsset: LOAN } as const

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
  expect(Object.fromEntries(reasonText({ reason, input, subject: MARKET }, deployment))).toEqual({
    repay: '1,234.5 sUSD',
    seize: '0.00000001 sBTC',
    other: '7 base units',
    value: '1.018586 a share',
    shares: '0.3 shares',
    gas: '$1.50, 30 gwei, 450,000 gas',
    'oracle price': '55,098.72 sUSD',
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
  expect(reasonText({ reason, subject: `${MARKET}:0xab:0xcd` }, deployment)).toEqual([
    ['debt to all vaults', '1.5 sUSD'],
    ['collateral', '0.00000001 sBTC'],
    ['next', '2 base units'],
    ['our limit', '3 base units'],
  ])
  expect(
    reasonText({ reason: { limitAssets: '3' }, subject: `${FUND}:4` }, { ...deployment, funds: [fund] }),
  ).toEqual([['our limit', '0.000003 sUSD']])
  // A lot may be of any token: only the decision itself can say.
  const offer = { amount: '1', limitAssets: '3', heldAssets: '2' }
  expect(
    reasonText(
      { reason: { ...offer, asset: COLLATERAL, quoteAsset: LOAN }, subject: `${FUND}:4` },
      deployment,
    ),
  ).toEqual([
    ['lot', '0.00000001 sBTC'],
    ['our limit', '0.000003 sUSD'],
    ['held', '0.00000002 sBTC'],
  ])
})

it('tells of a market’s or a fund’s amounts the tokens only where their names say them', () => {
  const ofFund = { ...deployment, funds: [fund] }
  const reason = { bidAssets: '1000000', otherAssets: '7' }
  expect(reasonText({ reason, subject: `${FUND}:4` }, ofFund)).toEqual([
    ['bid', '1 sUSD'],
    ['other', '7 base units'],
  ])
  // What an input names counts like what is decided about.
  expect(reasonText({ reason, input: { fundAddress: FUND }, subject: '4' }, ofFund)).toEqual([
    ['bid', '1 sUSD'],
    ['other', '7 base units'],
  ])
})

it('writes all amounts of a vault alone in what it lends', () => {
  const vaults = deployment.vaults.map((vault) => ({ ...vault, asset: LOAN }))
  const reason = { idleAssets: '1000000', otherAssets: '2000000' }
  expect(reasonText({ reason, subject: VAULT }, { ...deployment, vaults })).toEqual([
    ['idle', '1 sUSD'],
    ['other', '2 sUSD'],
  ])
  expect(reasonText({ reason, subject: `${VAULT}:4` }, { ...deployment, vaults })).toEqual([
    ['idle', '1,000,000 base units'],
    ['other', '2,000,000 base units'],
  ])
})

it('takes a number for a while up to 2001, and from then on for a moment', () => {
  const reason = {
    waitS: 999_999_999,
    openedAtS: 1_000_000_000,
    ageMs: 999_999_999_999,
    seenMs: 1_000_000_000_000,
  }
  expect(reasonText({ reason, subject: '' }, deployment)).toEqual([
    ['wait', '11,574 d 1 h'],
    ['opened at', '2001-09-09T01:46:40Z'],
    ['age', '11,574 d 1 h'],
    ['seen', '2001-09-09T01:46:40Z'],
  ])
})

it('calls a figure of several words by what it is of, without an address, and a limit by what it is by', () => {
  const reason = {
    [`btc ${MARKET} idleBps`]: 125,
    [`${MARKET} supplyRateBps`]: 222,
    stressLimitAssets: '3',
    'btc near': 0.5,
    'btc limitedBy': 'close_factor',
  }
  expect(reasonText({ reason, subject: '' }, deployment)).toEqual([
    ['btc: idle', '1.25 %'],
    ['rate', '2.22 %'],
    ['limit by stress', '3 base units'],
    ['btc: close to acting', '50.00 %'],
    ['btc: limited by', 'close factor'],
  ])
})

it('writes words as people say them, tokens by their symbols, and other text as it is', () => {
  const reason = {
    limitedBy: 'close_factor',
    why: 'not_worthIt',
    state: 'in_queue',
    sold: LOAN,
    holder: STRANGER,
    isOpen: 'true',
    winner: '',
    isTrusted: 'false',
    by: 'measured',
  }
  expect(reasonText({ reason, subject: '' }, deployment)).toEqual([
    ['limited by', 'close factor'],
    ['why', 'not worth it'],
    ['state', 'in_queue'],
    ['sold', 'sUSD'],
    ['holder', STRANGER],
    ['is open', 'yes'],
    ['winner', 'none'],
    ['is trusted', 'no'],
    ['by', 'measured'],
  ])
})

it('writes a lot by its token where its amount has a name of its own', () => {
  expect(
    reasonText({ reason: { asset: COLLATERAL, assetAmount: '100000000' }, subject: '' }, deployment),
  ).toEqual([['lot', '1 sBTC']])
})

it('writes a value without decimals, and what is no amount, as the bare number', () => {
  const reason = { value: '1018586', decimals: 'six', supply: '3', claimId: '7' }
  expect(reasonText({ reason, subject: '' }, deployment)).toEqual([
    ['value', '1018586'],
    ['shares', '3'],
    ['claim id', '7'],
  ])
})

it('writes a price of a market that nobody pins as a bare number', () => {
  const reason = { priceWad: '55098723300000000000000' }
  expect(reasonText({ reason, subject: '' }, deployment)).toEqual([['oracle price', '55,098.72']])
})

it('knows the unit of what was left alone by what it would become, and by no other figure', () => {
  const becoming = { quoteAssetAddressTo: LOAN, maxAssetsPerEpochTo: '5000000' }
  expect(reasonText({ reason: becoming, subject: '' }, deployment)).toEqual([
    ['quote asset address', 'sUSD'],
    ['max assets per epoch', '5 sUSD'],
  ])
  // What is asked for counts more.
  expect(
    reasonText({ reason: becoming, input: { quoteAssetAddress: COLLATERAL }, subject: '' }, deployment),
  ).toContainEqual(['max assets per epoch', '0.05 sBTC'])
  expect(reasonText({ reason: { decimalsAt: 6, value: '1018586' }, subject: '' }, deployment)).toEqual([
    ['decimals at', '6'],
    ['value', '1018586'],
  ])
})

it('writes what a field becomes with its unit, and words as they are', () => {
  const about = { input: {}, market: null, fund }
  expect(changeText('maxPriceBps', '9400', about, deployment)).toBe('94 %')
  expect(changeText('maxAssetsPerEpoch', '5000000', about, deployment)).toBe('5 sUSD')
  expect(changeText('mode', 'fast', about, deployment)).toBe('fast')
})

it('calls alike what is of one thing, and by a word of its own what its name does not say', () => {
  const names = (reason: Readonly<Record<string, string>>) =>
    reasonText({ reason, subject: '' }, deployment).map(([name]) => name)
  expect(names({ expectedBps: '1', expectedBy: 'prior', casesWon: '2', cases: '3' })).toEqual(['experience'])
  expect(
    names({
      worthAssets: '1',
      closesAtS: '2',
      turnoverAssets: '3',
      shortAssets: '4',
      accepted: '5',
      rejected: '6',
    }),
  ).toEqual(['value', 'closes', 'moved', 'missing', 'counted', 'not counted'])
})

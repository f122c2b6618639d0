import { describe, expect, it } from 'vitest'
import { managerPolicy } from '../../../agents/asset-manager/policy.ts'
import { TOKENS } from '../../support/tokens.ts'
import { strategyText } from './fixtures.ts'

/** The committed strategy with one value at a path replaced, or taken out when it is undefined. */
function changed(path: readonly (string | number)[], value: unknown): unknown {
  const strategy = strategyText()
  const place = path.slice(0, -1).reduce<unknown>((found, part) => Reflect.get(Object(found), part), strategy)
  const last = path.at(-1) ?? ''
  if (value === undefined) Reflect.deleteProperty(Object(place), last)
  else Reflect.set(Object(place), last, value)
  return strategy
}

/** The first problem, as `path: message`. */
function problemOf(path: readonly (string | number)[], value: unknown): string | null {
  const parsed = managerPolicy(TOKENS).safeParse(changed(path, value))
  const issue = parsed.error?.issues[0]
  return issue === undefined ? null : `${issue.path.join('.')}: ${issue.message}`
}

const SETTINGS = ['declared', 'vaultSettings', 0] as const
const NOBODY = `0x${'0'.repeat(40)}`
const SELF_GRANTED = { address: 'self', granted: 'true' }
const CHANNEL = {
  channel: 'partner',
  name: 'Partner',
  symbol: 'ptn',
  reseller: 'self',
  curator: 'self',
  shareClass: 'Retail',
  resellerFee: '5 %',
  borrowerFee: '20 %',
  cap: '1 sUSD',
}

describe('the shipped strategy', () => {
  it('is complete', () => expect(managerPolicy(TOKENS).safeParse(strategyText()).success).toBe(true))
})

describe('a strategy that contradicts itself', () => {
  it.each<[readonly (string | number)[], unknown, string]>([
    [['bidding', 'positionMax'], '40.01 %', 'bidding.positionMax: expected no more than borrowerMax'],
    [['bidding', 'borrowerMax'], '70.01 %', 'bidding.borrowerMax: expected no more than marketMax'],
    [['bidding', 'idleMin'], '80.01 %', 'bidding.idleMin: expected no more than what positionMax leaves'],
    [['bidding', 'lanes', 'liquid', 'recovery'], '0.01 %', 'bidding.lanes.liquid.recovery: with its haircut'],
    [
      ['bidding', 'lanes', 'liquid', 'recovery'],
      '0 %',
      'bidding.lanes.liquid.recovery: allowed: 0.01 % to 100 %',
    ],
    [['bidding', 'lanes'], {}, 'bidding.lanes: expected at least one entry'],
    [['bidding', 'assets'], undefined, 'bidding.assets: Invalid input'],
    [['bidding', 'lastCall'], '4 s', 'bidding.lastCall: expected more than closeMargin'],
    [
      ['bidding', 'quoteAssets', 'sUSD', 'price'],
      '0 USD',
      'bidding.quoteAssets.sUSD.price: expected more than 0',
    ],
    [
      ['declared', 'vaults', 0, 'exitTermKind'],
      'instant',
      'declared.vaults.0.notice: expected 0 with exitTermKind instant',
    ],
    [
      ['declared', 'vaults', 0, 'notice'],
      '0 s',
      'declared.vaults.0.notice: expected more than 0 with exitTermKind notice',
    ],
    [
      ['declared', 'funds', 0, 'minSubscription'],
      '1,000,000.000001 sUSD',
      'declared.funds.0.minSubscription: expected no more than maxSubscription',
    ],
    [['declared', 'funds', 0, 'epochDuration'], '0 s', 'declared.funds.0.epochDuration: allowed: 1 s to'],
    [
      ['declared', 'channelPolicies', 1, 'channel'],
      'acquisition',
      'declared.channelPolicies: a channel policy is declared twice',
    ],
    [
      ['declared', 'channelPolicies', 0, 'maxPrice'],
      '100.01 %',
      'declared.channelPolicies.0.maxPrice: allowed: 0 % to 100 %',
    ],
    [
      ['declared', 'mobility', 1, 'emergencyPause', 'pause'],
      '2,592,001 s',
      'declared.mobility.1.emergencyPause.pause: allowed: 1 s to 30 d',
    ],
    [
      [...SETTINGS, 'allocators'],
      [SELF_GRANTED, { ...SELF_GRANTED, granted: 'false' }],
      'declared.vaultSettings.0.allocators: an account is there twice',
    ],
    [
      [...SETTINGS, 'fees', 'managementFee'],
      '5.01 %',
      'declared.vaultSettings.0.fees.managementFee: allowed:',
    ],
    [
      [...SETTINGS, 'fees', 'performanceFee'],
      '30.01 %',
      'declared.vaultSettings.0.fees.performanceFee: allowed:',
    ],
    [
      [...SETTINGS, 'borrowerManagerFee'],
      { fee: '20.01 %', recipient: 'self' },
      'declared.vaultSettings.0.borrowerManagerFee.fee: allowed:',
    ],
    [[...SETTINGS, 'fees', 'recipient'], NOBODY, 'declared.vaultSettings.0.fees.recipient: expected another'],
    [[...SETTINGS, 'newOwner'], NOBODY, 'declared.vaultSettings.0.newOwner: expected another'],
    [
      [...SETTINGS, 'markets', 0, 'absoluteCap'],
      '0 sUSD',
      'declared.vaultSettings.0.markets.0.absoluteCap: expected',
    ],
    [
      [...SETTINGS, 'markets', 0, 'relativeCap'],
      '0 %',
      'declared.vaultSettings.0.markets.0.relativeCap: expected',
    ],
    [
      [...SETTINGS, 'markets', 0, 'absoluteCap'],
      '1 sBTC',
      'declared.vaultSettings.0.markets.0.absoluteCap: expected an amount of sUSD, not of sBTC',
    ],
    [
      [...SETTINGS, 'markets', 0, 'allocationEnabled'],
      'false',
      'declared.vaultSettings.0.routing.0: btcMarket is not among the markets of this entry with allocationEnabled',
    ],
    [[...SETTINGS, 'routing'], ['ethMarket'], 'declared.vaultSettings.0.routing.0: ethMarket is not among'],
    [
      [...SETTINGS, 'terms', 'minDeposit'],
      '500,000.000001 sUSD',
      'declared.vaultSettings.0.terms.minDeposit: expected',
    ],
    [
      [...SETTINGS, 'channels'],
      [CHANNEL, CHANNEL],
      'declared.vaultSettings.0.channels: a channel is there twice',
    ],
    [
      [...SETTINGS, 'channels'],
      [CHANNEL, { ...CHANNEL, channel: 'other' }],
      'declared.vaultSettings.0.channels: two channels are of one reseller and share class',
    ],
    [
      [...SETTINGS, 'management', 'website'],
      'http://a.example',
      'declared.vaultSettings.0.management.website: expected',
    ],
    [['declared', 'mobility', 0, 'allowLoosening'], 'yes', 'declared.mobility.0.allowLoosening: '],
    [['bidding', 'raise'], 25, 'bidding.raise: '],
    [['bidding', 'unheard'], '1', 'bidding: Unrecognized key'],
    [['bidding', 'margin'], undefined, 'bidding.margin: '],
  ])('at %j is refused where it stands', (path, value, problem) => {
    expect(problemOf(path, value)?.startsWith(problem)).toBe(true)
  })

  it('is none at each of these limits', () => {
    expect(problemOf(['bidding', 'positionMax'], '40 %')).toBeNull()
    expect(problemOf(['bidding', 'borrowerMax'], '70 %')).toBeNull()
    expect(problemOf([...SETTINGS, 'fees', 'performanceFee'], '30 %')).toBeNull()
    expect(problemOf([...SETTINGS, 'terms', 'minDeposit'], '500,000 sUSD')).toBeNull()
    expect(problemOf([...SETTINGS, 'channels'], [CHANNEL])).toBeNull()
    expect(problemOf(['declared', 'vaultSettings'], undefined)).toBeNull()
    expect(problemOf(['bidding', 'idleMin'], '80 %')).toBeNull()
    expect(problemOf(['declared', 'funds', 0, 'minSubscription'], '1,000,000 sUSD')).toBeNull()
  })
})

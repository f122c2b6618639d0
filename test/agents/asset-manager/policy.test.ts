import { describe, expect, it } from 'vitest'
import { managerPolicy } from '../../../agents/asset-manager/policy.ts'
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
  const parsed = managerPolicy.safeParse(changed(path, value))
  const issue = parsed.error?.issues[0]
  return issue === undefined ? null : `${issue.path.join('.')}: ${issue.message}`
}

describe('the shipped strategy', () => {
  it('is complete', () => expect(managerPolicy.safeParse(strategyText()).success).toBe(true))
})

describe('a strategy that contradicts itself', () => {
  it.each<[readonly (string | number)[], unknown, string]>([
    [['bidding', 'positionBpsMax'], '4001', 'bidding.positionBpsMax: expected no more than borrowerBpsMax'],
    [['bidding', 'borrowerBpsMax'], '7001', 'bidding.borrowerBpsMax: expected no more than marketBpsMax'],
    [
      ['bidding', 'idleBpsMin'],
      '8001',
      'bidding.idleBpsMin: expected no more than what positionBpsMax leaves',
    ],
    [
      ['bidding', 'lanes', 'liquid', 'recoveryBps'],
      '1',
      'bidding.lanes.liquid.recoveryBps: with its haircut',
    ],
    [
      ['bidding', 'lanes', 'liquid', 'recoveryBps'],
      '0',
      'bidding.lanes.liquid.recoveryBps: allowed: 1 to 10000',
    ],
    [['bidding', 'lanes'], {}, 'bidding.lanes: expected at least one entry'],
    [
      ['bidding', 'quoteAssets', 'sUSD', 'priceUsdMicros'],
      '0',
      'bidding.quoteAssets.sUSD.priceUsdMicros: expected more than 0',
    ],
    [
      ['declared', 'vaults', 0, 'exitTermKind'],
      'instant',
      'declared.vaults.0.noticeSeconds: expected "0" with exitTermKind instant',
    ],
    [
      ['declared', 'vaults', 0, 'noticeSeconds'],
      '0',
      'declared.vaults.0.noticeSeconds: expected more than 0 with exitTermKind notice',
    ],
    [
      ['declared', 'funds', 0, 'minSubscriptionAssets'],
      '1000000000001',
      'declared.funds.0.minSubscriptionAssets: expected no more than maxSubscriptionAssets',
    ],
    [
      ['declared', 'funds', 0, 'epochDurationSeconds'],
      '0',
      'declared.funds.0.epochDurationSeconds: allowed: 1 to',
    ],
    [
      ['declared', 'channelPolicies', 1, 'channel'],
      'acquisition',
      'declared.channelPolicies: a channel policy is declared twice',
    ],
    [
      ['declared', 'channelPolicies', 0, 'maxPriceBps'],
      '10001',
      'declared.channelPolicies.0.maxPriceBps: allowed: 0 to 10000',
    ],
    [
      ['declared', 'mobility', 1, 'emergencyPause', 'pauseSeconds'],
      '2592001',
      'declared.mobility.1.emergencyPause.pauseSeconds: allowed: 1 to 2592000',
    ],
    [['declared', 'mobility', 0, 'allowLoosening'], 'yes', 'declared.mobility.0.allowLoosening: '],
    [['bidding', 'raiseBps'], 25, 'bidding.raiseBps: '],
    [['bidding', 'unheard'], '1', 'bidding: Unrecognized key'],
    [['bidding', 'marginBps'], undefined, 'bidding.marginBps: '],
  ])('at %j is refused where it stands', (path, value, problem) => {
    expect(problemOf(path, value)?.startsWith(problem)).toBe(true)
  })

  it('is none at each of these limits', () => {
    expect(problemOf(['bidding', 'positionBpsMax'], '4000')).toBeNull()
    expect(problemOf(['bidding', 'borrowerBpsMax'], '7000')).toBeNull()
    expect(problemOf(['bidding', 'idleBpsMin'], '8000')).toBeNull()
    expect(problemOf(['declared', 'funds', 0, 'minSubscriptionAssets'], '1000000000000')).toBeNull()
  })
})

import { describe, expect, it } from 'vitest'
import { rfqBidderPolicy } from '../../../agents/rfq-bidder/policy.ts'
import { checkYaml } from '../../../src/config/check.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { strategyText } from './fixtures.ts'

/** What an operator reads when values of the committed strategy are replaced; undefined removes one. */
function refusal(changes: Readonly<Record<string, unknown>>): string {
  const strategy = strategyText()
  for (const [path, value] of Object.entries(changes)) {
    const keys = path.split('.')
    const last = keys.pop() ?? ''
    let at: unknown = strategy
    for (const key of keys) at = Reflect.get(Object(at), key)
    if (value === undefined) Reflect.deleteProperty(Object(at), last)
    else Reflect.set(Object(at), last, value)
  }
  try {
    checkYaml({ file: 'policy.yaml', value: strategy, position: () => '1:1' }, rfqBidderPolicy)
  } catch (error) {
    if (error instanceof RolekeeperError) return error.message
  }
  return 'not refused'
}

describe('a strategy', () => {
  it('reads amounts as integers of any size and counts as numbers', () => {
    const strategy = rfqBidderPolicy.parse(strategyText())
    expect(strategy.assets.sETH?.inventoryAssetsMax).toBe(1_000n * 10n ** 18n)
    expect(strategy.spreadBps).toBe(50)
  })

  it('refuses what is malformed with path, value and fix', () => {
    expect([
      refusal({ spreadBps: '0.5 %' }),
      refusal({ landingS: undefined }),
      refusal({ landingS: '0' }),
      refusal({ assets: {} }),
      refusal({ 'assets.sBTC.referenceContract': undefined }),
      refusal({ 'quotes.sUSD.priceUsdMicros': '0' }),
      refusal({ 'rfq.snipe': 'yes' }),
    ]).toMatchInlineSnapshot(`
      [
        "policy.yaml:1:1: spreadBps is "0.5 %"; expected basis points in decimal digits, without sign, point or unit (and 2 more). Fix: correct \`spreadBps\` there",
        "policy.yaml:1:1: landingS is missing; expected a text or number in quotes. Fix: add \`landingS\`",
        "policy.yaml:1:1: landingS is "0"; allowed: 1 to 3600 seconds. Fix: correct \`landingS\` there",
        "policy.yaml:1:1: assets is a mapping; expected at least one entry: with none, nothing could ever be done. Fix: correct \`assets\` there",
        "policy.yaml:1:1: assets.sBTC.referenceContract is missing; expected a text or number in quotes. Fix: add \`assets.sBTC.referenceContract\`",
        "policy.yaml:1:1: quotes.sUSD.priceUsdMicros is "0"; expected millionths of a US dollar above 0. Fix: correct \`quotes.sUSD.priceUsdMicros\` there",
        "policy.yaml:1:1: rfq.snipe is not a known key; allowed: leadByBps, lastCallS, replaceBps, raisesMax, expiryAfterCloseS, finalizeLostAfterS. Fix: remove it",
      ]
    `)
  })

  it('refuses limits that contradict each other', () => {
    expect([
      refusal({ 'rfq.replaceBps': '51' }),
      refusal({ spreadBps: '10000' }),
      refusal({ bidUsdMicrosMax: '800000000001' }),
      refusal({ 'auction.owedUsdMicrosMax': '800000000001' }),
      refusal({ 'assets.sBTC.openBidsUsdMicrosMax': '800000000001' }),
      refusal({ gainUsdMicrosMin: '60000000000' }),
      refusal({ 'rfq.lastCallS': '3' }),
      refusal({ 'auction.windowS': '3' }),
      refusal({ 'assets.sBTC.signalNoiseBps': '5100' }),
    ]).toMatchInlineSnapshot(`
      [
        "policy.yaml:1:1: rfq.replaceBps is "51"; expected no more than spreadBps: a bid that is not replaced must stay below what the lot is worth. Fix: correct \`rfq.replaceBps\` there",
        "policy.yaml:1:1: spreadBps is "10000"; expected less than 10000: nothing would be left to bid. Fix: correct \`spreadBps\` there",
        "policy.yaml:1:1: bidUsdMicrosMax is "800000000001"; expected no more than openBidsUsdMicrosMax: one bid would exceed what all may have in escrow. Fix: correct \`bidUsdMicrosMax\` there",
        "policy.yaml:1:1: auction.owedUsdMicrosMax is "800000000001"; expected no more than openBidsUsdMicrosMax: what is owed counts as in escrow. Fix: correct \`auction.owedUsdMicrosMax\` there",
        "policy.yaml:1:1: assets.sBTC.openBidsUsdMicrosMax is "800000000001"; expected no more than the openBidsUsdMicrosMax of all assets together. Fix: correct \`assets.sBTC.openBidsUsdMicrosMax\` there",
        "policy.yaml:1:1: gainUsdMicrosMin is "60000000000"; expected less than bidUsdMicrosMax: no bid could be expected to bring so much. Fix: correct \`gainUsdMicrosMin\` there",
        "policy.yaml:1:1: rfq.lastCallS is "3"; expected more than landingS: the last call would come when it is too late to bid. Fix: correct \`rfq.lastCallS\` there",
        "policy.yaml:1:1: auction.windowS is "3"; expected more than landingS: bidding would begin when it is too late to bid. Fix: correct \`auction.windowS\` there",
        "policy.yaml:1:1: assets.sBTC.signalNoiseBps is "5100"; expected haircut, skew and shade to leave something to bid: with 5100 they take 10112 of 10000 basis points. Fix: correct \`assets.sBTC.signalNoiseBps\` there",
      ]
    `)
  })

  it('takes limits that are just consistent', () => {
    expect([
      refusal({ 'rfq.replaceBps': '50' }),
      refusal({ bidUsdMicrosMax: '800000000000' }),
      refusal({ 'rfq.lastCallS': '4' }),
      refusal({ 'auction.windowS': '4' }),
      refusal({ 'assets.sBTC.signalNoiseBps': '5000' }),
    ]).toEqual(Array.from({ length: 5 }, () => 'not refused'))
  })
})

import { describe, expect, it } from 'vitest'
import { rfqBidderPolicy } from '../../../agents/rfq-bidder/policy.ts'
import { checkYaml } from '../../../src/config/check.ts'
import { RolekeeperError } from '../../../src/errors.ts'
import { TOKENS } from '../../support/tokens.ts'
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
    checkYaml({ file: 'policy.yaml', value: strategy, at: () => 'policy.yaml:1:1' }, rfqBidderPolicy(TOKENS))
  } catch (error) {
    if (error instanceof RolekeeperError) return error.message
  }
  return 'not refused'
}

describe('a strategy', () => {
  it('reads amounts as integers of any size and counts as numbers', () => {
    const strategy = rfqBidderPolicy(TOKENS).parse(strategyText())
    expect(strategy.assets.sETH?.inventoryAssetsMax).toBe(1_000n * 10n ** 18n)
    expect(strategy.spreadBps).toBe(50)
  })

  it('refuses what is malformed with path, value and fix', () => {
    expect([
      refusal({ spread: '50' }),
      refusal({ landing: undefined }),
      refusal({ landing: '0 s' }),
      refusal({ assets: {} }),
      refusal({ 'assets.sBTC.referenceContract': undefined }),
      refusal({ 'quotes.sUSD.price': '0 USD' }),
      refusal({ 'rfq.snipe': 'yes' }),
    ]).toMatchInlineSnapshot(`
      [
        "policy.yaml:1:1: spread is "50"; expected an amount with its unit (%), for example "1.25 %". Fix: correct \`spread\` there",
        "policy.yaml:1:1: landing is missing; expected a text or number in quotes. Fix: add \`landing\`",
        "policy.yaml:1:1: landing is "0 s"; allowed: 1 s to 1 h. Fix: correct \`landing\` there",
        "policy.yaml:1:1: assets is a mapping; expected at least one entry: with none, nothing could ever be done. Fix: correct \`assets\` there",
        "policy.yaml:1:1: assets.sBTC.referenceContract is missing; expected a text or number in quotes. Fix: add \`assets.sBTC.referenceContract\`",
        "policy.yaml:1:1: quotes.sUSD.price is "0 USD"; expected more than 0 USD. Fix: correct \`quotes.sUSD.price\` there",
        "policy.yaml:1:1: rfq.snipe is not a known key; allowed: leadBy, lastCall, replace, raisesMax, expiryAfterClose, finalizeLostAfter. Fix: remove it",
      ]
    `)
  })

  it('refuses limits that contradict each other', () => {
    expect([
      refusal({ 'rfq.replace': '0.51 %' }),
      refusal({ spread: '100 %' }),
      refusal({ bidMax: '800,000.000001 USD' }),
      refusal({ 'auction.owedMax': '800,000.000001 USD' }),
      refusal({ 'assets.sBTC.openBidsMax': '800,000.000001 USD' }),
      refusal({ gainMin: '60,000 USD' }),
      refusal({ 'rfq.lastCall': '3 s' }),
      refusal({ 'auction.window': '3 s' }),
      refusal({ 'assets.sBTC.signalNoise': '51 %' }),
    ]).toMatchInlineSnapshot(`
      [
        "policy.yaml:1:1: rfq.replace is "0.51 %"; expected no more than spread: a bid that is not replaced must stay below what the lot is worth. Fix: correct \`rfq.replace\` there",
        "policy.yaml:1:1: spread is "100 %"; expected less than 100 %: nothing would be left to bid. Fix: correct \`spread\` there",
        "policy.yaml:1:1: bidMax is "800,000.000001 USD"; expected no more than openBidsMax: one bid would exceed what all may have in escrow. Fix: correct \`bidMax\` there",
        "policy.yaml:1:1: auction.owedMax is "800,000.000001 USD"; expected no more than openBidsMax: what is owed counts as in escrow. Fix: correct \`auction.owedMax\` there",
        "policy.yaml:1:1: assets.sBTC.openBidsMax is "800,000.000001 USD"; expected no more than the openBidsMax of all assets together. Fix: correct \`assets.sBTC.openBidsMax\` there",
        "policy.yaml:1:1: gainMin is "60,000 USD"; expected less than bidMax: no bid could be expected to bring so much. Fix: correct \`gainMin\` there",
        "policy.yaml:1:1: rfq.lastCall is "3 s"; expected more than landing: the last call would come when it is too late to bid. Fix: correct \`rfq.lastCall\` there",
        "policy.yaml:1:1: auction.window is "3 s"; expected more than landing: bidding would begin when it is too late to bid. Fix: correct \`auction.window\` there",
        "policy.yaml:1:1: assets.sBTC.signalNoise is "51 %"; expected haircut, skew and shade to leave something to bid: with 51 % they take 101.12 %. Fix: correct \`assets.sBTC.signalNoise\` there",
      ]
    `)
  })

  it('takes limits that are just consistent', () => {
    expect([
      refusal({ 'rfq.replace': '0.5 %' }),
      refusal({ bidMax: '800,000 USD' }),
      refusal({ 'rfq.lastCall': '4 s' }),
      refusal({ 'auction.window': '4 s' }),
      refusal({ 'assets.sBTC.signalNoise': '50 %' }),
    ]).toEqual(Array.from({ length: 5 }, () => 'not refused'))
  })
})

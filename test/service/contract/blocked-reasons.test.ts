import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { REVALIDATIONS } from '../../../src/service/contract/assumptions.ts'
import { BLOCKED_REASONS, blockedText } from '../../../src/service/contract/blocked-reasons.ts'

const PREPARERS = new URL('../../../sandbox/service/workflows/', import.meta.url)

/** What else is written so where requests are judged: entities, records, actions and kinds of calls. */
const NO_REASONS = [
  ...REVALIDATIONS,
  ...['contract_call', 'contract_deployment', 'set_transfer_profile', 'set_trusted_recipient'],
  ...['management_settings', 'owner_settings', 'market_listing', 'asset_submission', 'partner_application'],
  ...['credit_facility', 'liquidation_claim', 'nav_report', 'fund_channel_policy', 'fund_launcher'],
  ...['acquisition_bid', 'auction_bid', 'rfq_bid', 'rfq_bidder', 'redemption_request', 'trusted_recipient'],
  ...['channel_block', 'wrapper_position', 'partner_borrower_fee', 'partner_fee_shares'],
  ...['partner_channel_deployment', 'vault_allocation', 'vault_deployment', 'vault_fee_config'],
  ...['vault_listing', 'vault_management_settings', 'vault_market_listing', 'vault_owner_settings'],
  ...['vault_position', 'vault_role', 'vault_routing', 'vault_settings', 'vault_share_mobility'],
]

/** Every reason that the preparers write out, and those that they join of parts. */
const reasons = [
  ...readdirSync(PREPARERS).flatMap((file) => {
    const text = readFileSync(new URL(file, PREPARERS), 'utf8')
    return [...text.matchAll(/'([a-z][a-z0-9]*(?:_[a-z0-9]+)+)'/g)].map(([, name = '']) => name)
  }),
  ...['owner', 'allocator', 'manager', 'curator'].map((who) => `${who}_is_zero`),
  ...['stale', 'missing', 'blocked'].map((status) => `indexer_${status}`),
]
const catalogue = [...new Set(reasons)].filter((name) => !NO_REASONS.includes(name)).toSorted()

describe('the reasons of a blocked preflight', () => {
  it('each have a sentence and a fix, and none that no preparer gives', () => {
    expect(Object.keys(BLOCKED_REASONS).toSorted()).toEqual(catalogue)
  })

  it.each(Object.entries(BLOCKED_REASONS))(
    '%s is a sentence, and a fix in the imperative',
    (_, [says, fix]) => {
      expect(says).toMatch(/^[A-Z].*\.$/)
      expect(fix).toMatch(/^[a-z].*\.$/)
    },
  )

  const blocked = (...blockedReasons: string[]) => blockedText({ status: 'blocked', blockedReasons })

  it('are told by name, with what they mean and what to do', () => {
    expect(blocked('channel_exists')).toBe(
      "The service's preflight is blocked: channel_exists. There is a channel of that vault, reseller and share class. Fix: use that one, or write another shareClass.",
    )
    expect(blocked()).toBe("The service's preflight is blocked: no reason given.")
  })

  it('are told by name where they are not known, whatever they are called', () => {
    expect(blocked('moon_too_full')).toBe(
      "The service's preflight is blocked: moon_too_full. What the service means by moon_too_full is not known here. Fix: ask the service’s operator what it stands for.",
    )
    expect(blocked('constructor')).toContain('by constructor is not known')
    expect(blocked('a\u001b[2Jb')).not.toContain('\u001b')
  })

  it('are told once each, the first four with what they mean', () => {
    const said = blocked(...Object.keys(BLOCKED_REASONS).slice(0, 6), 'amount_is_zero')
    expect(said.match(/Fix:/g)).toHaveLength(4)
    expect(blocked('amount_is_zero', 'amount_is_zero').match(/Fix:/g)).toHaveLength(1)
    expect(blocked(...Array.from({ length: 50 }, () => 'y'.repeat(500))).length).toBeLessThan(600)
  })
})

import { expect, it } from 'vitest'
import type { Moment } from '../../../agents/agent.ts'
import { decide } from '../../../agents/asset-manager/decide.ts'
import { due } from '../../../agents/asset-manager/duty.ts'
import type { ManagerPolicy } from '../../../agents/asset-manager/policy.ts'
import type { ManagerSeen } from '../../../agents/asset-manager/seen.ts'
import { BARE, seenOf } from './declared/settings-model.ts'
import {
  channel,
  FUND,
  figures,
  fund,
  HOUSE,
  iso,
  lot,
  market,
  moment,
  NOW_S,
  outbid,
  policy,
  RIVAL,
  usd,
} from './fixtures.ts'

const owed = (changes: Partial<Moment & ManagerSeen>, rules = policy()) => {
  const seen = moment(changes)
  return due(seen, decide(seen, rules), rules)
}

it('owes a bid from the last call on, late after half of it, and says what keeps it', () => {
  const { lastCallS, closeMarginS } = policy().bidding
  const closesAtMs = (NOW_S + 10) * 1_000
  const [bid] = owed({ lots: [lot()], nativeBalanceWei: 0n })
  expect(bid).toMatchObject({
    what: 'lot bid',
    subject: `${HOUSE}:1`,
    sinceMs: null,
    check: 'out_of_funds',
    untilMs: closesAtMs - closeMarginS * 1_000,
    graceMs: (lastCallS - closeMarginS) * 500,
  })
  expect(bid).not.toHaveProperty('chosen')
})

it('leaves by choice what is above its limit, what it comes too late for, and what waits for an oracle', () => {
  const stale = [market({}, { priceWad: 1n, sourceAsOfS: NOW_S, state: 2 })]
  expect(owed({ lots: [lot()], markets: stale })).toMatchObject([
    { check: 'oracle_not_healthy', chosen: true },
  ])
  expect(owed({ lots: [outbid(usd(49_000))] })).toMatchObject([
    { check: 'above_channel_price', chosen: true },
  ])
  expect(owed({ lots: [lot({ closesAt: iso(NOW_S) })] })).toMatchObject([
    { check: 'closes_too_soon', chosen: true },
  ])
})

it('owes the judging of a fund that it cannot read, and money that a person has to release', () => {
  const unread = owed({ lots: [], funds: [fund({ figures: null })] })
  expect(unread).toMatchObject([{ what: 'fund to judge', subject: `fund:${FUND}`, check: 'fund_not_read' }])
  const waiting = owed({ lots: [], funds: [fund({ figures: figures({ reservedAssets: usd(500) }) })] })
  expect(waiting).toMatchObject([{ what: 'release by hand', subject: `fund:${FUND}:reserved` }])
})

it('owes what is declared and not so yet, with what keeps it', () => {
  const stricter = {
    fund: 'Fund',
    channel: 'rfq' as const,
    ...channel({ maxPriceBps: 9_000 }),
    allowLoosening: false,
  }
  const [change] = owed({ lots: [] }, policy({}, { channelPolicies: [stricter] }))
  expect(change).toMatchObject({ sinceMs: null, message: 'It was proposed just now.' })
  expect(change?.what).toBe('declared change')
})

it('owes one setting of a vault at a time, and what a person has to pin', () => {
  const settings: ManagerPolicy['declared']['vaultSettings'][number] = {
    vault: 'Vault',
    baseAsset: 'sUSD',
    markets: [],
    allocators: [],
    curators: [],
    channels: [],
    managers: [{ address: RIVAL, granted: true }],
    fees: { managementFeeBps: 50, performanceFeeBps: 0, recipient: 'self' },
    allowLoosening: true,
  }
  const rules = policy({}, { vaultSettings: [settings] })
  const { vaults, deployment } = seenOf(BARE)
  expect(owed({ lots: [], vaults }, rules)).toMatchObject([
    { what: 'declared change', subject: 'settings:Vault:fees', message: 'It was proposed just now.' },
    { what: 'declared change', check: 'waits_its_turn', chosen: true },
  ])
  const unpinned = { lots: [], vaults, deployment: { ...deployment, vaults: [] } }
  expect(owed(unpinned, rules)).toMatchObject([
    { what: 'pin by hand', subject: 'settings:Vault', check: 'vault_not_pinned' },
  ])
})

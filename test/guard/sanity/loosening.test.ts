import { describe, expect, it } from 'vitest'
import type { Proposal } from '../../../src/workflow/proposal.ts'
import { MARKET, OTHER_MARKET } from '../fixtures.ts'
import { OTHER_SIGNER } from '../kinds-by-hand.ts'
import { fees, type Given, judged, listed, listing, newFees, one, role, type Said } from './vault-chain.ts'

const SETTINGS: Said = {
  liquidityBufferBps: 1_000,
  exitTerms: { kind: 2, noticeSeconds: 0n, intervalSeconds: 604_800n, maturityTimestamp: 0n },
  minDepositAssets: 100_000_000n,
  maxDepositAssets: 500_000_000_000n,
}
const STRICTER = { kind: 'tighten', reason: {} }
const exit = (kind: number, name: string, figure: bigint) => ({
  exitTerms: { kind, noticeSeconds: 0n, intervalSeconds: 0n, maturityTimestamp: 0n, [name]: figure },
})
/** An interval's figure alone, as the contract takes it. */
const interval = { noticeSeconds: '0' }
describe('what an agent says of a step', () => {
  it.each<readonly [string, string, Given]>([
    ['a higher cap', 'caps', { before: { listing: { ...listed.listing, absoluteCapAssets: 0n } } }],
    ['a higher share', 'caps', { before: { listing: { ...listed.listing, relativeCapBps: 4_999 } } }],
    ['a market that opens', 'caps', { before: { listing: { ...listed.listing, allocationEnabled: false } } }],
    ['a market that is attached open', 'attach', {}],
    [
      'a higher fee a year',
      'fees',
      { before: { feeConfig: { ...fees, managementFeeBps: 49, performanceFeeBps: 1_000 } } },
    ],
    [
      'a higher fee of the gain',
      'fees',
      { before: { feeConfig: { ...fees, managementFeeBps: 50, performanceFeeBps: 999 } } },
    ],
    [
      'another recipient',
      'fees',
      {
        before: {
          feeConfig: { ...fees, managementFeeBps: 50, performanceFeeBps: 1_000, recipient: OTHER_SIGNER },
        },
      },
    ],
    [
      'a higher fee of borrowers',
      'curator-fee',
      { before: { feeConfig: { ...fees, borrowerManagerFeeBps: 499, curatorRecipient: OTHER_SIGNER } } },
    ],
    [
      'another recipient of borrowers’ fee',
      'curator-fee',
      { before: { feeConfig: { ...fees, borrowerManagerFeeBps: 500 } } },
    ],
    ['a market more in the route', 'routing', { before: { ...listed, routing: [MARKET] } }],
    ['a smaller buffer', 'settings', { input: interval, before: { ...SETTINGS, liquidityBufferBps: 1_001 } }],
    [
      'a lower least deposit',
      'settings',
      { input: interval, before: { ...SETTINGS, minDepositAssets: 100_000_001n } },
    ],
    [
      'a higher largest deposit',
      'settings',
      { input: interval, before: { ...SETTINGS, maxDepositAssets: 499_999_999_999n } },
    ],
    ['no largest deposit', 'settings', { input: { ...interval, maxDepositAssets: '0' }, before: SETTINGS }],
    [
      'another interval',
      'settings',
      { input: interval, before: { ...SETTINGS, ...exit(2, 'intervalSeconds', 604_801n) } },
    ],
    ['no interval', 'settings', { input: { ...interval, intervalSeconds: '0' }, before: SETTINGS }],
    [
      'another kind of exit',
      'settings',
      { input: interval, before: { ...SETTINGS, ...exit(1, 'noticeSeconds', 604_800n) } },
    ],
    [
      'a longer notice',
      'settings',
      {
        input: { exitTermKind: 'notice', intervalSeconds: '0' },
        before: { ...SETTINGS, ...exit(1, 'noticeSeconds', 86_399n) },
      },
    ],
    [
      'a later end',
      'settings',
      {
        input: { ...interval, exitTermKind: 'maturity', intervalSeconds: '0', maturityTimestamp: '9' },
        before: { ...SETTINGS, ...exit(3, 'maturityTimestamp', 8n) },
      },
    ],
    ['a role', 'allocator-grant', {}],
    ['another role', 'manager-grant', {}],
    ['an account that is let in again', 'block', { input: { blocked: false }, before: { isBlocked: true } }],
  ])('holds %s against the chain', (_, name, given) => {
    expect(judged('asset-manager', name, { ...given, by: STRICTER })).toBe('not_stricter')
    expect(judged('asset-manager', name, { ...given, by: { kind: 'set' } })).toBe('loosening_not_stated')
  })

  const sooner = { ...SETTINGS, ...exit(2, 'intervalSeconds', 1_209_600n) }
  const seen = (reason: Proposal['reason'], kind = 'loosen') => ({ kind, loosens: true as const, reason })
  it.each<readonly [string, Given, string | null]>([
    [
      'settings',
      {
        input: interval,
        before: sooner,
        after: SETTINGS,
        by: { kind: 'tighten', reason: { intervalSecondsFrom: '1209600' } },
      },
      null,
    ],
    [
      'settings',
      {
        input: { ...interval, exitTermKind: 'instant', intervalSeconds: '0' },
        before: SETTINGS,
        after: exit(0, 'noticeSeconds', 0n),
        by: { kind: 'tighten', reason: { exitTermKindFrom: 'interval', intervalSecondsFrom: '604800' } },
      },
      null,
    ],
    // Somebody raised the buffer while a person was asked about something else of the same call.
    [
      'settings',
      {
        input: interval,
        before: { ...SETTINGS, liquidityBufferBps: 2_000, minDepositAssets: 0n },
        by: seen({ minDepositAssetsFrom: '0' }),
      },
      'changed_meanwhile',
    ],
    [
      'settings',
      {
        input: interval,
        before: { ...SETTINGS, liquidityBufferBps: 2_000 },
        by: seen({ liquidityBufferBpsFrom: '1500' }),
      },
      'changed_meanwhile',
    ],
    [
      'settings',
      {
        input: interval,
        before: { ...SETTINGS, liquidityBufferBps: 2_000 },
        after: SETTINGS,
        by: seen({ liquidityBufferBpsFrom: '2000' }),
      },
      null,
    ],
    [
      'caps',
      { before: { listing: { ...listed.listing, absoluteCapAssets: 0n } }, by: seen({}) },
      'changed_meanwhile',
    ],
    [
      'caps',
      {
        before: { listing: { ...listed.listing, absoluteCapAssets: 2n } },
        by: seen({ absoluteCapAssetsFrom: '1' }),
      },
      'changed_meanwhile',
    ],
    [
      'caps',
      {
        before: one(MARKET, { ...listed.listing, absoluteCapAssets: 2n }, listed.listing),
        after: listed,
        by: seen({ absoluteCapAssetsFrom: '2' }),
      },
      null,
    ],
    [
      'routing',
      { before: listed, after: { routing: [MARKET, OTHER_MARKET] }, by: seen({ routingFrom: 'nowhere' }) },
      null,
    ],
    [
      'routing',
      { before: { ...listed, routing: [MARKET] }, by: seen({ routingFrom: 'nowhere' }) },
      'changed_meanwhile',
    ],
    [
      'fees',
      { after: newFees, by: seen({ managementFeeBpsFrom: '20', performanceFeeBpsFrom: '800' }) },
      null,
    ],
    [
      'fees',
      { after: newFees, by: seen({ managementFeeBpsFrom: '20', performanceFeeBpsFrom: '900' }) },
      'changed_meanwhile',
    ],
    ['curator-fee', { by: seen({ borrowerManagerFeeBpsFrom: '200' }) }, 'changed_meanwhile'],
    ['allocator-grant', { after: role(OTHER_SIGNER, true), by: seen({}) }, null],
    [
      'attach',
      {
        input: { allocationEnabled: false },
        after: one(MARKET, { ...listing, approved: true, allocationEnabled: false }, listing),
        by: { kind: 'set', reason: {} },
      },
      null,
    ],
  ])('takes back nothing that became stricter meanwhile: %s %#', (name, given, check) => {
    expect(judged('asset-manager', name, given)).toBe(check)
  })
})

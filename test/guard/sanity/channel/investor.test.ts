import { describe, expect, it } from 'vitest'
import { LOAN, STRANGER, VAULT } from '../../fixtures.ts'
import { OTHER_SIGNER } from '../../kinds-by-hand.ts'
import { ASSETS, type Given, judged, NOW_S, refusalOf, request, SHARES } from '../vault-chain.ts'

describe('a minimum', () => {
  const said = (name: string, given: Given) => refusalOf('investor', name, given)?.message
  const deposit = (minShares: string) => ({ input: { minShares }, before: { previewDeposit: 1_000_001n } })

  it('that is too low is told with the least that is allowed, as a request writes it', () => {
    expect(said('investor-deposit', deposit('1'))).toBe(
      'minShares is 1 (1 base unit of shares); the least allowed is 995001 (995,001 base units of shares), 0.5 % below the 1,000,001 base units of shares that would come now.',
    )
    expect(judged('investor', 'investor-deposit', deposit('995000'))).toBe('minimum_too_low')
    expect(judged('investor', 'investor-deposit', deposit('995001'))).toBeNull()
    expect(said('investor-redeem', { input: { minAssets: '1' } })).toBe(
      'minAssets is 1 (0.000001 sUSD); the least allowed is 4975000000 (4,975 sUSD), 0.5 % below the 5,000 sUSD that would come now.',
    )
  })

  it('that cannot be met is told with what would come', () => {
    expect(judged('investor', 'investor-deposit', deposit('1000001'))).toBeNull()
    expect(said('investor-deposit', deposit('1000002'))).toBe(
      'minShares is 1000002 (1,000,002 base units of shares); only 1000001 (1,000,001 base units of shares) would come now, and the least allowed is 995001 (995,001 base units of shares).',
    )
    expect(said('investor-redeem', { input: { minAssets: '5000000001' } })).toContain(
      'only 5000000000 (5,000 sUSD) would come now',
    )
  })
})

const queued = { changes: { [VAULT]: -SHARES }, after: { queueEnd: 8n } }
const paid = { after: { request: { ...request, paid: true } }, changes: { [LOAN]: ASSETS } }
const paused = { shareMobilityPaused: true, restoreAfter: BigInt(NOW_S) }
const changed = { changes: { [VAULT]: -SHARES }, after: { balanceOf: SHARES * 2n } }
describe('what a holder of a vault does', () => {
  it.each<readonly [string, Given, string | null]>([
    ['request-redeem', queued, null],
    ['request-redeem', { ...queued, input: { receiverAddress: STRANGER } }, 'receiver_not_us'],
    ['request-redeem', { before: { redemptionFrozen: true } }, 'redemption_frozen'],
    ['request-redeem', { before: { balanceOf: SHARES - 1n } }, 'shares_too_few'],
    ['request-redeem', { before: { asset: STRANGER } }, 'asset_differs'],
    ['request-redeem', { input: { shares: '0' } }, 'amount_is_zero'],
    // 2,000 whole shares count as 3,000 sUSD.
    ['request-redeem', { before: { convertToAssets: 3_000_000_000n }, ...queued }, null],
    ['request-redeem', { before: { convertToAssets: 3_000_000_001n }, ...queued }, 'shares_worth_more'],
    ['request-redeem', { ...queued, after: {} }, 'request_not_as_asked'],
    ['request-redeem', { ...queued, changes: {} }, 'request_not_as_asked'],
    ['fulfill-redeem', paid, null],
    ['fulfill-redeem', { before: { request: { ...request, owner: STRANGER } } }, 'request_not_ours'],
    ['fulfill-redeem', { before: { request: { ...request, receiver: STRANGER } } }, 'request_not_ours'],
    ['fulfill-redeem', { before: { request: { ...request, paid: true } } }, 'request_paid'],
    ['fulfill-redeem', { atS: NOW_S - 1 }, 'redemption_not_due'],
    ['fulfill-redeem', { ...paid, after: {} }, 'redemption_underpaid'],
    ['fulfill-redeem', { ...paid, after: { request: null } }, 'read_failed'],
    ['fulfill-redeem', { ...paid, before: { asset: null } }, 'read_failed'],
    ['fulfill-redeem', { ...paid, before: { totalAssets: null } }, 'read_failed'],
    ['fulfill-redeem', { ...paid, before: { totalSupply: null } }, 'read_failed'],
    ['fulfill-redeem', { ...paid, changes: { [LOAN]: (ASSETS * 994n) / 1_000n } }, 'redemption_underpaid'],
    // What is worth nothing any more still has to pay something.
    ['fulfill-redeem', { ...paid, before: { totalAssets: 0n }, changes: {} }, 'redemption_underpaid'],
    // What they count as is rounded up.
    [
      'request-redeem',
      {
        input: { shares: String(SHARES + 1n) },
        before: { convertToAssets: 3_000_000_001n, balanceOf: SHARES + 1n },
        changes: { [VAULT]: -SHARES - 1n },
        after: { queueEnd: 8n },
      },
      null,
    ],
    ['transfer-shares', changed, null],
    ['transfer-shares', { before: { shareMobilityPaused: true } }, 'shares_stand_still'],
    ['transfer-shares', { before: { transferProfile: 1 } }, 'recipient_not_trusted'],
    [
      'transfer-shares',
      { before: { transferProfile: 1, trustedRecipients: [OTHER_SIGNER] }, ...changed },
      null,
    ],
    [
      'transfer-shares',
      { before: { transferProfile: 2, trustedRecipients: [OTHER_SIGNER] } },
      'recipient_not_trusted',
    ],
    ['transfer-shares', { ...changed, after: {} }, 'transfer_not_as_asked'],
    ['restore-shares', { before: paused, after: { shareMobilityPaused: false } }, null],
    ['restore-shares', {}, 'not_paused'],
    ['restore-shares', { before: paused, atS: NOW_S - 1 }, 'restore_not_due'],
    ['restore-shares', { before: paused }, 'mobility_not_set'],
  ])('%s %#', (name, given, check) => {
    const worth = { convertToAssets: 2_500_000_000n }
    expect(judged('investor', name, { ...given, before: { ...worth, ...given.before } })).toBe(check)
  })
})

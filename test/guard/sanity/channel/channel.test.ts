import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Role } from '../../../../src/service/contract/roles.ts'
import { BORROWER, LOAN, SELF, STRANGER } from '../../fixtures.ts'
import { CHANNEL, OTHER_SIGNER } from '../../kinds-by-hand.ts'
import { ASSETS, asked, type Given, judged, refusalOf, SHARES } from '../vault-chain.ts'

/** A role as it is of one account alone. */
const ofAccount = (account: string, has: boolean) => ({
  hasRole: (data: Hex) => asked(data).includes(account.slice(2)) === has,
})
/** Roles that all have, and nobody knows of one account. */
const unknownOf = (account: string) => ({
  hasRole: (data: Hex) => (asked(data).includes(account.slice(2)) ? null : true),
})
const curatesAlone = { hasRole: (data: Hex) => !asked(data).includes(SELF.slice(2)) }

const claimed = { feeSharesClaimed: SHARES }
describe('what is done with a channel', () => {
  it.each<readonly [Role, string, Given, string | null]>([
    ['partner', 'partner-deposit', {}, null],
    ['investor', 'investor-deposit', {}, null],
    ['investor', 'investor-deposit', { before: { vault: STRANGER } }, 'wrapped_vault_not_pinned'],
    ['investor', 'investor-deposit', { before: { isBlocked: true } }, 'channel_blocked'],
    [
      'investor',
      'investor-deposit',
      { before: { isBlocked: (data: Hex) => asked(data).includes(SELF.slice(2)) } },
      'account_blocked',
    ],
    [
      'investor',
      'investor-deposit',
      { before: { previewDeposit: (SHARES * 1_006n) / 1_000n } },
      'minimum_too_low',
    ],
    ['investor', 'investor-deposit', { before: { previewDeposit: null } }, 'read_failed'],
    // Somebody made a share dear: what is insisted on is worth less than what is paid.
    [
      'investor',
      'investor-deposit',
      { before: { convertToAssets: (ASSETS * 994n) / 1_000n } },
      'share_price_unsound',
    ],
    ['investor', 'investor-deposit', { before: { convertToAssets: (ASSETS * 995n) / 1_000n } }, null],
    ['investor', 'investor-deposit', { after: { convertToAssets: 0n } }, 'share_price_unsound'],
    [
      'investor',
      'investor-deposit',
      { input: { minShares: '0' }, before: { previewDeposit: 0n } },
      'minimum_too_low',
    ],
    ['investor', 'investor-redeem', { changes: { [CHANNEL]: -SHARES } }, null],
    ['partner', 'partner-redeem', { changes: { [CHANNEL]: -SHARES } }, null],
    ['investor', 'investor-redeem', { changes: { [CHANNEL]: -SHARES - 1n } }, 'shares_differ'],
    [
      'investor',
      'investor-redeem',
      { before: { previewRedeem: (ASSETS * 1_006n) / 1_000n } },
      'minimum_too_low',
    ],
    ['partner', 'fee-shares', { changes: { [CHANNEL]: SHARES }, after: claimed }, null],
    ['partner', 'fee-shares', { before: { reseller: STRANGER } }, 'not_reseller'],
    ['partner', 'fee-shares', { before: { feeShares: SHARES - 1n } }, 'fee_shares_too_few'],
    ['partner', 'fee-shares', { after: claimed }, 'shares_differ'],
    ['partner', 'fee-shares', { changes: { [CHANNEL]: SHARES } }, 'claim_not_counted'],
    ['partner', 'borrower-fee', { changes: { [LOAN]: ASSETS }, after: { borrowerFeeClaimed: ASSETS } }, null],
    ['partner', 'borrower-fee', { before: { borrowerFeeAssets: ASSETS * 2n } }, 'minimum_too_low'],
    ['partner', 'borrower-fee', { before: { reseller: STRANGER } }, 'not_reseller'],
    [
      'investor',
      'investor-redeem',
      { before: { isBlocked: true }, changes: { [CHANNEL]: -SHARES } },
      'channel_blocked',
    ],
    [
      'partner',
      'fee-shares',
      { before: { isBlocked: true }, changes: { [CHANNEL]: SHARES }, after: claimed },
      'channel_blocked',
    ],
    [
      'partner',
      'borrower-fee',
      {
        before: { isBlocked: true },
        changes: { [LOAN]: ASSETS },
        after: { borrowerFeeClaimed: ASSETS },
      },
      'channel_blocked',
    ],
    ['partner', 'fee-shares', { input: { shares: '0' } }, 'fee_shares_too_few'],
    [
      'partner',
      'fee-shares',
      { changes: { [CHANNEL]: SHARES }, after: { feeSharesClaimed: SHARES + 1n } },
      'claim_not_counted',
    ],
    ['partner', 'borrower-fee', { changes: { [LOAN]: ASSETS } }, 'claim_not_counted'],
    [
      'curator',
      'block',
      { after: { isBlocked: (data: Hex) => asked(data).includes(BORROWER.slice(2)) } },
      null,
    ],
    ['curator', 'block', { before: { curator: STRANGER } }, 'not_curator'],
    ['curator', 'block', { before: { isBlocked: true } }, 'already_blocked'],
    ['curator', 'block', { input: { blocked: false } }, 'not_blocked'],
    ['curator', 'block', { after: { isBlocked: true } }, 'block_not_as_asked'],
    ['curator', 'block', {}, 'block_not_as_asked'],
    ['partner', 'partner-channel', { before: curatesAlone }, null],
    ['partner', 'partner-channel', {}, 'curator_not_of_vault'],
    [
      'partner',
      'partner-channel',
      { input: { resellerAddress: OTHER_SIGNER }, before: curatesAlone },
      'reseller_not_us',
    ],
    ['partner', 'partner-channel', { before: { asset: STRANGER, hasRole: true } }, 'asset_differs'],
    ['curator', 'curator-channel', { before: { hasRole: true } }, null],
    ['curator', 'curator-channel', { before: curatesAlone }, 'not_curator'],
    ['asset-manager', 'manager-channel', { before: { hasRole: true } }, null],
    ['asset-manager', 'manager-channel', { before: curatesAlone }, 'not_manager'],
    ['asset-manager', 'manager-channel', { before: ofAccount(SELF, true) }, 'curator_not_of_vault'],
    ['asset-manager', 'manager-channel', { before: { asset: null, hasRole: true } }, 'read_failed'],
    ['asset-manager', 'manager-channel', { before: unknownOf(SELF) }, 'read_failed'],
    ['asset-manager', 'manager-channel', { before: unknownOf(OTHER_SIGNER) }, 'read_failed'],
  ])('%s: %s %#', (as, name, given, check) => {
    expect(judged(as, name, given)).toBe(check)
  })
})

it('names the minimum of a claim that is too low as a request writes it', () => {
  expect(refusalOf('partner', 'borrower-fee', { input: { minAssets: '1' } })?.message).toBe(
    'minAssets is 1 (0.000001 sUSD); the least allowed is 4975000000 (4,975 sUSD), 0.5 % below the 5,000 sUSD that would come now.',
  )
})

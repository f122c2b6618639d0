import type { Address } from 'viem'
import type { LogEntry } from './activity-entry.ts'
import { type IndexedLog, lower } from './logs.ts'

/** Describe what happened to a vault; null for any other log. Pure. */
export function readVaultLog({ event, address }: IndexedLog): LogEntry | null {
  const vault = (type: string, amount?: bigint, market?: Address): LogEntry => ({
    resourceType: 'vault',
    resourceId: address,
    type,
    vaultAddress: address,
    ...(amount === undefined ? {} : { amount }),
    ...(market === undefined ? {} : { marketAddress: lower(market) }),
  })
  switch (event.eventName) {
    case 'VaultCreated':
      return vault('created')
    case 'Deposit':
      return vault('deposit', event.args.assets)
    case 'Withdraw':
      return vault('withdraw', event.args.assets)
    case 'WithdrawalRequested':
      return vault('withdrawal_requested')
    case 'WithdrawalPaid':
      return vault('withdrawal_paid', event.args.assets)
    case 'ListingSet':
      return vault('listing_set', event.args.absoluteCapAssets, event.args.market)
    case 'Allocated':
      return vault('allocate', event.args.assets, event.args.market)
    case 'Deallocated':
      return vault('deallocate', event.args.assets, event.args.market)
    case 'ExitTermsSet':
      return vault('exit_terms_set')
    case 'DepositLimitsSet':
      return vault('deposit_limits_set')
    case 'RoutingSet':
      return vault('routing_set')
    case 'FeeConfigSet':
      return vault('fee_config_set')
    case 'CuratorFeeSet':
      return vault('curator_fee_set')
    case 'FeesAccrued':
      return 'managementAssets' in event.args ? vault('fees_accrued', feeSum(event.args)) : null
    case 'DefaultAdminTransferScheduled':
      return vault('ownership_offered')
    case 'DefaultAdminTransferCanceled':
      return vault('ownership_offer_cancelled')
    case 'TransferProfileSet':
      return vault('transfer_profile_set')
    case 'TrustedRecipientSet':
      return vault(event.args.trusted ? 'recipient_trusted' : 'recipient_no_longer_trusted')
    case 'ShareMobilityPaused':
      return vault('share_mobility_paused')
    case 'ShareMobilityRestored':
      return vault('share_mobility_restored')
    default:
      return null
  }
}

const feeSum = (fees: {
  readonly managementAssets: bigint
  readonly performanceAssets: bigint
  readonly borrowerManagerAssets: bigint
}): bigint => fees.managementAssets + fees.performanceAssets + fees.borrowerManagerAssets

/** Describe what happened to a partner channel of a vault; null for what is bookkeeping. Pure. */
export function readChannelLog({ event, address }: IndexedLog, vaultAddress: Address): LogEntry | null {
  const wrapper = (type: string, amount?: bigint): LogEntry => ({
    resourceType: 'wrapper',
    resourceId: address,
    type,
    vaultAddress,
    ...(amount === undefined ? {} : { amount }),
  })
  switch (event.eventName) {
    case 'ChannelCreated':
      return wrapper('created')
    case 'Deposit':
      return wrapper('deposit', event.args.assets)
    case 'Withdraw':
      return wrapper('withdraw', event.args.assets)
    case 'BlockedSet':
      return wrapper(event.args.blocked ? 'account_blocked' : 'account_unblocked')
    case 'FeesAccrued':
      return 'resellerAssets' in event.args
        ? wrapper('fees_accrued', event.args.resellerAssets + event.args.borrowerAssets)
        : null
    case 'FeeSharesClaimed':
      return wrapper('fee_shares_claimed', event.args.shares)
    case 'BorrowerFeeClaimed':
      return wrapper('borrower_fee_claimed', event.args.assets)
    default:
      return null
  }
}

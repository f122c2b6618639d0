import type { LogEntry } from './activity-entry.ts'
import type { IndexedLog } from './logs.ts'

/** Describe what happened to a recovery fund or to its NAV oracle; null for any other log. Pure. */
export function readFundLog(log: IndexedLog): LogEntry | null {
  return readEpochLog(log) ?? readHoldingLog(log) ?? readSwitchLog(log) ?? readNavLog(log)
}

const fund = ({ address }: IndexedLog, type: string, amount?: bigint): LogEntry => ({
  resourceType: 'fund',
  resourceId: address,
  type,
  ...(amount === undefined ? {} : { amount }),
})

function readEpochLog(log: IndexedLog): LogEntry | null {
  const { event } = log
  switch (event.eventName) {
    case 'EpochOpened':
      return fund(log, 'epoch_opened')
    case 'EpochClosed':
      return fund(log, 'epoch_closed', event.args.acceptedAssets)
    case 'Subscribed':
      return fund(log, 'subscribe', event.args.assets)
    case 'SubscriptionWithdrawn':
      return fund(log, 'subscription_withdraw', event.args.assets)
    case 'SharesClaimed':
      return fund(log, 'shares_claim', event.args.shares)
    default:
      return null
  }
}

function readHoldingLog(log: IndexedLog): LogEntry | null {
  const { event } = log
  switch (event.eventName) {
    case 'AcquisitionReserved':
      return fund(log, 'acquisition_bid', event.args.assets)
    case 'AcquisitionReleased':
      return fund(log, 'acquisition_released', event.args.assets)
    case 'HoldingRecorded':
      return fund(log, 'holding_acquired', event.args.transferPriceAssets)
    case 'HoldingListed':
      return fund(log, 'holding_listed', event.args.reserveAssets)
    case 'HoldingReturned':
      return fund(log, 'holding_returned')
    case 'HoldingDisposed':
      return fund(log, 'holding_disposed', event.args.proceedsAssets)
    default:
      return null
  }
}

function readSwitchLog(log: IndexedLog): LogEntry | null {
  const { event } = log
  switch (event.eventName) {
    case 'ChannelPolicySet':
      return fund(log, 'channel_policy_set', event.args.maxAssetsPerEpoch)
    case 'PurchasesEnabledSet':
      return fund(log, event.args.enabled ? 'purchases_enabled' : 'purchases_disabled')
    case 'FundApprovalsSet':
      return fund(log, 'approvals_set')
    case 'FundImpairmentSet':
      return fund(log, 'impairment_set')
    case 'FundInvestorGateSet':
      return fund(log, event.args.on ? 'investor_gate_on' : 'investor_gate_off')
    case 'FundManagerSet':
      return fund(log, 'manager_set')
    default:
      return null
  }
}

function readNavLog({ event, address }: IndexedLog): LogEntry | null {
  switch (event.eventName) {
    case 'NavReported':
      return {
        resourceType: 'nav_oracle',
        resourceId: address,
        type: 'nav_report',
        amount: event.args.report.value,
      }
    case 'FundLaunched':
      return { resourceType: 'fund', resourceId: event.args.fund.toLowerCase(), type: 'fund_launched' }
    default:
      return null
  }
}

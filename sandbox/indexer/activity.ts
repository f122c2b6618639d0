import type { Address } from 'viem'
import { claimEntityId } from '../../src/service/contract/assumptions.ts'
import type { ActivityContext, ActivityEntry, LogEntry } from './activity-entry.ts'
import { readFundLog } from './fund-activity.ts'
import { type IndexedLog, lower } from './logs.ts'
import { readTradeLog } from './trade-activity.ts'

/**
 * Describe one log as an activity row; null for what is bookkeeping (accruals, token transfers, roles). Pure.
 * A position's id is `market:borrower`, a liquidation's `market:claim`, an RFQ's or a lot's `contract:number`, the
 * others' their contract's address.
 * Source: service API, "Activity item".
 */
export function activityOf(log: IndexedLog, context: ActivityContext): ActivityEntry | null {
  const facts =
    readMarketLog(log) ??
    readOracleLog(log, context.marketByOracle) ??
    readPositionLog(log) ??
    readLiquidationLog(log) ??
    readVaultLog(log) ??
    readTradeLog(log) ??
    readFundLog(log)
  if (facts === null) return null
  return {
    resource: {
      resourceType: facts.resourceType,
      resourceId: facts.resourceId,
      chainId: context.chainId,
      address: log.address,
      type: facts.type,
      amount: facts.amount === undefined ? null : String(facts.amount),
      txHash: log.txHash,
      logIndex: log.logIndex,
      blockNumber: String(log.blockNumber),
      timestampEpochMs: log.timestampS * 1_000,
    },
    marketAddress: facts.marketAddress ?? null,
    vaultAddress: facts.vaultAddress ?? null,
  }
}

function readMarketLog({ event, address }: IndexedLog): LogEntry | null {
  const market = (type: string, amount?: bigint, vault?: Address): LogEntry => ({
    resourceType: 'market',
    resourceId: address,
    type,
    marketAddress: address,
    ...(amount === undefined ? {} : { amount }),
    ...(vault === undefined ? {} : { vaultAddress: lower(vault) }),
  })
  switch (event.eventName) {
    case 'Supplied':
      return market('supply', event.args.assets, event.args.vault)
    case 'Withdrawn':
      return market('withdraw', event.args.assets, event.args.vault)
    case 'BadDebtRealized':
      return market('bad_debt_realized', event.args.assets, event.args.vault)
    case 'VaultAdded':
      return market('vault_added', undefined, event.args.vault)
    case 'PausedSet':
      return market(event.args.paused ? 'paused' : 'unpaused')
    case 'LiquidatorGateSet':
      return market(event.args.on ? 'liquidator_gate_on' : 'liquidator_gate_off')
    default:
      return null
  }
}

function readOracleLog(
  { event, address }: IndexedLog,
  marketByOracle: ReadonlyMap<Address, Address>,
): LogEntry | null {
  const market = marketByOracle.get(address)
  if (market === undefined) return null
  const facts = { resourceType: 'market', resourceId: market, marketAddress: market } as const
  switch (event.eventName) {
    case 'PriceSet':
      return { ...facts, type: 'oracle_price', amount: event.args.priceWad }
    case 'StateSet':
      return { ...facts, type: 'oracle_state' }
    default:
      return null
  }
}

function readPositionLog({ event, address }: IndexedLog): LogEntry | null {
  const position = (type: string, borrower: Address, amount: bigint, vault?: Address): LogEntry => ({
    resourceType: 'position',
    resourceId: `${address}:${lower(borrower)}`,
    type,
    amount,
    marketAddress: address,
    ...(vault === undefined ? {} : { vaultAddress: lower(vault) }),
  })
  switch (event.eventName) {
    case 'CollateralDeposited':
      return position('collateral_deposit', event.args.borrower, event.args.assets)
    case 'CollateralWithdrawn':
      return position('collateral_withdraw', event.args.borrower, event.args.assets)
    case 'Borrowed':
      return position('borrow', event.args.borrower, event.args.assets, event.args.vault)
    case 'Repaid':
      return position('repay', event.args.borrower, event.args.assets, event.args.vault)
    default:
      return null
  }
}

function readLiquidationLog({ event, address }: IndexedLog): LogEntry | null {
  switch (event.eventName) {
    case 'Liquidated':
      return {
        resourceType: 'liquidation',
        resourceId: claimEntityId(address, String(event.args.claimId)),
        type: 'liquidate',
        amount: event.args.repayAssets,
        marketAddress: address,
        vaultAddress: lower(event.args.vault),
      }
    case 'ClaimSettled':
      return {
        resourceType: 'liquidation',
        resourceId: claimEntityId(address, String(event.args.claimId)),
        type: 'liquidation_claim_settled',
        amount: event.args.collateralAssets,
        marketAddress: address,
      }
    default:
      return null
  }
}

function readVaultLog({ event, address }: IndexedLog): LogEntry | null {
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

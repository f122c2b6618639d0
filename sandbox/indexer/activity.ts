import type { Address } from 'viem'
import { claimEntityId } from '../../src/service/contract/assumptions.ts'
import type { ActivityContext, ActivityEntry, LogEntry } from './activity-entry.ts'
import type { ChannelBook } from './channel-book.ts'
import { readFundLog } from './fund-activity.ts'
import { type IndexedLog, lower } from './logs.ts'
import { readTradeLog } from './trade-activity.ts'
import { readChannelLog, readVaultLog } from './vault-activity.ts'

/**
 * Describe one log as an activity row; null for what is bookkeeping (accruals, token transfers, roles). Pure.
 * A position's id is `market:borrower`, a liquidation's `market:claim`, an RFQ's or a lot's `contract:number`, the
 * others' their contract's address.
 * Source: service API, "Activity item".
 */
export function activityOf(
  log: IndexedLog,
  context: ActivityContext,
  channels: ChannelBook,
): ActivityEntry | null {
  const channel = channels.get(log.address)
  // A channel's deposits have the name of a vault's.
  const facts = channel === undefined ? readLog(log, context) : readChannelLog(log, channel.vault)

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

const readLog = (log: IndexedLog, context: ActivityContext): LogEntry | null =>
  readMarketLog(log) ??
  readOracleLog(log, context.marketByOracle) ??
  readPositionLog(log) ??
  readLiquidationLog(log) ??
  readVaultLog(log) ??
  readTradeLog(log) ??
  readFundLog(log)

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

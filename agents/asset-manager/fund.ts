import { moment, span } from '../../src/readable.js'
import type { FundResource } from '../../src/service/contract/fund-resources.ts'
import type { Moment, Stop } from '../agent.ts'
import { BPS, ceilDiv } from '../protocol/health.ts'
import type { ManagerPolicy } from './policy.ts'
import type { ChannelPolicy, FundFigures, FundSeen } from './seen.ts'
import type { Quote } from './value.ts'

const RAY = 10n ** 27n

/** A fund that may buy, with every figure known. Amounts are base units of its quote asset. */
export type OpenFund = {
  readonly row: FundResource
  readonly figures: FundFigures
  readonly quote: Quote
  readonly policy: ChannelPolicy
  /** What may be bid: idle, funded by its epochs, and beyond what is kept back. May be below zero. */
  readonly spendableAssets: bigint
  /** What is left of the channel's budget for this epoch. May be below zero. */
  readonly budgetAssets: bigint
}

/**
 * Judge whether a fund may buy now: open, or the first rule that stops it, by a stable name. Pure. What is not known
 * stops it.
 */
export function judgeFund(
  { row, figures }: FundSeen,
  moment: Moment,
  policy: ManagerPolicy,
): OpenFund | Stop {
  if (figures === null) {
    const message = `Our reads of fund ${row.address} failed; nothing is bid on figures that are not known.`
    return { check: 'fund_not_read', message }
  }
  if (figures.manager !== moment.signer) {
    const message = `The fund's contract says that ${figures.manager} manages it.`
    return { check: 'not_manager', message }
  }
  const closed = approvalStop(row) ?? epochStop(row, figures, moment, policy)
  if (closed !== null) return closed
  const quote = quoteOf(row, moment, policy)
  if ('check' in quote) return quote
  const channel = figures.channels.acquisition
  if (!channel.enabled) {
    return { check: 'channel_disabled', message: "The fund's policy for acquisition is disabled." }
  }
  const funded = fundedAssets(row, figures)
  if (funded === null) {
    const message = "A figure of the fund's epochs or holdings is missing; what it has is not known."
    return { check: 'funding_unknown', message }
  }
  const kept = ceilDiv(figures.netAssets * BigInt(policy.bidding.idleBpsMin), BPS)
  return {
    row,
    figures,
    quote,
    policy: channel,
    spendableAssets: (funded < figures.idleAssets ? funded : figures.idleAssets) - kept,
    budgetAssets: channel.maxAssetsPerEpoch - figures.usedAssets,
  }
}

/** The flags that close it. */
function approvalStop(row: FundResource): Stop | null {
  const flags = {
    fund_not_ready: ['fundReadinessApproved', row.fundReadinessApproved],
    quote_asset_not_approved: ['quoteAssetProfileApproved', row.quoteAssetProfileApproved],
    purchases_disabled: ['purchasesEnabled', row.purchasesEnabled],
  } as const
  for (const [check, [name, value]] of Object.entries(flags)) {
    if (value !== true) return { check, message: `${name} is ${value}; it must be true.` }
  }
  if (row.impairmentStatus === 'none') return null
  return { check: 'fund_impaired', message: `impairmentStatus is ${row.impairmentStatus}; it must be none.` }
}

/** Purchases need an epoch, and end with its funding deadline once it has closed. */
function epochStop(
  { currentEpoch }: FundResource,
  figures: FundFigures,
  { chain }: Moment,
  { bidding }: ManagerPolicy,
): Stop | null {
  if (currentEpoch?.epochId == null || figures.epochId === 0n) {
    return { check: 'no_epoch', message: 'The fund has no epoch yet.' }
  }
  if (BigInt(currentEpoch.epochId) !== figures.epochId) {
    const message = `The service shows epoch ${currentEpoch.epochId}; the fund's contract is in ${figures.epochId}.`
    return { check: 'epoch_differs', message }
  }
  if (currentEpoch.closedAt == null) return null
  if (currentEpoch.postCloseFundingDeadline == null) {
    const message = 'The epoch has closed, and its postCloseFundingDeadline is not known.'
    return { check: 'funding_deadline_unknown', message }
  }
  const leftS = BigInt(currentEpoch.postCloseFundingDeadline) - BigInt(chain.timestampS)
  if (leftS >= BigInt(bidding.closeMarginS)) return null
  const message = `Funding ends at ${moment(BigInt(currentEpoch.postCloseFundingDeadline))}; the policy asks ${span(bidding.closeMarginS * 1_000)}.`
  return { check: 'funding_deadline_passed', message, reason: { leftS: String(leftS) } }
}

function quoteOf(row: FundResource, { deployment }: Moment, { bidding }: ManagerPolicy): Quote | Stop {
  const pinned = deployment.funds.find(({ address }) => address === row.address)
  const asset = deployment.assets.find(({ address }) => address === pinned?.quoteAsset)
  if (pinned === undefined || asset === undefined || row.quoteAssetAddress !== asset.address) {
    const message = `The service says that the fund pays in ${row.quoteAssetAddress}; pinned is ${pinned?.quoteAsset}.`
    return { check: 'quote_asset_differs', message }
  }
  if (row.quoteAssetDecimals !== asset.decimals) {
    const message = `quoteAssetDecimals is ${row.quoteAssetDecimals}; pinned are ${asset.decimals}.`
    return { check: 'decimals_differ', message }
  }
  const terms = bidding.quoteAssets[asset.symbol]
  if (terms === undefined) {
    const message = `The policy's quoteAssets do not list ${asset.symbol}.`
    return { check: 'quote_asset_not_allowed', message }
  }
  return { ...asset, priceUsdMicros: terms.priceUsdMicros }
}

/**
 * Sum what a fund's epochs gave it and what is left of that, by the service's rows: what each closed epoch took of its
 * deposits less withdrawals, and what sales brought, less what holdings cost and what waits in bids. Null when a figure
 * is missing or makes no sense. Pure.
 */
export function fundedAssets(row: FundResource, { reservedAssets }: FundFigures): bigint | null {
  if (row.epochs == null || row.holdings == null) return null
  let sum = -reservedAssets
  for (const { closedAt, depositedQuoteAmount, withdrawnQuoteAmount, activeScaleRay } of row.epochs) {
    // An open epoch's deposits are its investors' still.
    if (closedAt == null) continue
    if (depositedQuoteAmount == null || withdrawnQuoteAmount == null || activeScaleRay == null) return null
    const total = BigInt(depositedQuoteAmount) - BigInt(withdrawnQuoteAmount)
    const scale = BigInt(activeScaleRay)
    if (total < 0n || scale > RAY) return null
    sum += (total * scale) / RAY
  }
  for (const { holdingStatus, transferPriceAssets, recoveryValueAssets } of row.holdings) {
    if (transferPriceAssets == null) return null
    sum -= BigInt(transferPriceAssets)
    if (holdingStatus !== 'disposed') continue
    if (recoveryValueAssets == null) return null
    sum += BigInt(recoveryValueAssets)
  }
  return sum
}

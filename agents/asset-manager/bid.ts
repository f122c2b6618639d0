import { moment, native, span } from '../../src/readable.js'
import type { Proposal } from '../../src/workflow/proposal.ts'
import type { Moment, Stop } from '../agent.ts'
import { dataFeesWei } from '../protocol/data-fee.ts'
import { beyondStop } from '../protocol/experience.ts'
import { BPS, ceilDiv, tokenUnit, WAD } from '../protocol/health.ts'
import { tokens } from '../protocol/text.ts'
import { BID, heapsOf, hold, type Purse } from './exposure.ts'
import { isApart, lotOf, type OpenLot } from './lot.ts'
import type { Bidding } from './policy.ts'
import type { FundAtLot } from './seen.ts'
import { type Quote, type Valuation, valuate } from './value.ts'

/** A lot with a fund that could bid for it, and what it is worth to that fund. */
export type Candidate = {
  readonly lot: OpenLot
  readonly at: FundAtLot
  readonly value: Valuation
  /** The least bid that leads with the policy's raise. */
  readonly wantedAssets: bigint
  /** The least bid that leads at all. */
  readonly leastAssets: bigint
}

/**
 * Value a lot for a fund; null where the lot's quote asset is not the fund's. Pure. A fund's own appraisal must agree
 * with our arithmetic: that proves units and decimals.
 */
export function candidateOf(
  lot: OpenLot,
  { fund }: Purse,
  { experience }: Moment,
  policy: Bidding,
): Candidate | Stop | null {
  const { row, quote } = fund
  if (lot.row.quoteAssetAddress !== quote.address) return null
  const at = lot.funds.find(({ fundAddress }) => fundAddress === row.address)
  if (at?.appraisedAssets == null) {
    return { check: 'not_appraised', message: `The fund ${row.address} does not appraise the position.` }
  }
  if (isApart(lot.worthAssets, at.appraisedAssets, policy.priceDivergenceBpsMax)) {
    const [ours, theirs] = [lot.worthAssets, at.appraisedAssets].map((assets) =>
      tokens(assets, quote.decimals, quote.symbol),
    )
    const message = `By our arithmetic the position is worth ${ours}; the fund appraises it at ${theirs}.`
    return { check: 'value_disputed', message }
  }
  const value = valuate(lot.worthAssets, { ...lot, experience }, lot.lane, quote, policy)
  if (value.expected.isBeyond) return beyondStop(value.expected, policy.experienceBpsMax, 'asset-manager')
  const leastAssets = highest(lot.reserveAssets, lot.bestAssets + 1n)
  const raise = (lot.worthAssets * BigInt(policy.raiseBps)) / BPS
  const wantedAssets = lot.bestAssets === 0n ? leastAssets : highest(leastAssets, lot.bestAssets + raise)
  return { lot, at, value, leastAssets, wantedAssets }
}

/** What stops a bid from being higher, by name. */
type Bound = { readonly limitedBy: string; readonly assets: bigint }

/**
 * Bid the least that leads, as far as our limit, the fund's money and every cap allow; or say which of them does not.
 * Takes what it needs from the purse; otherwise pure.
 */
export function bidFor(candidate: Candidate, purse: Purse, moment: Moment, policy: Bidding): Proposal | Stop {
  const { lot, value, leastAssets, wantedAssets } = candidate
  const { fund } = purse
  const amount = (assets: bigint) => tokens(assets, fund.quote.decimals, fund.quote.symbol)
  const gasWei = gasOf(moment, policy)
  const gasUsdMicros = (gasWei * policy.nativePriceUsdMicros) / WAD
  const bounds = boundsOf(candidate, purse, policy, gasUsdMicros)
  const tightest = bounds.reduce((one, other) => (other.assets < one.assets ? other : one))
  const reason = { ...figuresOf(candidate), ...Object.fromEntries(bounds.map(boundFigure)) }
  if (tightest.assets < leastAssets) {
    const message = `The least that leads is ${amount(leastAssets)}; ${WORDS[tightest.limitedBy]} allows ${amount(positive(tightest.assets))}.`
    const near = Number(positive(tightest.assets)) / Number(leastAssets)
    return { check: CHECKS[tightest.limitedBy] ?? tightest.limitedBy, message, reason, near }
  }
  const early = earlyStop(candidate, moment, policy)
  if (early !== null) return early
  const bidAssets = wantedAssets < tightest.assets ? wantedAssets : tightest.assets
  if (moment.nativeBalanceWei < gasWei) {
    const message = `It needs ${native(gasWei)} for gas; ${native(moment.nativeBalanceWei)} are left. Fix: send native coin to ${moment.signer}.`
    return { check: 'out_of_funds', message, reason }
  }
  const paidAssets = withFee(bidAssets, policy)
  const gainUsdMicros = usdOf(value.wonAssets - paidAssets, fund.quote) - gasUsdMicros
  take(purse, candidate, bidAssets, paidAssets)
  return {
    workflowType: BID,
    kind: 'bid',
    subject: lot.row.id,
    occurrence: `fund:${fund.row.address},above:${lot.bestAssets}`,
    input: {
      fundAddress: fund.row.address,
      acquisitionAddress: lot.row.acquisitionAddress,
      lotId: lot.row.lotId,
      bidAssets: String(bidAssets),
    },
    // Nothing leaves the signer; the fund's money counts in the budgets.
    exposure: {
      token: null,
      assets: 0n,
      usdMicros: ceilDiv(paidAssets * fund.quote.priceUsdMicros, tokenUnit(fund.quote.decimals)),
    },
    gainUsdMicros,
    worthUsdMicros: usdOf(worthAt(lot, value) - paidAssets, fund.quote),
    said: {
      of: lot.names,
      worthUsdMicros: usdOf(value.proceedsAssets, fund.quote),
      markUsdMicros: usdOf(value.proceedsAssets, fund.quote),
    },
    lot: lotOf(lot.row),
    summary: [
      `lot ${lot.row.lotId}: bid ${amount(bidAssets)} of at most ${amount(tightest.assets)}`,
      `worth ${amount(value.worthAssets)} at the market`,
      `${amount(value.fairAssets)} to us (${lot.row.lane})`,
      `${amount(value.wonAssets)} once it is won`,
    ].join(', '),
    reason: {
      ...reason,
      bidAssets: String(bidAssets),
      feeAssets: String(paidAssets - bidAssets),
      gasUsdMicros: String(gasUsdMicros),
      gainUsdMicros: String(gainUsdMicros),
      limitedBy: wantedAssets < tightest.assets ? 'leastThatLeads' : tightest.limitedBy,
    },
  }
}

/** Where bids are shown, one that others can still answer informs them and wins nothing. */
function earlyStop({ lot }: Candidate, { chain }: Moment, { lastCallS }: Bidding): Stop | null {
  const closesAtS = Math.floor(Date.parse(lot.row.closesAt) / 1_000)
  const leftS = closesAtS - chain.timestampS
  if (leftS <= lastCallS) return null
  const message = `It closes at ${moment(closesAtS)}; where bids are shown we bid in the last ${span(lastCallS * 1_000)}.`
  return { check: 'before_last_call', message, reason: { leftS } }
}

/** Everything that bounds a bid. Of money and budget, what an outbid bid of ours here holds comes back first. */
function boundsOf(
  { lot, at, value }: Candidate,
  purse: Purse,
  policy: Bidding,
  gasUsdMicros: bigint,
): readonly Bound[] {
  const { fund, held } = purse
  const { netAssets, epochId } = fund.figures
  const shareOf = (bps: number) => (netAssets * BigInt(bps)) / BPS
  const heaps = heapsOf(lot.row)
  const room = (heap: string, bps: number) => shareOf(bps) - (held.get(heap) ?? 0n)
  const released = at.reservation?.assets ?? 0n
  const unused = at.reservation?.epochId === epochId ? released : 0n
  const paid = BPS + BigInt(policy.purchaseFeeBps)
  const gasAssets = ceilDiv(gasUsdMicros * tokenUnit(fund.quote.decimals), fund.quote.priceUsdMicros)
  return [
    { limitedBy: 'value', assets: value.limitAssets },
    { limitedBy: 'won', assets: ((worthAt(lot, value) - gasAssets) * BPS) / paid },
    { limitedBy: 'funded', assets: ((purse.spendableAssets + released) * BPS) / paid },
    { limitedBy: 'epochBudget', assets: purse.budgetAssets + unused },
    { limitedBy: 'channelPrice', assets: (value.worthAssets * BigInt(fund.policy.maxPriceBps)) / BPS },
    { limitedBy: 'channelPosition', assets: shareOf(fund.policy.maxPositionBps) },
    { limitedBy: 'position', assets: shareOf(policy.positionBpsMax) },
    { limitedBy: 'borrower', assets: room(heaps.borrower, policy.borrowerBpsMax) },
    { limitedBy: 'market', assets: room(heaps.market, policy.marketBpsMax) },
    { limitedBy: 'lane', assets: room(heaps.lane, lot.lane.concentrationBpsMax) },
  ]
}

/** What winning at the next price brings: where a rival leads, that rival's guess is about as high as ours. */
const worthAt = ({ bestAssets }: OpenLot, { wonAssets, valueAssets }: Valuation) =>
  bestAssets === 0n ? wonAssets : valueAssets

const CHECKS: Readonly<Record<string, string>> = {
  value: 'above_our_limit',
  won: 'above_worth_once_won',
  funded: 'not_funded',
  epochBudget: 'epoch_budget_used',
  channelPrice: 'above_channel_price',
  channelPosition: 'above_channel_position',
  position: 'above_position_limit',
  borrower: 'borrower_concentrated',
  market: 'market_concentrated',
  lane: 'lane_concentrated',
}

const WORDS: Readonly<Record<string, string>> = {
  value: 'our own value',
  won: 'what it is worth once it is won, less fee and gas,',
  funded: 'what is funded and idle',
  epochBudget: "the channel's budget of this epoch",
  channelPrice: "the channel's maxPriceBps",
  channelPosition: "the channel's maxPositionBps",
  position: "the policy's positionBpsMax",
  borrower: "the policy's borrowerBpsMax",
  market: "the policy's marketBpsMax",
  lane: "the lane's concentrationBpsMax",
}

const boundFigure = ({ limitedBy, assets }: Bound) => [`${limitedBy}LimitAssets`, String(assets)] as const

const figuresOf = ({ lot, value, leastAssets, wantedAssets }: Candidate) => ({
  asset: lot.row.assetAddress,
  quoteAsset: lot.row.quoteAssetAddress,
  lane: lot.row.lane,
  priceWad: String(lot.priceWad),
  assetAmount: String(lot.assetAmount),
  worthAssets: String(value.worthAssets),
  haircutAssets: String(value.haircutAssets),
  unrecoveredAssets: String(value.unrecoveredAssets),
  saleFeeAssets: String(value.saleFeeAssets),
  capitalCostAssets: String(value.capitalCostAssets),
  fixedCostAssets: String(value.fixedCostAssets),
  fairAssets: String(value.fairAssets),
  wonAssets: String(value.wonAssets),
  valueAssets: String(value.valueAssets),
  expectedBps: Math.round(value.expected.mean * 10_000),
  expectedBy: value.expected.basis,
  casesWon: Math.round(value.expected.won),
  rivals: lot.rivals,
  reserveAssets: String(lot.reserveAssets),
  bestAssets: String(lot.bestAssets),
  leastAssets: String(leastAssets),
  wantedAssets: String(wantedAssets),
})

/** What a bid costs with the fee on the purchase. */
export const withFee = (assets: bigint, { purchaseFeeBps }: Bidding): bigint =>
  assets + ceilDiv(assets * BigInt(purchaseFeeBps), BPS)

function take(purse: Purse, { lot }: Candidate, bidAssets: bigint, paidAssets: bigint): void {
  purse.spendableAssets -= paidAssets
  purse.budgetAssets -= bidAssets
  hold(purse, lot.row, bidAssets)
}

/** A base fee rises by an eighth a block at most. */
const gasOf = ({ chain }: Moment, { bidGas }: Bidding) =>
  bidGas * ((chain.baseFeePerGasWei * 9n) / 8n + chain.priorityFeePerGasWei) + dataFeesWei({ chain }, 1n)

const usdOf = (assets: bigint, { decimals, priceUsdMicros }: Quote) =>
  (assets * priceUsdMicros) / tokenUnit(decimals)

const positive = (value: bigint) => (value > 0n ? value : 0n)
const highest = (one: bigint, other: bigint) => (one > other ? one : other)

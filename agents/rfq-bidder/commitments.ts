import type { Address } from 'viem'
import type { InFlight } from '../agent.ts'
import { dataFeesWei } from '../protocol/data-fee.ts'
import { BPS, ceilDiv, tokenUnit, WAD } from '../protocol/health.ts'
import type { RfqBidderPolicy } from './policy.ts'
import type { AuctionSeen, Observed, OfferSeen, RfqBidSeen, RfqSeen } from './seen.ts'
import { isAbout, PLACE, RAISE, showsPlaced } from './steps.ts'

/** What some gas is expected to cost. */
export type GasCost = { readonly wei: bigint; readonly usdMicros: bigint }

/** Where money of ours is: with an RFQ's bid, or at an auction, where what is outbid stays until it is withdrawn. */
export type Venue = 'rfq' | 'auction'
type Escrow = { readonly asset: Address | null; readonly usdMicros: bigint; readonly at: Venue }

/** What is bid, and what is left to bid, as one decision goes on: changed by that decision, and by nothing else. */
export type Commitments = {
  nativeWei: bigint
  /** Base units by token, less what workflows in flight may take; may be below zero. */
  readonly tokens: Map<string, bigint>
  /** Whatever became of its bid, until it is paid back. */
  readonly escrows: Escrow[]
  /** What each offer may bring us, by its id; base units. */
  readonly winnable: Map<string, { readonly asset: Address; readonly amount: bigint }>
  /** Why that is not all that we bid; null when it is. */
  readonly unknown: string | null
  /** Of a bid together with what ends it. */
  readonly bidGas: GasCost
  readonly settleGas: GasCost
}

/** Count what is bid: every escrow that is not paid back, and what is in flight. Pure. */
export function commitmentsOf(seen: Observed, self: Address, policy: RfqBidderPolicy): Commitments {
  const bidGas = gasCost(policy.gas.bidGas + policy.gas.settleGas, 3n, seen, policy)
  const tokens = new Map<string, bigint>(Object.entries(seen.balances))
  const escrows: Escrow[] = []
  const winnable: Commitments['winnable'] = new Map()
  const unpriced: string[] = []
  const addEscrow = (offer: OfferSeen, assets: bigint, at: Venue) => {
    const usdMicros = usdMicrosIn(offer.quoteAsset, assets, seen, policy)
    if (usdMicros === null) unpriced.push(offer.id)
    else escrows.push({ asset: offer.asset, usdMicros, at })
  }
  const addWinnable = ({ id, asset, amount }: OfferSeen) => winnable.set(id, { asset, amount })

  for (const rfq of seen.rfqs) {
    const own = rfq.bids.filter(({ bidder }) => bidder === self)
    for (const bid of own) if (isInEscrow(bid)) addEscrow(rfq, bid.assets, 'rfq')
    if (own.some(({ status }) => status === 'live')) addWinnable(rfq)
  }
  for (const lot of seen.auctions) {
    if (lot.owedAssets > 0n) addEscrow(lot, lot.owedAssets, 'auction')
    if (lot.status === 'over' || lot.bestBidder !== self) continue
    addEscrow(lot, lot.bestAssets ?? 0n, 'auction')
    addWinnable(lot)
  }
  for (const workflow of seen.inFlight) {
    const { token, usdMicros } = workflow.exposure
    const offer = [...seen.rfqs, ...seen.auctions].find((each) => isAbout(workflow, each))
    const takenAssets = takenBy(workflow, offer, self)
    if (token === null || takenAssets === 0n) continue
    tokens.set(token, (tokens.get(token) ?? 0n) - takenAssets)
    const at = workflow.workflowType === RAISE ? 'auction' : 'rfq'
    const taken = usdMicrosIn(token, takenAssets, seen, policy)
    escrows.push({ asset: offer?.asset ?? null, usdMicros: taken ?? usdMicros, at })
    if (offer !== undefined) addWinnable(offer)
  }
  return {
    nativeWei: seen.nativeBalanceWei - BigInt(seen.inFlight.length) * bidGas.wei,
    tokens,
    escrows,
    winnable,
    unknown:
      unpriced.length === 0
        ? null
        : `What we bid on ${unpriced.join(', ')} is in a token that the policy's quotes do not list.`,
    bidGas,
    settleGas: gasCost(policy.gas.settleGas, 1n, seen, policy),
  }
}

/** Enter a bid that is about to be made: what it takes more of the quote asset, and what it may win. */
export function enter(
  commitments: Commitments,
  offer: OfferSeen,
  taken: { readonly assets: bigint; readonly usdMicros: bigint },
  at: Venue,
): void {
  commitments.nativeWei -= commitments.bidGas.wei
  commitments.tokens.set(offer.quoteAsset, (commitments.tokens.get(offer.quoteAsset) ?? 0n) - taken.assets)
  commitments.escrows.push({ asset: offer.asset, usdMicros: taken.usdMicros, at })
  commitments.winnable.set(offer.id, { asset: offer.asset, amount: offer.amount })
}

/** What we hold of an offer's asset, and may win of it elsewhere; base units. Null when it is not known. Pure. */
export function heldWithout(offer: OfferSeen, commitments: Commitments, seen: Observed): bigint | null {
  const balance = seen.balances[offer.asset]
  if (balance === undefined) return null
  return [...commitments.winnable]
    .filter(([id, { asset }]) => id !== offer.id && asset === offer.asset)
    .reduce((sum, [, { amount }]) => sum + amount, balance)
}

/** Whether a bid's money is not ours yet. */
const isInEscrow = ({ status }: RfqBidSeen) =>
  status === 'live' || status === 'expired' || status === 'displaced' || status === 'lost'

/** What a workflow is about to put into escrow beside what shows in the offer already; base units. */
function takenBy(workflow: InFlight, offer: RfqSeen | AuctionSeen | undefined, self: Address): bigint {
  const { workflowType, occurrence, input, exposure } = workflow
  if (offer === undefined) return exposure.assets
  const own = offer.bids.filter(({ bidder }) => bidder === self)
  switch (workflowType) {
    case PLACE:
      return showsPlaced(occurrence, own.length) ? 0n : exposure.assets
    case RAISE:
      return own.some(({ assets }) => assets === exposure.assets) ? 0n : exposure.assets
    default: {
      // A change of a bid takes what it adds.
      const standing = own.find((bid) => 'bidId' in bid && bid.bidId === input.bidId)?.assets ?? 0n
      return exposure.assets > standing ? exposure.assets - standing : 0n
    }
  }
}

/** What an amount of a token counts as, rounded up; null for one that the policy's quotes do not list. */
function usdMicrosIn(
  token: Address,
  assets: bigint,
  { deployment }: Observed,
  { quotes }: RfqBidderPolicy,
): bigint | null {
  const asset = deployment.assets.find(({ address }) => address === token)
  const quote = asset === undefined ? undefined : quotes[asset.symbol]
  if (asset === undefined || quote === undefined) return null
  return ceilDiv(assets * quote.priceUsdMicros, tokenUnit(asset.decimals))
}

/** Price gas at the head's base fee and the policy's headroom, rounded up, and what transactions pay for their bytes. */
function gasCost(gas: bigint, transactions: bigint, { chain }: Observed, policy: RfqBidderPolicy): GasCost {
  const headroomBps = BPS + BigInt(policy.gas.baseFeeHeadroomBps)
  const gasWei = ceilDiv(gas * chain.baseFeePerGasWei * headroomBps, BPS) + gas * chain.priorityFeePerGasWei
  const wei = gasWei + dataFeesWei({ chain }, transactions)
  return { wei, usdMicros: ceilDiv(wei * policy.gas.nativePriceUsdMicros, WAD) }
}

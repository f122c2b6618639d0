import type { Address } from 'viem'
import { moment, span } from '../../src/readable.js'
import type { WorkflowType } from '../../src/service/contract/workflow-types.ts'
import type { InFlight, Stop } from '../agent.ts'
import { beyondStop, explorationStop, losingOn, losingStop } from '../protocol/experience.ts'
import { tokens } from '../protocol/text.ts'
import { type Commitments, heldWithout } from './commitments.ts'
import type { RfqBidderPolicy } from './policy.ts'
import { type Priced, priceOf } from './price.ts'
import {
  type AuctionSeen,
  type Observed,
  type OfferSeen,
  type RfqBidSeen,
  type RfqSeen,
  tokensOf,
} from './seen.ts'
import { CLAIM, claims, isAbout } from './steps.ts'
import { type Worth, worthOf } from './value.ts'

/** What one decision works on: what is seen, by which rules, for whom, and what is bid so far. */
export type Scene = {
  readonly seen: Observed
  readonly policy: RfqBidderPolicy
  /** Our signer, lower case. */
  readonly self: Address
  readonly commitments: Commitments
}

/** A lot that may be bid for, priced and valued as things stand. */
export type Valued = { readonly priced: Priced; readonly worth: Worth; readonly names: readonly string[] }

/**
 * Judge whether a lot may be bid for, and what it is worth; otherwise the first rule that stops it, by a stable name.
 * Pure. It judges the lot alone: whether a bid fits is for its maker to judge.
 * @param bidders whose bids on it may win, as far as they are shown.
 */
export function judgeLot(
  offer: RfqSeen | AuctionSeen,
  bidders: readonly Address[],
  scene: Scene,
): Valued | Stop {
  const { seen, policy, self, commitments } = scene
  const stop = venueStop(offer, seen) ?? oursStop(offer, bidders, self, seen)
  if (stop !== null) return stop
  const priced = priceOf(offer, seen, policy)
  if ('check' in priced) return priced
  const names = namesOf(offer, priced)
  const rivals = new Set(bidders.filter((bidder) => bidder !== self)).size
  const losing = losingOn(seen.experience, names, rivals)
  if (losing !== null) return losingStop(losing, 'rfq-bidder')
  if (commitments.unknown !== null) return { check: 'exposure_unknown', message: commitments.unknown }
  const heldAssets = heldWithout(offer, commitments, seen)
  if (heldAssets === null) {
    return { check: 'inventory_unknown', message: `Our balance of ${priced.asset.symbol} is not known.` }
  }
  const { inventoryAssetsMax } = priced.terms
  if (heldAssets + offer.amount > inventoryAssetsMax) {
    const { decimals, symbol } = priced.asset
    const [held, more, most] = [heldAssets, offer.amount, inventoryAssetsMax].map((assets) =>
      tokens(assets, decimals, symbol),
    )
    const message = `We hold or may win ${held}, and this is ${more}; the policy allows ${most}.`
    return {
      check: 'inventory_full',
      message,
      reason: { heldAssets: String(heldAssets), ...tokensOf(offer) },
    }
  }
  const worth = worthOf(
    offer.amount,
    priced,
    {
      heldAssets,
      waitS: Math.max(0, offer.closesAtS - seen.chain.timestampS),
      rivals,
      gasUsdMicros: commitments.bidGas.usdMicros,
      experience: seen.experience,
      names,
    },
    policy,
  )
  if (worth.expected.isBeyond) return beyondStop(worth.expected, policy.shadeBpsMax, 'rfq-bidder')
  // A bid that stands is paid for: the gas of the moment takes none back.
  const others = [...commitments.winnable.keys()].filter((id) => id !== offer.id).length
  const more = commitments.winnable.has(offer.id) ? 0 : others + 1
  const budget = {
    lossUsdMicrosMax: policy.explorationUsdMicros,
    costUsdMicros: BigInt(more) * commitments.bidGas.usdMicros,
  }
  const spent = explorationStop(seen.experience, names, budget, 'rfq-bidder')
  return spent ?? { priced, worth, names }
}

/** Name how a lot is sold. Pure. */
export const bookName = (offer: RfqSeen | AuctionSeen): string =>
  `book:${'terms' in offer ? offer.terms.book : 'auction'}`

/** What a lot is known by, the broadest first: how it is sold, what it is, who sells it. */
const namesOf = (offer: RfqSeen | AuctionSeen, { asset }: Priced): readonly string[] => [
  'bid',
  bookName(offer),
  `asset:${asset.symbol}`,
  `seller:${offer.seller}`,
]

function venueStop({ venue }: OfferSeen, { deployment, freshness }: Observed): Stop | null {
  if (!freshness.ok) {
    return {
      check: 'observation_not_fresh',
      message: freshness.message,
      reason: { ageMs: freshness.ageMs },
    }
  }
  if (deployment.contracts.some(({ address }) => address === venue)) return null
  const message = `${venue} is not in deployment.contracts. Fix: pin it, if bids there are meant.`
  return { check: 'venue_not_pinned', message }
}

/** Nothing of ours competes with itself: not by its sellers, not by its bidders, not by other roles. */
function oursStop(
  { seller, lot }: OfferSeen,
  bidders: readonly Address[],
  self: Address,
  { ours, deployment, colleagues }: Observed,
): Stop | null {
  const isOurs = (who: Address) =>
    ours.includes(who) || deployment.funds.some(({ address }) => address === who)
  if (seller === self || isOurs(seller)) {
    return { check: 'seller_is_ours', message: `${seller} sells it, which is ours.` }
  }
  const other = bidders.find((bidder) => bidder !== self && isOurs(bidder))
  if (other !== undefined) return { check: 'bidder_is_ours', message: `${other} bids for it, which is ours.` }
  const colleague = colleagues.find((each) => each.lot === lot)
  if (colleague === undefined) return null
  return { check: 'lot_taken', message: `Our ${colleague.role} bids for it, as ${colleague.subject}.` }
}

/** Whether a workflow bids on an offer, or ends it, already. Pure. */
export const inFlightStop = (offer: OfferSeen, { inFlight }: Observed): Stop | null =>
  underWay(inFlight.find((workflow) => workflow.workflowType !== CLAIM && isAbout(workflow, offer)))

/** Whether that keeps a bid from being ended in a way: a bid that waits for a person keeps none. Pure. */
export const endingStop = (rfq: RfqSeen, { inFlight }: Observed, ending: WorkflowType): Stop | null =>
  underWay(
    inFlight.find(
      (workflow) =>
        workflow.workflowType !== CLAIM &&
        isAbout(workflow, rfq) &&
        (workflow.held !== true || workflow.workflowType === ending),
    ),
  )

/** Whether a workflow claims a bid's escrow already. Pure. */
export const claimStop = (rfq: RfqSeen, bid: RfqBidSeen, { inFlight }: Observed): Stop | null =>
  underWay(inFlight.find((workflow) => isAbout(workflow, rfq) && claims(workflow, bid)))

const underWay = (found: InFlight | undefined): Stop | null =>
  found === undefined
    ? null
    : { check: 'already_in_flight', message: `Workflow ${found.workflowId} is about it already.` }

/** Whether a bid, or a bid's change, has no time left to land. Pure. */
export const lateStop = ({ closesAtS }: OfferSeen, { seen, policy }: Scene): Stop | null => {
  const leftS = closesAtS - seen.chain.timestampS
  if (leftS >= policy.landingS) return null
  return {
    check: 'too_late',
    message: `It closes at ${moment(closesAtS)}; the policy asks for ${span(policy.landingS * 1_000)} to land.`,
    reason: { leftS },
  }
}

/** How close a limit comes to what would be needed, 1 being enough. Pure. */
export const nearness = (have: bigint, need: bigint): number =>
  need === 0n ? 1 : Math.min(1, Number((have * 10_000n) / need) / 10_000)

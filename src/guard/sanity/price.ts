import { type Address, parseAbi } from 'viem'
import { z } from 'zod'
import { type Refusal, refuse } from '../../errors.ts'
import { span } from '../../readable.js'
import type { Deployment, PinnedMarket } from '../../service/contract/deployment.ts'
import { bps, seconds } from '../../service/contract/yaml-scalars.ts'
import { percent } from '../../units.ts'
import type { Proposal } from '../../workflow/proposal.ts'
import { asUint } from '../policy/values.ts'
import { createView, uint, type View } from '../reads/views.ts'
import { BPS, priceText } from './units.ts'

/** What a price is judged by: the oracle of a market. */
export const PRICE_VIEWS = parseAbi([
  'function read() view returns (uint256 priceWad, uint64 sourceAsOf, uint64 updatedAt, uint8 state)',
])
const view = createView(PRICE_VIEWS)
const priceRead = z
  .tuple([uint, uint, uint, uint])
  .transform(([priceWad, sourceAsOfS, , state]) => ({ priceWad, sourceAsOfS, state }))

/** An oracle's answer: whole loan tokens for one whole collateral token as a wad, and its source's time in Unix seconds. */
export type PriceRead = z.output<typeof priceRead>

/** Read an oracle. */
export const priceView = (oracle: Address): View<PriceRead> => view('read', oracle, [], priceRead)

/** Members of `guard.sanity` of every role that acts on a price. */
export const priceLimits = {
  /** Oldest price, by the oracle's own source time against the block simulated. */
  priceAgeSMax: seconds(1, 86_400).transform(BigInt),
  /** How far the oracle's price may be from the one that was decided on. */
  priceDivergenceBpsMax: bps().transform(BigInt),
}

/** An oracle's `state` that permits its price to be used. */
const HEALTHY_ORACLE_CODE = 1n

/** Whether an oracle vouches for its price. Pure. */
export const isHealthy = ({ state, priceWad }: PriceRead): boolean =>
  state === HEALTHY_ORACLE_CODE && priceWad > 0n

/** Refuse a price that its oracle does not vouch for, that is too old at a block's time, or that is not of then yet. Pure. */
export function checkUsable(price: PriceRead, priceAgeSMax: bigint, timestampS: number): Refusal | null {
  if (price.state !== HEALTHY_ORACLE_CODE) {
    return refuse(
      'oracle_not_healthy',
      `The oracle says of its price that it is not healthy: its state is ${price.state}, not ${HEALTHY_ORACLE_CODE}.`,
    )
  }
  if (price.priceWad === 0n) return refuse('oracle_not_healthy', "The oracle's price is zero.")
  const ageS = BigInt(timestampS) - price.sourceAsOfS
  // A date that is yet to come would keep a price young until then, and for as long again as the policy allows.
  if (ageS < 0n) return refuse('price_in_future', `The price is of ${span(-ageS * 1_000n)} after the block.`)
  if (ageS <= priceAgeSMax) return null
  const [age, most] = [ageS, priceAgeSMax].map((seconds) => span(seconds * 1_000n))
  return refuse('price_stale', `The price is ${age} old; the policy allows ${most}.`)
}

/** Refuse a price that is far from the one that was decided on, or when none was stated. Pure. */
export function checkDecided(
  { priceWad }: PriceRead,
  { reason }: Proposal,
  divergenceBpsMax: bigint,
  /** What it is a price of. */
  { market, deployment }: { readonly market: PinnedMarket; readonly deployment: Deployment },
): Refusal | null {
  const decided = asUint(reason.priceWad)
  if (decided === undefined || decided === 0n) {
    return refuse('price_not_stated', 'The proposal does not state the price that it was decided on.')
  }
  const apart = priceWad > decided ? priceWad - decided : decided - priceWad
  if (apart * BPS <= decided * divergenceBpsMax) return null
  const say = (wad: bigint) => priceText(wad, market, deployment)
  return refuse(
    'price_moved',
    `The oracle's price is ${say(priceWad)}; ${say(decided)} was decided on, and the policy allows ${percent(divergenceBpsMax)} between them.`,
  )
}
